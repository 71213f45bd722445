// The state of a view in the part of the address after #: it can be shared, and is never sent to the server.

/** "#/tag?text=…" as {view, values}. */
export function read() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { view: path, values: new URLSearchParams(query ?? "") };
}

/** The address of a view with values; empty ones are left out, lists are repeated. */
export function written(view, values) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== undefined && item !== null && item !== "") query.append(name, item);
    }
  }
  const text = query.toString();
  return `#/${view}${text ? `?${text}` : ""}`;
}

/** Put the state of the present view into the address, without an entry in the history. */
export function keep(view, values) {
  history.replaceState(null, "", written(view, values));
  document.dispatchEvent(new CustomEvent("kept", { detail: values }));
}

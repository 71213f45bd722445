// The state of a view in the part of the address after #: it can be shared, and is never sent to the server.

const LONGEST = 8000; // characters of a text in the address; a longer one stays in this window
const STORED = "…";

/** "#/tag?text=…" as {view, values}. */
export function read() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const values = new URLSearchParams(query ?? "");
  if (values.get("text") === STORED) values.set("text", sessionStorage.getItem("text") ?? "");
  return { view: path, values };
}

/** The address of a view with values; empty ones are left out, lists are repeated. */
export function written(view, values) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (name === "text" && item?.length > LONGEST) {
        sessionStorage.setItem("text", item);
        query.append(name, STORED);
      } else if (item !== undefined && item !== null && item !== "") query.append(name, item);
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

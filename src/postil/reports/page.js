// Filters of mistakes and of curves in a report, which the page of the server shows as well.

const TESTS = {
  kind: (item, value) => item.kind === value,
  label: (item, value) => item.gold === value || item.predicted === value,
  gold: (item, value) => item.gold === value,
  predicted: (item, value) => item.predicted === value,
  text: (item, value) => item.text.includes(value.trim().toLowerCase()),
  min: (item, value) => Number(item.figure ?? NaN) >= Number(value),
  max: (item, value) => Number(item.figure ?? NaN) <= Number(value),
};

/** Make the filters of a report work. Returns {form, query, set}: the state as a query, and false where a query names no filter;
 *  null if there is nothing to filter. `changed` is called when the reader has changed something. */
export function filters(report, changed = () => {}) {
  const choice = report.querySelector("#curve-choice");
  if (choice) {
    choice.parentElement.hidden = false;
    choice.addEventListener("change", () => {
      for (const part of report.querySelectorAll("[data-curve]")) part.classList.toggle("faint", choice.value !== "" && part.dataset.curve !== choice.value);
    });
  }
  const form = report.querySelector("#filters");
  const items = [...report.querySelectorAll("#examples > li")].map((node) => ({
    node, ...node.dataset, text: [...node.querySelectorAll(".t")].map((part) => part.textContent).join(" ").toLowerCase(),
  }));
  if (!form || !items.length) return null;
  const chosen = () => [...new FormData(form)].filter(([name, value]) => value !== "" && name in TESTS);

  function show() {
    const wanted = chosen();
    for (const item of items) item.node.hidden = !wanted.every(([name, value]) => TESTS[name](item, value));
    const number = (some) => some.length.toLocaleString("en");
    report.querySelector("#status, [role=status]").textContent = `${wanted.length ? `${number(items.filter((item) => !item.node.hidden))} of ` : ""}${number(items)} examples`;
  }

  function set(query) {
    const wanted = [...new URLSearchParams(query)].filter(([name]) => name in TESTS);
    if (!wanted.length) return false;
    form.reset();
    for (const [name, value] of wanted) {
      const control = form.elements[name]; // a label that is not among the choices becomes one
      if (control?.options && ![...control.options].some((option) => option.value === value)) control.add(new Option(value, value));
      if (control) control.value = value;
    }
    show();
    return true;
  }

  const told = () => { show(); changed(); };
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", told);
  form.addEventListener("reset", () => setTimeout(told));
  return { form, set, query: () => new URLSearchParams(chosen()).toString() };
}

/** A page that is a report. The state of its filters is the part of the address after "#", so that it can be sent to somebody:
 *  #kind=missed&label=PER&text=paris&min=0.5&max=1 */
export function open() {
  const found = filters(document, () => history.replaceState(null, "", `#${found.query() || "mistakes"}`));
  const follow = () => { if (found?.set(location.hash.slice(1))) document.getElementById("mistakes").scrollIntoView(); };
  window.addEventListener("hashchange", follow);
  follow();
  window.addEventListener("beforeprint", () => { // everything is on paper
    for (const part of document.querySelectorAll("details")) part.open = true;
  });
}

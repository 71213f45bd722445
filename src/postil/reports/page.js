// Filters of mistakes and of curves. Their state is the part of the address after "#", so that it can be sent to
// somebody: #kind=missed&label=PER&text=paris&min=0.5&max=1
(() => {
  "use strict";
  const form = document.getElementById("filters");
  const status = document.getElementById("status");
  const items = [...document.querySelectorAll("#examples > li")].map((node) => ({
    node,
    ...node.dataset,
    figure: node.dataset.figure === undefined ? null : Number(node.dataset.figure),
    text: [...node.querySelectorAll(".t")].map((part) => part.textContent).join(" ").toLowerCase(),
  }));

  const tests = {
    kind: (item, value) => item.kind === value,
    label: (item, value) => item.gold === value || item.predicted === value,
    gold: (item, value) => item.gold === value,
    predicted: (item, value) => item.predicted === value,
    text: (item, value) => item.text.includes(value.trim().toLowerCase()),
    min: (item, value) => item.figure !== null && item.figure >= Number(value),
    max: (item, value) => item.figure !== null && item.figure <= Number(value),
  };

  const filters = () => [...new FormData(form)].filter(([name, value]) => value !== "" && name in tests);

  function show() {
    const chosen = filters();
    let count = 0;
    for (const item of items) {
      const fits = chosen.every(([name, value]) => tests[name](item, value));
      item.node.hidden = !fits;
      count += fits;
    }
    const number = (value) => value.toLocaleString("en");
    status.textContent = chosen.length ? `${number(count)} of ${number(items.length)} examples` : `${number(count)} examples`;
  }

  // An address may name a label that is not among the choices: then it becomes one.
  function set(name, value) {
    const control = form.elements[name];
    if (!control) return;
    if (control.options && ![...control.options].some((option) => option.value === value)) {
      control.add(new Option(value, value));
    }
    control.value = value;
  }

  function fromAddress() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    if (![...wanted.keys()].some((name) => name in tests)) return false;
    form.reset();
    for (const [name, value] of wanted) if (name in tests) set(name, value);
    show();
    return true;
  }

  const toAddress = () => {
    const query = new URLSearchParams(filters()).toString();
    history.replaceState(null, "", `#${query || "mistakes"}`);
  };

  if (form && items.length) {
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => { show(); toAddress(); });
    form.addEventListener("reset", () => setTimeout(() => { show(); toAddress(); }));
    const follow = () => { if (fromAddress()) document.getElementById("mistakes").scrollIntoView(); };
    window.addEventListener("hashchange", follow);
    follow();
  }

  const choice = document.getElementById("curve-choice");
  if (choice) {
    choice.parentElement.hidden = false;
    choice.addEventListener("change", () => {
      for (const part of document.querySelectorAll("[data-curve]")) {
        const fits = choice.value === "" || part.dataset.curve === choice.value;
        part.classList.toggle("faint", !fits);
      }
    });
  }

  // Everything is on paper.
  window.addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details")) part.open = true;
  });
})();

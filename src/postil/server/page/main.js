// Which view is shown, with which model.

import { call } from "/page/api.js";
import { read, written } from "/page/address.js";
import { failed, h, say } from "/page/dom.js";

const VIEWS = {
  tag: ["Tag", "/page/tag.js"],
  why: ["Why", "/page/why.js"],
  lattice: ["Lattice", "/page/lattice.js"],
  tree: ["Tree", "/page/drawn.js", "mountTree"],
  gradients: ["Gradient lab", "/page/gradients.js"],
  errors: ["Errors", "/page/drawn.js", "mountErrors"],
  train: ["Train", "/page/train.js"],
  card: ["Card", "/page/drawn.js", "mountCard"],
};
const SHARED = ["text", "model"];
const main = document.getElementById("main");
const chooser = document.getElementById("model");
let models = [];
let training = false; // whether the server was started with --allow-training
let shared = {};
let close = null;

/** Draw what is around the view, and return its name. */
function drawn({ view: asked, values }) {
  const view = asked in VIEWS ? asked : "tag";
  const links = Object.entries(VIEWS).map(([name, [title]]) => h("li", {},
    h("a", { href: written(name, shared), ...(name === view ? { "aria-current": "page" } : {}) }, title)));
  document.getElementById("views").replaceChildren(...links);
  document.title = `${VIEWS[view][0]} – Postil`;
  chooser.replaceChildren(...models.filter((one) => !one.tasks).map((one) => h("option", { value: one.name }, `${one.name} (${one.kind})`)));
  if (values.get("model")) chooser.value = values.get("model");
  if (chooser.selectedIndex < 0) chooser.selectedIndex = 0;
  return view;
}

async function show() {
  const { view: asked, values } = read();
  shared = Object.fromEntries(SHARED.map((name) => [name, values.get(name)]));
  const view = drawn({ view: asked, values });
  let mount = null;
  try {
    const [, module, name = "mount"] = VIEWS[view];
    mount = (await import(module))[name];
  } catch {
    document.dispatchEvent(new CustomEvent("lost"));
    mount = (root) => root.append(h("h1", {}, VIEWS[view][0]), failed({ message: "This view cannot be loaded: the server does not answer. It is asked again." }));
  }
  if (read().view !== asked) return; // another one was opened meanwhile
  close?.();
  main.replaceChildren();
  const name = values.get("model");
  const model = models.find((one) => one.name === name) ?? null;
  if (name && !model) say(`Model ${name} was not found here.`);
  close = mount(main, values, { models, model, training }) ?? null;
}

function chosen() {
  const { view, values } = read();
  values.set("model", chooser.value);
  for (const name of ["require", "forbid", "span", "label"]) values.delete(name);
  location.hash = `/${view || "tag"}?${values}`;
}

// Its address would name a view.
document.querySelector("a.skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
  main.scrollIntoView();
});

document.addEventListener("kept", (event) => {
  for (const name of SHARED) if (event.detail[name] !== undefined) shared[name] = event.detail[name];
  drawn(read());
});

// A model was added: the view that says so goes on.
document.addEventListener("models", async () => {
  ({ models } = await call("/api/models"));
  drawn(read());
});

// A server that is lost is asked again until it answers; then the view is shown anew.
let waiting = null;
document.addEventListener("lost", () => {
  waiting ??= setInterval(async () => {
    say("The server does not answer. Trying again …", 2500);
    const isBack = await fetch("/health").then((answer) => answer.ok, () => false);
    if (!isBack) return;
    clearInterval(waiting);
    waiting = null;
    say("The server answers again.");
    await begin();
  }, 2000);
});

async function begin() {
  ({ models, training } = await call("/api/models"));
  await show();
}

try {
  chooser.addEventListener("change", chosen);
  window.addEventListener("hashchange", show);
  await begin();
} catch (error) {
  main.replaceChildren(failed(error));
}

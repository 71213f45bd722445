// Views that the server draws as the library draws them: Tree, Errors and Card.

import { keep } from "/page/address.js";
import { call } from "/page/api.js";
import { built, debounced, failed, h, heading } from "/page/dom.js";
import { filters } from "/page/report.js";
import { fitting, missing, textBox } from "/page/shared.js";

/** Tree: brackets or a sentence; the label of every phrase and why, as `postil explain --report` draws them. */
export function mountTree(root, values, context) {
  const model = fitting(context, "tree-classifier");
  if (!model) { root.append(missing("tree classifier")); return; }
  const state = { text: values.get("text") ?? "a very good film", shape: values.get("shape") ?? "" };

  async function ask() {
    keep("tree", { model: model.name, text: state.text, shape: state.shape });
    const isTree = /^\s*\(/.test(state.text);
    try {
      const content = await call("/api/page/tree", { model: model.name, ...(isTree ? { brackets: state.text } : { text: state.text, ...(state.shape ? { shape: state.shape } : {}) }) });
      if (content === null) return;
      problem.replaceChildren();
      answer.replaceChildren(...content.drawn.map((one) => built(one)));
    } catch (error) { problem.replaceChildren(failed(error, answer.hasChildNodes())); }
  }

  const askSoon = debounced(150, ask);
  const { field } = textBox(state.text, (text) => { state.text = text; askSoon(); }, "Sentence, or a tree in brackets such as (x (x not) (x bad))", 2);
  const shapes = h("select", { id: "shape", onchange: () => { state.shape = shapes.value; ask(); } },
    h("option", { value: "" }, "as in training"), ["balanced", "right"].map((name) => h("option", { value: name, selected: name === state.shape }, name)));
  const [problem, answer] = [h("div", { className: "problem" }), h("div", { className: "report", id: "trees" })];
  root.append(...heading("Tree", "A label and its probability for every phrase. A sentence without brackets gets a tree of the chosen shape."),
    field, h("div", { className: "row" }, h("label", { htmlFor: "shape" }, "Shape of the tree over a sentence"), shapes), problem, answer);
  ask();
}

/** Errors: the report of `postil evaluate --report` on a labelled file; its filters work here. */
export function mountErrors(root, values, context) {
  const model = fitting(context, "tagger");
  if (!model) { root.append(missing("tagger")); return; }

  async function opened() {
    const [chosen] = file.files;
    if (!chosen) return;
    problem.replaceChildren();
    answer.classList.add("busy");
    try {
      const content = await call("/api/page/errors", { model: model.name, name: chosen.name.slice(-200), content: await encoded(chosen) }, "errors");
      if (content !== null) { answer.replaceChildren(...content.drawn.map(([, ...rest]) => built(["div", ...rest]))); prepare(); }
    } catch (error) {
      if (error.code === "body") error.message += `. For a large file: postil evaluate MODEL ${chosen.name} --report report.html`;
      answer.replaceChildren(); // the report on another file
      problem.replaceChildren(failed(error));
    }
    answer.classList.remove("busy");
  }

  /** Links lead to sections, or set the filters. */
  function prepare() {
    const found = filters(answer);
    answer.onclick = (event) => {
      const wanted = event.target.closest("a")?.getAttribute("href")?.slice(1);
      if (!wanted) return;
      event.preventDefault();
      const section = answer.querySelector(`#${CSS.escape(wanted)}`);
      if (section) section.scrollIntoView();
      else if (found?.set(wanted)) found.form.scrollIntoView();
    };
  }

  keep("errors", { model: model.name });
  const file = h("input", { type: "file", id: "file", onchange: opened });
  const [answer, problem] = [h("div", { className: "report", id: "report" }), h("div", { className: "problem" })];
  root.append(...heading("Errors", "Open a labelled file: this server scores its model on it and shows every mistake, as postil evaluate --report does. The file is not kept."),
    h("div", { className: "card" }, h("label", { className: "field", htmlFor: "file" }, `Labelled file for ${model.name}`), file), problem, answer);
}

/** The bytes of a file in base64. */
const encoded = (file) => new Promise((done, fail) => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
  reader.onerror = () => fail(new Error(`${file.name} cannot be read`));
  reader.readAsDataURL(file);
});

/** Card: what is known about the chosen model. */
export function mountCard(root, values, context) {
  const model = context.model ?? context.models[0];
  keep("card", { model: model.name });
  const answer = h("div", { className: "report card" });
  root.append(...heading(model.name, "What this model is, where it comes from, and what it is bad at."), answer);
  call("/api/page/card", { model: model.name }).then((content) => answer.replaceChildren(...(content?.drawn ?? []).map((one) => built(one))), (error) => answer.replaceChildren(failed(error)));
}

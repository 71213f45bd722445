// Tree: brackets or a sentence; the label of every phrase and why, drawn by the server as `postil explain --report` draws them.

import { keep } from "/page/address.js";
import { call } from "/page/api.js";
import { built, debounced, failed, h, heading } from "/page/dom.js";
import { fitting, missing, textBox } from "/page/shared.js";

export function mount(root, values, context) {
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

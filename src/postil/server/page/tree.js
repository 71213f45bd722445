// Tree: brackets or a sentence; the label and probability of every phrase, and why.

import { keep } from "/page/address.js";
import { call } from "/page/api.js";
import { debounced, h, percent, signed } from "/page/dom.js";
import { chip, failed, figures, fitting, heading, missing, table, textBox } from "/page/shared.js";
import { diverging } from "/page/why.js";

/** The nodes of "(a (b w) (c v))", nested: {label, word} or {label, children}; one step per bracket, never recursive. */
export function parse(text) {
  const open = [];
  let done = null;
  for (const [piece] of text.matchAll(/[()]|[^()\s]+/g)) {
    if (piece === "(") open.push({ label: null, children: [] });
    else if (piece === ")") {
      done = open.pop();
      if (open.length) open.at(-1).children.push(done);
    } else if (open.at(-1).label === null) open.at(-1).label = piece;
    else open.at(-1).word = piece;
  }
  return done;
}

/** Nodes in post-order: the order of the phrases in an answer. */
export function postOrder(top) {
  const [seen, stack] = [[], [top]];
  while (stack.length) {
    const node = stack.pop();
    seen.push(node);
    stack.push(...node.children);
  }
  return seen.reverse();
}

export function mount(root, values, context) {
  const model = fitting(context, "tree-classifier");
  if (!model) { root.append(missing("tree classifier")); return; }
  const state = { text: values.get("text") ?? "Not a bad film .", shape: values.get("shape") ?? "" };
  const isTree = () => /^\s*\(/.test(state.text);

  const input = () => (isTree() ? { brackets: state.text } : { text: state.text });

  async function ask() {
    keep("tree", { model: model.name, text: state.text, shape: state.shape });
    try {
      const shape = state.shape && !isTree() ? { shape: state.shape } : {};
      const content = await call("/api/tree", { model: model.name, ...input(), ...shape });
      if (content === null) return;
      problem.replaceChildren();
      answer.replaceChildren(...content.trees.filter((one) => one.tree).map(drawn));
      why.replaceChildren();
      const reasons = await call("/api/explain", { model: model.name, ...input() });
      if (reasons !== null) why.replaceChildren(...reasons.explanations.map(explained));
    } catch (error) {
      problem.replaceChildren(failed(error));
      answer.replaceChildren();
      why.replaceChildren();
    }
  }

  function drawn(one) {
    const top = parse(one.tree);
    const nodes = postOrder(top);
    const elements = new Map();
    nodes.forEach((node, i) => {
      const phrase = one.phrases[i];
      const words = one.tokens.slice(phrase.start, phrase.end).join(" ");
      const label = [chip(phrase.label, model.labels), ` ${percent(phrase.probability)} `];
      elements.set(node, h("li", {}, node.children.length
        ? h("details", { open: true }, h("summary", {}, label, words), h("ul", { className: "branch" }, node.children.map((child) => elements.get(child))))
        : [label, h("strong", {}, words)]));
    });
    const probabilities = Object.entries(one.probabilities).sort(([, a], [, b]) => b - a);
    return h("section", { className: "card" },
      h("h2", {}, one.tokens.join(" ")),
      figures(probabilities.slice(0, 5).map(([label, p]) => [label, percent(p)])),
      h("ul", { className: "branch top" }, elements.get(top)));
  }

  function explained(one) {
    // What `postil explain` calls "left out": phrases of one word. The only word of a sentence cannot be left out.
    const alone = new Map(one.phrases.filter((phrase) => phrase.end === phrase.start + 1).map((phrase) => [phrase.start, phrase.effect]));
    const words = one.words.map((word) => ({ word: word.word, effect: alone.get(word.position) ?? null }));
    const largest = Math.max(...words.map((word) => Math.abs(word.effect ?? 0)), 1e-9);
    return h("section", { className: "card" }, h("h2", {}, "Why ", chip(one.label, model.labels), "?"),
      table(["Word left out", "#effect", ""], words.map((word) => [word.word, signed(word.effect, 3), diverging(word.effect, largest)])),
      h("p", { className: "note" }, "The decrease of the label’s probability when the word is removed and its sibling takes the place of their parent."));
  }

  const askSoon = debounced(150, ask);
  const { field } = textBox(state.text, (text) => { state.text = text; askSoon(); }, "Sentence, or a tree in brackets such as (x (x not) (x bad))", 2);
  const shapes = h("select", { id: "shape", onchange: () => { state.shape = shapes.value; ask(); } },
    h("option", { value: "" }, "as in training"), ["balanced", "right"].map((name) => h("option", { value: name, selected: name === state.shape }, name)));
  const [problem, answer, why] = [h("div", { className: "problem" }), h("div"), h("div")];
  root.append(...heading("Tree", "A label and its probability for every phrase. A sentence without brackets gets a tree of the chosen shape."),
    field, h("div", { className: "row" }, h("label", { htmlFor: "shape" }, "Shape of the tree over a sentence"), shapes), problem,
    h("div", { className: "grid" }, answer, why));
  ask();
}

// Gradient lab: a flow graph that can be walked, changed, checked and trained.

import { keep } from "/page/address.js";
import { call } from "/page/api.js";
import { debounced, h, number, s, say, tip } from "/page/dom.js";
import { ACTIVATIONS, OPERATIONS, OPTIMISERS } from "/page/flow.js";
import { EXAMPLE, failed, fitting, heading, table } from "/page/shared.js";
import { TOURS } from "/page/tours.js";

const SERVED = "model";
const SCORES = ["window", "delta", "kink", "vanishing", "slopes"]; // examples that end in a score
// What a layer of the library does, by its name -> [rule, equation].
const RULES = [
  [/LookupTables|take rows/, "One row of a table per word and feature. Only the rows that occur get a gradient; a word that occurs twice adds up.", "A2"],
  [/^changed/, "What was typed in is added to the value above; the gradient passes unchanged.", ""],
  [/^WindowAverage/, "The mean of the vectors in a window: each word gets its share of the gradient.", "E2"],
  [/^Window/, "The vectors of neighbouring tokens side by side; a word gets the sum of its parts from all windows it is in.", "A4"],
  [/^(relu|tanh|hardtanh|sigmoid|softsign|leaky-relu)$/, "h = f(z), element by element.   ∂J/∂z = ∂J/∂h ∘ f′(z).", "A6, B6, E10"],
  [/^LayerNorm/, "Each row is shifted and scaled to mean 0 and variance 1, then multiplied by a gain and shifted by a bias.", ""],
  [/^Sentence/, "Distances to the word, a convolution, the largest value over the sentence: only the place of the maximum gets a gradient.", "A4, A12"],
  [/^add/, "y = a + b.   Both get the gradient of y unchanged: the shortcut of a residual layer.", "E7"],
  [/^offset/, "Scores of the word, and those that its neighbours’ maps say about it.", "C2"],
  [/Linear/, "Y = X Wᵀ + b.   ∂J/∂W = δᵀ X,   ∂J/∂b = Σ δ,   ∂J/∂X = δ W.", "A3, B3"],
  [/CRF/, "J = log Z − s(y).   At the scores the gradient is p(y_t = j) − 1[y_t = j], by forward-backward.", "A8, C3, C4, C5"],
  [/cross/i, "J = −mean log ŷ.   ∂J/∂q = (ŷ − y) / N.", "A7, E3"],
  [/concat/, "Parts side by side; each gets its own columns of the gradient.", "A2"],
];

/** A graph whose numbers come from the server, which computes it anew after every change. */
class ServedGraph {
  constructor(nodes) {
    this.nodes = nodes.map((node, i) => ({ ...node, number: i, full: node.gradient, gradient: null, contributions: [], isServed: true }));
    for (const node of this.nodes) node.parents = node.parents.map((i) => this.nodes[i]);
  }

  forward() {}

  backward(until) { for (const node of this.nodes) node.gradient = node.number >= until ? node.full : null; }

  /** What a node is called where names repeat: the path of a parameter. */
  static title(node) { return node.kind === "parameter" && node.key ? node.key : node.name; }
}

const [WIDTH, HEIGHT, GAP_X, GAP_Y] = [94, 40, 8, 30];
const shape = (value) => (value ? `${value.length} × ${value[0].length}` : "");

const sizeOf = (node) => (node.isServed ? node.shape.join(" × ") : shape(node.value));

/** Row of every node: leaves stand right above their first successor. */
function rowsOf(nodes) {
  const rows = nodes.map(() => 0);
  for (const node of nodes) if (node.parents.length) rows[node.number] = Math.max(...node.parents.map((one) => rows[one.number])) + 1;
  for (const node of nodes) {
    if (node.parents.length) continue;
    const users = nodes.filter((one) => one.parents.includes(node)).map((one) => rows[one.number]);
    rows[node.number] = Math.max(0, Math.min(...users) - 1);
  }
  return rows;
}

export function mount(root, values, context) {
  const model = fitting(context, "tagger");
  const state = {
    tour: values.get("tour") in TOURS || (model && values.get("tour") === SERVED) ? values.get("tour") : "window",
    text: values.get("text") ?? EXAMPLE, gold: values.get("gold") ?? "", step: Number(values.get("step") ?? 0),
    words: values.get("words")?.split(" ").filter(Boolean) ?? null, activation: values.get("activation") ?? null,
  };
  let graph;
  let forwardTo; // number of the last node that has a value
  let backTo; // number of the last node that has a gradient; nodes.length: none
  let chosen = null;
  let checked = null;
  let history = [];
  let edits = []; // of the served model's graph: numbers set, steps taken
  let memories = new Map();
  let places = new Map();

  const tour = () => TOURS[state.tour] ?? { title: `${model.name} on a sentence`, words: [], activation: "tanh", steps: [] };
  const words = () => state.words ?? tour().words;
  const activation = () => (state.activation in ACTIVATIONS ? state.activation : tour().activation);

  function kept() {
    const served = state.tour === SERVED ? { model: model.name, text: state.text, gold: state.gold } : {};
    keep("gradients", { ...served, tour: state.tour, step: state.step || "", words: state.words?.join(" ") ?? "", activation: state.activation ?? "" });
  }

  /** The graph of the sentence with all edits, which live in this page; `wanted` adds a numerical check. */
  function askServed(wanted = {}) {
    const labels = state.gold.split(/\s+/).filter(Boolean);
    return call("/api/graph", { model: model.name, text: state.text, edits, ...(labels.length ? { labels } : {}), ...wanted });
  }

  async function buildServed(edit = null) {
    kept();
    if (edit) edits.push(edit);
    const [key, editing] = [chosen?.key, chosen?.editing];
    try {
      const answer = await askServed();
      if (answer === null) return;
      graph = new ServedGraph(answer.nodes);
      state.labels = answer.labels;
      history = answer.losses.map((value, i) => [edits[i].optimiser ?? `${edits[i].node} changed`, value]);
      problem.replaceChildren();
    } catch (error) {
      if (edit) edits.pop();
      problem.replaceChildren(failed(error));
      return;
    }
    checked = null;
    arrange();
    walk(graph.nodes.length - 1, 0);
    chosen = (edit && graph.nodes.find((node) => node.key && node.key === key)) || graph.nodes.at(-1);
    chosen.editing = Boolean(edit && editing);
    draw();
  }

  function build() {
    problem.replaceChildren();
    edits = [];
    if (state.tour === SERVED) { buildServed(); return; }
    graph = tour().build({ words: words(), activation: activation() });
    memories = new Map();
    history = [];
    forwardTo = -1;
    backTo = graph.nodes.length;
    checked = null;
    arrange();
    follow();
  }

  function follow() {
    state.step = Math.max(0, Math.min(tour().steps.length - 1, state.step || 0));
    const [, name, phase] = tour().steps[state.step];
    chosen = graph.nodes.find((node) => node.name === name) ?? graph.nodes.at(-1);
    if (phase === "forward") { walk(chosen.number, graph.nodes.length); } else walk(graph.nodes.length - 1, chosen.number);
    checked = null;
    kept();
    draw();
  }

  /** Values up to one node and gradients down to another. */
  function walk(forward, back) {
    forwardTo = Math.max(-1, Math.min(graph.nodes.length - 1, forward));
    backTo = back;
    graph.forward();
    if (back < graph.nodes.length) graph.backward(Math.max(0, back));
    else for (const node of graph.nodes) { node.gradient = null; node.contributions = []; }
  }

  // ---------------------------------------------------------------------------------------------- drawing
  function arrange() {
    const rows = rowsOf(graph.nodes);
    const by = [];
    for (const node of graph.nodes) (by[rows[node.number]] ??= []).push(node);
    const most = Math.max(...by.map((row) => row.length));
    places = new Map();
    by.forEach((row, r) => row.forEach((node, i) => places.set(node, {
      x: ((most - row.length) / 2 + i) * (WIDTH + GAP_X), y: r * (HEIGHT + GAP_Y),
    })));
    places.width = most * (WIDTH + GAP_X);
    places.height = by.length * (HEIGHT + GAP_Y);
  }

  function box(node) {
    const { x, y } = places.get(node);
    const isDone = node.number <= forwardTo;
    const isBack = node.number >= backTo;
    const group = s("g", {
      class: `node ${node.kind} ${isBack ? "back" : isDone ? "done" : ""} ${node === chosen ? "chosen" : ""}`, role: "button",
      tabindex: node === chosen ? 0 : -1, "data-node": node.number, "aria-label": `${node.name}, ${node.kind}, ${isBack ? "value and gradient" : isDone ? "value" : "not computed yet"}`,
    }, s("rect", { x, y, width: WIDTH, height: HEIGHT, rx: 6 }),
    s("text", { x: x + WIDTH / 2, y: y + 17, "text-anchor": "middle" }, node.name.length > 14 ? `${node.name.slice(0, 12)}…` : node.name),
    s("text", { x: x + WIDTH / 2, y: y + 33, "text-anchor": "middle", class: "soft" }, isDone ? (node.value.length * node.value[0].length === 1 ? number(node.value[0][0]) : sizeOf(node)) : "·"));
    return tip(group, () => `${node.name}: ${node.operation ?? node.kind}`);
  }

  function drawGraph() {
    const edges = graph.nodes.flatMap((node) => node.parents.map((parent) => {
      const [from, to] = [places.get(parent), places.get(node)];
      const [x1, y1, x2, y2] = [from.x + WIDTH / 2, from.y + HEIGHT, to.x + WIDTH / 2, to.y];
      return s("path", { class: "edge", d: `M${x1} ${y1} C${x1} ${y1 + GAP_Y} ${x2} ${y2 - GAP_Y} ${x2} ${y2}` });
    }));
    drawing.replaceChildren(s("svg", { class: "drawing", width: places.width, height: places.height, viewBox: `-3 -3 ${places.width + 6} ${places.height + 6}`, role: "group", "aria-label": "Flow graph" }, edges, graph.nodes.map(box)));
  }

  function heat(value, name, change) {
    const largest = Math.max(...value.flat().filter((item) => item !== null).map(Math.abs), 1e-12);
    return h("div", { className: "scroll" }, h("table", { className: "heat", "aria-label": name }, h("tbody", {}, value.map((row, i) => h("tr", {}, row.map((item, j) => {
      const cell = h("td", { className: item < 0 ? "oppose" : "support", style: { "--share": Math.abs(item ?? 0) / largest } });
      if (change) cell.append(h("input", { type: "number", step: 0.1, className: "wide", value: item === null ? "" : Number(item.toFixed(6)), "aria-label": `${name}, row ${i + 1}, column ${j + 1}`, onchange: (event) => change(i, j, Number(event.target.value)) }));
      else cell.textContent = number(item);
      return cell;
    }))))));
  }

  function drawNode() {
    const node = chosen;
    const operation = OPERATIONS[node.operation];
    const rule = operation && (typeof operation.rule === "function" ? operation.rule(node.detail) : operation.rule);
    const size = sizeOf(node) || "a number";
    const parts = [h("h2", {}, node.isServed ? ServedGraph.title(node) : node.name, h("span", { className: "note" }, `  ${node.operation ?? node.kind}, ${size}`))];
    if (node.isServed) {
      const [, text, equation] = RULES.find(([name]) => node.kind === "result" && name.test(node.name)) ?? [];
      if (text) parts.push(h("p", { className: "mono" }, text), equation ? h("p", { className: "note" }, `Equation ${equation}`) : "");
      parts.push(h("p", { className: "note" }, `Root mean square of the value ${number(node.rms)}, norm of the gradient ${number(node.norm)}. `,
        node.shape[0] > node.value.length || node.shape.at(-1) > node.value[0].length ? `Rows ${node.rows.map((i) => i + 1).join(", ")}; the first ${node.value[0].length} columns.` : ""));
    }
    if (rule) parts.push(h("p", { className: "mono" }, rule), h("p", { className: "note" }, `Equation ${operation.equation}`));
    else if (node.about) parts.push(h("p", { className: "note" }, node.about));
    if (node.number <= forwardTo) {
      const changeable = node.isServed ? Boolean(node.key) : !node.operation;
      const editable = changeable && (node.editing ?? false);
      const change = (i, j, item) => {
        if (node.isServed) { buildServed({ node: node.key, row: i, column: j, value: item }); return; }
        node.leaf[i][j] = item;
        checked = null;
        walk(forwardTo, backTo);
        draw();
      };
      parts.push(h("h3", {}, "Value"), heat(node.value, `value of ${node.name}`, editable ? change : null));
      if (changeable) parts.push(h("button", { "aria-pressed": String(editable), onclick: () => { node.editing = !editable; draw(); } }, "change the numbers"));
    } else parts.push(h("p", { className: "note" }, "Not computed yet: step forward."));
    if (node.gradient) {
      parts.push(h("h3", {}, `Gradient ∂${graph.nodes.at(-1).name}/∂${node.name}`), heat(node.gradient, `gradient of ${node.name}`));
      if (node.contributions.length > 1) {
        parts.push(h("details", { open: true }, h("summary", {}, `The sum over ${node.contributions.length} successors`),
          node.contributions.map((one) => [h("p", { className: "note" }, `from ${one.from}`), heat(one.gradient, `from ${one.from}`)])));
      } else if (node.contributions.length) parts.push(h("p", { className: "note" }, `From its only successor, ${node.contributions[0].from}.`));
      if (!node.isServed || node.key) parts.push(h("div", { className: "row" }, h("button", { onclick: check }, "Check numerically"), h("label", {}, "h = ", stepSize)));
      if (checked) parts.push(checkTable());
    } else if (node.number <= forwardTo) parts.push(h("p", { className: "note" }, "No gradient yet: step backward from the last node."));
    panel.replaceChildren(...parts);
  }

  async function check() {
    const step = Math.min(1, Math.abs(Number(stepSize.value)) || 1e-5);
    if (chosen.isServed) {
      const node = chosen;
      try {
        const answer = await askServed({ check: { node: node.key, step } });
        if (answer === null || node !== chosen) return;
        checked = { step, central: answer.check.central, forward: answer.check.one_sided };
      } catch (error) { problem.replaceChildren(failed(error)); return; }
    } else checked = { step, ...graph.slopes(chosen, step) };
    draw();
  }

  function checkTable() {
    const rows = checked.central.flatMap((row, i) => row.map((item, j) => [`${i + 1}, ${j + 1}`, chosen.gradient[i][j], item, checked.forward[i][j]]));
    const worst = Math.max(...rows.map(([, a, b]) => Math.abs(a - b)));
    const listed = rows.slice(0, 64).map(([place, ...items]) => [place, ...items.map((item) => h("td", { className: "number mono" }, number(item, 8)))]);
    const checks = table(["#entry", "#gradient", "#central", "#one-sided"], listed, { "aria-label": "Numerical check" });
    checks.append(h("p", {}, `Largest difference from the central slope: ${worst.toExponential(1)}`));
    return checks;
  }

  function drawServed() {
    const gold = h("input", { type: "text", id: "gold", size: 40, value: state.labels.join(" "), onchange: () => { state.gold = gold.value; buildServed(); } });
    const text = h("input", { type: "text", id: "text", size: 40, value: state.text, onchange: () => { state.text = text.value; state.gold = ""; edits = []; buildServed(); } });
    guide.replaceChildren(h("h2", {}, tour().title), h("p", {}, "The loss of training on one sentence, without dropout, in double precision, and the gradient of every node. Tables show the rows that the sentence uses. Change the sentence, the gold labels, or any number; check a gradient; take a step and see the loss fall. Nothing is kept: “First numbers” is the model as it is served."),
      h("div", { className: "row" }, h("label", { htmlFor: "text" }, "Sentence"), text, h("label", { htmlFor: "gold" }, "Gold labels"), gold));
  }

  function drawTour() {
    if (state.tour === SERVED) { drawServed(); return; }
    const steps = tour().steps;
    const [text] = steps[state.step];
    const go = (by) => () => { state.step += by; follow(); };
    guide.replaceChildren(h("h2", {}, tour().title), h("p", { id: "said", "aria-live": "polite" }, text),
      h("div", { className: "row" }, h("button", { disabled: state.step === 0, onclick: go(-1) }, "Previous"), h("button", { className: "first", disabled: state.step === steps.length - 1, onclick: go(1) }, "Next"),
        h("span", { className: "note" }, `Step ${state.step + 1} of ${steps.length}`)));
  }

  function drawTraining() {
    const output = graph.nodes.at(-1);
    loss.textContent = `${output.name} = ${number(output.value[0][0], 6)}`;
    const shown = state.tour === SERVED ? history.map(([name, after]) => `${name}: ${number(after, 6)}`) : history.map(([name, before, after]) => `${name}: ${number(before, 6)} → ${number(after, 6)}`);
    past.replaceChildren(...shown.slice(-8).map((text) => h("li", {}, text)));
  }

  function draw() {
    drawTour();
    drawGraph();
    drawNode();
    drawTraining();
    forwardButton.disabled = forwardTo >= graph.nodes.length - 1;
    backButton.disabled = backTo <= 0;
  }

  // ---------------------------------------------------------------------------------------------- walking
  /** Walk, and look at the node that was reached. */
  function to(forward, back, reached) {
    walk(forward, back);
    look(reached());
  }

  function look(node) {
    chosen = node;
    checked = null;
    draw();
  }

  function stepForward() {
    if (!graph) return;
    to(forwardTo + 1, graph.nodes.length, () => graph.nodes[forwardTo]);
    say(`${chosen.name} computed`);
  }

  function stepBackward() {
    if (!graph) return;
    to(graph.nodes.length - 1, Math.min(backTo, graph.nodes.length) - 1, () => graph.nodes[backTo]);
    say(`gradient of ${chosen.name} computed`);
  }

  function train() {
    if (state.tour === SERVED) { buildServed({ optimiser: optimiser.value.toLowerCase(), rate: Math.min(1000, Math.max(0, Number(rate.value) || 0)) }); return; }
    walk(graph.nodes.length - 1, 0);
    const before = graph.output();
    for (const node of graph.parameters()) {
      if (!memories.has(node)) memories.set(node, {});
      node.leaf = OPTIMISERS[optimiser.value](node.leaf, node.gradient, Number(rate.value) || 0, memories.get(node));
    }
    walk(graph.nodes.length - 1, 0);
    history.push([optimiser.value, before, graph.output()]);
    checked = null;
    draw();
  }

  function choose(event) {
    if (!graph) return;
    const place = event.target.closest?.("[data-node]")?.dataset.node;
    if (place === undefined) return;
    look(graph.nodes[Number(place)]);
    drawing.querySelector(`[data-node="${place}"]`).focus();
  }

  function key(event) {
    const place = event.target.closest?.("[data-node]")?.dataset.node;
    if (place === undefined) return;
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (by === undefined && event.key !== "Enter" && event.key !== " ") return;
    look(graph.nodes[Math.max(0, Math.min(graph.nodes.length - 1, Number(place) + (by ?? 0)))]);
    drawing.querySelector(`[data-node="${chosen.number}"]`).focus();
    event.preventDefault();
  }

  // ---------------------------------------------------------------------------------------------- the page
  const [guide, panel, past] = [h("section", { className: "card", "aria-label": "Tour" }), h("section", { className: "card", "aria-label": "Node" }), h("ol", {})];
  const drawing = h("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Drawing of the graph", onclick: choose, onkeydown: key });
  const problem = h("div");
  const training = h("section", { className: "card", "aria-label": "Training" });
  const loss = h("strong", { id: "loss" });
  const moved = h("p", { className: "note" });
  const stepSize = h("input", { type: "text", value: "1e-5", size: 6, "aria-label": "step of the numerical check" });
  const forwardButton = h("button", { onclick: stepForward }, "Step forward");
  const backButton = h("button", { onclick: stepBackward }, "Step backward");
  const tours = h("select", { id: "tour", onchange: () => { state.tour = tours.value; state.step = 0; state.words = null; state.activation = null; fill(); build(); } },
    Object.entries(TOURS).map(([id, one]) => h("option", { value: id, selected: id === state.tour }, one.title)),
    model ? h("option", { value: SERVED, selected: state.tour === SERVED }, "The served model on a sentence") : null);
  const rewritten = debounced(250, () => {
    const given = sentence.value.split(/\s+/).filter(Boolean);
    if (given.length !== tour().words.length) { say(`This example needs ${tour().words.length} words.`); return; }
    state.words = given;
    state.step = Math.min(state.step, tour().steps.length - 1);
    build();
  });
  const sentence = h("input", { type: "text", id: "words", size: 30, oninput: rewritten });
  const functions = h("select", { id: "activation", onchange: () => { state.activation = functions.value; build(); } }, Object.keys(ACTIVATIONS).map((name) => h("option", { value: name }, name)));
  const optimiser = h("select", { id: "optimiser" }, Object.keys(OPTIMISERS).map((name) => h("option", {}, name)));
  const rate = h("input", { type: "number", id: "rate", value: 0.1, step: 0.05 });
  const settings = h("span", { className: "row" }, h("label", { htmlFor: "words" }, "Words"), sentence, h("label", { htmlFor: "activation" }, "Activation"), functions);
  function fill() {
    sentence.value = words().join(" ");
    sentence.disabled = tour().words.length === 0;
    settings.hidden = state.tour === SERVED; // its sentence and its activation are the model's
    functions.value = activation();
    moved.textContent = `Every parameter moves against its gradient, so ${SCORES.includes(state.tour) ? "the score falls: this example has no loss" : "the loss falls, unless the rate is too large"}.`;
  }
  root.append(...heading("Gradient lab", "Small networks, computed node by node, forward and backward, here in the page. Every number can be changed, and checked by hand."),
    h("div", { className: "card" }, h("div", { className: "row" }, h("label", { htmlFor: "tour" }, "Example"), tours, settings)),
    guide, problem,
    h("div", { className: "grid even" },
      h("div", {}, h("section", { className: "card", "aria-label": "Flow graph" },
        h("div", { className: "row" }, forwardButton, backButton, h("button", { onclick: () => { if (graph) to(graph.nodes.length - 1, 0, () => chosen); } }, "Run all"), h("button", { onclick: () => { if (!graph) return; walk(-1, graph.nodes.length); chosen = graph.nodes[0]; draw(); } }, "Begin again"), h("button", { onclick: build }, "First numbers")),
        drawing),
      training),
      panel));
  training.append(
    h("div", { className: "row" }, loss, h("button", { onclick: train }, "One step of"), h("label", { htmlFor: "optimiser", className: "skip" }, "Optimiser"), optimiser, h("label", { htmlFor: "rate" }, "rate"), rate), past,
    moved);
  fill();
  build();
}

// Gradient lab: a flow graph that can be walked, changed, checked and trained.

import { keep } from "/page/address.js";
import { call } from "/page/api.js";
import { debounced, failed, h, heading, number, s, say, table, tip } from "/page/dom.js";
import { ACTIVATIONS, OPERATIONS, OPTIMISERS, shown } from "/page/flow.js";
import { formula, spelt } from "/page/math.js";
import { chart, EXAMPLE, fitting } from "/page/shared.js";
import { TOURS } from "/page/tours.js";

const SERVED = "model";
const SCORES = ["window", "delta", "kink", "vanishing", "slopes"]; // examples that end in a score
// What a layer of the library does, by its name -> [formulas, note, equations].
const RULES = [
  [/LookupTables|take rows/, [], "One row of a table per word and feature. Only the rows that occur get a gradient; a word that occurs twice adds up.", "A2"],
  [/^changed/, [], "What was typed in is added to the value above; the gradient passes unchanged.", ""],
  [/^WindowAverage/, [], "The mean of the vectors in a window: each word gets its share of the gradient.", "E2"],
  [/^Window/, [], "The vectors of neighbouring tokens side by side; a word gets the sum of its parts from all windows it is in.", "A4"],
  [/^(relu|tanh|hardtanh|sigmoid|softsign|leaky-relu)$/, ["h = f(z)", "∂J/∂z = ∂J/∂h ∘ f′(z)"], "Element by element.", "A6, B6, E10"],
  [/^LayerNorm/, [], "Each row is shifted and scaled to mean 0 and variance 1, then multiplied by a gain and shifted by a bias.", ""],
  [/^Sentence/, [], "Distances to the word, a convolution, the largest value over the sentence: only the place of the maximum gets a gradient.", "A4, A12"],
  [/^add/, ["y = a + b"], "Both get the gradient of y unchanged: the shortcut of a residual layer.", "E7"],
  [/^offset/, [], "Scores of the word, and those that its neighbours’ maps say about it.", "C2"],
  [/Linear/, ["Y = X W^⊤ + b", "∂J/∂W = δ^⊤ X", "∂J/∂b = Σ δ", "∂J/∂X = δ W"], "δ is the gradient of Y.", "A3, B3"],
  [/CRF/, ["J = log Z − s(y)"], "At the scores the gradient is p(y_t = j), minus 1 at the gold label, by forward-backward.", "A8, C3, C4, C5"],
  [/cross/i, ["J = −mean log ŷ", "∂J/∂q = (ŷ − y) / N"], "", "A7, E3"],
  [/concat/, [], "Parts side by side; each gets its own columns of the gradient.", "A2"],
];

/** A graph whose numbers come from the server, which computes it anew after every change. */
class ServedGraph {
  constructor(nodes) {
    this.nodes = nodes.map((node, i) => ({ ...node, number: i, full: node.gradient, gradient: null, contributions: [], isServed: true }));
    for (const node of this.nodes) node.parents = node.parents.map((i) => this.nodes[i]);
  }

  forward() {}

  backward(until) { for (const node of this.nodes) node.gradient = node.number >= until ? node.full : null; }}

const [WIDTH, HEIGHT, GAP_X, GAP_Y] = [92, 40, 8, 34];
const THICKEST = 13; // of the lines, in pixels: the largest gradient of the graph
const TICK = 420; // milliseconds between two steps of Play
const sizeOf = (node) => (node.isServed ? node.shape.join(" × ") : node.value ? `${node.value.length} × ${node.value[0].length}` : "");
const isNumber = ({ value }) => value.length * value[0].length === 1;
const norm = (value) => Math.hypot(...value.flat());
const slope = (node) => node.norm ?? norm(node.gradient); // of a served node the whole of it
const isLeaf = (node) => !node.parents.length;

/** Places [{x, y, size}] on the grid of every node of a graph that says none: its row, from left to right; leaves stand right
 *  above their first successor. */
function gridOf(nodes) {
  const rows = nodes.map(() => 0);
  for (const node of nodes) if (!isLeaf(node)) rows[node.number] = Math.max(...node.parents.map((one) => rows[one.number])) + 1;
  for (const node of nodes.filter(isLeaf)) {
    const users = nodes.filter((one) => one.parents.includes(node)).map((one) => rows[one.number]);
    rows[node.number] = Math.max(0, Math.min(...users) - 1);
  }
  const by = [];
  for (const node of nodes) (by[rows[node.number]] ??= []).push(node);
  const most = Math.max(...by.map((row) => row.length));
  by.forEach((row, y) => row.forEach((node, i) => { node.places = [{ x: (most - row.length) / 2 + i, y, size: 1 }]; }));
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
  let before = null; // the loss at the beginning
  let scale = { sent: 1, entry: 1 }; // the largest gradient that a line carries, and the largest entry of all
  let edits = []; // of the served model's graph: numbers set, steps taken
  let memories = new Map();
  let entry = [0, 0]; // of the chosen node, which is spelt out
  let timer = null; // of Play

  const tour = () => TOURS[state.tour] ?? { title: `${model.name} on a sentence`, words: [], steps: [] };
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

  async function buildServed(...added) {
    kept();
    pause();
    edits.push(...added);
    const [key, editing] = [chosen?.key, chosen?.editing];
    try {
      const answer = await askServed();
      if (answer === null) return;
      graph = new ServedGraph(answer.nodes);
      state.labels = answer.labels;
      history = answer.losses.map((value, i) => [edits[i].optimiser ?? `${edits[i].node} changed`, value]);
      if (!edits.length) before = graph.nodes.at(-1).value[0][0];
      problem.replaceChildren();
    } catch (error) {
      edits.length -= added.length;
      problem.replaceChildren(failed(error));
      return;
    }
    checked = null;
    measure();
    walk(graph.nodes.length - 1, 0);
    chosen = (added.length && graph.nodes.find((node) => node.key && node.key === key)) || graph.nodes.at(-1);
    chosen.editing = Boolean(added.length && editing);
    draw();
  }

  function build() {
    problem.replaceChildren();
    edits = [];
    entry = [0, 0];
    pause();
    if (state.tour === SERVED) { buildServed(); return; }
    graph = tour().build({ words: words(), activation: activation() });
    memories = new Map();
    history = [];
    forwardTo = -1;
    backTo = graph.nodes.length;
    checked = null;
    before = graph.output();
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
    measure();
    if (back < graph.nodes.length) graph.backward(Math.max(0, back));
    else for (const node of graph.nodes) { node.gradient = null; node.contributions = []; }
  }

  // ---------------------------------------------------------------------------------------------- drawing
  /** One scale for all gradients of the graph, whichever of them are shown. */
  function measure() {
    if (!graph.nodes[0].isServed) { graph.forward(); graph.backward(); }
    const sizes = graph.nodes.flatMap((node) => (node.isServed ? node.sent : node.contributions.map((one) => norm(one.gradient))));
    const entries = graph.nodes.flatMap((node) => (node.isServed ? node.full : node.gradient).flat().map((item) => Math.abs(item ?? 0)));
    scale = { sent: Math.max(...sizes, 1e-12), entry: Math.max(...entries, 1e-12) };
  }

  const isBack = (node) => node.number >= backTo && node.gradient !== null;
  const isDone = (node) => isLeaf(node) || node.number <= forwardTo;
  const centre = ({ x, y }) => [(x + 0.5) * (WIDTH + GAP_X), HEIGHT / 2 + y * (HEIGHT + GAP_Y)];
  const cellAt = (place, i) => { const [x, y] = centre(place); return [x, y + (i - 0.5) * 52]; };

  function box(node, place, isFirst) {
    const [x, y] = centre(place);
    const width = place.size === "cells" ? 0 : place.size * (WIDTH + GAP_X) - GAP_X;
    const name = node.name.length > 14 && place.size === 1 ? `${node.name.slice(0, 12)}…` : node.name;
    const size = isDone(node) ? (isNumber(node) ? number(node.value[0][0]) : sizeOf(node)) : "·";
    const group = s("g", {
      class: `node ${node.kind} ${isBack(node) ? "back" : isDone(node) && !isLeaf(node) ? "done" : ""} ${node === chosen ? "chosen" : ""}`, role: "button",
      tabindex: node === chosen && isFirst ? 0 : -1, "data-node": node.number, "aria-label": `${node.name}, ${node.kind}, ${isBack(node) ? "value and gradient" : isDone(node) ? "value" : "not computed yet"}`,
    });
    if (place.size === "cells") { // one circle for each label
      node.value.forEach(([value], i) => { const [cx, cy] = cellAt(place, i); group.append(s("circle", { cx, cy, r: 20 }), s("text", { x: cx, y: cy + 4, "text-anchor": "middle" }, isDone(node) ? number(value, 2) : "·")); });
      group.append(s("text", { x, y: y - 52, "text-anchor": "middle", class: "soft" }, node.kind === "parameter" ? "α₁ = u" : node.name));
    } else {
      group.append(s("rect", { x: x - width / 2, y: y - HEIGHT / 2, width, height: HEIGHT, rx: 6 }), s("text", { x, y: y - 3, "text-anchor": "middle" }, name),
        s("text", { x, y: y + 13, "text-anchor": "middle", class: "soft" }, isBack(node) ? `${isNumber(node) ? `${size}  ` : ""}∇ ${slope(node).toPrecision(2)}` : size));
    }
    return tip(group, () => `${node.name}: ${node.operation ?? node.kind}, ${sizeOf(node)}${isBack(node) ? `\nsize of the gradient ${slope(node).toPrecision(4)}` : ""}`);
  }

  /** A line from a parent to a node, as thick as the gradient that it carries back. */
  function line([x1, y1], [x2, y2], sent, isNow) {
    const isBetween = (place) => centre(place)[1] === y1 && (centre(place)[0] - x1) * (centre(place)[0] - x2) < 0;
    const isOver = y1 === y2 && graph.nodes.some((node) => node.places.some(isBetween)); // over the boxes in between
    return s("path", { class: `edge ${sent === null ? "" : "flow"} ${isNow ? "now" : ""}`, style: sent === null ? {} : { "stroke-width": Math.max(0.6, (THICKEST * sent) / scale.sent) }, "data-sent": sent === null ? null : sent.toPrecision(6),
      d: isOver ? `M${x1} ${y1} Q${(x1 + x2) / 2} ${y1 - 2.4 * HEIGHT} ${x2} ${y2}` : `M${x1} ${y1} C${x1} ${(y1 + y2) / 2} ${x2} ${(y1 + y2) / 2} ${x2} ${y2}` });
  }

  function linesTo(node) {
    const [to] = node.places;
    return node.parents.flatMap((parent, place) => {
      const [x, y] = centre(to);
      const far = (one) => Math.hypot(centre(one)[0] - x, centre(one)[1] - y);
      const from = parent.places.reduce((best, one) => (far(one) < far(best) ? one : best));
      const part = parent.contributions.find((one) => one.sender === node && one.place === place);
      const sent = node.isServed ? (isBack(node) ? node.sent[place] : null) : part ? norm(part.gradient) : null;
      const isNow = node.number === backTo && timer !== null;
      if (from.size !== "cells" || to.size !== "cells") return [line(centre(from), centre(to), sent, isNow)];
      const steps = node.parents[1].contributions.find((one) => one.sender === node)?.gradient; // of the transitions
      return parent.value.flatMap((_, i) => node.value.map((__, j) => line(cellAt(from, i), cellAt(to, j), steps ? Math.abs(steps[i][j]) : null, isNow)));
    });
  }

  function drawGraph() {
    if (!graph.nodes[0].places?.length) gridOf(graph.nodes);
    const every = graph.nodes.flatMap((node) => node.places);
    const width = (Math.max(...every.map(({ x, size }) => x + (size > 1 ? size / 2 - 0.5 : 0))) + 1) * (WIDTH + GAP_X);
    const height = Math.max(...every.map(({ y, size }) => y + (size === "cells" ? 0.7 : 0))) * (HEIGHT + GAP_Y) + HEIGHT;
    const top = every.some(({ size }) => size === "cells") ? 46 : 4; // room for lines over the boxes
    drawing.replaceChildren(s("svg", { class: "drawing", width, style: { "min-width": `${Math.min(width, 700)}px` }, viewBox: `0 ${-top} ${width} ${height + top + 4}`, role: "group", "aria-label": "Flow graph" },
      graph.nodes.flatMap(linesTo), graph.nodes.flatMap((node) => node.places.map((place, i) => box(node, place, i === 0)))));
    legend.textContent = `Lines are as thick as the gradient they carry; the thickest carries ${scale.sent.toPrecision(3)}. ∇ is the size of a node’s gradient.`;
  }

  function heat(value, name, change, most = null) {
    const largest = most ?? Math.max(...value.flat().filter((item) => item !== null).map(Math.abs), 1e-12);
    return h("div", { className: "scroll" }, h("table", { className: "heat", "aria-label": name }, h("tbody", {}, value.map((row, i) => h("tr", {}, row.map((item, j) => {
      const cell = h("td", { className: `${item < 0 ? "oppose" : "support"} ${i === entry[0] && j === entry[1] ? "spelt" : ""}`, style: { "--share": Math.abs(item ?? 0) / largest } });
      if (change) cell.append(h("input", { type: "number", step: 0.1, className: "wide", value: item === null ? "" : Number(item.toFixed(6)), "aria-label": `${name}, row ${i + 1}, column ${j + 1}`, onchange: (event) => change(i, j, Number(event.target.value)) }));
      else cell.append(chosen.isServed ? shown(item) : h("button", { "aria-label": `${name}, row ${i + 1}, column ${j + 1}: ${shown(item)}`, onclick: () => { entry = [i, j]; drawNode(); } }, shown(item)));
      return cell;
    }))))));
  }

  const links = (equations) => h("span", { className: "note" }, "Equations ", equations.split(", ").map((one, i) => [i ? ", " : "", h("a", { href: `/page/equations.html#${one.toLowerCase()}`, target: "_blank" }, one)]));
  const ruled = (formulas, note, equations) => h("div", { className: "rule" }, formulas.map((text) => h("span", { className: "formula" }, formula(text))), h("p", { className: "note" }, note, " ", equations ? links(equations) : ""));
  const mathLine = (...parts) => h("p", { className: "scroll spelling" }, spelt(...parts));

  const nameOf = (node) => (isNumber(node) ? "" : node.value[0].length === 1 ? `${entry[0] + 1}` : `${entry[0] + 1},${entry[1] + 1}`);

  function drawNode() {
    const node = chosen;
    const operation = OPERATIONS[node.operation];
    const size = sizeOf(node) || "a number";
    const output = graph.nodes.at(-1).name;
    if (node.value && (entry[0] >= node.value.length || entry[1] >= node.value[0].length)) entry = [0, 0];
    const [i, j] = entry; // is spelt out with its numbers
    const values = (one) => one.parents.map((parent) => parent.value);
    const parts = [h("h2", {}, node.isServed && node.kind === "parameter" ? node.key ?? node.name : node.name, h("span", { className: "note" }, `  ${node.operation ?? node.kind}, ${size}`))];
    if (node.isServed) {
      const [, formulas, note, equations] = RULES.find(([name]) => node.kind === "result" && name.test(node.name)) ?? [];
      if (formulas) parts.push(ruled(formulas, note, equations));
      parts.push(h("p", { className: "note" }, `Root mean square of the value ${number(node.rms)}, norm of the gradient ${number(node.norm)}. `,
        node.shape[0] > node.value.length || node.shape.at(-1) > node.value[0].length ? `Rows ${node.rows.map((i) => i + 1).join(", ")}; the first ${node.value[0].length} columns.` : ""));
    }
    if (operation) parts.push(ruled(typeof operation.rule === "function" ? operation.rule(node.detail) : operation.rule, operation.note, operation.equation));
    else if (node.about) parts.push(h("p", { className: "note" }, node.about));
    if (isDone(node)) {
      const changeable = node.isServed ? Boolean(node.key) : !node.operation;
      const editable = changeable && (node.editing ?? false);
      const change = (row, column, item) => {
        if (node.isServed) { buildServed({ node: node.key, row, column, value: item }); return; }
        node.leaf[row][column] = item;
        checked = null;
        walk(forwardTo, backTo);
        draw();
      };
      parts.push(h("h3", {}, "Value"), operation ? mathLine(node.name, nameOf(node), `${operation.spelt(values(node), i, j, node.detail)} = ${shown(node.value[i][j])}`) : "", heat(node.value, `value of ${node.name}`, editable ? change : null));
      if (changeable) parts.push(h("button", { "aria-pressed": String(editable), onclick: () => { node.editing = !editable; draw(); } }, "change the numbers"));
    } else parts.push(h("p", { className: "note" }, "Not computed yet: step forward."));
    if (node.gradient) {
      const terms = node.contributions.map(({ sender, place }) => OPERATIONS[sender.operation].sent(sender.gradient, values(sender), place, i, j, sender.detail));
      const result = shown(node.gradient[i][j]);
      const sum = terms.length && terms.join() !== result ? `${terms.map((one) => (terms.length > 1 ? `(${one})` : one)).join(" + ")} = ${result}` : result;
      parts.push(h("h3", {}, `Gradient ∂${output}/∂${node.name}`), node.isServed ? "" : mathLine(node.name, nameOf(node), sum, output), heat(node.gradient, `gradient of ${node.name}`, null, scale.entry));
      if (node.contributions.length > 1) {
        parts.push(h("details", { open: true }, h("summary", {}, `The sum over ${node.contributions.length} successors`),
          node.contributions.map((one) => [h("p", { className: "note" }, `from ${one.from}`), heat(one.gradient, `from ${one.from}`, null, scale.entry)])));
      } else if (node.contributions.length) parts.push(h("p", { className: "note" }, `From its only successor, ${node.contributions[0].from}.`));
      if (!node.isServed || node.key) parts.push(h("div", { className: "row" }, h("button", { onclick: check }, "Check numerically"), h("label", {}, "h = ", stepSize)));
      if (checked) parts.push(checkTable());
    } else if (isDone(node)) parts.push(h("p", { className: "note" }, "No gradient yet: step backward from the last node."));
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

  function drawTour() {
    const about = (...said) => guide.replaceChildren(h("h2", {}, tour().title), ...said);
    if (state.tour !== SERVED) {
      const { steps } = tour();
      const go = (by) => () => { state.step += by; follow(); };
      about(h("p", { id: "said", "aria-live": "polite" }, steps[state.step][0]),
        h("div", { className: "row" }, h("button", { disabled: state.step === 0, onclick: go(-1) }, "Previous"), h("button", { className: "first", disabled: state.step === steps.length - 1, onclick: go(1) }, "Next"),
          h("span", { className: "note" }, `Step ${state.step + 1} of ${steps.length}`)));
      return;
    }
    const gold = h("input", { type: "text", id: "gold", size: 40, value: state.labels.join(" "), onchange: () => { state.gold = gold.value; buildServed(); } });
    const text = h("input", { type: "text", id: "text", size: 40, value: state.text, onchange: () => { state.text = text.value; state.gold = ""; edits = []; buildServed(); } });
    about(h("p", {}, "The loss of training on one sentence, without dropout, in double precision, and the gradient of every node. Tables show the rows that the sentence uses. Change the sentence, the gold labels, or any number; check a gradient; take a step and see the loss fall. Nothing is kept: Reset weights brings the model back as it is served."),
      h("div", { className: "row" }, h("label", { htmlFor: "text" }, "Sentence"), text, h("label", { htmlFor: "gold" }, "Gold labels"), gold));
  }

  function drawTraining() {
    const output = graph.nodes.at(-1);
    loss.textContent = `${output.name} = ${number(output.value[0][0], 6)}`;
    past.replaceChildren(...history.slice(-3).map(([name, after]) => h("li", {}, `${name}: ${number(after, 6)}`)));
    past.start = Math.max(1, history.length - 2);
    curve.replaceChildren(history.length ? chart(output.name, [before, ...history.map(([, after]) => after)].map((value, i) => [i, value]), (value) => value.toFixed(3), "step") : "");
  }

  function draw() {
    drawTour();
    drawGraph();
    drawNode();
    drawTraining();
    forwardButton.disabled = forwardTo >= graph.nodes.length - 1;
    backButton.disabled = backTo <= 0;
    playButton.textContent = timer === null ? "Play" : "Pause";
  }

  // ---------------------------------------------------------------------------------------------- walking
  function look(node) {
    chosen = node;
    checked = null;
    draw();
  }

  function stepForward() {
    if (!graph) return;
    const next = graph.nodes.findIndex((node, i) => i > forwardTo && !isLeaf(node)); // words and parameters are given
    walk(next, graph.nodes.length);
    look(graph.nodes[forwardTo]);
    if (timer === null) say(`${chosen.name} computed`);
  }

  function stepBackward() {
    if (!graph) return;
    walk(graph.nodes.length - 1, Math.min(backTo, graph.nodes.length) - 1);
    look(graph.nodes[backTo]);
    if (timer === null) say(`gradient of ${chosen.name} computed`);
  }

  function rewind() {
    if (!graph) return;
    walk(-1, graph.nodes.length);
    look(graph.nodes[0]);
  }

  function pause() {
    clearInterval(timer);
    timer = null;
  }

  /** Forward, then backward, node by node. */
  function play() {
    if (timer !== null || !graph) { pause(); draw(); return; }
    if (backTo <= 0) rewind();
    timer = setInterval(() => {
      if (forwardTo < graph.nodes.length - 1) stepForward();
      else if (backTo > 0) stepBackward();
      else { pause(); draw(); }
    }, TICK);
    draw();
  }

  function train(steps) {
    pause();
    const size = Math.min(1000, Math.max(0, Number(rate.value) || 0));
    if (state.tour === SERVED) { buildServed(...Array(steps).fill({ optimiser: optimiser.value.toLowerCase(), rate: size })); return; }
    for (let i = 0; i < steps; i += 1) {
      walk(graph.nodes.length - 1, 0);
      for (const node of graph.parameters()) {
        if (!memories.has(node)) memories.set(node, {});
        node.leaf = OPTIMISERS[optimiser.value](node.leaf, node.gradient, size, memories.get(node));
      }
      history.push([optimiser.value, graph.output()]);
    }
    walk(graph.nodes.length - 1, 0);
    checked = null;
    draw();
  }

  const MOVES = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Enter: 0, " ": 0 };

  /** A click on a node chooses it; a key also leads to its neighbours. */
  function choose(event) {
    const place = event.target.closest?.("[data-node]")?.dataset.node;
    if (!graph || place === undefined || (event.type === "keydown" && !(event.key in MOVES))) return;
    look(graph.nodes[Math.max(0, Math.min(graph.nodes.length - 1, Number(place) + (MOVES[event.key] ?? 0)))]);
    drawing.querySelector(`[data-node="${chosen.number}"]`).focus();
    if (event.type === "keydown") event.preventDefault();
  }

  // ---------------------------------------------------------------------------------------------- the page
  const [guide, panel, past, curve] = [h("section", { className: "card", "aria-label": "Tour" }), h("section", { className: "card", "aria-label": "Node" }), h("ol", {}), h("div")];
  const legend = h("p", { className: "note" });
  const drawing = h("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Drawing of the graph", onclick: choose, onkeydown: choose });
  const problem = h("div");
  const training = h("section", { className: "card", "aria-label": "Training" });
  const loss = h("strong", { id: "loss" });
  const moved = h("p", { className: "note" });
  const stepSize = h("input", { type: "text", value: "1e-5", size: 6, "aria-label": "step of the numerical check" });
  const forwardButton = h("button", { onclick: stepForward }, "Step forward");
  const playButton = h("button", { className: "first", onclick: play }, "Play");
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
  const [ofWords, ofActivation] = [h("span", { className: "row" }, h("label", { htmlFor: "words" }, "Words"), sentence), h("span", { className: "row" }, h("label", { htmlFor: "activation" }, "Activation"), functions)];
  function fill() { // what does nothing in an example is not offered
    sentence.value = words().join(" ");
    ofWords.hidden = tour().words.length === 0;
    ofActivation.hidden = !tour().activation;
    functions.value = activation();
    moved.textContent = `Every parameter moves against its gradient, so ${SCORES.includes(state.tour) ? "the score falls: this example has no loss" : "the loss falls, unless the rate is too large"}.`;
  }
  root.append(...heading("Gradient lab", "Small networks, computed node by node, forward and backward, here in the page. Every number can be changed, and checked by hand."),
    h("div", { className: "card" }, h("div", { className: "row" }, h("label", { htmlFor: "tour" }, "Example"), tours, ofWords, ofActivation)),
    guide, problem,
    h("div", { className: "lab" }, h("section", { className: "card", "aria-label": "Flow graph" },
      h("div", { className: "row" }, playButton, forwardButton, backButton, h("button", { onclick: () => { pause(); if (graph) { walk(graph.nodes.length - 1, 0); look(chosen); } } }, "Run"), h("button", { onclick: () => { pause(); rewind(); } }, "Rewind"), h("button", { onclick: build }, "Reset weights")),
      drawing, legend),
    h("div", {}, panel, training)));
  training.append(
    h("div", { className: "row" }, loss, h("label", { htmlFor: "optimiser", className: "skip" }, "Optimiser"), optimiser, h("label", { htmlFor: "rate" }, "rate"), rate, h("button", { onclick: () => train(1) }, "One step"), h("button", { onclick: () => train(20) }, "20 steps")), curve, past,
    moved);
  fill();
  build();
  return pause;
}

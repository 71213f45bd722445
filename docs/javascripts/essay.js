// The figures of the essay. The engines are those of the package: the WebAssembly runtime, the lattice and the flow graph
// of the served page. What is here draws them.

import { forwardBackward, kBest } from "/page/crf.js";
import { colour, h, number, percent, s, signed } from "/page/dom.js";
import { Graph, matrix, OPTIMISERS, repeating } from "/page/flow.js";
import { mount as mountLattice } from "/page/lattice.js";
import { read } from "./address.js";
import { decompressed, hasSimd, open } from "./runtime.mjs";
import { engine, fail, keep, start } from "./stand-ins.js";

const HERE = document.currentScript.src;
const CLASSES = ["LOC", "MISC", "ORG", "PER"];
const { view: opened, values: given } = read();
const valuesOf = (figure) => (figure === opened ? given : new URLSearchParams());

/** A figure of the text is empty until this fills it. */
function fill(figure, ...children) {
  document.getElementById(`${figure}-figure`).replaceChildren(...children);
}

const MATH = "http://www.w3.org/1998/Math/MathML";
/** A MathML element from strings (numbers and signs) and elements. */
function m(name, ...children) {
  const element = document.createElementNS(MATH, name);
  if (name === "mo") element.setAttribute("stretchy", "false");
  element.append(...children.map((one) => (typeof one !== "string" || /^m[nio]$|mtext/.test(name) ? one : m(/^[−\d]/.test(one) ? "mn" : /^\p{L}/u.test(one) ? "mi" : "mo", one))));
  return element;
}

/** Width on the screen of a value's box, coloured by its sign. */
const heat = (value, most) => `color-mix(in srgb, var(--${value < 0 ? "wrong" : "right"}) ${Math.round(100 * Math.min(1, Math.abs(value) / most))}%, var(--ground))`;

// ------------------------------------------------------------------------------------------------ 1. names

const NAME_EXAMPLES = ["Paris Hilton in Paris", "Jordan flew from Jordan to Austin with Austin Powers.", "Apple hired Angela Ahrendts from Burberry in London.", "The Amazon runs through Brazil, and Amazon through Seattle."];

function names() {
  const answer = h("div", { className: "text", role: "region", "aria-label": "Names found", tabIndex: 0 }, h("span", { className: "note" }, "Loading the model …"));
  const speed = h("p", { className: "note" });
  const box = h("textarea", { id: "sentence", rows: 2, spellcheck: false, value: valuesOf("names").get("text") ?? NAME_EXAMPLES[0], oninput: () => show() });
  const mark = (one) => h("mark", { className: `entity ${colour(one.label, CLASSES)}`, style: { "--p": one.probability } }, one.text, h("span", { className: `chip ${colour(one.label, CLASSES)}` }, `${one.label} ${percent(one.probability)}`));
  let tagger = null;
  function show() {
    if (!tagger) return;
    const begun = performance.now();
    const { entities } = tagger.tag(box.value);
    const taken = performance.now() - begun;
    const parts = [];
    let end = 0;
    for (const one of entities) { parts.push(box.value.slice(end, one.start), mark(one)); end = one.end; }
    answer.replaceChildren(...parts, box.value.slice(end));
    answer.dataset.milliseconds = taken;
    speed.textContent = `Answered in ${taken.toFixed(1)} ms, in this page. What you type stays here.`;
    keep("names", { text: box.value });
  }
  const example = (text) => h("button", { onclick: () => { box.value = text; show(); } }, text);
  const openLattice = h("button", { className: "first", onclick: () => { lattice(box.value); document.getElementById("lattice").scrollIntoView(); } }, "Open its lattice");
  fill("names", h("label", { className: "field", htmlFor: "sentence" }, "Type a sentence"), box, answer, speed,
    h("div", { className: "row" }, openLattice, NAME_EXAMPLES.map(example)));
  engine.then((loaded) => { tagger = loaded; show(); }, (error) => answer.replaceChildren(h("span", { className: "error", role: "alert" }, `The model cannot run here: ${error.message}`)));
}

// ------------------------------------------------------------------------------------------------ 2. the lattice

let leave;
function lattice(text) {
  leave?.();
  const model = { name: "english", kind: "tagger" };
  const root = h("div");
  const values = valuesOf("lattice");
  if (text !== undefined || !values.has("text")) values.set("text", text ?? ESSAY.sentence);
  fill("lattice", root);
  leave = mountLattice(root, values, { model, models: [model] });
  for (const one of root.querySelectorAll("h1, .lead")) one.remove(); // the essay has its own
}

// ------------------------------------------------------------------------------------------------ 3. where scores come from

function scores() {
  const { tokens, labels, features, vectors, hidden, scores: raw, temperature, shift } = ESSAY;
  const [LEFT, COLUMN, ROW] = [176, 104, 14];
  let chosen = Math.max(0, Math.min(tokens.length - 1, Math.trunc(Number(valuesOf("scores").get("word") ?? 1)) - 1 || 0));
  const cells = (values, x, y, width, height, most) => values.map((value, i) => s("rect", { x: x + (i * width) / values.length, y, width: width / values.length + 0.3, height, fill: heat(value, most) }));
  const choices = h("div", { className: "row", role: "group", "aria-label": "Word in the centre" });
  const drawing = h("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "From a window of words to scores" });
  function draw() {
    choices.replaceChildren("Word in the centre", ...tokens.map((token, t) => h("button", { "aria-pressed": String(t === chosen), onclick: () => { chosen = t; draw(); choices.querySelectorAll("button")[t].focus(); keep("scores", { word: String(t + 1) }); } }, `${token}${token === "Paris" ? (t ? " (second)" : " (first)") : ""}`)));
    const parts = [];
    for (let place = -2; place <= 2; place += 1) {
      const t = chosen + place;
      const isInside = t >= 0 && t < tokens.length;
      const x = LEFT + (place + 2) * COLUMN;
      parts.push(s("text", { x: x + COLUMN / 2 - 4, y: 14, "text-anchor": "middle", class: place ? "soft" : "" }, isInside ? tokens[t] : "(edge)"));
      let from = 0;
      features.forEach(({ name, size, values }, f) => {
        const group = s("g", {}, s("title", {}, `${name}: ${isInside ? values[t] : "edge of the sentence"}`), cells(vectors[isInside ? t : tokens.length].slice(from, from + size), x, 22 + f * ROW, COLUMN - 8, ROW - 3, 2));
        parts.push(group);
        from += size;
      });
      if (place === 0) parts.push(s("rect", { x: x - 3, y: 19, width: COLUMN - 2, height: features.length * ROW + 2, fill: "none", stroke: "var(--strong)", "stroke-width": 2, rx: 3 }));
    }
    features.forEach(({ name, values }, f) => parts.push(s("text", { x: LEFT - 10, y: 32 + f * ROW, "text-anchor": "end", class: "soft small" }, name === "vector" ? "GloVe vector" : `${name}: ${values[chosen]}`)));
    const middle = LEFT + 5 * COLUMN + 26;
    parts.push(s("text", { x: middle - 22, y: 150, class: "soft" }, "→"), s("text", { x: middle + 48, y: 14, "text-anchor": "middle" }, "128 neurons"));
    for (let i = 0; i < 16; i += 1) parts.push(cells(hidden[chosen].slice(8 * i, 8 * i + 8), middle, 22 + i * 16.6, 96, 15, 2));
    const right = middle + 130;
    parts.push(s("text", { x: right - 22, y: 150, class: "soft" }, "→"), s("text", { x: right + 60, y: 14, "text-anchor": "middle" }, "17 scores"));
    const final = raw[chosen].map((score, j) => score / temperature - (labels[j] === "O" ? shift : 0));
    const most = Math.max(...final.map(Math.abs));
    const zero = right + 60 + 70 * Math.max(0, ...final.map((score) => -score / most));
    final.forEach((score, j) => {
      const y = 22 + j * 15.6;
      parts.push(s("text", { x: right + 52, y: y + 11, "text-anchor": "end", class: "soft small" }, labels[j]),
        s("rect", { x: zero + Math.min(0, (score / most) * 70), y, width: Math.max(1, Math.abs((score / most) * 70)), height: 12, fill: `var(--${score < 0 ? "wrong" : "right"})` }),
        s("text", { x: zero + 118, y: y + 11, "text-anchor": "end", class: "small", "data-score": labels[j] }, number(score, 3)));
    });
    drawing.replaceChildren(s("svg", { class: "drawing", viewBox: `0 0 ${zero + 124} 300`, width: zero + 124, height: 300, role: "img", "aria-label": `The features of five words around ${tokens[chosen]}, 128 neurons, 17 scores` }, parts));
  }
  draw();
  fill("scores", choices, drawing);
}

// ------------------------------------------------------------------------------------------------ 4. the gradient

const PLACES = ["Paris", "Hilton", "in", "Paris"];
const [DEPTH, WIDTH, GOLD] = [4, 4, 1];

/** The example of the figure: the vectors of four places, four hidden layers, three classes. */
function deepWindow(activation) {
  const graph = new Graph();
  const next = repeating(46);
  const words = new Map([...new Set(PLACES)].map((word) => [word, graph.parameter(word, matrix(2, 1, next), "")]));
  let below = graph.apply("concatenate", "x", PLACES.map((word) => words.get(word)));
  for (let k = 1; k <= DEPTH; k += 1) {
    const W = graph.parameter(`W${k}`, matrix(WIDTH, k === 1 ? 2 * PLACES.length : WIDTH, next), "");
    below = graph.apply("activation", `h${k}`, [graph.apply("matmul", `z${k}`, [W, below])], activation);
  }
  const q = graph.apply("matmul", "q", [graph.parameter("V", matrix(3, WIDTH, next), ""), below]);
  graph.apply("cross-entropy", "J", [q], GOLD);
  graph.forward();
  graph.backward();
  return graph;
}

function gradient() {
  const COLUMNS = ["x", ...Array.from({ length: DEPTH }, (_, k) => `h${k + 1}`), "q", "J"];
  const X = (column) => 170 + column * 118;
  const size = (values) => Math.hypot(...values.flat());
  let graph;
  let at; // columns that have their gradient, from the right; -1: the forward pass alone
  let timer = null;
  let entry = 0;
  const node = (name) => graph.nodes.find((one) => one.name === name);
  const y = (column, i) => { const n = node(COLUMNS[column]).value.length; return column === 0 ? 44 + i * 32 + Math.floor(i / 2) * 8 : 170 + (i - (n - 1) / 2) * 58; };
  const thick = (value) => Math.max(0.4, Math.min(16, 22 * Math.abs(value)));
  const isBack = (column) => COLUMNS.length - 1 - column <= at;

  function drawNetwork() {
    const [edges, dots, notes] = [[], [], []];
    for (let column = 1; column < COLUMNS.length; column += 1) {
      const name = COLUMNS[column];
      const above = name === "q" ? node("q") : name === "J" ? null : node(`z${column}`);
      const W = above && above.parents[0].value;
      for (let j = 0; j < node(COLUMNS[column - 1]).value.length; j += 1) {
        for (let i = 0; i < node(name).value.length; i += 1) {
          const sent = W ? W[i][j] * above.gradient[i][0] : node("q").gradient[j][0]; // what goes back along this edge
          edges.push(s("line", { class: isBack(column - 1) ? "flow" : "edge", x1: X(column - 1), y1: y(column - 1, j), x2: X(column), y2: y(column, i),
            "stroke-width": isBack(column - 1) ? thick(sent) : 0.8, stroke: isBack(column - 1) ? `var(--${sent < 0 ? "wrong" : "right"})` : null }));
        }
      }
    }
    const words = [...new Set(PLACES)];
    words.forEach((word, w) => {
      const [wx, wy] = [44, 64 + w * 72];
      let sender = 0;
      PLACES.forEach((place, p) => {
        if (place !== word) return;
        const sent = node(word).contributions[sender].gradient;
        sender += 1;
        const [x2, y2] = [X(0) - 10, (y(0, 2 * p) + y(0, 2 * p + 1)) / 2];
        edges.push(s("path", { class: isBack(-1) ? "flow" : "edge", d: `M${wx + 30} ${wy} C${wx + 70} ${wy} ${x2 - 50} ${y2} ${x2} ${y2}`, fill: "none", "stroke-width": isBack(-1) ? thick(size(sent)) : 0.8, stroke: isBack(-1) ? "var(--right)" : null }));
      });
      dots.push(s("g", { class: `node parameter ${word === "Paris" ? "chosen" : ""}` }, s("rect", { x: wx - 34, y: wy - 22, width: 68, height: 44, rx: 6 }), s("text", { x: wx, y: wy - 4, "text-anchor": "middle" }, word),
        s("text", { x: wx, y: wy + 13, "text-anchor": "middle", class: "small soft" }, isBack(-1) ? size(node(word).gradient).toPrecision(2) : "")));
    });
    COLUMNS.forEach((name, column) => {
      node(name).value.forEach(([value], i) => dots.push(s("circle", { cx: X(column), cy: y(column, i), r: 11, fill: heat(value, 1.5), stroke: "var(--soft)" }, s("title", {}, `${name}, entry ${i + 1}: value ${number(value)}, gradient ${number(node(name).gradient[i][0], 6)}`))));
      notes.push(s("text", { x: X(column), y: 20, "text-anchor": "middle" }, name), s("text", { x: X(column), y: 334, "text-anchor": "middle", class: "small", "data-norm": name }, isBack(column) ? size(node(name).gradient).toPrecision(2) : ""));
    });
    notes.push(s("text", { x: 6, y: 334, class: "small soft" }, "size of the gradient"), s("text", { x: 44, y: 20, "text-anchor": "middle" }, "words"));
    drawing.replaceChildren(s("svg", { class: "drawing", viewBox: "0 0 900 345", width: 900, height: 345, role: "img", "aria-label": `A network of ${DEPTH} layers; ${at < 0 ? "no gradient yet" : `the gradient has reached ${at >= COLUMNS.length ? "the words" : COLUMNS[COLUMNS.length - 1 - at]}`}` }, edges, dots, notes));
    play.textContent = timer === null ? "Play" : "Pause";
    back.disabled = at < 0;
  }

  /** One number of the vector of Paris, by the chain rule and by moving it. */
  function check() {
    const word = node("Paris");
    const step = Number(stepSize.value);
    const moved = (by) => graph.output({ node: word, value: word.value.map(([value], i) => [value + (i === entry ? by : 0)]) });
    const [up, down, exact] = [moved(step), moved(-step), word.gradient[entry][0]];
    const slope = (up - down) / (2 * step);
    const parts = word.contributions.map((one) => one.gradient[entry][0]);
    const digits = (value) => value.toPrecision(8).replace("-", "−");
    const fraction = (name) => m("mfrac", m("mrow", "∂", "J"), m("mrow", "∂", m("msub", m("mi", "x"), m("mtext", `Paris, ${entry + 1}`)), name));
    checked.replaceChildren(
      h("div", { className: "formula", tabIndex: 0, role: "group", "aria-label": "Formula" }, m("math", fraction(""), "=", signed(parts[0], 6), signed(parts[1], 6), "=", m("mn", signed(exact, 8)))),
      h("div", { className: "formula", tabIndex: 0, role: "group", "aria-label": "Formula" }, m("math", m("mfrac", m("mrow", "J", "(", "x", "+", "h", ")", "−", "J", "(", "x", "−", "h", ")"), m("mrow", "2", "h")), "=", m("mfrac", m("mrow", digits(up), "−", digits(down)), m("mrow", "2", "·", String(step))), "=", m("mn", signed(slope, 8)))),
      h("p", { className: "note" }, `Backward, the two places of “Paris” add up. The difference between the two results is ${Math.abs(slope - exact).toExponential(1)}.`));
    const leaves = graph.nodes.filter((one) => !one.operation).map((one) => [one.name, one.value]);
    all.textContent = `${leaves.map(([name, rows]) => JSON.stringify({ [name]: rows })).join("\n")}`;
    Object.assign(checked.dataset, { exact, slope });
  }

  function stop() { clearInterval(timer); timer = null; }
  function advance() {
    at += 1;
    if (at >= COLUMNS.length) stop();
    drawNetwork();
  }
  function build() {
    stop();
    graph = deepWindow(activation.value);
    at = -1;
    drawNetwork();
    check();
    keep("gradient", { activation: activation.value });
  }
  function toggle() {
    if (timer !== null) { stop(); drawNetwork(); return; }
    if (at >= COLUMNS.length) at = -1;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) { at = COLUMNS.length; drawNetwork(); return; }
    timer = setInterval(advance, 420);
    advance();
  }
  const play = h("button", { className: "first", onclick: toggle }, "Play");
  const back = h("button", { onclick: () => { stop(); at = -1; drawNetwork(); } }, "Rewind");
  const wanted = valuesOf("gradient").get("activation");
  const activation = h("select", { id: "function", onchange: () => { build(); at = COLUMNS.length; drawNetwork(); } }, ["tanh", "sigmoid", "relu"].map((name) => h("option", { value: name, selected: name === wanted }, name)));
  const stepSize = h("select", { id: "step", onchange: check }, [0.1, 0.01, 0.0001].map((step) => h("option", { value: step, selected: step === 0.0001 }, String(step))));
  const which = h("select", { id: "entry", onchange: () => { entry = Number(which.value); check(); } }, [0, 1].map((i) => h("option", { value: i }, `number ${i + 1}`)));
  const drawing = h("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "The gradient in the network" });
  const [checked, all] = [h("div", { id: "checked" }), h("pre", { id: "leaves", tabIndex: 0 })];
  fill("gradient", h("div", { className: "row" }, play, h("button", { onclick: () => { stop(); if (at < COLUMNS.length) advance(); } }, "Step"), back, h("label", { htmlFor: "function" }, "Activation"), activation), drawing,
    h("div", { className: "row" }, h("label", { htmlFor: "entry" }, "Check of Paris,"), which, h("label", { htmlFor: "step" }, "moved by h ="), stepSize), checked,
    h("details", {}, h("summary", {}, "All numbers, to compute it elsewhere"), all));
  build();
}

// ------------------------------------------------------------------------------------------------ 5. a tree

async function tree() {
  const model = await open(await unpacked(ESSAY.wasm[hasSimd() ? "simd" : "plain"]), await unpacked(ESSAY.opinions));
  const [subjects, qualities] = [["film", "plot", "music", "joke"], ["bad", "good", "boring", "clever", "silly", "moving"]];
  const colours = { good: "right", bad: "wrong", neither: "soft" };
  const choice = (id, options) => h("select", { id, onchange: compose }, options.map((name) => h("option", {}, name)));
  function compose() {
    const phrase = `(x ${quality.value})`;
    box.value = `(x (x (x the) (x ${subject.value})) (x (x is) ${negation.getAttribute("aria-pressed") === "true" ? `(x (x not) ${phrase})` : phrase}))`;
    classify();
  }
  function classify() {
    let top;
    try { top = model.classifyTree(box.value); } catch (error) { problem.textContent = error.message; return; }
    problem.textContent = "";
    keep("tree", { text: box.value });
    const places = new Map();
    let leaves = 0;
    const depth = (one) => (one.children.length ? 1 + Math.max(...one.children.map(depth)) : 0);
    const arrange = (one) => {
      const below = one.children.map(arrange);
      const x = below.length ? (below[0].x + below.at(-1).x) / 2 : 66 + 124 * leaves++;
      places.set(one, { x, y: 34 + 62 * (depth(top) - depth(one)) });
      return places.get(one);
    };
    arrange(top);
    const all = [...places];
    const lines = all.flatMap(([one, from]) => one.children.map((child) => s("line", { class: "edge", x1: from.x, y1: from.y, x2: places.get(child).x, y2: places.get(child).y })));
    const drawn = all.map(([one, { x, y }]) => s("g", { "data-phrase": one.children.length ? "phrase" : one.text, "data-label": one.label, "data-probability": one.probability },
      s("rect", { x: x - 57, y: y - 15, width: 114, height: 30, rx: 15, fill: `color-mix(in srgb, var(--${colours[one.label]}) ${Math.round(40 * one.probability)}%, var(--ground))`, stroke: `var(--${colours[one.label]})` }),
      s("text", { x, y: y + 5, "text-anchor": "middle", class: "small" }, `${one.label} ${percent(one.probability)}`),
      one.children.length ? null : s("text", { x, y: y + 34, "text-anchor": "middle" }, one.text)));
    const [width, height] = [leaves * 124 + 8, 62 * depth(top) + 84];
    drawing.replaceChildren(s("svg", { class: "drawing", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `Tree: the whole is ${top.label}, ${percent(top.probability)}` }, lines, drawn));
  }
  const [subject, quality] = [choice("subject", subjects), choice("quality", qualities)];
  const negation = h("button", { id: "not", "aria-pressed": "true", onclick: () => { negation.setAttribute("aria-pressed", String(negation.getAttribute("aria-pressed") !== "true")); compose(); } }, "not");
  const box = h("input", { type: "text", id: "brackets", spellcheck: false, oninput: classify });
  const problem = h("p", { className: "note", role: "status" });
  const drawing = h("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Tree of phrases" });
  fill("tree", h("div", { className: "row" }, h("label", { htmlFor: "subject" }, "the"), subject, h("label", { htmlFor: "quality" }, "is"), negation, quality), drawing,
    h("label", { className: "field", htmlFor: "brackets" }, "The tree in brackets: write your own"), box, problem);
  compose();
  const text = valuesOf("tree").get("text");
  if (text) { box.value = text; classify(); }
}

// ------------------------------------------------------------------------------------------------ 6. training

const LESSONS = `[Paris Hilton](PER) lives in [Paris](LOC) .
[Florence](LOC) is a city in [Italy](LOC) .
[Florence Nightingale](PER) worked in [London](LOC) .
My friend [Florence](PER) paints .
[Jack London](PER) wrote books .
The train to [London](LOC) is late .
[Sydney](LOC) is far from [Austin](LOC) .
[Austin](PER) met [Sydney](PER) in [Berlin](LOC) .
We flew from [Jordan](LOC) to [Rome](LOC) .
[Jordan](PER) and [Paris](PER) dance .
The museums in [Paris](LOC) are open .
She saw [Michael Jordan](PER) in [Chicago](LOC) .
[Chicago](LOC) has a lake .
[Anna](PER) wrote to [Jordan](PER) .
He lives near [Rome](LOC) .
[Charlotte](PER) sings with [Anna](PER) .
They drove to [Charlotte](LOC) in the rain .
[Berlin](LOC) was cold .
[Irving Berlin](PER) wrote songs .
The rain in [Spain](LOC) stays .`;
const STATES = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"];
const [WORD, SHAPE, HIDDEN, EPOCHS] = [6, 3, 12, 40];

/** Words and numbers of states of lines such as "[Anna](PER) sings ." */
function lessonsOf(text) {
  return text.split("\n").map((line) => {
    const [words, gold] = [[], []];
    for (const [, name, label, other] of line.matchAll(/\[([^\]]+)\]\((\w+)\)|(\S+)/g)) {
      for (const [i, word] of (name ?? other).split(/\s+/).entries()) { words.push(word); gold.push(Math.max(0, STATES.indexOf(label ? `${i ? "I" : "B"}-${label}` : "O"))); }
    }
    return { words, gold };
  }).filter(({ words }) => words.length);
}

const shapeOf = (word) => (/^\p{Lu}/u.test(word) ? "capital" : /^\p{L}/u.test(word) ? "lower" : "other");

/** A window tagger with a CRF, in flow graphs of one sentence each: word and shape vectors, a window of three, tanh. */
class SmallTagger {
  constructor(lessons) {
    const next = repeating(7);
    const counts = new Map();
    for (const { words } of lessons) for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    const inputs = 3 * (WORD + SHAPE);
    this.counts = counts;
    this.memories = new Map();
    this.values = new Map([
      ["W", matrix(HIDDEN, inputs, () => 0.5 * next())], ["b", matrix(HIDDEN, 1, () => 0)],
      ["V", matrix(STATES.length, HIDDEN, () => 0.5 * next())], ["c", matrix(STATES.length, 1, () => 0)], ["A", matrix(STATES.length, STATES.length, () => 0)],
      ...["", "rare", ...counts.keys()].map((word) => [`word ${word}`, matrix(WORD, 1, next)]),
      ...["", "capital", "lower", "other"].map((shape) => [`shape ${shape}`, matrix(SHAPE, 1, next)]),
    ]);
  }

  get size() { return [...this.values.values()].reduce((sum, value) => sum + value.length * value[0].length, 0); }

  /** Nodes of the scores of each word; `isRare` says which words are read as unknown ones. */
  #scores(graph, words, isRare) {
    const nodes = new Map();
    const take = (name) => { if (!nodes.has(name)) nodes.set(name, graph.parameter(name, this.values.get(name), "")); return nodes.get(name); };
    const [W, b, V, c, A] = ["W", "b", "V", "c", "A"].map(take);
    const vectors = ["", ...words, ""].map((word, t) => [take(`word ${!word ? "" : this.counts.has(word) && !isRare(word, t) ? word : "rare"}`), take(`shape ${word && shapeOf(word)}`)]);
    const u = words.map((_, t) => {
      const x = graph.apply("concatenate", `x${t}`, vectors.slice(t, t + 3).flat());
      const hidden = graph.apply("activation", `h${t}`, [graph.apply("add", `z${t}`, [graph.apply("matmul", `Wx${t}`, [W, x]), b])], "tanh");
      return graph.apply("add", `u${t}`, [graph.apply("matmul", `Vh${t}`, [V, hidden]), c]);
    });
    return { A, u };
  }

  /** One step on one sentence; its loss. */
  learn({ words, gold }, rate, random) {
    const graph = new Graph();
    const { A, u } = this.#scores(graph, words, () => random() > 0.5); // a quarter of the words, to learn from shapes too
    const last = u.slice(1).reduce((alpha, one, t) => graph.apply("CRF step", `α${t + 2}`, [alpha, A, one]), u[0]);
    graph.apply("subtract", "J", [graph.apply("log-sum-exp", "log Z", [last]), graph.apply("path score", "s(y)", [A, ...u], gold)]);
    graph.forward();
    graph.backward();
    for (const node of graph.parameters()) {
      if (!this.memories.has(node.name)) this.memories.set(node.name, {});
      this.values.set(node.name, OPTIMISERS.AdaGrad(node.leaf, node.gradient, rate, this.memories.get(node.name)));
    }
    return graph.nodes.at(-1).value[0][0];
  }

  /** The best states of a sentence, and the probability of each. */
  tag(words) {
    const graph = new Graph();
    const { A, u } = this.#scores(graph, words, () => false);
    graph.forward();
    const flat = STATES.map(() => 0);
    const chain = { unary: u.map((one) => one.value.flat()), transitions: A.value, start: flat, end: flat };
    const messages = forwardBackward(chain);
    const [{ labels }] = kBest(chain, 1, messages.logZ);
    return labels.map((j, t) => ({ label: STATES[j], probability: messages.marginals[t][j] }));
  }
}

function training() {
  let tagger = null;
  let isBusy = false;
  const lessons = h("textarea", { id: "lessons", rows: 10, spellcheck: false, value: valuesOf("training").get("sentences") ?? LESSONS, oninput: () => remember() });
  const box = h("input", { type: "text", id: "tried", value: valuesOf("training").get("text") ?? "Paris Hilton met Jordan in Paris .", oninput: () => { remember(); show(); } });
  const answer = h("div", { className: "text", role: "region", "aria-label": "Answer of the small tagger", tabIndex: 0 }, h("span", { className: "note" }, "Not trained yet."));
  const said = h("p", { className: "note", role: "status" }, "Twenty sentences, with names in brackets. Change them if you like.");
  const curve = h("div", { id: "curve" });
  const remember = () => keep("training", { text: box.value, ...(lessons.value === LESSONS ? {} : { sentences: lessons.value }) });
  function show() {
    const words = box.value.match(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu) ?? [];
    if (!tagger || !words.length) return;
    answer.replaceChildren(...tagger.tag(words).flatMap(({ label, probability }, t) => (label === "O" ? [words[t], " "] : [h("mark", { className: `entity ${colour(label.slice(2), CLASSES)}`, style: { "--p": probability } }, words[t], h("span", { className: `chip ${colour(label.slice(2), CLASSES)}` }, `${label} ${percent(probability)}`)), " "])));
  }
  function draw(losses) {
    const most = Math.max(...losses, 1);
    const [width, height] = [420, 200];
    const x = (i) => 44 + (i / EPOCHS) * (width - 60);
    const y = (loss) => 14 + (1 - loss / most) * (height - 50);
    curve.replaceChildren(s("svg", { class: "drawing", viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img", "aria-label": `Loss per sentence after ${losses.length} passes: ${losses.at(-1)?.toFixed(3) ?? "none yet"}` },
      [0, most / 2, most].map((tick) => [s("line", { class: "edge", x1: 44, x2: width - 16, y1: y(tick), y2: y(tick), opacity: 0.4 }), s("text", { x: 38, y: y(tick) + 4, "text-anchor": "end", class: "small soft" }, tick.toFixed(1))]),
      s("polyline", { fill: "none", stroke: "var(--strong)", "stroke-width": 2.5, points: losses.map((loss, i) => `${x(i)},${y(loss)}`).join(" ") }),
      s("text", { x: width / 2, y: height - 6, "text-anchor": "middle", class: "small soft" }, `passes over the sentences (of ${EPOCHS}); loss per sentence, log Z − s(y)`)));
  }
  async function train() {
    if (isBusy) return;
    const examples = lessonsOf(lessons.value);
    if (!examples.length) { said.textContent = "There is no sentence to learn from."; return; }
    isBusy = true;
    tagger = new SmallTagger(examples);
    const random = repeating(3);
    const losses = [];
    const begun = performance.now();
    for (let epoch = 0; epoch < EPOCHS; epoch += 1) {
      losses.push(examples.reduce((sum, one) => sum + tagger.learn(one, 0.1, random), 0) / examples.length);
      draw(losses);
      show();
      said.textContent = `Pass ${epoch + 1} of ${EPOCHS}: loss ${losses.at(-1).toFixed(3)} per sentence.`;
      await new Promise((done) => { setTimeout(done, 0); });
    }
    const right = examples.flatMap(({ words, gold }) => tagger.tag(words).map(({ label }, t) => label === STATES[gold[t]]));
    said.textContent = `Trained in ${((performance.now() - begun) / 1000).toFixed(1)} s: ${tagger.size.toLocaleString("en")} numbers, ${right.filter(Boolean).length} of ${right.length} words of the ${examples.length} sentences right.`;
    Object.assign(curve.dataset, { first: losses[0], last: losses.at(-1) });
    isBusy = false;
  }
  draw([]);
  fill("training", h("div", { className: "grid even" }, h("div", {}, h("label", { className: "field", htmlFor: "lessons" }, "Sentences to learn from"), lessons), curve),
    h("div", { className: "row" }, h("button", { id: "train", className: "first", onclick: train }, "Train"), said),
    h("label", { className: "field", htmlFor: "tried" }, "A sentence to try it on"), box, answer);
}

// ------------------------------------------------------------------------------------------------ the beginning

/** The bytes of gzip in base64. */
function unpacked(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i += 1) bytes[i] = letters.charCodeAt(i); // Uint8Array.from takes seconds for megabytes
  return decompressed(bytes);
}

async function begin() {
  await new Promise((resolve, reject) => {
    document.head.append(h("script", { src: new URL("essay-model.js", HERE).href, onload: resolve, onerror: () => reject(new Error("its file is missing")) }));
  });
  const [wasm, model] = await Promise.all([unpacked(ESSAY.wasm[hasSimd() ? "simd" : "plain"]), unpacked(ESSAY.names)]);
  delete ESSAY.names; // megabytes that nobody needs any more
  const tagger = await open(wasm, model);
  tagger.tag(ESSAY.sentence); // the first call is slow: the browser still compiles
  start(tagger);
}

document.querySelector(".md-content").append(h("div", { className: "live" }, h("p", { id: "status", role: "status", "aria-live": "polite" }), h("div", { id: "tip", role: "tooltip", hidden: true })));
names();
lattice();
scores();
gradient();
tree();
training();
if (opened) document.getElementById(opened)?.scrollIntoView();
requestAnimationFrame(() => setTimeout(() => begin().catch(fail).finally(() => { document.documentElement.dataset.ready = "yes"; }), 0));

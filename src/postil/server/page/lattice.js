// Lattice: positions × labels; drag a score, and forward-backward is computed again in the page.

import { keep } from "/page/address.js";
import { call } from "/page/api.js";
import { forwardBackward, kBest, pairwise, scores } from "/page/crf.js";
import { debounced, failed, h, heading, number, percent, s, say, tip } from "/page/dom.js";
import { EXAMPLE, figures, fitting, missing, textBox } from "/page/shared.js";

const [LEFT, TOP, RADIUS] = [92, 34, 14];
const SHOWN = 12;
const TERMS = 6; // of a sum that are shown; the others are folded
const STEP = 0.5;

export function mount(root, values, context) {
  const model = fitting(context, "tagger");
  if (!model) { root.append(missing("tagger")); return undefined; }
  const state = { text: values.get("text") ?? EXAMPLE, sentence: Number(values.get("sentence") ?? 0), paths: Number(values.get("paths") ?? 1), all: values.get("all") === "1" };
  let sentences = [];
  let shown = null; // {tokens, labels, chain, messages, paths, original}
  let cell = null; // {t, j}
  let rows = [];

  function kept() {
    keep("lattice", { model: model.name, text: state.text, sentence: state.sentence || "", paths: state.paths === 1 ? "" : state.paths, all: state.all ? 1 : "" });
  }

  async function ask() {
    kept();
    try {
      const content = await call("/api/lattice", { model: model.name, text: state.text }).catch(oneSentence);
      if (content === null) return;
      sentences = content.sentences;
      problem.replaceChildren();
      open();
    } catch (error) {
      problem.replaceChildren(failed(error, rows.length > 0));
    }
  }

  /** Of a text that is too long for one answer, only the sentence that is shown. */
  async function oneSentence(error) {
    if (!["tokens", "cost"].includes(error.code)) throw error;
    const content = await call("/api/tag", { model: model.name, text: state.text, options: { tokens: true } }, "sentences");
    if (content === null) return null;
    const [{ tokens, sentences: places }] = content.documents;
    const [from, to] = places[Math.min(state.sentence, places.length - 1)];
    const found = await call("/api/lattice", { model: model.name, tokens: tokens.slice(from, to).map((one) => one.text) });
    return found && { sentences: Object.assign(Array(places.length), { [Math.min(state.sentence, places.length - 1)]: found.sentences[0] }) };
  }

  function open() {
    const data = sentences[Math.min(state.sentence, sentences.length - 1)];
    if (!data && sentences.length) { ask(); return; }
    if (!data) { shown = null; drawing.replaceChildren(h("p", { className: "note" }, "Type a sentence above.")); details.replaceChildren(); best.replaceChildren(); undo.disabled = true; return; }
    const chain = { unary: scores(data.unary), transitions: scores(data.transitions), start: scores(data.start), end: scores(data.end) };
    shown = { tokens: data.tokens, labels: data.labels, chain, original: scores(data.unary) };
    cell = null;
    compute();
    rows = chosenRows();
    const path = shown.paths[0].labels;
    cell = { t: Math.max(0, path.findIndex((j) => shown.labels[j] !== "O")), j: 0 };
    cell.j = path[cell.t];
    draw();
  }

  /** All labels, or those that matter somewhere. */
  function chosenRows() {
    const every = shown.labels.map((_, j) => j);
    if (state.all || every.length <= SHOWN) return every;
    const weight = (j) => Math.max(...shown.messages.marginals.map((row) => row[j]));
    const kept = new Set(every.toSorted((a, b) => weight(b) - weight(a)).slice(0, SHOWN));
    return every.filter((j) => kept.has(j));
  }

  function compute() {
    shown.messages = forwardBackward(shown.chain);
    shown.paths = kBest(shown.chain, Math.max(1, state.paths), shown.messages.logZ);
  }

  // ---------------------------------------------------------------------------------------------- drawing
  /** Between two words: closer together where that shows a whole sentence. */
  const gap = () => Math.max(64, Math.min(96, (drawing.clientWidth - LEFT - 100) / Math.max(1, (shown?.tokens.length ?? 1) - 1)));
  const shortened = (token) => { const most = Math.floor(gap() / 7.4); return token.length > most ? `${token.slice(0, most - 1)}…` : token; };
  const x = (t) => LEFT + 40 + t * gap();
  const y = (j) => TOP + 22 + rows.indexOf(j) * 40;

  function draw() {
    const { tokens, labels, chain, messages, paths } = shown;
    const width = x(tokens.length - 1) + 60;
    const height = TOP + 22 + rows.length * 40;
    const lines = [
      ...tokens.map((token, t) => s("text", { x: x(t), y: 18, "text-anchor": "middle" }, shortened(token))),
      ...rows.map((j) => s("text", { x: LEFT - 4, y: y(j) + 5, "text-anchor": "end", class: "soft" }, labels[j])),
    ];
    const stepsAt = (t, pairs) => {
      if (t < 0 || t + 1 >= tokens.length) return [];
      const shares = pairwise(chain, messages, t);
      return pairs.filter(([i, j]) => chain.transitions[i][j] > -Infinity).map(([i, j]) => s("line", { class: "step", x1: x(t), y1: y(i), x2: x(t + 1), y2: y(j), opacity: 0.75,
        "stroke-width": 1 + 5 * Math.min(1, shares[i][j] / Math.max(messages.marginals[cell.t][cell.j], 1e-12)) }));
    };
    const steps = !cell ? [] : [...stepsAt(cell.t, rows.map((j) => [cell.j, j])), ...stepsAt(cell.t - 1, rows.map((i) => [i, cell.j]))]; // those of β and of α
    const drawnPaths = paths.slice(0, state.paths).map((path, rank) => s("polyline", {
      class: `path ${rank === 0 ? "best" : `rank-${rank}`}`, "data-rank": rank,
      points: path.labels.map((j, t) => `${x(t)},${rows.includes(j) ? y(j) + rank * 3 : height}`).join(" "),
    })).reverse();
    const cells = tokens.flatMap((token, t) => rows.map((j) => point(t, j)));
    drawing.replaceChildren(s("svg", { class: "drawing", width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Lattice of positions and labels" }, lines, steps, drawnPaths, cells));
    drawDetails();
    drawPaths();
    changed.textContent = isChanged() ? "Scores were changed by hand." : "";
    undo.disabled = !isChanged();
  }

  const isChanged = () => shown.chain.unary.some((row, t) => row.some((value, j) => value !== shown.original[t][j]));

  function point(t, j) {
    const { tokens, labels, chain, messages } = shown;
    const p = messages.marginals[t][j];
    const isOpen = chain.unary[t][j] > -Infinity;
    const group = s("g", {
      class: `cell ${cell?.t === t && cell.j === j ? "chosen" : ""} ${chain.unary[t][j] !== shown.original[t][j] ? "changed" : ""}`,
      role: "button", tabindex: cell?.t === t && cell.j === j ? 0 : -1, "data-cell": `${t},${j}`,
      "aria-label": `${tokens[t]}, ${labels[j]}: probability ${p.toFixed(4)}, score ${number(chain.unary[t][j], 2)}`,
    }, s("circle", { cx: x(t), cy: y(j), r: RADIUS, "fill-opacity": isOpen ? 0.04 + 0.96 * p : 0 }), s("circle", { class: "ring", cx: x(t), cy: y(j), r: RADIUS + 3 }));
    return tip(group, () => `${tokens[t]} as ${labels[j]}\nprobability ${p.toFixed(6)}\nscore ${number(chain.unary[t][j])}`);
  }

  // ---------------------------------------------------------------------------------------------- one cell
  const exact = (value) => number(value, 4);

  function drawDetails() {
    if (!cell) { details.replaceChildren(); return; }
    const { t, j } = cell;
    const { tokens, labels, chain, messages } = shown;
    const last = tokens.length - 1;
    const name = `${tokens[t]} as ${labels[j]}`;
    const terms = (title, formula, sum, items) => h("details", { open: true }, h("summary", {}, title, " = ", h("strong", {}, exact(sum))),
      h("p", { className: "mono note" }, formula),
      items.length ? termTable(items.slice(0, TERMS)) : null, items.length > TERMS ? h("details", {}, h("summary", {}, `${items.length - TERMS} smaller terms`), termTable(items.slice(TERMS))) : null);
    const termTable = (items) => h("div", { className: "scroll" }, h("table", {}, h("tbody", {}, items.map(([label, text, value]) => h("tr", {}, h("td", {}, label), h("td", { className: "mono" }, text), h("td", { className: "number mono" }, exact(value)))))));
    const possible = (items) => items.filter(([, , value]) => value > -Infinity).sort(([, , a], [, , b]) => b - a);
    const alphaTerms = t === 0 ? [] : possible(labels.map((label, i) => [label, `α(${exact(messages.alphas[t - 1][i])}) + A(${exact(chain.transitions[i][j])})`, messages.alphas[t - 1][i] + chain.transitions[i][j]]));
    const betaTerms = t === last ? [] : possible(labels.map((label, i) => [label, `A(${exact(chain.transitions[j][i])}) + u(${exact(chain.unary[t + 1][i])}) + β(${exact(messages.betas[t + 1][i])})`, chain.transitions[j][i] + chain.unary[t + 1][i] + messages.betas[t + 1][i]]));
    const score = h("input", { type: "number", className: "wide", step: STEP, id: "score", value: Number.isFinite(chain.unary[t][j]) ? chain.unary[t][j].toFixed(3) : "", oninput: () => { if (score.value !== "") set(t, j, Number(score.value)); } });
    const hadFocus = document.activeElement?.id === "score";
    details.replaceChildren(h("h2", {}, name),
      figures([["probability", messages.marginals[t][j].toFixed(6), "marginal"]]),
      h("div", { className: "row" }, h("label", { htmlFor: "score" }, "score u"), score),
      terms(`α_${t}(${labels[j]})`, t === 0 ? `α_0(j) = start(j) + u_0(j) = ${exact(chain.start[j])} + ${exact(chain.unary[0][j])}` : `α_${t}(j) = u_${t}(j) + log Σ_i exp(α_${t - 1}(i) + A(i, j)), u = ${exact(chain.unary[t][j])}`, messages.alphas[t][j], alphaTerms),
      terms(`β_${t}(${labels[j]})`, t === last ? `β_${t}(i) = end(i)` : `β_${t}(i) = log Σ_j exp(A(i, j) + u_${t + 1}(j) + β_${t + 1}(j))`, messages.betas[t][j], betaTerms),
      h("p", { className: "mono" }, `p = exp(α + β − log Z) = exp(${exact(messages.alphas[t][j])} + ${exact(messages.betas[t][j])} − ${exact(messages.logZ)})`),
      h("p", { className: "note" }, "C3, C4 and A8 of the list of equations. Drag the circle up or down, or press + and −, to change its score."));
    if (hadFocus) score.focus();
  }

  function drawPaths() {
    const { labels, tokens } = shown;
    best.replaceChildren(h("ol", {}, shown.paths.map((path) => h("li", {}, `${percent(path.probability)} `,
      h("span", { className: "mono" }, path.labels.map((j, t) => (labels[j] === "O" ? "" : `${tokens[t]}/${labels[j]}`)).filter(Boolean).join(" ") || "all O")))));
  }

  // ---------------------------------------------------------------------------------------------- changing
  function set(t, j, value) {
    shown.chain.unary[t][j] = value;
    compute();
    draw();
  }

  /** What a control changes, once there is a lattice to change: none before the first answer, nor without a text. */
  function change(made) {
    if (shown === null) return;
    made();
    draw();
  }

  function choose(t, j, focus = false) {
    cell = { t, j };
    draw();
    if (focus) drawing.querySelector(`[data-cell="${t},${j}"]`)?.focus();
  }

  const placed = (event) => event.target.closest?.("[data-cell]")?.dataset.cell.split(",").map(Number);
  let drag = null;
  function down(event) {
    const place = placed(event);
    if (!place) return;
    const [t, j] = place;
    choose(t, j, true);
    if (shown.chain.unary[t][j] > -Infinity) drag = { t, j, from: event.clientY, value: shown.chain.unary[t][j] };
    event.preventDefault();
  }
  function move(event) {
    if (drag && shown !== null) set(drag.t, drag.j, drag.value + (drag.from - event.clientY) / 10);
  }
  function up() {
    if (drag) { document.getElementById("tip").hidden = true; drawing.querySelector(`[data-cell="${drag.t},${drag.j}"]`)?.focus(); }
    drag = null;
  }
  function key(event) {
    const place = placed(event);
    if (!place) return;
    const [t, j] = place;
    const at = rows.indexOf(j);
    const moves = { ArrowRight: [t + 1, j], ArrowLeft: [t - 1, j], ArrowDown: [t, rows[at + 1]], ArrowUp: [t, rows[at - 1]] };
    if (event.key in moves) {
      const [nt, nj] = moves[event.key];
      if (nt >= 0 && nt < shown.tokens.length && nj !== undefined) choose(nt, nj, true);
    } else if (["+", "=", "-"].includes(event.key) && shown.chain.unary[t][j] > -Infinity) {
      set(t, j, shown.chain.unary[t][j] + (event.key === "-" ? -STEP : STEP));
      choose(t, j, true);
      say(`score ${number(shown.chain.unary[t][j], 2)}, probability ${shown.messages.marginals[t][j].toFixed(4)}`);
    } else return;
    event.preventDefault();
  }

  // ---------------------------------------------------------------------------------------------- the page
  const askSoon = debounced(150, ask);
  const { field } = textBox(state.text, (text) => { state.text = text; state.sentence = 0; askSoon(); }, "Sentence", 2);
  const [problem, details, best] = [h("div", { className: "problem" }), h("section", { className: "card", "aria-label": "Cell" }), h("div")];
  const drawing = h("div", { className: "scroll", onpointerdown: down, onkeydown: key, tabIndex: 0, role: "region", "aria-label": "Drawing of the lattice" });
  const changed = h("span", { className: "note" });
  const undo = h("button", { onclick: () => change(() => { shown.chain.unary = shown.original.map((row) => [...row]); compute(); }) }, "Undo changes");
  const count = h("input", { type: "number", id: "paths", min: 1, max: 8, value: state.paths, oninput: () => { state.paths = Math.max(1, Math.min(8, Math.round(Number(count.value)) || 1)); kept(); change(compute); } });
  const every = h("input", { type: "checkbox", checked: state.all, onchange: () => { state.all = every.checked; kept(); change(() => { rows = chosenRows(); }); } });
  const which = h("input", { type: "number", id: "which", min: 1, value: state.sentence + 1, oninput: () => { state.sentence = Math.max(0, Math.round(Number(which.value) || 1) - 1); kept(); open(); } });
  root.append(...heading("Lattice", "Every label at every position. The darker, the more probable; the thick line is the best labelling. Change a score, and forward-backward runs again, here in the page."),
    field, problem,
    h("div", { className: "grid" },
      h("div", {}, h("section", { className: "card", "aria-label": "Lattice" },
        h("div", { className: "row" }, h("label", { htmlFor: "paths" }, "Paths shown"), count, h("label", { htmlFor: "which" }, "Sentence"), which, h("label", {}, every, " all labels"), undo, changed),
        drawing),
      h("section", { className: "card" }, h("h2", {}, "Best labellings"), best)),
      details));
  document.addEventListener("pointermove", move);
  document.addEventListener("pointerup", up);
  ask();
  return () => { document.removeEventListener("pointermove", move); document.removeEventListener("pointerup", up); };
}

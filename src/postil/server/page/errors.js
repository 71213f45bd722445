// Errors: a labelled file against the model's answers, or a report of `postil evaluate --json --mistakes`. The browser
// reads the file; of a labelled one only its words are sent to this server, of a report nothing.

import { keep, written } from "/page/address.js";
import { call } from "/page/api.js";
import { characters } from "/page/characters.js";
import { colour, h, percent, say } from "/page/dom.js";
import { chip, failed, figures as sideBySide, heading } from "/page/shared.js";

const AT_ONCE = 100;
const MOST_LISTED = 200;
const KINDS = ["boundary", "type", "boundary+type", "missed", "spurious"];

const SPANNED = /^(O|[BIESLU]-.+)$/su;

/** The text of a file in UTF-8; anything else is an error. */
export function decoded(bytes, name) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${name}: invalid UTF-8: expected text in UTF-8, a report or a labelled file in columns`);
  }
}

/** Columns, a token a line, its label last: [{tokens, labels, predicted}]; `predicted` is the last of both columns where both are there.
 *  Refuses what `postil evaluate` refuses: lines of other widths, labels that are none. */
export function readColumns(content, hasPredictions = false, name = "the file") {
  const sentences = [];
  const lines = content.split(/\r?\n/).map((line, i) => ({ number: i + 1, cells: line.trim().split(/[\t ]+/), text: line.trim(), isComment: line.startsWith("# ") }));
  const tokens = lines.filter((line) => line.text && !line.isComment && line.cells[0] !== "-DOCSTART-");
  if (!content.trim()) throw new Error(`${name}: the file is empty: expected sentences, got ${content.length} characters`);
  if (!tokens.length) throw new Error(`${name}: no sentences: expected a token and its label on each line`);
  const width = tokens[0].cells.length;
  if (width < (hasPredictions ? 3 : 2) || !tokens.some(({ cells }) => SPANNED.test(cells.at(-1)))) {
    const isEven = width > 1 && tokens.every(({ cells }) => cells.length === width);
    if (isEven) throw new Error(`${name}, line ${tokens[0].number}: these labels have no scheme: expected spans such as B-LOC, got '${tokens[0].cells.at(-1)}'`);
    throw new Error(`${name}, line ${tokens[0].number}: no labels: expected a label for every token, got plain text`);
  }
  let now = null;
  let last = null;
  for (const { number, cells, text } of tokens) {
    if (cells.length !== width) throw new Error(`${name}, line ${number}: the label is missing: expected ${width} columns as on line ${tokens[0].number}, got ${cells.length}: '${text.slice(0, 40)}'`);
    for (const label of cells.slice(hasPredictions ? -2 : -1)) {
      if (!SPANNED.test(label)) throw new Error(`${name}, line ${number}: not a label of spans: expected O or one such as B-LOC, got '${label}'`);
    }
    if (now === null || lines.slice(last, number - 1).some((line) => !line.text || line.cells[0] === "-DOCSTART-")) {
      now = { tokens: [], labels: [], predicted: [] };
      sentences.push(now);
    }
    now.tokens.push(cells[0]);
    now.labels.push(cells.at(hasPredictions ? -2 : -1));
    now.predicted.push(cells.at(-1));
    last = number;
  }
  return sentences;
}

/** Spans {start, end, label} in tokens, of BIO, IOB1, IOBES or BILOU labels, by conlleval's rules. */
export function spansOf(labels) {
  const spans = [];
  labels.forEach((text, i) => {
    if (text === "O") return;
    const [letter, label] = [text[0], text.slice(2)];
    const last = spans.at(-1);
    const hasEnded = i > 0 && "ESLU".includes(labels[i - 1][0]);
    if ("IEL".includes(letter) && !hasEnded && last && last.end === i && last.label === label) last.end = i + 1;
    else spans.push({ start: i, end: i + 1, label });
  });
  return spans;
}

const shared = (a, b) => Math.min(a.end, b.end) - Math.max(a.start, b.start);
const same = (a, b) => a.start === b.start && a.end === b.end;
const kindOf = ({ gold, predicted }) => {
  if (!gold || !predicted) return gold ? "missed" : "spurious";
  if (same(gold, predicted)) return gold.label === predicted.label ? "correct" : "type";
  return gold.label === predicted.label ? "boundary" : "boundary+type";
};

/** Mistakes of one sentence, {kind, gold, predicted}: spans are paired as `postil evaluate` pairs them. */
export function compared(gold, predicted) {
  const couples = gold.flatMap((one) => predicted.filter((other) => shared(one, other) > 0).map((other) => ({ gold: one, predicted: other })));
  const order = (couple) => [Number(couple.gold.label !== couple.predicted.label), -shared(couple.gold, couple.predicted), couple.gold.start, couple.predicted.start];
  couples.sort((a, b) => { const [x, y] = [order(a), order(b)]; const at = x.findIndex((item, i) => item !== y[i]); return at < 0 ? 0 : x[at] - y[at]; });
  const [left, right, pairs] = [new Set(gold), new Set(predicted), []];
  for (const couple of couples) {
    if (left.has(couple.gold) && right.has(couple.predicted)) {
      left.delete(couple.gold);
      right.delete(couple.predicted);
      pairs.push(couple);
    }
  }
  pairs.push(...[...left].map((one) => ({ gold: one, predicted: null })), ...[...right].map((one) => ({ gold: null, predicted: one })));
  return pairs.map((pair) => ({ kind: kindOf(pair), ...pair })).filter(({ kind }) => kind !== "correct");
}

const isSpan = (span) => span === null || (Number.isInteger(span?.start) && Number.isInteger(span?.end) && typeof span?.label === "string");
const isMistake = (one) => typeof one?.kind === "string" && Array.isArray(one.tokens) && one.tokens.every((token) => typeof token === "string")
  && isSpan(one.gold) && isSpan(one.predicted) && (one.gold ?? one.predicted) !== null;

/** A report as {figures, mistakes}; null if the content is not a report, an Error if its mistakes are missing. */
export function readReport(content) {
  if (!content.trimStart().startsWith("{")) return null;
  let report;
  try { report = JSON.parse(content); } catch { return null; }
  if (typeof report.accuracy !== "number") return null;
  if (!Array.isArray(report.mistakes)) throw new Error("This report has no mistakes in it: write it with postil evaluate MODEL DATA --json --mistakes.");
  if (!report.mistakes.every(isMistake)) throw new Error("The mistakes of this report cannot be read.");
  const figures = { sentences: report.sentences };
  for (const [name, key] of [["precision", "precision"], ["recall", "recall"], ["F1", "f1"], ["token accuracy", "accuracy"]]) {
    if (typeof report[key] === "number") figures[name] = percent(report[key] / 100);
  }
  return { figures, mistakes: report.mistakes.map((one) => ({ ...one, number: one.sentence })) };
}

/** A model's answer about tokens: its spans in tokens instead of characters. */
function placed(document) {
  const [starts, ends] = [new Map(), new Map()];
  let at = 0;
  document.tokens.forEach((token, i) => { starts.set(at, i); const end = at + characters(token).length; ends.set(end, i + 1); at = end + 1; });
  return document.spans.map((one) => ({ ...one, start: starts.get(one.start), end: ends.get(one.end) }));
}

function figuresOf({ gold, predicted, right, sentences }) {
  const [p, r] = [predicted ? right / predicted : 0, gold ? right / gold : 0];
  return { sentences, precision: percent(p), recall: percent(r), F1: percent(p + r ? (2 * p * r) / (p + r) : 0) };
}

export function mount(root, values, context) {
  const taggers = context.models.filter((one) => one.kind === "tagger" && one.spans);
  const model = context.model?.spans && context.model.kind === "tagger" ? context.model : taggers[0] ?? null;
  const state = { kind: values.get("kind") ?? "", label: values.get("label") ?? "", text: values.get("find") ?? "" };
  let mistakes = [];
  let figures = null;
  let stopped = false;

  async function opened() {
    const chosen = file.files[0];
    if (!chosen) return;
    problem.replaceChildren();
    answer.replaceChildren();
    figures = null;
    try {
      const content = decoded(await chosen.arrayBuffer(), chosen.name);
      const report = readReport(content);
      if (report) { ({ figures, mistakes } = report); draw(); return; }
      await evaluate(readColumns(content, both.checked, chosen.name));
    } catch (error) { problem.replaceChildren(failed(error)); }
  }

  async function evaluate(sentences) {
    if (!both.checked && !model) throw new Error("To label a file, the server needs a tagger of spans: postil serve MODEL. A report can be opened without one.");
    mistakes = [];
    const counts = { gold: 0, predicted: 0, right: 0, sentences: sentences.length };
    for (let first = 0; first < sentences.length && !stopped; first += AT_ONCE) {
      const part = sentences.slice(first, first + AT_ONCE);
      const answered = both.checked ? part.map(({ predicted }) => spansOf(predicted)) : await labelled(part);
      if (answered === null) return;
      part.forEach((sentence, i) => {
        const [gold, predicted] = [spansOf(sentence.labels), answered[i]];
        counts.gold += gold.length;
        counts.predicted += predicted.length;
        counts.right += gold.filter((one) => predicted.some((other) => same(one, other) && one.label === other.label)).length;
        mistakes.push(...compared(gold, predicted).map((one) => ({ ...one, tokens: sentence.tokens, number: first + i })));
      });
      figures = figuresOf(counts);
      draw();
    }
  }

  async function labelled(part) {
    const answer = await call("/api/tag", { model: model.name, documents: part.map(({ tokens }) => ({ tokens })) }, "errors");
    return answer && answer.documents.map(placed);
  }

  const fits = (one) => (!state.kind || one.kind === state.kind)
    && (!state.label || one.gold?.label === state.label || one.predicted?.label === state.label)
    && (!state.text || one.tokens.join(" ").toLowerCase().includes(state.text.toLowerCase()));

  function draw() {
    keep("errors", { model: context.model?.name ?? "", kind: state.kind, label: state.label, find: state.text });
    if (figures === null) return;
    const labels = [...new Set(mistakes.flatMap((one) => [one.gold?.label, one.predicted?.label]).filter((label) => label !== undefined))].sort();
    const count = (kind) => mistakes.filter((one) => one.kind === kind).length;
    const choice = (name, title, items) => h("label", {}, `${title} `, h("select", { id: name, onchange: (event) => { state[name] = event.target.value; draw(); } },
      h("option", { value: "" }, "all"), items.map(([value, text]) => h("option", { value, selected: value === state[name] }, text))));
    const kinds = [...new Set([...KINDS, ...mistakes.map((one) => one.kind)])];
    const words = h("input", { type: "text", id: "find", value: state.text, onchange: () => { state.text = words.value; draw(); } });
    const listed = mistakes.filter(fits);
    answer.replaceChildren(
      h("section", { className: "card", "aria-label": "Scores and filters" }, sideBySide(Object.entries({ ...figures, mistakes: mistakes.length })),
        h("div", { className: "row" }, choice("kind", "Kind", kinds.map((kind) => [kind, `${kind} (${count(kind)})`])), choice("label", "Label", labels.map((one) => [one, one])), h("label", {}, "Words ", words),
          h("span", { className: "note", role: "status" }, `${listed.length} shown`))),
      h("ol", { className: "list" }, listed.slice(0, MOST_LISTED).map(item)),
      listed.length > MOST_LISTED ? h("p", { className: "note" }, `The first ${MOST_LISTED} of ${listed.length}.`) : "");
  }

  function item(one) {
    const at = one.gold ?? one.predicted;
    const text = one.tokens.join(" ");
    const classes = model?.classes ?? [];
    const said = (span, title) => span && [` ${title} `, chip(span.label, classes), ` ${one.tokens.slice(span.start, span.end).join(" ")} `];
    const links = model ? [h("a", { href: written("tag", { model: model.name, text }) }, "open in Tag"), " · ",
      h("a", { href: written("why", { model: model.name, text, span: `${at.start}:${at.end}`, label: at.label }) }, "why")] : [];
    return h("li", { className: "card" }, h("p", { dir: "auto" }, one.tokens.slice(0, at.start).join(" "), " ", h("mark", { className: `entity ${colour(at.label, classes)}` }, one.tokens.slice(at.start, at.end).join(" ")), " ", one.tokens.slice(at.end).join(" ")),
      h("p", { className: "note" }, `sentence ${one.number + 1}, ${one.kind}: `, said(one.gold, "gold"), said(one.predicted, "predicted"), links));
  }

  const file = h("input", { type: "file", id: "file", onchange: opened });
  const both = h("input", { type: "checkbox", id: "both", onchange: opened });
  const [answer, problem] = [h("div"), h("div", { className: "problem" })];
  root.append(...heading("Errors", "Open a report of postil evaluate --json --mistakes, or a labelled file in columns: a token a line, its label last, an empty line between sentences. The browser reads it. Of a report nothing is sent, of a labelled file only its words, to this server."),
    h("div", { className: "card" }, h("label", { className: "field", htmlFor: "file" }, "Report or labelled file"), file,
      h("div", { className: "row" }, both, h("label", { htmlFor: "both" }, "the last two columns are gold and predicted labels"))), problem, answer);
  return () => { stopped = true; };
}

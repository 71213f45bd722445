// Errors: a labelled file, read in the browser, against the model's answers; every mistake opens in Tag and Why.

import { keep, written } from "/page/address.js";
import { call } from "/page/api.js";
import { colour, h, percent, say } from "/page/dom.js";
import { fitting, heading, missing } from "/page/shared.js";

const AT_ONCE = 100;
const MOST_LISTED = 200;
const KINDS = { missed: "missed", spurious: "spurious", label: "wrong label", border: "wrong border" };

/** Columns, a token a line, its label last: [{tokens, labels}]. */
export function readColumns(content) {
  const sentences = [];
  let now = { tokens: [], labels: [] };
  for (const line of `${content}\n\n`.split(/\r?\n/)) {
    const cells = line.trim().split(/[\t ]+/);
    if (!line.trim() || cells[0] === "-DOCSTART-") {
      if (now.tokens.length) sentences.push(now);
      now = { tokens: [], labels: [] };
    } else if (!line.startsWith("# ") && cells.length > 1) {
      now.tokens.push(cells[0]);
      now.labels.push(cells.at(-1));
    }
  }
  return sentences;
}

/** Spans {start, end, label} in tokens, of BIO, IOB1 or IOBES labels. */
export function spansOf(labels) {
  const spans = [];
  labels.forEach((text, i) => {
    if (text === "O") return;
    const [letter, label] = [text[0], text.slice(2)];
    const last = spans.at(-1);
    if ("IE".includes(letter) && last && last.end === i && last.label === label) last.end = i + 1;
    else spans.push({ start: i, end: i + 1, label });
  });
  return spans;
}

const overlap = (a, b) => a.start < b.end && b.start < a.end;
const same = (a, b) => a.start === b.start && a.end === b.end;

/** Mistakes of one sentence: {kind, gold, predicted}. */
export function compared(gold, predicted) {
  const equal = (a, b) => same(a, b) && a.label === b.label;
  const missed = gold.filter((one) => !predicted.some((other) => equal(one, other)));
  const spurious = predicted.filter((one) => !gold.some((other) => equal(one, other)));
  const mistakes = [];
  for (const one of missed) {
    const other = spurious.find((item) => overlap(one, item));
    if (!other) mistakes.push({ kind: "missed", gold: one, predicted: null });
    else mistakes.push({ kind: same(one, other) ? "label" : "border", gold: one, predicted: other });
  }
  for (const one of spurious) {
    if (!missed.some((item) => overlap(one, item))) mistakes.push({ kind: "spurious", gold: null, predicted: one });
  }
  return mistakes;
}

export function mount(root, values, context) {
  const taggers = context.models.filter((one) => one.kind === "tagger" && one.spans);
  const model = context.model?.spans && context.model.kind === "tagger" ? context.model : taggers[0] ?? null;
  if (!model || !fitting(context, "tagger")) { root.append(missing("tagger of spans")); return undefined; }
  const state = { kind: values.get("kind") ?? "", label: values.get("label") ?? "" };
  let mistakes = [];
  let counts = null;
  let stopped = false;

  const placed = (document) => {
    const starts = new Map();
    let at = 0;
    document.tokens.forEach((token, i) => { starts.set(at, i); at += token.length + 1; });
    const ends = new Map();
    at = -1;
    document.tokens.forEach((token, i) => { at += token.length + 1; ends.set(at, i + 1); });
    return document.spans.map((one) => ({ ...one, start: starts.get(one.start), end: ends.get(one.end) }));
  };

  async function evaluate(content) {
    const sentences = readColumns(content);
    mistakes = [];
    counts = { gold: 0, predicted: 0, right: 0, sentences: sentences.length };
    if (!sentences.length) { say("No sentences in columns were found in this file."); return; }
    for (let first = 0; first < sentences.length && !stopped; first += AT_ONCE) {
      const part = sentences.slice(first, first + AT_ONCE);
      let answer;
      try {
        answer = await call("/api/tag", { model: model.name, documents: part.map(({ tokens }) => ({ tokens })) }, "errors");
      } catch (error) { say(error.message, 6000); return; }
      if (answer === null) return;
      part.forEach((sentence, i) => {
        const [gold, predicted] = [spansOf(sentence.labels), placed(answer.documents[i])];
        const found = compared(gold, predicted);
        counts.gold += gold.length;
        counts.predicted += predicted.length;
        counts.right += gold.filter((one) => predicted.some((other) => same(one, other) && one.label === other.label)).length;
        mistakes.push(...found.map((one) => ({ ...one, tokens: sentence.tokens, number: first + i })));
      });
      draw();
    }
    draw();
  }

  function draw() {
    keep("errors", { model: model.name, kind: state.kind, label: state.label });
    if (counts === null) return;
    const { gold, predicted, right } = counts;
    const [p, r] = [predicted ? right / predicted : 0, gold ? right / gold : 0];
    const figure = (name, value) => h("div", {}, h("span", {}, name), h("strong", { className: "big" }, value));
    const listed = mistakes.filter((one) => (!state.kind || one.kind === state.kind)
      && (!state.label || one.gold?.label === state.label || one.predicted?.label === state.label));
    const labels = [...new Set(mistakes.flatMap((one) => [one.gold?.label, one.predicted?.label]).filter(Boolean))].sort();
    const choice = (name, title, items) => h("label", {}, `${title} `, h("select", { onchange: (event) => { state[name] = event.target.value; draw(); } },
      h("option", { value: "" }, "all"), items.map(([value, text]) => h("option", { value, selected: value === state[name] }, text))));
    answer.replaceChildren(
      h("section", { className: "card" }, h("div", { className: "figures" }, figure("sentences", counts.sentences), figure("precision", percent(p)), figure("recall", percent(r)), figure("F1", percent(p + r ? (2 * p * r) / (p + r) : 0)), figure("mistakes", mistakes.length)),
        h("div", { className: "row" }, choice("kind", "Kind", Object.entries(KINDS)), choice("label", "Label", labels.map((one) => [one, one])),
          h("span", { className: "note", role: "status" }, `${listed.length} shown`))),
      h("ol", { className: "list" }, listed.slice(0, MOST_LISTED).map(item)),
      listed.length > MOST_LISTED ? h("p", { className: "note" }, `The first ${MOST_LISTED} of ${listed.length}.`) : "");
  }

  function item(one) {
    const at = one.gold ?? one.predicted;
    const text = one.tokens.join(" ");
    const chip = (span, title) => span && [` ${title} `, h("span", { className: `chip ${colour(span.label, model.classes)}` }, span.label), ` ${one.tokens.slice(span.start, span.end).join(" ")} `];
    return h("li", { className: "card" }, h("p", {}, one.tokens.slice(0, at.start).join(" "), " ", h("mark", { className: `entity ${colour(at.label, model.classes)}` }, one.tokens.slice(at.start, at.end).join(" ")), " ", one.tokens.slice(at.end).join(" ")),
      h("p", { className: "note" }, `${KINDS[one.kind]}: `, chip(one.gold, "gold"), chip(one.predicted, "predicted"),
        h("a", { href: written("tag", { model: model.name, text }) }, "open in Tag"), " · ",
        h("a", { href: written("why", { model: model.name, text, span: `${at.start}:${at.end}`, label: at.label }) }, "why")));
  }

  const file = h("input", { type: "file", id: "file", onchange: async () => { if (file.files[0]) evaluate(await file.files[0].text()); } });
  const answer = h("div");
  root.append(...heading("Errors", "Choose a labelled file in columns: a token a line, its label last, an empty line between sentences. The browser reads it; only its words are sent to this server."),
    h("div", { className: "card" }, h("label", { className: "field", htmlFor: "file" }, "Labelled file"), file), answer);
  return () => { stopped = true; };
}

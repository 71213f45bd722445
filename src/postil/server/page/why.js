// Why: words coloured by what they contributed, and the features inside each word.

import { keep, written } from "/page/address.js";
import { call } from "/page/api.js";
import { chip, debounced, failed, h, heading, number, percent, signed, table } from "/page/dom.js";
import { EXAMPLE, figures, fitting, missing, textBox } from "/page/shared.js";

const MATTERS = 0.1; // of the largest effect: smaller ones have no figure
const MEASURES = { left_out: "leaving the word out", gradient: "gradient" };

/** A bar to the right for what supports, to the left for what opposes. */
export function diverging(value, largest) {
  const share = largest ? Math.abs(value ?? 0) / largest : 0;
  const bar = h("span", { className: value < 0 ? "oppose" : "support" });
  bar.style.setProperty("width", `${50 * share}%`);
  bar.style.setProperty("margin-left", value < 0 ? `${50 - 50 * share}%` : "50%");
  return h("td", { className: "diverging" }, bar);
}

export function mount(root, values, context) {
  const model = fitting(context, "tagger", "detector");
  if (!model) { root.append(missing("tagger or a detector")); return; }
  const names = model.spans ? model.classes : model.labels;
  const state = {
    text: values.get("text") ?? EXAMPLE, span: values.get("span") ?? "", label: values.get("label") ?? "",
    by: values.get("by") in MEASURES ? values.get("by") : "left_out",
  };
  let explanations = [];
  let chosen = 0;
  let word = null;

  async function ask() {
    keep("why", { model: model.name, text: state.text, span: state.span, label: state.label, by: state.by === "left_out" ? "" : state.by });
    try {
      const [start, end] = state.span.split(":").map(Number);
      const request = { model: model.name, text: state.text };
      if (state.span) request.span = { start, end };
      else if (!model.spans) request.span = { start: 0, end: 1 };
      if (state.label && state.span) request.label = state.label;
      const found = await explained(request);
      if (found === null) return;
      explanations = found;
      problem.replaceChildren();
      await choose(0);
    } catch (error) {
      problem.replaceChildren(failed(error));
      answer.replaceChildren();
    }
  }

  /** All explanations; of a long text only what can be explained, each of them when it is chosen. */
  async function explained(request) {
    try {
      return (await call("/api/explain", request))?.explanations ?? null;
    } catch (error) {
      if (error.code !== "cost" || request.span) throw error;
    }
    const content = await call("/api/tag", { ...request, options: { tokens: true } }, "entities");
    if (content === null) return null;
    const [{ spans, tokens }] = content.documents;
    const [first, last] = [new Map(tokens.map((one, i) => [one.start, i])), new Map(tokens.map((one, i) => [one.end, i]))];
    return spans.map(({ text, label, start, end }) => ({ text, label, start, end, request: { ...request, label, span: { start: first.get(start), end: last.get(end) + 1 } } }));
  }

  async function choose(place) {
    const { request } = explanations[place] ?? {};
    if (request) {
      const content = await call("/api/explain", request);
      if (content === null) return;
      [explanations[place]] = content.explanations;
    }
    chosen = place;
    word = null;
    draw();
  }

  function draw() {
    if (!explanations.length) {
      answer.replaceChildren(h("p", { className: "note" }, "The model finds no entity here. Choose words in the Tag view and ask why they are none."));
      return;
    }
    const one = explanations[chosen];
    const largest = Math.max(...one.words.map((item) => Math.abs(item[state.by] ?? 0)), 1e-9);
    const chips = h("div", { className: "row" }, explanations.map((item, i) => h("button", {
      "aria-pressed": String(i === chosen), onclick: () => choose(i).catch((error) => problem.replaceChildren(failed(error, true))),
    }, `${item.text} as ${item.label}`)));
    const words = one.words.map((item, i) => h("button", {
      className: `effect ${(item[state.by] ?? 0) < 0 ? "oppose" : "support"} ${one.start <= i && i < one.end ? "explained" : ""}`,
      "aria-pressed": String(i === word), style: { "--share": Math.abs(item[state.by] ?? 0) / largest },
      onclick: () => { word = i; draw(); },
    }, item.word, Math.abs(item[state.by] ?? 0) < MATTERS * largest ? "" : h("small", {}, signed(item[state.by]))));
    answer.replaceChildren(
      explanations.length > 1 ? chips : "",
      h("section", { className: "card" },
        h("h2", {}, h("q", {}, one.text), " as ", chip(one.label, names)),
        figures([...(one.probability === null ? [] : [["probability", percent(one.probability)]]), [one.measure, signed(one.value)],
          ["from words", signed(one.parts.words)], ["from transitions", signed(one.parts.transitions)], ["all words unknown", signed(one.unknown)]]),
        h("div", { className: "effects", dir: "auto" }, words),
        h("p", { className: "note" }, "Blue supports the label, orange opposes it. ", state.by === "left_out"
          ? `The figure says by how much the ${one.measure} falls when the word is replaced by one that the model does not know.`
          : "The figure is gradient times input: an estimate that also separates the features of a word.")),
      h("div", { className: "grid" },
        h("section", { className: "card" }, h("h2", {}, "Words"), table(["Word", "#left out", "#gradient", ""], one.words.map((item) => [item.word, signed(item.left_out), signed(item.gradient), diverging(item[state.by], largest)]), { chosen: word })),
        h("section", { className: "card" }, h("h2", {}, word === null ? "Features of all words" : `Features of “${one.words[word].word}”`), features(one))),
    );
  }

  function features(one) {
    const items = word === null
      ? Object.entries(one.features).map(([name, part]) => [name, part.gradient])
      : Object.entries(one.words[word].features);
    const largest = Math.max(...items.map(([, value]) => Math.abs(value ?? 0)), 1e-9);
    const listed = table(["Feature", "#gradient × input", ""], items.map(([name, value]) => [name, value === null ? "–" : number(value, 3), diverging(value, largest)]));
    listed.append(word === null ? h("p", { className: "note" }, "Choose a word above to see its own.") : h("button", { onclick: () => { word = null; draw(); } }, "all words"));
    return listed;
  }

  const askSoon = debounced(150, ask);
  const { field } = textBox(state.text, (text) => { state.text = text; state.span = ""; state.label = ""; askSoon(); });
  const [problem, answer] = [h("div", { className: "problem" }), h("div")];
  const measures = h("fieldset", { className: "row" }, h("legend", { className: "skip" }, "Colour by"), h("span", { className: "note", "aria-hidden": "true" }, "Colour by"), Object.entries(MEASURES).map(([name, title]) => h("label", {},
    h("input", { type: "radio", name: "by", value: name, checked: name === state.by, onchange: () => { state.by = name; keep("why", { ...state, model: model.name }); draw(); } }), ` ${title}`)));
  const back = h("a", { href: "#/tag", onclick: (event) => { event.preventDefault(); location.hash = written("tag", { model: model.name, text: state.text }).slice(1); } }, "Back to Tag");
  root.append(...heading("Why", "What each word contributed to an answer, and which of its features did."),
    field, h("div", { className: "row" }, measures, back), problem, answer);
  ask();
}

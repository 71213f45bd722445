// The page that trains: label, train, tag, correct. Nothing leaves it; what is kept is in this browser and in saved files.

import { chip, colour, counted, curve, debounced, download, failed, h, heading, percent, say } from "./dom.js";
import { Labelling, keyList } from "./labelling.js";
import { decompressed, open } from "./runtime.mjs";
import { readRecords, sentencesOf, wordsOf, writeRecords } from "./records.mjs";
import { MOST_BYTES, blank, flatModel, isClassName, modelFile, openModelFile, readFlat, training } from "./training.mjs";

const main = document.getElementById("main");
const start = JSON.parse(document.getElementById("about").textContent);
const KEPT = `postil trainer ${location.pathname}`; // pages from disk share the browser's memory
const SURE = 0.9; // spans that the model is less sure of are asked about
const FEWEST_FOR_SCORE = 50; // sentences of which every tenth is held out
const LISTED = 100; // records at once
const EXAMPLE = "Anna Smith lives in Oslo. The museums of Lima are old.";

let [wasm, constants, cutter, tagger, model] = [null, null, null, null, null];
let records = [];
let classes = [];
let at = 0; // the record that is shown
let words = null; // of the record
let isProposed = false; // its spans are the model's
let run = null; // a training run: {isStopped}
let history = []; // mean losses of the epochs
let language = "english";

const byId = (id) => document.getElementById(id);
const segmentation = () => (language === "english" ? null : start.segmentations.find((one) => one.rules === language));
/** Do something; what goes wrong is said in one line. */
async function attempt(action) {
  byId("problem").replaceChildren();
  try {
    await action();
  } catch (error) {
    byId("problem").replaceChildren(failed(error));
    byId("problem").scrollIntoView({ block: "nearest" });
  }
}

/** A moment for the browser: also in a tab that is not looked at, where timers are slow. */
const channel = new MessageChannel();
const moment = () => new Promise((resolve) => { channel.port1.onmessage = resolve; channel.port2.postMessage(0); });

// ------------------------------------------------------------------------------------------------ what is kept

function put(name, content) {
  if (!byId("keeps").checked) return;
  let isKept = true;
  try { localStorage.setItem(name, content()); } catch { isKept = false; }
  byId("kept").textContent = isKept ? "" : "This browser has no room to keep everything: save labels and model before you close the page.";
}

const keep = debounced(400, () => put(KEPT, () => JSON.stringify({ records: writeRecords(records), classes, language, at })));
const keepModel = () => put(`${KEPT} model`, () => btoa(Array.from(modelFile(model, start), (byte) => String.fromCharCode(byte)).join("")));
const fromBase64 = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

/** What was kept is checked as any file is; if it is damaged it stays as it is. */
async function restore() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT) ?? "null");
    const file = localStorage.getItem(`${KEPT} model`);
    if (kept) {
      await speak(kept.language);
      classes = kept.classes.filter(isClassName);
      if (kept.records) add(readRecords(kept.records, "what was kept"));
      at = Math.trunc(Number(kept.at)) || 0;
    }
    if (file) await use(openModelFile(fromBase64(file), start));
  } catch (error) {
    byId("keeps").checked = false;
    throw new Error(`this browser keeps something that cannot be opened: ${error.message}`);
  }
}

/** Cut texts by the rules of a language. */
async function speak(name) {
  language = byId("language").value = start.segmentations.some((one) => one.rules === name) ? name : "english";
  cutter = await open(wasm, flatModel(blank(start, segmentation()), constants));
}

const forget = () => [KEPT, `${KEPT} model`].forEach((name) => localStorage.removeItem(name));

function clear() {
  if (!confirm("Delete all sentences, all labels and the model from this page and from this browser?")) return;
  byId("keeps").checked = false;
  forget();
  location.reload();
}

// ------------------------------------------------------------------------------------------------ files

async function openFiles(files) {
  for (const file of files) {
    if (file.size > MOST_BYTES) throw new Error(`${file.name}: expected at most ${MOST_BYTES >> 20} MB`);
    const bytes = new Uint8Array(await file.arrayBuffer());
    if (file.name.endsWith(".postil")) {
      await use(openModelFile(bytes, start));
      keepModel();
      say(`${file.name} tags now`, 4000);
    } else {
      let text;
      try { text = new TextDecoder("utf-8", { fatal: true }).decode(bytes); } catch { throw new Error(`${file.name}: expected text in UTF-8`); }
      if (/\.jsonl?$/.test(file.name)) {
        const same = ({ text, spans }) => JSON.stringify([text, spans.map(({ start, end, label }) => [start, end, label])]);
        const there = new Set(records.map(same));
        const read = readRecords(text, file.name);
        const more = read.filter((record) => !there.has(same(record)));
        if (more.length) add(more);
        if (more.length < read.length) say(`${counted(read.length - more.length, "record")} of ${file.name} were there already`, 6000);
      } else {
        if (/^\S+[\t ](\S+[\t ])*(O|[BIESLUMW]-\S+)$/m.test(text)) throw new Error(`${file.name}: a label for each word: expected text, or JSON Lines, which postil convert writes`);
        addText(text);
      }
    }
  }
}

/** New classes come after those that are known, in the order of their names. */
function know(labels) {
  classes = [...classes, ...[...new Set(labels)].filter((label) => !classes.includes(label)).sort()];
}

function add(all) {
  const first = records.length;
  const more = all.filter((record) => wordsOf(record, cutter).tokens.length);
  if (more.length < all.length) say(`${counted(all.length - more.length, "record")} without words left out`, 8000);
  if (!more.length) return;
  records = [...records, ...more];
  know(more.flatMap(({ spans }) => spans.map(({ label }) => label)));
  byId("pasting").open = false;
  const changed = more.reduce((total, record) => total + wordsOf(record, cutter).changed, 0);
  if (changed) say(`${counted(changed, "span")} did not fit whole words, or overlapped: look at them before you train`, 8000);
  show(records.findIndex((record, i) => i >= first && !record.isDone), first);
}

/** Each sentence of a text is a record. */
function addText(text) {
  const { tokens, sentences } = cutter.tag(text);
  const more = sentences.map(([first, end]) => ({ text: text.slice(tokens[first].start, tokens[end - 1].end), spans: [], isDone: false, fields: {} }));
  if (!more.length) throw new Error("there are no words in the text");
  add(more);
  say(`${counted(more.length, "sentence")} added`);
}

async function use(opened) {
  tagger = await open(wasm, flatModel(opened, constants));
  model = opened;
  know(model.classes);
  if (labelling.editor && !labelling.editor.past.length) show(at);
  else drawList();
  tag();
}

// ------------------------------------------------------------------------------------------------ one record

/** Show a record, or else another; without labels of its own it has those that the model proposes. */
function show(number, otherwise = 0) {
  at = Math.max(0, Math.min(records.length - 1, number < 0 ? otherwise : number));
  const record = records[at];
  words = null;
  if (!record) labelling.open(null);
  else {
    isProposed = model !== null && !record.isDone && !record.spans.length;
    const proposed = isProposed ? tagger.tag(record.text).entities : record.spans;
    words = wordsOf({ text: record.text, spans: proposed }, cutter);
    const spans = words.spans.map(({ start: from, end, label, probability = null }) => ({ start: from, end, label, probability, state: probability === null ? "mine" : probability < SURE ? "asked" : "sure" }));
    const { tokens } = words;
    labelling.open({ words: tokens.map((one) => one.text), gaps: tokens.slice(1).map((one, i) => record.text.slice(tokens[i].end, one.start)), spans });
  }
  drawRecord();
  drawList();
  labelling.focus();
  keep();
}

/** Write the editor's spans into the record. */
function store(isDone) {
  const spans = labelling.editor.answer.map(({ start: from, end, label }) => ({ start: words.tokens[from].start, end: words.tokens[end - 1].end, label }));
  Object.assign(records[at], { spans, isDone });
  keep();
}

function changed() {
  const { editor } = labelling;
  if (isProposed && !editor.past.length) Object.assign(records[at], { spans: [] }); // nobody has changed what the model proposes
  else store(records[at].isDone);
  drawRecord();
  drawList();
  labelling.focus();
  byId("live").textContent = editor.current ? labelling.describe(editor.current) : labelling.textOf(editor.selected?.from ?? editor.at, (editor.selected?.to ?? editor.at) + 1);
}

const labelling = new Labelling({ act: attempt, changed, draw: drawRecord, classes: () => classes, mark: ({ probability }) => (probability === null ? "" : ` ${percent(probability)}`) });
const { button } = labelling;

const actions = {
  undo() { if (labelling.editor.undo()) changed(); else say("there is nothing to undo", 1500); },
  save() {
    store(true);
    const left = [...records.keys()].filter((i) => !records[i].isDone);
    say(left.length ? "saved" : "saved: every sentence is labelled", 1200);
    show(left.find((i) => i > at) ?? left[0] ?? at + 1);
  },
  drop() { if (confirm("Delete this sentence and its labels?")) { records.splice(at, 1); show(at); } },
};

const KEYS = {
  ...labelling.keys, u: actions.undo, b: () => show(at - 1, 0), f: () => show(at + 1),
  Enter: (event) => (event.shiftKey ? actions.save() : labelling.enter(actions.save)),
};
const HELP = [
  [["←", "→"], "next and previous word; with Shift, select words"], [["1", "…", "9"], "label the selected words, or relabel the span"], [["A"], "accept the proposed span"],
  [["R", "Del"], "remove the span"], [["↓", "↑"], "next and previous span"], [["Q", "W"], "left end to the left, to the right"], [["O", "P"], "right end to the left, to the right"],
  [["Enter"], "accept; save the sentence when nothing is left to ask"], [["Shift", "Enter"], "save at once"], [["U"], "undo"], [["B", "F"], "back, forward"], [["C"], "a new class"],
];

function keyed(event) {
  const { target } = event;
  const found = labelling.editor && labelling.keyed(event, KEYS);
  if (!found || (!target.closest("#record") && target !== document.body && target !== main)) return;
  event.preventDefault();
  attempt(found.action);
}

function drawRecord() {
  const { editor } = labelling;
  byId("record").hidden = !editor;
  if (!editor) return;
  const { selected } = editor;
  byId("where").textContent = `Sentence ${(at + 1).toLocaleString("en")} of ${records.length.toLocaleString("en")}${records[at].isDone ? ", labelled" : ""}`;
  byId("sentence").replaceChildren(...labelling.sentence());
  const told = !classes.length ? ["Name a first class below, such as PERSON; then select words and choose it."]
    : selected ? ["Label ", h("q", {}, labelling.textOf(selected.from, selected.to + 1)), " as:"] : ["Select words, then choose a class. Enter saves the sentence."];
  byId("question").replaceChildren(...labelling.question([h("p", {}, told)]));
  byId("choices").replaceChildren(...labelling.choices());
}

function addClass(box) {
  attempt(() => {
    if (!isClassName(box.value.trim())) throw new Error("a class needs a name of at most 100 characters");
    know([box.value.trim()]);
    box.value = "";
    box.blur();
    changed();
  });
}

/** Around the present record; labelled ones have a tick. */
function drawList() {
  const done = records.filter((record) => record.isDone).length;
  const first = Math.floor(at / LISTED) * LISTED;
  byId("sentences").hidden = !records.length;
  byId("count").textContent = records.length ? `${done.toLocaleString("en")} of ${counted(records.length, "sentence")} labelled` : "";
  byId("done").value = records.length ? done / records.length : 0;
  const spans = new Map(classes.map((name) => [name, 0]));
  for (const record of records) if (record.isDone) for (const { label } of record.spans) spans.set(label, (spans.get(label) ?? 0) + 1);
  byId("classes").replaceChildren(...[...spans].map(([name, number]) => h("li", {}, chip(name, classes), ` ${number.toLocaleString("en")}`)));
  byId("listed").replaceChildren(...records.slice(first, first + LISTED).map((record, i) => h("li", {},
    h("button", { type: "button", className: "item", "aria-current": first + i === at ? "true" : undefined, onclick: () => show(first + i) },
      h("span", { className: "tick" }, record.isDone ? h("span", { "aria-label": "labelled", role: "img" }, "✓") : ""), h("span", { className: "start" }, record.text.slice(0, 90))))));
  const [box, item] = [byId("listed"), byId("listed").querySelector("[aria-current]")];
  if (item) box.scrollTop = item.offsetTop - box.offsetTop - 60;
  drawTrain();
}

// ------------------------------------------------------------------------------------------------ training

function score(sentences) {
  const key = (span) => `${span.start} ${span.end} ${span.label}`;
  let [right, found, wanted] = [0, 0, 0];
  tagger.tagTokens(sentences.map((one) => one.tokens)).forEach(({ entities }, i) => {
    const gold = new Set(sentences[i].spans.map(key));
    right += entities.filter((one) => gold.has(key(one))).length;
    found += entities.length;
    wanted += gold.size;
  });
  return { sentences: sentences.length, right, found, wanted, f1: found + wanted ? (2 * right) / (found + wanted) : null };
}

async function train() {
  const sentences = records.filter((record) => record.isDone).flatMap((record) => sentencesOf(record, cutter)).filter((one) => one.tokens.length);
  if (!sentences.some((one) => one.spans.length)) throw new Error("there is nothing to learn yet: label some sentences, at least one with a span, and save them with Enter");
  const isScored = byId("held-out").checked && sentences.length >= FEWEST_FOR_SCORE;
  const held = isScored ? sentences.filter((_, i) => i % 10 === 9) : [];
  const learnt = isScored ? sentences.filter((_, i) => i % 10 !== 9) : sentences;
  const seed = Number(byId("seed").value || 0);
  const epochs = byId("epochs").value ? Number(byId("epochs").value) : null;
  if (!(Number.isInteger(seed) && seed >= 0 && seed < 2 ** 32)) throw new Error("seed: expected a whole number from 0 to 4,294,967,295");
  if (epochs !== null && !(Number.isInteger(epochs) && epochs >= 1 && epochs <= 1000)) throw new Error("epochs: expected a whole number from 1 to 1,000");
  const own = run = { isStopped: false };
  history = [];
  drawTrain();
  const began = performance.now();
  try {
    const { instance } = await WebAssembly.instantiate(wasm);
    instance.exports._initialize?.();
    const steps = training(instance.exports, start, constants, learnt, { seed, epochs, segmentation: segmentation() });
    let [shown, step, total, count] = [0, steps.next(), 0, 0];
    for (; !step.done && !own.isStopped; step = steps.next()) {
      const { epoch, progress, loss } = step.value;
      if (epoch > history.length) { history.push(0); total = count = 0; }
      total += loss;
      count += 1;
      history[epoch - 1] = total / count;
      if (performance.now() - shown < 60) continue;
      byId("progress").value = progress;
      byId("told").textContent = `Epoch ${epoch} of ${step.value.epochs}, loss ${history.at(-1).toFixed(3)}`;
      byId("curve").replaceChildren(losses(step.value.epochs));
      await moment();
      shown = performance.now();
    }
    if (own.isStopped) return;
    run = null;
    await use(step.value);
    model.result = { learnt: learnt.length, seconds: (performance.now() - began) / 1000, ...(held.length ? { held: score(held) } : {}) };
    keepModel();
    say("the model is trained: it proposes labels, and tags below", 4000);
  } finally {
    if (run === own) run = null;
    drawTrain();
  }
}

/** Mean loss of each epoch. */
function losses(epochs) {
  const most = Math.max(...history, 1e-9);
  return curve(history.map((loss, i) => [i, loss]), {
    label: `Loss of each epoch: ${history.at(0).toFixed(3)} at first, ${history.at(-1).toFixed(3)} now`, low: 0, high: most,
    ticks: [0, most], shown: (value) => (value ? value.toPrecision(2) : "0"), to: epochs - 1, ends: ["epoch 1", String(epochs)],
  });
}

function drawTrain() {
  const done = records.filter((record) => record.isDone).length;
  byId("train").replaceChildren(run ? button("Stop", "", () => { run.isStopped = true; }) : button(model ? "Train again" : "Train", "", train, { className: "first", disabled: !done }));
  byId("progress").hidden = !run;
  byId("save-model").disabled = !model;
  byId("save-labels").disabled = !records.length;
  if (run) return;
  const { result } = model ?? {};
  const epochs = model?.about.training?.history; // a stranger's file may hold anything here
  history = (Array.isArray(epochs) ? epochs.slice(0, 1000) : []).map((epoch) => epoch?.loss).filter(Number.isFinite);
  const of = result?.held;
  byId("told").replaceChildren(...(!model ? [done ? `${counted(done, "sentence")} to learn from.` : "Label some sentences first; twenty are a beginning."]
    : result ? [`Trained on ${counted(result.learnt, "sentence")} in ${result.seconds.toFixed(1)} s. `, of ? (of.f1 === null ? `The ${of.sentences} held-out sentences have no spans.`
      : h("strong", {}, `F1 ${(100 * of.f1).toFixed(1)}`)) : "", of?.f1 != null ? ` on ${of.sentences} held-out sentences: ${of.right} of ${of.wanted} spans found, ${of.found - of.right} wrong.` : ""]
      : [`A model of ${counted(model.about.data?.sentences ?? 0, "sentence")} with the classes ${model.classes.join(", ")} is in use.`]));
  byId("curve").replaceChildren(model && history.length ? losses(history.length) : "");
}

// ------------------------------------------------------------------------------------------------ tagging

function tag() {
  const [text, shown] = [byId("text").value, byId("answer")];
  byId("correct").disabled = !model || !text.trim();
  if (!model) { shown.replaceChildren(h("span", { className: "note" }, "Train a model, or open one.")); byId("found").replaceChildren(); return; }
  const { entities } = tagger.tag(text);
  let end = 0;
  const parts = entities.flatMap((one) => {
    const before = text.slice(end, one.start);
    end = one.end;
    return [before, h("mark", { className: `entity ${colour(one.label, classes)}` }, one.text, chip(one.label, classes, ` ${percent(one.probability)}`))];
  });
  shown.replaceChildren(...parts, text.slice(end));
  byId("found").replaceChildren(entities.length ? `${counted(entities.length, "span")} found.` : text.trim() ? "Nothing was found." : "");
}

// ------------------------------------------------------------------------------------------------ the page

function drawPage() {
  const file = h("input", { type: "file", id: "file", multiple: true, accept: ".txt,.jsonl,.json,.postil", className: "skip", tabIndex: -1, "aria-label": "Files to open", onchange: () => attempt(async () => { try { await openFiles(file.files); } finally { file.value = ""; } }) });
  const languages = h("select", { id: "language", onchange: () => attempt(async () => { await speak(languages.value); show(at); }) },
    [["english", "English"], ["neutral", "another language"]].map(([value, text]) => h("option", { value }, text)));
  const paste = h("textarea", { id: "paste", rows: 3, dir: "auto", spellcheck: false, placeholder: EXAMPLE });
  const box = h("textarea", { id: "text", rows: 3, dir: "auto", spellcheck: false, value: EXAMPLE, oninput: debounced(80, () => attempt(tag)) });
  const field = (label, element) => [h("label", { htmlFor: element.id }, label), element];
  main.replaceChildren(
    ...heading("Label, train, tag", "Label words in your own classes, train a tagger on them here, and let it tag new text. Everything happens in this page: it has no server and never uses the network."),
    h("div", { id: "problem" }),
    h("div", { className: "grid trainer" },
      h("div", { className: "column" },
        h("section", { className: "card first", "aria-labelledby": "h-text" }, h("h2", { id: "h-text" }, "Text"),
          h("details", { id: "pasting", open: true }, h("summary", {}, "Paste text"), h("label", { className: "note", htmlFor: "paste" }, "Each sentence of it becomes one to label."), paste,
            h("div", { className: "row" }, button("Add the text", "", () => { addText(paste.value); paste.value = ""; }), h("span", { className: "spacer" }), field("Language", languages))),
          h("div", { className: "row" }, button("Open files …", "", () => file.click()), file, h("span", { className: "note" }, "text (.txt), labelled text (.jsonl, as postil train reads it), models (.postil)")),
          h("div", { className: "row" }, button("Save labels", "", () => download(writeRecords(records), "labels.jsonl"), { id: "save-labels" }), button("Save model", "", () => download(modelFile(model, start), "model.postil"), { id: "save-model" }),
            button("Delete everything", "", clear)),
          h("label", { className: "note" }, h("input", { type: "checkbox", id: "keeps", checked: true, onchange: (event) => { if (!event.target.checked) forget(); else { keep(); if (model) keepModel(); } } }),
            " Keep sentences, labels and model in this browser, where whoever uses it on this computer can read them"), h("p", { className: "note", id: "kept" })),
        h("section", { className: "card second", id: "record", "aria-labelledby": "where" },
          h("div", { className: "row" }, h("h2", { id: "where" }), h("span", { className: "spacer" }), button("Back", "B", () => show(at - 1, 0)), button("Forward", "F", () => show(at + 1))),
          h("div", { className: "text sentence", dir: "auto", id: "sentence", role: "listbox", "aria-label": "Words of the sentence", "aria-multiselectable": "true", ...labelling.pointed }),
          h("div", { className: "question", id: "question" }), h("div", { className: "choices", id: "choices", role: "group", "aria-label": "Classes" }),
          labelling.classForm(addClass),
          h("div", { className: "row actions" }, button("Save, next", "Enter", actions.save, { className: "first" }), button("Undo", "U", actions.undo), h("span", { className: "spacer" }), button("Delete the sentence", "", actions.drop)),
          h("details", {}, h("summary", {}, "Keys"), keyList(HELP))),
        h("section", { className: "card fifth", "aria-labelledby": "h-tag" }, h("h2", { id: "h-tag" }, "Tag"), h("label", { className: "field", htmlFor: "text" }, "New text"), box,
          h("div", { className: "text", id: "answer", dir: "auto", role: "region", "aria-label": "Tagged text", tabIndex: 0 }),
          h("div", { className: "row" }, h("span", { className: "note", id: "found" }), h("span", { className: "spacer" }), button("Correct these", "", () => addText(box.value), { id: "correct" })))),
      h("div", { className: "column" },
        h("section", { className: "card fourth", "aria-labelledby": "h-train" }, h("h2", { id: "h-train" }, "Train"),
          h("div", { className: "row", id: "train" }),
          h("div", { className: "row" }, field("Seed", h("input", { type: "number", id: "seed", min: 0, value: 0 })), field("Epochs", h("input", { type: "number", id: "epochs", min: 1, placeholder: "auto" }))),
          h("label", { className: "note" }, h("input", { type: "checkbox", id: "held-out", checked: true }), ` From ${FEWEST_FOR_SCORE} sentences on, hold out every tenth one to measure F1`),
          h("progress", { id: "progress", max: 1, value: 0, "aria-label": "Training" }), h("p", { id: "told" }), h("div", { id: "curve" })),
        h("section", { className: "card third", id: "sentences", "aria-labelledby": "h-list" }, h("h2", { id: "h-list" }, "Sentences"), h("p", { className: "note", id: "count" }), h("progress", { id: "done", max: 1, value: 0, "aria-label": "Labelled" }),
          h("ul", { className: "legend", id: "classes", "aria-label": "Spans of each class" }), h("ol", { className: "list items", id: "listed", "aria-label": "Sentences", start: 1 })))),
    h("p", { id: "live", className: "skip", "aria-live": "polite" }));
}

async function begin() {
  const [engine, flat, file] = await Promise.all(["wasm", "constants", "model"].map((id) => decompressed(fromBase64(byId(id).textContent))));
  wasm = engine;
  constants = readFlat(flat);
  drawPage();
  await speak(language);
  await attempt(restore);
  if (!model && file.length) await attempt(async () => use(openModelFile(file, start)));
  show(records.findIndex((record) => !record.isDone), at);
  tag();
  document.addEventListener("keydown", keyed);
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => { event.preventDefault(); attempt(() => openFiles(event.dataTransfer.files)); });
  globalThis.page = { tag: (text) => tagger.tag(text), tagTokens: (sentences) => tagger.tagTokens(sentences) }; // for the console
  document.documentElement.dataset.ready = "simd";
}

begin().catch((error) => main.replaceChildren(h("h1", {}, "Label, train, tag"), h("p", { className: "error", role: "alert" }, `The page cannot run here: ${error.message}`)));

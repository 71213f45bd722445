// The page of `postil annotate`: one record at a time, by keyboard or by mouse. The server keeps the answers.

import { call } from "/page/api.js";
import { chip, copy, counted, curve, download, failed, h, percent, say, table } from "/page/dom.js";
import { Labelling, keyList } from "/page/labelling.js";
import { RulesPanel, votes } from "/page/rules.js";
import { figures } from "/page/shared.js";

const main = document.getElementById("main");
const POLL = 1000;
let state = null; // what the server said last
let back = 0; // how many answers one has gone back
let letters = localStorage.getItem("letters") !== "off";
let timer = null;
let rules = null; // the panel of the rules, if there are some
let isOpen = false; // the table of all models, which is drawn anew with every answer

// ------------------------------------------------------------------------------------------------ the server

const ask = (action, body) => call(`/api/annotation${action ? `/${action}` : ""}`, body, action);

/** Take what the server says. A record in it is a new one to look at. */
function take(content, isBack = 0) {
  const { record } = content;
  state = { ...state, ...content };
  if (record !== undefined) {
    labelling.open(record);
    back = isBack;
    draw();
    labelling.focus();
    tell();
  }
  drawProgress();
}

async function attempt(action) {
  try {
    await action();
  } catch (error) {
    const message = error.code && error.code !== "unreachable" ? error.message : "the server does not answer: nothing was saved";
    document.getElementById("problem")?.replaceChildren(failed({ message }));
  }
}

/** While a model learns, and a moment after, look how far it is. */
function poll() {
  clearTimeout(timer);
  const { state: now } = state.learning;
  if (now !== "running" && now !== "stopping") return;
  timer = setTimeout(() => attempt(async () => {
    const before = state.progress.round;
    take(await ask("progress"));
    if (state.progress.round === before) return;
    if (rules) {
      await rules.load();
      const isElsewhere = before === null || !document.activeElement?.closest("#record");
      if (isElsewhere && !back && !labelling.editor?.past.length) take(await ask("")); // what the new model asks first
      rules.follow(state);
    }
    announce("A new model is in use.");
  }), POLL);
}

// ------------------------------------------------------------------------------------------------ what is said

const announce = (text) => { document.getElementById("live").textContent = text; };

/** For screen readers: the record, and what is asked. */
function tell(lead = "") {
  const { editor } = labelling;
  if (!editor) return;
  const now = editor.current ? labelling.describe(editor.current) : `${counted(editor.answer.length, "span")}. Enter saves.`;
  const text = lead || labelling.textOf(0, editor.length);
  announce(`${text}. ${editor.open.length ? `${counted(editor.open.length, "question")}. ` : ""}${now}`);
}

// ------------------------------------------------------------------------------------------------ actions

async function save(skipped = false) {
  const { key } = state.record;
  take(await ask("answer", skipped ? { key, skipped } : { key, spans: labelling.editor.answer }));
  say(!skipped ? "saved" : state.review ? "kept as it is" : "skipped", 900);
}

function changed(lead) {
  drawRecord();
  labelling.focus();
  tell(lead);
}

const labelling = new Labelling({ act: run, changed, draw: drawRecord, classes: () => state.classes, mark: (span) => ({ asked: " ?", maybe: " ??" })[span.state] ?? "" });
const { button } = labelling;

const actions = {
  skip: () => save(true),
  save: () => save(),
  enter: () => labelling.enter(save),
  async undo() {
    if (labelling.editor?.undo()) { changed("undone"); return; }
    const content = await ask("undo", {});
    if (!content.undone) { say("there is nothing to undo"); return; }
    take(content);
    say("the last answer is undone", 1500);
  },
  async back() {
    const { answered, skipped } = state.progress;
    if (back >= answered + skipped) { say("no earlier answer"); return; }
    take(await ask("look", { back: back + 1 }), back + 1);
  },
  async forward() { if (back) take(await ask("look", { back: back - 1 }), back - 1); },
  extend(by) {
    const { editor } = labelling;
    const { from, to } = editor.selected;
    if (by < 0) editor.goTo(from - 1, to);
    else editor.goTo(to + 1, from);
    changed(labelling.textOf(editor.selected.from, editor.selected.to + 1));
  },
  /** Keep a class: what is selected gets it, until the key is pressed again. */
  stick() {
    labelling.sticky = labelling.sticky === null ? labelling.editor.current?.label ?? state.classes[0] ?? null : null;
    changed(labelling.sticky === null ? "classes are chosen one by one" : `every selection is ${labelling.sticky}`);
  },
  /** The next word that begins with a capital and is in no span. */
  capital() {
    const { editor, words } = labelling;
    const from = editor.current ? editor.current.end : editor.at + 1;
    const isOne = (place) => /^\p{Lu}/u.test(words[place]) && !editor.spanAt(place);
    const found = words.map((_, i) => (from + i) % words.length).find(isOne);
    if (found === undefined) { say("no other capitalised word", 1200); return; }
    editor.goTo(found);
    changed(words[found]);
  },
  async learn() { take(await ask("learn", {})); },
  async stop() { take(await ask("stop", {})); },
};

const KEYS = {
  ...labelling.keys, Enter: () => actions.enter(), s: () => actions.skip(), u: () => actions.undo(), b: () => actions.back(), f: () => actions.forward(),
  k: () => actions.stick(), n: () => actions.capital(), " ": () => labelling.labelSticky(),
};
const WITHOUT_RECORD = new Set(["u", "b", "f"]);

let queue = Promise.resolve();

/** One after another: a key that comes while an answer is being saved is meant for the next record. */
function run(action) {
  queue = queue.then(() => attempt(async () => {
    document.getElementById("problem")?.replaceChildren();
    await action();
  }));
}

function keyed(event) {
  if (!letters && /^[a-z0-9]$/i.test(event.key)) return;
  const found = labelling.keyed(event, KEYS);
  if (!found) return;
  event.preventDefault();
  const { name, action } = found;
  if (name === "Enter" && event.shiftKey) run(() => labelling.editor && save());
  else run(() => (labelling.editor || WITHOUT_RECORD.has(name) ? action() : null));
}

// ------------------------------------------------------------------------------------------------ the record

function drawRecord() {
  const { before, after } = state.record;
  const around = (text) => (text.trim() ? h("span", { className: "context", role: "presentation" }, text) : "");
  document.getElementById("sentence").replaceChildren(...labelling.sentence());
  document.getElementById("before").replaceChildren(around(before));
  document.getElementById("after").replaceChildren(around(after));
  const { selected, spans } = labelling.editor;
  const otherwise = selected
    ? [h("p", {}, "Label ", h("q", {}, labelling.textOf(selected.from, selected.to + 1)), " as:"),
      button("←", "Shift ←", () => actions.extend(-1), { "aria-label": "Add the word on the left" }),
      button("→", "Shift →", () => actions.extend(1), { "aria-label": "Add the word on the right" })]
    : [h("p", {}, spans.length ? "Nothing left to ask: Enter saves." : "No spans yet. Select words, then press the number of a class; Enter saves a record without any.")];
  document.getElementById("question").replaceChildren(...labelling.question(otherwise));
  document.getElementById("choices").replaceChildren(...labelling.choices(),
    button("Keep the class", "K", actions.stick, { "aria-pressed": String(labelling.sticky !== null) }), button("Next capital", "N", actions.capital));
  const isReady = labelling.editor.open.length === 0;
  document.getElementById("actions").replaceChildren(
    button(back ? "Save the change" : "Save", isReady ? "Enter" : "Shift Enter", actions.save, { className: isReady ? "first" : "" }),
    button(state.review ? "Keep the data as they are" : "Skip", "S", actions.skip),
    h("span", { className: "spacer" }),
    button("Undo", "U", actions.undo),
    button("Back", "B", actions.back),
    back ? button("Forward", "F", actions.forward) : "");
}

function add(box) {
  const name = box.value.trim();
  if (!name) return;
  run(async () => {
    take(await ask("class", { name }));
    box.value = "";
    drawRecord();
    document.activeElement?.blur(); // the box, or the button
    labelling.focus();
    say(`class ${name} added`, 1200);
  });
}

function about() {
  const { record: { where, doubts, answered, skipped }, progress } = state;
  const isChosen = state.rules && !answered && progress.round !== null && progress.until;
  const turn = isChosen ? `${progress.every - progress.until + 1} of ${progress.every} worth judging` : "";
  return [
    back ? h("p", { className: "past" }, `${back === 1 ? "The last answer" : `${back} answers ago`}${skipped ? ", which was skipped" : ""}. A change replaces it.`) : null,
    where || turn ? h("p", { className: "note" }, [where, turn].filter(Boolean).join(" · ")) : null,
    (answered ? [] : doubts).map((doubt) => h("p", { className: "doubt" }, "In the data: ", h("q", {}, doubt.data), ", models predict: ", h("q", {}, doubt.models))),
  ];
}

const quoted = (path) => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

/** The list of answers, read when it is opened; each leads back to its record. */
function answersCard() {
  const list = h("ol", { className: "list", tabIndex: 0, "aria-label": "Answers, the latest first" });
  return h("section", { className: "card" }, h("details", { id: "answers", ontoggle: (event) => { if (event.target.open) attempt(fill); } }, h("summary", {}, h("h2", { className: "inline" }, "Answers")), list));
  async function fill() {
    const { last } = await ask("answers");
    list.replaceChildren(...last.map(({ text, labels, skipped }, i) => h("li", {}, h("button", { className: "finder", dir: "auto", onclick: () => run(async () => take(await ask("look", { back: i + 1 }), i + 1)) }, text),
      skipped ? h("span", { className: "note" }, " skipped") : labels.map((label) => chip(label, state.classes)))));
    if (!last.length) list.replaceChildren(h("li", { className: "note" }, "None yet."));
  }
}

function recordCard() {
  if (!labelling.editor) {
    const [file, next] = [h("span"), h("code")];
    attempt(async () => {
      const { file: name, path, content } = await ask("answers");
      file.replaceChildren(`They are in ${path}. `, h("button", { onclick: () => download(content, name) }, "Download"));
      next.textContent = state.review ? `postil doctor --apply ${quoted(path)}` : `postil train ${quoted(path)} -o model.postil`;
    });
    return h("section", { className: "card done", "aria-label": "Record" }, h("h2", {}, "All records are answered."), counts(state),
      h("p", {}, state.review ? "The answers are saved: postil doctor --apply puts them into the data. " : "The answers are saved; they can be trained on as they are. ", file),
      h("p", {}, next, " ", h("button", { onclick: () => copy(next.textContent, "command") }, "Copy")), h("div", { id: "problem" }),
      h("div", { className: "row" }, button("Undo", "U", actions.undo), button("Back", "B", actions.back)));
  }
  return h("section", { className: "card", "aria-label": "Record" }, about(), h("div", { id: "problem" }),
    h("div", { className: "text sentence", dir: "auto" }, h("span", { id: "before" }),
      h("span", { id: "sentence", role: "listbox", "aria-label": "Words of the record", "aria-multiselectable": "true", ...labelling.pointed }),
      h("span", { id: "after" })),
    state.rules ? votes(state.record, (start, end) => labelling.textOf(start, end), state.classes) : "",
    h("div", { className: "question", id: "question" }),
    h("div", { className: "choices", id: "choices", role: "group", "aria-label": "Classes" }), labelling.classForm(add),
    h("div", { className: "row actions", id: "actions" }));
}

// ------------------------------------------------------------------------------------------------ progress

/** What the learning is doing, as one sentence. */
function learningText({ learning, progress }) {
  if (progress.every === null) return "No model is trained in this session.";
  if (learning.state === "running" || learning.state === "stopping") {
    return learning.epoch ? `Learning: epoch ${learning.epoch} of ${learning.epochs}.` : "Learning …";
  }
  if (learning.state === "failed") return `The last training run failed: ${learning.error}`;
  if (progress.until === 0) return "The model trains as soon as an answer has a span.";
  return `The model retrains after ${counted(progress.until, "more answer")}.`;
}

/** Spans of each class so far. */
function counts({ progress, classes }) {
  return h("p", { className: "row", id: "counts" }, classes.map((name) => h("span", {}, chip(name, classes), ` ${(progress.by_class[name] ?? 0).toLocaleString("en")}`)));
}

function agreement({ curve: { points, rounds } }) {
  if (!points.length) {
    return h("p", { className: "note" }, "The curve begins when a model has been in use for some answers: each of them is compared with what the model said before.");
  }
  const first = points[0].answers - 1;
  const last = points.at(-1);
  const share = (point) => point.f1 ?? point.unchanged; // where there is nothing to find: of records in which nothing was changed
  const told = `F1 ${percent(share(last)).replace(" ", "\u00a0")} over the last ${counted(last.records, "answer")}, which the model was least sure of.`;
  const drawing = curve(points.map((point) => [point.answers, share(point)]), {
    label: `Agreement with the model: ${told}`, low: 0, high: 1, ticks: [0, 0.5, 1], shown: (value) => `${100 * value}`, from: first, to: last.answers,
    ends: [String(first), counted(last.answers, "answer")], breaks: rounds.slice(0, -1).map((round) => round.answers).filter((answers) => answers > first),
  });
  const rows = rounds.map((round) => [String(round.round), String(round.records), round.f1 === null ? "–" : percent(round.f1), percent(round.unchanged)]);
  return h("div", {}, drawing, h("p", { className: "note" }, told),
    h("details", { open: isOpen, ontoggle: (event) => { isOpen = event.target.open; } }, h("summary", {}, "By model"),
      table(["Model", "#Answers", "#F1", "#Unchanged"], rows, { region: "Agreement by model" })));
}

// ------------------------------------------------------------------------------------------------ the page

const HELP = [
  [["Enter"], "accept the question; save when none is left"], [["Shift", "Enter"], "save at once, with what is proposed"],
  [["A"], "accept"], [["R", "Del"], "reject or remove"], [["1", "…", "9"], "another class, or a new span of the selected words"],
  [["↓", "↑"], "next and previous span"], [["←", "→"], "next and previous word; with Shift, select words"],
  [["Q", "W"], "left end to the left, to the right"], [["O", "P"], "right end to the left, to the right"],
  [["N"], "next capitalised word"], [["K"], "keep a class: every selection gets it"], [["S"], "skip"], [["U"], "undo, as often as you like"], [["B", "F"], "back to earlier answers, and forward"], [["C"], "a new class"],
];

function keyCard() {
  const toggle = h("input", { type: "checkbox", id: "letters", checked: letters, onchange: () => { letters = toggle.checked; localStorage.setItem("letters", letters ? "on" : "off"); } });
  return h("section", { className: "card" }, h("details", { open: window.innerWidth > 800 && !state.rules }, h("summary", {}, h("h2", { className: "inline" }, "Keys")),
    keyList(HELP),
    h("label", { className: "note" }, toggle, " letters and numbers are keys")));
}

/** What stays while records come and go. */
function drawPage() {
  if (state.rules) rules = new RulesPanel({ ask, run, retrain: actions.learn, stop: actions.stop, classes: () => state.classes });
  main.replaceChildren(h("div", { className: rules ? "grid ruled" : "grid" },
    h("div", {}, h("div", { id: "record" }), h("div", { id: "pool" }), rules?.result),
    h("div", {}, rules?.card,
      h("section", { className: "card" }, h("h2", {}, "Progress"), h("div", { id: "progress" })),
      h("section", { className: "card", id: "agreement" }, h("h2", {}, "Agreement with the model"), h("div", { id: "curve" }), rules?.judged),
      answersCard(), keyCard())));
}

function draw() {
  if (!document.getElementById("record")) drawPage();
  document.getElementById("record").replaceChildren(recordCard());
  if (labelling.editor) drawRecord();
}

function drawProgress() {
  const { learning, progress } = state;
  const { answered, skipped, waiting } = progress;
  const [done, all] = [answered + skipped, answered + skipped + waiting];
  const bar = h("progress", { max: all || 1, value: done, "aria-label": `${done} of ${all} records` });
  const isLearning = learning.state === "running" || learning.state === "stopping";
  document.getElementById("count").textContent = `${answered.toLocaleString("en")} answered · ${waiting.toLocaleString("en")}${progress.more ? "+" : ""} to go`;
  document.getElementById("progress").replaceChildren(bar, figures(["answered", "spans", "skipped"].map((name) => [name, progress[name].toLocaleString("en")])), counts(state), h("p", { className: "note", id: "learning" }, learningText(state)),
    isLearning && !rules ? h("progress", { max: 1, value: learning.progress, "aria-label": "Learning" }) : "",
    progress.every === null || rules ? "" : h("div", { className: "row" }, isLearning ? button("Stop", "", actions.stop) : button("Train now", "", actions.learn, { disabled: !progress.spans })));
  document.getElementById("agreement").hidden = state.review;
  document.getElementById("curve").replaceChildren(agreement(state));
  document.getElementById("pool").replaceChildren(progress.problem ? h("p", { className: "error" }, `The pool was not read to its end: ${progress.problem}`) : "");
  rules?.follow(state);
  poll();
}

document.addEventListener("keydown", keyed);
try {
  take(await ask(""));
  await rules?.load();
  rules?.follow(state);
} catch (error) {
  main.replaceChildren(failed({ message: `The server does not answer: ${error.message}` }));
}

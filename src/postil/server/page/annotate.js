// The page of `postil annotate`: one record at a time, by keyboard or by mouse. The server keeps the answers.

import { call } from "/page/api.js";
import { colour, copy, h, percent, say } from "/page/dom.js";
import { bar, counted, counts, curve, figures, learningText, summary } from "/page/progress.js";
import { RulesPanel, votes } from "/page/rules.js";
import { chip as chipOf, failed } from "/page/shared.js";
import { Editor } from "/page/spans.js";

const main = document.getElementById("main");
const POLL = 1000;
let state = null; // what the server said last
let editor = null;
let back = 0; // how many answers one has gone back
let letters = localStorage.getItem("letters") !== "off";
let timer = null;
let sticky = null; // the class that every selection gets at once
let rules = null; // the panel of the rules, if there are some

// ------------------------------------------------------------------------------------------------ the server

async function ask(action, body, purpose) {
  return call(`/api/annotation${action ? `/${action}` : ""}`, body, purpose ?? action);
}

/** Take what the server says. A record in it is a new one to look at. */
function take(content, isBack = 0) {
  const { record } = content;
  state = { ...state, ...content };
  if (record !== undefined) {
    editor = record ? new Editor(record) : null;
    back = isBack;
    draw();
    focusWord();
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
      if (isElsewhere && !back && !editor?.past.length) take(await ask("")); // what the new model asks first
      rules.follow(state);
    }
    announce("A new model is in use.");
  }), POLL);
}

// ------------------------------------------------------------------------------------------------ what is said

function announce(text) {
  document.getElementById("live").textContent = text;
}

function wordsOf(start, end) {
  const { words, gaps } = state.record;
  return words.slice(start, end).map((word, i) => (i ? gaps[start + i - 1] : "") + word).join("");
}

function describe(span) {
  const figure = span.probability === null ? "" : `, ${percent(span.probability)}`;
  const asked = { asked: `, is it?`, maybe: ", or nothing?" }[span.state] ?? "";
  return `${wordsOf(span.start, span.end)}: ${span.label}${figure}${asked}`;
}

/** For screen readers: the record, and what is asked. */
function tell(lead = "") {
  if (!editor) return;
  const now = editor.current ? describe(editor.current) : `${counted(editor.answer.length, "span")}. Enter saves.`;
  const text = lead || wordsOf(0, editor.length);
  announce(`${text}. ${editor.open.length ? `${counted(editor.open.length, "question")}. ` : ""}${now}`);
}

// ------------------------------------------------------------------------------------------------ actions

async function save(skipped = false) {
  const { key } = state.record;
  take(await ask("answer", skipped ? { key, skipped } : { key, spans: editor.answer }));
  const left = state.review ? "kept as it is" : "skipped";
  say(skipped ? left : "saved", 900);
}

function changed(lead) {
  drawRecord();
  focusWord();
  tell(lead);
}

const actions = {
  accept: () => { if (editor.current) { editor.accept(); changed("accepted"); } },
  reject: () => { if (editor.current) { editor.reject(); changed("rejected"); } },
  next: () => { editor.step(1); changed(" "); },
  previous: () => { editor.step(-1); changed(" "); },
  skip: () => save(true),
  save: () => save(),
  async enter() {
    if (editor.current && editor.open.includes(editor.current)) actions.accept();
    else if (editor.open.length) { editor.toOpen(0); changed(" "); } else await save();
  },
  async undo() {
    if (editor?.undo()) { changed("undone"); return; }
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
  async forward() {
    if (back) take(await ask("look", { back: back - 1 }), back - 1);
  },
  move(end, by) {
    if (!editor.current) return;
    if (editor.move(end, by)) changed(describe(editor.current));
    else say("no room", 900);
  },
  extend(by) {
    const { from, to } = editor.selected;
    if (by < 0) editor.goTo(from - 1, to);
    else editor.goTo(to + 1, from);
    changed(wordsOf(editor.selected.from, editor.selected.to + 1));
  },
  label(number) {
    const label = state.classes[number];
    if (label === undefined) return;
    if (!editor.selected && !editor.current) { say("select words first", 1200); return; }
    editor.label(label);
    if (sticky !== null) sticky = label;
    changed(label);
  },
  /** Keep a class: what is selected gets it, until the key is pressed again. */
  stick() {
    sticky = sticky === null ? editor.current?.label ?? state.classes[0] ?? null : null;
    changed(sticky === null ? "classes are chosen one by one" : `every selection is ${sticky}`);
  },
  /** The next word that begins with a capital and is in no span. */
  capital() {
    const { words } = state.record;
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
  a: () => actions.accept(), r: () => actions.reject(), Delete: () => actions.reject(), Backspace: () => actions.reject(),
  s: () => actions.skip(), u: () => actions.undo(), b: () => actions.back(), f: () => actions.forward(),
  q: () => actions.move("start", -1), w: () => actions.move("start", 1), o: () => actions.move("end", -1), p: () => actions.move("end", 1),
  ArrowDown: () => actions.next(), ArrowUp: () => actions.previous(), Enter: () => actions.enter(),
  ArrowLeft: (event) => toWord(-1, event.shiftKey), ArrowRight: (event) => toWord(1, event.shiftKey),
  Home: (event) => toWord(-Infinity, event.shiftKey), End: (event) => toWord(Infinity, event.shiftKey),
  c: () => document.getElementById("new-class")?.focus(), k: () => actions.stick(), n: () => actions.capital(),
  " ": () => { if (sticky !== null && editor.selected) actions.label(state.classes.indexOf(sticky)); },
};
const WITHOUT_RECORD = new Set(["u", "b", "f"]);

function toWord(by, extends_) {
  const { at, current, selected, length } = editor;
  const from = current && by > 0 && !extends_ ? current.end - 1 : at;
  const target = Math.max(0, Math.min(length - 1, from + by));
  editor.goTo(target, extends_ ? selected?.anchor ?? at : null);
  changed(state.record.words[target]);
}

let queue = Promise.resolve();

/** One after another: a key that comes while an answer is being saved is meant for the next record. */
function run(action) {
  queue = queue.then(() => attempt(async () => {
    document.getElementById("problem")?.replaceChildren();
    await action();
  }));
}

function keyed(event) {
  const { key, target } = event;
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (target.closest("input, textarea, select")) return;
  const isControl = target.closest("button, summary, a");
  if (isControl && (key === "Enter" || key === " ")) return;
  if (!letters && /^[a-z0-9]$/i.test(key)) return;
  const name = key.length === 1 ? key.toLowerCase() : key;
  const action = /^[1-9]$/.test(name) ? () => actions.label(Number(name) - 1) : KEYS[name];
  if (!action) return;
  event.preventDefault();
  if (name === "Enter" && event.shiftKey) run(() => editor && actions.save());
  else run(() => ((editor || WITHOUT_RECORD.has(name)) ? action(event) : null));
}

// ------------------------------------------------------------------------------------------------ the record

function focusWord() {
  const active = document.activeElement;
  if (active && active !== document.body && active !== main && !active.closest?.("#sentence") && active.isConnected) return;
  const word = document.querySelector(`#sentence [data-word="${editor?.at}"]`);
  word?.focus({ preventScroll: true });
  word?.scrollIntoView({ block: "nearest" });
}

function word(text, place) {
  const { selected } = editor;
  const span = editor.spanAt(place);
  const isSelected = selected ? selected.from <= place && place <= selected.to : span !== null && span === editor.current;
  return h("span", {
    className: "word", role: "option", "data-word": place, "aria-selected": String(isSelected),
    tabIndex: place === editor.at ? 0 : -1, "aria-label": span ? `${text}, ${span.label}` : text,
  }, text);
}

function drawSentence() {
  const { words, gaps, before, after } = state.record;
  const parts = [];
  for (let place = 0; place < words.length; place += 1) {
    if (place) parts.push(gaps[place - 1]);
    const span = editor.spanAt(place);
    if (!span) { parts.push(word(words[place], place)); continue; }
    const inside = [];
    for (; place < span.end; place += 1) {
      if (place > span.start) inside.push(gaps[place - 1]);
      inside.push(word(words[place], place));
    }
    place -= 1;
    const mark = { asked: " ?", maybe: " ??" }[span.state] ?? "";
    parts.push(h("span", { className: `entity ${span.state} ${colour(span.label, state.classes)} ${span === editor.current ? "current" : ""}` },
      inside, h("span", { className: "chip", "aria-hidden": "true" }, `${span.label}${mark}`)));
  }
  const around = (text) => h("span", { className: "context", role: "presentation" }, text);
  document.getElementById("sentence").replaceChildren(...parts);
  document.getElementById("before").replaceChildren(before.trim() ? around(before) : "");
  document.getElementById("after").replaceChildren(after.trim() ? around(after) : "");
}

function button(text, key, action, properties = {}) {
  return h("button", { type: "button", onclick: () => run(action), ...properties }, text, key ? h("kbd", { "aria-hidden": "true" }, key) : null);
}

function ends(text, name, end, [left, right]) {
  return h("span", { className: "ends" }, h("span", { className: "note" }, text),
    button("←", left, () => actions.move(end, -1), { "aria-label": `Move the ${name} end to the left` }),
    button("→", right, () => actions.move(end, 1), { "aria-label": `Move the ${name} end to the right` }));
}

function drawQuestion() {
  const span = editor.current;
  const { selected } = editor;
  let text;
  let buttons = [];
  if (span) {
    const chip = chipOf(span.label, state.classes);
    const figure = span.probability === null ? "" : ` ${percent(span.probability)}`;
    const question = { asked: "Is this right? ", maybe: "Not proposed, but possible: ", sure: "", mine: "" }[span.state];
    text = [question, h("q", {}, wordsOf(span.start, span.end)), " ", chip, figure.replaceAll(" ", "\u00a0")];
    const isOpen = editor.open.includes(span);
    buttons = [
      isOpen ? button("Accept", "A", actions.accept) : null,
      button(isOpen ? "Reject" : "Remove", "R", actions.reject),
      ends("Left end", "left", "start", ["Q", "W"]),
      ends("Right end", "right", "end", ["O", "P"]),
    ];
  } else if (selected) {
    text = ["Label ", h("q", {}, wordsOf(selected.from, selected.to + 1)), " as:"];
    buttons = [
      button("←", "Shift ←", () => actions.extend(-1), { "aria-label": "Add the word on the left" }),
      button("→", "Shift →", () => actions.extend(1), { "aria-label": "Add the word on the right" }),
    ];
  }
  else if (editor.spans.length) text = ["Nothing left to ask: Enter saves."];
  else text = ["No spans yet. Select words, then press the number of a class; Enter saves a record without any."];
  document.getElementById("question").replaceChildren(h("p", {}, text), ...buttons.filter(Boolean));
}

function drawClasses() {
  const { current, selected } = editor;
  const buttons = state.classes.map((name, number) => button(name, "", () => actions.label(number), {
    className: `choice ${colour(name, state.classes)}`, disabled: !current && !selected,
    "aria-pressed": (current ? current.label === name : sticky === name) ? "true" : undefined,
  }));
  buttons.push(button("Keep the class", "K", actions.stick, { "aria-pressed": String(sticky !== null) }), button("Next capital", "N", actions.capital));
  buttons.slice(0, Math.min(9, state.classes.length)).forEach((one, number) => one.prepend(h("kbd", { "aria-hidden": "true" }, String(number + 1))));
  document.getElementById("choices").replaceChildren(...buttons);
}

function drawActions() {
  const isReady = editor.open.length === 0;
  document.getElementById("actions").replaceChildren(
    button(back ? "Save the change" : "Save", isReady ? "Enter" : "Shift Enter", actions.save, { className: isReady ? "first" : "" }),
    button(state.review ? "Keep the data as they are" : "Skip", "S", actions.skip),
    h("span", { className: "spacer" }),
    button("Undo", "U", actions.undo),
    button("Back", "B", actions.back),
    back ? button("Forward", "F", actions.forward) : "");
}

function drawRecord() {
  drawSentence();
  drawQuestion();
  drawClasses();
  drawActions();
}

function add(event) {
  event.preventDefault();
  const box = document.getElementById("new-class");
  const name = box.value.trim();
  if (!name) return;
  run(async () => {
    take(await ask("class", { name }));
    box.value = "";
    drawRecord();
    document.activeElement?.blur(); // the box, or the button
    focusWord();
    say(`class ${name} added`, 1200);
  });
}

let dragged = null;
function wordOf(event) {
  const element = event.target.closest?.("[data-word]");
  return element ? Number(element.dataset.word) : null;
}
function down(event) {
  const place = wordOf(event);
  if (place === null || event.button > 0) return;
  event.preventDefault();
  if (event.shiftKey) editor.goTo(place, editor.selected?.anchor ?? editor.at);
  else { dragged = place; editor.goTo(place); }
  document.activeElement?.blur();
  changed(state.record.words[place]);
}
function over(event) {
  const place = wordOf(event);
  const isThere = editor.selected ? editor.selected.at === place : place === dragged; // drawing calls this again
  if (dragged === null || place === null || isThere) return;
  editor.goTo(place, dragged);
  drawRecord();
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

function classForm() {
  return h("form", { className: "adding", onsubmit: add },
    h("label", { htmlFor: "new-class", className: "note" }, "New class"),
    h("input", { type: "text", id: "new-class", maxLength: 100, autocomplete: "off", spellcheck: false, onkeydown: (event) => { if (event.key === "Escape") { event.target.blur(); focusWord(); } } }),
    h("button", {}, "Add", h("kbd", { "aria-hidden": "true" }, "C")));
}

const quoted = (path) => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

function download(name, content) {
  const address = URL.createObjectURL(new Blob([content], { type: "application/x-ndjson" }));
  h("a", { href: address, download: name }).click();
  URL.revokeObjectURL(address);
}

/** The list of answers, read when it is opened; each leads back to its record. */
function answersCard() {
  const list = h("ol", { className: "list", tabIndex: 0, "aria-label": "Answers, the latest first" });
  return h("section", { className: "card" }, h("details", { id: "answers", ontoggle: (event) => { if (event.target.open) attempt(fill); } }, h("summary", {}, h("h2", { className: "inline" }, "Answers")), list));
  async function fill() {
    const { last } = await ask("answers");
    list.replaceChildren(...last.map(({ text, labels, skipped }, i) => h("li", {}, h("button", { className: "finder", dir: "auto", onclick: () => run(async () => take(await ask("look", { back: i + 1 }), i + 1)) }, text),
      skipped ? h("span", { className: "note" }, " skipped") : labels.map((label) => chipOf(label, state.classes)))));
    if (!last.length) list.replaceChildren(h("li", { className: "note" }, "None yet."));
  }
}

function recordCard() {
  if (!editor) {
    const [file, next] = [h("span"), h("code")];
    attempt(async () => {
      const { file: name, path, content } = await ask("answers");
      file.replaceChildren(`They are in ${path}. `, h("button", { onclick: () => download(name, content) }, "Download"));
      next.textContent = state.review ? `postil doctor --apply ${quoted(path)}` : `postil train ${quoted(path)} -o model.postil`;
    });
    return h("section", { className: "card done", "aria-label": "Record" }, h("h2", {}, "All records are answered."), counts(state),
      h("p", {}, state.review ? "The answers are saved: postil doctor --apply puts them into the data. " : "The answers are saved; they can be trained on as they are. ", file),
      h("p", {}, next, " ", h("button", { onclick: () => copy(next.textContent, "command") }, "Copy")), h("div", { id: "problem" }),
      h("div", { className: "row" }, button("Undo", "U", actions.undo), button("Back", "B", actions.back)));
  }
  return h("section", { className: "card", "aria-label": "Record" }, about(), h("div", { id: "problem" }),
    h("div", { className: "text sentence", dir: "auto" }, h("span", { id: "before" }),
      h("span", { id: "sentence", role: "listbox", "aria-label": "Words of the record", "aria-multiselectable": "true", onmousedown: down, onmouseover: over }),
      h("span", { id: "after" })),
    state.rules ? votes(state.record, wordsOf, state.classes) : "",
    h("div", { className: "question", id: "question" }),
    h("div", { className: "choices", id: "choices", role: "group", "aria-label": "Classes" }), classForm(),
    h("div", { className: "row actions", id: "actions" }));
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
    h("dl", { className: "keys" }, HELP.map(([keys, text]) => [h("dt", {}, keys.map((key) => h("kbd", {}, key))), h("dd", {}, text)])),
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
  if (editor) drawRecord();
}

function drawProgress() {
  const { learning, progress } = state;
  const isLearning = learning.state === "running" || learning.state === "stopping";
  document.getElementById("count").textContent = summary(state);
  document.getElementById("progress").replaceChildren(bar(state), figures(state), counts(state), h("p", { className: "note", id: "learning" }, learningText(state)),
    isLearning && !rules ? h("progress", { max: 1, value: learning.progress, "aria-label": "Learning" }) : "",
    progress.every === null || rules ? "" : h("div", { className: "row" }, isLearning ? button("Stop", "", actions.stop) : button("Train now", "", actions.learn, { disabled: !progress.spans })));
  document.getElementById("agreement").hidden = state.review;
  document.getElementById("curve").replaceChildren(curve(state));
  document.getElementById("pool").replaceChildren(progress.problem ? h("p", { className: "error" }, `The pool was not read to its end: ${progress.problem}`) : "");
  rules?.follow(state);
  poll();
}

document.addEventListener("keydown", keyed);
document.addEventListener("mouseup", () => { if (dragged === null) return;
  dragged = null;
  if (sticky !== null && editor.selected) actions.label(state.classes.indexOf(sticky));
  else changed(" ");
});
try {
  take(await ask(""));
  await rules?.load();
  rules?.follow(state);
} catch (error) {
  main.replaceChildren(failed({ message: `The server does not answer: ${error.message}` }));
}

// Rules next to the text: their files to edit, what each rule does, what the last training changed, and how good the model is.

import { chip, counted, failed, h, say, table } from "/page/dom.js";

const SHOWN = 5; // changed sentences, until all are asked for
const rounded = (share) => `${Math.round(100 * share)}\u00a0%`;

/** The cards, which live as long as the page: what is typed stays there. `ask` calls the server, `run` does one action after
 *  another, `retrain` begins a training run, `classes` tells the classes for their colours. */
export class RulesPanel {
  constructor({ ask, run, retrain, stop, classes }) {
    Object.assign(this, { ask, run, retrain, classes });
    this.edited = {}; // name -> {text, stamp} of files with changes that are not saved
    this.name = "";
    this.all = false; // whether all changed sentences are shown
    this.box = h("textarea", { id: "rules", className: "mono", rows: 14, spellcheck: false, "aria-describedby": "rules-problem", oninput: () => this.typed() });
    this.chooser = h("select", { id: "rules-file", "aria-label": "File", onchange: () => { this.name = this.chooser.value; this.open(); } });
    this.problem = h("div", { id: "rules-problem" });
    this.save = h("button", { type: "button", onclick: () => this.act(() => this.written()) }, "Save");
    this.start = h("button", { type: "button", className: "first", id: "retrain", onclick: () => this.act(async () => { if (await this.written()) await this.retrain(); }) }, "Retrain");
    this.end = h("button", { type: "button", hidden: true, onclick: () => this.act(stop) }, "Stop");
    this.progress = h("progress", { max: 1, value: 0, hidden: true, "aria-label": "Learning from the rules" });
    [this.time, this.report, this.changes, this.judged] = ["time", "rules-report", "changes", "judged"].map((id) => h("div", { id }));
    this.time.className = "note";
    this.card = h("section", { className: "card", "aria-label": "Rules" }, h("h2", {}, "Rules"), this.report,
      h("div", { className: "row" }, h("label", { htmlFor: "rules", className: "field inline" }, "File"), this.chooser), this.box, this.problem,
      h("div", { className: "row" }, this.start, this.save, this.end, this.time), this.progress);
    this.result = h("section", { className: "card", "aria-label": "What changed", hidden: true }, h("h2", {}, "What the last training changed"), this.changes);
  }

  act(action) {
    this.run(async () => {
      this.problem.replaceChildren();
      try { await action(); } catch (error) { this.fail(error); }
    });
  }

  async load() { this.take(await this.ask("rules")); }

  take(content) {
    this.content = content;
    const names = content.files.map(({ name }) => name);
    if (!names.includes(this.name)) [this.name] = names;
    this.chooser.replaceChildren(...names.map((name) => h("option", { value: name, selected: name === this.name }, name)));
    this.open();
    this.drawReport();
    this.drawChanges();
    this.drawJudged();
  }

  get file() { return this.content.files.find(({ name }) => name === this.name); }

  open() {
    const { text } = this.edited[this.name] ?? this.file;
    if (this.box.value !== text) this.box.value = text;
    this.drawState();
  }

  typed() {
    const { text, stamp } = this.edited[this.name] ?? this.file;
    this.edited[this.name] = { text: this.box.value, stamp };
    if (this.box.value === this.file.text && stamp === this.file.stamp) delete this.edited[this.name];
    if (text !== this.box.value) this.drawState();
  }

  drawState() { this.save.disabled = !Object.keys(this.edited).length; }

  /** Write what was typed, lists first: rules may need them. False where a file cannot be written. */
  async written(replace = false) {
    for (const [name, { text, stamp }] of Object.entries(this.edited)) {
      try {
        const content = await this.ask("rules/save", { name, text, stamp, replace });
        delete this.edited[name];
        this.take(content);
        say(`${name} saved`, 1200);
      } catch (error) {
        this.name = name;
        this.chooser.value = name;
        this.open();
        this.fail(error);
        return false;
      }
    }
    return true;
  }

  fail(error) {
    const line = error.message.match(/^line (\d+): /);
    if (line) this.select(Number(line[1]));
    const isOld = error.message.includes("changed on disk");
    this.problem.replaceChildren(failed(error), isOld ? h("div", { className: "row" },
      h("button", { type: "button", onclick: () => this.act(async () => { delete this.edited[this.name]; await this.load(); }) }, "Open the file on the disk"),
      h("button", { type: "button", onclick: () => this.act(() => this.written(true)) }, "Replace it with this text")) : "");
  }

  /** Show a line of the file, counted from 1. */
  select(line) {
    const lines = this.box.value.split("\n");
    const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    this.box.focus();
    this.box.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
    this.box.scrollTop = Math.max(0, this.box.scrollHeight * ((line - 4) / lines.length));
  }

  /** Progress of the training, from the server's state. */
  follow({ learning }) {
    const isLearning = learning.state === "running" || learning.state === "stopping";
    this.start.disabled = isLearning;
    this.end.hidden = !isLearning;
    this.progress.hidden = !isLearning;
    this.progress.value = learning.progress;
    const seconds = this.content?.seconds;
    if (isLearning) this.time.textContent = "training …";
    else if (learning.state === "failed") this.time.textContent = "";
    else this.time.textContent = seconds ? `trained in ${seconds.toFixed(1)} s` : "";
    if (learning.state === "failed" && !this.problem.hasChildNodes()) this.problem.replaceChildren(failed({ message: learning.error }));
  }

  drawReport() {
    const { report } = this.content;
    if (!report) { this.report.replaceChildren(h("p", { className: "note" }, "The first model is being trained on the votes of the rules. You can begin to judge sentences meanwhile.")); return; }
    const rows = report.rows.map((row) => [row.rule, row.classes.split(" ").map((label) => chip(label, this.classes())), row.votes.toLocaleString("en"), rounded(row.sentences / report.sentences),
      row.conflicts.toLocaleString("en"), row.precision === null ? "–" : rounded(row.precision)]);
    const outvoted = report.rows.filter((row) => row.outvoted.length).map((row) => [h("dt", {}, row.rule), row.outvoted.map((text) => h("dd", {}, text))]);
    const known = report.suggestions.map(([phrase, label, count]) => h("li", {}, `${phrase} `, chip(label, this.classes()), ` ${count}`));
    const { sentences, covered, dead } = report;
    this.report.replaceChildren(
      h("p", { className: "note" }, `${counted(sentences, "sentence")}, ${rounded(covered / sentences)} with a vote.${dead.length ? ` Never vote: ${dead.join(", ")}.` : ""}`),
      table(["Rule", "Class", "#Votes", "#Covers", "#Conflicts", "#Right"], rows, { region: "What each rule does" }),
      outvoted.length ? h("details", {}, h("summary", {}, "Outvoted"), h("dl", { className: "examples" }, outvoted)) : "",
      known.length ? h("details", {}, h("summary", {}, "Found without a rule"), h("ul", { className: "phrases" }, known)) : "");
  }

  drawChanges() {
    const { changes } = this.content;
    this.result.hidden = !changes;
    if (!changes) return;
    const { sentences, added, removed, relabelled, changed } = changes;
    const rows = changes.classes.map(({ label, before, after }) => [chip(label, this.classes()), before.toLocaleString("en"), after.toLocaleString("en"), (after > before ? "+" : after < before ? "−" : "±") + Math.abs(after - before).toLocaleString("en")]);
    const shown = this.all ? changed : changed.slice(0, SHOWN);
    const more = changed.length - shown.length;
    const said = { added: "+", removed: "−", relabelled: "" };
    this.changes.replaceChildren(
      h("p", {}, sentences ? `${counted(sentences, "sentence")} changed: ${added} added, ${removed} removed, ${relabelled} relabelled.` : "No prediction has changed."),
      rows.length ? table(["Class", "#Before", "#After", "#Change"], rows, { region: "Spans of each class" }) : "",
      h("ol", { className: "list" }, shown.map(({ words, marks }) => h("li", {}, h("p", { dir: "auto" }, words.join(" ")), h("p", { className: "marks" }, marks.map(({ kind, start, end, label, was }) => h("span", { className: `mark ${kind}` },
        h("span", { className: "skip" }, `${kind}: `), `${said[kind]} ${words.slice(start, end).join(" ")} `, kind === "relabelled" ? [chip(was, this.classes()), " → "] : "", chip(label, this.classes()))))))),
      more ? h("button", { type: "button", onclick: () => { this.all = true; this.drawChanges(); } }, `Show ${more} more`) : "");
  }

  drawJudged() {
    const { judged: { records, labels, precision, recall, f1 } } = this.content;
    const row = (name, one) => [name, ...["precision", "recall", "f1"].map((figure) => one[figure].toFixed(1)), String(one.support ?? "")];
    const rows = Object.entries(labels).map(([label, one]) => row(chip(label, this.classes()), one));
    this.judged.replaceChildren(records ? h("details", {}, h("summary", {}, "Report by class"),
      table(["Class", "#Precision", "#Recall", "#F1", "#Spans"], [...rows, row("all", { precision, recall, f1 })], { region: "Scores of the judged sentences" }),
      h("p", { className: "note" }, `${counted(records, "answer")}, each compared with what the model predicted before. They are the sentences that the model was least sure of, so on other text it is better.`)) : "");
  }
}

/** The votes of the rules on the record. */
export function votes(record, wordsOf, classes) {
  if (!record.votes?.length) return h("p", { className: "note" }, "No rule votes on this sentence.");
  return h("p", { className: "note" }, "Votes: ", record.votes.map(({ rule, start, end, label, negated }, i) => [i ? " · " : "", `${rule}: ${wordsOf(start, end)} ${negated ? "is not " : ""}`, chip(label, classes)]));
}

// One record while a person labels it: its words, the question about a span, the classes, and what keys, mouse and finger do
// with them. The page of `postil annotate` and the page that trains have one each.

import { chip, colour, h, percent, say } from "/page/dom.js";
import { Editor } from "/page/spans.js";

const NUMBER = /^[1-9]$/;

export class Labelling {
  /** `act` does what a button asks for; `changed` hears of every change, and what to say of it; `draw` draws the record while
   *  words are being selected; `classes` returns the classes, and `mark` what a span has after its label. */
  constructor({ act, changed, draw, classes, mark }) {
    Object.assign(this, { changed, draw, classes, mark });
    this.editor = null;
    this.sticky = null; // the class that every selection gets at once
    this.dragged = null; // the word on which a selection began
    this.button = (text, key, action, properties = {}) => h("button", { type: "button", onclick: () => act(action), ...properties }, text, key ? h("kbd", { "aria-hidden": "true" }, key) : null);
    this.keys = {
      a: () => this.accept(), r: () => this.reject(), Delete: () => this.reject(), Backspace: () => this.reject(),
      q: () => this.move("start", -1), w: () => this.move("start", 1), o: () => this.move("end", -1), p: () => this.move("end", 1),
      ArrowDown: () => this.step(1), ArrowUp: () => this.step(-1), c: () => document.getElementById("new-class")?.focus(),
      ArrowLeft: (event) => this.toWord(-1, event.shiftKey), ArrowRight: (event) => this.toWord(1, event.shiftKey),
      Home: (event) => this.toWord(-Infinity, event.shiftKey), End: (event) => this.toWord(Infinity, event.shiftKey),
    };
    // Words are selected by mouse, pen and finger alike: down on the first, up on the last.
    this.pointed = { onpointerdown: (event) => this.down(event), onpointermove: (event) => this.over(event) };
    document.addEventListener("pointerup", () => this.up());
  }

  /** Begin with a record {words, gaps, spans}: `gaps` are the texts between its words. No record: null. */
  open(record) {
    this.editor = record && new Editor(record);
    [this.words, this.gaps] = record ? [record.words, record.gaps] : [[], []];
  }

  textOf(start, end) {
    return this.words.slice(start, end).map((word, i) => (i ? this.gaps[start + i - 1] : "") + word).join("");
  }

  describe(span) {
    const figure = span.probability === null ? "" : `, ${percent(span.probability)}`;
    return `${this.textOf(span.start, span.end)}: ${span.label}${figure}${{ asked: ", is it?", maybe: ", or nothing?" }[span.state] ?? ""}`;
  }

  get isAsked() { return this.editor.open.includes(this.editor.current); }

  // ------------------------------------------------------------------------------------------------ actions

  accept() { if (this.editor.current) { this.editor.accept(); this.changed("accepted"); } }

  reject() { if (this.editor.current) { this.editor.reject(); this.changed("rejected"); } }

  step(by) { this.editor.step(by); this.changed(" "); }

  /** Accept what is asked, or go to the next question; without any, `save`. */
  enter(save) {
    if (this.isAsked) this.accept();
    else if (this.editor.open.length) { this.editor.toOpen(0); this.changed(" "); } else return save();
    return null;
  }

  move(end, by) {
    const { editor } = this;
    if (!editor.current) return;
    if (editor.move(end, by)) this.changed(this.describe(editor.current));
    else say("no room", 900);
  }

  label(number) {
    const label = this.classes()[number];
    if (label === undefined) return;
    if (!this.editor.selected && !this.editor.current) { say("select words first", 1200); return; }
    this.editor.label(label);
    if (this.sticky !== null) this.sticky = label;
    this.changed(label);
  }

  labelSticky() { if (this.sticky !== null && this.editor.selected) this.label(this.classes().indexOf(this.sticky)); }

  toWord(by, extends_) {
    const { at, current, selected, length } = this.editor;
    const from = current && by > 0 && !extends_ ? current.end - 1 : at;
    const target = Math.max(0, Math.min(length - 1, from + by));
    this.editor.goTo(target, extends_ ? selected?.anchor ?? at : null);
    this.changed(this.words[target]);
  }

  /** The name and the action of a key among `keys`, or of the number of a class; null if it is none, or meant for a control. */
  keyed(event, keys) {
    const { key, target } = event;
    if (event.ctrlKey || event.altKey || event.metaKey || target.closest("input, textarea, select")) return null;
    if (target.closest("button, summary, a") && (key === "Enter" || key === " ")) return null;
    const name = key.length === 1 ? key.toLowerCase() : key;
    const action = NUMBER.test(name) ? () => this.label(Number(name) - 1) : keys[name];
    return action ? { name, action: () => action(event) } : null;
  }

  down(event) {
    const place = wordAt(event);
    if (Number.isNaN(place) || event.button > 0) return;
    this.dragged = event.shiftKey ? this.editor.selected?.anchor ?? this.editor.at : place;
    this.editor.goTo(place, event.shiftKey ? this.dragged : null);
    if (event.pointerType === "mouse") event.preventDefault();
    document.activeElement?.blur();
    this.changed(this.words[place]);
  }

  over(event) {
    const { editor, dragged } = this;
    const place = dragged === null ? NaN : wordAt(event);
    if (Number.isNaN(place) || (editor.selected ? editor.selected.at === place : place === dragged)) return; // drawing calls this again
    editor.goTo(place, dragged);
    this.draw();
  }

  up() {
    if (this.dragged === null) return;
    this.dragged = null;
    if (this.sticky !== null && this.editor.selected) this.labelSticky();
    else this.changed(" ");
  }

  // ------------------------------------------------------------------------------------------------ drawing

  /** Put the focus on the present word, unless a control outside of the text has it. */
  focus() {
    const active = document.activeElement;
    if (active && active !== document.body && active.id !== "main" && !active.closest("#sentence") && active.isConnected) return;
    const word = document.querySelector(`#sentence [data-word="${this.editor?.at}"]`);
    word?.focus({ preventScroll: true });
    word?.scrollIntoView({ block: "nearest" });
  }

  word(place) {
    const { selected, current, at } = this.editor;
    const span = this.editor.spanAt(place);
    const isSelected = selected ? selected.from <= place && place <= selected.to : span !== null && span === current;
    const text = this.words[place];
    return h("span", {
      className: "word", role: "option", "data-word": place, "aria-selected": String(isSelected), tabIndex: place === at ? 0 : -1, "aria-label": span ? `${text}, ${span.label}` : text,
    }, text);
  }

  /** The words with their spans. */
  sentence() {
    const parts = [];
    for (let place = 0; place < this.words.length; place += 1) {
      if (place) parts.push(this.gaps[place - 1]);
      const span = this.editor.spanAt(place);
      if (!span) { parts.push(this.word(place)); continue; }
      const inside = [this.word(place)];
      for (place += 1; place < span.end; place += 1) inside.push(this.gaps[place - 1], this.word(place));
      place -= 1;
      parts.push(h("span", { className: `entity ${span.state} ${colour(span.label, this.classes())} ${span === this.editor.current ? "current" : ""}` },
        inside, h("span", { className: "chip", "aria-hidden": "true" }, span.label, this.mark(span))));
    }
    return parts;
  }

  /** The present span, and what can be done with it; `otherwise` if there is none. */
  question(otherwise) {
    const { current: span } = this.editor;
    if (!span) return otherwise;
    const ends = (name, end, [left, right]) => h("span", { className: "ends" }, h("span", { className: "note" }, `${name} end`),
      this.button("←", left, () => this.move(end, -1), { "aria-label": `Move the ${name.toLowerCase()} end to the left` }),
      this.button("→", right, () => this.move(end, 1), { "aria-label": `Move the ${name.toLowerCase()} end to the right` }));
    const asked = { asked: "Is this right? ", maybe: "Not proposed, but possible: " }[span.state] ?? "";
    const figure = span.probability === null ? "" : ` ${percent(span.probability)}`;
    return [h("p", {}, asked, h("q", {}, this.textOf(span.start, span.end)), " ", chip(span.label, this.classes()), figure.replaceAll(" ", "\u00a0")),
      this.isAsked ? this.button("Accept", "A", () => this.accept()) : "", this.button(this.isAsked ? "Reject" : "Remove", "R", () => this.reject()),
      ends("Left", "start", ["Q", "W"]), ends("Right", "end", ["O", "P"])];
  }

  /** A button for each class. */
  choices() {
    const { current, selected } = this.editor;
    return this.classes().map((name, number) => {
      const choice = this.button(name, "", () => this.label(number), {
        className: `choice ${colour(name, this.classes())}`, disabled: !current && !selected, "aria-pressed": (current ? current.label === name : this.sticky === name) ? "true" : undefined,
      });
      if (number < 9) choice.prepend(h("kbd", { "aria-hidden": "true" }, String(number + 1)));
      return choice;
    });
  }

  /** The box for a new class. */
  classForm(onsubmit) {
    return h("form", { className: "adding", onsubmit: (event) => { event.preventDefault(); onsubmit(event.target.querySelector("input")); } },
      h("label", { htmlFor: "new-class", className: "note" }, "New class"),
      h("input", { type: "text", id: "new-class", maxLength: 100, autocomplete: "off", spellcheck: false, onkeydown: (event) => { if (event.key === "Escape") { event.target.blur(); this.focus(); } } }),
      h("button", {}, "Add", h("kbd", { "aria-hidden": "true" }, "C")));
  }
}

const wordAt = (event) => Number(document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-word]")?.dataset.word ?? NaN);

/** Keys and what they do: [[keys, text]]. */
export const keyList = (rows) => h("dl", { className: "keys" }, rows.map(([keys, text]) => [h("dt", {}, keys.map((key) => h("kbd", {}, key))), h("dd", {}, text)]));

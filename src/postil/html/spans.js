// The spans of one record while a person edits them. Every change can be undone; nothing here knows about the page.
//
// A span is {start, end, label, probability, state}, in words. States: "sure" (the model is), "asked" (proposed),
// "maybe" (not proposed, but possible), "mine" (a person said so). A "maybe" span is not part of the answer.

const isOpen = (span) => span.state === "asked" || span.state === "maybe";
const overlap = (one, other) => one.start < other.end && other.start < one.end;

export class Editor {
  constructor(record) {
    this.length = record.words.length;
    this.spans = record.spans.map((span) => ({ ...span })).sort((a, b) => a.start - b.start);
    this.past = [];
    this.current = null; // a span
    this.selected = null; // words {from, to, anchor, at} that are not a span yet
    this.toOpen(0);
  }

  /** The questions that are left. */
  get open() {
    return this.spans.filter(isOpen);
  }

  get answer() {
    return this.spans.filter((span) => span.state !== "maybe").map(({ start, end, label }) => ({ start, end, label }));
  }

  spanAt(word) {
    return this.spans.find((span) => span.start <= word && word < span.end) ?? null;
  }

  /** The word that has the focus. */
  get at() {
    if (this.selected) return this.selected.at;
    return this.current ? this.current.start : 0;
  }

  // ------------------------------------------------------------------------------------------------ where one is

  /** Go to the first question from a word on, or to the first of all; false where none is left. */
  toOpen(word) {
    this.selected = null;
    this.current = this.open.find((span) => span.start >= word) ?? this.open[0] ?? null;
    return this.current !== null;
  }

  /** Go to a neighbouring span. */
  step(by) {
    if (!this.spans.length) return;
    const place = this.spans.indexOf(this.current);
    const { at } = this;
    let next = place + by;
    if (place < 0) {
      next = by > 0 ? this.spans.findIndex((span) => span.start >= at) : this.spans.findLastIndex((span) => span.end <= at);
      if (next < 0) next = by > 0 ? 0 : this.spans.length - 1;
    }
    this.current = this.spans[(next + this.spans.length) % this.spans.length];
    this.selected = null;
  }

  /** Go to a word: to its span, if it has one. With an anchor, all words in between are selected. */
  goTo(word, anchor = null) {
    const at = Math.max(0, Math.min(this.length - 1, word));
    if (anchor !== null) {
      this.current = null;
      this.selected = { anchor, at, from: Math.min(anchor, at), to: Math.max(anchor, at) };
      return;
    }
    this.current = this.spanAt(at);
    this.selected = this.current ? null : { anchor: at, at, from: at, to: at };
  }

  // ------------------------------------------------------------------------------------------------ changes

  change(edit) {
    const before = { spans: this.spans.map((span) => ({ ...span })), current: this.spans.indexOf(this.current), selected: this.selected };
    edit();
    this.spans.sort((a, b) => a.start - b.start);
    this.past.push(before);
  }

  /** Undo the last change of this record; false where there is none. */
  undo() {
    const before = this.past.pop();
    if (!before) return false;
    this.spans = before.spans;
    this.current = this.spans[before.current] ?? null;
    this.selected = before.selected;
    return true;
  }

  accept() {
    const span = this.current;
    this.change(() => Object.assign(span, { state: "mine" }));
    if (!this.toOpen(span.end)) this.current = span;
  }

  reject() {
    const span = this.current;
    this.change(() => { this.spans = this.spans.filter((one) => one !== span); });
    if (!this.toOpen(span.start)) this.goTo(span.start);
  }

  /** Label what is selected, or give the current span another label. */
  label(label) {
    const { selected } = this;
    if (selected) {
      const span = { start: selected.from, end: selected.to + 1, label, probability: null, state: "mine" };
      this.change(() => { this.spans = [...this.spans.filter((one) => !overlap(one, span)), span]; });
      this.selected = null;
      this.current = span;
      return;
    }
    const span = this.current;
    this.change(() => Object.assign(span, { label, state: "mine", probability: span.label === label ? span.probability : null }));
    if (!this.toOpen(span.end)) this.current = span;
  }

  /** Move an end of the current span by a word; false if it has no room to move. */
  move(end, by) {
    const span = this.current;
    const moved = { ...span, [end]: span[end] + by };
    const inTheWay = this.spans.some((one) => one !== span && one.state !== "maybe" && overlap(one, moved));
    if (moved.start < 0 || moved.end > this.length || moved.start >= moved.end || inTheWay) return false;
    this.change(() => {
      Object.assign(span, moved, { state: "mine", probability: null });
      this.spans = this.spans.filter((one) => one === span || !overlap(one, span));
    });
    return true;
  }
}

// Texts with labelled spans: JSON Lines as `postil train` reads them, words to click on, sentences to train on.
// A record is {text, spans: [{start, end, label}], isDone, fields}; offsets count UTF-16 code units, those of files characters.

import { PostilError } from "./runtime.mjs";
import { isClassName, isObject } from "./training.mjs";

const MOST_RECORDS = 100_000;
const hasPairs = (text) => /[\ud800-\udfff]/.test(text);

/** Offsets in characters to offsets in code units, or undefined beyond the text. */
function units(text) {
  if (!hasPairs(text)) return (place) => (place >= 0 && place <= text.length ? place : undefined);
  const places = [0];
  for (const character of text) places.push(places.at(-1) + character.length);
  return (place) => places[place];
}

/** And back. */
function characters(text) {
  return hasPairs(text) ? (place) => [...text.slice(0, place)].length : (place) => place;
}

function spanOf(span, unit, where) {
  const label = span?.label;
  if (!isObject(span) || !isClassName(label)) throw new PostilError(`${where}: a span without one label: expected {"start": 0, "end": 5, "label": "LOC"}`);
  const [start, end] = [span.start, span.end].map((place) => (Number.isInteger(place) ? unit(place) : undefined));
  if (!(start < end)) throw new PostilError(`${where}: the span ${String(span.start).slice(0, 12)} to ${String(span.end).slice(0, 12)} is not inside the text`);
  return { start, end, label };
}

/** The records of JSON Lines. One that has no spans, or whose answer is "ignore", is still to be labelled. */
export function readRecords(content, name) {
  const records = [];
  for (const [i, line] of content.replace(/^\ufeff/, "").split(/\r?\n/).entries()) {
    const where = `${name}, line ${i + 1}`;
    if (!line.trim()) continue;
    let value = null;
    try { value = JSON.parse(line); } catch { /* null is not an object either */ }
    if (!isObject(value) || typeof value.text !== "string") throw new PostilError(`${where}: expected one object a line, {"text": "…", "spans": […]}`);
    if (records.length >= MOST_RECORDS) throw new PostilError(`${where}: too many records: expected at most ${MOST_RECORDS.toLocaleString("en")}`);
    const { text, spans, answer, ...fields } = value;
    if (spans !== undefined && !Array.isArray(spans)) throw new PostilError(`${where}: spans: expected a list`);
    const other = ["label", "labels", "entities", "annotations", "ner_tags"].find((field) => Array.isArray(fields[field]) && fields[field].length);
    if (other) throw new PostilError(`${where}: labels in "${other}": expected them in "spans", as postil convert writes them`);
    const unit = units(text);
    const isLeftOut = answer === "ignore" || answer === "reject";
    records.push({ text, spans: (spans ?? []).map((span) => spanOf(span, unit, where)), isDone: spans !== undefined && !isLeftOut, fields });
  }
  if (!records.length) throw new PostilError(`${name}: there are no records in it`);
  return records;
}

/** As JSON Lines. Records that are not labelled have "answer": "ignore", and `postil train` leaves them out. */
export function writeRecords(records) {
  return records.map(({ text, spans, isDone, fields }) => {
    const character = characters(text);
    const placed = spans.map(({ start, end, label }) => ({ start: character(start), end: character(end), label }));
    return `${JSON.stringify({ text, spans: placed, ...(isDone ? {} : { answer: "ignore" }), ...fields })}\n`;
  }).join("");
}

/** The words of a record and its spans in words. A span that does not fit takes the words that it touches; of two that overlap
 *  the first counts. `changed` is the number of spans that are not as they were. */
export function wordsOf(record, cutter) {
  const { tokens, sentences } = cutter.tag(record.text);
  const spans = [];
  let changed = 0;
  for (const span of [...record.spans].sort((a, b) => a.start - b.start)) {
    const touched = [...tokens.keys()].filter((i) => tokens[i].start < span.end && span.start < tokens[i].end);
    const [start, end] = [touched[0], touched.at(-1) + 1];
    const isFree = touched.length && !spans.some((one) => start < one.end && one.start < end);
    if (!isFree || tokens[start].start !== span.start || tokens[end - 1].end !== span.end) changed++;
    if (isFree) spans.push({ ...span, start, end });
  }
  return { tokens, sentences, spans, changed };
}

/** The sentences to train on: {tokens, spans} in words; joined where a span runs across their border. */
export function sentencesOf(record, cutter) {
  const { tokens, sentences, spans } = wordsOf(record, cutter);
  const ranges = [];
  for (const [first, end] of sentences) {
    if (spans.some((span) => span.start < first && first < span.end)) ranges.at(-1)[1] = end;
    else ranges.push([first, end]);
  }
  return ranges.map(([first, end]) => ({
    tokens: tokens.slice(first, end).map((token) => token.text),
    spans: spans.filter((span) => span.start >= first && span.end <= end).map((span) => ({ start: span.start - first, end: span.end - first, label: span.label })),
  }));
}

// A tagger that is trained here: its training run, its file, and the form in which the engine opens it. It is the preset
// `fast` without vectors. Python trains the same network: features, batches and random numbers are the same for the same
// seed, and what is computed differs by the rounding of sums alone (trainer.c).

import { PostilError } from "./runtime.mjs";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });
export const MOST_BYTES = 64 << 20; // of a file
const LARGEST = 1e6; // of temperature, shift and bias
const [BLOCK, MOST_HEADER, LONGEST_RUN] = [1 << 16, 4 << 20, 128]; // as in archive.py and vocabulary.py
const PARAMETERS = [
  "network/forms.tables.0", "network/forms.tables.1", "network/encoder.layers.0.padding", "network/encoder.layers.1.W", "network/encoder.layers.1.b",
  "heads/main/output0.W", "heads/main/output0.b", "heads/main/crf.transitions", "heads/main/crf.start", "heads/main/crf.end",
];

const CRC = Uint32Array.from({ length: 256 }, (_, i) => { for (let k = 0; k < 8; k++) i = i & 1 ? 0xedb88320 ^ (i >>> 1) : i >>> 1; return i; });

function crc32(bytes, before = 0) {
  let h = ~before;
  for (let i = 0; i < bytes.length; i++) h = CRC[(h ^ bytes[i]) & 255] ^ (h >>> 8);
  return ~h >>> 0;
}

const bytesOf = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

function joined(parts) {
  const whole = new Uint8Array(sum(parts.map((part) => part.length)));
  let at = 0;
  for (const part of parts) { whole.set(part, at); at += part.length; }
  return whole;
}

/** As Python compares strings: by code points. */
function byCodePoints(a, b) {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  if (i > 0 && /[\udc00-\udfff]/.test((a[i] ?? "") + (b[i] ?? ""))) i--; // the first half is the same
  return (a.codePointAt(i) ?? -1) - (b.codePointAt(i) ?? -1);
}

// ------------------------------------------------------------------------------------------------ what a model consists of

/** The columns of word features, in the order of their tables: kinds are numbered as in plain_text.py. */
function columnsOf(config) {
  const affixes = (kind, number, lengths) => lengths.map((length) => ({ name: `${kind} ${length}`, number, length }));
  return [
    { name: "word", number: 0, length: 0 }, { name: "shape", number: 1, length: 0 },
    ...affixes("prefix", 2, config.prefix_lengths), ...affixes("suffix", 3, config.suffix_lengths),
  ];
}

const CAPS_CLASSES = 8;

/** The shape of each parameter of PARAMETERS. */
function shapesOf(config, vocabularies, classes) {
  const columns = columnsOf(config);
  const [K, H, L] = [config.window, config.hidden, 1 + 4 * classes.length];
  const D = config.word_dim + columns.length * config.caps_dim; // shapes, affixes, capitals
  const small = sum(columns.slice(1).map(({ name }) => vocabularies[name].length)) + CAPS_CLASSES;
  return [[vocabularies.word.length, config.word_dim], [small, config.caps_dim], [D], [H, K * D], [H], [L, H], [L], [L, L], [L], [L]];
}

/** (L, L), (L,), (L,): the steps between labels that no labelling may take. Labels: O, then B, I, E, S of each class. */
function forbiddenSteps(classes) {
  const L = 1 + 4 * classes.length;
  const role = (label) => (label === 0 ? "O" : "BIES"[(label - 1) % 4]);
  const isInside = (label) => "BI".includes(role(label)); // the span goes on after it
  const goesOn = (label) => "IE".includes(role(label)); // and it continues one
  const allowed = (a, b) => (isInside(a) ? goesOn(b) && (a - 1) >> 2 === (b - 1) >> 2 : !goesOn(b));
  const all = [...Array(L).keys()];
  return Uint8Array.from([...all.flatMap((a) => all.map((b) => !allowed(a, b))), ...all.map(goesOn), ...all.map(isInside)]);
}

/** A model that knows nothing: it cuts texts into sentences and tokens. */
export function blank(start, segmentation = null) {
  const vocabularies = Object.fromEntries(columnsOf(start.config).map(({ name }) => [name, [""]]));
  const classes = ["?"];
  const shapes = shapesOf(start.config, vocabularies, classes);
  return {
    config: start.config, classes, scheme: "bio", letters: start.schemes.bio, vocabularies, counts: new BigInt64Array(1), segmentation, estimator: start.estimator,
    parameters: shapes.map((shape) => new Float32Array(shape.reduce((a, b) => a * b, 1))), decoding: { temperature: 1, shift: 0, bias: 0, thresholds: {} }, about: {},
  };
}

// ------------------------------------------------------------------------------------------------ the engine's form

const FLAT_TYPES = [null, Uint8Array, Uint16Array, Int32Array, Uint32Array, BigInt64Array, BigUint64Array, null, Float32Array, Float64Array]; // at their numbers
const [FLAT_HEADER, FLAT_ROW, FLAT_NAME] = [64, 96, 48];
const strings = (texts) => encoder.encode(texts.map((text) => `${text}\0`).join(""));
const integers = (...values) => BigInt64Array.from(values, BigInt);

/** The arrays of a flat file (export/flat.py) that came with this page: {name: {shape, values}}. */
export function readFlat(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const sections = {};
  for (let row = 0; row < view.getUint32(12, true); row++) {
    const at = FLAT_HEADER + FLAT_ROW * row;
    const name = decoder.decode(bytes.subarray(at, at + FLAT_NAME)).replace(/\0+$/, "");
    const [type, dimensions] = [view.getUint32(at + 48, true), view.getUint32(at + 52, true)];
    const [a, b, c, offset, size] = [56, 64, 72, 80, 88].map((place) => Number(view.getBigUint64(at + place, true)));
    sections[name] = { shape: [a, b, c].slice(0, dimensions), values: new FLAT_TYPES[type](bytes.slice(offset, offset + size).buffer) };
  }
  return sections;
}

function writtenFlat(sections) {
  const entries = Object.entries(sections);
  let end = FLAT_HEADER + FLAT_ROW * entries.length;
  const places = entries.map(([, { values }]) => { const place = end + (-end & 63); end = place + values.byteLength; return place; });
  const bytes = new Uint8Array(end);
  const view = new DataView(bytes.buffer);
  bytes.set(encoder.encode("POSTILX"));
  view.setUint32(8, 1, true);
  view.setUint32(12, entries.length, true);
  view.setBigUint64(16, BigInt(end), true);
  entries.forEach(([name, { shape, values }], row) => {
    const at = FLAT_HEADER + FLAT_ROW * row;
    bytes.set(encoder.encode(name), at);
    view.setUint32(at + 48, FLAT_TYPES.indexOf(values.constructor), true);
    view.setUint32(at + 52, shape.length, true);
    [...shape, 1, 1].slice(0, 3).concat(places[row], values.byteLength).forEach((number, i) => view.setBigUint64(at + 56 + 8 * i, BigInt(number), true));
    bytes.set(bytesOf(values), places[row]);
  });
  view.setUint32(24, crc32(bytes.subarray(FLAT_HEADER)), true);
  return bytes;
}

/** V strings as the arrays of a Vocabulary: text, offsets, and a hash table of their ids. */
function vocabularyArrays(values) {
  const encoded = values.map((value) => encoder.encode(value));
  const offsets = new Int32Array(values.length + 1);
  encoded.forEach((one, i) => { offsets[i + 1] = offsets[i] + one.length; });
  const smallest = 2 ** (32 - Math.clz32(2 * values.length));
  for (const size of [smallest, 2 * smallest, 4 * smallest]) {
    const slots = new Int32Array(size).fill(-1);
    encoded.forEach((one, i) => {
      let slot = crc32(one) & (size - 1);
      while (slots[slot] >= 0) slot = (slot + 1) & (size - 1);
      slots[slot] = i;
    });
    let [run, longest] = [0, 0];
    for (let k = 0; k < 2 * size; k++) { run = slots[k & (size - 1)] < 0 ? 0 : run + 1; longest = Math.max(longest, run); }
    if (longest <= LONGEST_RUN) return { text: joined(encoded), offsets, slots };
  }
  throw new PostilError("the words of the model fill its hash table unevenly");
}

/** The bytes that the engine opens; `constants` are the arrays that all models share. */
export function flatModel(model, constants) {
  const { config, classes, vocabularies, parameters, decoding } = model;
  const [words, small, padding, W, b, outputW, outputb, ...chain] = parameters;
  const columns = columnsOf(config);
  const [K, H, L, D] = [config.window, config.hidden, 1 + 4 * classes.length, padding.length];
  const sections = {};
  const put = (name, values, ...shape) => { sections[name] = { values, shape: shape.length ? shape : [values.length] }; };
  put("kind", integers(0));
  put("about", strings([JSON.stringify({ kind: "tagger" })]));
  const rules = `${model.segmentation?.rules ?? "english"}/`;
  for (const [name, section] of Object.entries(constants)) {
    if (name.startsWith(rules)) sections[name.slice(rules.length)] = section;
    else if (/^(characters|words)\//.test(name)) sections[name] = section;
  }
  put("words/columns", integers(...columns.flatMap(({ number, length }, i) => [number, length, i]), 4, 0, -1), columns.length + 1, 3);
  put("words/mark", integers(-1));
  put("lexicons", integers(), 0, 2);
  put("vocabularies", integers(columns.length));
  put("network", integers(1, K, H, 1, 0, 0, K >> 1, columns.length + 1));
  put("steps", integers(), 0, 2);
  put("member0/table0", words, vocabularies.word.length, config.word_dim);
  let first = 0;
  columns.forEach(({ name }, i) => {
    const arrays = vocabularyArrays(vocabularies[name]);
    for (const [part, values] of Object.entries(arrays)) put(`vocabulary${i}/${part}`, values);
    if (i === 0) return;
    const V = vocabularies[name].length;
    put(`member0/table${i}`, small.slice(first * config.caps_dim, (first + V) * config.caps_dim), V, config.caps_dim);
    first += V;
  });
  put(`member0/table${columns.length}`, small.slice(first * config.caps_dim), CAPS_CLASSES, config.caps_dim);
  // W (H, K, D) by position: (D, K, H). Beyond the sentence each position adds W_k padding, and the bias is added at the middle.
  const [byPosition, beyond, bias] = [new Float32Array(D * K * H), new Float32Array(K * H), new Float32Array(K * H)];
  bias.set(b, (K >> 1) * H);
  for (let h = 0; h < H; h++) {
    for (let k = 0; k < K; k++) {
      let total = 0;
      for (let d = 0; d < D; d++) {
        const weight = W[(h * K + k) * D + d];
        byPosition[(d * K + k) * H + h] = weight;
        total += weight * padding[d];
      }
      beyond[k * H + h] = total + bias[k * H + h];
    }
  }
  put("member0/first/W", byPosition, D, K * H);
  put("member0/first/b", bias);
  put("member0/first/padding", beyond);
  put("heads", integers(1));
  put("head0/numbers", integers(L, classes.length, 0, 1, 0));
  put("head0/member0/map0/W", outputW.map((_, at) => outputW[(at % L) * H + Math.floor(at / L)]), H, L); // transposed
  put("head0/member0/map0/b", outputb);
  put("head0/name", strings(["main"]));
  put("head0/reals", Float64Array.of(decoding.temperature, decoding.shift));
  const spellings = ["O", ...classes.flatMap((name) => [...model.letters].map((letter) => (name ? `${letter}-${name}` : letter)))];
  put("head0/labels", strings(spellings));
  put("head0/classes", strings(classes));
  const forbidden = forbiddenSteps(classes);
  const steps = Float64Array.from([...chain[0], ...chain[1], ...chain[2]], (score, i) => (forbidden[i] ? -Infinity : score / decoding.temperature));
  put("head0/transitions", steps.slice(0, L * L), L, L);
  put("head0/start", steps.slice(L * L, L * L + L));
  put("head0/end", steps.slice(L * L + L));
  put("head0/alike", Float64Array.from(spellings.flatMap((one) => spellings.map((other) => Number(one === other)))), L, L);
  const begins = spellings.map((_, i) => i > 0 && ((i - 1) % 4 === 0 || (i - 1) % 4 === 3));
  put("head0/class_of", integers(-2, ...classes.flatMap((_, i) => [i, i, i, i])));
  put("head0/begins", Uint8Array.from(begins, Number));
  if (decoding.bias) put("head0/bonus", Float64Array.from(begins, (one) => one * decoding.bias));
  if (Object.keys(decoding.thresholds).length) put("head0/lowest", Float64Array.from(classes, (name) => Object.hasOwn(decoding.thresholds, name) ? decoding.thresholds[name] : 0));
  return writtenFlat(sections);
}

// ------------------------------------------------------------------------------------------------ the model file

// The layout is that of archive.py and docs/internals/model-file.md.
const FILE_TYPES = { F32: Float32Array, I64: BigInt64Array, I32: Int32Array, U8: Uint8Array };
const BEFORE = '{"__metadata__":{"postil":"2","checksum":"';
const ascii = (text) => text.replace(/[\u0080-\uffff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** The bytes of a `.postil` file, which `postil.load` opens. */
export function modelFile(model, start) {
  const arrays = Object.fromEntries(PARAMETERS.map((name, i) => [name, model.parameters[i]]));
  const shapes = Object.fromEntries(shapesOf(model.config, model.vocabularies, model.classes).map((shape, i) => [PARAMETERS[i], shape]));
  for (const { name } of columnsOf(model.config)) {
    for (const [part, values] of Object.entries(vocabularyArrays(model.vocabularies[name]))) arrays[`features/words/${name}/${part}`] = values;
  }
  arrays["features/words/counts"] = model.counts;
  const names = Object.keys(arrays).sort((a, b) => arrays[b].BYTES_PER_ELEMENT - arrays[a].BYTES_PER_ELEMENT || byCodePoints(a, b));
  const data = names.map((name) => bytesOf(arrays[name]));
  const blocks = (bytes) => Array.from({ length: Math.ceil(bytes.length / BLOCK) }, (_, i) => crc32(bytes.subarray(i * BLOCK, (i + 1) * BLOCK)));
  const metadata = {
    kind: "tagger", config: model.config, features: { columns: 0 }, estimator: model.estimator, about: model.about, needs: [], unicode: start.unicode,
    heads: { main: { labels: { scheme: model.scheme, classes: model.classes }, decoding: model.decoding } },
    ...(model.segmentation ? { segmentation: model.segmentation } : {}),
  };
  const content = ascii(JSON.stringify({ metadata, checksums: Object.fromEntries(names.map((name, i) => [name, blocks(data[i])])) }));
  let end = 0;
  const entries = names.map((name, i) => {
    const dtype = Object.keys(FILE_TYPES).find((code) => arrays[name] instanceof FILE_TYPES[code]);
    return `,${JSON.stringify(name)}:${JSON.stringify({ dtype, shape: shapes[name] ?? [arrays[name].length], data_offsets: [end, end += data[i].length] })}`;
  });
  let rest = `","content":${JSON.stringify(content)}}${entries.join("")}}`;
  rest += " ".repeat(-(8 + BEFORE.length + 8 + rest.length) & 63);
  const length = new Uint8Array(8);
  new DataView(length.buffer).setUint32(0, BEFORE.length + 8 + rest.length, true);
  const checked = encoder.encode(rest);
  return joined([length, encoder.encode(BEFORE + crc32(checked, crc32(length)).toString(16).padStart(8, "0")), checked, ...data]);
}

function refuse(what) {
  throw new PostilError(what);
}

export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** The arrays and the metadata of a file, everything compared with its checksum: {arrays: {name: {shape, values}}, metadata}. */
function readArchive(bytes) {
  if (bytes.length > MOST_BYTES) refuse(`the model file is too large for this page: expected at most ${MOST_BYTES >> 20} MB`);
  const begin = decoder.decode(bytes.subarray(8, 8 + BEFORE.length).map((byte) => byte & 127));
  if (!begin.startsWith('{"__metadata__":{"postil":"')) refuse("not a Postil model file");
  if (begin !== BEFORE) refuse("the model file has another format: expected format 2");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = Number(view.getBigUint64(0, true));
  if (length > MOST_HEADER || 8 + length > bytes.length) refuse("the model file is truncated or damaged in its header");
  const header = bytes.subarray(8, 8 + length);
  const digits = decoder.decode(header.subarray(BEFORE.length, BEFORE.length + 8).map((byte) => byte & 127));
  const checksum = crc32(header.subarray(BEFORE.length + 8), crc32(bytes.subarray(0, 8)));
  if (digits !== checksum.toString(16).padStart(8, "0")) refuse("the model file is damaged in its header: its checksum is wrong");
  const { __metadata__: described, ...entries } = JSON.parse(decoder.decode(header));
  const { metadata, checksums } = JSON.parse(described.content);
  const arrays = {};
  let end = 0;
  const places = Object.entries(entries).sort(([, a], [, b]) => a.data_offsets[0] - b.data_offsets[0]);
  for (const [name, { dtype, shape, data_offsets: [from, to] }] of places) {
    const Type = FILE_TYPES[dtype] ?? refuse(`an array of type ${String(dtype).slice(0, 20)}, which this page does not open: ${name.slice(0, 80)}`);
    const isShape = Array.isArray(shape) && shape.length <= 2 && shape.every(isCount);
    if (from !== end || !isCount(to) || !isShape || to - from !== shape.reduce((a, b) => a * b, Type.BYTES_PER_ELEMENT)) refuse(`the model file is damaged in the place of ${name.slice(0, 80)}`);
    const content = bytes.slice(8 + length + from, 8 + length + to);
    const isWhole = content.length === to - from && checksums[name].length === Math.ceil(content.length / BLOCK);
    if (!isWhole || checksums[name].some((one, i) => one !== crc32(content.subarray(i * BLOCK, (i + 1) * BLOCK)))) refuse(`the model file is damaged in array ${name.slice(0, 80)}`);
    arrays[name] = { shape, values: new Type(content.buffer) };
    end = to;
  }
  if (end !== bytes.length - 8 - length) refuse("the model file is truncated or has other bytes at its end");
  return { arrays, metadata };
}

function checkedClasses(classes, most) {
  if (!Array.isArray(classes) || !classes.length || classes.length > most) refuse(`the number of classes is ${classes?.length ?? 0}: expected 1 to ${most}`);
  if (new Set(classes).size < classes.length || !classes.every(isClassName)) refuse("the model's classes have names that are not valid");
  return classes;
}

/** Names without control characters. */
export function isClassName(name) {
  return typeof name === "string" && name.length > 0 && name.length <= 100 && !/[\p{C}\p{Zl}\p{Zp}]/u.test(name);
}

function vocabularyOf(arrays, name) {
  const [text, offsets, slots] = ["text", "offsets", "slots"].map((part) => arrays[`features/words/${name}/${part}`]?.values);
  if (!(text instanceof Uint8Array && offsets instanceof Int32Array && slots instanceof Int32Array)) refuse(`the vocabulary ${name} is missing, or larger than this page opens`);
  const isRising = offsets.length > 1 && offsets[0] === 0 && offsets.at(-1) === text.length && offsets.every((end, i) => i === 0 || end >= offsets[i - 1]);
  if (!isRising) refuse(`the vocabulary ${name} is damaged`);
  const values = Array.from({ length: offsets.length - 1 }, (_, i) => decoder.decode(text.subarray(offsets[i], offsets[i + 1])));
  return values[0] === "" && new Set(values).size === values.length ? values : refuse(`the vocabulary ${name} is damaged`);
}

/** The model of a `.postil` file, completely checked; an error of one line for any other file, and for models that are not `fast`. */
export function openModelFile(bytes, start) {
  try {
    return checkedModel(readArchive(bytes), start);
  } catch (error) {
    if (error instanceof PostilError) throw error;
    throw new PostilError("not a valid model: it lacks a part or has a wrong one"); // a type that is not what was expected
  }
}

function checkedModel({ arrays, metadata }, start) {
  const { kind, config, features, heads, needs, about, estimator, segmentation = null } = metadata;
  const other = start.fixed.find((name) => !same(config[name], start.config[name]));
  if (kind !== "tagger") refuse(`this page opens taggers, and the file holds a ${String(kind).slice(0, 40)}`);
  if (other) refuse(`this page opens models of the preset fast: ${other} is ${JSON.stringify(config[other])?.slice(0, 40)}, not ${JSON.stringify(start.config[other])}`);
  if (!same(needs, []) || !same(features, { columns: 0 }) || !same(Object.keys(heads), ["main"])) refuse("the model has rules, extra columns or several tasks, which this page does not open");
  if (segmentation !== null && !start.segmentations.some((one) => same(one, segmentation))) refuse("the model cuts text by rules that this page does not have");
  if (about.input === "characters" || !isObject(about) || !isObject(estimator)) refuse("the model has characters as tokens, which this page does not open");
  const { scheme, classes } = heads.main.labels;
  if (!Object.hasOwn(start.schemes, scheme)) refuse(`this page opens models of spans in ${Object.keys(start.schemes).join(", ")}: the labels of this one are of the scheme ${String(scheme).slice(0, 40)}`);
  checkedClasses(classes, start.mostClasses);
  const names = columnsOf(start.config).map(({ name }) => name);
  const parts = [...PARAMETERS, "features/words/counts", ...names.flatMap((name) => ["text", "offsets", "slots"].map((part) => `features/words/${name}/${part}`))];
  const unknown = Object.keys(arrays).find((name) => !parts.includes(name));
  if (unknown) refuse(`the model has vectors, lists or other parts that this page does not open: ${unknown.slice(0, 80)}`);
  const vocabularies = Object.fromEntries(names.map((name) => [name, vocabularyOf(arrays, name)]));
  const counts = arrays["features/words/counts"].values;
  if (!(counts instanceof BigInt64Array) || counts.length !== vocabularies.word.length) refuse("the counts of words are damaged");
  const parameters = shapesOf(start.config, vocabularies, classes).map((shape, i) => {
    const { shape: found, values } = arrays[PARAMETERS[i]];
    const isGood = same(found, shape) && values instanceof Float32Array && values.every((value) => Math.abs(value) <= 1e30);
    return isGood ? values : refuse(`parameter ${PARAMETERS[i]}: expected finite numbers of shape ${shape.join(" × ")}`);
  });
  const { temperature, shift, bias, thresholds } = heads.main.decoding;
  const isNumber = (value) => typeof value === "number" && Math.abs(value) <= LARGEST;
  const isGood = [temperature, shift, bias].every(isNumber) && temperature >= 1 / LARGEST && isObject(thresholds)
    && Object.entries(thresholds).every(([name, lowest]) => classes.includes(name) && lowest >= 0 && lowest <= 1);
  if (!isGood) refuse("the model has an impossible calibration");
  return { config, classes, scheme, letters: start.schemes[scheme], vocabularies, counts, segmentation, estimator, parameters, decoding: { temperature, shift, bias, thresholds }, about };
}

// ------------------------------------------------------------------------------------------------ training

/** The settings for this amount of data: `adapted` in models/config.py. */
export function adapted(start, sentences, tokens, epochs = null) {
  const { EPOCHS, FULL_EPOCH, FEW_SENTENCES, FEWEST_STEPS } = start.amounts;
  const few = epochs === null && sentences < FEW_SENTENCES;
  const batch = Math.max(few ? 2 : 8, Math.min(32, Math.floor(sentences / FULL_EPOCH)));
  return {
    ...start.config, min_count: 1, input_dropout: few ? 0.5 : 0.3, hidden_dropout: tokens < 50000 ? 0.5 : 0.3, batch_sentences: batch,
    epochs: epochs ?? (few ? Math.max(EPOCHS, Math.ceil(FEWEST_STEPS / Math.ceil(sentences / batch))) : EPOCHS), shards: 1, rate: 0.005,
  };
}

/** Arrays in the memory of a WebAssembly instance, which may move when it grows. */
class Memory {
  constructor(wasm) {
    this.wasm = wasm;
  }

  put(values) {
    const place = this.wasm.allocate(Math.max(8, values.byteLength));
    if (!place) refuse("no memory is left");
    new Uint8Array(this.wasm.memory.buffer).set(bytesOf(values), place);
    return place;
  }

  get(Type, place, length) {
    return new Type(this.wasm.memory.buffer, place, length).slice();
  }
}

/** How each of the forms looks: {caps, values: [the string of each column]}. */
function lookedAt(memory, constants, forms, columns) {
  const known = ["records", "index", "pages", "spaces"].map((name) => memory.put(constants[`characters/${name}`].values));
  const tables = memory.put(Int32Array.from(known));
  const shapes = memory.put(constants["words/shapes"].values);
  const encoded = forms.map((form) => encoder.encode(form));
  const longest = encoded.reduce((most, one) => Math.max(most, one.length), 0);
  const [text, out, sizes] = [longest, 4 * longest + 16, 8].map((size) => memory.put(new Uint8Array(size)));
  return encoded.map((one) => {
    new Uint8Array(memory.wasm.memory.buffer).set(one, text);
    const caps = memory.wasm.looks(tables, shapes, text, one.length, out, sizes);
    const [normal, shape] = memory.get(Int32Array, sizes, 2).map(Number);
    const read = (place, size) => decoder.decode(memory.get(Uint8Array, place, size));
    const word = read(out, normal);
    const points = [...word];
    const value = { 0: () => word, 1: () => read(out + 2 * one.length + 8, shape), 2: (n) => points.slice(0, n).join(""), 3: (n) => points.slice(-n).join("") };
    return { caps, values: columns.map(({ number, length }) => value[number](length)) };
  });
}

/** Sentences in batches of similar length, in random order: `batches_of_similar_length` in features/inputs.py. */
function batchesOf(lengths, size, random) {
  const blurred = random.reals(lengths.length).map((share, i) => lengths[i] * (1 + 0.1 * share));
  const order = [...lengths.keys()].sort((a, b) => blurred[a] - blurred[b] || a - b);
  const batches = Array.from({ length: Math.ceil(order.length / size) }, (_, i) => order.slice(i * size, (i + 1) * size));
  return random.permutation(batches.length).map((i) => batches[i]);
}

/**
 * Train on sentences [{tokens, spans}] in a new WebAssembly instance: a generator that yields {epoch, epochs, progress, loss} after
 * every step, with `means: true` in the last step of an epoch, and returns the model.
 */
export function* training(wasm, start, constants, sentences, { seed = 0, epochs = null, segmentation = null } = {}) {
  const memory = new Memory(wasm);
  const classes = [...new Set(sentences.flatMap(({ spans }) => spans.map(({ label }) => label)))].sort(byCodePoints);
  checkedClasses(classes, start.mostClasses);
  const tokens = sum(sentences.map((one) => one.tokens.length));
  const config = adapted(start, sentences.length, tokens, epochs);
  const columns = columnsOf(config);

  // Words: distinct forms in the order of the text, values of features by frequency, ids by value.
  const occurrences = new Map();
  for (const one of sentences) for (const form of one.tokens) occurrences.set(form, (occurrences.get(form) ?? 0) + 1);
  const forms = [...occurrences.keys()];
  const looks = lookedAt(memory, constants, forms, columns);
  const vocabularies = {};
  const ids = columns.map(({ name }, column) => {
    const totals = new Map();
    looks.forEach(({ values }, i) => totals.set(values[column], (totals.get(values[column]) ?? 0) + occurrences.get(forms[i])));
    const least = name === "word" ? config.min_count : config.min_affix_count;
    const frequent = [...totals].filter(([value, count]) => count >= least && value !== "").sort(([a, n], [b, m]) => m - n || byCodePoints(a, b));
    vocabularies[name] = ["", ...frequent.map(([value]) => value)];
    const number = new Map(vocabularies[name].map((value, i) => [value, i]));
    return looks.map(({ values }) => number.get(values[column]) ?? 0);
  });
  const counts = new Float64Array(vocabularies.word.length);
  ids[0].forEach((id, i) => { counts[id] += occurrences.get(forms[i]); });

  // What the kernels take: rows of the two tables for each form, the second of which holds all small features one after another.
  const starts = [0, 0];
  for (const { name } of columns.slice(1)) starts.push(starts.at(-1) + vocabularies[name].length);
  const rows = Int32Array.from(forms.flatMap((_, i) => [...ids.map((of, column) => of[i] + starts[column]), looks[i].caps + starts.at(-1)]));
  const number = new Map(forms.map((form, i) => [form, i]));
  const places = Int32Array.from(sentences.flatMap((one) => one.tokens.map((form) => number.get(form))));
  const [gold, begins] = [new Int32Array(tokens), new Int32Array(sentences.length + 1)];
  sentences.forEach((one, i) => {
    begins[i + 1] = begins[i] + one.tokens.length;
    for (const { start: from, end, label } of one.spans) { // B I … E, or S
      const labels = gold.subarray(begins[i] + from, begins[i] + end);
      const first = 1 + 4 * classes.indexOf(label);
      labels.fill(first + 1).set([first]);
      labels[labels.length - 1] = labels.length === 1 ? first + 3 : first + 2;
    }
  });
  const unknown = Float64Array.from(ids[0], (id) => config.word_dropout / (config.word_dropout + counts[id]));
  const room = memory.put(new Float64Array(Math.max(32, sentences.length)));
  const random = {
    seed: (...key) => { new Uint32Array(wasm.memory.buffer, room, key.length).set(key); wasm.seed(room, key.length); },
    reals: (count) => { wasm.draw(room, count); return memory.get(Float64Array, room, count); },
    permutation: (count) => { wasm.permute(room, count); return [...memory.get(Int32Array, room, count)]; },
  };
  const shapes = shapesOf(config, vocabularies, classes);
  random.seed(seed);
  const sizes = Int32Array.of(...shapes[0], 1, ...shapes[1], columns.length, config.window, config.hidden, shapes[5][0]);
  wasm.begin(memory.put(sizes), memory.put(forbiddenSteps(classes)), config.input_dropout, config.hidden_dropout, config.clip);
  wasm.sentences(...[places, gold, begins, rows, unknown].map((values) => memory.put(values)), forms.length);

  const lengths = sentences.map((one) => one.tokens.length);
  const count = Math.ceil(sentences.length / config.batch_sentences);
  const history = [];
  for (let epoch = 0; epoch < config.epochs; epoch++) {
    wasm.restart();
    random.seed(seed, epoch);
    let total = 0;
    for (const [batch, which] of batchesOf(lengths, config.batch_sentences, random).entries()) {
      const done = (epoch * count + batch) / (config.epochs * count);
      const falling = Math.min((done - config.warm_up) / (1 - config.warm_up), 1);
      const rate = config.rate * (done < config.warm_up ? Math.max(done / config.warm_up, 0.01) : 1 - falling * (1 - config.final_share));
      random.seed(seed, epoch, batch, 0);
      new Int32Array(wasm.memory.buffer, room, which.length).set(which);
      const loss = wasm.step(room, which.length, rate, rate * config.word_rate);
      if (!Number.isFinite(loss)) refuse(`the training has diverged in epoch ${epoch + 1}, batch ${batch + 1}`);
      total += loss;
      yield { epoch: epoch + 1, epochs: config.epochs, progress: (epoch * count + batch + 1) / (config.epochs * count), loss };
    }
    history.push({ epoch: epoch + 1, loss: total / count, score: null });
  }
  const parameters = shapes.map((shape, i) => memory.get(Float32Array, wasm.mean(i), shape.reduce((a, b) => a * b, 1)));
  const trained = { epochs: config.epochs, best_epoch: config.epochs, dev_score: null, step: { name: "fused", reason: null }, history };
  return {
    config, classes, scheme: "bio", letters: start.schemes.bio, vocabularies, counts: BigInt64Array.from(counts, BigInt), segmentation, parameters,
    estimator: { ...start.estimator, seed, ...(epochs === null ? {} : { epochs }) }, decoding: { temperature: 1, shift: 0, bias: 0, thresholds: {} },
    about: {
      preset: "fast", learnt_from: "labels", seed, data: { sentences: sentences.length, tokens }, training: trained,
      versions: { postil: start.version, numpy: "none: trained in a browser" },
    },
  };
}

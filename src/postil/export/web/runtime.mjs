// A model in WebAssembly: strings in, tokens with labels and probabilities out.
// Offsets are in UTF-16 code units, as JavaScript counts: text.slice(start, end) is the token or the entity.

// One function that returns a vector: bytes that are valid only where SIMD128 is supported.
const SIMD_PROBE = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11);

/** Whether vector instructions are supported here. */
export function hasSimd() {
  return WebAssembly.validate(SIMD_PROBE);
}

/** The bytes that a gzip file holds. */
export async function decompressed(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const PIECE = 1 << 14; // tokens that are labelled at once: more cost memory and save nothing

/** What went wrong in the model: a damaged file, no more memory, … */
export class PostilError extends Error {
  name = "PostilError";
}

/** A tagger from the bytes of a WebAssembly module and of an exported model. */
export async function open(wasm, model) {
  const { instance } = await WebAssembly.instantiate(wasm);
  instance.exports._initialize?.();
  return new Tagger(instance.exports, model);
}

class Tagger {
  #wasm;
  #encoder = new TextEncoder();
  #decoder = new TextDecoder();
  #names; // of labels and classes by number, for each task; several labels may have the same name

  constructor(wasm, model) {
    this.#wasm = wasm;
    const place = this.#allocated(wasm.allocate(model.length));
    new Uint8Array(wasm.memory.buffer).set(model, place);
    this.#check(wasm.open(place, model.length));
    /** What the model is, as its file says. */
    this.about = JSON.parse(this.#string(wasm.about()));
    this.kind = wasm.is_tree_classifier() ? "tree-classifier" : "tagger";
    const names = (count, name) => Array.from({ length: count }, (_, i) => this.#string(name(i)));
    this.#names = Array.from({ length: wasm.task_count() }, (_, task) => ({
      labels: names(wasm.label_count(task), (i) => wasm.label(task, i)), classes: names(wasm.class_count(task), (i) => wasm.class(task, i)),
    }));
    /** The tasks with their labels, and the classes of their entities: null where single words are labelled. */
    this.tasks = this.#names.map(({ labels, classes }, task) => ({
      name: this.#string(wasm.task(task)), labels: [...new Set(labels)], classes: classes.length ? classes : null,
    }));
  }

  /** Bytes of memory that the model and its workspace use. */
  get memory() {
    return this.#wasm.memory.buffer.byteLength;
  }

  /** Split a text into sentences and tokens, and label them. A lone surrogate is read as U+FFFD. */
  tag(text) {
    const { length, isAscii } = this.#write(text);
    this.#check(this.#wasm.tag(length, isAscii));
    const result = this.#result();
    const spans = isAscii ? result.spans : this.#integers(this.#wasm.units(), 2 * result.tokenCount);
    const layers = result.layers.map((layer) => this.#layer(text, spans, result.tokenCount, layer));
    const sentences = Array.from({ length: result.sentenceCount }, (_, i) => [result.sentences[i], result.sentences[i + 1]]);
    return { text, sentences, ...layers[this.#first()], ...(layers.length > 1 ? { layers: this.#byTask(layers) } : {}) };
  }

  /** The lattice of each sentence of a text: all scores from which the answers of a task are computed. */
  lattices(text, task = this.tasks[this.#first()].name) {
    const number = this.tasks.findIndex((one) => one.name === task);
    const { tokens, sentences } = this.tag(text);
    const place = this.#wasm.lattice(number);
    if (place === 0) throw new PostilError(`the model has no task ${task}`);
    const [L, outside] = this.#integers(place, 2);
    const [temperature, shift] = this.#reals(place + 8, 2);
    const [unary, ...steps] = this.#integers(place + 24, 4);
    const scores = new Float32Array(this.#wasm.memory.buffer, unary, L * tokens.length);
    const rows = (values) => Array.from({ length: values.length / L }, (_, i) => Array.from(values.subarray(i * L, (i + 1) * L)));
    const calibrated = rows(scores).map((row) => row.map((score, j) => score / temperature - (j === outside ? shift : 0)));
    const [transitions, [start], [end]] = steps.map((at, i) => rows(this.#reals(at, i ? L : L * L)));
    return sentences.map(([first, last]) => ({
      tokens: tokens.slice(first, last).map((token) => token.text), labels: this.#names[number].labels.slice(0, L),
      unary: calibrated.slice(first, last), transitions, start, end,
    }));
  }

  /** Label the tokens of sentences: labels, their probabilities, and entities by the numbers of their tokens. */
  tagTokens(sentences) {
    return this.#ofTokens(sentences, false, (layer, { labels, classes }, first, end, entities) => ({
      labels: Array.from(layer.labels.subarray(first, end), (number) => labels[number]),
      probabilities: Array.from(layer.probabilities.subarray(first, end)),
      entities: entities().map((i) => ({
        start: layer.entities[8 * i + 2] - first, end: layer.entities[8 * i + 3] - first,
        label: classes[layer.entities[8 * i + 4]], probability: layer.figures[4 * i + 3],
      })),
    }));
  }

  /** The labels of the tokens of sentences. */
  predict(sentences) {
    return this.#ofTokens(sentences, true, (layer, { labels }, first, end) => {
      const out = new Array(end - first);
      for (let t = first; t < end; t++) out[t - first] = labels[layer.labels[t]];
      return out;
    });
  }

  /** The labels of all nodes of a tree in brackets, "(3 (2 a) (3 (2 good) (2 film)))", as nested nodes. Only of tree classifiers. */
  classifyTree(brackets) {
    const { length, isAscii } = this.#write(brackets);
    this.#check(this.#wasm.classify_tree(length));
    const [place, count, labelCount] = this.#integers(this.#wasm.tree_result(), 3);
    const bytes = isAscii ? null : new Uint8Array(this.#wasm.memory.buffer, this.#wasm.room(0), length);
    const units = (end) => (bytes ? this.#decoder.decode(bytes.subarray(0, end)).length : end);
    const { labels } = this.#names[0];
    const nodes = [];
    for (let i = 0; i < count; i++) {
      const [left, right, begin, end, label, , probabilities] = this.#integers(place + 28 * i, 7);
      const figures = this.#reals(probabilities, labelCount);
      const [start, stop] = [units(begin), units(end)];
      nodes.push({
        label: labels[label], probability: figures[label], probabilities: Object.fromEntries(labels.map((name, j) => [name, figures[j]])),
        start, end: stop, text: brackets.slice(start, stop), children: left < 0 ? [] : [nodes[left], nodes[right]].filter(Boolean),
      });
    }
    return nodes[nodes.length - 1];
  }

  // ---------------------------------------------------------------------------------------------- texts in, results out

  #layer(text, spans, count, layer) {
    const { labels, classes } = this.#names[layer.task];
    const from = (first, last, label, probability) => {
      const [start, end] = [spans[2 * first], spans[2 * last + 1]];
      return { text: text.slice(start, end), start, end, label, probability };
    };
    const tokens = new Array(count);
    for (let t = 0; t < count; t++) tokens[t] = from(t, t, labels[layer.labels[t]], layer.probabilities[t]);
    const entities = Array.from({ length: layer.entityCount }, (_, i) => {
      const [, , first, end, label] = layer.entities.subarray(8 * i);
      return from(first, end - 1, classes[label], layer.figures[4 * i + 3]);
    });
    return { tokens, entities };
  }

  #ofTokens(sentences, labelsOnly, answer) {
    const answers = this.tasks.map(() => []);
    for (let from = 0, to; from < sentences.length; from = to) {
      let count = 0;
      for (to = from; to < sentences.length && (to === from || count + sentences[to].length <= PIECE); to++) count += sentences[to].length;
      this.#tagPiece(sentences.slice(from, to), count, labelsOnly);
      const { layers, sentences: offsets } = this.#result();
      for (const layer of layers) {
        let next = 0; // entities are in the order of the text
        for (let b = 0; b < to - from; b++) {
          const entities = () => {
            const found = [];
            for (; next < layer.entityCount && layer.entities[8 * next + 5] === b; next++) found.push(next);
            return found;
          };
          answers[layer.task].push(answer(layer, this.#names[layer.task], offsets[b], offsets[b + 1], entities));
        }
      }
    }
    return answers.length > 1 ? this.#byTask(answers) : answers[0];
  }

  #tagPiece(sentences, count, labelsOnly) {
    const tokens = sentences.flat();
    const { length } = this.#write(tokens.join(" "));
    const units = this.#allocated(this.#wasm.tokens_for(count));
    const starts = this.#allocated(this.#wasm.sentences_for(sentences.length));
    const numbers = new Int32Array(this.#wasm.memory.buffer);
    for (let t = 0; t < count; t++) numbers[units / 4 + 2 * t + 1] = tokens[t].length;
    let first = 0;
    for (let b = 0; b <= sentences.length; first += sentences[b]?.length, b++) numbers[starts / 4 + b] = first;
    this.#check(this.#wasm.tag_tokens(length, count, sentences.length, labelsOnly));
  }

  /** Write a string as UTF-8 where the model reads it. */
  #write(text) {
    for (const room of [text.length, 3 * text.length]) {
      const place = this.#allocated(this.#wasm.room(room));
      const { read, written } = this.#encoder.encodeInto(text, new Uint8Array(this.#wasm.memory.buffer, place, room));
      if (read === text.length) return { length: written, isAscii: written === text.length };
    }
    throw new PostilError("the text cannot be encoded");
  }

  /** The structures of postil.h, as they lie in memory: valid until the next call. */
  #result() {
    const [tokens, sentences, layers, tokenCount, sentenceCount, layerCount] = this.#integers(this.#wasm.result(), 6);
    return {
      tokenCount, sentenceCount, spans: this.#integers(tokens, 2 * tokenCount), sentences: this.#integers(sentences, sentenceCount + 1),
      layers: Array.from({ length: layerCount }, (_, i) => {
        const [, labels, probabilities, , entities, entityCount, task] = this.#integers(layers + 28 * i, 7);
        return {
          task, entityCount, labels: this.#integers(labels, tokenCount), probabilities: this.#reals(probabilities, probabilities ? tokenCount : 0),
          entities: this.#integers(entities, 8 * entityCount), figures: this.#reals(entities, 4 * entityCount),
        };
      }),
    };
  }

  #first() {
    return Math.max(0, this.tasks.findIndex((task) => task.classes));
  }

  #byTask(values) {
    return Object.fromEntries(this.tasks.map((task, i) => [task.name, values[i]]));
  }

  #integers(place, count) {
    return new Int32Array(this.#wasm.memory.buffer, count ? place : 0, count);
  }

  #reals(place, count) {
    return new Float64Array(this.#wasm.memory.buffer, count ? place : 0, count);
  }

  #string(place) {
    const bytes = new Uint8Array(this.#wasm.memory.buffer);
    return this.#decoder.decode(bytes.subarray(place, bytes.indexOf(0, place)));
  }

  #allocated(place) {
    if (place === 0) throw new PostilError("no memory is left");
    return place;
  }

  #check(code) {
    if (code !== 0) throw new PostilError(this.#string(this.#wasm.error(code)));
  }
}

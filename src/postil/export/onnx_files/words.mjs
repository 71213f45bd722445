// From words to the ids that the model takes, by the tables of vocabulary.json. Needs nothing but JavaScript.

const MOST_KNOWN = 100_000; // words whose ids are kept
const SHAPES = [
  [/^\p{P}$/u, null],
  [/^[\p{Lu}\p{Lt}]$/u, "X"],
  [/^\p{Ll}$/u, "x"],
  [/^[\p{Lo}\p{Lm}]$/u, "l"],
  [/^\p{Nd}$/u, "d"],
  [/^[\p{Nl}\p{No}]$/u, "n"],
  [/^\p{M}$/u, "m"],
];

export class Words {
  /** `labels` are the names of the label numbers that come out, by task; a model with one task calls it "". */
  constructor(vocabulary) {
    this.labels = vocabulary.labels;
    this.ofWord = vocabulary.words.map((column) => COLUMNS[column.kind](column));
    this.columns = vocabulary.columns.map((column) => numbered(column.values));
    this.gazetteer = vocabulary.gazetteer && new Gazetteer(vocabulary.gazetteer);
    this.known = new Map();
  }

  /**
   * The inputs of B sentences, each a list of words: `features` (B, T, F) and `lengths` (B), as {data, dims}.
   * Where a model takes further columns, a word is a list of itself and its columns. Short sentences are padded.
   */
  features(sentences) {
    const rows = sentences.map((sentence) => this.sentence(sentence));
    const width = this.word("").length + this.columns.length + (this.gazetteer ? this.gazetteer.width : 0);
    const longest = rows.reduce((most, sentence) => Math.max(most, sentence.length), 0);
    const data = new BigInt64Array(rows.length * longest * width);
    rows.forEach((sentence, b) =>
      sentence.forEach((row, t) => row.forEach((id, f) => (data[(b * longest + t) * width + f] = BigInt(id)))),
    );
    const lengths = BigInt64Array.from(rows, (sentence) => BigInt(sentence.length));
    return { features: { data, dims: [rows.length, longest, width] }, lengths: { data: lengths, dims: [rows.length] } };
  }

  sentence(sentence) {
    const forms = sentence.map((token) => (typeof token === "string" ? token : token[0]));
    const names = this.gazetteer ? this.gazetteer.match(forms) : forms.map(() => []);
    return forms.map((form, t) => [
      ...this.word(form),
      ...this.columns.map((ids, i) => ids.get(sentence[t][i + 1]) ?? 0),
      ...names[t],
    ]);
  }

  word(form) {
    if (this.known.has(form)) return this.known.get(form);
    if (this.known.size >= MOST_KNOWN) this.known.clear();
    const ids = this.ofWord.flatMap((column) => column(form));
    this.known.set(form, ids);
    return ids;
  }
}

function numbered(values) {
  return new Map(values.map((value, number) => [value, number]));
}

// ------------------------------------------------------------------------------------------------ features of a word

/** Every decimal digit, of any script, as one mark. */
export function foldDigits(word, mark = "0") {
  return word.replace(/\p{Nd}/gu, () => mark);
}

/** Lower case, with digits folded: words and affixes are looked up like this. */
export function normal(word) {
  return foldDigits(word.toLowerCase());
}

/** The kind of each character, in runs of at most three: Boeing-747s is Xxxx-dddx. */
export function shape(word) {
  const letters = Array.from(word, (character) => {
    const [, letter] = SHAPES.find(([kind]) => kind.test(character)) ?? [null, "z"];
    if (/^\p{S}$/u.test(character)) return character < "\x80" ? character : "s";
    return letter ?? character;
  });
  return letters.join("").replace(/(.)\1{3,}/gsu, "$1$1$1");
}

/** How a word is capitalised, 0 to 7: no letters, lower, Title, UPPER, one capital, MiXed, mIXed, without case. */
export function capitals(word) {
  const cased = Array.from(word)
    .filter((character) => /[\p{Uppercase}\p{Lowercase}\p{Lt}]/u.test(character))
    .map((character) => /[\p{Uppercase}\p{Lt}]/u.test(character));
  const count = cased.filter(Boolean).length;
  if (!cased.length) return /\p{L}/u.test(word) ? 7 : 0;
  if (!count) return 1;
  if (count === cased.length) return count > 1 ? 3 : 4;
  if (!cased[0]) return 6;
  return count > 1 ? 5 : 2;
}

/** A column whose ids are those of a string, 0 where it is not known. */
function ofValue(value) {
  return ({ values, length }) => {
    const ids = numbered(values);
    return (word) => [ids.get(value(word, length)) ?? 0];
  };
}

/** What is looked up, in this order: the word as it stands, in lower case, and with its digits folded. */
function spellings(word, mark) {
  const forms = [word, word.toLowerCase()];
  return mark === null ? forms : [...forms, ...forms.map((form) => foldDigits(form, mark))];
}

function vectorColumn({ values, digit_mark: mark }) {
  const ids = numbered(values);
  return (word) => [ids.get(spellings(word, mark).find((form) => ids.get(form))) ?? 0];
}

function lexiconColumn(content) {
  const find = vectorColumn(content);
  return (word) => content.codes[find(word)[0]];
}

function characterColumn({ values, longest }) {
  const ids = numbered(values);
  return (word) => {
    const all = Array.from(word);
    const half = longest / 2;
    const shown = all.length > longest ? [...all.slice(0, half), ...all.slice(-half)] : all;
    const numbers = shown.map((character) => 1 + (ids.get(character) ?? 0));
    return [...numbers, ...new Array(longest - numbers.length).fill(0)];
  };
}

const COLUMNS = {
  word: ofValue(normal),
  shape: ofValue(shape),
  prefix: ofValue((word, length) => Array.from(normal(word)).slice(0, length).join("")),
  suffix: ofValue((word, length) => Array.from(normal(word)).slice(-length).join("")),
  caps: () => (word) => [capitals(word)],
  lexicon: lexiconColumn,
  characters: characterColumn,
  vector: vectorColumn,
};

// ------------------------------------------------------------------------------------------------ lists of names

/** Names of several words, by class. A code is a place in one: 0 none, then begin, inside, end, single. */
class Gazetteer {
  constructor({ width, names, folded }) {
    this.width = width;
    this.folded = folded && new Map(Object.entries(folded));
    this.classes = new Map(Object.entries(names));
    this.longest = Object.keys(names).reduce((most, name) => Math.max(most, name.split("\x1f").length), 0);
  }

  /** From left to right, the longest name first, never two of one class over the same word. */
  match(forms) {
    const words = this.folded ? forms.map((form) => this.fold(form)) : forms;
    const codes = words.map(() => new Array(this.width).fill(0));
    const free = new Array(this.width).fill(0);
    for (let start = 0; start < words.length; start++) {
      for (let end = Math.min(start + this.longest, words.length); end > start; end--) {
        for (const k of this.classes.get(words.slice(start, end).join("\x1f")) ?? []) {
          if (start < free[k]) continue;
          free[k] = end;
          for (let place = start; place < end; place++) {
            codes[place][k] = end - start === 1 ? 4 : 1 + (place > start) + (place === end - 1);
          }
        }
      }
    }
    return codes;
  }

  /** Without case: the table has what lower case alone does not do. */
  fold(word) {
    return Array.from(word, (character) => this.folded.get(character) ?? character.toLowerCase()).join("");
  }
}

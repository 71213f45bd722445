/** Offsets are in UTF-16 code units: `text.slice(start, end)`. */
export interface Token {
  text: string;
  start: number;
  end: number;
  label: string;
  /** How probable the label is, given the whole sentence. */
  probability: number;
}

/** Its probability is that exactly these words are an entity with this label. */
export interface Entity extends Token {}

/** What one task says about a text. */
export interface Layer {
  tokens: Token[];
  /** Empty for tasks that label single words. */
  entities: Entity[];
}

export interface Answer extends Layer {
  text: string;
  /** First token and end of each sentence. */
  sentences: [number, number][];
  /** By task, where the model has several. `tokens` and `entities` are those of the first one with entities. */
  layers?: Record<string, Layer>;
}

/** First token and end, instead of code units. */
export interface Span extends Omit<Token, "text"> {}

export interface LabelledSentence {
  labels: string[];
  probabilities: number[];
  entities: Span[];
}

export interface Task {
  name: string;
  labels: string[];
  /** The classes of entities; null where single words are labelled. */
  classes: string[] | null;
}

/** All label sequences of a sentence, by their scores: of labels, of steps between them, of the first and the last one. */
export interface Lattice {
  tokens: string[];
  labels: string[];
  unary: number[][];
  transitions: number[][];
  start: number[];
  end: number[];
}

/** A phrase or word of a tree, its text and place in the string in brackets; after it everything in it. */
export interface TreeNode extends Token {
  probabilities: Record<string, number>;
  /** Two, or none of a word. */
  children: TreeNode[];
}

export interface Tagger {
  readonly kind: "tagger" | "tree-classifier";
  readonly tasks: Task[];
  /** Split a text into sentences and tokens, and label them. A lone surrogate is read as U+FFFD. */
  tag(text: string): Answer;
  /** The calibrated scores behind the answers of a task, for each sentence; -Infinity: impossible. */
  lattices(text: string, task?: string): Lattice[];
  /** Label tokens of sentences. With several tasks: by task. */
  tagTokens(sentences: string[][]): LabelledSentence[] | Record<string, LabelledSentence[]>;
  /** The labels of tokens without probabilities, which is faster. */
  predict(sentences: string[][]): string[][] | Record<string, string[][]>;
  /** Label every node of a tree in brackets. Only of tree classifiers, which do nothing else. */
  classifyTree(brackets: string): TreeNode;
  /** Bytes of memory that the model and its workspace use. */
  readonly memory: number;
}

export interface Sources {
  /** Bytes or address of the exported model. */
  model?: Uint8Array | ArrayBuffer | URL | string;
  /** Bytes or address of the WebAssembly module. */
  wasm?: Uint8Array | ArrayBuffer | URL | string;
  /** Whether vector instructions are used; by default where they are supported. */
  simd?: boolean;
}

export function load(sources?: Sources): Promise<Tagger>;

// The worked examples of the documents, as small graphs with steps that point at their nodes.

import { Graph, matrix, repeating } from "/page/flow.js";

const [D, H] = [2, 3];

function tables(seed) {
  const next = repeating(seed);
  return (rows, columns) => matrix(rows, columns, next);
}

/** A graph from rows [name, x, y, make, size]: each node with its place on a grid, and the columns that it spans, or "cells" for an
 *  entry each. A name that comes again is the same node, drawn in a second place. */
function drawn(rows) {
  const [graph, nodes] = [new Graph(), new Map()];
  for (const [name, x, y, make, size = 1] of rows) {
    if (!nodes.has(name)) nodes.set(name, make(graph, name, nodes));
    nodes.get(name).places.push({ x, y, size });
  }
  return graph;
}

const parameter = (value, about) => (graph, name) => graph.parameter(name, value, about);
const input = (value, about) => (graph, name) => graph.input(name, value, about);
const result = (operation, parents, detail) => (graph, name, nodes) => graph.apply(operation, name, parents.map((one) => nodes.get(one)), detail);

const vectorOf = (word) => `x “${word}”`;

/** The vectors of words from left to right: the same word has the same numbers everywhere, and one that occurs twice is one node. */
const vectors = (words, left, y = 0) => words.map((word, i) => {
  const seed = [...word.toLowerCase()].reduce((code, letter) => (Math.imul(code, 31) + letter.codePointAt(0)) >>> 0, 7);
  return [vectorOf(word), left + i, y, parameter(tables(seed)(D, 1), "Word vector (A2). Every occurrence adds to its gradient.")];
});

/** The parameters of a hidden layer over a window, and those of a score. */
function layer(words, x) {
  const table = tables(11);
  return [["W", x, 2, parameter(table(H, D * words.length), "Weights of the hidden layer.")], ["b", x, 3, parameter(table(H, 1), "Biases: never regularised (B5).")]];
}
const scorer = (x) => ["u", x, 5, parameter(tables(12)(H, 1), "Weights of the score.")];

/** The hidden layer over the vectors of a window, below them. */
const window = (words, middle, activation, tag = "") => [
  [`x${tag}`, middle, 1, result("concatenate", words.map(vectorOf)), words.length], [`W x${tag}`, middle, 2, result("matmul", ["W", `x${tag}`])],
  [`z${tag}`, middle, 3, result("add", [`W x${tag}`, "b"])], [`h${tag}`, middle, 4, result("activation", [`z${tag}`], activation)],
];

function windowScore({ words, activation }) {
  const middle = 1 + (words.length - 1) / 2;
  return drawn([...layer(words, 0), scorer(0), ...vectors(words, 1), ...window(words, middle, activation), ["s", middle, 5, result("dot", ["u", "h"])]]);
}

function maxMargin({ words, activation }) {
  const wrong = ["the", "of", "was", "and", "not", "or"].find((word) => !words.includes(word)); // in no window yet
  const corrupt = words.map((word, i) => (i === Math.floor(words.length / 2) ? wrong : word)); // its other words are in both windows
  const [n, half] = [words.length, (words.length - 1) / 2];
  const scored = (of, middle, tag) => [...window(of, middle, activation, tag), [`s${tag}`, middle, 5, result("dot", ["u", `h${tag}`])]];
  return drawn([...layer(words, n), scorer(n), ...vectors(words, 0), ...vectors(corrupt, n + 1), ...scored(words, half, ""), ...scored(corrupt, n + 1 + half, "_c"), ["J", n, 6, result("margin", ["s", "s_c"])]]);
}

function softmaxWindow({ words, activation }) {
  const [table, middle] = [tables(13), 1 + (words.length - 1) / 2];
  return drawn([
    ...layer(words, 0), ["V", 0, 5, parameter(table(3, H), "Weights of the three classes.")], ["c", 0, 6, parameter(table(3, 1), "Biases of the classes.")],
    ...vectors(words, 1), ...window(words, middle, activation),
    ["V h", middle, 5, result("matmul", ["V", "h"])], ["q", middle, 6, result("add", ["V h", "c"])], ["J", middle, 7, result("cross-entropy", ["q"], 1)],
  ]);
}

const kink = () => drawn([
  ["z", 1, 0, parameter([[1], [-1], [0.4], [1.6]], "Two entries lie exactly on a kink.")], ["u", 0, 2, input([[1], [1], [1], [1]], "Ones, to add the entries up.")],
  ["h", 1, 1, result("activation", ["z"], "hardtanh")], ["s", 1, 2, result("dot", ["u", "h"])],
]);

function threeWords({ words }) {
  const table = tables(21);
  const scores = words.slice(0, 3).map((word) => `u “${word}”`);
  return drawn([
    ["A", 0, 2, parameter(table(2, 2), "Transition scores: from the row’s label to the column’s.")],
    ...scores.map((name, t) => [name, 2 * t + 2, 0, parameter(table(2, 1), "Scores of the two labels. Their gradient is p(y_t) − 1 at the gold label.")]),
    [scores[0], 2, 2, null, "cells"], ["α₂", 4, 2, result("CRF step", [scores[0], "A", scores[1]]), "cells"], ["α₃", 6, 2, result("CRF step", ["α₂", "A", scores[2]]), "cells"],
    ["log Z", 7.5, 2, result("log-sum-exp", ["α₃"])], ["s(y)", 7.5, 0, result("path score", ["A", ...scores], [0, 1, 0])], ["J", 8.7, 1, result("subtract", ["log Z", "s(y)"])],
  ]);
}

function structure({ words, activation }) {
  const [table, leaves] = [tables(31), words.slice(0, 3)];
  const phrase = (name, a, b, x, y) => [ // the root is on top, as in a tree
    [`sum of ${name}`, x, y, result("add", [a, b])], [`W_l (…) of ${name}`, x, y - 1, result("matmul", ["W_l", `sum of ${name}`])], [name, x, y - 2, result("activation", [`W_l (…) of ${name}`], activation)],
  ];
  const [first, second, third] = leaves.map(vectorOf);
  return drawn([
    ["W_l", 0, 4.5, parameter(table(D, D), "The composition: every phrase contributes to its gradient.")], ["W_sm", 0, 1, parameter(table(3, D), "The softmax layer.")],
    ...vectors(leaves, 1, 8), ...phrase("p₁", first, second, 1.5, 7), ...phrase("p₂", "p₁", third, 2.25, 4),
    ["q", 2.25, 1, result("matmul", ["W_sm", "p₂"])], ["J", 2.25, 0, result("cross-entropy", ["q"], 0)],
  ]);
}

function deep({ activation }) {
  const next = tables(41);
  const layers = [1, 2, 3, 4, 5, 6].flatMap((layer) => [
    [`W${layer}`, layer, 0, parameter(next(2, 2).map((row, i) => row.map((item, j) => (i === j ? 1 : 0.5 * item))), `Weights of layer ${layer}.`)],
    [`z${layer}`, layer, 1, result("matmul", [`W${layer}`, layer > 1 ? `h${layer - 1}` : "x"])], [`h${layer}`, layer, 2, result("activation", [`z${layer}`], activation)],
  ]);
  return drawn([["x", 0, 2, parameter([[0.5], [-0.3]], "The input.")], ...layers, ["ones", 7, 1, input([[1], [1]], "Ones.")], ["s", 7, 2, result("dot", ["ones", "h6"])]]);
}

const PARIS = ["Museums", "in", "Paris", "are", "amazing"];

// id -> title, words and activation (none: it has none) at the beginning, the graph, steps: [what is said, node, phase].
export const TOURS = {
  window: {
    title: "The window score (B1)", words: PARIS, activation: "tanh", build: windowScore, steps: [
      ["Five words, one vector each. The window x is their concatenation: 10 numbers.", "x", "forward"],
      ["One layer of neurons: z = W x + b, three numbers.", "z", "forward"],
      ["The non-linearity works on each number alone.", "h", "forward"],
      ["The score s = uᵀ h says how much the centre looks like a place.", "s", "forward"],
      ["Backward: the score’s own gradient is 1. h gets u.", "h", "backward"],
      ["Down to the word: ∂s/∂x = Wᵀ δ, cut into one piece per word (E6). It says which way the vector of “Paris” would have to move.", "x “Paris”", "backward"],
    ],
  },
  margin: {
    title: "The max-margin cost (B2)", words: PARIS, activation: "tanh", build: maxMargin, steps: [
      ["The true window has “Paris” in its centre.", "s", "forward"],
      ["On the right, the corrupt window has another word there. Both share every parameter, and the other words.", "s_c", "forward"],
      ["J = max(0, 1 + s_c − s): the true window should score higher by 1.", "J", "forward"],
      ["While J > 0, s gets −1 and s_c gets 1. Change a weight until J is 0: nothing more is learned.", "s", "backward"],
      ["W gets a gradient from both windows: the sum over its successors.", "W", "backward"],
      ["“Museums” is in both windows, so its gradient is also a sum of two terms.", "x “Museums”", "backward"],
    ],
  },
  delta: {
    title: "δ is computed once and reused (B3)", words: PARIS, activation: "tanh", build: windowScore, steps: [
      ["δ is the gradient of z: f′(z) ∘ u. Three numbers.", "z", "backward"],
      ["The bias gets δ itself.", "b", "backward"],
      ["W gets δ xᵀ: the same three numbers, times the input.", "W", "backward"],
      ["x gets Wᵀ δ: again the same δ. It is never computed twice.", "x", "backward"],
    ],
  },
  kink: {
    title: "The kink of HardTanh (A6)", words: [], build: kink, steps: [
      ["Four numbers go through HardTanh. The first two lie exactly on its kinks, at 1 and −1.", "h", "forward"],
      ["On the closed interval [−1, 1] the gradient is 1; outside it is 0.", "z", "backward"],
      ["Run the numerical check on z: at a kink, the central difference gives 0.5, because one of its two sides is flat. The gradient is still correct.", "z", "backward"],
    ],
  },
  softmax: {
    title: "A softmax window (E3)", words: PARIS, activation: "tanh", build: softmaxWindow, steps: [
      ["Three classes: q = V h + c.", "q", "forward"],
      ["The loss is −log of the gold class’s probability.", "J", "forward"],
      ["At q the gradient is ŷ − y: the predicted probabilities, minus 1 at the gold class. Its entries add up to 0.", "q", "backward"],
      ["Everything below is the window of the first tour; the word vectors learn as well.", "x “Paris”", "backward"],
    ],
  },
  chain: {
    title: "Forward-backward on three words (C3, C4)", words: ["Anna", "visits", "Oslo"], build: threeWords, steps: [
      ["α₁ is u₁. α₂ sums over the labels of the first word.", "α₂", "forward"],
      ["The same step again: α₃ sums over all beginnings, four paths each.", "α₃", "forward"],
      ["log Z sums over all eight paths.", "log Z", "forward"],
      ["The loss is log Z − s(y), with y = 1, 2, 1.", "J", "forward"],
      ["Backpropagation through the sum is forward-backward: the gradient of log Z at α₃ are the marginals of the last word.", "α₃", "backward"],
      ["At u the gradient is p(y_t) − 1 at the gold label (C5): what the model expects, minus what the gold has.", "u “Anna”", "backward"],
      ["A gets the expected number of each transition, minus the number in y.", "A", "backward"],
    ],
  },
  structure: {
    title: "Backpropagation through structure (D3)", words: ["not", "bad", "film"], activation: "tanh", build: structure, steps: [
      ["The first phrase: p₁ = f(W_l (x₁ + x₂)).", "p₁", "forward"],
      ["The second phrase joins p₁ and the third word by the same W_l.", "p₂", "forward"],
      ["The sentence’s label: q = W_sm p₂.", "q", "forward"],
      ["W_l gets a gradient from every phrase: the sum over its successors.", "W_l", "backward"],
      ["Write the same word twice, such as “not not film”: its vector gets the gradient of both occurrences.", "x “not”", "backward"],
    ],
  },
  vanishing: {
    title: "Vanishing gradients: sigmoid versus ReLU", words: [], activation: "sigmoid", build: deep, steps: [
      ["Six layers of two neurons.", "s", "forward"],
      ["Each layer multiplies the gradient by Wᵀ and by f′(z), and the sigmoid’s f′ is at most 1/4. Lines are as thick as the gradient they carry, on one scale: at h5 they are still thick …", "h5", "backward"],
      ["… and at that of the input, five layers below: hardly anything is left.", "x", "backward"],
      ["Choose relu as the activation: where neurons are active, the gradient passes undiminished.", "x", "backward"],
    ],
  },
  slopes: {
    title: "One-sided versus two-sided slopes (B4)", words: PARIS, activation: "tanh", build: windowScore, steps: [
      ["Choose W and run the numerical check. The central difference (J(w + h) − J(w − h)) / 2h agrees to many digits.", "W", "backward"],
      ["The one-sided slope (J(w + h) − J(w)) / h has an error that grows with h: with h = 0.1 the difference can be seen. Set h and run the check again.", "W", "backward"],
    ],
  },
};

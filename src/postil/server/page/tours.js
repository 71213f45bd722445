// The worked examples of the documents, as small graphs with steps that point at their nodes.

import { Graph, matrix, repeating } from "/page/flow.js";

const [D, H] = [2, 3];

function tables(seed) {
  const next = repeating(seed);
  return (rows, columns) => matrix(rows, columns, next);
}

/** Parameter nodes of words: the same word has the same numbers everywhere, and one that occurs twice is one node. */
function vectors(graph, words) {
  const known = new Map();
  return words.map((word) => {
    const seed = [...word.toLowerCase()].reduce((code, letter) => (Math.imul(code, 31) + letter.codePointAt(0)) >>> 0, 7);
    if (!known.has(word)) known.set(word, graph.parameter(`x “${word}”`, tables(seed)(D, 1), "Word vector (A2). Every occurrence adds to its gradient."));
    return known.get(word);
  });
}

/** Where nodes are drawn, on a grid: [name, x, y], with the columns that it spans or "cells" for an entry each. A node
 *  that belongs in two places is drawn twice. */
function drawnAt(graph, places) {
  for (const [name, x, y, size = 1] of places) graph.nodes.find((node) => node.name === name).places.push({ x, y, size });
  return graph;
}

/** A window from left to right, its layers below it. */
const windowAt = (words, left, tag = "") => {
  const middle = left + (words.length - 1) / 2;
  return [...words.map((word, i) => [`x “${word}”`, left + i, 0]), [`x${tag}`, middle, 1, words.length], [`W x${tag}`, middle, 2], [`z${tag}`, middle, 3], [`h${tag}`, middle, 4]];
};

/** The hidden layer over the vectors of a window. */
function window(graph, nodes, activation, tag, parts) {
  const x = graph.apply("concatenate", `x${tag}`, nodes);
  const product = graph.apply("matmul", `W x${tag}`, [parts.W, x]);
  const z = graph.apply("add", `z${tag}`, [product, parts.b]);
  return graph.apply("activation", `h${tag}`, [z], activation);
}

/** A graph with the parameters of a hidden layer, and with those of a score. */
function windowParts(words, hasScore = true) {
  const [graph, table] = [new Graph(), tables(11)];
  const W = graph.parameter("W", table(H, D * words.length), "Weights of the hidden layer.");
  const b = graph.parameter("b", table(H, 1), "Biases: never regularised (B5).");
  return { graph, parts: { W, b }, u: hasScore ? graph.parameter("u", tables(12)(H, 1), "Weights of the score.") : null };
}

function windowScore({ words, activation }) {
  const { graph, parts, u } = windowParts(words);
  graph.apply("dot", "s", [u, window(graph, vectors(graph, words), activation, "", parts)]);
  return drawnAt(graph, [...windowAt(words, 1), ["W", 0, 2], ["b", 0, 3], ["u", 0, 5], ["s", 1 + (words.length - 1) / 2, 5]]);
}

function maxMargin({ words, activation }) {
  const { graph, parts, u } = windowParts(words);
  const wrong = ["the", "of", "was", "and", "not", "or"].find((word) => !words.includes(word)); // in no window yet
  const corrupt = words.map((word, i) => (i === Math.floor(words.length / 2) ? wrong : word));
  const shared = vectors(graph, [...words, ...corrupt]); // a word of both windows is one node
  const scored = (nodes, tag) => graph.apply("dot", `s${tag}`, [u, window(graph, nodes, activation, tag, parts)]);
  const score = scored(shared.slice(0, words.length), "");
  graph.apply("margin", "J", [score, scored(shared.slice(words.length), "_c")]);
  const [n, half] = [words.length, (words.length - 1) / 2];
  return drawnAt(graph, [...windowAt(words, 0), ...windowAt(corrupt, n + 1, "_c"), ["W", n, 2], ["b", n, 3], ["u", n, 5], ["s", half, 5], ["s_c", n + 1 + half, 5], ["J", n, 6]]);
}

function softmaxWindow({ words, activation }) {
  const { graph, parts } = windowParts(words, false);
  const table = tables(13);
  const V = graph.parameter("V", table(3, H), "Weights of the three classes.");
  const c = graph.parameter("c", table(3, 1), "Biases of the classes.");
  const h = window(graph, vectors(graph, words), activation, "", parts);
  const q = graph.apply("add", "q", [graph.apply("matmul", "V h", [V, h]), c]);
  graph.apply("cross-entropy", "J", [q], 1);
  const middle = 1 + (words.length - 1) / 2;
  return drawnAt(graph, [...windowAt(words, 1), ["W", 0, 2], ["b", 0, 3], ["V", 0, 5], ["V h", middle, 5], ["c", 0, 6], ["q", middle, 6], ["J", middle, 7]]);
}

function kink() {
  const graph = new Graph();
  const z = graph.parameter("z", [[1], [-1], [0.4], [1.6]], "Two entries lie exactly on a kink.");
  const u = graph.input("u", [[1], [1], [1], [1]], "Ones, to add the entries up.");
  graph.apply("dot", "s", [u, graph.apply("activation", "h", [z], "hardtanh")]);
  return drawnAt(graph, [["z", 1, 0], ["h", 1, 1], ["u", 0, 2], ["s", 1, 2]]);
}

function threeWords({ words }) {
  const graph = new Graph();
  const table = tables(21);
  const A = graph.parameter("A", table(2, 2), "Transition scores: from the row’s label to the column’s.");
  const u = words.slice(0, 3).map((word) => graph.parameter(`u “${word}”`, table(2, 1), "Scores of the two labels. Their gradient is p(y_t) − 1 at the gold label."));
  const second = graph.apply("CRF step", "α₂", [u[0], A, u[1]]);
  const third = graph.apply("CRF step", "α₃", [second, A, u[2]]);
  const logZ = graph.apply("log-sum-exp", "log Z", [third]);
  const gold = graph.apply("path score", "s(y)", [A, ...u], [0, 1, 0]);
  graph.apply("subtract", "J", [logZ, gold]);
  const above = words.slice(0, 3).map((word, t) => [`u “${word}”`, 2 * t + 2, 0]);
  return drawnAt(graph, [...above, ["A", 0, 2], [above[0][0], 2, 2, "cells"], ["α₂", 4, 2, "cells"], ["α₃", 6, 2, "cells"], ["log Z", 7.5, 2], ["s(y)", 7.5, 0], ["J", 8.7, 1]]);
}

function structure({ words, activation }) {
  const graph = new Graph();
  const table = tables(31);
  const W = graph.parameter("W_l", table(D, D), "The composition: every phrase contributes to its gradient.");
  const V = graph.parameter("W_sm", table(3, D), "The softmax layer.");
  const x = vectors(graph, words.slice(0, 3));
  const phrase = (name, a, b) => graph.apply("activation", name, [graph.apply("matmul", `W_l (…) of ${name}`, [W, graph.apply("add", `sum of ${name}`, [a, b])])], activation);
  const inner = phrase("p₁", x[0], x[1]);
  const top = phrase("p₂", inner, x[2]);
  graph.apply("cross-entropy", "J", [graph.apply("matmul", "q", [V, top])], 0);
  const phraseAt = (name, x, y) => [[`sum of ${name}`, x, y], [`W_l (…) of ${name}`, x, y - 1], [name, x, y - 2]];
  const leaves = words.slice(0, 3).map((word, i) => [`x “${word}”`, i + 1, 8]); // the root is on top, as in a tree
  return drawnAt(graph, [...leaves, ...phraseAt("p₁", 1.5, 7), ...phraseAt("p₂", 2.25, 4), ["W_l", 0, 4.5], ["W_sm", 0, 1], ["q", 2.25, 1], ["J", 2.25, 0]]);
}

function deep({ activation }) {
  const graph = new Graph();
  let h = graph.parameter("x", [[0.5], [-0.3]], "The input.");
  const next = tables(41);
  for (let layer = 1; layer <= 6; layer += 1) {
    const W = graph.parameter(`W${layer}`, next(2, 2).map((row, i) => row.map((item, j) => (i === j ? 1 : 0.5 * item))), `Weights of layer ${layer}.`);
    h = graph.apply("activation", `h${layer}`, [graph.apply("matmul", `z${layer}`, [W, h])], activation);
  }
  graph.apply("dot", "s", [graph.input("ones", [[1], [1]], "Ones."), h]);
  const layers = [1, 2, 3, 4, 5, 6].flatMap((layer) => [[`W${layer}`, layer, 0], [`z${layer}`, layer, 1], [`h${layer}`, layer, 2]]);
  return drawnAt(graph, [["x", 0, 2], ...layers, ["s", 7, 2], ["ones", 7, 1]]);
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

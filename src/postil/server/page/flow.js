// A flow graph in the page (E8): nodes with values, forward in topological order, backward in reverse order; the gradient
// of a node is the sum over its successors. Values are matrices, lists of rows. All state is in the nodes.

import { logSum } from "/page/crf.js";

export const matrix = (rows, columns, fill) => Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (__, j) => fill(i, j)));
export const zeros = (value) => value.map((row) => row.map(() => 0));
const each = (value, change) => value.map((row, i) => row.map((item, j) => change(item, i, j)));
const plus = (a, b) => each(a, (item, i, j) => item + b[i][j]);
const transposed = (value) => value[0].map((_, j) => value.map((row) => row[j]));
const product = (a, b) => a.map((row) => b[0].map((_, j) => row.reduce((sum, item, k) => sum + item * b[k][j], 0)));
const shares = (items) => { const total = logSum(items); return items.map((item) => Math.exp(item - total)); };

const sigmoid = (z) => 1 / (1 + Math.exp(-z));
/** Name -> function, derivative, how they are written. */
export const ACTIVATIONS = {
  tanh: { f: Math.tanh, d: (z) => 1 - Math.tanh(z) ** 2, text: "1 − tanh^2(z)" },
  sigmoid: { f: sigmoid, d: (z) => sigmoid(z) * (1 - sigmoid(z)), text: "σ(z)(1 − σ(z))" },
  hardtanh: { f: (z) => Math.max(-1, Math.min(1, z)), d: (z) => (Math.abs(z) <= 1 ? 1 : 0), text: "1 “where” −1 ≤ z ≤ 1, “else” 0" },
  relu: { f: (z) => Math.max(0, z), d: (z) => (z > 0 ? 1 : 0), text: "1 “where” z > 0, “else” 0" },
  "leaky relu": { f: (z) => (z > 0 ? z : 0.01 * z), d: (z) => (z > 0 ? 1 : 0.01), text: "1 “where” z > 0, “else” 0.01" },
  softsign: { f: (z) => z / (1 + Math.abs(z)), d: (z) => 1 / (1 + Math.abs(z)) ** 2, text: "1 / (1 + |z|)^2" },
};

/** A number of at most four digits after the point; a small one as 1.2e−5. */
export const shown = (x) => {
  if (x === null || !Number.isFinite(x)) return "−∞";
  return (x !== 0 && Math.abs(x) < 0.001 ? x.toExponential(1) : String(Number(x.toFixed(4)))).replaceAll("-", "−");
};
// In a rule: a negative number is in brackets where a sign comes before it.
const closed = (x) => (x < 0 ? `(${shown(x)})` : shown(x));
const times = (a, b) => `${shown(a)} · ${closed(b)}`;
const sum = (items) => items.join(" + ");
const products = (pairs) => sum(pairs.map(([a, b], i) => (i ? `${closed(a)} · ${closed(b)}` : times(a, b))));
const exps = (items) => sum(items.map((x) => `exp(${shown(x)})`));

// Name -> the rule as formulas (math.js), a note and its equations; value, pullback (one gradient per parent); and both
// with the numbers of one entry: `spelt` is the value, `sent` what a parent gets. `detail` is what belongs to one node.
export const OPERATIONS = {
  concatenate: {
    rule: ["x = [x_1; x_2; …]"], note: "Each part gets its own rows of the gradient.", equation: "A4, E3",
    forward: (parents) => parents.flat(),
    backward: (d, _, parents) => { let at = 0; return parents.map((one) => { at += one.length; return d.slice(at - one.length, at); }); },
    spelt: (parents, i) => shown(parents.flat()[i][0]),
    sent: (d, parents, place, i) => shown(d[parents.slice(0, place).flat().length + i][0]),
  },
  matmul: {
    rule: ["y = W x", "∂J/∂W = δ x^⊤", "∂J/∂x = W^⊤ δ"], note: "δ is the gradient of y.", equation: "A3, B3, E5",
    forward: ([W, x]) => product(W, x),
    backward: (d, _, [W, x]) => [product(d, transposed(x)), product(transposed(W), d)],
    spelt: ([W, x], i, j) => products(W[i].map((item, k) => [item, x[k][j]])),
    sent: (d, [W, x], place, i, j) => products(place ? W.map((row, k) => [row[i], d[k][j]]) : d[i].map((item, k) => [item, x[j][k]])),
  },
  add: {
    rule: ["y = a + b"], note: "Both get the gradient of y unchanged.", equation: "B3, D1",
    forward: ([a, b]) => plus(a, b),
    backward: (d) => [d, d],
    spelt: ([a, b], i, j) => `${shown(a[i][j])} + ${closed(b[i][j])}`,
    sent: (d, _, __, i, j) => shown(d[i][j]),
  },
  subtract: {
    rule: ["y = a − b"], note: "a gets the gradient of y, b its negative.", equation: "C3",
    forward: ([a, b]) => each(a, (item, i, j) => item - b[i][j]),
    backward: (d) => [d, each(d, (item) => -item)],
    spelt: ([a, b], i, j) => `${shown(a[i][j])} − ${closed(b[i][j])}`,
    sent: (d, _, place, i, j) => (place ? `− ${closed(d[i][j])}` : shown(d[i][j])),
  },
  activation: {
    rule: (detail) => [`h = ${detail}(z)`, "∂J/∂z = ∂J/∂h ∘ h′(z)", `h′(z) = ${ACTIVATIONS[detail].text}`], note: "Element by element.", equation: "A6, B6, E10",
    forward: ([z], detail) => each(z, ACTIVATIONS[detail].f),
    backward: (d, _, [z], detail) => [each(d, (item, i, j) => item * ACTIVATIONS[detail].d(z[i][j]))],
    spelt: ([z], i, j, detail) => `${detail}(${shown(z[i][j])})`,
    sent: (d, [z], _, i, j, detail) => times(d[i][j], ACTIVATIONS[detail].d(z[i][j])),
  },
  dot: {
    rule: ["s = u^⊤ h", "∂J/∂u = δ h", "∂J/∂h = δ u"], note: "δ is the gradient of s.", equation: "B1, E5",
    forward: ([u, x]) => product(transposed(u), x),
    backward: (d, _, [u, x]) => [each(x, (item) => item * d[0][0]), each(u, (item) => item * d[0][0])],
    spelt: ([u, x]) => products(u.map(([item], k) => [item, x[k][0]])),
    sent: (d, parents, place, i) => times(d[0][0], parents[1 - place][i][0]),
  },
  margin: {
    rule: ["J = max(0, 1 + s_c − s)", "∂J/∂s = −1", "∂J/∂s_c = 1"], note: "Only while J > 0; at J = 0 nothing is learned.", equation: "B2, E4",
    forward: ([score, corrupt]) => [[Math.max(0, 1 + corrupt[0][0] - score[0][0])]],
    backward: (d, value) => (value[0][0] > 0 ? [[[-d[0][0]]], [[d[0][0]]]] : [[[0]], [[0]]]),
    spelt: ([score, corrupt]) => `max(0, 1 + ${closed(corrupt[0][0])} − ${closed(score[0][0])})`,
    sent: (d, [score, corrupt], place) => (1 + corrupt[0][0] - score[0][0] > 0 ? shown(place ? d[0][0] : -d[0][0]) : "0"),
  },
  "cross-entropy": {
    rule: (detail) => [`J = −log ŷ_${detail + 1}`, "ŷ = softmax(q)", "∂J/∂q = ŷ − y"], note: "y is 1 at the gold class, else 0.", equation: "E3, D2, A7",
    forward: ([q], detail) => [[logSum(q.flat()) - q[detail][0]]],
    backward: (d, _, [q], detail) => { const p = shares(q.flat()); return [each(q, (__, i) => d[0][0] * (p[i] - (i === detail ? 1 : 0)))]; },
    spelt: ([q], _, __, detail) => `log(${exps(q.flat())}) − ${closed(q[detail][0])}`,
    sent: (d, [q], _, i, __, detail) => `${shown(shares(q.flat())[i])} − ${i === detail ? 1 : 0}`,
  },
  "CRF step": {
    rule: ["α_t(j) = u_t(j) + log Σ_i exp(α_{t−1}(i) + A(i, j))"], note: "Backward, each beginning gets its share of the sum.", equation: "A8, C3, C4",
    forward: ([alpha, A, u]) => u.map(([score], j) => [score + logSum(alpha.map(([item], i) => item + A[i][j]))]),
    backward: (d, _, [alpha, A]) => {
      const parts = d.map((__, j) => shares(alpha.map(([item], i) => item + A[i][j])));
      return [alpha.map((__, i) => [d.reduce((total, [item], j) => total + item * parts[j][i], 0)]), each(A, (__, i, j) => d[j][0] * parts[j][i]), d];
    },
    spelt: ([alpha, A, u], j) => `${shown(u[j][0])} + log(${exps(alpha.map(([item], i) => item + A[i][j]))})`,
    sent: (d, [alpha, A], place, i, j) => {
      const share = (from, to) => shares(alpha.map(([item], k) => item + A[k][to]))[from];
      return place === 2 ? shown(d[i][0]) : place ? times(d[j][0], share(i, j)) : products(d.map(([item], to) => [item, share(i, to)]));
    },
  },
  "log-sum-exp": {
    rule: ["log Z = log Σ_j exp(α(j))"], note: "Backward: exp(α(j) − log Z), which is a probability.", equation: "A8, C4",
    forward: ([alpha]) => [[logSum(alpha.flat())]],
    backward: (d, _, [alpha]) => { const p = shares(alpha.flat()); return [alpha.map((__, i) => [d[0][0] * p[i]])]; },
    spelt: ([alpha]) => `log(${exps(alpha.flat())})`,
    sent: (d, [alpha], _, i) => `${shown(d[0][0])} · exp(${shown(alpha[i][0])} − ${closed(logSum(alpha.flat()))})`,
  },
  "path score": {
    rule: (detail) => [`s(y) = Σ_t u_t(y_t) + Σ_t A(y_{t−1}, y_t)`, `y = (${detail.map((one) => one + 1).join(", ")})`], note: "Every score on the path gets the gradient.", equation: "A8, C5",
    forward: ([A, ...u], path) => [[u.reduce((total, one, t) => total + one[path[t]][0] + (t ? A[path[t - 1]][path[t]] : 0), 0)]],
    backward: (d, _, [A, ...u], path) => [
      each(A, (__, i, j) => d[0][0] * path.slice(1).filter((label, t) => path[t] === i && label === j).length),
      ...u.map((one, t) => each(one, (__, i) => (i === path[t] ? d[0][0] : 0))),
    ],
    spelt: ([A, ...u], _, __, path) => sum(u.flatMap((one, t) => [...(t ? [A[path[t - 1]][path[t]]] : []), one[path[t]][0]]).map((x, i) => (i ? closed(x) : shown(x)))),
    sent: (d, _, place, i, j, path) => times(d[0][0], place ? Number(path[place - 1] === i) : path.slice(1).filter((label, t) => path[t] === i && label === j).length),
  },
};

export class Graph {
  constructor() { this.nodes = []; }

  #put(node) {
    this.nodes.push({ value: null, gradient: null, contributions: [], places: [], ...node, number: this.nodes.length });
    return this.nodes.at(-1);
  }

  input(name, value, about) { return this.#put({ name, kind: "input", parents: [], leaf: value, about }); }

  parameter(name, value, about) { return this.#put({ name, kind: "parameter", parents: [], leaf: value, about }); }

  apply(operation, name, parents, detail) { return this.#put({ name, kind: "result", operation, parents, detail }); }

  /** Compute nodes up to a number; with `replaced`, {node, value}, everything as if that node had this value. */
  valueOf(node, values, replaced) {
    if (replaced?.node === node) return replaced.value;
    if (!node.operation) return node.leaf;
    return OPERATIONS[node.operation].forward(node.parents.map((one) => values[one.number]), node.detail);
  }

  forward(until = this.nodes.length - 1) {
    for (const node of this.nodes.slice(0, until + 1)) {
      const values = this.nodes.map((one) => one.value);
      node.value = this.valueOf(node, values);
    }
  }

  /** The last node's value as if a node had another one. */
  output(replaced) {
    const values = [];
    for (const node of this.nodes) values.push(this.valueOf(node, values, replaced));
    return values.at(-1)[0][0];
  }

  /** Gradients of all nodes from the last one down to a number; each has the parts that its successors sent. */
  backward(until = 0) {
    for (const node of this.nodes) { node.gradient = null; node.contributions = []; }
    for (const node of [...this.nodes].reverse()) {
      if (node.number < until) return;
      const parts = node.contributions.map((one) => one.gradient);
      node.gradient = node.number === this.nodes.length - 1 ? [[1]] : parts.reduce(plus, zeros(node.value));
      if (!node.operation) continue;
      const sent = OPERATIONS[node.operation].backward(node.gradient, node.value, node.parents.map((one) => one.value), node.detail);
      node.parents.forEach((parent, i) => parent.contributions.push({ from: node.name, sender: node, place: i, gradient: sent[i] }));
    }
  }

  /** Numerical slopes of a node's every entry: central and one-sided. */
  slopes(node, step = 1e-5) {
    const moved = (i, j, by) => each(node.value, (item, a, b) => (a === i && b === j ? item + by : item));
    const base = this.output();
    const at = (i, j, by) => this.output({ node, value: moved(i, j, by) });
    return {
      central: each(node.value, (_, i, j) => (at(i, j, step) - at(i, j, -step)) / (2 * step)),
      forward: each(node.value, (_, i, j) => (at(i, j, step) - base) / step),
    };
  }

  parameters() { return this.nodes.filter((node) => node.kind === "parameter"); }
}

/** One step of an optimiser on all parameters; `memory` is kept between steps. */
export const OPTIMISERS = {
  SGD: (value, gradient, rate) => each(value, (item, i, j) => item - rate * gradient[i][j]),
  AdaGrad: (value, gradient, rate, memory) => {
    memory.squares = plus(memory.squares ?? zeros(value), each(gradient, (item) => item * item));
    return each(value, (item, i, j) => item - (rate * gradient[i][j]) / Math.sqrt(memory.squares[i][j] + 1e-8));
  },
  Adam: (value, gradient, rate, memory) => {
    memory.steps = (memory.steps ?? 0) + 1;
    memory.mean = each(memory.mean ?? zeros(value), (item, i, j) => 0.9 * item + 0.1 * gradient[i][j]);
    memory.square = each(memory.square ?? zeros(value), (item, i, j) => 0.999 * item + 0.001 * gradient[i][j] ** 2);
    const [first, second] = [1 - 0.9 ** memory.steps, 1 - 0.999 ** memory.steps];
    return each(value, (item, i, j) => item - (rate * memory.mean[i][j]) / first / (Math.sqrt(memory.square[i][j] / second) + 1e-8));
  },
};

/** Numbers that repeat, with two digits: they can be typed into a calculator. */
export function repeating(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.round((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296 * 2 - 1) * 100) / 100;
  };
}

// The linear-chain CRF in logarithms, as the equations stand (A8, A9, C3, C4). null in JSON stands for minus infinity.
//
//   α_0(j) = start(j) + u_0(j)            α_t(j) = u_t(j) + log Σ_i exp(α_t-1(i) + A(i, j))
//   β_T-1(i) = end(i)                     β_t(i) = log Σ_j exp(A(i, j) + u_t+1(j) + β_t+1(j))
//   log Z = log Σ_j exp(α_T-1(j) + end(j))            p(y_t = j) = exp(α_t(j) + β_t(j) − log Z)

export const scores = (values) => values.map((value) => (Array.isArray(value) ? scores(value) : value ?? -Infinity));

export function logSum(values) {
  const peak = Math.max(...values);
  if (peak === -Infinity) return -Infinity;
  return peak + Math.log(values.reduce((sum, value) => sum + Math.exp(value - peak), 0));
}

/** α, β, log Z and marginals of {unary (T, L), transitions (L, L), start (L), end (L)}. */
export function forwardBackward({ unary, transitions, start, end }) {
  const T = unary.length;
  const labels = start.map((_, j) => j);
  const alphas = [labels.map((j) => start[j] + unary[0][j])];
  for (let t = 1; t < T; t += 1) {
    alphas.push(labels.map((j) => unary[t][j] + logSum(labels.map((i) => alphas[t - 1][i] + transitions[i][j]))));
  }
  const betas = Array(T);
  betas[T - 1] = [...end];
  for (let t = T - 2; t >= 0; t -= 1) {
    betas[t] = labels.map((i) => logSum(labels.map((j) => transitions[i][j] + unary[t + 1][j] + betas[t + 1][j])));
  }
  const logZ = logSum(labels.map((j) => alphas[T - 1][j] + end[j]));
  const marginals = alphas.map((row, t) => row.map((alpha, j) => Math.exp(alpha + betas[t][j] - logZ)));
  return { alphas, betas, logZ, marginals };
}

/** p(y_t = i, y_t+1 = j) of all pairs. */
export function pairwise(chain, messages, t) {
  return messages.alphas[t].map((alpha, i) => chain.transitions[i].map((step, j) => Math.exp(
    alpha + step + chain.unary[t + 1][j] + messages.betas[t + 1][j] - messages.logZ)));
}

/** The k best paths with their probabilities, best first: Viterbi that keeps k beginnings per cell. */
export function kBest({ unary, transitions, start, end }, k, logZ) {
  const best = (items) => items.filter((one) => one.score > -Infinity).sort((a, b) => b.score - a.score).slice(0, k);
  let cells = start.map((score, j) => best([{ score: score + unary[0][j], before: null, label: j }]));
  for (let t = 1; t < unary.length; t += 1) {
    const previous = cells;
    cells = start.map((_, j) => best(previous.flatMap((items, i) => items.map((one) => ({
      score: one.score + transitions[i][j] + unary[t][j], before: one, label: j,
    })))));
  }
  const whole = best(cells.flatMap((items, j) => items.map((one) => ({ ...one, score: one.score + end[j] }))));
  return whole.map((one) => {
    const labels = [];
    for (let at = one; at !== null; at = at.before) labels.unshift(at.label);
    return { labels, probability: Math.exp(one.score - logZ) };
  });
}

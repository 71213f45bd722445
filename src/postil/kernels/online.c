/* Passes over a corpus that change the weights after every sentence: see integrations/crfsuite/algorithms.py, which
   defines them.

   Sentence b has the tokens sentences[b]:sentences[b + 1]; their attributes and the features of attributes are as in
   sparse.c. Feature K + s is the pair of labels moves[s] = i L + j. `w` (K + S,). */

#include <math.h>
#include <string.h>

#include "forward_backward.h"
#include "kernels.h"
#include "portable.h"

enum { AVERAGED_PERCEPTRON, PASSIVE_AGGRESSIVE, AROW };

typedef struct {
    const int32_t *ids;
    const double *values;
    const int64_t *offsets, *firsts, *moves, *gold, *sentences;
    const int32_t *targets;
    int64_t M, A, K, S, L, longest, most; /* the most tokens and attributes of a sentence */
} corpus;

/* Whether all numbers are in their ranges; then the sizes of the largest sentence are known. */
static int check(corpus *x, int64_t N, int64_t B, const int64_t *order, int64_t n) {
    const int64_t L = x->L, K = x->K;
    if (L < 1 || L > 1 << 20) return WRONG_INDEX;
    if ((x->longest = longest_sentence(x->sentences, B, N)) < 0) return WRONG_OFFSETS;
    if (longest_sentence(x->offsets, N, x->M) < 0 || longest_sentence(x->firsts, x->A, K) < 0) return WRONG_OFFSETS;
    int wrong = 0;
    for (int64_t i = 0; i < x->M; i++) wrong |= x->ids[i] < 0 || x->ids[i] >= x->A;
    for (int64_t k = 0; k < K; k++) wrong |= x->targets[k] < 0 || x->targets[k] >= L;
    for (int64_t s = 0; s < x->S; s++) wrong |= x->moves[s] < 0 || x->moves[s] >= L * L;
    for (int64_t t = 0; t < N; t++) wrong |= x->gold[t] < 0 || x->gold[t] >= L;
    for (int64_t i = 0; i < n; i++) wrong |= order[i] < 0 || order[i] >= B;
    x->most = 0;
    for (int64_t b = 0; b < B; b++) {
        const int64_t size = x->offsets[x->sentences[b + 1]] - x->offsets[x->sentences[b]];
        if (size > x->most) x->most = size;
    }
    return wrong ? WRONG_INDEX : DONE;
}

/* The feature of an attribute and a label, or -1. */
INLINED int64_t feature_of(const corpus *x, int64_t a, int64_t label) {
    for (int64_t k = x->firsts[a]; k < x->firsts[a + 1]; k++)
        if (x->targets[k] == label) return k;
    return -1;
}

typedef struct {
    double *counts;    /* (K + S,) Δ, zeros between sentences */
    int64_t *features; /* those of Δ */
    uint8_t *is_there; /* (K + S,) */
    int64_t size;
} difference;

INLINED void count_feature(difference *d, int64_t k, double value) {
    if (!d->is_there[k]) d->is_there[k] = 1, d->features[d->size++] = k;
    d->counts[k] += value;
}

/* Δ: the features of the gold path less those of the best path. Tokens and steps that both share cancel out. */
INLINED int64_t enter_difference(const corpus *x, const int64_t *step_of, int64_t first, int64_t T, const int64_t *path,
                                 difference *d) {
    const int64_t *gold = x->gold + first, L = x->L;
    int64_t wrong = 0;
    for (int64_t t = 0; t < T; t++) {
        const int is_wrong = path[t] != gold[t];
        wrong += is_wrong;
        for (int64_t i = is_wrong ? x->offsets[first + t] : 0; is_wrong && i < x->offsets[first + t + 1]; i++) {
            const double value = x->values == NULL ? 1.0 : x->values[i];
            const int64_t of_gold = feature_of(x, x->ids[i], gold[t]), of_path = feature_of(x, x->ids[i], path[t]);
            if (of_gold >= 0) count_feature(d, of_gold, value);
            if (of_path >= 0) count_feature(d, of_path, -value);
        }
        if (t == 0 || (path[t - 1] == gold[t - 1] && !is_wrong)) continue;
        const int64_t of_gold = step_of[gold[t - 1] * L + gold[t]], of_path = step_of[path[t - 1] * L + path[t]];
        if (of_gold >= 0) count_feature(d, x->K + of_gold, 1.0);
        if (of_path >= 0) count_feature(d, x->K + of_path, -1.0);
    }
    return wrong;
}

/* Change w, and what the algorithm keeps with it; gives the loss. */
INLINED double update(int how, int type, int is_sensitive, double c, const difference *d, int64_t wrong, int64_t T,
                      double seen, double *w, double *other) {
    double margin = 0.0, square = 0.0, spread = 0.0;
    for (int64_t i = 0; i < d->size; i++) {
        const int64_t k = d->features[i];
        const double count = d->counts[k];
        margin -= w[k] * count, square += count * count;
        if (how == AROW) spread += count * count * other[k];
    }
    double cost = margin + (how == AROW ? (double)wrong : is_sensitive ? sqrt((double)wrong) : 1.0), tau = 1.0;
    if (how == AVERAGED_PERCEPTRON) cost = (double)wrong / (double)T;
    if (how == PASSIVE_AGGRESSIVE) {
        if (square == 0.0) return cost;
        tau = cost / (type == 2 ? square + 0.5 / c : square);
        if (type == 1 && tau > c) tau = c;
    }
    if (how == AROW) tau = cost / (c + spread);
    for (int64_t i = 0; i < d->size; i++) {
        const int64_t k = d->features[i];
        const double count = d->counts[k];
        if (how == AROW) {
            w[k] += tau * other[k] * count;
            other[k] = 1.0 / (1.0 / other[k] + count * count / c);
        } else {
            w[k] += tau * count;
            other[k] += tau * seen * count;
        }
    }
    return cost;
}

/* One pass of a perceptron, the passive-aggressive algorithm or AROW; `c` is AROW's gamma. `other` (K + S,): the sum of
   changes times the number of sentences before them, or the variances. */
int online_pass(const int32_t *ids, const double *values, const int64_t *offsets, int64_t N, int64_t M,
                const int64_t *firsts, const int32_t *targets, int64_t A, int64_t K, const int64_t *moves, int64_t S,
                const int64_t *gold, const int64_t *sentences, int64_t B, const int64_t *order, int64_t n, int64_t L,
                int how, int type, int is_sensitive, double c, int64_t seen, double *w, double *other, double *loss) {
    corpus x = {ids, values, offsets, firsts, moves, gold, sentences, targets, M, A, K, S, L, 0, 0};
    int code = check(&x, N, B, order, n);
    if (code != DONE) return code;
    const int64_t longest = x.longest, places = 2 * x.most + 2 * longest;
    double *unary = calloc((size_t)(longest * L + L * L + L + K + S + 1), sizeof *unary);
    int64_t *path = calloc((size_t)(longest + L * L + places + 1), sizeof *path);
    difference d = {NULL, NULL, calloc((size_t)(K + S + 1), 1), 0};
    *loss = 0.0;
    if (unary == NULL || path == NULL || d.is_there == NULL) code = NO_MEMORY;
    if (code == DONE) {
        double *table = unary + longest * L, *edge = table + L * L, best;
        int64_t *step_of = path + longest;
        d.counts = edge + L, d.features = step_of + L * L;
        for (int64_t i = 0; i < L * L; i++) step_of[i] = -1;
        for (int64_t s = 0; s < S; s++) step_of[moves[s]] = s, table[moves[s]] = w[K + s];
        for (int64_t i = 0; i < n && code == DONE; i++, seen++) {
            const int64_t first = sentences[order[i]], T = sentences[order[i] + 1] - first, ends[2] = {0, T};
            code = attribute_scores(ids, values, offsets + first, T, M, firsts, targets, w, A, K, L, unary);
            if (code == DONE) code = viterbi(unary, 0, ends, T, 1, L, table, edge, edge, path, &best);
            if (code != DONE) break;
            const int64_t wrong = enter_difference(&x, step_of, first, T, path, &d);
            if (wrong > 0) *loss += update(how, type, is_sensitive, c, &d, wrong, T, (double)seen, w, other);
            for (; d.size > 0; d.size--) {
                const int64_t k = d.features[d.size - 1];
                d.counts[k] = 0.0, d.is_there[k] = 0;
                if (k >= K) table[moves[k - K]] = w[k];
            }
        }
    }
    free(unary);
    free(path);
    free(d.is_there);
    return code;
}

/* Learning rates 1 / (penalty t). The weights are state[0] w: the factor shrinks with every sentence; state[1] is the sum
   of losses. Stops before a sentence that needs log space, `done` sentences further, or if the factor vanishes. */
int descent_pass(const int32_t *ids, const double *values, const int64_t *offsets, int64_t N, int64_t M,
                 const int64_t *firsts, const int32_t *targets, int64_t A, int64_t K, const int64_t *moves, int64_t S,
                 const int64_t *gold, const int64_t *sentences, int64_t B, const int64_t *order, int64_t n, int64_t L,
                 double t0, double penalty, double *w, double *state, int64_t *done) {
    corpus x = {ids, values, offsets, firsts, moves, gold, sentences, targets, M, A, K, S, L, 0, 0};
    int code = check(&x, N, B, order, n);
    void *memory;
    Chain c;
    if (code != DONE) return code;
    if (!lay_out(&c, L, x.longest, &memory)) return NO_MEMORY;
    double *unary = calloc((size_t)(x.longest * L + L * L + L + 1), sizeof *unary);
    if (unary == NULL) {
        free(memory);
        return NO_MEMORY;
    }
    double *table = unary + x.longest * L, *edge = table + L * L;
    for (*done = 0; *done < n && code == DONE; ++*done) {
        const int64_t first = sentences[order[*done]], T = sentences[order[*done] + 1] - first;
        const double eta = 1.0 / (penalty * (t0 + (double)*done)), decay = state[0] * (1.0 - eta * penalty);
        const int64_t *labels = gold + first;
        double log_partition = 0.0;
        if (fabs(decay) < 1e-200) {
            state[1] = INFINITY;
            break;
        }
        const double gain = eta / decay;
        for (int64_t s = 0; s < S; s++) table[moves[s]] = decay * w[K + s];
        code = attribute_scores(ids, values, offsets + first, T, M, firsts, targets, w, A, K, L, unary);
        for (int64_t i = 0; i < T * L; i++) unary[i] *= decay;
        enter_chain(&c, table, edge, edge);
        if (code != DONE || (T > 0 && !solve(&c, unary, 0, 0, T, &log_partition))) break;
        state[0] = decay;
        if (T == 0) continue;
        double score = 0.0;
        for (int64_t t = 0; t < T; t++) score += unary[t * L + labels[t]];
        for (int64_t t = 1; t < T; t++) score += table[labels[t - 1] * L + labels[t]];
        state[1] += log_partition - score;
        chain_marginals(&c, T, unary);
        for (int64_t t = 0; t < T; t++) {
            double *restrict row = unary + t * L; /* gold less expected */
            for (int64_t j = 0; j < L; j++) row[j] = (j == labels[t]) - row[j];
            for (int64_t i = offsets[first + t]; i < offsets[first + t + 1]; i++) {
                const double pull = gain * (values == NULL ? 1.0 : values[i]);
                for (int64_t k = firsts[ids[i]]; k < firsts[ids[i] + 1]; k++) w[k] += pull * row[targets[k]];
            }
        }
        add_pairs(c.alpha, c.gamma, T - 1, L, c.P, c.pairs);
        for (int64_t i = 0; i < L; i++)
            for (int64_t j = 0; j < L; j++) table[i * L + j] = -c.pairs[i * c.P + j] * c.E[i * c.P + j];
        for (int64_t t = 1; t < T; t++) table[labels[t - 1] * L + labels[t]] += 1.0;
        for (int64_t s = 0; s < S; s++) w[K + s] += gain * table[moves[s]];
        memset(table, 0, (size_t)(L * L) * sizeof *table);
    }
    free(memory);
    free(unary);
    return code;
}

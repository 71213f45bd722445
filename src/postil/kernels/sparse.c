/* Sparse attributes of tokens and the weights of (attribute, label) pairs.

   Token n has the attributes ids[offsets[n]:offsets[n + 1]], each with a value; a negative id is an attribute nobody
   knows. Attribute a has the features firsts[a]:firsts[a + 1]; feature k weighs label targets[k]. Where `values` is
   NULL every value is 1. Every sum is taken in the order of the arrays, so the bits do not depend on how rows or
   attributes are split between threads. */

#include <string.h>

#include "kernels.h"
#include "portable.h"

/* Whether firsts[a]:firsts[a + 1] are places of features. */
INLINED int are_places(const int64_t *firsts, int64_t a, int64_t K) {
    return 0 <= firsts[a] && firsts[a] <= firsts[a + 1] && firsts[a + 1] <= K;
}

/* out (N, L): Σ over the attributes of a token of value w. An attribute with L features has one for every label. */
CLONED int attribute_scores(const int32_t *ids, const double *values, const int64_t *offsets, int64_t N, int64_t M,
                            const int64_t *firsts, const int32_t *targets, const double *weights, int64_t A, int64_t K,
                            int64_t L, double *out) {
    memset(out, 0, (size_t)(N * L) * sizeof(double));
    for (int64_t n = 0; n < N; n++) {
        double *restrict row = out + n * L;
        if (offsets[n] < 0 || offsets[n + 1] < offsets[n] || offsets[n + 1] > M) return WRONG_OFFSETS;
        for (int64_t i = offsets[n]; i < offsets[n + 1]; i++) {
            const int64_t a = ids[i];
            if (a < 0) continue;
            if (a >= A || !are_places(firsts, a, K)) return WRONG_INDEX;
            const int64_t first = firsts[a], size = firsts[a + 1] - first;
            const double value = values == NULL ? 1.0 : values[i];
            if (size == L) {
                for (int64_t j = 0; j < L; j++) row[j] += value * weights[first + j];
                continue;
            }
            for (int64_t k = first; k < first + size; k++) {
                if (targets[k] < 0 || targets[k] >= L) return WRONG_INDEX;
                row[targets[k]] += value * weights[k];
            }
        }
    }
    return DONE;
}

/* out (K,): what the features of attributes first:end expect, Σ over the attribute's tokens of value p(label). */
CLONED int attribute_counts(const int64_t *starts, const int32_t *tokens, const double *values, int64_t M, int64_t first,
                            int64_t end, const int64_t *firsts, const int32_t *targets, int64_t K,
                            const double *marginals, int64_t N, int64_t L, double *out) {
    for (int64_t a = first; a < end; a++) {
        if (starts[a] < 0 || starts[a + 1] < starts[a] || starts[a + 1] > M) return WRONG_OFFSETS;
        if (!are_places(firsts, a, K)) return WRONG_INDEX;
        const int64_t size = firsts[a + 1] - firsts[a];
        const int32_t *labels = targets + firsts[a];
        double *restrict sums = out + firsts[a];
        for (int64_t k = 0; k < size; k++) {
            if (labels[k] < 0 || labels[k] >= L) return WRONG_INDEX;
            sums[k] = 0.0;
        }
        if (size == 0) continue;
        for (int64_t i = starts[a]; i < starts[a + 1]; i++) {
            if (tokens[i] < 0 || tokens[i] >= N) return WRONG_INDEX;
            const double *restrict row = marginals + (int64_t)tokens[i] * L;
            const double value = values == NULL ? 1.0 : values[i];
            if (size == L) {
                for (int64_t j = 0; j < L; j++) sums[j] += value * row[j];
            } else {
                for (int64_t k = 0; k < size; k++) sums[k] += value * row[labels[k]];
            }
        }
    }
    return DONE;
}

/* The tokens (M,) of every attribute, ascending: those of a stand at starts[a]:starts[a + 1] (A + 1,). Attributes with
   a negative id are left out. `sorted` are the values in that order; NULL with `values`. */
CLONED int attribute_tokens(const int32_t *ids, const double *values, const int64_t *offsets, int64_t N, int64_t M,
                            int64_t A, int64_t *starts, int32_t *tokens, double *sorted) {
    if (offsets[0] != 0 || offsets[N] != M) return WRONG_OFFSETS;
    memset(starts, 0, (size_t)(A + 1) * sizeof(int64_t));
    for (int64_t i = 0; i < M; i++) {
        if (ids[i] >= A) return WRONG_INDEX;
        if (ids[i] >= 0) starts[ids[i] + 1]++;
    }
    for (int64_t a = 0; a < A; a++) starts[a + 1] += starts[a];
    for (int64_t n = 0; n < N; n++) {
        if (offsets[n + 1] < offsets[n] || offsets[n + 1] > M) return WRONG_OFFSETS;
        for (int64_t i = offsets[n]; i < offsets[n + 1]; i++) {
            if (ids[i] < 0) continue;
            const int64_t place = starts[ids[i]]++;
            tokens[place] = (int32_t)n;
            if (values != NULL) sorted[place] = values[i];
        }
    }
    for (int64_t a = A; a > 0; a--) starts[a] = starts[a - 1]; /* every start has moved to the next one */
    starts[0] = 0;
    return DONE;
}

/* The labels that each attribute is seen with, ascending, and Σ value of each pair. There is room for M pairs;
   firsts[A] is how many there are. `row` (L,) and `seen` (L,) are scratch. */
CLONED int observed_features(const int64_t *starts, const int32_t *tokens, const double *values, int64_t M,
                             const int64_t *labels, int64_t N, int64_t A, int64_t L, int64_t *firsts, int32_t *targets,
                             double *totals, double *row, uint8_t *seen) {
    int64_t K = 0;
    if (starts[0] != 0 || starts[A] > M) return WRONG_OFFSETS;
    memset(seen, 0, (size_t)L);
    firsts[0] = 0;
    for (int64_t a = 0; a < A; a++) {
        if (starts[a + 1] < starts[a]) return WRONG_OFFSETS;
        for (int64_t j = 0; j < L; j++) row[j] = 0.0;
        for (int64_t i = starts[a]; i < starts[a + 1]; i++) {
            if (tokens[i] < 0 || tokens[i] >= N || labels[tokens[i]] < 0 || labels[tokens[i]] >= L) return WRONG_INDEX;
            row[labels[tokens[i]]] += values == NULL ? 1.0 : values[i];
            seen[labels[tokens[i]]] = 1;
        }
        for (int64_t j = 0; j < L; j++) {
            if (!seen[j]) continue;
            targets[K] = (int32_t)j, totals[K] = row[j], seen[j] = 0;
            K++;
        }
        firsts[a + 1] = K;
    }
    return DONE;
}

/* Sparse attributes of tokens and the weights of (attribute, label) pairs.

   Token n has the attributes ids[offsets[n]:offsets[n + 1]], each with a value; a negative id is an attribute nobody
   knows. Attribute a has the features firsts[a]:firsts[a + 1]; feature k weighs label targets[k]. Where `values` is
   NULL every value is 1. Every sum runs in the order of the arrays, so the bits do not depend on how rows or
   attributes are split between threads. */

#include <string.h>

#include "kernels.h"
#include "portable.h"

/* Whether firsts[a]:firsts[a + 1] are places of features. */
INLINED int are_places(const int64_t *firsts, int64_t a, int64_t K) {
    return 0 <= firsts[a] && firsts[a] <= firsts[a + 1] && firsts[a + 1] <= K;
}

/* out (N, L): Σ over the attributes of a token of value w. An attribute with L features has one for every label. */
int attribute_scores(const int32_t *ids, const double *values, const int64_t *offsets, int64_t N, int64_t M,
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

typedef double loose __attribute__((vector_size(8 * LANES), __may_alias__, aligned(8))); /* begins at any double */

/* row (P,) = Σ value × row of the table (A, P) over some ids, in `count` vectors that stay in registers. */
INLINED void row_sums(const int32_t *ids, const double *values, int64_t begin, int64_t end, const double *table, int64_t P,
                      int64_t first, int count, double *row) {
    vec sums[6];
    for (int k = 0; k < count; k++) sums[k] = every(0.0);
    for (int64_t i = begin; i < end; i++) {
        if (ids[i] < 0) continue;
        const double value = values == NULL ? 1.0 : values[i];
        const loose *vector = (const loose *)(table + ids[i] * P);
        for (int k = 0; k < count; k++) sums[k] += value * (vec)vector[first + k];
    }
    for (int k = 0; k < count; k++) vectors(row)[first + k] = sums[k];
}

/* The same scores from a table (A, P) with a row of weights for every attribute; P is a multiple of LANES. out (N, L). */
int attribute_sums(const int32_t *ids, const double *values, const int64_t *offsets, int64_t N, int64_t M,
                          const double *table, int64_t A, int64_t P, int64_t L, double *out) {
    void *memory;
    if (P % LANES != 0 || P < L) return WRONG_INDEX;
    double *row = aligned_doubles(P, &memory);
    if (row == NULL) return NO_MEMORY;
    int code = DONE;
    for (int64_t n = 0; n < N && code == DONE; n++) {
        const int64_t begin = offsets[n], end = offsets[n + 1];
        if (begin < 0 || end < begin || end > M) {
            code = WRONG_OFFSETS;
            break;
        }
        for (int64_t i = begin; i < end; i++)
            if (ids[i] >= A) code = WRONG_INDEX;
        if (code != DONE) break;
#define SUMS(first, count) row_sums(ids, values, begin, end, table, P, first, count, row)
        IN_BLOCKS(P / LANES, SUMS)
#undef SUMS
        memcpy(out + n * L, row, (size_t)L * sizeof(double));
    }
    free(memory);
    return code;
}

/* out (K,): what the features of attributes first:end expect, Σ over the attribute's tokens of value p(label). */
int attribute_counts(const int64_t *starts, const int32_t *tokens, const double *values, int64_t M, const int64_t *firsts,
                     const int32_t *targets, int64_t A, int64_t K, const double *marginals, int64_t N, int64_t P, int64_t L,
                     int64_t first, int64_t end, double *out) {
    void *memory;
    if (P % LANES != 0 || P < L || first < 0 || end < first || end > A) return WRONG_INDEX;
    double *row = aligned_doubles(P, &memory);
    if (row == NULL) return NO_MEMORY;
    int code = DONE;
    for (int64_t a = first; a < end; a++) {
        const int64_t begin = starts[a], stop = starts[a + 1];
        if (begin < 0 || stop < begin || stop > M) {
            code = WRONG_OFFSETS;
            break;
        }
        if (!are_places(firsts, a, K)) code = WRONG_INDEX;
        for (int64_t i = begin; i < stop; i++)
            if (tokens[i] < 0 || tokens[i] >= N) code = WRONG_INDEX;
        for (int64_t k = code == DONE ? firsts[a] : 0; code == DONE && k < firsts[a + 1]; k++)
            if (targets[k] < 0 || targets[k] >= L) code = WRONG_INDEX;
        if (code != DONE) break;
        const int64_t size = firsts[a + 1] - firsts[a];
        const int32_t *labels = targets + firsts[a];
        double *restrict sums = out + firsts[a];
        if (size * LANES >= L) { /* whole rows are as quick as some of their columns */
#define SUMS(first, count) row_sums(tokens, values, begin, stop, marginals, P, first, count, row)
            IN_BLOCKS(P / LANES, SUMS)
#undef SUMS
            for (int64_t k = 0; k < size; k++) sums[k] = row[labels[k]];
            continue;
        }
        for (int64_t k = 0; k < size; k++) sums[k] = 0.0;
        for (int64_t i = begin; i < stop; i++)
            for (int64_t k = 0; k < size; k++)
                sums[k] += (values == NULL ? 1.0 : values[i]) * marginals[tokens[i] * P + labels[k]];
    }
    free(memory);
    return code;
}

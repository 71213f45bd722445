/* Recursions on a linear chain of labels, one sentence after the other.

   Rows of labels are padded to P = a multiple of LANES. What stands in the padding is the zero of the recursion (-inf
   where maxima are taken), so it never wins and no loop asks where a row ends. */

#include <math.h>
#include <string.h>

#include "kernels.h"
#include "portable.h"

/* Row t of the unary scores (N, L), as doubles. float32 scores are widened here: the same numbers, without a copy. */
INLINED void unary_row(const void *unary, int single, int64_t t, int64_t L, double *restrict row) {
    if (single) {
        const float *scores = (const float *)unary + t * L;
        for (int64_t j = 0; j < L; j++) row[j] = scores[j];
    } else {
        memcpy(row, (const double *)unary + t * L, (size_t)L * sizeof(double));
    }
}

INLINED void fill(double *row, int64_t size, double value) {
    for (int64_t j = 0; j < size; j++) row[j] = value;
}

/* (L, L) -> (L, P), columns in the padding -inf; transposed on wish. */
INLINED void padded_table(const double *table, int64_t L, int64_t P, int transpose, double *restrict out) {
    fill(out, L * P, -INFINITY);
    for (int64_t i = 0; i < L; i++)
        for (int64_t j = 0; j < L; j++) out[i * P + j] = transpose ? table[j * L + i] : table[i * L + j];
}

/* ------------------------------------------------------------------------------------------------ Viterbi */

/* best_j = max_i (before_i + A_ij) for `width` neighbouring j. The maxima stay in registers while i runs; the width is
   a constant of the caller, so the inner loops become a few vector instructions. */
INLINED void best_block(const double *restrict before, const double *restrict A, int64_t L, int64_t P, int width,
                        double *restrict best) {
    double top[4 * LANES] ALIGNED;
    for (int k = 0; k < width; k++) top[k] = before[0] + A[k];
    for (int64_t i = 1; i < L; i++) {
        const double score = before[i], *restrict row = A + i * P;
        for (int k = 0; k < width; k++) {
            const double sum = score + row[k];
            top[k] = sum > top[k] ? sum : top[k];
        }
    }
    for (int k = 0; k < width; k++) best[k] = top[k];
}

INLINED void best_row(const double *restrict before, const double *restrict A, int64_t L, int64_t P,
                      double *restrict best) {
    int64_t j = 0;
    for (; j + 3 * LANES <= P; j += 3 * LANES) best_block(before, A + j, L, P, 3 * LANES, best + j);
    for (; j < P; j += LANES) best_block(before, A + j, L, P, LANES, best + j);
}

/* The first largest entry of a + b, both (P,). */
INLINED int64_t best_sum(const double *restrict a, const double *restrict b, int64_t P, double *restrict sums,
                         double *score) {
    double top[LANES] ALIGNED;
    for (int k = 0; k < LANES; k++) top[k] = -INFINITY;
    for (int64_t j = 0; j < P; j += LANES)
        for (int k = 0; k < LANES; k++) {
            const double sum = a[j + k] + b[j + k];
            sums[j + k] = sum;
            top[k] = sum > top[k] ? sum : top[k];
        }
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int k = 0; k < half; k++) top[k] = top[k + half] > top[k] ? top[k + half] : top[k];
    *score = top[0];
    int64_t place = 0;
    while (place < P - 1 && sums[place] != top[0]) place++;
    return place;
}

/* δ_1 = start + u_1,  δ_t(j) = u_t(j) + max_i (δ_t-1(i) + A_ij). On the way back y_t = argmax_i (δ_t(i) + A_i,y_t+1) is
   asked for the one best path only, so no pointers are kept. The end is one more label, number L, after the last. */
CLONED int viterbi(const void *unary, int single, const int64_t *offsets, int64_t tokens, int64_t sentences,
                   int64_t labels, const double *transitions, const double *start, const double *end, int64_t *path,
                   double *scores) {
    const int64_t L = labels, P = padded(labels), longest = longest_sentence(offsets, sentences, tokens);
    void *memory;
    if (longest < 0 || L < 1) return WRONG_OFFSETS;
    double *A = aligned_doubles((longest + 2 * L + 3) * P, &memory);
    if (A == NULL) return NO_MEMORY;
    double *departures = A + L * P, *row = departures + (L + 1) * P, *sums = row + P, *delta = sums + P;
    padded_table(transitions, L, P, 0, A);
    padded_table(transitions, L, P, 1, departures);
    fill(departures + L * P, P, -INFINITY);
    memcpy(departures + L * P, end, (size_t)L * sizeof(double));
    fill(row, P, 0.0);
    for (int64_t b = 0; b < sentences; b++) {
        const int64_t first = offsets[b], T = offsets[b + 1] - first;
        scores[b] = 0.0;
        if (T == 0) continue;
        unary_row(unary, single, first, L, row);
        fill(delta, P, -INFINITY);
        for (int64_t j = 0; j < L; j++) delta[j] = row[j] + start[j];
        for (int64_t t = 1; t < T; t++) {
            double *here = delta + t * P;
            unary_row(unary, single, first + t, L, row);
            best_row(here - P, A, L, P, here);
            for (int64_t j = 0; j < P; j++) here[j] = row[j] + here[j];
        }
        int64_t next = best_sum(delta + (T - 1) * P, departures + L * P, P, sums, &scores[b]);
        path[first + T - 1] = next;
        for (int64_t t = T - 2; t >= 0; t--) {
            double ignored;
            path[first + t] = next = best_sum(delta + t * P, departures + next * P, P, sums, &ignored);
        }
    }
    free(memory);
    return DONE;
}

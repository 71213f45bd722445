/* One step of Viterbi's recursion, forward and on the way back: what the kernels that decode share. */

#ifndef POSTIL_VITERBI_BODY_H
#define POSTIL_VITERBI_BODY_H

#include <math.h>
#include <string.h>

#include "kernels.h"
#include "portable.h"

INLINED void fill(double *row, int64_t size, double value) {
    for (int64_t j = 0; j < size; j++) row[j] = value;
}

/* (L, L) -> (L, P); transposed on wish. */
INLINED void padded_table(const double *table, int64_t L, int64_t P, int transpose, double *restrict out) {
    fill(out, L * P, -INFINITY);
    for (int64_t i = 0; i < L; i++)
        for (int64_t j = 0; j < L; j++) out[i * P + j] = transpose ? table[j * L + i] : table[i * L + j];
}

/* here_j += max_i (before_i + A_ij) for some vectors of j. */
INLINED void best_block(const double *before, const double *A, int64_t L, int64_t P, int64_t first, int count,
                        double *here) {
    vec top[6];
    for (int k = 0; k < count; k++) top[k] = before[0] + const_vectors(A)[first + k];
    for (int64_t i = 1; i < L; i++)
        for (int k = 0; k < count; k++) top[k] = larger(before[i] + const_vectors(A + i * P)[first + k], top[k]);
    for (int k = 0; k < count; k++) vectors(here)[first + k] += top[k];
}

INLINED void best_step(const double *before, const double *A, int64_t L, int64_t P, double *here) {
#define BEST(first, count) best_block(before, A, L, P, first, count, here)
    IN_BLOCKS(P / LANES, BEST)
#undef BEST
}

/* The first largest entry of a + b, both (P,), among the first L. If sums are NaN, none is the largest: the result is then the last
   label, never a place in the padding. */
INLINED int64_t best_sum(const double *a, const double *b, int64_t L, int64_t P, double *sums, double *score) {
    vec top = vectors(sums)[0] = const_vectors(a)[0] + const_vectors(b)[0];
    for (int64_t v = 1; v < P / LANES; v++) {
        const vec sum = const_vectors(a)[v] + const_vectors(b)[v];
        vectors(sums)[v] = sum;
        top = larger(sum, top);
    }
    const double best = *score = largest_lane(top);
    int64_t place = 0;
    while (place < L - 1 && sums[place] != best) place++;
    return place;
}

/* Tables (L, P) and (L + 1, P): steps as they are, and transposed, with the end as one more label, after which they come. */
INLINED void enter_steps(const double *transitions, const double *end, int64_t L, int64_t P, double *A, double *departures) {
    padded_table(transitions, L, P, 0, A);
    padded_table(transitions, L, P, 1, departures);
    fill(departures + L * P, P, -INFINITY);
    memcpy(departures + L * P, end, (size_t)L * sizeof(double));
}

/* The best path of T tokens from row `first` of scores (N, L) on, and its score:

       δ_1 = start + u_1,   δ_t(j) = u_t(j) + max_i (δ_t-1(i) + A_ij),

   the bonus (L,) added to u unless it is NULL. On the way back y_t = argmax_i (δ_t(i) + A_i,y_t+1) is asked for the one
   best path only, so no pointers are kept. The end is one more label, number L, after the last. sums (P,), delta (T, P). */
INLINED double best_path(const void *unary, int single, int64_t first, const double *bonus, const double *A,
                         const double *departures, const double *start, int64_t T, int64_t L, int64_t P, double *sums,
                         double *delta, int64_t *path) {
    double score, ignored;
    for (int64_t t = 0; t < T; t++) {
        double *here = delta + t * P;
        unary_row(unary, single, first + t, L, P, -INFINITY, here);
        for (int64_t j = 0; bonus != NULL && j < L; j++) here[j] += bonus[j];
        if (t > 0) best_step(here - P, A, L, P, here);
        else
            for (int64_t j = 0; j < L; j++) here[j] += start[j];
    }
    int64_t y = path[T - 1] = best_sum(delta + (T - 1) * P, departures + L * P, L, P, sums, &score);
    for (int64_t t = T - 2; t >= 0; t--) path[t] = y = best_sum(delta + t * P, departures + y * P, L, P, sums, &ignored);
    return score;
}

#endif

/* The best labellings of a linear chain, one sentence after the other.

   Rows of labels are padded to P = whole vectors with -inf, which never wins: no loop asks where a row ends. */

#include "viterbi.h"

int viterbi(const void *unary, int single, const int64_t *offsets, int64_t tokens, int64_t sentences, int64_t labels,
            const double *transitions, const double *start, const double *end, int64_t *path, double *scores) {
    const int64_t L = labels, P = padded(labels), longest = longest_sentence(offsets, sentences, tokens);
    void *memory;
    if (longest < 0 || L < 1) return WRONG_OFFSETS;
    double *A = aligned_doubles((longest + 2 * L + 2) * P, &memory);
    if (A == NULL) return NO_MEMORY;
    double *departures = A + L * P, *sums = departures + (L + 1) * P, *delta = sums + P;
    enter_steps(transitions, end, L, P, A, departures);
    for (int64_t b = 0; b < sentences; b++) {
        const int64_t first = offsets[b], T = offsets[b + 1] - first;
        scores[b] = 0.0;
        if (T == 0) continue;
        scores[b] = best_path(unary, single, first, NULL, A, departures, start, T, L, P, sums, delta, path + first);
    }
    free(memory);
    return DONE;
}

/* The k best of before(i, r) + step_i into one label, with where they come from: i · k + r. `before` (L, k) holds the
   beginnings of every source best first, so k times take the best offer and let its source offer its next one.
   offers (P,) has -inf in its padding; taken (L,) counts. */
INLINED void ranked_step(const double *before, const double *step, int64_t stride, int64_t L, int64_t P, int64_t k,
                         double *offers, int64_t *taken, double *best, int64_t *sources) {
    for (int64_t i = 0; i < L; i++) offers[i] = before[i * k] + step[i * stride], taken[i] = 0;
    for (int64_t r = 0; r < k; r++) {
        vec top = vectors(offers)[0];
        for (int64_t v = 1; v < P / LANES; v++) top = larger(vectors(offers)[v], top);
        const double score = largest_lane(top);
        int64_t i = 0;
        while (i < L - 1 && offers[i] != score) i++;
        best[r] = score;
        sources[r] = i * k + taken[i];
        taken[i]++;
        offers[i] = taken[i] < k ? before[i * k + taken[i]] + step[i * stride] : -INFINITY;
    }
}

/* δ_t(j, r): the r-th best beginning that ends in j, as in Viterbi. The end is reached like a label. */
int ranked_paths(const void *unary, int single, const int64_t *offsets, int64_t tokens, int64_t sentences,
                        int64_t labels, const double *transitions, const double *start, const double *end, int64_t k,
                        int64_t *paths, double *scores) {
    const int64_t L = labels, P = padded(labels), longest = longest_sentence(offsets, sentences, tokens), table = L * k;
    void *memory;
    if (longest < 0 || L < 1 || k < 1) return WRONG_OFFSETS;
    if (table / k != L || table > INT64_MAX / 64 / (longest + 1)) return NO_MEMORY;
    double *delta = aligned_doubles(padded(2 * table) + 2 * P, &memory); /* two rows of tables take turns */
    int64_t *pointers = malloc(((size_t)(longest + 1) * (size_t)table + (size_t)L + (size_t)k) * sizeof(int64_t));
    if (delta == NULL || pointers == NULL) {
        free(memory);
        free(pointers);
        return NO_MEMORY;
    }
    double *row = delta + padded(2 * table), *offers = row + P;
    int64_t *taken = pointers + (longest + 1) * table, *sources = taken + L;
    fill(offers, P, -INFINITY);
    for (int64_t b = 0; b < sentences; b++) {
        const int64_t first = offsets[b], T = offsets[b + 1] - first;
        double *here = delta, *before = delta + table, *best = scores + b * k;
        fill(best, k, -INFINITY);
        best[0] = 0.0; /* a sentence without tokens has one path, the empty one */
        if (T == 0) continue;
        fill(here, table, -INFINITY);
        for (int64_t j = 0; j < L; j++) here[j * k] = start[j];
        for (int64_t t = 0; t < T; t++) {
            if (t > 0) {
                double *const swapped = here;
                here = before, before = swapped;
                for (int64_t j = 0; j < L; j++)
                    ranked_step(before, transitions + j, L, L, P, k, offers, taken, here + j * k,
                                pointers + t * table + j * k);
            }
            unary_row(unary, single, first + t, L, P, -INFINITY, row);
            for (int64_t j = 0; j < L; j++)
                for (int64_t r = 0; r < k; r++) here[j * k + r] += row[j];
        }
        ranked_step(here, end, 1, L, P, k, offers, taken, best, sources);
        for (int64_t t = T - 1; t >= 0; t--)
            for (int64_t r = 0; r < k; r++) {
                paths[(first + t) * k + r] = sources[r] / k;
                if (t > 0) sources[r] = pointers[t * table + sources[r]];
            }
    }
    free(memory);
    free(pointers);
    return DONE;
}

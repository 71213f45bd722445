/* Expected counts and messages of a linear chain: see forward_backward.h for the recursions. */

#include "forward_backward.h"

/* Sentence b, which may be empty: gives how many tokens it has. */
INLINED int64_t solve_next(Chain *c, const void *unary, int single, const int64_t *offsets, int64_t b,
                           double *log_partition, uint8_t *exact) {
    const int64_t first = offsets[b], T = offsets[b + 1] - first;
    log_partition[b] = 0.0;
    exact[b] = T == 0 || solve(c, unary, single, first, T, &log_partition[b]);
    return T;
}

int chain_moments(const void *unary, int single, const int64_t *offsets, int64_t tokens, int64_t sentences,
                         int64_t labels, const double *transitions, const double *start, const double *end,
                         double *log_partition, double *marginals, double *counts, uint8_t *exact) {
    const int64_t L = labels;
    Chain c;
    void *memory;
    const int code = begin(&c, offsets, tokens, sentences, L, transitions, start, end, &memory);
    if (code != DONE) return code;
    for (int64_t b = 0; b < sentences; b++) {
        const int64_t first = offsets[b], P = c.P, T = solve_next(&c, unary, single, offsets, b, log_partition, exact);
        chain_marginals(&c, T, marginals + first * L);
        if (exact[b]) add_pairs(c.alpha, c.gamma, T - 1, L, P, c.pairs);
    }
    for (int64_t i = 0; i < L; i++)
        for (int64_t j = 0; j < L; j++) counts[i * L + j] = c.pairs[i * c.P + j] * c.E[i * c.P + j];
    free(memory);
    return DONE;
}

int chain_messages(const void *unary, int single, const int64_t *offsets, int64_t tokens, int64_t sentences,
                          int64_t labels, const double *transitions, const double *start, const double *end,
                          double *factors, double *steps, double *prefix, double *scale, double *following,
                          double *arriving, double *weight, double *log_partition, uint8_t *exact) {
    const int64_t L = labels;
    const size_t row = (size_t)L * sizeof(double);
    Chain c;
    void *memory;
    const int code = begin(&c, offsets, tokens, sentences, L, transitions, start, end, &memory);
    if (code != DONE) return code;
    for (int64_t b = 0; b < sentences; b++) {
        const int64_t first = offsets[b], P = c.P, T = solve_next(&c, unary, single, offsets, b, log_partition, exact);
        for (int64_t t = 0; t < T; t++) {
            memcpy(factors + (first + t) * L, c.psi + t * P, row);
            memcpy(prefix + (first + t) * L, c.alpha + t * P, row);
            memcpy(following + (first + t) * L, c.beta + t * P, row);
            memcpy(arriving + (first + t) * L, c.gamma + t * P, row);
            scale[first + t] = c.scale[t], weight[first + t] = c.weight[t];
        }
        if (T > 0) memset(arriving + first * L, 0, row); /* nothing leads to a first token */
    }
    for (int64_t i = 0; i < L; i++) memcpy(steps + i * L, c.E + i * c.P, row);
    free(memory);
    return DONE;
}

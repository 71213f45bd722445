/* Forward-backward on a linear chain with scaled probabilities, one sentence after the other: what its kernels share.

   ψ_t(j) = exp(u_t(j) - peak_t),  E_ij = exp(A_ij - peak)
   forward    α_1 = start ψ_1,   α_t(j) = ψ_t(j) Σ_i α_t-1(i) E_ij
   backward   β_T = end,   β_t(i) = Σ_j E_ij γ_t+1(j),   γ_t = ψ_t β_t
   weight     Z_t = Σ_j α_t(j) β_t(j): the sum over all paths in the units of token t
   marginals  α_t β_t / Z_t;   expected transitions  E_ij Σ_t α_t(i) / Z_t γ_t+1(j)

   Rows are padded with zeros to P = a multiple of LANES. */

#ifndef POSTIL_FORWARD_BACKWARD_BODY_H
#define POSTIL_FORWARD_BACKWARD_BODY_H

#include <math.h>
#include <string.h>

#include "kernels.h"
#include "portable.h"

/* The same as in plain_chain.py, where they are explained. */
#define RESCALED_EVERY 4
#define WIDEST 200.0
#define SMALLEST 1e-120
#define NEGLIGIBLE 1e-25

typedef struct {
    int64_t L, P;
    double *E, *transposed;                              /* (L, P) */
    double *start, *end;                                 /* (P,) */
    double *psi, *alpha, *beta, *gamma;                  /* (T, P) of one sentence */
    double *peak, *scale, *weight;                       /* (T,) */
    double *pairs;                                       /* (L, P) Σ_t α_t(i) / Z_t γ_t+1(j), over all sentences */
    double constant;                                     /* what was taken off the scores of start, end and one step */
    double step_peak;
    double spread;                                       /* how far the scores of start, end or steps are apart */
} Chain;

/* exp(x) of numbers <= 0, -inf included; below -708 it is 0. 2^n times a polynomial of the rest |r| <= log(2) / 2 (its
   twelve coefficients agree with exp at the Chebyshev points), within 2 units of the last place. The sums of the
   polynomial are nested in pairs: a chain of five steps instead of eleven. */
INLINED vec exponential(vec score) {
    const double shift = 0x1.8p52, log2e = 1.4426950408889634, high = 0x1.62e42fefa0000p-1, low = 0x1.cf79abc9e3b3ap-40;
    const vec lowest = every(-708.0), x = choose(score > lowest, score, lowest), shifted = x * log2e + shift;
    const vec n = shifted - shift, r = (x - n * high) - n * low, power = (vec)(((bits)shifted + 1023) << 52);
    const vec r2 = r * r, r4 = r2 * r2;
    const vec a = (1.0 + r) + (0x1.0000000000011p-1 + r * 0x1.555555555555ap-3) * r2;
    const vec b = (0x1.555555554f0bap-5 + r * 0x1.111111110f21ep-7) +
                  (0x1.6c16c1880029fp-10 + r * 0x1.a01a01b1461c5p-13) * r2;
    const vec c = (0x1.a01991a10d9aep-16 + r * 0x1.71ddf56d8deb5p-19) +
                  (0x1.28b4101c77212p-22 + r * 0x1.af632a0f7e2cep-26) * r2;
    return where(score >= lowest, (a + (b + c * r4) * r4) * power);
}

INLINED double row_total(const double *row, int64_t P) {
    vec sum = const_vectors(row)[0];
    for (int64_t v = 1; v < P / LANES; v++) sum += const_vectors(row)[v];
    return sum_of_lanes(sum);
}

INLINED double row_product(const double *a, const double *b, int64_t P) {
    vec sum = const_vectors(a)[0] * const_vectors(b)[0];
    for (int64_t v = 1; v < P / LANES; v++) sum += const_vectors(a)[v] * const_vectors(b)[v];
    return sum_of_lanes(sum);
}

/* out_j = Σ_i row_i table_ij for some vectors of j. */
INLINED void product_block(const double *row, const double *table, int64_t L, int64_t P, int64_t first, int count,
                           double *out) {
    vec sums[6];
    for (int k = 0; k < count; k++) sums[k] = row[0] * const_vectors(table)[first + k];
    for (int64_t i = 1; i < L; i++)
        for (int k = 0; k < count; k++) sums[k] += row[i] * const_vectors(table + i * P)[first + k];
    for (int k = 0; k < count; k++) vectors(out)[first + k] = sums[k];
}

INLINED void product(const double *row, const double *table, int64_t L, int64_t P, double *out) {
#define PRODUCT(first, count) product_block(row, table, L, P, first, count, out)
    IN_BLOCKS(P / LANES, PRODUCT)
#undef PRODUCT
}

/* pairs_j += Σ_t share_t(i) gamma_t+1(j) for one i (where `share` begins) and some vectors of j. */
INLINED void pairs_block(const double *share, const double *gamma, int64_t steps, int64_t P, int64_t first, int count,
                         double *pairs) {
    vec sums[6];
    for (int k = 0; k < count; k++) sums[k] = every(0.0);
    for (int64_t t = 0; t < steps; t++)
        for (int k = 0; k < count; k++) sums[k] += share[t * P] * const_vectors(gamma + (t + 1) * P)[first + k];
    for (int k = 0; k < count; k++) vectors(pairs)[first + k] += sums[k];
}

INLINED void add_pairs(const double *share, const double *gamma, int64_t steps, int64_t L, int64_t P, double *pairs) {
    for (int64_t i = 0; i < L; i++) {
#define PAIRS(first, count) pairs_block(share + i, gamma, steps, P, first, count, pairs + i * P)
        IN_BLOCKS(P / LANES, PAIRS)
#undef PAIRS
    }
}

INLINED double exp_table(const double *scores, int64_t rows, int64_t L, int64_t P, double *restrict out,
                         double *spread) {
    double top = -INFINITY, lowest = INFINITY;
    for (int64_t i = 0; i < rows * L; i++) {
        if (scores[i] > top) top = scores[i];
        if (scores[i] > -INFINITY && scores[i] < lowest) lowest = scores[i];
    }
    if (top - lowest > *spread) *spread = top - lowest;
    const double peak = top > -INFINITY ? top : 0.0;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < P; j++) out[i * P + j] = j < L ? scores[i * L + j] - peak : -INFINITY;
        for (int64_t v = 0; v < P / LANES; v++) vectors(out + i * P)[v] = exponential(vectors(out + i * P)[v]);
    }
    return peak;
}

/* One block of memory, cut into the tables of the chain and the rows of the longest sentence. */
INLINED int lay_out(Chain *c, int64_t L, int64_t longest, void **memory) {
    const int64_t P = padded(L), T = longest > 0 ? longest : 1, table = L * P, rows = T * P, column = padded(T);
    double *next = aligned_doubles(3 * table + 2 * P + 4 * rows + 3 * column, memory);
    if (next == NULL) return 0;
    c->L = L, c->P = P;
    c->E = next, c->transposed = next + table, c->pairs = next + 2 * table, next += 3 * table;
    c->start = next, c->end = next + P, next += 2 * P;
    c->psi = next, c->alpha = next + rows, c->beta = next + 2 * rows, c->gamma = next + 3 * rows, next += 4 * rows;
    c->peak = next, c->scale = next + column, c->weight = next + 2 * column;
    return 1;
}

INLINED void enter_chain(Chain *c, const double *transitions, const double *start, const double *end) {
    c->spread = 0.0;
    c->step_peak = exp_table(transitions, c->L, c->L, c->P, c->E, &c->spread);
    c->constant = exp_table(start, 1, c->L, c->P, c->start, &c->spread);
    c->constant += exp_table(end, 1, c->L, c->P, c->end, &c->spread);
    for (int64_t j = 0; j < c->L; j++)
        for (int64_t i = 0; i < c->P; i++) c->transposed[j * c->P + i] = i < c->L ? c->E[i * c->P + j] : 0.0;
    for (int64_t i = 0; i < c->L * c->P; i++) c->pairs[i] = 0.0;
}

/* ψ and the peaks; gives how far the scores of some token are apart. */
INLINED double enter_sentence(Chain *c, const void *unary, int single, int64_t first, int64_t T) {
    const int64_t P = c->P, count = c->P / LANES;
    vec lowest = every(0.0);
    for (int64_t t = 0; t < T; t++) {
        double *row = c->psi + t * P;
        unary_row(unary, single, first + t, c->L, P, -INFINITY, row);
        vec top = vectors(row)[0];
        for (int64_t v = 1; v < count; v++) top = choose(vectors(row)[v] > top, vectors(row)[v], top);
        const double highest = largest_lane(top), peak = c->peak[t] = highest > -INFINITY ? highest : 0.0;
        for (int64_t v = 0; v < count; v++) {
            const vec x = vectors(row)[v] - peak;
            lowest = choose((x < lowest) & (x > every(-INFINITY)), x, lowest);
            vectors(row)[v] = exponential(x);
        }
    }
    return -smallest_lane(lowest);
}

/* One message: what arrives times ψ, now and then divided by its total; gives what it was divided by. */
INLINED double leave(const double *arriving, const double *psi, int64_t P, int rescale, double *leaving) {
    for (int64_t v = 0; v < P / LANES; v++) vectors(leaving)[v] = const_vectors(arriving)[v] * const_vectors(psi)[v];
    if (!rescale) return 1.0;
    const double total = row_total(leaving, P), share = 1.0 / total;
    for (int64_t v = 0; v < P / LANES; v++) vectors(leaving)[v] *= share;
    return total;
}

/* Both sweeps side by side, one from each end: two recursions that do not wait for each other. */
INLINED void sweep(Chain *c, int64_t T) {
    const int64_t P = c->P;
    for (int64_t t = 0; t < T; t++) {
        const int64_t s = T - 1 - t;
        const int rescale = t % RESCALED_EVERY == 0;
        double *alpha = c->alpha + t * P, *beta = c->beta + s * P;
        if (t == 0) {
            memcpy(alpha, c->start, (size_t)P * sizeof(double));
            memcpy(beta, c->end, (size_t)P * sizeof(double));
        } else {
            product(alpha - P, c->E, c->L, P, alpha);
            product(c->gamma + (s + 1) * P, c->transposed, c->L, P, beta);
        }
        c->scale[t] = leave(alpha, c->psi + t * P, P, rescale, alpha);
        leave(beta, c->psi + s * P, P, rescale, c->gamma + s * P);
    }
}

/* Is there a message so small that one behind it may have vanished, or a token without a possible path? */
INLINED int has_lost(const Chain *c, int64_t T) {
    const vec *alpha = const_vectors(c->alpha), *gamma = const_vectors(c->gamma);
    const vec zero = every(0.0);
    vec low = every(1.0);
    int lost = 0;
    for (int64_t v = 0; v < T * c->P / LANES; v++) {
        low = choose((alpha[v] < low) & (alpha[v] > zero), alpha[v], low); /* 0: no message at all */
        low = choose((gamma[v] < low) & (gamma[v] > zero), gamma[v], low);
    }
    for (int64_t t = 0; t < T; t++) lost |= !(c->weight[t] >= SMALLEST * SMALLEST);
    return lost | (smallest_lane(low) < SMALLEST);
}

/* Solve one sentence of T > 0 tokens; gives whether nothing can have been lost. */
INLINED int solve(Chain *c, const void *unary, int single, int64_t first, int64_t T, double *log_partition) {
    const int wide = enter_sentence(c, unary, single, first, T) + c->spread > WIDEST;
    sweep(c, T);
    for (int64_t t = 0; t < T; t++) c->weight[t] = row_product(c->alpha + t * c->P, c->beta + t * c->P, c->P);
    double sum = 0.0;
    for (int64_t t = 0; t < T; t++) {
        if (t % RESCALED_EVERY == 0) sum += log(c->scale[t]);
        sum += c->peak[t];
    }
    *log_partition = sum + log(c->weight[T - 1]) + c->constant + (double)(T - 1) * c->step_peak;
    return !(wide | has_lost(c, T));
}

/* The marginals (T, L) of a sentence that is solved; α becomes α / Z_t, as `add_pairs` expects it. */
INLINED void chain_marginals(Chain *c, int64_t T, double *marginals) {
    for (int64_t t = 0; t < T; t++) {
        const double share = 1.0 / c->weight[t];
        double *alpha = c->alpha + t * c->P, *beta = c->beta + t * c->P;
        for (int64_t v = 0; v < c->P / LANES; v++) {
            vectors(alpha)[v] *= share;
            const vec p = vectors(beta)[v] * vectors(alpha)[v];
            vectors(beta)[v] = where(p >= every(NEGLIGIBLE), p);
        }
        memcpy(marginals + t * c->L, beta, (size_t)c->L * sizeof(double));
    }
}

/* Check the batch, make room for its longest sentence, enter the chain; *memory is to be freed where all went well. */
INLINED int begin(Chain *c, const int64_t *offsets, int64_t tokens, int64_t sentences, int64_t labels,
                  const double *transitions, const double *start, const double *end, void **memory) {
    const int64_t longest = longest_sentence(offsets, sentences, tokens);
    if (longest < 0 || labels < 1) return WRONG_OFFSETS;
    if (!lay_out(c, labels, longest, memory)) return NO_MEMORY;
    enter_chain(c, transitions, start, end);
    return DONE;
}

#endif

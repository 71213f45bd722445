/* Windows over sentences, one token after the other: sums of rows that belong to words, normalised rows side by side.

   Sums run from the first position of the window to the last, element by element, so the compiler may use vectors
   without changing a bit. Only means and variances are summed in another order than NumPy does. */

#include <math.h>
#include <string.h>

#include "shared.h"

#define AHEAD 4 /* tokens by which rows are asked for before they are needed: they lie anywhere in memory */

/* One token: `terms` points to the row of each position. The usual sizes have all positions in one expression, which
   stays in registers: twice as fast as one position after the other. */
INLINED void add_three(const float *const *terms, int64_t H, int activation, int add, float *restrict out) {
    const float *restrict a = terms[0], *restrict b = terms[1], *restrict c = terms[2];
    for (int64_t h = 0; h < H; h++) out[h] = activated((add ? out[h] + a[h] : a[h]) + b[h] + c[h], activation);
}

INLINED void add_five(const float *const *terms, int64_t H, int activation, int add, float *restrict out) {
    const float *restrict a = terms[0], *restrict b = terms[1], *restrict c = terms[2], *restrict d = terms[3];
    const float *restrict e = terms[4];
    for (int64_t h = 0; h < H; h++)
        out[h] = activated((add ? out[h] + a[h] : a[h]) + b[h] + c[h] + d[h] + e[h], activation);
}

INLINED void add_any(const float *const *terms, int64_t size, int64_t H, int activation, int add, float *restrict out) {
    for (int64_t h = 0; h < H; h++) out[h] = add ? out[h] + terms[0][h] : terms[0][h];
    for (int64_t k = 1; k < size; k++) {
        const float *restrict term = terms[k];
        for (int64_t h = 0; h < H; h++) out[h] += term[h];
    }
    for (int64_t h = 0; h < H; h++) out[h] = activated(out[h], activation);
}

/* The activation is a constant of each call below, so that no loop asks for it. */
INLINED void sum_sentences(const float *rows, int64_t size, int64_t H, const int64_t *ids, const int64_t *offsets,
                           int64_t sentences, int activation, int add, const float **terms, float *out) {
    const int64_t half = size / 2, width = size * H, tokens = offsets[sentences];
    for (int64_t b = 0; b < sentences; b++) {
        const int64_t first = offsets[b], end = offsets[b + 1];
        for (int64_t t = first; t < end; t++) {
            if (t + half + AHEAD < tokens) {
                const float *soon = rows + ids[t + half + AHEAD] * width;
                for (int64_t i = 0; i < width; i += 16) __builtin_prefetch(soon + i, 0, 3);
            }
            for (int64_t k = 0; k < size; k++) {
                const int64_t place = t + k - half;
                terms[k] = rows + (place >= first && place < end ? ids[place] : 0) * width + k * H;
            }
            if (size == 3)
                add_three(terms, H, activation, add, out + t * H);
            else if (size == 5)
                add_five(terms, H, activation, add, out + t * H);
            else
                add_any(terms, size, H, activation, add, out + t * H);
        }
    }
}

/* Whether the batch is sound: offsets of sentences, and rows of a table of `count`. */
INLINED int check_windows(const int64_t *ids, const int64_t *offsets, int64_t tokens, int64_t sentences, int64_t size,
                          int64_t count) {
    if (longest_sentence(offsets, sentences, tokens) < 0) return WRONG_OFFSETS;
    if (size < 1 || count < 1) return WRONG_INDEX;
    for (int64_t t = 0; t < tokens; t++)
        if (ids[t] < 0 || ids[t] >= count) return WRONG_INDEX;
    return DONE;
}

int sum_windows(const float *rows, int64_t count, int64_t size, int64_t H, const int64_t *ids,
                       const int64_t *offsets, int64_t tokens, int64_t sentences, int activation, int add, float *out) {
    const int code = check_windows(ids, offsets, tokens, sentences, size, count);
    if (code != DONE) return code;
    const float **terms = malloc((size_t)size * sizeof *terms);
    if (terms == NULL) return NO_MEMORY;
    if (activation == RELU)
        sum_sentences(rows, size, H, ids, offsets, sentences, RELU, add, terms, out);
    else if (activation == HARDTANH)
        sum_sentences(rows, size, H, ids, offsets, sentences, HARDTANH, add, terms, out);
    else
        sum_sentences(rows, size, H, ids, offsets, sentences, IDENTITY, add, terms, out);
    free(terms);
    return DONE;
}

/* The gradient of sum_windows without its activation: every window gives its dY to each of its rows. */
int spread_windows(const float *dY, int64_t size, int64_t H, const int64_t *ids, const int64_t *offsets,
                          int64_t tokens, int64_t sentences, int64_t count, float *out) {
    const int64_t half = size / 2, width = size * H;
    const int code = check_windows(ids, offsets, tokens, sentences, size, count);
    if (code != DONE) return code;
    memset(out, 0, (size_t)(count * width) * sizeof *out);
    for (int64_t b = 0; b < sentences; b++) {
        const int64_t first = offsets[b], end = offsets[b + 1];
        for (int64_t t = first; t < end; t++) {
            const float *restrict given = dY + t * H;
            for (int64_t k = 0; k < size; k++) {
                const int64_t place = t + k - half;
                float *restrict row = out + (place >= first && place < end ? ids[place] : 0) * width + k * H;
                for (int64_t h = 0; h < H; h++) row[h] += given[h];
            }
        }
    }
    return DONE;
}

/* Floats of one register, and registers of sums for a row and a block of columns. */
#if defined(__AVX512F__)
#define FLOATS 16
#define ABREAST 4
#elif defined(__AVX__)
#define FLOATS 8
#define ABREAST 2
#else
#define FLOATS 4
#define ABREAST 2
#endif
#define PANEL 8192 /* floats */
typedef float floats __attribute__((vector_size(4 * FLOATS), aligned(4), __may_alias__));

/* `count` rows at `across` vectors of columns: both are constants of the caller, so the sums stay in registers while d
   runs. Rows of W are `stride` apart. */
INLINED void rows_block(const float *X, const float *W, int64_t stride, const float *bias, int64_t D, int64_t M,
                           int count, int across, float *out) {
    floats sums[8][ABREAST];
    for (int r = 0; r < count; r++)
        for (int v = 0; v < across; v++) sums[r][v] = (floats){0};
    for (int64_t d = 0; d < D; d++) {
        const floats *row = (const floats *)(W + d * stride);
        for (int r = 0; r < count; r++) {
            const float x = X[r * D + d]; /* in every lane */
            for (int v = 0; v < across; v++) sums[r][v] += x * row[v];
        }
    }
    for (int r = 0; r < count; r++)
        for (int v = 0; v < across; v++) ((floats *)(out + r * M))[v] = sums[r][v] + ((const floats *)bias)[v];
}

/* Every element is summed over d from the first to the last: its bits do not depend on the other rows and columns. */
int multiply_rows(const float *X, const float *W, const float *bias, int64_t U, int64_t D, int64_t M, float *out) {
    float panel[PANEL]; /* columns of W side by side: in a wide W they lie so far apart that they push each other out */
    int64_t m = 0;
    for (; m + ABREAST * FLOATS <= M; m += ABREAST * FLOATS) {
        const int packs = U > 4 && M > 4 * ABREAST * FLOATS && D * ABREAST * FLOATS <= PANEL;
        const float *columns = packs ? panel : W + m;
        const int64_t stride = packs ? ABREAST * FLOATS : M;
        int64_t u = 0;
        for (int64_t d = 0; packs && d < D; d++) memcpy(panel + d * stride, W + d * M + m, ABREAST * FLOATS * sizeof *panel);
        for (; u + 4 <= U; u += 4) rows_block(X + u * D, columns, stride, bias + m, D, M, 4, ABREAST, out + u * M + m);
        for (; u < U; u++) rows_block(X + u * D, columns, stride, bias + m, D, M, 1, ABREAST, out + u * M + m);
    }
    for (; m + FLOATS <= M; m += FLOATS) {
        int64_t u = 0;
        for (; u + 8 <= U; u += 8) rows_block(X + u * D, W + m, M, bias + m, D, M, 8, 1, out + u * M + m);
        for (; u < U; u++) rows_block(X + u * D, W + m, M, bias + m, D, M, 1, 1, out + u * M + m);
    }
    for (; m < M; m++)
        for (int64_t u = 0; u < U; u++) {
            float sum = 0.0f;
            for (int64_t d = 0; d < D; d++) sum += X[u * D + d] * W[d * M + m];
            out[u * M + m] = sum + bias[m];
        }
    return DONE;
}

#define SUMS 16 /* partial sums: one register of floats */

INLINED float total(const float *sums) {
    float sum = 0.0f;
    for (int i = 0; i < SUMS; i++) sum += sums[i];
    return sum;
}

INLINED float mean(const float *restrict x, int64_t D) {
    float sums[SUMS] = {0};
    int64_t d = 0;
    for (; d + SUMS <= D; d += SUMS)
        for (int i = 0; i < SUMS; i++) sums[i] += x[d + i];
    for (; d < D; d++) sums[0] += x[d];
    return total(sums) / (float)D;
}

INLINED float variance(const float *restrict x, float middle, int64_t D) {
    float sums[SUMS] = {0};
    int64_t d = 0;
    for (; d + SUMS <= D; d += SUMS)
        for (int i = 0; i < SUMS; i++) sums[i] += (x[d + i] - middle) * (x[d + i] - middle);
    for (; d < D; d++) sums[0] += (x[d] - middle) * (x[d] - middle);
    return total(sums) / (float)D;
}

/* out may be X itself where the window is 1 wide. */
int normalise_windows(const float *X, const float *gain, const float *bias, const float *padding,
                             const int64_t *offsets, int64_t tokens, int64_t sentences, int64_t D, int64_t size,
                             int64_t dilation, float epsilon, float *out) {
    const int64_t half = size / 2, width = size * D;
    if (longest_sentence(offsets, sentences, tokens) < 0) return WRONG_OFFSETS;
    for (int64_t b = 0; b < sentences; b++) {
        const int64_t first = offsets[b], end = offsets[b + 1];
        for (int64_t t = first; t < end; t++) {
            const float *x = X + t * D, middle = mean(x, D), scale = 1.0f / sqrtf(variance(x, middle, D) + epsilon);
            float *own = out + t * width + half * D;
            for (int64_t d = 0; d < D; d++) own[d] = (x[d] - middle) * scale * gain[d] + bias[d];
            for (int64_t k = 0; k < size; k++) {
                const int64_t place = t + (k - half) * dilation, from = t - (k - half) * dilation; /* whose window has t at k */
                if (place < first || place >= end) memcpy(out + t * width + k * D, padding, (size_t)D * sizeof *out);
                if (k != half && from >= first && from < end)
                    memcpy(out + from * width + k * D, own, (size_t)D * sizeof *out);
            }
        }
    }
    return DONE;
}

INLINED void add_rows(const float *Y, const float *bias, int64_t N, int64_t H, int activation, int add, float *out) {
    for (int64_t n = 0; n < N; n++) {
        const float *y = Y + n * H;
        float *row = out + n * H;
        for (int64_t h = 0; h < H; h++) {
            const float z = activated(y[h] + bias[h], activation);
            row[h] = add ? row[h] + z : z;
        }
    }
}

/* out may be Y itself where nothing is added to it. */
int add_bias(const float *Y, const float *bias, int64_t N, int64_t H, int activation, int add, float *out) {
    if (activation == RELU)
        add ? add_rows(Y, bias, N, H, RELU, 1, out) : add_rows(Y, bias, N, H, RELU, 0, out);
    else if (activation == HARDTANH)
        add ? add_rows(Y, bias, N, H, HARDTANH, 1, out) : add_rows(Y, bias, N, H, HARDTANH, 0, out);
    else
        add ? add_rows(Y, bias, N, H, IDENTITY, 1, out) : add_rows(Y, bias, N, H, IDENTITY, 0, out);
    return DONE;
}

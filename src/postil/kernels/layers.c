/* Training: windows, layer normalisation, sums of sparse rows and the optimisers' steps on them, for float and double. */

#include <math.h>
#include <string.h>

#include "flags.h"
#include "kernels.h"
#include "portable.h"

/* 32 random bits for element i, which depend on i and the key alone: vectors of them are made at once. A product, two
   rounds of shifting and multiplying, the second half of the key in between. */
INLINED uint32_t random_bits(uint64_t key, uint32_t i) {
    uint32_t x = i * UINT32_C(0x9E3779B9) + (uint32_t)key;
    x = (x ^ x >> 16) * UINT32_C(0x7FEB352D);
    x = (x ^ x >> 15) + (uint32_t)(key >> 32);
    x = (x ^ x >> 16) * UINT32_C(0x846CA68B);
    x = (x ^ x >> 15) * UINT32_C(0x2C1B3C6D);
    return x ^ x >> 16;
}

INLINED float root_single(float x) { return sqrtf(x); }
INLINED double root_double(double x) { return sqrt(x); }

#define BODY "layers.inc.h"
#include "both_types.h"

int windows(const void *X, int single, const void *padding, const int64_t *offsets, int64_t tokens,
                   int64_t sentences, int64_t columns, int64_t size, int64_t dilation, void *Y) {
    if (longest_sentence(offsets, sentences, tokens) < 0 || size < 1 || dilation < 1) return WRONG_OFFSETS;
    return BY_TYPE(windows, X, padding, offsets, sentences, columns, size, dilation, Y);
}

int first_maxima(const void *X, int single, const int64_t *offsets, int64_t tokens, int64_t sentences,
                        int64_t columns, void *Y, int64_t *winners) {
    if (longest_sentence(offsets, sentences, tokens) < 0) return WRONG_OFFSETS;
    for (int64_t b = 0; b < sentences; b++)
        if (offsets[b] == offsets[b + 1]) return WRONG_INDEX; /* it has no first row */
    return single ? first_maxima_single(X, offsets, sentences, columns, Y, winners)
                  : first_maxima_double(X, offsets, sentences, columns, Y, winners);
}

int windows_back(const void *dY, int single, const int64_t *offsets, int64_t tokens, int64_t sentences,
                        int64_t columns, int64_t size, int64_t dilation, void *dX, void *dpadding) {
    if (longest_sentence(offsets, sentences, tokens) < 0 || size < 1 || dilation < 1) return WRONG_OFFSETS;
    return BY_TYPE(windows_back, dY, offsets, sentences, columns, size, dilation, dX, dpadding);
}

int normalise_rows(const void *X, int single, const void *gain, const void *bias, double epsilon, int64_t rows,
                           int64_t columns, void *Y, void *Z, void *deviation) {
    return BY_TYPE(normalise, X, gain, bias, epsilon, rows, columns, Y, Z, deviation);
}

int normalise_rows_back(const void *dY, int single, const void *Z, const void *deviation, const void *gain,
                                int64_t rows, int64_t columns, void *dX, void *dgain, void *dbias) {
    return BY_TYPE(normalise_back, dY, Z, deviation, gain, rows, columns, dX, dgain, dbias);
}

int activate(const void *Z, int single, const void *bias, int activation, uint64_t key, uint32_t dropped,
                    int64_t rows, int64_t columns, void *out, void *slopes) {
    return BY_TYPE(activate, Z, bias, key, dropped, rows, columns, activation, out, slopes);
}

double sum_of_squares(const void *x, int single, int64_t n) {
    return single ? squares_single(x, n) : squares_double(x, n);
}

/* Positions of `ids` in rising order of the id, equal ids in the order of their positions: digits of 11 bits, the lowest
   first. `order` and `spare` have room for n. Gives the array that holds the answer. */
INLINED int64_t *sorted_positions(const int64_t *ids, int64_t n, int64_t largest, int64_t *order, int64_t *spare) {
    int64_t places[2048];
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int shift = 0; shift < 63 && largest >> shift > 0; shift += 11) {
        memset(places, 0, sizeof places);
        for (int64_t i = 0; i < n; i++) places[ids[i] >> shift & 2047]++;
        for (int64_t digit = 0, sum = 0; digit < 2048; digit++) {
            const int64_t count = places[digit];
            places[digit] = sum;
            sum += count;
        }
        for (int64_t i = 0; i < n; i++) spare[places[ids[order[i]] >> shift & 2047]++] = order[i];
        int64_t *const swapped = order;
        order = spare, spare = swapped;
    }
    return order;
}

int sums_of_occurrences(const int64_t *ids, int64_t occurrences, const void *values, int single, int64_t columns,
                               int64_t *rows, void *sums, int64_t *found) {
    int64_t largest = 0, R = 0;
    for (int64_t i = 0; i < occurrences; i++) {
        if (ids[i] < 0) return WRONG_INDEX;
        if (ids[i] > largest) largest = ids[i];
    }
    int64_t *memory = malloc((size_t)(3 * occurrences + 1) * sizeof(int64_t));
    if (memory == NULL) return NO_MEMORY;
    int64_t *starts = memory + 2 * occurrences;
    const int64_t *order = sorted_positions(ids, occurrences, largest, memory, memory + occurrences);
    for (int64_t i = 0; i < occurrences; i++)
        if (i == 0 || ids[order[i]] != ids[order[i - 1]]) starts[R] = i, rows[R++] = ids[order[i]];
    starts[R] = occurrences;
    const int code = BY_TYPE(sum_rows, values, order, starts, R, columns, sums);
    *found = R;
    free(memory);
    return code;
}

INLINED int are_inside(const int64_t *rows, int64_t count, int64_t table) {
    for (int64_t r = 0; rows != NULL && r < count; r++)
        if (rows[r] < 0 || rows[r] >= table) return 0;
    return 1;
}

int adam_step(void *value, int single, void *mean, void *square, int64_t *touches, const int64_t *rows,
                     const void *g, int64_t count, int64_t table, int64_t columns, double rate, double beta1,
                     double beta2, double epsilon, double scale, double *total, int64_t *settled, int64_t steps) {
    if (!are_inside(rows, count, table)) return WRONG_INDEX;
    return BY_TYPE(adam, value, mean, square, touches, rows, g, count, columns, rate, beta1, beta2, epsilon, scale, total,
                   settled, steps);
}

int adagrad_step(void *value, int single, void *square, const int64_t *rows, const void *g, int64_t count,
                        int64_t table, int64_t columns, double rate, double epsilon) {
    if (!are_inside(rows, count, table)) return WRONG_INDEX;
    return BY_TYPE(adagrad, value, square, rows, g, count, columns, rate, epsilon);
}

int settle_rows(double *total, int64_t *settled, const void *value, int single, const int64_t *rows,
                       int64_t count, int64_t table, int64_t columns, int64_t steps) {
    if (!are_inside(rows, count, table)) return WRONG_INDEX;
    return BY_TYPE(settle, total, settled, value, rows, count, columns, steps);
}

/* Eight floats that are worked on at once, for the kernels of pretraining: rows of tables are padded to whole numbers of
   them. Every sum is added in an order that depends on the sizes alone, so bits repeat on one machine. */

#ifndef POSTIL_LANES_H
#define POSTIL_LANES_H

#include <stdint.h>
#include <string.h>

#include "portable.h"

#define WIDE 8
typedef float lanes __attribute__((vector_size(4 * WIDE), aligned(4), __may_alias__));
typedef int32_t whole_lanes __attribute__((vector_size(4 * WIDE)));

INLINED lanes load(const float *row) { return *(const lanes *)row; }
INLINED void store(float *row, lanes x) { *(lanes *)row = x; }
INLINED lanes all_lanes(float x) { return (lanes){x, x, x, x, x, x, x, x}; }

#if defined(__clang__)
#define SHUFFLED(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLED(a, b, ...) __builtin_shuffle(a, b, (whole_lanes){__VA_ARGS__})
#endif

/* Lane i of the result is the sum of the lanes of sums[i]: three rounds that fold halves of two vectors into one. */
INLINED lanes folded(const lanes *sums) {
    lanes pairs[4], fours[2];
    for (int i = 0; i < 4; i++)
        pairs[i] = SHUFFLED(sums[2 * i], sums[2 * i + 1], 0, 8, 2, 10, 4, 12, 6, 14) +
                   SHUFFLED(sums[2 * i], sums[2 * i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    for (int i = 0; i < 2; i++)
        fours[i] = SHUFFLED(pairs[2 * i], pairs[2 * i + 1], 0, 1, 8, 9, 4, 5, 12, 13) +
                   SHUFFLED(pairs[2 * i], pairs[2 * i + 1], 2, 3, 10, 11, 6, 7, 14, 15);
    return SHUFFLED(fours[0], fours[1], 0, 1, 2, 3, 8, 9, 10, 11) +
           SHUFFLED(fours[0], fours[1], 4, 5, 6, 7, 12, 13, 14, 15);
}

/* 1 / (1 + exp(-x)), relative error about 1e-6: 2^n 2^f with f in [-1/2, 1/2] as a polynomial. */
INLINED lanes logistic(lanes x) {
    const lanes most = all_lanes(30.0f);
    lanes y = -x, magic = all_lanes(12582912.0f);
    whole_lanes high = y > most, low = y < -most;
    y = (lanes)(((whole_lanes)y & ~(high | low)) | ((whole_lanes)most & high) | ((whole_lanes)-most & low));
    y *= 1.44269504f;
    lanes n = (y + magic) - magic, f = y - n;
    lanes p = all_lanes(1.3333558e-3f);
    p = p * f + 9.6181291e-3f;
    p = p * f + 5.5504109e-2f;
    p = p * f + 2.4022651e-1f;
    p = p * f + 6.9314718e-1f;
    p = p * f + 1.0f;
    whole_lanes power = __builtin_convertvector(n, whole_lanes);
    lanes scale = (lanes)((power + 127) << 23);
    return 1.0f / (1.0f + p * scale);
}

/* The shard's own number of a row of the table: rows are numbered as they are met. `slots` (V,) is -1 for rows not met. */
INLINED int32_t local_number(int32_t row, int32_t *slots, int64_t *rows, int64_t *known) {
    if (slots[row] < 0) {
        slots[row] = (int32_t)*known;
        rows[(*known)++] = row;
    }
    return slots[row];
}

INLINED void gather_rows(const float *table, const int64_t *rows, int64_t n, int64_t P, float *out) {
    for (int64_t i = 0; i < n; i++) memcpy(out + i * P, table + rows[i] * P, (size_t)P * sizeof(float));
}

/* What a shard has changed, and its slots as they were before. */
INLINED void subtract_rows(const float *table, const int64_t *rows, int64_t n, int64_t P, float *local, int32_t *slots) {
    for (int64_t i = 0; i < n; i++) {
        const float *restrict before = table + rows[i] * P;
        float *restrict row = local + i * P;
        for (int64_t d = 0; d < P; d += WIDE) store(row + d, load(row + d) - load(before + d));
        slots[rows[i]] = -1;
    }
}

#endif

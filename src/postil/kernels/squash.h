/* tanh and the logistic function of whole rows. */

#ifndef POSTIL_SQUASH_H
#define POSTIL_SQUASH_H

#include <math.h>
#include <string.h>

#include "lanes.h"
#include "portable.h"

/* By e^2x - 1, which keeps its digits near 0: 2 x = k log 2 + r, and e^r - 1 is a short sum. Vectors are written out,
   because a compiler would rather branch where x is out of range than make vector instructions of a loop. */
INLINED lanes tanh_lanes(lanes x) {
    const lanes most = all_lanes(9.5f), magic = all_lanes(12582912.0f); /* 1.5 · 2^23: adding it rounds */
    const whole_lanes high = x > most, low = x < -most;                 /* neither where x is NaN */
    x = (lanes)(((whole_lanes)x & ~(high | low)) | ((whole_lanes)most & high) | ((whole_lanes)-most & low));
    const lanes y = x + x, shifted = y * 1.44269504f + magic, k = shifted - magic;
    const lanes r = (y - k * 0.693359375f) - k * -2.12194440e-4f; /* log 2 in two parts; the first times k is exact */
    lanes sum = all_lanes(1.0f / 5040);
    sum = sum * r + 1.0f / 720;
    sum = sum * r + 1.0f / 120;
    sum = sum * r + 1.0f / 24;
    sum = sum * r + 1.0f / 6;
    sum = sum * r + 0.5f;
    sum = sum * (r * r) + r; /* e^r - 1 */
    const lanes power = (lanes)(((whole_lanes)shifted << 23) + (127 << 23)); /* 2^k */
    const lanes less_one = power * sum + (power - 1.0f);
    return less_one / (less_one + 2.0f);
}

INLINED lanes biased(const float *x, const float *bias, int64_t d) {
    lanes z = load(x + d);
    if (bias != NULL) z += load(bias + d);
    return z;
}

INLINED lanes squashed(lanes z, float scale) { return tanh_lanes(z * scale) * scale + (1 - scale); }

/* out = tanh((x + bias) scale) scale + 1 - scale: tanh itself where the scale is 1, and the logistic function where it is
   1/2, as σ(z) = (1 + tanh(z / 2)) / 2. Without a bias it is 0. `out` may be x. */
INLINED void squash_single(const float *x, const float *bias, int64_t count, float scale, float *out) {
    const int64_t whole = count / WIDE * WIDE, rest = count - whole;
    if (count < WIDE) {
        float few[WIDE] = {0};
        for (int64_t d = 0; d < count; d++) few[d] = bias == NULL ? x[d] : x[d] + bias[d];
        const lanes y = squashed(load(few), scale);
        memcpy(out, &y, (size_t)count * sizeof *out);
        return;
    }
    /* The last vector overlaps the one before it, and is read before anything is written. */
    const lanes end = biased(x, bias, count - WIDE);
    for (int64_t d = 0; d < whole; d += WIDE)
        store(out + d, squashed(biased(x, bias, d), scale));
    if (rest) store(out + count - WIDE, squashed(end, scale));
}

INLINED void squash_double(const double *x, const double *bias, int64_t count, double scale, double *out) {
    for (int64_t d = 0; d < count; d++)
        out[d] = tanh((x[d] + (bias == NULL ? 0 : bias[d])) * scale) * scale + (1 - scale);
}

#endif

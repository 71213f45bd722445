/* The body of layers.c for one element type, see both_types.h. Every sum is added in an order that depends on the sizes
   alone. */

typedef REAL OF(lanes) __attribute__((vector_size(32), aligned(sizeof(REAL)), __may_alias__));
#define WIDTH ((int64_t)(32 / sizeof(REAL)))

INLINED REAL OF(lane_total)(OF(lanes) v) {
    for (int64_t half = WIDTH / 2; half > 0; half /= 2)
        for (int64_t k = 0; k < half; k++) v[k] += v[k + half];
    return v[0];
}

INLINED REAL OF(total)(const REAL *row, int64_t D) {
    OF(lanes) sum = {0};
    int64_t d = 0;
    for (; d + WIDTH <= D; d += WIDTH) sum += *(const OF(lanes) *)(row + d);
    REAL rest = 0;
    for (; d < D; d++) rest += row[d];
    return OF(lane_total)(sum) + rest;
}

INLINED REAL OF(product)(const REAL *a, const REAL *b, int64_t D) {
    OF(lanes) sum = {0};
    int64_t d = 0;
    for (; d + WIDTH <= D; d += WIDTH) sum += *(const OF(lanes) *)(a + d) * *(const OF(lanes) *)(b + d);
    REAL rest = 0;
    for (; d < D; d++) rest += a[d] * b[d];
    return OF(lane_total)(sum) + rest;
}

INLINED void OF(add)(const REAL *restrict row, int64_t D, REAL *restrict out) {
    for (int64_t d = 0; d < D; d++) out[d] += row[d];
}

INLINED void OF(windows)(const REAL *X, const REAL *padding, const int64_t *offsets, int64_t B, int64_t D, int64_t size,
                         int64_t dilation, REAL *Y) {
    const size_t row = (size_t)D * sizeof(REAL);
    for (int64_t b = 0; b < B; b++)
        for (int64_t t = offsets[b]; t < offsets[b + 1]; t++)
            for (int64_t k = 0; k < size; k++, Y += D) {
                const int64_t place = t + (k - size / 2) * dilation;
                const int is_inside = place >= offsets[b] && place < offsets[b + 1];
                memcpy(Y, is_inside ? X + place * D : padding, row);
            }
}

/* The largest value of each column in each sentence, and the first row that has it. No sentence is empty. */
INLINED int OF(first_maxima)(const REAL *X, const int64_t *offsets, int64_t B, int64_t D, REAL *Y, int64_t *winners) {
    int has_nan = 0;
    for (int64_t b = 0; b < B; b++, Y += D, winners += D) {
        const REAL *row = X + offsets[b] * D;
        for (int64_t d = 0; d < D; d++) {
            Y[d] = row[d], winners[d] = offsets[b];
            has_nan |= row[d] != row[d];
        }
        for (int64_t t = offsets[b] + 1; t < offsets[b + 1]; t++) {
            row = X + t * D;
            for (int64_t d = 0; d < D; d++) {
                const int is_larger = row[d] > Y[d];
                Y[d] = is_larger ? row[d] : Y[d];
                winners[d] = is_larger ? t : winners[d];
                has_nan |= row[d] != row[d];
            }
        }
    }
    return has_nan ? NOT_FINITE : DONE;
}

/* What the windows around row u have at u, added from the last window to the first: the order of the twin. */
INLINED void OF(windows_back)(const REAL *dY, const int64_t *offsets, int64_t B, int64_t D, int64_t size,
                              int64_t dilation, REAL *dX, REAL *dpadding) {
    const int64_t half = size / 2;
    memset(dpadding, 0, (size_t)D * sizeof(REAL));
    for (int64_t b = 0; b < B; b++) {
        const int64_t first = offsets[b], end = offsets[b + 1];
        for (int64_t u = first; u < end; u++) {
            int is_begun = 0;
            for (int64_t k = 0; k < size; k++) {
                const int64_t t = u - (k - half) * dilation; /* the window that has u at k */
                if (t < first || t >= end) continue;
                if (is_begun)
                    OF(add)(dY + (t * size + k) * D, D, dX + u * D);
                else
                    memcpy(dX + u * D, dY + (t * size + k) * D, (size_t)D * sizeof(REAL));
                is_begun = 1;
            }
        }
        for (int64_t t = first; t < end; t++) {
            for (int64_t k = 0; t + (k - half) * dilation < first; k++) OF(add)(dY + (t * size + k) * D, D, dpadding);
            for (int64_t k = size - 1; t + (k - half) * dilation >= end; k--)
                OF(add)(dY + (t * size + k) * D, D, dpadding);
        }
    }
}

INLINED void OF(normalise)(const REAL *restrict X, const REAL *restrict gain, const REAL *restrict bias, REAL epsilon,
                           int64_t N, int64_t D, REAL *restrict Y, REAL *restrict Z, REAL *restrict deviation) {
    for (int64_t n = 0; n < N; n++) {
        const REAL *restrict x = X + n * D;
        REAL *restrict y = Y + n * D, *restrict z = Z + n * D;
        const REAL mean = OF(total)(x, D) / (REAL)D;
        for (int64_t d = 0; d < D; d++) z[d] = x[d] - mean;
        const REAL spread = deviation[n] = (REAL)sqrt((double)(OF(product)(z, z, D) / (REAL)D + epsilon));
        const REAL share = 1 / spread;
        for (int64_t d = 0; d < D; d++) {
            z[d] *= share;
            y[d] = z[d] * gain[d] + bias[d];
        }
    }
}

INLINED void OF(normalise_back)(const REAL *restrict dY, const REAL *restrict Z, const REAL *restrict deviation,
                                const REAL *restrict gain, int64_t N, int64_t D, REAL *restrict dX,
                                REAL *restrict dgain, REAL *restrict dbias) {
    memset(dgain, 0, (size_t)D * sizeof(REAL));
    memset(dbias, 0, (size_t)D * sizeof(REAL));
    for (int64_t n = 0; n < N; n++) {
        const REAL *restrict dy = dY + n * D, *restrict z = Z + n * D, share = 1 / deviation[n];
        REAL *restrict dx = dX + n * D;
        for (int64_t d = 0; d < D; d++) {
            dx[d] = dy[d] * gain[d];
            dgain[d] += dy[d] * z[d];
            dbias[d] += dy[d];
        }
        const REAL mean = OF(total)(dx, D) / (REAL)D, along = OF(product)(dx, z, D) / (REAL)D;
        for (int64_t d = 0; d < D; d++) dx[d] = ((dx[d] - mean) - z[d] * along) * share;
    }
}

typedef __typeof__((OF(lanes)){0} < (OF(lanes)){0}) OF(mask); /* all ones where a comparison holds */
INLINED OF(lanes) OF(where)(OF(mask) holds, OF(lanes) x) { return (OF(lanes))(holds & (OF(mask))x); }

/* f(z) and its slope; with noise both times what `slope` is before. Written with masks: of choices between numbers the
   compiler makes branches, ten times as slow on random signs. */
INLINED void OF(activate_lanes)(OF(lanes) z, int activation, OF(lanes) *y, OF(lanes) *slope, int noisy) {
    const OF(lanes) zero = {0}, one = zero + 1, kept = noisy ? *slope : one;
    *y = z, *slope = kept;
    if (activation == RELU) {
        *y = OF(where)(~(z <= zero), z); /* NaN stays NaN */
        *slope = OF(where)(z > zero, kept);
    } else if (activation == HARDTANH) {
        const OF(mask) low = z < -one, high = z > one;
        *y = (OF(lanes))((low & (OF(mask))-one) | (high & (OF(mask))one) | (~(low | high) & (OF(mask))z));
        *slope = OF(where)((z >= -one) & (z <= one), kept);
    }
    if (noisy) *y *= kept;
}

/* f(Z + bias) and its slopes; with noise, both 0 where an element is dropped and `scale` times as large elsewhere.
   Activation, bias and noise are constants of each call below, so that no loop asks for them. */
INLINED void OF(activate_rows)(const REAL *Z, const REAL *bias, uint64_t key, uint32_t dropped, int64_t N, int64_t H,
                               int activation, int biased, int noisy, REAL *out, REAL *restrict slopes) {
    const REAL scale = (REAL)(4294967296.0 / (4294967296.0 - (double)dropped));
    for (int64_t n = 0; n < N; n++) {
        const REAL *z_row = Z + n * H;
        REAL *y_row = out + n * H, *restrict slope_row = slopes + n * H;
        const uint32_t first = (uint32_t)(n * H);
        if (noisy)
            for (int64_t h = 0; h < H; h++)
                slope_row[h] = random_bits(key, first + (uint32_t)h) < dropped ? (REAL)0 : scale;
        int64_t h = 0;
        for (; h + WIDTH <= H; h += WIDTH) {
            OF(lanes) z = *(const OF(lanes) *)(z_row + h), slope = *(const OF(lanes) *)(slope_row + h), y;
            if (biased) z += *(const OF(lanes) *)(bias + h);
            OF(activate_lanes)(z, activation, &y, &slope, noisy);
            *(OF(lanes) *)(y_row + h) = y, *(OF(lanes) *)(slope_row + h) = slope;
        }
        if (h < H) { /* the rest, padded with zeros */
            OF(lanes) z = {0}, slope = {0}, y;
            for (int64_t k = 0; h + k < H; k++) z[k] = biased ? z_row[h + k] + bias[h + k] : z_row[h + k];
            for (int64_t k = 0; noisy && h + k < H; k++) slope[k] = slope_row[h + k];
            OF(activate_lanes)(z, activation, &y, &slope, noisy);
            for (int64_t k = 0; h + k < H; k++) y_row[h + k] = y[k], slope_row[h + k] = slope[k];
        }
    }
}

INLINED void OF(activate)(const REAL *Z, const REAL *bias, uint64_t key, uint32_t dropped, int64_t N, int64_t H,
                          int activation, REAL *out, REAL *slopes) {
#define ROWS(f, biased, noisy) OF(activate_rows)(Z, bias, key, dropped, N, H, f, biased, noisy, out, slopes)
#define ACTIVATE(f)                                       \
    if (bias != NULL)                                     \
        dropped ? ROWS(f, 1, 1) : ROWS(f, 1, 0);          \
    else                                                  \
        dropped ? ROWS(f, 0, 1) : ROWS(f, 0, 0);
    if (activation == RELU) {
        ACTIVATE(RELU)
    } else if (activation == HARDTANH) {
        ACTIVATE(HARDTANH)
    } else {
        ACTIVATE(IDENTITY)
    }
#undef ACTIVATE
#undef ROWS
}

/* Added up in double: a million small squares would lose four digits in float. */
INLINED double OF(squares)(const REAL *restrict x, int64_t n) {
    double sums[16] = {0};
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (int k = 0; k < 16; k++) sums[k] += (double)x[i + k] * (double)x[i + k];
    double total = 0;
    for (; i < n; i++) total += (double)x[i] * (double)x[i];
    for (int k = 0; k < 16; k++) total += sums[k];
    return total;
}

INLINED void OF(sum_rows)(const REAL *values, const int64_t *order, const int64_t *starts, int64_t R, int64_t D,
                          REAL *sums) {
    for (int64_t r = 0; r < R; r++) {
        REAL *out = sums + r * D;
        memcpy(out, values + order[starts[r]] * D, (size_t)D * sizeof(REAL));
        for (int64_t n = starts[r] + 1; n < starts[r + 1]; n++) OF(add)(values + order[n] * D, D, out);
    }
}

/* What a row has stood at since it was settled last goes into its total. */
INLINED void OF(settle_row)(double *restrict total, int64_t *settled, const REAL *restrict w, int64_t D, int64_t steps) {
    const double still = (double)(steps - *settled);
    for (int64_t d = 0; d < D; d++) total[d] += still * (double)w[d];
    *settled = steps;
}

INLINED void OF(settle)(double *total, int64_t *settled, const REAL *value, const int64_t *rows, int64_t R, int64_t D,
                        int64_t steps) {
    for (int64_t r = 0; r < R; r++) {
        const int64_t row = rows == NULL ? r : rows[r];
        OF(settle_row)(total + row * D, settled + row, value + row * D, D, steps);
    }
}

/* One step of Adam on some rows: as the twin does it, operation by operation, without arrays in between. The corrections
   of both moments are numbers of the row: they go into its pace, and an entry costs one root and one division. Where
   there are totals, a row is settled just before it changes: it is in the cache then. */
INLINED void OF(adam)(REAL *value, REAL *mean, REAL *square, int64_t *touches, const int64_t *rows, const REAL *g,
                      int64_t R, int64_t D, double rate, double beta1, double beta2, double epsilon, double scale,
                      double *total, int64_t *settled, int64_t steps) {
    const REAL b1 = (REAL)beta1, rest1 = (REAL)(1 - beta1), b2 = (REAL)beta2, rest2 = (REAL)(1 - beta2);
    const REAL factor = (REAL)scale;
    int64_t known = -1;
    REAL pace = 0, tiny = 0;
    for (int64_t r = 0; r < R; r++) {
        const int64_t row = rows == NULL ? r : rows[r], t = ++touches[row];
        if (t != known) {
            const double root = sqrt(1 - pow(beta2, (double)t));
            pace = (REAL)(rate * root / (1 - pow(beta1, (double)t))), tiny = (REAL)(epsilon * root);
            known = t;
        }
        const REAL *restrict gradient = g + r * D;
        REAL *restrict m = mean + row * D, *restrict s = square + row * D, *restrict w = value + row * D;
        if (total != NULL) OF(settle_row)(total + row * D, settled + row, w, D, steps);
        for (int64_t d = 0; d < D; d++) {
            const REAL x = factor * gradient[d];
            m[d] = b1 * m[d] + rest1 * x;
            s[d] = b2 * s[d] + rest2 * (x * x);
            w[d] -= pace * (m[d] / (OF(root)(s[d]) + tiny));
        }
    }
}

INLINED void OF(adagrad)(REAL *value, REAL *square, const int64_t *rows, const REAL *g, int64_t R, int64_t D,
                         double rate, double epsilon) {
    const REAL pace = (REAL)rate, tiny = (REAL)epsilon;
    for (int64_t r = 0; r < R; r++) {
        const int64_t row = rows == NULL ? r : rows[r];
        const REAL *restrict gradient = g + r * D;
        REAL *restrict s = square + row * D, *restrict w = value + row * D;
        for (int64_t d = 0; d < D; d++) {
            s[d] += gradient[d] * gradient[d];
            w[d] -= pace * (gradient[d] / OF(root)(s[d] + tiny));
        }
    }
}

#undef WIDTH

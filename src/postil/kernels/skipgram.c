/* Skip-gram with negative samples on one shard of text: plain_pretraining.py says what is computed.

   All pairs of a window are worked on at once. The M words around a centre share the negatives that were drawn for it:
   scores (M, Q), their slopes, and both updates are small matrix products whose sums stay in registers. */

#if defined(__clang__)
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("fp-contract=fast")
#endif

#include <math.h>

#include "flags.h"
#include "kernels.h"
#include "lanes.h"

enum { AHEAD = 3 };

typedef struct {
    int64_t P, M, Q;         /* padded columns, words around the centre, outputs padded to whole lanes */
    float *contexts[2 * MOST_REACH];
    float *outputs[MOST_OUTPUTS];
    float sign[MOST_OUTPUTS]; /* 1 the centre, 0 a negative, -1 left out */
    float *slopes;           /* (M, Q) rate × (what it should be - probability) */
    float *changes;          /* (M, P) */
    double loss;
} window;

/* slopes = rate (y - 1 / (1 + exp(-x·o))) for one word and WIDE outputs. */
INLINED void window_slopes(window *w, float rate, int with_loss) {
    const int64_t P = w->P;
    for (int64_t m = 0; m < w->M; m++)
        for (int64_t q = 0; q < w->Q; q += WIDE) {
            lanes sums[WIDE];
            const float *x = w->contexts[m], *outputs[WIDE];
            for (int i = 0; i < WIDE; i++) outputs[i] = w->outputs[q + i], sums[i] = all_lanes(0);
            for (int64_t d = 0; d < P; d += WIDE) {
                const lanes part = load(x + d);
                for (int i = 0; i < WIDE; i++) sums[i] += part * load(outputs[i] + d);
            }
            const lanes p = logistic(folded(sums)), y = load(w->sign + q);
            const lanes slope = (lanes)((whole_lanes)(rate * (y - p)) & (y >= 0));
            store(w->slopes + m * w->Q + q, slope);
            if (with_loss)
                for (int i = 0; i < WIDE; i++)
                    if (y[i] >= 0) w->loss -= log(fmax(y[i] > 0 ? p[i] : 1 - p[i], 1e-30));
        }
}

/* changes = slopes · outputs */
INLINED void window_changes(window *w) {
    const int64_t P = w->P;
    for (int64_t m = 0; m < w->M; m++)
        for (int64_t q = 0; q < w->Q; q += WIDE) {
            lanes slope[WIDE];
            const float *outputs[WIDE]; /* a copy: the stores below cannot change it */
            float *change = w->changes + m * P;
            for (int i = 0; i < WIDE; i++) outputs[i] = w->outputs[q + i];
            for (int i = 0; i < WIDE; i++) slope[i] = all_lanes(w->slopes[m * w->Q + q + i]);
            for (int64_t d = 0; d < P; d += WIDE) {
                lanes sum = q ? load(change + d) : all_lanes(0);
                for (int i = 0; i < WIDE; i++) sum += slope[i] * load(outputs[i] + d);
                store(change + d, sum);
            }
        }
}

/* outputs += slopesᵀ · contexts; then the contexts may change too. */
INLINED void window_updates(window *w, int64_t Q) {
    for (int64_t q = 0; q < Q; q += WIDE)
        for (int64_t d = 0; d < w->P; d += WIDE) {
            lanes sums[WIDE];
            for (int i = 0; i < WIDE; i++) sums[i] = all_lanes(0);
            for (int64_t m = 0; m < w->M; m++) {
                const lanes part = load(w->contexts[m] + d);
                const float *slope = w->slopes + m * w->Q + q;
                for (int i = 0; i < WIDE; i++) sums[i] += slope[i] * part;
            }
            for (int64_t i = 0; i < WIDE && q + i < Q; i++) {
                float *row = w->outputs[q + i] + d;
                store(row, load(row) + sums[i]);
            }
        }
    for (int64_t m = 0; m < w->M; m++)
        for (int64_t d = 0; d < w->P; d += WIDE) {
            float *row = w->contexts[m] + d;
            store(row, load(row) + load(w->changes + m * w->P + d));
        }
}

typedef struct {
    const int32_t *ids, *negatives;
    const uint8_t *reach;
    int64_t V, P, N, K;
    int32_t *slots; /* (2, V) */
    float *local[2];
    int32_t *touches[2];
} shard;

/* The rows of window t, and how often they are touched; 0 where nothing is around the centre. */
INLINED int64_t open_window(const shard *s, window *w, int64_t t, int64_t begin, int64_t end) {
    const int64_t from = t - s->reach[t] < begin ? begin : t - s->reach[t];
    const int64_t to = t + s->reach[t] >= end ? end - 1 : t + s->reach[t];
    w->M = 0;
    for (int64_t i = from; i <= to; i++) {
        if (i == t) continue;
        const int32_t number = s->slots[s->ids[i]];
        s->touches[0][number] += (int32_t)(1 + s->K);
        w->contexts[w->M++] = s->local[0] + number * s->P;
    }
    for (int64_t q = 0; q <= s->K; q++) {
        const int32_t word = q ? s->negatives[t * s->K + q - 1] : s->ids[t];
        const int32_t number = s->slots[s->V + word];
        s->touches[1][number] += (int32_t)w->M;
        w->outputs[q] = s->local[1] + number * s->P;
        w->sign[q] = q == 0 ? 1.0f : word == s->ids[t] ? -1.0f : 0.0f;
    }
    return w->M;
}

/* The rows of outputs of a window to come: they lie anywhere, and memory takes longer than a window. */
INLINED void prefetch_outputs(const shard *s, int64_t t) {
    if (t >= s->N) return;
    for (int64_t q = 0; q <= s->K; q++) {
        const int32_t word = q ? s->negatives[t * s->K + q - 1] : s->ids[t];
        const float *row = s->local[1] + s->slots[s->V + word] * s->P;
        for (int64_t d = 0; d < s->P; d += 16) __builtin_prefetch(row + d, 1);
    }
}

/* Tables (V, P), P a multiple of 8; `slots` (2, V) of -1, and so again afterwards. Rows that were touched, what was added to
   them, how many pairs touched them; `found` (3,): rows of inputs, of outputs, pairs that `loss` is of. */
int skipgram_shard(const float *inputs, const float *outputs, int64_t V, int64_t P, const int32_t *ids,
                   const int64_t *offsets, int64_t N, int64_t B, const uint8_t *reach, const int32_t *negatives,
                   int64_t K, double rate, int32_t *slots, int64_t *input_rows, float *input_changes,
                   int32_t *input_touches, int64_t *output_rows, float *output_changes, int32_t *output_touches,
                   int64_t *found, double *loss) {
    if (longest_sentence(offsets, B, N) < 0) return WRONG_OFFSETS;
    if (P < WIDE || P % WIDE || K < 1 || K + 1 > MOST_OUTPUTS) return WRONG_INDEX;
    const shard s = {.ids = ids, .negatives = negatives, .reach = reach, .V = V, .P = P, .N = N, .K = K, .slots = slots,
                     .local = {input_changes, output_changes}, .touches = {input_touches, output_touches}};
    window w = {.P = P, .Q = (K + WIDE) / WIDE * WIDE};
    found[0] = found[1] = found[2] = 0;
    for (int64_t i = 0; i < N; i++) {
        if (ids[i] < 0 || ids[i] >= V || reach[i] > MOST_REACH) return WRONG_INDEX;
        local_number(ids[i], slots, input_rows, found);
        local_number(ids[i], slots + V, output_rows, found + 1);
    }
    for (int64_t i = 0; i < N * K; i++) {
        if (negatives[i] < 0 || negatives[i] >= V) return WRONG_INDEX;
        local_number(negatives[i], slots + V, output_rows, found + 1);
    }
    w.slopes = malloc((size_t)(2 * MOST_REACH * (w.Q + P)) * sizeof(float));
    if (w.slopes == NULL) return NO_MEMORY;
    w.changes = w.slopes + 2 * MOST_REACH * w.Q;
    for (int side = 0; side < 2; side++) {
        gather_rows(side ? outputs : inputs, side ? output_rows : input_rows, found[side], P, s.local[side]);
        memset(s.touches[side], 0, (size_t)found[side] * sizeof(int32_t));
    }
    clear_flags();
    for (int64_t q = K + 1; q < w.Q; q++) w.outputs[q] = s.local[1], w.sign[q] = -1;
    for (int64_t b = 0; b < B; b++)
        for (int64_t t = offsets[b]; t < offsets[b + 1]; t++) {
            prefetch_outputs(&s, t + AHEAD);
            if (!open_window(&s, &w, t, offsets[b], offsets[b + 1])) continue;
            const int with_loss = t % LOSS_EVERY == 0;
            if (with_loss) found[2] += w.M;
            window_slopes(&w, (float)rate, with_loss);
            window_changes(&w);
            window_updates(&w, K + 1);
        }
    *loss = w.loss;
    free(w.slopes);
    const int ended = done();
    subtract_rows(inputs, input_rows, found[0], P, input_changes, slots);
    subtract_rows(outputs, output_rows, found[1], P, output_changes, slots + V);
    return ended;
}

/* Row rows[i] of the table += scales[i] × changes[i]. */
int merge_rows(float *table, int64_t V, int64_t P, const int64_t *rows, int64_t n, const float *changes,
                      const float *scales) {
    if (P % WIDE) return WRONG_INDEX;
    for (int64_t i = 0; i < n; i++) {
        if (rows[i] < 0 || rows[i] >= V) return WRONG_INDEX;
        float *row = table + rows[i] * P;
        const float *change = changes + i * P;
        for (int64_t d = 0; d < P; d += WIDE) store(row + d, load(row + d) + scales[i] * load(change + d));
    }
    return DONE;
}

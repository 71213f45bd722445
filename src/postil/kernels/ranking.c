/* True windows against corrupt ones on one shard of text (E4): plain_pretraining.py says what is computed.

   Windows are worked on in groups, so that the weights are read once for several windows. A corrupt window differs in its
   centre alone: what the other words add to the hidden layer is computed once for both. */

#if defined(__clang__)
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("fp-contract=fast")
#endif

#include "flags.h"
#include "kernels.h"
#include "lanes.h"

enum { TOGETHER = 4, UNITS = 2 * WIDE }; /* windows and units whose sums stay in registers */

typedef struct {
    int64_t S, P, H, count;
    const float *zeros;                  /* (P,) */
    float *W, *b, *u;                    /* (S, P, H), (H,), (H,) */
    float **rows;                        /* (GROUP, S + 1): the words of each window, then the corrupt centre */
    float *true_units, *corrupt_units;   /* (GROUP, H) before the activation */
    float *deltas[3];                    /* (GROUP, H): to the true centre, to the corrupt one, their sum */
    float *changes;                      /* (GROUP, S + 1, P) */
    int64_t violated[RANKING_GROUP];
} group;

/* units[g] (+)= Σ over positions of W[position]ᵀ x, where x is row `place` of window g. */
INLINED void add_position(const group *G, int64_t position, int64_t place, float *units) {
    const int64_t P = G->P, H = G->H, S1 = G->S + 1;
    for (int64_t g = 0; g < G->count; g += TOGETHER) {
        const float *x[TOGETHER];
        for (int i = 0; i < TOGETHER; i++) x[i] = g + i < G->count ? G->rows[(g + i) * S1 + place] : G->zeros;
        for (int64_t h = 0; h < H; h += UNITS) {
            const float *W = G->W + position * P * H + h;
            lanes sums[TOGETHER][2];
            for (int i = 0; i < TOGETHER; i++)
                for (int k = 0; k < 2; k++) sums[i][k] = load(units + (g + i) * H + h + k * WIDE);
            for (int64_t d = 0; d < P; d++) {
                const lanes w0 = load(W + d * H), w1 = load(W + d * H + WIDE);
                for (int i = 0; i < TOGETHER; i++) sums[i][0] += x[i][d] * w0, sums[i][1] += x[i][d] * w1;
            }
            for (int i = 0; i < TOGETHER; i++)
                for (int k = 0; k < 2; k++) store(units + (g + i) * H + h + k * WIDE, sums[i][k]);
        }
    }
}

INLINED float clipped(float z) { return z < -1 ? -1 : z > 1 ? 1 : z; }

INLINED float score(const group *G, const float *units) {
    lanes sums[WIDE];
    for (int i = 0; i < WIDE; i++) sums[i] = all_lanes(0);
    for (int64_t h = 0; h < G->H; h += WIDE) {
        lanes f;
        for (int i = 0; i < WIDE; i++) f[i] = clipped(units[h + i]);
        sums[0] += load(G->u + h) * f;
    }
    return folded(sums)[0];
}

/* change = W[position] δ: WIDE columns of the row at once. */
INLINED void row_change(const group *G, int64_t position, const float *delta, float *change) {
    for (int64_t d = 0; d < G->P; d += WIDE) {
        const float *W = G->W + (position * G->P + d) * G->H;
        lanes sums[WIDE];
        for (int i = 0; i < WIDE; i++) sums[i] = all_lanes(0);
        for (int64_t h = 0; h < G->H; h += WIDE) {
            const lanes part = load(delta + h);
            for (int i = 0; i < WIDE; i++) sums[i] += part * load(W + i * G->H + h);
        }
        store(change + d, folded(sums));
    }
}

/* W[position] += ratio Σ over windows of x δᵀ, x row `place` of each. */
INLINED void weight_change(const group *G, int64_t n, int64_t position, int64_t place, const float *delta, float ratio) {
    const int64_t P = G->P, H = G->H, S1 = G->S + 1;
    for (int64_t d = 0; d < P; d += TOGETHER)
        for (int64_t h = 0; h < H; h += UNITS) {
            float *W = G->W + (position * P + d) * H + h;
            lanes sums[TOGETHER][2];
            for (int i = 0; i < TOGETHER; i++) sums[i][0] = sums[i][1] = all_lanes(0);
            for (int64_t v = 0; v < n; v++) {
                const float *x = G->rows[G->violated[v] * S1 + place] + d, *to = delta + v * H + h;
                const lanes d0 = load(to), d1 = load(to + WIDE);
                for (int i = 0; i < TOGETHER; i++) sums[i][0] += x[i] * d0, sums[i][1] += x[i] * d1;
            }
            for (int i = 0; i < TOGETHER; i++)
                for (int k = 0; k < 2; k++)
                    store(W + i * H + k * WIDE, load(W + i * H + k * WIDE) + ratio * sums[i][k]);
        }
}

/* Scores; the windows that are not far enough apart; what their units send back, times the rate. */
INLINED int64_t compare(group *G, float rate, float margin, double *loss) {
    int64_t n = 0;
    for (int64_t g = 0; g < G->count; g++) {
        const float *z = G->true_units + g * G->H, *c = G->corrupt_units + g * G->H;
        const float cost = margin + score(G, c) - score(G, z);
        if (!(cost > 0)) continue;
        *loss += cost;
        G->violated[n] = g;
        for (int64_t h = 0; h < G->H; h++) {
            const int64_t at = n * G->H + h;
            G->deltas[0][at] = z[h] >= -1 && z[h] <= 1 ? rate * G->u[h] : 0;
            G->deltas[1][at] = c[h] >= -1 && c[h] <= 1 ? -rate * G->u[h] : 0;
            G->deltas[2][at] = G->deltas[0][at] + G->deltas[1][at];
        }
        n++;
    }
    return n;
}

INLINED void learn(group *G, int64_t n, float rate, float ratio) {
    const int64_t S = G->S, P = G->P, H = G->H, centre = S / 2;
    for (int64_t v = 0; v < n; v++)
        for (int64_t p = 0; p <= S; p++) {
            const float *delta = G->deltas[p == S ? 1 : p == centre ? 0 : 2] + v * H;
            row_change(G, p == S ? centre : p, delta, G->changes + (v * (S + 1) + p) * P);
        }
    for (int64_t p = 0; p < S; p++) weight_change(G, n, p, p, G->deltas[p == centre ? 0 : 2], ratio);
    weight_change(G, n, centre, S, G->deltas[1], ratio);
    for (int64_t v = 0; v < n; v++) {
        const float *z = G->true_units + G->violated[v] * H, *c = G->corrupt_units + G->violated[v] * H;
        for (int64_t h = 0; h < H; h++) {
            G->b[h] += ratio * G->deltas[2][v * H + h];
            G->u[h] += ratio * rate * (clipped(z[h]) - clipped(c[h]));
        }
        for (int64_t p = 0; p <= S; p++) {
            float *row = G->rows[G->violated[v] * (S + 1) + p];
            const float *change = G->changes + (v * (S + 1) + p) * P;
            for (int64_t d = 0; d < P; d += WIDE) store(row + d, load(row + d) + load(change + d));
        }
    }
}

static void run_group(group *G, float rate, float ratio, float margin, double *loss) {
    const int64_t H = G->H, centre = G->S / 2;
    const int64_t count = (G->count + TOGETHER - 1) / TOGETHER * TOGETHER;
    for (int64_t g = 0; g < count; g++) memcpy(G->true_units + g * H, G->b, (size_t)H * sizeof(float));
    for (int64_t p = 0; p < G->S; p++)
        if (p != centre) add_position(G, p, p, G->true_units);
    memcpy(G->corrupt_units, G->true_units, (size_t)(count * H) * sizeof(float));
    add_position(G, centre, centre, G->true_units);
    add_position(G, centre, G->S, G->corrupt_units);
    const int64_t n = compare(G, rate, margin, loss);
    if (n) learn(G, n, rate, ratio);
    G->count = 0;
}

/* A table (R, P) of V words and others that are never centres, the last one outside of sentences; W (S, P, H), b (H,) and u
   (H,) are changed. `found` (2,): rows that were touched, windows. */
int ranking_shard(const float *table, int64_t V, int64_t R, int64_t P, float *W, float *b, float *u, int64_t S,
                  int64_t H, const int32_t *ids, const int64_t *offsets, int64_t N, int64_t B, const int32_t *corrupt,
                  double rate, double ratio, double margin, int32_t *slots, int64_t *rows, float *changes,
                  int32_t *touches, int64_t *found, double *loss) {
    if (longest_sentence(offsets, B, N) < 0) return WRONG_OFFSETS;
    if (P < WIDE || P % WIDE || H < UNITS || H % UNITS || S % 2 == 0 || V >= R) return WRONG_INDEX;
    const int32_t outside = (int32_t)(R - 1);
    found[0] = found[1] = 0;
    *loss = 0;
    local_number(outside, slots, rows, found);
    for (int64_t i = 0; i < N; i++) {
        if (ids[i] < 0 || ids[i] >= R || corrupt[i] < 0 || corrupt[i] >= V) return WRONG_INDEX;
        local_number(ids[i], slots, rows, found);
        local_number(corrupt[i], slots, rows, found);
    }
    gather_rows(table, rows, found[0], P, changes);
    memset(touches, 0, (size_t)found[0] * sizeof(int32_t));
    const int64_t units = RANKING_GROUP * H, places = RANKING_GROUP * (S + 1);
    float *memory = calloc((size_t)(P + 5 * units + places * P), sizeof(float));
    float **pointers = malloc((size_t)places * sizeof(float *));
    if (memory != NULL && pointers != NULL) {
        group G = {.S = S, .P = P, .H = H, .zeros = memory, .W = W, .b = b, .u = u, .rows = pointers};
        G.true_units = memory + P;
        G.corrupt_units = G.true_units + units;
        for (int i = 0; i < 3; i++) G.deltas[i] = G.corrupt_units + (i + 1) * units;
        G.changes = G.deltas[2] + units;
        clear_flags();
        for (int64_t sentence = 0; sentence < B; sentence++)
            for (int64_t t = offsets[sentence]; t < offsets[sentence + 1]; t++) {
                if (ids[t] >= V || corrupt[t] == ids[t]) continue;
                float **words = G.rows + G.count++ * (S + 1);
                for (int64_t p = 0; p <= S; p++) { /* the window around t; the last row of the table stands outside */
                    const int64_t i = t + p - S / 2, is_inside = i >= offsets[sentence] && i < offsets[sentence + 1];
                    const int32_t number = slots[p == S ? corrupt[t] : is_inside ? ids[i] : outside];
                    touches[number]++;
                    words[p] = changes + number * P;
                }
                found[1]++;
                if (G.count == RANKING_GROUP) run_group(&G, (float)rate, (float)ratio, (float)margin, loss);
            }
        if (G.count) run_group(&G, (float)rate, (float)ratio, (float)margin, loss);
    }
    const int ended = memory == NULL || pointers == NULL ? NO_MEMORY : done();
    free(memory);
    free(pointers);
    subtract_rows(table, rows, found[0], P, changes, slots);
    return ended;
}

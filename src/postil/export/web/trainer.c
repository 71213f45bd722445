/* What JavaScript calls to train a tagger: looks of words, NumPy's generator, and steps of training.c on one thread.

   The network is that of the preset `fast` without vectors: two tables of word features, a window, a hidden layer, a CRF.
   JavaScript chooses features and batches; everything that is computed with floating-point numbers is computed here. It
   writes into memory that it has asked for with `allocate` (glue.c) and calls `begin` once: an instance trains one model.

   Parameters, by number: the tables 0 and 1; padding, W and b of the window; W and b of the output; transitions, start and
   end of the CRF. Python draws and computes the same numbers, up to the order in which products are summed. */

#include <math.h>

#include "words.c" /* its functions for single words are static */

#define EXPORTED(name) __attribute__((export_name(name)))
enum { TABLES = 2, PARAMETERS = 10, BLOCK = 160, TRANSPOSED = 112 };

/* What a word of `size` bytes looks like: its class of capitals, its normal form and its shape; negative: it is not UTF-8.
   `out` has room for two strings of twice the size and 8 bytes more, and `sizes` for theirs. */
EXPORTED("looks") int look(const character_tables *known, const uint8_t *shapes, const uint8_t *form, int32_t size,
                           uint8_t *out, int32_t *sizes) {
    const int64_t room = 2 * (int64_t)size + 8;
    uint8_t *lower = malloc((size_t)room);
    looks word = {{(uint8_t *)form, size}, {lower, 0}, {out, 0}, {out + room, 0}, {NULL, 0}, 0, 0};
    const int is_text = lower != NULL && look_at(known, shapes, &word);
    sizes[0] = (int32_t)word.normal.size, sizes[1] = (int32_t)word.shape.size;
    free(lower);
    return is_text ? (int)word.caps : -1;
}

/* numpy.random.default_rng: a SeedSequence and PCG64 (XSL RR 128/64). */
typedef unsigned __int128 wide;
static struct {
    wide state, step;
    uint32_t half;
    int has_half;
} generator;

static uint64_t next_64(void) {
    const wide factor = (wide)UINT64_C(2549297995355413924) << 64 | UINT64_C(4865540595714422341);
    generator.state = generator.state * factor + generator.step;
    const uint64_t folded = (uint64_t)(generator.state >> 64) ^ (uint64_t)generator.state;
    const int turn = (int)(generator.state >> 122);
    return folded >> turn | folded << (-turn & 63);
}

static uint32_t next_32(void) {
    if ((generator.has_half = !generator.has_half) == 0) return generator.half;
    const uint64_t both = next_64();
    generator.half = (uint32_t)(both >> 32);
    return (uint32_t)both;
}

static double next_real(void) { return (double)(next_64() >> 11) / 9007199254740992.0; }

INLINED uint32_t hashed(uint32_t value, uint32_t *key, uint32_t factor) {
    value ^= *key;
    value *= *key *= factor;
    return value ^ value >> 16;
}

EXPORTED("seed") void seed(const uint32_t *entropy, int32_t count) {
    uint32_t pool[4], key = 0x43b0d7e5u, words[8];
    for (int32_t i = 0; i < 4; i++) pool[i] = hashed(i < count ? entropy[i] : 0, &key, 0x931e8875u);
    for (int32_t from = 0; from < (count > 4 ? count : 4); from++)
        for (int32_t to = 0; to < 4; to++)
            if (from != to) {
                const uint32_t value = hashed(from < 4 ? pool[from] : entropy[from], &key, 0x931e8875u);
                pool[to] = 0xca01f9ddu * pool[to] - 0x4973f715u * value;
                pool[to] ^= pool[to] >> 16;
            }
    key = 0x8b51f9ddu;
    for (int i = 0; i < 8; i++) words[i] = hashed(pool[i % 4], &key, 0x58f38dedu);
    const wide start = (wide)((uint64_t)words[1] << 32 | words[0]) << 64 | ((uint64_t)words[3] << 32 | words[2]);
    const wide stream = (wide)((uint64_t)words[5] << 32 | words[4]) << 64 | ((uint64_t)words[7] << 32 | words[6]);
    generator.state = 0, generator.step = stream << 1 | 1, generator.has_half = 0;
    next_64();
    generator.state += start;
    next_64();
}

EXPORTED("draw") void draw(double *out, int32_t count) {
    for (int32_t i = 0; i < count; i++) out[i] = next_real();
}

/* The numbers below `count` in random order. */
EXPORTED("permute") void permute(int32_t *out, int32_t count) {
    for (int32_t i = 0; i < count; i++) out[i] = i;
    for (int32_t i = count - 1; i > 0; i--) {
        uint32_t chosen, mask = UINT32_MAX >> __builtin_clz((uint32_t)i);
        do chosen = next_32() & mask;
        while (chosen > (uint32_t)i);
        const int32_t kept = out[chosen];
        out[chosen] = out[i], out[i] = kept;
    }
}

static void fill_uniformly(float *values, int64_t count, double bound) {
    for (int64_t i = 0; i < count; i++) values[i] = (float)(-bound + (bound - -bound) * next_real());
}

/* Four floats at once, and 4 rows × 8 columns of a product in registers. */
typedef float four __attribute__((vector_size(16), aligned(4), __may_alias__));
static float *packed;
static size_t packed_room;

/* `rows` rows of C from 8 columns of B, of which column j of row p is at B[8 p + j]; A's number (i, p) is at i * a + p * step. */
INLINED void tile(int rows, int32_t k, const float *A, int64_t a, int64_t step, const float *B, float *out) {
    four left[4], right[4];
    for (int i = 0; i < rows; i++) left[i] = right[i] = (four){0, 0, 0, 0};
    for (int32_t p = 0; p < k; p++) {
        const four first = *(const four *)(B + 8 * p), second = *(const four *)(B + 8 * p + 4);
        for (int i = 0; i < rows; i++) {
            const float factor = A[i * a + p * step];
            left[i] += factor * first, right[i] += factor * second;
        }
    }
    for (int i = 0; i < rows; i++) *(four *)(out + 8 * i) = left[i], *(four *)(out + 8 * i + 4) = right[i];
}

/* cblas_sgemm by rows, with alpha = 1 and beta = 0. */
static void product(int order, int of_A, int of_B, int32_t m, int32_t n, int32_t k, float alpha, const float *A, int32_t a,
                    const float *B, int32_t b, float beta, float *C, int32_t c) {
    (void)order, (void)alpha, (void)beta;
    if ((size_t)k > packed_room) free(packed), packed = malloc(8 * sizeof *packed * (packed_room = (size_t)k));
    if (packed == NULL) __builtin_trap();
    const int64_t from = of_A == TRANSPOSED ? 1 : a, step = of_A == TRANSPOSED ? a : 1;
    for (int32_t j = 0; j < n; j += 8) {
        const int32_t columns = n - j < 8 ? n - j : 8;
        for (int32_t p = 0; p < k; p++)
            for (int32_t x = 0; x < 8; x++)
                packed[8 * p + x] = x >= columns ? 0 : of_B == TRANSPOSED ? B[(int64_t)(j + x) * b + p] : B[(int64_t)p * b + j + x];
        for (int32_t i = 0; i < m; i += 4) {
            const int32_t rows = m - i < 4 ? m - i : 4;
            float out[32];
            if (rows == 4)
                tile(4, k, A + i * from, from, step, packed, out);
            else
                for (int32_t r = 0; r < rows; r++) tile(1, k, A + (i + r) * from, from, step, packed, out + 8 * r);
            for (int32_t r = 0; r < rows; r++) memcpy(C + (int64_t)(i + r) * c + j, out + 8 * r, (size_t)columns * sizeof *C);
        }
    }
}

static tagger_step step;
static table_step tables[TABLES];
static adam_update updates[PARAMETERS]; /* by number */
static adam_steps_of adam = {.updates = updates, .count = PARAMETERS, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
static crew alone;
static float *gradients[PARAMETERS];

/* The sentences: the forms of tokens and their gold labels, where sentences begin; of each form its rows of the tables, and
   the probability with which it is replaced by the unknown word. */
static const int32_t *forms, *gold, *begins, *rows_of_form;
static const double *unknown;
static int32_t form_count;

/* Memory of the present size of batches, and for those of larger ones after it. */
static void *taken[64];
static int taken_count;
static int64_t most_tokens, most_sentences, most_words;

static void *room(int64_t count, size_t size) {
    void *memory = calloc((size_t)(count ? count : 1), size);
    if (memory == NULL) __builtin_trap();
    return memory;
}
#define TAKE(field, count) (field = taken[taken_count++] = room(count, sizeof *(field)))

/* Room for the memory that kernels.h describes: see `_make_room` in training.py. */
static void make_room(int64_t N, int64_t B, int64_t U) {
    if (N <= most_tokens && B <= most_sentences && U <= most_words) return;
    while (taken_count > 0) free(taken[--taken_count]);
    N = most_tokens = 5 * (N > most_tokens ? N : most_tokens) / 4;
    B = most_sentences = 5 * (B > most_sentences ? B : most_sentences) / 4;
    U = most_words = 5 * (U > most_words ? U : most_words) / 4;
    const int64_t words = (1 + U) * step.wide, width = step.K * step.H, H = step.H, L = step.L, blocks = N / BLOCK + 2;
    TAKE(step.X, words), TAKE(step.noise, words), TAKE(step.dX, words), TAKE(step.rows, (1 + U) * width);
    TAKE(step.by_position, width * step.wide), TAKE(step.dby_position, width * step.wide);
    TAKE(step.Y, N * H), TAKE(step.slopes, N * H), TAKE(step.dhidden, N * H);
    TAKE(step.scores, N * L), TAKE(step.dscores, N * L), TAKE(step.partial, blocks * 2 * H);
    TAKE(step.transitions, L * L), TAKE(step.start, L), TAKE(step.end, L), TAKE(step.counts, blocks * L * L);
    TAKE(step.marginals, N * L), TAKE(step.log_partition, B), TAKE(step.losses, B), TAKE(step.exact, B);
    TAKE(step.ids, N), TAKE(step.local, B + blocks + 2);
    int64_t *of_batch;
    TAKE(of_batch, N), step.places = of_batch;
    TAKE(of_batch, N), step.gold = of_batch;
    TAKE(of_batch, B + 1), step.offsets = of_batch;
    for (int t = 0; t < TABLES; t++) {
        const int64_t count = U * tables[t].features;
        TAKE(of_batch, count), tables[t].ids = of_batch;
        TAKE(tables[t].rows, count), TAKE(tables[t].values, count * tables[t].width), TAKE(tables[t].sums, count * tables[t].width);
    }
}

static float *parameter(int number, int64_t count, int64_t columns) {
    adam_update *u = updates + number;
    const int64_t size = count * columns;
    u->count = u->table = count, u->columns = columns;
    u->value = room(size, sizeof *u->value), u->mean = room(size, sizeof *u->mean), u->square = room(size, sizeof *u->square);
    u->touches = room(count, sizeof *u->touches), u->settled = room(count, sizeof *u->settled);
    u->total = room(size, sizeof *u->total);
    u->g = gradients[number] = room(size, sizeof *u->g);
    return u->value;
}

/* A network with its first weights, drawn after `seed`. `sizes`: of each table its rows, their width and how many a word
   has; then the window, the hidden units and the labels. */
EXPORTED("begin") void begin_network(const int32_t *sizes, const uint8_t *forbidden, double input_dropout,
                                     double hidden_dropout, double clip) {
    for (int t = 0; t < TABLES; t++) {
        table_step *table = tables + t;
        table->V = sizes[3 * t], table->width = sizes[3 * t + 1], table->features = sizes[3 * t + 2], table->column = step.D;
        step.D += table->width * table->features;
        fill_uniformly(parameter(t, table->V, table->width), table->V * table->width, sqrt(3 * (1.0 / (double)table->width)));
        table->table = updates[t].value;
    }
    const int64_t D = step.D, K = step.K = sizes[6], H = step.H = sizes[7], L = step.L = sizes[8];
    step.padding = parameter(2, D, 1), step.W = parameter(3, H, K * D), step.b = parameter(4, H, 1);
    step.output_W = parameter(5, L, H), step.output_b = parameter(6, L, 1);
    step.transition_scores = parameter(7, L, L), step.start_scores = parameter(8, L, 1), step.end_scores = parameter(9, L, 1);
    fill_uniformly(updates[3].value, H * K * D, sqrt(6.0 / (double)(K * D + H)));
    fill_uniformly(updates[5].value, L * H, sqrt(6.0 / (double)(H + L)));
    float **given[] = {&step.dpadding, &step.dW, &step.db, &step.doutput_W, &step.doutput_b,
                       &step.dtransition_scores, &step.dstart_scores, &step.dend_scores};
    for (int i = TABLES; i < PARAMETERS; i++) *given[i - TABLES] = gradients[i];
    step.wide = D < 16 ? D : (D + 7) / 8 * 8, step.tables = tables, step.table_count = TABLES;
    step.product = (void *)product, step.activation = RELU, step.epsilon = 1e-5, step.forbidden = forbidden;
    step.input_dropped = (uint32_t)nearbyint(input_dropout * 4294967296.0);
    step.hidden_dropped = (uint32_t)nearbyint(hidden_dropout * 4294967296.0);
    adam.clip = clip;
}

EXPORTED("sentences") void enter_sentences(const int32_t *form_of_token, const int32_t *gold_labels,
                                           const int32_t *first_tokens, const int32_t *rows, const double *replaced,
                                           int32_t count) {
    forms = form_of_token, gold = gold_labels, begins = first_tokens, rows_of_form = rows, unknown = replaced;
    form_count = count;
}

/* Before an epoch: its parameters are averaged. */
EXPORTED("restart") void restart(void) {
    for (int i = 0; i < PARAMETERS; i++) {
        memset(updates[i].total, 0, (size_t)(updates[i].table * updates[i].columns) * sizeof *updates[i].total);
        memset(updates[i].settled, 0, (size_t)updates[i].table * sizeof *updates[i].settled);
    }
    adam.steps = 0;
}

/* The sentences `which` with their distinct forms, in rising order, some of them unknown words. */
static void enter(const int32_t *which, int32_t count) {
    int64_t N = 0, U = 0, *place = room(form_count, sizeof *place);
    for (int32_t i = 0; i < count; i++)
        for (int32_t t = begins[which[i]]; t < begins[which[i] + 1]; t++, N++) place[forms[t]] = 1;
    for (int32_t f = 0; f < form_count; f++) U += place[f];
    make_room(N, count, U);
    const int64_t features = tables[0].features + tables[1].features;
    int64_t *ids[] = {(int64_t *)tables[0].ids, (int64_t *)tables[1].ids};
    int64_t *places = (int64_t *)step.places, *labels = (int64_t *)step.gold, *offsets = (int64_t *)step.offsets;
    U = 0;
    for (int32_t f = 0; f < form_count; f++) {
        if (!place[f]) continue;
        const int32_t *rows = rows_of_form + f * features;
        for (int t = 0; t < TABLES; t++)
            for (int64_t x = 0; x < tables[t].features; x++) ids[t][U * tables[t].features + x] = *rows++;
        if (next_real() < unknown[f]) ids[0][U * tables[0].features] = 0;
        place[f] = U++;
    }
    N = 0;
    for (int32_t i = 0; i < count; i++) {
        offsets[i] = N;
        for (int32_t t = begins[which[i]]; t < begins[which[i] + 1]; t++, N++) places[N] = place[forms[t]], labels[N] = gold[t];
    }
    offsets[count] = N;
    free(place);
    const int64_t blocks = (N + BLOCK - 1) / BLOCK;
    step.N = N, step.B = count, step.U = U, step.share = 1.0 / count, step.block_tokens = (N + blocks - 1) / blocks;
    step.input_key = step.input_dropped ? next_64() : 0;
    step.hidden_key = step.hidden_dropped ? next_64() : 0;
}

/* One step on the sentences `which`, after `seed`; the mean loss before it, or NaN where it is not finite or the labels are
   impossible. The tables of words learn at another rate. */
EXPORTED("step") double learn_from(const int32_t *which, int32_t count, double rate, double word_rate) {
    enter(which, count);
    tagger_step *taggers[] = {&step};
    post_step(&alone, taggers, 1, NULL);
    if (join_step(&alone) != DONE) return NAN;
    for (int i = 0; i < PARAMETERS; i++) updates[i].rate = i < TABLES ? word_rate : rate;
    for (int t = 0; t < TABLES; t++) updates[t].g = tables[t].sums, updates[t].rows = tables[t].rows, updates[t].count = tables[t].found;
    adam.squares = room(adam_units(updates, PARAMETERS), sizeof *adam.squares);
    post_step(&alone, NULL, 0, &adam);
    const int code = join_step(&alone);
    free(adam.squares);
    adam.steps++;
    return code == DONE ? step.loss * step.share : NAN;
}

/* The mean of a parameter over the steps of the epoch; its gradient in the last step. Valid until the next call. */
EXPORTED("mean") const float *mean_of(int32_t number) {
    const adam_update *u = updates + number;
    float *means = gradients[number];
    for (int64_t r = 0; r < u->table; r++)
        for (int64_t i = r * u->columns; i < (r + 1) * u->columns; i++)
            means[i] = adam.steps == 0 ? u->value[i]
                                       : (float)((u->total[i] + (double)(adam.steps - u->settled[r]) * (double)u->value[i]) / (double)adam.steps);
    return means;
}

EXPORTED("gradient") const float *gradient_of(int32_t number) {
    const adam_update *u = updates + number;
    if (number < TABLES) {
        memset(gradients[number], 0, (size_t)(u->table * u->columns) * sizeof **gradients);
        for (int64_t r = 0; r < u->count; r++)
            memcpy(gradients[number] + u->rows[r] * u->columns, u->g + r * u->columns, (size_t)u->columns * sizeof **gradients);
    }
    return gradients[number];
}

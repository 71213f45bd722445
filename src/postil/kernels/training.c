/* One step of training a tagger: windows over distinct words, residual convolutions, a CRF, and Adam; see kernels.h.

   phase 0  vectors of the distinct words and their characters, the first layer's weights by position, the CRF's tables
   phase 1  what each word adds to the windows around it: X W_kᵀ for every position k
   phase 2  sentences, some at a time: forwards through all other layers, forward-backward, backwards to the first layer
   phase 3  what the windows give back to their words
   phase 4  gradients of the words, of all weights over all tokens, of the feature tables, added up per row, and of the
            characters
   phase 5  squares of all gradients
   phase 6  Adam

   Networks that learn from the same batch (an ensemble) go through the phases together: there is more to share out.

   The general path computes the same with the flow graph: tests hold the two together. */

#define _POSIX_C_SOURCE 200112L /* sched_yield, nanosleep */
#include <math.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "kernels.h"
#include "portable.h"
#include "spellings.h"

enum { NO_TRANS = 111, TRANS = 112 };
/* BLAS rearranges its operands in each call: larger units do so less often, smaller ones share the work better. */
enum { ROWS_AT_ONCE = 160, COLUMNS_AT_ONCE = 320, WORDS_AT_ONCE = 64, NUMBERS_AT_ONCE = 16384 };
static const double LARGEST_SCORE = 1e30; /* as in objectives/crf.py */

/* ------------------------------------------------------------------------------------------------ a team of workers */

#if defined(__wasm__) /* one thread: nobody waits */
INLINED void pause_briefly(int *turns) { (void)turns; }
#else
INLINED void pause_briefly(int *turns) {
    if (++*turns > 2000) {
        const struct timespec briefly = {0, 100000};
        if (*turns < 6000)
            sched_yield();
        else
            nanosleep(&briefly, NULL);
        return;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}
#endif

static void fail(team *workers, int code) {
    if (code != DONE) __atomic_store_n(&workers->code, code, __ATOMIC_RELEASE);
}

/* After a failure the units that are left do nothing. */
INLINED int has_failed(const team *workers) { return __atomic_load_n(&workers->code, __ATOMIC_ACQUIRE) != DONE; }

#define IN_PHASE(workers, phase, units, WORK)                                                                          \
    do {                                                                                                               \
        for (int64_t unit; (unit = __atomic_fetch_add(&(workers)->next[phase], 1, __ATOMIC_ACQ_REL)) < (units);) {     \
            if (!has_failed(workers)) WORK;                                                                            \
            __atomic_fetch_add(&(workers)->done[phase], 1, __ATOMIC_ACQ_REL);                                          \
        }                                                                                                              \
        for (int turns = 0; __atomic_load_n(&(workers)->done[phase], __ATOMIC_ACQUIRE) < (units);)                     \
            pause_briefly(&turns);                                                                                     \
    } while (0)

/* Wait for others: for units that come before this one, so that somebody has them, and which wait for nobody. False
   where something failed. */
INLINED int wait_until(const team *workers, const int32_t *count, int32_t is_at_least) {
    for (int turns = 0; __atomic_load_n(count, __ATOMIC_ACQUIRE) < is_at_least; pause_briefly(&turns))
        if (has_failed(workers)) return 0;
    return 1;
}

/* Part i of n things cut into `parts` parts of about the same size. */
INLINED int64_t cut(int64_t n, int64_t i, int64_t parts) { return n * i / parts; }
INLINED int64_t parts_of(int64_t n, int64_t size) { return n > size ? (n + size - 1) / size : 1; }

/* ------------------------------------------------------------------------------------------------ products, sums */

static void multiply(const tagger_step *s, int trans_A, int trans_B, int64_t m, int64_t n, int64_t k, const float *A,
                     int64_t a, const float *B, int64_t b, float *C, int64_t c) {
    if (m > 0 && n > 0) matrix_product(s->product, s->wide_integers, trans_A, trans_B, m, n, k, A, a, B, b, C, c);
}

static void add_columns(const float *X, int64_t N, int64_t H, float *restrict out) {
    memset(out, 0, (size_t)H * sizeof *out);
    for (int64_t n = 0; n < N; n++)
        for (int64_t h = 0; h < H; h++) out[h] += X[n * H + h];
}

/* The key of random_bits (layers.c) for which element 0 is element `first` of another key. */
INLINED uint64_t moved_key(uint64_t key, int64_t first) {
    return (key & ~UINT64_C(0xFFFFFFFF)) | (uint32_t)((uint32_t)key + (uint32_t)first * UINT32_C(0x9E3779B9));
}

/* ------------------------------------------------------------------------------------------------ words */

/* The column of X where the vectors of characters begin. */
INLINED int64_t first_filter(const tagger_step *s) {
    return s->D - s->extra_dim - (s->characters != NULL ? s->characters->F : 0);
}

/* What each character adds to the windows around it, once for all words. */
static void begin_characters(tagger_step *s) {
    character_step *c = s->characters;
    const int64_t n = 1 + c->V, width = c->size * c->F;
    order_filters(c);
    multiply(s, NO_TRANS, TRANS, n, width, c->D, c->vectors, c->D, c->by_position, c->D, c->rows, width);
    if (!isfinite(sum_of_squares(c->rows, 1, n * width))) fail(s->workers, NOT_PLAIN); /* a maximum could hide NaN */
    __atomic_store_n(&c->are_ready, 1, __ATOMIC_RELEASE);
}

static void learn_characters(tagger_step *s) {
    character_step *c = s->characters;
    const int64_t n = 1 + c->V, width = c->size * c->F;
    spell_back(c, s->U, s->dX + s->wide + first_filter(s), s->wide);
    multiply(s, TRANS, NO_TRANS, width, c->D, n, c->drows, width, c->vectors, c->D, c->dby_position, c->D);
    multiply(s, NO_TRANS, NO_TRANS, n, c->D, width, c->drows, width, c->by_position, c->D, c->dvectors, c->D);
    order_gradients(c);
}

static int look_up(const tagger_step *s, int64_t u, float *row) {
    for (int64_t g = 0; g < s->table_count; g++) {
        const table_step *t = s->tables + g;
        for (int64_t f = 0; f < t->features; f++) {
            const int64_t id = t->ids[u * t->features + f];
            if (id < 0 || id >= t->V) return WRONG_INDEX;
            memcpy(row + t->column + f * t->width, t->table + id * t->width, (size_t)t->width * sizeof *row);
        }
    }
    if (s->vector_dim) {
        const int64_t id = s->vector_ids[u], column = first_filter(s) - s->vector_dim;
        if (id < 0 || id >= s->vector_count) return WRONG_INDEX;
        memcpy(row + column, s->vectors + id * s->vector_dim, (size_t)s->vector_dim * sizeof *row);
    }
    if (s->characters != NULL && spell(s->characters, u, row + first_filter(s)) != DONE) return WRONG_INDEX;
    memset(row + s->D, 0, (size_t)(s->wide - s->D) * sizeof *row);
    return DONE;
}

/* Rows 1 + u of X for some words u, with their noise; row 0 stands for places beyond the sentence. */
static void look_up_words(tagger_step *s, int64_t first, int64_t end) {
    if (first == 0) {
        memcpy(s->X, s->padding, (size_t)s->D * sizeof *s->X);
        memset(s->X + s->D, 0, (size_t)(s->wide - s->D) * sizeof *s->X);
    }
    if (s->characters != NULL && !wait_until(s->workers, &s->characters->are_ready, 1)) return;
    for (int64_t u = first; u < end; u++) fail(s->workers, look_up(s, u, s->X + (1 + u) * s->wide));
    if (!s->input_dropped) return;
    const int64_t rows = s->wide == s->D ? end - first : 1; /* without a gap all rows are one */
    for (int64_t u = first; u < end; u += rows) {
        float *row = s->X + (1 + u) * s->wide;
        const uint64_t key = moved_key(s->input_key, u * s->D);
        fail(s->workers, activate(row, 1, NULL, IDENTITY, key, s->input_dropped, 1, rows * s->D, row,
                                   s->noise + (1 + u) * s->wide));
    }
}

/* The CRF's tables in float64, with -inf where a step is forbidden; scores as large as those are an error elsewhere. */
static void begin_chain(tagger_step *s) {
    const int64_t L = s->L, sizes[] = {L * L, L, L};
    const float *given[] = {s->transition_scores, s->start_scores, s->end_scores};
    double *tables[] = {s->transitions, s->start, s->end};
    const uint8_t *forbidden = s->forbidden;
    for (int i = 0; i < 3; i++) {
        double squares = 0.0;
        for (int64_t j = 0; j < sizes[i]; j++) {
            tables[i][j] = given[i][j];
            squares += tables[i][j] * tables[i][j];
        }
        if (!(squares <= LARGEST_SCORE * LARGEST_SCORE)) fail(s->workers, NOT_PLAIN);
        for (int64_t j = 0; j < sizes[i]; j++)
            if (forbidden[j]) tables[i][j] = -INFINITY;
        forbidden += sizes[i];
    }
}

enum { CHAIN, PLACES, FIRST_UNITS };  /* of begin_words, after the words */

/* Others wait for the characters: they come first. */
static void begin_words(tagger_step *s, int64_t unit) {
    if (s->characters != NULL && unit-- == 0) {
        begin_characters(s);
        return;
    }
    const int64_t parts = parts_of(s->U, WORDS_AT_ONCE), i = unit - s->K;
    if (unit < s->K)
        for (int64_t h = 0; h < s->H; h++) { /* the weights of one position */
            float *row = s->by_position + (unit * s->H + h) * s->wide;
            memcpy(row, s->W + (h * s->K + unit) * s->D, (size_t)s->D * sizeof *row);
            memset(row + s->D, 0, (size_t)(s->wide - s->D) * sizeof *row);
        }
    else if (i < parts)
        look_up_words(s, cut(s->U, i, parts), cut(s->U, i + 1, parts));
    else if (i - parts == CHAIN)
        begin_chain(s);
    else  /* PLACES */
        for (int64_t t = 0; t < s->N; t++) {
            if (s->places[t] < 0 || s->places[t] >= s->U) fail(s->workers, WRONG_INDEX);
            s->ids[t] = s->places[t] + 1;
        }
}

static void multiply_words(tagger_step *s, int64_t unit) {
    const int64_t n = 1 + s->U, width = s->K * s->H, parts = parts_of(n, ROWS_AT_ONCE);
    const int64_t strips = parts_of(width, COLUMNS_AT_ONCE), i = unit / strips, j = unit % strips;
    const int64_t first = cut(n, i, parts), count = cut(n, i + 1, parts) - first;
    const int64_t from = cut(width, j, strips), columns = cut(width, j + 1, strips) - from;
    multiply(s, NO_TRANS, TRANS, count, columns, s->wide, s->X + first * s->wide, s->wide,
             s->by_position + from * s->wide, s->wide, s->rows + first * width + from, width);
}

/* ------------------------------------------------------------------------------------------------ sentences */

/* Some sentences: those that begin in tokens [unit * block_tokens, (unit + 1) * block_tokens). */
typedef struct {
    int64_t unit, sentence, sentences, first, tokens;
    int64_t *offsets; /* of these sentences alone */
} block;

INLINED int64_t blocks_in(const tagger_step *s) { return parts_of(s->N, s->block_tokens); }

static block block_of(const tagger_step *s, int64_t unit) {
    block b = {.unit = unit};
    while (b.sentence < s->B && s->offsets[b.sentence] < unit * s->block_tokens) b.sentence++;
    while (b.sentence + b.sentences < s->B && s->offsets[b.sentence + b.sentences] < (unit + 1) * s->block_tokens)
        b.sentences++;
    b.first = s->offsets[b.sentence];
    b.tokens = s->offsets[b.sentence + b.sentences] - b.first;
    b.offsets = s->local + b.sentence + unit; /* one number more per block than sentences */
    for (int64_t i = 0; i <= b.sentences; i++) b.offsets[i] = s->offsets[b.sentence + i] - b.first;
    return b;
}

INLINED float *partial_of(const tagger_step *s, int64_t unit, int64_t which) {
    return s->partial + (unit * (3 * s->depth + 2) + which) * s->H;
}

static void add_rows(const float *restrict X, int64_t n, float *restrict out) {
    for (int64_t i = 0; i < n; i++) out[i] += X[i];
}

static void times_rows(const float *restrict dY, int64_t n, float *restrict slopes) {
    for (int64_t i = 0; i < n; i++) slopes[i] *= dY[i];
}

static void convolve(tagger_step *s, const block *b, const convolution_step *c, const float *X) {
    const int64_t H = s->H, at = b->first * H, n = b->tokens, width = s->K * H;
    fail(s->workers, normalise_rows(X + at, 1, c->gain, c->bias, s->epsilon, n, H, s->normed + at, c->Z + at,
                                     c->deviation + b->first));
    fail(s->workers, windows(s->normed + at, 1, c->padding, b->offsets, n, b->sentences, H, s->K, c->dilation,
                              c->windows + b->first * width));
    multiply(s, NO_TRANS, TRANS, n, H, width, c->windows + b->first * width, width, c->W, width, c->Y + at, H);
    fail(s->workers, activate(c->Y + at, 1, c->b, s->activation, moved_key(c->key, at), s->hidden_dropped, n, H,
                               c->Y + at, c->slopes + at));
    add_rows(X + at, n * H, c->Y + at);
}

/* dhidden becomes the gradient of the convolution's input, its slopes that of what the activation takes. */
static void convolve_back(tagger_step *s, const block *b, const convolution_step *c, int64_t which) {
    const int64_t H = s->H, at = b->first * H, n = b->tokens, width = s->K * H;
    times_rows(s->dhidden + at, n * H, c->slopes + at);
    multiply(s, NO_TRANS, NO_TRANS, n, width, H, c->slopes + at, H, c->W, width, s->dwindows + b->first * width, width);
    fail(s->workers, windows_back(s->dwindows + b->first * width, 1, b->offsets, n, b->sentences, H, s->K, c->dilation,
                                   s->dnormed + at, partial_of(s, b->unit, 3 * which + 2)));
    fail(s->workers, normalise_rows_back(s->dnormed + at, 1, c->Z + at, c->deviation + b->first, c->gain, n, H,
                                          s->normed + at, partial_of(s, b->unit, 3 * which),
                                          partial_of(s, b->unit, 3 * which + 1)));
    add_rows(s->normed + at, n * H, s->dhidden + at);
}

/* compare_with_gold() for a teacher instead of gold labels: the score of a sentence is what the teacher expects of it. */
static void compare_with_teacher(tagger_step *s, const block *b, double *counts) {
    const int64_t L = s->L;
    for (int64_t i = b->sentence; i < b->sentence + b->sentences; i++) {
        const int64_t first = s->offsets[i], last = s->offsets[i + 1] - 1;
        double score = 0.0;
        for (int64_t t = first; t <= last; t++)
            for (int64_t j = 0; j < L; j++) {
                const double expected = s->targets[t * L + j];
                s->marginals[t * L + j] -= expected;
                if (!(expected > 0.0)) continue; /* impossible labels have infinite scores */
                score += expected * (double)s->scores[t * L + j];
                if (t == first) score += expected * s->start[j];
                if (t == last) score += expected * s->end[j];
            }
        s->losses[i] = s->log_partition[i] - score;
        if (!s->exact[i] || !isfinite(score)) fail(s->workers, NOT_PLAIN);
    }
    if (b->sentence > 0) return;
    for (int64_t i = 0; i < L * L; i++) { /* the transitions of the whole batch are counted with its first sentence */
        counts[i] -= s->target_steps[i];
        if (s->target_steps[i] > 0.0) s->losses[0] -= s->target_steps[i] * s->transitions[i];
    }
    if (!isfinite(s->losses[0])) fail(s->workers, NOT_PLAIN);
}

/* What the model expects minus what the gold labels are, and the loss of each sentence. */
static void compare_with_gold(tagger_step *s, const block *b, double *counts) {
    const int64_t L = s->L;
    for (int64_t i = b->sentence; i < b->sentence + b->sentences; i++) {
        double score = 0.0;
        int64_t before = -1;
        for (int64_t t = s->offsets[i]; t < s->offsets[i + 1]; t++) {
            const int64_t y = s->gold[t];
            if (y < 0 || y >= L) {
                fail(s->workers, WRONG_INDEX);
                return;
            }
            score += (before < 0 ? s->start[y] : s->transitions[before * L + y]) + (double)s->scores[t * L + y];
            s->marginals[t * L + y] -= 1.0;
            if (before >= 0) counts[before * L + y] -= 1.0;
            before = y;
        }
        if (before >= 0) score += s->end[before];
        s->losses[i] = s->log_partition[i] - score;
        if (!s->exact[i] || !isfinite(score)) fail(s->workers, NOT_PLAIN); /* log space, or an error about the data */
    }
}

static void learn_block(tagger_step *s, int64_t unit) {
    const block b = block_of(s, unit);
    const int64_t H = s->H, L = s->L, at = b.first * H, n = b.tokens, norm = 3 * s->depth;
    double *counts = s->counts + unit * L * L;
    float *scores = s->scores + b.first * L;
    fail(s->workers, sum_windows(s->rows, 1 + s->U, s->K, H, s->ids + b.first, b.offsets, n, b.sentences, IDENTITY, 0,
                                  s->Y + at));
    fail(s->workers, activate(s->Y + at, 1, s->b, s->activation, moved_key(s->hidden_key, at), s->hidden_dropped, n, H,
                               s->Y + at, s->slopes + at));
    const float *top = s->Y;
    for (int64_t i = 0; i < s->depth; i++) convolve(s, &b, s->blocks + i, top), top = s->blocks[i].Y;
    if (s->gain != NULL) {
        fail(s->workers, normalise_rows(top + at, 1, s->gain, s->bias, s->epsilon, n, H, s->hidden + at, s->Z + at,
                                         s->deviation + b.first));
        top = s->hidden;
    }
    multiply(s, NO_TRANS, TRANS, n, L, H, top + at, H, s->output_W, H, scores, L);
    for (int64_t t = 0; t < n; t++)
        for (int64_t j = 0; j < L; j++) scores[t * L + j] += s->output_b[j];
    if (!(sum_of_squares(scores, 1, n * L) <= LARGEST_SCORE * LARGEST_SCORE)) fail(s->workers, NOT_PLAIN);
    if (has_failed(s->workers)) return;
    fail(s->workers, chain_moments(scores, 1, b.offsets, n, b.sentences, L, s->transitions, s->start, s->end,
                                    s->log_partition + b.sentence, s->marginals + b.first * L, counts,
                                    s->exact + b.sentence));
    (s->targets != NULL ? compare_with_teacher : compare_with_gold)(s, &b, counts);
    for (int64_t i = b.first * L; i < (b.first + n) * L; i++) s->dscores[i] = (float)(s->marginals[i] * s->share);
    float *dtop = s->gain != NULL ? s->dnormed : s->dhidden;
    multiply(s, NO_TRANS, NO_TRANS, n, H, L, s->dscores + b.first * L, L, s->output_W, H, dtop + at, H);
    if (s->gain != NULL)
        fail(s->workers, normalise_rows_back(dtop + at, 1, s->Z + at, s->deviation + b.first, s->gain, n, H,
                                              s->dhidden + at, partial_of(s, unit, norm), partial_of(s, unit, norm + 1)));
    for (int64_t i = s->depth - 1; i >= 0; i--) convolve_back(s, &b, s->blocks + i, i);
    times_rows(s->dhidden + at, n * H, s->slopes + at);
}

/* ------------------------------------------------------------------------------------------------ sums over sentences */

/* Part of spread_windows: one position, half of the columns. The first token of a word is copied, others are added to it:
   most words of a batch have but one. `seen` (1 + U,) notes which words have had theirs. */
static void spread_half(tagger_step *s, int64_t unit) {
    const int64_t k = unit / 2, from = unit % 2 ? s->H / 2 : 0, count = (unit % 2 ? s->H : s->H / 2) - from;
    const int64_t half = s->K / 2, width = s->K * s->H;
    float *out = s->rows + k * s->H + from;
    uint8_t *seen = calloc((size_t)(1 + s->U), 1);
    if (seen == NULL) {
        fail(s->workers, NO_MEMORY);
        return;
    }
    for (int64_t b = 0; b < s->B; b++)
        for (int64_t t = s->offsets[b]; t < s->offsets[b + 1]; t++) {
            const int64_t place = t + k - half, is_inside = place >= s->offsets[b] && place < s->offsets[b + 1];
            const int64_t word = is_inside ? s->ids[place] : 0;
            const float *restrict given = s->slopes + t * s->H + from;
            float *restrict row = out + word * width;
            if (seen[word])
                for (int64_t h = 0; h < count; h++) row[h] += given[h];
            else
                memcpy(row, given, (size_t)count * sizeof *row);
            seen[word] = 1;
        }
    for (int64_t u = 0; u <= s->U; u++)
        if (!seen[u]) memset(out + u * width, 0, (size_t)count * sizeof *out);
    free(seen);
}

static void add_partials(const tagger_step *s, int64_t which, int64_t blocks, float *out) {
    memcpy(out, partial_of(s, 0, which), (size_t)s->H * sizeof *out);
    for (int64_t i = 1; i < blocks; i++) add_rows(partial_of(s, i, which), s->H, out);
}

/* What is added up over blocks and sentences: norms, paddings, the chain, the loss. */
static void add_up(tagger_step *s) {
    const int64_t L = s->L, blocks = blocks_in(s);
    for (int64_t i = 0; i < s->depth; i++) {
        add_partials(s, 3 * i, blocks, s->blocks[i].dgain);
        add_partials(s, 3 * i + 1, blocks, s->blocks[i].dbias);
        add_partials(s, 3 * i + 2, blocks, s->blocks[i].dpadding);
    }
    if (s->gain != NULL) {
        add_partials(s, 3 * s->depth, blocks, s->dgain);
        add_partials(s, 3 * s->depth + 1, blocks, s->dbias);
    }
    for (int64_t i = 1; i < blocks; i++)
        for (int64_t j = 0; j < L * L; j++) s->counts[j] += s->counts[i * L * L + j];
    for (int64_t j = 0; j < L * L; j++) s->dtransition_scores[j] = (float)(s->counts[j] * s->share);
    for (int64_t j = 0; j < L; j++) {
        double first = 0.0, last = 0.0;
        for (int64_t b = 0; b < s->B; b++)
            if (s->offsets[b] < s->offsets[b + 1]) {
                first += s->marginals[s->offsets[b] * L + j];
                last += s->marginals[(s->offsets[b + 1] - 1) * L + j];
            }
        s->dstart_scores[j] = (float)(first * s->share), s->dend_scores[j] = (float)(last * s->share);
    }
    s->loss = 0.0;
    for (int64_t b = 0; b < s->B; b++) s->loss += s->losses[b];
}

/* ------------------------------------------------------------------------------------------------ gradients of words */

static void learn_words(tagger_step *s, int64_t unit, int64_t parts) {
    const int64_t width = s->K * s->H, n = 1 + s->U;
    const int64_t first = cut(n, unit, parts), end = cut(n, unit + 1, parts);
    multiply(s, NO_TRANS, NO_TRANS, end - first, s->wide, width, s->rows + first * width, width, s->by_position, s->wide,
             s->dX + first * s->wide, s->wide);
    if (first == 0) memcpy(s->dpadding, s->dX, (size_t)s->D * sizeof *s->dX);
    for (int64_t u = first > 0 ? first - 1 : 0; u < end - 1; u++) { /* as gradients of each feature's row */
        float *restrict row = s->dX + (1 + u) * s->wide;
        const float *restrict noise = s->noise + (1 + u) * s->wide;
        if (s->input_dropped)
            for (int64_t d = 0; d < s->D; d++) row[d] *= noise[d];
        for (int64_t g = 0; g < s->table_count; g++) {
            const table_step *t = s->tables + g;
            const int64_t of_word = t->features * t->width;
            memcpy(t->values + u * of_word, row + t->column, (size_t)of_word * sizeof *row);
        }
    }
    __atomic_fetch_add(&s->parts_done, 1, __ATOMIC_ACQ_REL);
}

/* ------------------------------------------------------------------------------------------------ gradients of weights */

enum { OUTPUT, FIRST_BIAS, SUMS, LAST_UNITS };  /* of learn_rest */

/* What others wait for comes first, then the largest units: what is left at the end is shared out best. */
static void learn_rest(tagger_step *s, int64_t unit) {
    const int64_t strips = parts_of(s->K * s->H, ROWS_AT_ONCE), parts = parts_of(1 + s->U, ROWS_AT_ONCE);
    const int64_t spellings = s->characters != NULL, H = s->H, width = s->K * H;
    if (unit < parts) {
        learn_words(s, unit, parts);
        return;
    }
    if ((unit -= parts) < strips) {
        const int64_t from = cut(width, unit, strips), to = cut(width, unit + 1, strips), K = s->K, D = s->D;
        float *dW = s->dby_position + from * s->wide;
        multiply(s, TRANS, NO_TRANS, to - from, s->wide, 1 + s->U, s->rows + from, width, s->X, s->wide, dW, s->wide);
        for (int64_t i = from; i < to; i++, dW += s->wide) /* row i: position i / H, output i % H */
            memcpy(s->dW + (i % H * K + i / H) * D, dW, (size_t)D * sizeof *dW);
        return;
    }
    if ((unit -= strips) < s->table_count + spellings) {
        if (!wait_until(s->workers, &s->parts_done, (int32_t)parts)) return; /* for the gradients of all words */
        table_step *t = s->tables + s->table_count - 1 - unit;
        if (unit < s->table_count)
            fail(s->workers, sums_of_occurrences(t->ids, s->U * t->features, t->values, 1, t->width, t->rows, t->sums,
                                                 &t->found));
        else
            learn_characters(s);
        return;
    }
    if ((unit -= s->table_count + spellings) < s->depth * s->K) {
        const convolution_step *c = s->blocks + unit / s->K;
        const int64_t at = unit % s->K * H;
        multiply(s, TRANS, NO_TRANS, H, H, s->N, c->slopes, H, c->windows + at, width, c->dW + at, width);
        if (at == 0) add_columns(c->slopes, s->N, H, c->db);
        return;
    }
    switch (unit - s->depth * s->K) {
    case OUTPUT:
        multiply(s, TRANS, NO_TRANS, s->L, H, s->N, s->dscores, s->L, s->gain != NULL ? s->hidden : s->Y, H, s->doutput_W, H);
        add_columns(s->dscores, s->N, s->L, s->doutput_b);
        break;
    case FIRST_BIAS: add_columns(s->slopes, s->N, H, s->db); break;
    default: add_up(s);  /* SUMS */
    }
}

/* ------------------------------------------------------------------------------------------------ phases */

static int64_t units_in(const tagger_step *s, int phase) {
    const int64_t words = parts_of(1 + s->U, ROWS_AT_ONCE), width = s->K * s->H, spellings = s->characters != NULL;
    switch (phase) {
    case 0: return spellings + s->K + parts_of(s->U, WORDS_AT_ONCE) + FIRST_UNITS;
    case 1: return words * parts_of(width, COLUMNS_AT_ONCE);
    case 2: return blocks_in(s);
    case 3: return 2 * s->K;
    default: return words + parts_of(width, ROWS_AT_ONCE) + s->table_count + spellings + s->depth * s->K + LAST_UNITS;
    }
}

static void work_in(const training_step *t, int phase, int64_t unit) {
    tagger_step *const *which = t->taggers;
    for (int64_t units; unit >= (units = units_in(*which, phase)); which++) unit -= units;
    switch (phase) {
    case 0: begin_words(*which, unit); break;
    case 1: multiply_words(*which, unit); break;
    case 2: learn_block(*which, unit); break;
    case 3: spread_half(*which, unit); break;
    default: learn_rest(*which, unit);
    }
}

/* ------------------------------------------------------------------------------------------------ Adam */

static int64_t units_of(const adam_update *u) {
    return u->count == 0 || u->columns == 0 ? 0 : parts_of(u->count * u->columns, NUMBERS_AT_ONCE);
}

int64_t adam_units(const adam_update *updates, int64_t count) {
    int64_t units = 0;
    for (int64_t i = 0; i < count; i++) units += units_of(updates + i);
    return units;
}

/* The update that a unit is part of, and the rows of its gradient. */
static const adam_update *part_of(const adam_steps_of *s, int64_t unit, int64_t *first, int64_t *rows) {
    const adam_update *u = s->updates;
    int64_t units;
    for (; unit >= (units = units_of(u)); u++) unit -= units;
    *first = cut(u->count, unit, units), *rows = cut(u->count, unit + 1, units) - *first;
    return u;
}

static void square(adam_steps_of *s, int64_t unit) {
    int64_t first, rows;
    const adam_update *u = part_of(s, unit, &first, &rows);
    s->squares[unit] = sum_of_squares(u->g + first * u->columns, 1, rows * u->columns);
}

static int step_rows(adam_steps_of *s, int64_t unit, double scale) {
    int64_t first, rows;
    const adam_update *u = part_of(s, unit, &first, &rows);
    const int64_t row = u->rows == NULL ? first : 0, at = row * u->columns; /* with rows, these say where */
    const int code =
        adam_step(u->value + at, 1, u->mean + at, u->square + at, u->touches + row, u->rows == NULL ? NULL : u->rows + first,
                   u->g + first * u->columns, rows, u->table - row, u->columns, u->rate, s->beta1, s->beta2, s->epsilon,
                   scale, u->total == NULL ? NULL : u->total + at, u->total == NULL ? NULL : u->settled + row, s->steps);
    return code == NOT_FINITE ? DONE : code; /* all rows change, or none */
}

/* Clip the gradients together and change all parameters. Where their norm is not finite nothing changes. */
static int adam_steps(adam_steps_of *s, team *workers) {
    const int64_t units = adam_units(s->updates, s->count);
    double total = 0.0;
    IN_PHASE(workers, GRADIENT_PHASES, units, square(s, unit));
    for (int64_t i = 0; i < units; i++) total += s->squares[i];
    const double norm = sqrt(total), scale = norm > s->clip ? s->clip / norm : 1.0;
    if (!isfinite(norm)) return NOT_FINITE;
    IN_PHASE(workers, GRADIENT_PHASES + 1, units, fail(workers, step_rows(s, unit, scale)));
    return __atomic_load_n(&workers->code, __ATOMIC_ACQUIRE);
}

/* ------------------------------------------------------------------------------------------------ a crew */

static int learn(training_step *t) {
    team *workers = &t->workers;
    for (int phase = 0; phase < GRADIENT_PHASES; phase++) {
        int64_t units = 0;
        for (int64_t i = 0; i < t->count; i++) units += units_in(t->taggers[i], phase);
        IN_PHASE(workers, phase, units, work_in(t, phase, unit));
    }
    if (has_failed(workers) || t->adam == NULL) return __atomic_load_n(&workers->code, __ATOMIC_ACQUIRE);
    return adam_steps(t->adam, workers);
}

void help(crew *c) {
    for (int64_t seen = 0;; seen++) {
        for (int turns = 0; __atomic_load_n(&c->posted, __ATOMIC_ACQUIRE) == seen; pause_briefly(&turns))
            if (__atomic_load_n(&c->stopped, __ATOMIC_ACQUIRE)) return;
        learn(&c->step);
        __atomic_fetch_add(&c->finished, 1, __ATOMIC_ACQ_REL);
    }
}

void stop(crew *c) { __atomic_store_n(&c->stopped, 1, __ATOMIC_RELEASE); }

void post_step(crew *c, tagger_step **taggers, int64_t count, adam_steps_of *adam) {
    c->step = (training_step){.taggers = taggers, .count = count, .adam = adam};
    for (int64_t i = 0; i < count; i++) {
        tagger_step *s = taggers[i];
        s->workers = &c->step.workers, s->parts_done = 0;
        if (s->characters != NULL) s->characters->are_ready = 0;
        if (longest_sentence(s->offsets, s->B, s->N) < 0 || s->N < 1 || s->U < 1) fail(s->workers, WRONG_OFFSETS);
    }
    __atomic_fetch_add(&c->posted, 1, __ATOMIC_ACQ_REL);
}

int join_step(crew *c) {
    const int code = learn(&c->step);
    const int64_t all = __atomic_load_n(&c->posted, __ATOMIC_ACQUIRE) * c->helpers;
    for (int turns = 0; __atomic_load_n(&c->finished, __ATOMIC_ACQUIRE) < all;) pause_briefly(&turns);
    return code;
}

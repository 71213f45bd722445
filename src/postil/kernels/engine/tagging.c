/* ------------------------------------------------------------------------------------------------ workspaces

   Two parts: what is kept from text to text (caches, and room for a piece of the network's layers), and room for one
   text, which grows where the workspace may grow. */

enum { SPELLING_ROOM = 4096 }; /* for a word as rules spell it; folded letters have at most three times the bytes */
enum { PIECE = 256, FAR = 8, WORDS_AT_ONCE = 32, WAYS_OF_ROWS = 8, LONGEST_CACHED = 40, CHUNK_BUCKETS = 4096 };
#ifndef POSTIL_CACHED_BYTES
#define POSTIL_CACHED_BYTES (64 << 20) /* of rows of words, at most; a workspace of fixed size has an eighth of it */
#endif

/* A word whose row is in the cache. Zeros: the place is free. Rows are given to places in the order in which words come:
   frequent words come early, and their rows lie on few pages of memory. */
typedef struct {
    uint64_t hash;
    int64_t used; /* the piece that last used it */
    int32_t size; /* 1 + bytes */
    int32_t row;  /* from 1; 0: the place has none yet */
    uint8_t word[LONGEST_CACHED];
} cached_word;

typedef struct {
    int64_t place, row; /* the token, and where its row goes */
} missing_word;

struct postil_workspace {
    const postil_model *model;
    void *owned, *text_owned; /* to be freed */
    size_t capacity;          /* bytes of a text; tokens are at most one more */
    int grows, labels_only;
    uint64_t seed;
    int64_t piece; /* number of the present one, from 1 */
    int64_t cached_bytes;
    void (*multiply)(const postil_workspace *w, const float *X, const float *W, int64_t n, int64_t D, int64_t H, float *Y);
    void *product; /* what `multiply`, Y (n, H) = X (n, D) W (D, H), calls, see engine.c; NULL both: multiply_rows does it */
    int wide_integers;

    uint8_t *chunks;
    cached_word *words;
    int64_t sets, width; /* of the cache; of a row: K * members * H */
    int64_t given;       /* rows that places of the cache have */
    float *rows;         /* (1 + cached + PIECE + 2 reach, width); row 0 is that of places beyond the sentence */
    missing_word *missing;
    uint64_t *hashes; /* (PIECE + 2 reach,) of the words of a piece */
    int64_t *cells_at_once, *ids, *piece_offsets;
    int32_t *features, *codes;
    float *X, *terms, *sums, *layer, *next, *windows, *maps;

    uint8_t *joined;
    int64_t *cells, *offsets, *path, *spans;
    postil_span *tokens;
    int32_t *sentences;
    float *scores, **head_scores; /* (N, L) of each task, one after the other; where those of each task begin */
    double *span_probabilities;
    double *evidence; /* (N, L) of the votes of rules */
    uint8_t *spelling;
    int64_t spelling_size;
    uint8_t *exact;
    int32_t *labels;
    double *probabilities, *whole;
    postil_entity *entities;
    postil_layer *layers;
    block_stack kernels;
    uint8_t *kernel_room;
    size_t kernel_size;
    void *tree;
    postil_workspace *cutters[2]; /* of the taggers that cut texts */
};

/* Places of arrays one after the other; without memory, only their size is measured. */
typedef struct {
    uint8_t *base;
    size_t used;
    int is_too_large;
} layout_plan;

static void *claimed(layout_plan *plan, int64_t count, size_t size) {
    const size_t first = (plan->used + 63) / 64 * 64;
    if (count < 0 || (uint64_t)count > (SIZE_MAX / 4 - first) / size) {
        plan->is_too_large = 1;
        return NULL;
    }
    plan->used = first + (size_t)count * size;
    return plan->base == NULL ? NULL : plan->base + first;
}

static int64_t piece_room(const postil_model *model) { return PIECE + 2 * model->reach; }

static void plan_cutter(const postil_model *model, layout_plan *plan, postil_workspace *w, postil_workspace **cutter);

static void plan_caches(const postil_model *model, layout_plan *plan, postil_workspace *w) {
    const int64_t n = piece_room(model), M = model->members, width = model->K * M * model->H;
    const int64_t sets = w->cached_bytes / (WAYS_OF_ROWS * (width * (int64_t)sizeof(float) + (int64_t)sizeof(cached_word)));
    w->width = width, w->sets = sets < 8 ? 8 : sets < 1 << 16 ? sets : 1 << 16;
    w->chunks = claimed(plan, CHUNK_BUCKETS * WAYS, sizeof(slot));
    w->words = claimed(plan, w->sets * WAYS_OF_ROWS, sizeof *w->words);
    w->rows = claimed(plan, (1 + w->sets * WAYS_OF_ROWS + n) * width, sizeof(float));
    w->missing = claimed(plan, n, sizeof *w->missing);
    w->hashes = claimed(plan, n, sizeof *w->hashes);
    w->cells_at_once = claimed(plan, 2 * WORDS_AT_ONCE, sizeof(int64_t));
    w->ids = claimed(plan, n, sizeof(int64_t));
    w->piece_offsets = claimed(plan, n + 2, sizeof(int64_t));
    w->features = claimed(plan, WORDS_AT_ONCE * (model->words.count + 1), sizeof(int32_t));
    w->codes = claimed(plan, WORDS_AT_ONCE * (model->lexicon_count + 1), sizeof(int32_t));
    w->X = claimed(plan, WORDS_AT_ONCE * model->D, sizeof(float));
    w->terms = claimed(plan, WORDS_AT_ONCE * model->K * model->H, sizeof(float));
    w->sums = claimed(plan, n * M * model->H, sizeof(float));
    w->layer = claimed(plan, n * model->widest, sizeof(float));
    w->next = claimed(plan, n * model->widest, sizeof(float));
    w->windows = claimed(plan, n * model->widest_windows, sizeof(float));
    w->maps = claimed(plan, n * 3 * (model->most_labels + VECTOR_OF_LABELS), sizeof(float));
    if (model->cuts.tagger != NULL) plan_cutter(model->cuts.tagger, plan, w, w->cutters);
    if (model->cuts.ends != NULL) plan_cutter(model->cuts.ends, plan, w, w->cutters + 1);
}

/* What kernels allocate on the way, at most, for a text of n bytes and N tokens. */
static int64_t kernel_bytes(const postil_model *model, int64_t n, int64_t N) {
    const int64_t L = model->most_labels, P = padded(L);
    const int64_t tokens = 16 * n, words = 8 * n, chain = (5 * L * P + 4 * P + 5 * N * P + 4 * (N + P) + N * L) * 8;
    const postil_model *const cutters[2] = {model->cuts.tagger, model->cuts.ends};
    int64_t cuts = 0;
    for (int k = 0; k < 2; k++)
        if (cutters[k] != NULL) cuts += kernel_bytes(cutters[k], n, N < LABELLED_ROOM ? N : LABELLED_ROOM);
    return tokens + words + chain + cuts + 8 * model->K + (model->folds == NULL ? 0 : 8 * FOLDED_ROOM) + 4096;
}

static void plan_text(const postil_model *model, layout_plan *plan, postil_workspace *w, int64_t n) {
    const int64_t N = n + 1, T = model->head_count;
    w->joined = claimed(plan, n + 1, 1);
    w->cells = claimed(plan, 2 * N, sizeof(int64_t));
    w->offsets = claimed(plan, N + 2, sizeof(int64_t));
    w->path = claimed(plan, N, sizeof(int64_t));
    w->spans = claimed(plan, 4 * N, sizeof(int64_t));
    w->tokens = claimed(plan, N, sizeof *w->tokens);
    w->sentences = claimed(plan, N + 2, sizeof(int32_t));
    w->scores = claimed(plan, N * model->all_labels, sizeof(float));
    w->head_scores = claimed(plan, T, sizeof *w->head_scores);
    w->span_probabilities = claimed(plan, N, sizeof(double));
    w->evidence = claimed(plan, N * model->voted_labels, sizeof(double));
    w->spelling_size = model->voted_labels > 0 ? 3 * n + SPELLING_ROOM : 0;
    w->spelling = claimed(plan, w->spelling_size, 1);
    w->exact = claimed(plan, N + 1, 1);
    w->labels = claimed(plan, N * T, sizeof(int32_t));
    w->probabilities = claimed(plan, N * T, sizeof(double));
    w->whole = claimed(plan, (N + 1) * T, sizeof(double));
    w->entities = claimed(plan, N * T, sizeof *w->entities);
    w->layers = claimed(plan, T, sizeof *w->layers);
    w->kernel_size = (size_t)kernel_bytes(model, n, N);
    w->kernel_room = w->grows ? NULL : claimed(plan, kernel_bytes(model, n, N), 1);
}

/* A tagger that cuts texts needs the same room for texts of any size: it gets them piece by piece. Its kernels
   allocate where those of the whole model do. */
static void plan_cutter(const postil_model *model, layout_plan *plan, postil_workspace *w, postil_workspace **cutter) {
    postil_workspace inner = {.cached_bytes = w->cached_bytes / 4, .labels_only = 1, .grows = 1};
    plan_caches(model, plan, &inner);
    plan_text(model, plan, &inner, LABELLED_ROOM);
    inner.grows = w->grows;
    *cutter = claimed(plan, 1, sizeof inner);
    if (*cutter != NULL) **cutter = inner;
}

static void plan_tree(const postil_model *model, layout_plan *plan, postil_workspace *w, int64_t n); /* trees.c */

/* Everything of a workspace of fixed size. */
static void plan_all(const postil_model *model, layout_plan *plan, postil_workspace *w, size_t max_bytes) {
    claimed(plan, 1, sizeof *w);
    if (model->kind == TREE_CLASSIFIER) {
        plan_tree(model, plan, w, (int64_t)max_bytes);
    } else {
        plan_caches(model, plan, w);
        plan_text(model, plan, w, (int64_t)max_bytes);
    }
}

enum { LONGEST_TEXT = INT32_MAX / 2 };

size_t postil_workspace_size(const postil_model *model, size_t max_bytes) {
    layout_plan plan = {NULL, 0, 0};
    postil_workspace w = {.cached_bytes = POSTIL_CACHED_BYTES / 8};
    if (model == NULL || max_bytes < 1 || max_bytes > LONGEST_TEXT) return 0;
    plan_all(model, &plan, &w, max_bytes);
    return plan.is_too_large ? 0 : plan.used + 64;
}

static void begin_workspace(const postil_model *model, postil_workspace *w) {
    w->model = model;
    w->seed = (uint64_t)(uintptr_t)w * 0x9e3779b97f4a7c15u;
    if (model->kind == TREE_CLASSIFIER) return;
    if (!w->grows) { /* else the memory is zeros already, which cost nothing until they are used */
        memset(w->chunks, 0, (size_t)CHUNK_BUCKETS * WAYS * sizeof(slot));
        memset(w->words, 0, (size_t)(w->sets * WAYS_OF_ROWS) * sizeof *w->words);
    }
    for (int64_t m = 0; m < model->members; m++) /* members stand side by side, position by position */
        for (int64_t k = 0; k < model->K; k++)
            memcpy(w->rows + (k * model->members + m) * model->H, model->network[m].padding + k * model->H,
                   (size_t)model->H * sizeof(float));
    if (w->cutters[0] != NULL) begin_workspace(model->cuts.tagger, w->cutters[0]);
    if (w->cutters[1] != NULL) begin_workspace(model->cuts.ends, w->cutters[1]);
}

int postil_workspace_place(const postil_model *model, size_t max_bytes, void *memory, size_t size,
                           postil_workspace **workspace) {
    const size_t needed = postil_workspace_size(model, max_bytes);
    if (workspace == NULL || memory == NULL || needed == 0 || size < needed || (uintptr_t)memory % 64)
        return POSTIL_WRONG_ARGUMENT;
    postil_workspace *w = memory;
    layout_plan plan = {memory, 0, 0};
    *w = (postil_workspace){.cached_bytes = POSTIL_CACHED_BYTES / 8};
    plan_all(model, &plan, w, max_bytes);
    w->capacity = max_bytes;
    begin_workspace(model, w);
    *workspace = w;
    return POSTIL_OK;
}

static uint8_t *on_line(void *memory) { return (uint8_t *)(((uintptr_t)memory + 63) & ~(uintptr_t)63); }

/* A workspace that grows with the texts. */
static int grown_workspace(const postil_model *model, int64_t cached_bytes, postil_workspace **workspace) {
    postil_workspace measured = {.grows = 1, .cached_bytes = cached_bytes};
    layout_plan plan = {NULL, 0, 0};
    claimed(&plan, 1, sizeof measured);
    if (model->kind == TAGGER) plan_caches(model, &plan, &measured);
    void *memory = plan.is_too_large ? NULL : calloc(1, plan.used + 128);
    if (memory == NULL) return POSTIL_NO_MEMORY;
#ifdef PREFER_LARGE_PAGES
    PREFER_LARGE_PAGES(memory, plan.used);
#endif
    postil_workspace *w = (postil_workspace *)(void *)on_line(memory);
    *w = measured;
    plan.base = (uint8_t *)w, plan.used = 0;
    claimed(&plan, 1, sizeof *w);
    if (model->kind == TAGGER) plan_caches(model, &plan, w);
    w->owned = memory;
    begin_workspace(model, w);
    *workspace = w;
    return POSTIL_OK;
}

int postil_workspace_new(const postil_model *model, size_t max_bytes, postil_workspace **workspace) {
    if (model == NULL || workspace == NULL || max_bytes > LONGEST_TEXT) return POSTIL_WRONG_ARGUMENT;
    *workspace = NULL;
    if (max_bytes > 0) {
        const size_t size = postil_workspace_size(model, max_bytes);
        void *memory = size > 0 ? malloc(size + 64) : NULL;
        if (memory == NULL) return POSTIL_NO_MEMORY;
        const int code = postil_workspace_place(model, max_bytes, on_line(memory), size, workspace);
        if (code == POSTIL_OK)
            (*workspace)->owned = memory;
        else
            free(memory);
        return code;
    }
    return grown_workspace(model, POSTIL_CACHED_BYTES, workspace);
}

void postil_workspace_free(postil_workspace *workspace) {
    if (workspace == NULL) return;
    free(workspace->text_owned);
    free(workspace->owned);
}

void postil_workspace_labels_only(postil_workspace *workspace, int only) {
    if (workspace != NULL) workspace->labels_only = only != 0;
}

/* Room for a text of `size` bytes. */
static int make_text_room(postil_workspace *w, size_t size) {
    if (size <= w->capacity && w->capacity > 0) return POSTIL_OK;
    if (!w->grows || size > LONGEST_TEXT) return POSTIL_TOO_LONG;
    size_t capacity = 2 * w->capacity > 256 ? 2 * w->capacity : 256;
    if (capacity > LONGEST_TEXT || capacity < size) capacity = size;
    void (*plan_room)(const postil_model *, layout_plan *, postil_workspace *, int64_t) =
        w->model->kind == TREE_CLASSIFIER ? plan_tree : plan_text;
    postil_workspace measured = *w;
    layout_plan plan = {NULL, 0, 0};
    plan_room(w->model, &plan, &measured, (int64_t)capacity);
    void *memory = plan.is_too_large ? NULL : malloc(plan.used + 128);
    if (memory == NULL) return POSTIL_NO_MEMORY;
    free(w->text_owned);
    w->text_owned = memory, w->capacity = capacity;
    plan.base = on_line(memory), plan.used = 0;
    plan_room(w->model, &plan, w, (int64_t)capacity);
    return POSTIL_OK;
}

static void begin_kernels(postil_workspace *w) {
    w->kernels.base = w->kernel_room, w->kernels.size = w->kernel_size, w->kernels.used = 0, w->kernels.top = NO_BLOCK;
    kernel_memory = w->kernel_room == NULL ? NULL : &w->kernels;
}

static int error_of(int kernel_code) {
    switch (kernel_code) {
        case DONE: return POSTIL_OK;
        case NOT_UTF8: return POSTIL_NOT_UTF8;
        case TOO_LONG: return POSTIL_TOO_HARD;
        case NO_MEMORY: return POSTIL_NO_MEMORY;
        case NOT_FINITE: return POSTIL_NOT_FINITE;
    }
    return POSTIL_WRONG_ARGUMENT;
}

/* ------------------------------------------------------------------------------------------------ rows of words */

static float from_half(uint16_t half) {
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 1023;
    uint32_t bits_of;
    float value;
    if (exponent == 0) { /* a denormal one: fraction / 2^24 */
        value = (float)fraction * 5.9604644775390625e-08f;
        return sign ? -value : value;
    }
    bits_of = sign | (exponent + 112) << 23 | fraction << 13;
    memcpy(&value, &bits_of, sizeof value);
    return value;
}

static float *append_row(const number_table *table, int64_t row, float *out) {
    const int64_t width = table->width;
    if (table->values != NULL) {
        memcpy(out, table->values + row * width, (size_t)width * sizeof *out);
    } else if (table->halves != NULL) {
        for (int64_t d = 0; d < width; d++) out[d] = from_half(table->halves[row * width + d]);
    } else {
        const coded_rows *rows = row < table->first.rows ? &table->first : &table->rest;
        const uint8_t *codes = rows->codes + (row - (rows == &table->rest ? table->first.rows : 0)) * rows->bytes;
        memcpy(out, rows->pieces + codes[0] * width, (size_t)width * sizeof *out);
        for (int64_t m = 1; m < rows->bytes; m++) {
            const float *piece = rows->pieces + (m * PIECES + codes[m]) * width;
            for (int64_t d = 0; d < width; d++) out[d] += piece[d];
        }
    }
    return out + width;
}

/* tanh of the largest value of each filter over the characters of a word: of a long one the first and the last. */
static float *append_letters(const postil_model *model, const network_member *member, const uint8_t *word, int64_t size,
                             float *out) {
    const int64_t F = model->filters;
    int64_t head[MOST_LETTERS / 2], tail[MOST_LETTERS / 2], letters[MOST_LETTERS + 2], count = 0, shown;
    uint32_t code = 0;
    for (int64_t at = 0; at < size; count++) {
        const int bytes = decode(word + at, word + size, &code);
        if (bytes == 0) break;
        const int32_t *found = row_with(model->letter_codes, model->alphabet, 1, (int32_t)code, 0, 1);
        const int64_t row = found == NULL ? 1 : 1 + model->letter_ids[found - model->letter_codes]; /* 1: it has no id */
        if (count < MOST_LETTERS / 2)
            head[count] = row;
        else
            tail[(count - MOST_LETTERS / 2) % (MOST_LETTERS / 2)] = row;
        at += bytes;
    }
    shown = count < MOST_LETTERS ? count : MOST_LETTERS;
    letters[0] = letters[shown + 1] = 0;
    for (int64_t i = 0; i < shown; i++) /* the tail is a ring */
        letters[1 + i] = i < MOST_LETTERS / 2 ? head[i] : tail[(count - shown + i - MOST_LETTERS / 2) % (MOST_LETTERS / 2)];
    for (int64_t f = 0; f < F; f++) {
        float top = 0.0f;
        for (int64_t i = 0; i < shown; i++) {
            const float *a = member->letters + letters[i] * 3 * F, *b = member->letters + letters[i + 1] * 3 * F + F;
            const float *c = member->letters + letters[i + 2] * 3 * F + 2 * F, z = a[f] + b[f] + c[f] + member->letter_bias[f];
            top = i == 0 || z > top ? z : top;
        }
        out[f] = shown ? tanhf(top) : 0.0f;
    }
    return out + F;
}

/* The vectors (count, D) of words in cells for one member. */
static void word_vectors(postil_workspace *w, const network_member *member, const uint8_t *text, int64_t count) {
    const postil_model *model = w->model;
    const int64_t columns = model->words.count, learnt = columns - model->has_vectors;
    for (int64_t u = 0; u < count; u++) {
        const int32_t *ids = w->features + u * columns;
        float *x = w->X + u * model->D;
        int64_t f = 0;
        for (; f < learnt; f++) x = append_row(member->tables + f, ids[f], x);
        for (int64_t i = 0; i < model->lexicon_count; i++) {
            const word_lexicon *lexicon = model->lexicons + i;
            const uint16_t *codes = lexicon->codes + w->codes[i * WORDS_AT_ONCE + u] * lexicon->columns;
            for (int64_t k = 0; k < lexicon->columns; k++) x = append_row(member->tables + f++, codes[k], x);
        }
        const int64_t bytes = model->vectors.width * (int64_t)sizeof(float), first = model->has_vectors ? ids[learnt] * bytes : 0;
        if (model->touched != NULL) model->touched[first >> 16] = model->touched[(first + bytes - 1) >> 16] = 1;
        if (model->has_vectors) x = append_row(&model->vectors, ids[learnt], x);
        if (model->filters > 0) {
            const int64_t *cell = w->cells_at_once + 2 * u;
            append_letters(model, member, text + cell[0], cell[1] - cell[0], x);
        }
    }
}

/* The rows of words that have none: what they add to the first layer at each position. */
static int compute_rows(postil_workspace *w, const uint8_t *text, int64_t size, const int64_t *cells,
                        const missing_word *missing, int64_t count) {
    const postil_model *model = w->model;
    const int64_t M = model->members, K = model->K, H = model->H;
    for (int64_t u = 0; u < count; u++) memcpy(w->cells_at_once + 2 * u, cells + 2 * missing[u].place, 2 * sizeof *cells);
    int code = word_features(text, size, w->cells_at_once, count, &model->words, &model->known, w->features);
    for (int64_t i = 0; i < model->lexicon_count && code == DONE; i++)
        code = word_features(text, size, w->cells_at_once, count, &model->lexicons[i].rules, &model->known,
                             w->codes + i * WORDS_AT_ONCE);
    if (code != DONE) return error_of(code);
    for (int64_t m = 0; m < M; m++) {
        const network_member *member = model->network + m;
        word_vectors(w, member, text, count);
        multiply_rows(w->X, member->first.W, member->first.b, count, model->D, K * H, w->terms);
        for (int64_t u = 0; u < count; u++)
            for (int64_t k = 0; k < K; k++)
                memcpy(w->rows + missing[u].row * w->width + (k * M + m) * H, w->terms + (u * K + k) * H,
                       (size_t)H * sizeof(float));
    }
    return POSTIL_OK;
}

/* The first place of the set of a word: hashes spread evenly over all sets. */
static int64_t set_of(const postil_workspace *w, uint64_t h) {
    return (int64_t)((h >> 32) * (uint64_t)w->sets >> 32) * WAYS_OF_ROWS;
}

/* Where in its set the search for a word begins: most words are found at once. */
static int64_t way_of(uint64_t h) { return (int64_t)(h % WAYS_OF_ROWS); }

/* The row of a word: that of the cache, or where it is to be computed. */
static int64_t row_of_word(postil_workspace *w, const uint8_t *word, int64_t size, uint64_t h, int64_t *spare,
                           int *is_missing) {
    const int64_t cached = w->sets * WAYS_OF_ROWS;
    *is_missing = 1;
    if (size > LONGEST_CACHED) return 1 + cached + (*spare)++;
    const int64_t first = set_of(w, h), way = way_of(h);
    int64_t oldest = first + way;
    for (int64_t n = 0; n < WAYS_OF_ROWS; n++) {
        const int64_t i = first + (way + n) % WAYS_OF_ROWS;
        cached_word *at = w->words + i;
        if (at->hash == h && at->size == 1 + size && memcmp(at->word, word, (size_t)size) == 0) {
            at->used = w->piece, *is_missing = 0;
            return at->row;
        }
        if (at->used < w->words[oldest].used) oldest = i;
    }
    cached_word *at = w->words + oldest;
    if (at->used == w->piece) return 1 + cached + (*spare)++; /* all of them stand in this piece */
    if (at->row == 0) at->row = (int32_t)++w->given;
    at->hash = h, at->size = (int32_t)(1 + size), at->used = w->piece;
    memcpy(at->word, word, (size_t)size);
    return at->row;
}

/* The row of one word, if folding changes it; else *is_missing stays. */
static int compute_folded_row(postil_workspace *w, const uint8_t *word, int64_t size, int64_t row, int *is_missing) {
    uint8_t folded[FOLDED_ROOM];
    const word_folds *folds = w->model->folds;
    if (folds == NULL) return POSTIL_OK;
    const int64_t cell[2] = {0, folded_word(folds, word, size, folded)};
    const missing_word missing = {0, row};
    if (cell[1] < 0 || (cell[1] == size && memcmp(folded, word, (size_t)size) == 0)) return POSTIL_OK;
    *is_missing = 0;
    return compute_rows(w, folded, cell[1], cell, &missing, 1);
}

/* ids (n,): the rows of the tokens of a piece. */
static int look_up(postil_workspace *w, const uint8_t *text, int64_t size, const int64_t *cells, int64_t n) {
    int64_t spare = 0, count = 0;
    int is_missing, code = POSTIL_OK;
    w->piece++;
    for (int64_t t = 0; t < n; t++) {
        const int64_t bytes = cells[2 * t + 1] - cells[2 * t];
        w->hashes[t] = bytes > LONGEST_CACHED ? 0 : hash_of(text + cells[2 * t], bytes, w->seed);
        __builtin_prefetch(w->words + set_of(w, w->hashes[t]) + way_of(w->hashes[t]));
    }
    for (int64_t t = 0; t < n; t++) {
        w->ids[t] = row_of_word(w, text + cells[2 * t], cells[2 * t + 1] - cells[2 * t], w->hashes[t], &spare, &is_missing);
        if (is_missing && code == POSTIL_OK)
            code = compute_folded_row(w, text + cells[2 * t], cells[2 * t + 1] - cells[2 * t], w->ids[t], &is_missing);
        if (is_missing) w->missing[count].place = t, w->missing[count++].row = w->ids[t];
    }
    for (int64_t first = 0; first < count && code == POSTIL_OK; first += WORDS_AT_ONCE) {
        const int64_t some = count - first < WORDS_AT_ONCE ? count - first : WORDS_AT_ONCE;
        code = compute_rows(w, text, size, cells, w->missing + first, some);
    }
    if (code != POSTIL_OK) { /* words whose rows were not computed are not known */
        memset(w->words, 0, (size_t)(w->sets * WAYS_OF_ROWS) * sizeof *w->words);
        w->given = 0;
    }
    return code;
}

/* ------------------------------------------------------------------------------------------------ layers */

static void activate_rows(float *x, int64_t count, int64_t function) {
    if (function == IDENTITY) return;
    for (int64_t i = 0; i < count && function <= HARDTANH; i++) x[i] = activated(x[i], (int)function);
    for (int64_t i = 0; i < count && function > HARDTANH; i++) {
        const float z = x[i];
        switch (function) {
            case TANH: x[i] = tanhf(z); break;
            case SIGMOID: {
                const float power = expf(-fabsf(z)), share = 1.0f / (1.0f + power);
                x[i] = z >= 0.0f ? share : power * share;
                break;
            }
            case SOFTSIGN: x[i] = z * (1.0f / (1.0f + fabsf(z))); break;
            default: x[i] = z > 0.0f ? z : z * 0.01f; /* LEAKY_RELU */
        }
    }
}

static void apply_map(const linear_map *map, const float *X, int64_t n, float *out) {
    multiply_rows(X, map->W, map->b, n, map->inputs, map->outputs, out);
}

enum { LEAST_FOR_BLAS = 1 << 12 }; /* weights; with fewer the kernel is as fast, and has the same bits everywhere */

/* f(X W + b), added to `out` or instead of it; `room` is as large as out. */
static void apply_layer(const postil_workspace *w, const linear_map *map, const float *X, int64_t n, int64_t function,
                        int add, float *room, float *out) {
    const int64_t D = map->inputs, H = map->outputs;
    const int is_simple = function <= HARDTANH;
    float *Y = add ? room : out;
    if (w->multiply != NULL && D * H >= LEAST_FOR_BLAS) {
        w->multiply(w, X, map->W, n, D, H, Y);
        add_bias(Y, map->b, n, H, is_simple ? (int)function : IDENTITY, is_simple && add, is_simple ? out : Y);
        if (is_simple) return;
    } else {
        apply_map(map, X, n, Y);
    }
    activate_rows(Y, n * H, function);
    if (add)
        for (int64_t i = 0; i < n * H; i++) out[i] += Y[i];
}

/* One layer of one member on n rows; the result is in w->layer again. */
static void apply_step(postil_workspace *w, const network_step *step, int64_t n, const int64_t *offsets, int64_t B,
                       int64_t *width) {
    const int64_t whole[2] = {0, n}, H = *width;
    float *const swapped = w->layer;
    switch (step->kind) {
        case LINEAR:
            apply_layer(w, &step->map, w->layer, n, IDENTITY, 0, NULL, w->next);
            w->layer = w->next, w->next = swapped, *width = step->map.outputs;
            break;
        case ACTIVATE: activate_rows(w->layer, n * H, step->function); break;
        case NORMALISE:
            normalise_windows(w->layer, step->gain, step->bias, step->bias, whole, n, 1, H, 1, 1, LAYER_NORM_EPSILON, w->layer);
            break;
        default:
            normalise_windows(w->layer, step->gain, step->bias, step->padding, offsets, n, B, H, step->size,
                              step->dilation, LAYER_NORM_EPSILON, w->windows);
            apply_layer(w, &step->map, w->windows, n, step->function, 1, w->next, w->layer);
    }
}

/* The mean of a window has as many words as there are. */
static void share_sums(const int64_t *offsets, int64_t B, int64_t half, int64_t width, float *sums) {
    for (int64_t b = 0; b < B; b++)
        for (int64_t t = offsets[b]; t < offsets[b + 1]; t++) {
            const int64_t before = t - offsets[b] < half ? t - offsets[b] : half;
            const int64_t after = offsets[b + 1] - 1 - t < half ? offsets[b + 1] - 1 - t : half;
            const float share = 1.0f / (float)(before + after + 1);
            for (int64_t h = 0; h < width; h++) sums[t * width + h] *= share;
        }
}

/* Add the scores of one member to those of the tokens left:right of a piece; out is the row of `left`. */
static void add_scores(postil_workspace *w, const task_head *head, int64_t m, int64_t n, const int64_t *offsets, int64_t B,
                       int64_t left, int64_t right, float *out) {
    const int64_t L = head->L, wide = head->maps > 0 ? head->wide : L;
    const float *maps[3] = {w->layer, NULL, NULL};
    for (int64_t i = 0; i < head->maps; i++) {
        float *map = w->maps + i * n * wide;
        apply_map(head->outputs + m * head->maps + i, w->layer, n, map);
        maps[i] = map;
    }
    for (int64_t t = left; t < right && head->maps < 3; t++) {
        const float *scores = maps[0] + t * wide;
        float *row = out + (t - left) * L;
        for (int64_t j = 0; j < L; j++) row[j] = m == 0 ? scores[j] : row[j] + scores[j];
    }
    for (int64_t b = 0; b < B && head->maps == 3; b++)
        for (int64_t t = offsets[b]; t < offsets[b + 1]; t++) {
            if (t < left || t >= right) continue;
            float *row = out + (t - left) * L;
            for (int64_t j = 0; j < L; j++) {
                float score = maps[0][t * wide + j];
                score += t > offsets[b] ? maps[1][(t - 1) * wide + j] : 0.0f;
                score += t + 1 < offsets[b + 1] ? maps[2][(t + 1) * wide + j] : 0.0f;
                row[j] = m == 0 ? score : row[j] + score;
            }
        }
}

/* Sentences of tokens that stand in cells of a text. */
typedef struct {
    const uint8_t *text;
    int64_t size;
    const int64_t *cells, *offsets; /* (N, 2), (B + 1,) */
    int64_t N, B;
    /* What else is added to the first layer, from features of tokens in their sentences; NULL: nothing. Row 0 is zeros. */
    const float *extra_rows; /* (extra_count, K * members * H) */
    const int64_t *extra_ids; /* (extra_columns, N) */
    int64_t extra_count, extra_columns;
} passage;

/* The scores of the wanted tasks of the tokens left:right of a piece of n, which begins at token `from`. */
static int score_piece(postil_workspace *w, const passage *p, int64_t from, int64_t n, const int64_t *offsets, int64_t B,
                       int64_t left, int64_t right, float *const *scores) {
    const postil_model *model = w->model;
    const int64_t M = model->members, H = model->H, rows = 1 + w->sets * WAYS_OF_ROWS + piece_room(model);
    float *sums = M == 1 ? w->layer : w->sums;
    const int function = (int)model->function;
    const int64_t more = p->extra_columns;
    int code = sum_windows(w->rows, rows, model->K, M * H, w->ids, offsets, n, B, more ? IDENTITY : function, 0, sums);
    for (int64_t e = 0; e < more && code == DONE; e++)
        code = sum_windows(p->extra_rows, p->extra_count, model->K, M * H, p->extra_ids + e * p->N + from, offsets, n, B,
                           e + 1 < more ? IDENTITY : function, 1, sums);
    if (code != DONE) return error_of(code);
    if (model->is_mean) share_sums(offsets, B, model->K / 2, M * H, sums);
    for (int64_t m = 0; m < M; m++) {
        int64_t width = H;
        for (int64_t t = 0; t < n && M > 1; t++)
            memcpy(w->layer + t * H, w->sums + (t * M + m) * H, (size_t)H * sizeof(float));
        for (int64_t s = 0; s < model->step_count; s++)
            apply_step(w, model->network[m].steps + s, n, offsets, B, &width);
        for (int64_t h = 0; h < model->head_count; h++)
            if (scores[h] != NULL)
                add_scores(w, model->heads + h, m, n, offsets, B, left, right,
                           scores[h] + (from + left) * model->heads[h].L);
    }
    return POSTIL_OK;
}

/* Where the piece ends that begins at `first`, in `sentence`. Networks that see far would compute many tokens twice if it
   ended inside of a sentence. *around, the tokens to each side that it is padded with, becomes 0 if it holds whole ones. */
static int64_t end_of_piece(const passage *p, int64_t first, int64_t sentence, int64_t *around) {
    int64_t end = first;
    if (*around >= FAR)
        for (int64_t b = sentence + 1; b <= p->B && p->offsets[b] <= first + PIECE; b++) end = p->offsets[b];
    if (end == first) return first + PIECE < p->N ? first + PIECE : p->N;
    if (p->offsets[sentence] == first) *around = 0;
    return end;
}

/* scores[h] (N, L) of the tasks whose pointers are not NULL. A piece is padded on both sides with the tokens that its
   scores depend on. */
static int score_tokens(postil_workspace *w, const passage *p, float *const *scores) {
    const int64_t N = p->N;
    const float M = (float)w->model->members;
    int64_t sentence = 0, begun = 0, end, *offsets = w->piece_offsets; /* the sentences of `from` and `first` */
    int code = POSTIL_OK, is_finite = 1;
    for (int64_t first = 0; first < N && code == POSTIL_OK; first = end) {
        int64_t reach = w->model->reach;
        while (begun + 1 < p->B && p->offsets[begun + 1] <= first) begun++;
        end = end_of_piece(p, first, begun, &reach);
        const int64_t from = first > reach ? first - reach : 0, to = end + reach < N ? end + reach : N;
        while (sentence + 1 < p->B && p->offsets[sentence + 1] <= from) sentence++;
        int64_t B = offsets[0] = 0; /* sentences of the piece */
        for (int64_t b = sentence + 1; b < p->B && p->offsets[b] < to; b++)
            if (p->offsets[b] > from + offsets[B]) offsets[++B] = p->offsets[b] - from;
        offsets[++B] = to - from;
        code = look_up(w, p->text, p->size, p->cells + 2 * from, to - from);
        if (code == POSTIL_OK) code = score_piece(w, p, from, to - from, offsets, B, first - from, end - from, scores);
    }
    for (int64_t h = 0; h < w->model->head_count && code == POSTIL_OK; h++) {
        const int64_t count = scores[h] == NULL ? 0 : N * w->model->heads[h].L;
        for (int64_t i = 0; i < count && M > 1; i++) scores[h][i] /= M; /* the mean over members */
        for (int64_t i = 0; i < count; i++) is_finite &= scores[h][i] >= -1e30f && scores[h][i] <= 1e30f;
    }
    return code != POSTIL_OK || is_finite ? code : POSTIL_NOT_FINITE;
}

/* ------------------------------------------------------------------------------------------------ answers, in general

   The same answers as chain_answers with sums of logarithms: for scores so far apart that probabilities vanish, and for
   IOB1, whose B depends on the label before. */

typedef struct {
    const task_head *head;
    int64_t T;
    double *scores, *alpha, *beta, *row; /* (T, L) three times, (L,) */
    double log_partition;
} general_chain;

static double log_sum(const double *x, int64_t n) {
    double top = -INFINITY, sum = 0.0;
    for (int64_t i = 0; i < n; i++) top = x[i] > top ? x[i] : top;
    for (int64_t i = 0; i < n && top > -INFINITY; i++) sum += exp(x[i] - top);
    return top > -INFINITY ? top + log(sum) : top;
}

static void general_sums(general_chain *c) {
    const task_head *head = c->head;
    const int64_t L = head->L, T = c->T;
    for (int64_t j = 0; j < L; j++) {
        c->alpha[j] = head->start[j] + c->scores[j];
        c->beta[(T - 1) * L + j] = head->end[j];
    }
    for (int64_t t = 1; t < T; t++)
        for (int64_t j = 0; j < L; j++) {
            for (int64_t i = 0; i < L; i++) c->row[i] = c->alpha[(t - 1) * L + i] + head->transitions[i * L + j];
            c->alpha[t * L + j] = log_sum(c->row, L) + c->scores[t * L + j];
        }
    for (int64_t t = T - 2; t >= 0; t--)
        for (int64_t i = 0; i < L; i++) {
            for (int64_t j = 0; j < L; j++)
                c->row[j] = head->transitions[i * L + j] + c->scores[(t + 1) * L + j] + c->beta[(t + 1) * L + j];
            c->beta[t * L + i] = log_sum(c->row, L);
        }
    for (int64_t j = 0; j < L; j++) c->row[j] = c->alpha[(T - 1) * L + j] + head->end[j];
    c->log_partition = log_sum(c->row, L);
}

/* Viterbi, with delta in the room of alpha. */
static void general_path(general_chain *c, int64_t *path) {
    const task_head *head = c->head;
    const int64_t L = head->L, T = c->T;
    for (int64_t t = 0; t < T; t++)
        for (int64_t j = 0; j < L; j++) {
            double top = t == 0 ? head->start[j] : -INFINITY;
            for (int64_t i = 0; t > 0 && i < L; i++) {
                const double sum = c->alpha[(t - 1) * L + i] + head->transitions[i * L + j];
                top = sum > top ? sum : top;
            }
            c->alpha[t * L + j] = top + c->scores[t * L + j] + (head->q.bonus == NULL ? 0.0 : head->q.bonus[j]);
        }
    for (int64_t t = T - 1; t >= 0; t--) {
        double top = -INFINITY;
        path[t] = 0;
        for (int64_t i = 0; i < L; i++) {
            const double step = t == T - 1 ? head->end[i] : head->transitions[i * L + path[t + 1]];
            const double sum = c->alpha[t * L + i] + step;
            if (sum > top) top = sum, path[t] = i;
        }
    }
}

static double general_entity(const general_chain *c, const int64_t *path, int64_t s, int64_t e) {
    const task_head *head = c->head;
    const int64_t L = head->L, last = path[e - 1], kind = head->q.classes[path[s]];
    double v = c->alpha[s * L + path[s]];
    for (int64_t t = s + 1; t < e; t++) v += head->transitions[path[t - 1] * L + path[t]] + c->scores[t * L + path[t]];
    if (head->q.after == NULL || e == c->T) return exp(v + c->beta[(e - 1) * L + last] - c->log_partition);
    for (int64_t j = 0; j < L; j++)
        c->row[j] = head->q.after[kind * L + j]
                        ? v + head->transitions[last * L + j] + c->scores[e * L + j] + c->beta[e * L + j]
                        : -INFINITY;
    return exp(log_sum(c->row, L) - c->log_partition);
}

/* IOB1: an entity begins at t right after another one of its class. */
static double marked_beginning(const general_chain *c, int64_t t, int64_t kind) {
    const task_head *head = c->head;
    const int64_t L = head->L;
    double sum = 0.0;
    for (int64_t i = 0; t > 0 && i < L; i++)
        for (int64_t j = 0; j < L; j++)
            if (head->q.classes[i] == kind && head->q.classes[j] == kind && head->q.begins[j])
                sum += exp(c->alpha[(t - 1) * L + i] + head->transitions[i * L + j] + c->scores[t * L + j] +
                           c->beta[t * L + j] - c->log_partition);
    return sum;
}

/* Whether IOB1 does not mark the first token of an entity: none of its class ends right before it. */
static int is_bare(const task_head *head, const int64_t *path, int64_t t) {
    return head->q.begins[path[t]] && (t == 0 || head->q.classes[path[t - 1]] != head->q.classes[path[t]]);
}

static double general_label(const general_chain *c, const int64_t *path, int64_t t) {
    const task_head *head = c->head;
    const int64_t L = head->L, y = path[t];
    double sum = 0.0;
    for (int64_t j = 0; j < L; j++) {
        const double p = exp(c->alpha[t * L + j] + c->beta[t * L + j] - c->log_partition);
        if (head->is_iob1 ? head->q.classes[j] == head->q.classes[y] : head->q.alike[y * L + j] > 0.0) sum += p;
    }
    if (!head->is_iob1) return sum;
    const double begin = head->q.classes[y] >= 0 ? marked_beginning(c, t, head->q.classes[y]) : 0.0;
    if (head->q.begins[y] && !is_bare(head, path, t)) return begin;
    return sum > begin ? sum - begin : 0.0;
}

/* Where the answers about one sentence go. */
typedef struct {
    int64_t *path, *spans, found;
    double *whole, *labels, *probabilities;
} sentence_answers;

/* One sentence, T > 0. */
static int answer_in_general(const task_head *head, const float *unary, int64_t T, int64_t sentence, sentence_answers *out) {
    const int64_t L = head->L;
    double *memory = kernel_malloc((size_t)(3 * T * L + L) * sizeof *memory), score;
    if (memory == NULL) return POSTIL_NO_MEMORY;
    general_chain c = {head, T, memory, memory + T * L, memory + 2 * T * L, memory + 3 * T * L, 0.0};
    for (int64_t i = 0; i < T * L; i++)
        c.scores[i] = (double)unary[i] / head->q.temperature - (head->q.outside == i % L ? head->q.shift : 0.0);
    general_path(&c, out->path);
    general_sums(&c);
    for (int64_t s = 0, e; head->C > 0 && s < T; s = e) {
        e = s + 1;
        if (!head->q.begins[out->path[s]]) continue;
        while (e < T && head->q.classes[out->path[e]] >= 0 && !head->q.begins[out->path[e]]) e++;
        const int64_t kind = head->q.classes[out->path[s]];
        const double p = general_entity(&c, out->path, s, e);
        if (head->q.lowest != NULL && p < head->q.lowest[kind]) {
            for (int64_t t = s; t < e; t++) out->path[t] = head->q.outside;
            continue;
        }
        int64_t *span = out->spans + 4 * out->found;
        span[0] = sentence, span[1] = s, span[2] = e, span[3] = kind;
        out->probabilities[out->found++] = p;
    }
    score = head->start[out->path[0]] + head->end[out->path[T - 1]];
    for (int64_t t = 0; t < T; t++) {
        out->labels[t] = general_label(&c, out->path, t);
        score += c.scores[t * L + out->path[t]] + (t > 0 ? head->transitions[out->path[t - 1] * L + out->path[t]] : 0.0);
    }
    *out->whole = exp(score - c.log_partition);
    kernel_free(memory);
    return POSTIL_OK;
}

/* ------------------------------------------------------------------------------------------------ answers */

/* Sentences one by one, each by the kernel or in general. */
static int answer_one_by_one(postil_workspace *w, const task_head *head, const float *scores, int64_t sentences,
                             sentence_answers *out) {
    out->found = 0;
    for (int64_t b = 0; b < sentences; b++) {
        const int64_t first = w->offsets[b], T = w->offsets[b + 1] - first, whole[2] = {0, T};
        sentence_answers one = {out->path + first, out->spans, out->found, out->whole + b, out->labels + first,
                                out->probabilities};
        *one.whole = 1.0;
        if (T == 0) continue;
        int64_t found = 0;
        uint8_t exact = 0;
        if (!head->is_iob1) {
            const int code = chain_answers(scores + first * head->L, 1, whole, T, 1, head->L, head->transitions, head->start,
                                           head->end, &head->q, one.labels, one.path, one.whole,
                                           one.spans + 4 * one.found, one.probabilities + one.found, &found, &exact);
            if (code != DONE) return error_of(code);
        }
        if (exact) {
            for (int64_t i = 0; i < found; i++) out->spans[4 * (out->found + i)] = b;
            out->found += found;
            continue;
        }
        const int code = answer_in_general(head, scores + first * head->L, T, b, &one);
        if (code != POSTIL_OK) return code;
        out->found = one.found;
    }
    return POSTIL_OK;
}

static int answer_task(postil_workspace *w, const task_head *head, const float *scores, int64_t N, int64_t sentences,
                       sentence_answers *out) {
    int code = DONE, exact = !head->is_iob1;
    const int only = w->labels_only && exact && head->q.lowest == NULL; /* no label depends on a probability */
    if (exact)
        code = chain_answers(scores, 1, w->offsets, N, sentences, head->L, head->transitions, head->start, head->end, &head->q,
                             out->labels, out->path, only ? NULL : out->whole, out->spans, out->probabilities, &out->found,
                             w->exact);
    if (code != DONE) return error_of(code);
    for (int64_t b = 0; b < sentences && exact; b++) exact = w->exact[b];
    return exact ? POSTIL_OK : answer_one_by_one(w, head, scores, sentences, out);
}

/* The answers of a task as they are returned. */
static void write_layer(postil_workspace *w, int64_t h, int64_t N, int64_t sentences, const sentence_answers *answers) {
    const task_head *head = w->model->heads + h;
    int32_t *labels = w->labels + h * N;
    postil_entity *entities = w->entities + h * N;
    for (int64_t b = 0; b < sentences; b++)
        for (int64_t t = w->offsets[b]; t < w->offsets[b + 1]; t++) {
            const int bare = head->is_iob1 && is_bare(head, answers->path + w->offsets[b], t - w->offsets[b]);
            labels[t] = (int32_t)(answers->path[t] + (bare ? head->L : 0));
        }
    for (int64_t i = 0; i < answers->found; i++) {
        const int64_t *span = answers->spans + 4 * i, first = w->offsets[span[0]];
        entities[i].first_token = (int32_t)(first + span[1]), entities[i].end_token = (int32_t)(first + span[2]);
        entities[i].begin = w->tokens[first + span[1]].begin, entities[i].end = w->tokens[first + span[2] - 1].end;
        entities[i].label = (int32_t)span[3], entities[i].sentence = (int32_t)span[0];
        entities[i].probability = answers->probabilities[i];
    }
    const int all = !w->labels_only;
    w->layers[h] = (postil_layer){head->name, labels, all ? answers->labels : NULL, all ? answers->whole : NULL, entities,
                                  all ? (int32_t)answers->found : 0, (int32_t)h};
}

static void add_votes(postil_workspace *w, const task_head *head, const passage *p, float *scores); /* votes.c */

/* Cells and offsets are in the workspace. */
static int tag_cells(postil_workspace *w, const uint8_t *text, int64_t size, int64_t N, int64_t sentences,
                     postil_result *result) {
    const postil_model *model = w->model;
    const passage p = {text, size, w->cells, w->offsets, N, sentences, NULL, NULL, 0, 0};
    for (int64_t h = 0, before = 0; h < model->head_count; before += N * model->heads[h++].L) w->head_scores[h] = w->scores + before;
    int code = score_tokens(w, &p, w->head_scores);
    if (code != POSTIL_OK) return code;
    for (int64_t t = 0; t < N; t++)
        w->tokens[t].begin = (int32_t)w->cells[2 * t], w->tokens[t].end = (int32_t)w->cells[2 * t + 1];
    for (int64_t b = 0; b <= sentences; b++) w->sentences[b] = (int32_t)w->offsets[b];
    for (int64_t h = 0; h < model->head_count; h++) {
        sentence_answers answers = {w->path, w->spans, 0, w->whole + h * sentences, w->probabilities + h * N,
                                    w->span_probabilities};
        if (model->heads[h].votes.count > 0) add_votes(w, model->heads + h, &p, w->head_scores[h]);
        code = answer_task(w, model->heads + h, w->head_scores[h], N, sentences, &answers);
        if (code != POSTIL_OK) return code;
        write_layer(w, h, N, sentences, &answers);
    }
    *result = (postil_result){w->tokens, w->sentences, w->layers, (int32_t)N, (int32_t)sentences,
                              (int32_t)model->head_count, 0};
    return POSTIL_OK;
}

int postil_lattice_of(const postil_workspace *w, int32_t task, postil_lattice *lattice) {
    if (w == NULL || lattice == NULL || task < 0 || task >= w->model->head_count) return POSTIL_WRONG_ARGUMENT;
    const task_head *head = w->model->heads + task;
    *lattice = (postil_lattice){(int32_t)head->L, (int32_t)head->q.outside, head->q.temperature, head->q.shift,
                                w->head_scores[task], head->transitions, head->start, head->end};
    return POSTIL_OK;
}

static int begin_tagging(const postil_model *model, postil_workspace *w, const void *text, const postil_result *result,
                         size_t size) {
    if (model == NULL || w == NULL || w->model != model || text == NULL || result == NULL) return POSTIL_WRONG_ARGUMENT;
    if (model->kind != TAGGER) return POSTIL_WRONG_KIND;
    const int code = make_text_room(w, size);
    if (code == POSTIL_OK) begin_kernels(w);
    return code;
}

static int end_tagging(int code) {
    kernel_memory = NULL;
    return code;
}

/* Cells and offsets of the workspace, by rules. */
static int cut_by_rules(postil_workspace *w, const uint8_t *text, int64_t size, int64_t *N, int64_t *sentences) {
    const postil_model *model = w->model;
    const int64_t document[2] = {0, size};
    int64_t state[6] = {0}, edges[2] = {0, 0};
    int code = tokenise_text(text, size, document, 1, &model->tokens, &model->known, 0, w->chunks, CHUNK_BUCKETS, w->seed,
                             size + 1, w->cells, edges, state);
    *N = edges[1];
    if (code == DONE)
        code = split_sentences(text, size, document, edges, 1, w->cells, *N, &model->sentences, &model->known, w->offsets,
                               sentences);
    return error_of(code);
}

typedef int cutting(postil_workspace *w, const uint8_t *text, int64_t size, int64_t *N, int64_t *sentences);
static cutting cut_into_characters, cut_by_tagger; /* cuts.c */

int postil_tag(const postil_model *model, postil_workspace *w, const char *text, size_t length, postil_result *result) {
    static cutting *const ways[] = {cut_by_rules, cut_into_characters, cut_by_tagger};
    const uint8_t *bytes = (const uint8_t *)text;
    const int64_t size = (int64_t)length;
    int64_t N = 0, sentences = 0;
    int code = begin_tagging(model, w, text, result, length);
    if (code != POSTIL_OK) return code;
    code = ways[model->cuts.how](w, bytes, size, &N, &sentences);
    if (code == POSTIL_OK) code = tag_cells(w, bytes, size, N, sentences, result);
    return end_tagging(code);
}

int postil_tag_spans(const postil_model *model, postil_workspace *w, const char *text, size_t length,
                     const postil_span *tokens, int32_t count, const int32_t *sentences, int32_t sentence_count,
                     postil_result *result) {
    if (count < 0 || sentence_count < 0 || (tokens == NULL && count > 0) || sentences == NULL || length > LONGEST_TEXT)
        return POSTIL_WRONG_ARGUMENT;
    const size_t most = (size_t)(count > sentence_count ? count : sentence_count), size = length > most ? length : most;
    int code = begin_tagging(model, w, text, result, size);
    if (code != POSTIL_OK) return code;
    if (sentences[0] != 0 || sentences[sentence_count] != count) return end_tagging(POSTIL_WRONG_ARGUMENT);
    int32_t at = 0;
    for (int32_t t = 0; t < count; t++) {
        if (tokens[t].begin < at || tokens[t].end < tokens[t].begin || (size_t)tokens[t].end > length)
            return end_tagging(POSTIL_WRONG_ARGUMENT);
        at = tokens[t].end;
        w->cells[2 * t] = tokens[t].begin, w->cells[2 * t + 1] = tokens[t].end;
    }
    w->offsets[0] = 0;
    for (int32_t b = 0; b < sentence_count; b++) {
        if (sentences[b + 1] < sentences[b]) return end_tagging(POSTIL_WRONG_ARGUMENT);
        w->offsets[b + 1] = sentences[b + 1];
    }
    return end_tagging(tag_cells(w, (const uint8_t *)text, (int64_t)length, count, sentence_count, result));
}

int postil_tag_tokens(const postil_model *model, postil_workspace *w, const char *const *tokens, const size_t *lengths,
                      int32_t count, postil_result *result) {
    if (count < 0 || (tokens == NULL && count > 0)) return POSTIL_WRONG_ARGUMENT;
    size_t size = count > 0 ? (size_t)count - 1 : 0;
    for (int32_t t = 0; t < count; t++) {
        if (tokens[t] == NULL) return POSTIL_WRONG_ARGUMENT;
        const size_t length = lengths == NULL ? strlen(tokens[t]) : lengths[t];
        if (length > LONGEST_TEXT - size) return POSTIL_TOO_LONG;
        size += length;
    }
    int code = begin_tagging(model, w, "", result, size);
    if (code != POSTIL_OK) return code;
    int64_t at = 0;
    for (int32_t t = 0; t < count; t++) {
        const size_t length = lengths == NULL ? strlen(tokens[t]) : lengths[t];
        if (t > 0) w->joined[at++] = ' ';
        memcpy(w->joined + at, tokens[t], length);
        w->cells[2 * t] = at;
        at += (int64_t)length;
        w->cells[2 * t + 1] = at;
    }
    w->offsets[0] = 0, w->offsets[1] = count;
    return end_tagging(tag_cells(w, w->joined, at, count, count > 0, result));
}

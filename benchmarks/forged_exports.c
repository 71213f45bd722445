/* ./forged MODEL SECONDS SEED TEXT…: exported models with changes, under the right checksum; see forged_exports.py.

   Every model must be refused, or tag the texts (trees, for a tree classifier) with places and labels that exist;
   probabilities may be anything, as weights may. The sanitisers stop the program at the first access outside of an array.
   A wrong result or a trial of more than LONGEST seconds stops it as well; the same seed repeats the trial. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "postil.h"

enum { HEADER = 64, ROW = 96, LONGEST = 60, CODES = 13, FIXED = 400 };

static uint64_t state;
static long trial, opened, tagged, codes[CODES];

static uint64_t drawn(uint64_t below) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return below ? state % below : 0;
}

static void stop(const char *what) {
    fprintf(stderr, "trial %ld: %s\n", trial, what);
    abort();
}

static void too_slow(int number) {
    (void)number;
    static const char what[] = "a trial takes too long\n";
    if (write(2, what, sizeof what - 1) < 0) _exit(3);
    abort();
}

static uint32_t checksum(const uint8_t *bytes, size_t size) {
    static uint32_t table[256];
    uint32_t h = 0xffffffffu;
    for (uint32_t i = 0; i < 256 && !table[255]; i++) {
        uint32_t x = i;
        for (int k = 0; k < 8; k++) x = x & 1 ? x >> 1 ^ 0xedb88320u : x >> 1;
        table[i] = x;
    }
    for (size_t i = 0; i < size; i++) h = table[(h ^ bytes[i]) & 255] ^ h >> 8;
    return ~h;
}

static uint64_t u64_at(const uint8_t *at) {
    uint64_t x;
    memcpy(&x, at, sizeof x);
    return x;
}

/* ------------------------------------------------------------------------------------------------ changes */

/* A number that checks get wrong: edges of types, and neighbours of what stood there. */
static void change_number(uint8_t *at, uint32_t type) {
    static const int64_t edges[] = {0, 1, -1, 2, 127, 128, 255, 256, 65535, 65536, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    static const double reals[] = {0.0, -0.0, 1e30, -1e30, 1e38, -1e38, 1e300, 1e-310};
    static const size_t sizes[] = {1, 1, 2, 4, 4, 8, 8, 2, 4, 8};
    int64_t whole = 0;
    memcpy(&whole, at, sizes[type]);
    whole = drawn(3) == 0 ? (int64_t)((uint64_t)whole + drawn(5) - 2) : edges[drawn(sizeof edges / sizeof *edges)];
    if (type < 8) {
        memcpy(at, &whole, sizes[type]);
        return;
    }
    const uint64_t which = drawn(sizeof reals / sizeof *reals + 3);
    const double real = which < sizeof reals / sizeof *reals ? reals[which] : which % 2 ? 1.0 / 0.0 : 0.0 / 0.0;
    const float single = (float)real;
    if (type == 8)
        memcpy(at, &single, sizeof single);
    else
        memcpy(at, &real, sizeof real);
}

/* One of the numbers in the directory's row of a section, or a row in the place of another. */
static void change_row(uint8_t *bytes, uint32_t sections, uint8_t *row) {
    uint8_t *other = bytes + HEADER + ROW * drawn(sections);
    switch (drawn(4)) {
        case 0: memcpy(row + 48, other + 48, ROW - 48); break; /* the content of another section */
        case 1: memcpy(row, other, 48); break;                  /* its name */
        case 2: row[drawn(48)] = (uint8_t)drawn(256); break;
        default: change_number(row + 48 + 4 * drawn(12), drawn(2) ? 4 : 5);
    }
}

static void change(uint8_t *bytes, size_t size) {
    uint32_t sections, type;
    memcpy(&sections, bytes + 12, 4);
    uint8_t *row = bytes + HEADER + ROW * drawn(sections);
    const uint64_t offset = u64_at(row + 80), length = u64_at(row + 88);
    memcpy(&type, row + 48, 4);
    static const size_t sizes[] = {1, 1, 2, 4, 4, 8, 8, 2, 4, 8};
    if (drawn(4) == 0 || length == 0 || type < 1 || type > 9 || offset > size || length > size - offset) {
        change_row(bytes, sections, row);
        return;
    }
    change_number(bytes + offset + drawn(length / sizes[type]) * sizes[type], type);
}

/* ------------------------------------------------------------------------------------------------ results */

static void check_result(const postil_model *model, const postil_result *result, int32_t size) {
    if (result->layer_count != postil_task_count(model)) stop("layers");
    for (int32_t t = 0, at = 0; t < result->token_count; at = result->tokens[t++].end)
        if (result->tokens[t].begin < at || result->tokens[t].end < result->tokens[t].begin || result->tokens[t].end > size)
            stop("tokens");
    for (int32_t h = 0; h < result->layer_count; h++) {
        const postil_layer *layer = result->layers + h;
        for (int32_t t = 0; t < result->token_count; t++)
            if (postil_label(model, h, layer->labels[t]) == NULL) stop("a label");
        for (int32_t i = 0; i < layer->entity_count; i++) {
            const postil_entity *e = layer->entities + i;
            if (e->first_token < 0 || e->end_token <= e->first_token || e->end_token > result->token_count) stop("an entity");
            if (postil_entity_label(model, h, e->label) == NULL) stop("the label of an entity");
        }
    }
}

static void check_tree(const postil_model *model, const postil_tree_result *result, int32_t size) {
    for (int32_t i = 0; i < result->count; i++) {
        const postil_node *node = result->nodes + i;
        if (postil_label(model, 0, node->label) == NULL || node->left >= i || node->right >= i) stop("a node");
        if (node->begin < 0 || node->end > size) stop("the place of a node");
    }
}

static void use(const postil_model *model, char **texts, int count) {
    for (int k = 0; k < 2; k++) {
        postil_workspace *workspace;
        if (postil_workspace_new(model, k ? FIXED : 0, &workspace)) continue;
        for (int i = 0; i < count; i++) {
            const size_t size = strlen(texts[i]);
            postil_result result;
            postil_tree_result tree;
            int code;
            if (postil_is_tree_classifier(model)) {
                code = postil_tree(model, workspace, texts[i], size, &tree);
                if (code == POSTIL_OK) check_tree(model, &tree, (int32_t)size);
            } else {
                code = postil_tag(model, workspace, texts[i], size, &result);
                if (code == POSTIL_OK) check_result(model, &result, (int32_t)size);
            }
            if (code < 0 || code >= CODES) stop("a code");
            if (k && code == POSTIL_NO_MEMORY) stop("a workspace of fixed size is too small for its kernels");
            tagged += code == POSTIL_OK;
        }
        postil_workspace_free(workspace);
    }
}

int main(int count, char **words) {
    if (count < 5) return 2;
    FILE *file = fopen(words[1], "rb");
    if (file == NULL || fseek(file, 0, SEEK_END)) return 2;
    const size_t size = (size_t)ftell(file);
    rewind(file);
    uint8_t *content = malloc(size);
    if (content == NULL || fread(content, 1, size, file) != size) return 2;
    fclose(file);
    signal(SIGALRM, too_slow);
    const time_t end = time(NULL) + atoi(words[2]);
    for (; time(NULL) < end; trial++) {
        state = 0x9e3779b97f4a7c15u * (uint64_t)(trial + 1) + strtoull(words[3], NULL, 10) * 0xbf58476d1ce4e5b9u + 1;
        const uint64_t cut = drawn(50) == 0 ? drawn(size) : 0, left = size - cut;
        uint8_t *bytes = malloc(left + !left);
        if (bytes == NULL) return 2;
        memcpy(bytes, content, left);
        alarm(LONGEST);
        if (left > HEADER + ROW) {
            for (uint64_t i = 1 + drawn(3); i > 0 && !cut; i--) change(bytes, left);
            memcpy(bytes + 16, &left, 8);
            const uint32_t sum = checksum(bytes + HEADER, left - HEADER);
            memcpy(bytes + 24, &sum, 4);
        }
        postil_model *model;
        const int code = postil_open_memory(bytes, left, &model);
        if (code < 0 || code >= CODES) stop("a code");
        codes[code]++;
        if (code == POSTIL_OK) {
            opened++;
            use(model, words + 4, count - 4);
            postil_close(model);
        }
        free(bytes);
    }
    free(content);
    printf("%ld %ld %ld %ld\n", trial, opened, tagged, codes[POSTIL_DAMAGED]);
    return 0;
}

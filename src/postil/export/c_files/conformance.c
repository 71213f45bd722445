/* ./conformance model.bin conformance.txt: whether this machine answers as Python did.

   The file holds records, each a letter with numbers and what belongs to it:
       T bytes tokens sentences layers   a text; then its bytes, then a line "begin end" per token, the number of tokens in
                                         each sentence, and for each layer an L
       L entities                        a line "probability label" per token, then "begin end probability label" per entity
       R bytes nodes labels              a tree in brackets; then its bytes, then a line "label probability …" per node
   Labels must be equal, probabilities within 1e-5. Texts are tagged as they are, from their tokens, and in a workspace of
   fixed size. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "postil.h"

#define TOLERANCE 1e-5

static const char *at, *end; /* of the file */
static long tokens_seen, nodes_seen, labels_wrong, others_wrong;
static double largest;

static void stop(const char *what) {
    fprintf(stderr, "conformance: %s\n", what);
    exit(2);
}

static void need(int code) {
    if (code != POSTIL_OK) stop(postil_error(code));
}

static void *room(size_t size) {
    void *memory = malloc(size + 1);
    if (memory == NULL) stop("no memory");
    return memory;
}

static char *content_of(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *content = NULL;
    size_t used = 0, got = 1;
    if (file == NULL) stop("a file cannot be read");
    for (size_t capacity = 0; got > 0; used += got) {
        if (used == capacity) {
            capacity = 2 * capacity + 65536;
            content = realloc(content, capacity + 1);
            if (content == NULL) stop("no memory");
        }
        got = fread(content + used, 1, capacity - used, file);
    }
    fclose(file);
    content[used] = 0;
    *size = used;
    return content;
}

static long number(void) {
    char *after;
    const long value = strtol(at, &after, 10);
    if (after == at) stop("the conformance file is damaged");
    at = after;
    return value;
}

static double real(void) {
    char *after;
    const double value = strtod(at, &after);
    if (after == at) stop("the conformance file is damaged");
    at = after;
    return value;
}

/* The rest of the line, without the space before it. */
static const char *rest(size_t *size) {
    const char *first = *at == ' ' ? at + 1 : at, *line = memchr(at, '\n', (size_t)(end - at));
    if (line == NULL) stop("the conformance file is damaged");
    *size = (size_t)(line - first);
    at = line + 1;
    return first;
}

static void compare(double expected, double got) {
    const double difference = fabs(expected - got);
    if (!(difference <= largest)) largest = difference;
}

static int is_same(const char *expected, size_t size, const char *got) {
    return got != NULL && strlen(got) == size && memcmp(expected, got, size) == 0;
}

static void check_layer(const postil_model *model, const postil_result *result, long layer, long tokens) {
    size_t size;
    if (at >= end || *at++ != 'L') stop("the conformance file is damaged");
    const long entities = number();
    rest(&size);
    const postil_layer *answers = result->layers + layer;
    for (long t = 0; t < tokens; t++) {
        const double expected = real();
        const char *label = rest(&size);
        labels_wrong += !is_same(label, size, postil_label(model, (int32_t)layer, answers->labels[t]));
        compare(expected, answers->probabilities[t]);
    }
    others_wrong += answers->entity_count != entities;
    for (long i = 0; i < entities; i++) {
        const long begin = number(), stop_at = number();
        const double expected = real();
        const char *label = rest(&size);
        if (i >= answers->entity_count) continue;
        const postil_entity *e = answers->entities + i;
        others_wrong += e->begin != begin || e->end != stop_at;
        others_wrong += !is_same(label, size, postil_entity_label(model, (int32_t)layer, e->label));
        compare(expected, e->probability);
    }
}

/* Compare the answer with the expected one; layers are read from `layers_at` on. */
static void check_result(const postil_model *model, const postil_result *result, const postil_span *spans, long tokens,
                         const int32_t *sentences, long count, long layers, const char *layers_at) {
    at = layers_at;
    if (result->token_count != tokens || result->sentence_count != count || result->layer_count != layers) {
        labels_wrong += tokens;
        return;
    }
    for (long t = 0; t < tokens; t++)
        others_wrong += result->tokens[t].begin != spans[t].begin || result->tokens[t].end != spans[t].end;
    for (long b = 0; b <= count; b++) others_wrong += result->sentences[b] != sentences[b];
    for (long layer = 0; layer < layers; layer++) check_layer(model, result, layer, tokens);
}

static void check_text(const postil_model *model, postil_workspace *growing) {
    size_t ignored;
    const long bytes = number(), tokens = number(), count = number(), layers = number();
    rest(&ignored);
    if (bytes < 0 || tokens < 0 || count < 0 || layers < 0 || bytes >= end - at) stop("the conformance file is damaged");
    const char *text = at;
    at += bytes + 1;
    postil_span *spans = room((size_t)tokens * sizeof *spans);
    int32_t *sentences = room(((size_t)count + 1) * sizeof *sentences);
    for (long t = 0; t < tokens; t++) {
        spans[t].begin = (int32_t)number();
        spans[t].end = (int32_t)number();
    }
    sentences[0] = 0;
    for (long b = 0; b < count; b++) sentences[b + 1] = sentences[b] + (int32_t)number();
    rest(&ignored);
    const char *layers_at = at;
    postil_workspace *fixed;
    postil_result result;
    need(postil_tag(model, growing, text, (size_t)bytes, &result));
    check_result(model, &result, spans, tokens, sentences, count, layers, layers_at);
    need(postil_tag_spans(model, growing, text, (size_t)bytes, spans, (int32_t)tokens, sentences, (int32_t)count, &result));
    check_result(model, &result, spans, tokens, sentences, count, layers, layers_at);
    need(postil_workspace_new(model, bytes > 0 ? (size_t)bytes : 1, &fixed));
    need(postil_tag(model, fixed, text, (size_t)bytes, &result));
    check_result(model, &result, spans, tokens, sentences, count, layers, layers_at);
    tokens_seen += tokens;
    postil_workspace_free(fixed);
    free(spans);
    free(sentences);
}

static void check_tree(const postil_model *model, postil_workspace *workspace) {
    size_t size;
    const long bytes = number(), nodes = number(), labels = number();
    rest(&size);
    if (bytes < 0 || nodes < 0 || labels < 1 || bytes >= end - at) stop("the conformance file is damaged");
    const char *text = at;
    at += bytes + 1;
    postil_tree_result result;
    need(postil_tree(model, workspace, text, (size_t)bytes, &result));
    if (result.count != nodes || result.label_count != labels) stop("a tree has other nodes or labels");
    for (long i = 0; i < nodes; i++) {
        const postil_node *node = result.nodes + i;
        labels_wrong += number() != node->label;
        for (long j = 0; j < labels; j++) compare(real(), node->probabilities[j]);
        rest(&size);
    }
    nodes_seen += nodes;
}

int main(int count, char **words) {
    size_t size;
    postil_model *model;
    postil_workspace *workspace;
    if (count != 3) stop("usage: conformance model.bin conformance.txt");
    need(postil_open(words[1], &model));
    need(postil_workspace_new(model, 0, &workspace));
    char *content = content_of(words[2], &size);
    at = content, end = content + size;
    while (at < end) {
        const char kind = *at++;
        if (kind == 'T')
            check_text(model, workspace);
        else if (kind == 'R')
            check_tree(model, workspace);
        else
            stop("the conformance file is damaged");
    }
    postil_workspace_free(workspace);
    postil_close(model);
    free(content);
    const int is_good = labels_wrong == 0 && others_wrong == 0 && largest <= TOLERANCE;
    printf("%s: %ld tokens, %ld nodes; %ld labels differ, %ld spans differ, largest difference of probabilities %.2g\n",
           is_good ? "conformance: passed" : "conformance: FAILED", tokens_seen, nodes_seen, labels_wrong, others_wrong,
           largest);
    return is_good ? 0 : 1;
}

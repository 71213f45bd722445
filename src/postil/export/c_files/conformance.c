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

static FILE *expected;
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

static const char *const DAMAGED = "the conformance file is damaged";

static long number(void) {
    long value;
    if (fscanf(expected, "%ld", &value) != 1) stop(DAMAGED);
    return value;
}

static double real(void) {
    double value;
    if (fscanf(expected, "%lf", &value) != 1) stop(DAMAGED);
    return value;
}

/* A number of things of at least `least`. */
static long count_of(long least) {
    const long value = number();
    if (value < least || value > 1L << 30) stop(DAMAGED);
    return value;
}

/* Bytes in a line of their own. */
static char *text_of(long size) {
    char *text = room((size_t)size);
    if (getc(expected) != '\n' || fread(text, 1, (size_t)size, expected) != (size_t)size) stop(DAMAGED);
    return text;
}

/* Whether the rest of the line, after a space, is this label. */
static int is_next(const char *label) {
    int byte = getc(expected), is_same = label != NULL && byte == ' ';
    while ((byte = getc(expected)) != '\n') {
        if (byte == EOF) stop(DAMAGED);
        is_same = is_same && *label != 0 && *label++ == (char)byte;
    }
    return is_same && *label == 0;
}

static void compare(double wanted, double got) {
    const double difference = fabs(wanted - got);
    if (!(difference <= largest)) largest = difference;
}

static void check_layer(const postil_model *model, const postil_result *result, long layer, long tokens) {
    char mark;
    if (fscanf(expected, " %c", &mark) != 1 || mark != 'L') stop(DAMAGED);
    const long entities = number();
    const postil_layer *answers = result->layers + layer;
    for (long t = 0; t < tokens; t++) {
        compare(real(), answers->probabilities[t]);
        labels_wrong += !is_next(postil_label(model, (int32_t)layer, answers->labels[t]));
    }
    others_wrong += answers->entity_count != entities;
    for (long i = 0; i < entities; i++) {
        const long begin = number(), stop_at = number();
        const double probability = real();
        const postil_entity *e = i < answers->entity_count ? answers->entities + i : NULL;
        const int is_same = is_next(e == NULL ? NULL : postil_entity_label(model, (int32_t)layer, e->label));
        if (e == NULL) continue;
        others_wrong += (e->begin != begin || e->end != stop_at) + !is_same;
        compare(probability, e->probability);
    }
}

/* Compare the answer with the expected one; layers are read from `layers_at` on. */
static void check_result(const postil_model *model, const postil_result *result, const postil_span *spans, long tokens,
                         const int32_t *sentences, long count, long layers, long layers_at) {
    if (fseek(expected, layers_at, SEEK_SET) != 0) stop(DAMAGED);
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
    const long bytes = count_of(0), tokens = count_of(0), count = count_of(0), layers = count_of(0);
    char *text = text_of(bytes);
    postil_span *spans = room((size_t)tokens * sizeof *spans);
    int32_t *sentences = room(((size_t)count + 1) * sizeof *sentences);
    for (long t = 0; t < tokens; t++) {
        spans[t].begin = (int32_t)number();
        spans[t].end = (int32_t)number();
    }
    sentences[0] = 0;
    for (long b = 0; b < count; b++) sentences[b + 1] = sentences[b] + (int32_t)number();
    const long layers_at = ftell(expected);
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
    free(text);
    free(spans);
    free(sentences);
}

static void check_tree(const postil_model *model, postil_workspace *workspace) {
    const long bytes = count_of(0), nodes = count_of(0), labels = count_of(1);
    char *text = text_of(bytes);
    postil_tree_result result;
    need(postil_tree(model, workspace, text, (size_t)bytes, &result));
    if (result.count != nodes || result.label_count != labels) stop("a tree has other nodes or labels");
    for (long i = 0; i < nodes; i++) {
        const postil_node *node = result.nodes + i;
        labels_wrong += number() != node->label;
        for (long j = 0; j < labels; j++) compare(real(), node->probabilities[j]);
    }
    nodes_seen += nodes;
    free(text);
}

int main(int count, char **words) {
    char kind;
    postil_model *model;
    postil_workspace *workspace;
    if (count != 3) stop("usage: conformance model.bin conformance.txt");
    need(postil_open(words[1], &model));
    need(postil_workspace_new(model, 0, &workspace));
    expected = fopen(words[2], "rb");
    if (expected == NULL) stop("a file cannot be read");
    while (fscanf(expected, " %c", &kind) == 1) {
        if (kind == 'T')
            check_text(model, workspace);
        else if (kind == 'R')
            check_tree(model, workspace);
        else
            stop(DAMAGED);
    }
    postil_workspace_free(workspace);
    postil_close(model);
    fclose(expected);
    const int is_good = labels_wrong == 0 && others_wrong == 0 && largest <= TOLERANCE;
    printf("%s: %ld tokens, %ld nodes; %ld labels differ, %ld spans differ, largest difference of probabilities %.2g\n",
           is_good ? "conformance: passed" : "conformance: FAILED", tokens_seen, nodes_seen, labels_wrong, others_wrong,
           largest);
    return is_good ? 0 : 1;
}

/* What JavaScript calls: the runtime with one model and one workspace, and offsets as JavaScript counts them.

   JavaScript writes UTF-8 into `room`, calls, and reads the structures of postil.h where they lie. Pointers have 32 bits. */

#include <stdint.h>
#include <stdlib.h>

#include "postil.h"

#define EXPORTED(name) __attribute__((export_name(name)))

static postil_model *model;
static postil_workspace *workspace;
static postil_result result;
static postil_tree_result tree;
static postil_lattice lattice;
static postil_span *spans, *units; /* the tokens that were given; tokens in UTF-16 code units */
static int32_t span_room, unit_room;
static void *text;
static int32_t *sentences; /* of the tokens that were given */
static size_t text_room, sentence_room;

/* A buffer that only grows, by at least a half. What was in it is lost. */
static void *grown(void *memory, size_t bytes, size_t *room) {
    if (bytes <= *room) return memory;
    free(memory);
    *room = bytes + bytes / 2;
    memory = malloc(*room);
    if (memory == NULL) *room = 0;
    return memory;
}

static int span_buffer(postil_span **buffer, int32_t count, int32_t *room) {
    size_t bytes = (size_t)*room * sizeof **buffer;
    *buffer = grown(*buffer, (size_t)count * sizeof **buffer, &bytes);
    *room = (int32_t)(bytes / sizeof **buffer);
    return *buffer == NULL && count > 0 ? POSTIL_NO_MEMORY : POSTIL_OK;
}

/* Memory for a text of this size; NULL if there is none. The next text replaces it. */
EXPORTED("room") void *room_for(size_t bytes) { return text = grown(text, bytes + 1, &text_room); }

/* The bytes come from `allocate` and belong to the model from now on. */
EXPORTED("allocate") void *allocate(size_t bytes) { return malloc(bytes); }
EXPORTED("open") int open_model(void *bytes, size_t size) {
    const int code = postil_open_memory(bytes, size, &model);
    return code == POSTIL_OK ? postil_workspace_new(model, 0, &workspace) : code;
}

EXPORTED("error") const char *error_text(int code) { return postil_error(code); }
EXPORTED("about") const char *about(void) { return postil_about(model); }
EXPORTED("is_tree_classifier") int is_tree_classifier(void) { return postil_is_tree_classifier(model); }
EXPORTED("task_count") int32_t task_count(void) { return postil_task_count(model); }
EXPORTED("task") const char *task(int32_t number) { return postil_task(model, number); }
EXPORTED("label_count") int32_t label_count(int32_t of) { return postil_label_count(model, of); }
EXPORTED("label") const char *label(int32_t of, int32_t number) { return postil_label(model, of, number); }
EXPORTED("class_count") int32_t class_count(int32_t of) { return postil_entity_label_count(model, of); }
EXPORTED("class") const char *class_name(int32_t of, int32_t number) { return postil_entity_label(model, of, number); }

/* The result of the last call, its tokens in UTF-16 code units (or NULL: bytes are code units), lattice and tree. */
EXPORTED("result") const postil_result *last_result(void) { return &result; }
EXPORTED("units") const postil_span *last_units(void) { return units; }
EXPORTED("lattice") const postil_lattice *last_lattice(int32_t of) {
    return postil_lattice_of(workspace, of, &lattice) == POSTIL_OK ? &lattice : NULL;
}
EXPORTED("tree_result") const postil_tree_result *last_tree(void) { return &tree; }

/* The UTF-16 code units that a character takes which begins with this byte; none for bytes inside of a character. */
static int32_t width(uint8_t byte) { return (byte & 0xC0) == 0x80 ? 0 : byte >= 0xF0 ? 2 : 1; }

/* The text in `room`; `is_ascii` where its bytes are its code units. Tokens are in its order: one pass counts units. */
EXPORTED("tag") int tag(size_t length, int is_ascii) {
    int code = postil_tag(model, workspace, text, length, &result);
    if (code != POSTIL_OK || is_ascii) return code;
    const postil_span *tokens = result.tokens;
    const uint8_t *bytes = text;
    int32_t at = 0, passed = 0;
    code = span_buffer(&units, result.token_count, &unit_room);
    for (int32_t i = 0; code == POSTIL_OK && i < result.token_count; i++) {
        for (; at < tokens[i].begin; at++) passed += width(bytes[at]);
        units[i].begin = passed;
        for (; at < tokens[i].end; at++) passed += width(bytes[at]);
        units[i].end = passed;
    }
    return code;
}

/* Tokens in `room`, a space after each but the last. JavaScript writes into `tokens_for` how many code units each token
   has, in the place of its end, and into `sentences_for` the first token of each sentence and the end of the last one. */
EXPORTED("tokens_for") postil_span *tokens_for(int32_t count) {
    return span_buffer(&spans, count + 1, &span_room) == POSTIL_OK ? spans : NULL;
}
EXPORTED("sentences_for") int32_t *sentences_for(int32_t count) {
    return sentences = grown(sentences, ((size_t)count + 1) * sizeof *sentences, &sentence_room);
}

EXPORTED("tag_tokens") int tag_tokens(size_t length, int32_t count, int32_t sentence_count, int labels_only) {
    const uint8_t *bytes = text;
    int32_t at = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t left = spans[i].end;
        spans[i].begin = at;
        while (left > 0 && (size_t)at < length) {
            left -= width(bytes[at++]);
            while ((size_t)at < length && (bytes[at] & 0xC0) == 0x80) at++;
        }
        spans[i].end = at++;
    }
    postil_workspace_labels_only(workspace, labels_only);
    const int code = postil_tag_spans(model, workspace, text, length, spans, count, sentences, sentence_count, &result);
    postil_workspace_labels_only(workspace, 0);
    return code;
}

EXPORTED("classify_tree") int classify_tree(size_t length) { return postil_tree(model, workspace, text, length, &tree); }

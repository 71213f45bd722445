/* Postil: labels for words and phrases, by a model that was trained with Python and exported for C.

       postil_model *model;
       postil_workspace *workspace;
       postil_result result;
       if (postil_open("model.bin", &model) || postil_workspace_new(model, 0, &workspace)) return 1;
       if (postil_tag(model, workspace, text, strlen(text), &result)) return 1;
       for (int32_t i = 0; i < result.layers[0].entity_count; i++) …

   A model never changes after it has been opened: any number of threads may share it. A workspace belongs to one thread
   at a time. Every function that returns int returns POSTIL_OK (0) or one of the codes below. */

#ifndef POSTIL_H
#define POSTIL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    POSTIL_OK,
    POSTIL_NO_MEMORY,
    POSTIL_NO_FILE,        /* it cannot be opened or read */
    POSTIL_NOT_A_MODEL,    /* the file is not an exported model */
    POSTIL_OTHER_VERSION,  /* it is one of another version of the format, or the machine is big-endian */
    POSTIL_DAMAGED,        /* the file is not as it was written, or was forged */
    POSTIL_NOT_UTF8,       /* the text */
    POSTIL_TOO_LONG,       /* the text, for the workspace */
    POSTIL_TOO_HARD,       /* the tokeniser gave up on a chunk of text without spaces */
    POSTIL_NOT_FINITE,     /* scores are infinite or no numbers: the model cannot have been trained */
    POSTIL_WRONG_ARGUMENT, /* a null pointer, a span outside of the text, … */
    POSTIL_WRONG_KIND,     /* a tree classifier was asked for labels of words, or the other way round */
    POSTIL_NOT_A_TREE      /* brackets do not match, a node has no word, … */
};

/* What a code means, in English. */
const char *postil_error(int code);

typedef struct postil_model postil_model;
typedef struct postil_workspace postil_workspace;

/* ------------------------------------------------------------------------------------------------ models */

/* Reads the file. */
int postil_open(const char *path, postil_model **model);

/* The content of such a file, mapped or part of the program. It is used in place, if it lies on a multiple of 8 bytes,
   and must stay where it is until the model is closed. */
int postil_open_memory(const void *bytes, size_t size, postil_model **model);

void postil_close(postil_model *model);

/* JSON: what the model is. */
const char *postil_about(const postil_model *model);

int postil_is_tree_classifier(const postil_model *model);

/* Tasks (one, "main", where the model was not trained for several), the labels of a task's tokens, and the labels of
   its entities (none if labels have no spans, as parts of speech). NULL if the number is out of range. */
int32_t postil_task_count(const postil_model *model);
const char *postil_task(const postil_model *model, int32_t task);
int32_t postil_label_count(const postil_model *model, int32_t task);
const char *postil_label(const postil_model *model, int32_t task, int32_t label);
int32_t postil_entity_label_count(const postil_model *model, int32_t task);
const char *postil_entity_label(const postil_model *model, int32_t task, int32_t label);

/* ------------------------------------------------------------------------------------------------ workspaces */

/* Memory for texts of up to `max_bytes` bytes: nothing is allocated while tagging, and longer texts are an error. With
   max_bytes = 0 the workspace grows with the texts. */
int postil_workspace_new(const postil_model *model, size_t max_bytes, postil_workspace **workspace);

/* The same in memory of your own: `size` bytes, at least postil_workspace_size(model, max_bytes), on a multiple of 64.
   Such a workspace needs no postil_workspace_free. 0 is returned where the size would be too large for this machine. */
size_t postil_workspace_size(const postil_model *model, size_t max_bytes);
int postil_workspace_place(const postil_model *model, size_t max_bytes, void *memory, size_t size,
                           postil_workspace **workspace);

void postil_workspace_free(postil_workspace *workspace);

/* Whether the workspace answers with labels alone, which is several times as fast: then the probabilities of a layer are
   NULL, and it has no entities. */
void postil_workspace_labels_only(postil_workspace *workspace, int only);

/* ------------------------------------------------------------------------------------------------ tagging */

/* Part of a text: its first byte, and the one after its last. */
typedef struct {
    int32_t begin, end;
} postil_span;

typedef struct {
    int32_t begin, end;         /* bytes of the text */
    int32_t first_token, end_token;
    int32_t label;              /* its name: postil_entity_label(model, task, label) */
    int32_t sentence;
    double probability;
} postil_entity;

/* The answers of one task. */
typedef struct {
    const char *task;
    const int32_t *labels;                /* of each token: postil_label(model, task, label) */
    const double *probabilities;          /* of each token's label; NULL: labels alone were asked for */
    const double *sentence_probabilities; /* of the whole labelling of each sentence, or NULL */
    const postil_entity *entities;        /* in the order of the text */
    int32_t entity_count, number;         /* number: that of the task */
} postil_layer;

/* Sentence i consists of the tokens sentences[i] to sentences[i + 1] - 1. */
typedef struct {
    const postil_span *tokens;
    const int32_t *sentences; /* sentence_count + 1 */
    const postil_layer *layers;
    int32_t token_count, sentence_count, layer_count, unused;
} postil_result;

/* The tokens, sentences, labels and entities of a text in UTF-8. The result lies in the workspace and lasts until that is
   used again. */
int postil_tag(const postil_model *model, postil_workspace *workspace, const char *text, size_t length,
               postil_result *result);

/* The same for tokens that are known. One sentence of `count` tokens, strings; `lengths` are their bytes, or NULL where
   each ends with a zero. Spans of the result count in the tokens joined by single spaces. */
int postil_tag_tokens(const postil_model *model, postil_workspace *workspace, const char *const *tokens,
                      const size_t *lengths, int32_t count, postil_result *result);

/* Tokens as spans of a text, in order, not overlapping; sentence i consists of tokens sentences[i] to
   sentences[i + 1] - 1. */
int postil_tag_spans(const postil_model *model, postil_workspace *workspace, const char *text, size_t length,
                     const postil_span *tokens, int32_t count, const int32_t *sentences, int32_t sentence_count,
                     postil_result *result);

/* The lattice of a task: the scores from which the answers of the last call were computed. Label j of token t scores
   unary[t * labels + j] / temperature, and label `outside` (-1: none) less by `shift`. The other scores are final. */
typedef struct {
    int32_t labels, outside;
    double temperature, shift;
    const float *unary;                        /* (tokens, labels); lasts until the workspace is used again */
    const double *transitions, *start, *end;   /* (labels, labels), (labels), (labels) */
} postil_lattice;

int postil_lattice_of(const postil_workspace *workspace, int32_t task, postil_lattice *lattice);

/* ------------------------------------------------------------------------------------------------ trees */

/* One node, after its children: the last one is the root. Leaves have no children: -1. */
typedef struct {
    int32_t left, right; /* nodes */
    int32_t begin, end;  /* bytes of the text: of a leaf its word, else from the first word to the last */
    int32_t label;       /* postil_label(model, 0, label) */
    int32_t unused;
    const double *probabilities; /* of each label */
} postil_node;

typedef struct {
    const postil_node *nodes;
    int32_t count, label_count;
} postil_tree_result;

/* Labels of all nodes of a tree in brackets, "(3 (2 a) (3 (2 good) (2 film)))"; labels that stand there are skipped.
   Nodes with more than two children become binary, as in training. */
int postil_tree(const postil_model *model, postil_workspace *workspace, const char *brackets, size_t length,
                postil_tree_result *result);

#ifdef __cplusplus
}
#endif

#endif

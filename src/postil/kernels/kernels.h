/* Types of the kernels, and those kernels that table.py does not describe. The build reads this file twice: as C, and to
   tell cffi what Python may call. It makes prototypes.h, included below, from the table.

   Rules: plain C99, no Python API, no global state. Arrays are C-contiguous and never overlap. Integers are int64_t.
   A kernel that can fail gives 0 when all went well, or one of the codes below. `single` says whether the arrays behind
   void * are float or double. */

#ifndef POSTIL_KERNELS_H
#define POSTIL_KERNELS_H

#include <stdint.h>

#if defined(__ELF__) || defined(__APPLE__)
#pragma GCC visibility push(default) /* the build hides everything else */
#endif

enum { DONE, NO_MEMORY, WRONG_OFFSETS, WRONG_INDEX, NOT_FINITE, NOT_PLAIN, NO_ROOM, NOT_UTF8, TOO_LONG };

/* runtime.c: which prototypes were compiled, for which instructions, and which of them this processor has: 0 those that all
   have, 1 x86-64-v3 (AVX2), 2 x86-64-v4 (AVX-512) */
int64_t interface(void);
const char *instruction_set(void);
int instruction_level(void);

/* answers.c: how to read answers from the scores of L labels. What is NULL is not asked for, or restricts nothing. */
typedef struct {
    double temperature, shift;
    int64_t outside;              /* the label O; negative: there is none */
    const double *bonus;          /* (L,) added to scores when labels are chosen */
    const int64_t *classes;       /* (L,) of an entity's labels, negative elsewhere; NULL: labels without spans */
    const uint8_t *begins;        /* (L,) the labels with which an entity begins */
    const uint8_t *after;         /* (classes, L) the labels that may follow it; NULL: all */
    const double *lowest, *alike; /* (classes,) of probabilities, (L, L) */
} chain_question;

/* windows.c: for the engine */
enum { IDENTITY, RELU, HARDTANH };
int multiply_rows(const float *X, const float *W, const float *bias, int64_t U, int64_t D, int64_t M, float *out);
int normalise_windows(const float *X, const float *gain, const float *bias, const float *padding,
                      const int64_t *offsets, int64_t tokens, int64_t sentences, int64_t D, int64_t size,
                      int64_t dilation, float epsilon, float *out);
int add_bias(const float *Y, const float *bias, int64_t N, int64_t H, int activation, int add, float *out);

/* layers.c */
double sum_of_squares(const void *x, int single, int64_t n);

/* training.c: one step of training, for any number of threads. Each of them works on the same step, whose team begins as
   zeros. A step is a row of phases, a phase a number of units of work that depends on the data alone; a worker takes the
   next unit until there is none, and waits for the others before the next phase. Sums over units are added in the order
   of the units, so the bits do not depend on the number of workers. */
enum { GRADIENT_PHASES = 5, PHASES = 7 };
typedef struct {
    int64_t next[PHASES], done[PHASES];
    int32_t code;
} team;

/* Features of words that share one table: table (V, width), ids (U, features). Their columns of X begin at `column`. */
typedef struct {
    const float *table;
    const int64_t *ids;
    int64_t V, width, features, column;
    float *values;   /* (U * features, width) gradient of each occurrence */
    int64_t *rows;   /* (R,) what occurs */
    float *sums;     /* (R, width) */
    int64_t found;   /* R */
} table_step;

/* Y = X + dropout(f(W [norm(x_t-d); norm(x_t); norm(x_t+d)] + b)): a residual convolution of dilation d. */
typedef struct {
    const float *gain, *bias, *padding, *W, *b;
    float *dgain, *dbias, *dpadding, *dW, *db;
    float *Z, *deviation, *windows, *Y, *slopes; /* (N, H), (N,), (N, K * H), (N, H), (N, H) */
    uint64_t key;
    int64_t dilation;
} convolution_step;

/* A convolution over the characters of words and its maxima: F filters of `size` characters with D numbers each. */
typedef struct {
    const int64_t *ids;                   /* (U, M) 1 + the id of a character, zeros after the last one */
    const float *table, *padding, *W, *b; /* (V, D), (D,), (F, size * D), (F,) */
    float *dtable, *dpadding, *dW, *db;
    int64_t V, D, size, F, M;
    /* memory */
    float *vectors, *dvectors, *by_position, *dby_position; /* (1 + V, D) twice, (size * F, D) twice */
    float *rows, *drows, *slopes;                           /* (1 + V, size * F) twice, (U, F) */
    int32_t *winners;                                       /* (U, F) */
    int32_t are_ready;                                      /* the rows */
} character_step;

typedef struct {
    team *workers;
    void *product; /* cblas_sgemm; `wide_integers`: its sizes are of 64 bits */
    int32_t wide_integers, activation;
    int64_t N, B, U, D, wide, K, H, L, depth, table_count, vector_dim, extra_dim, block_tokens;
    double epsilon, share; /* share: factor of the loss of each sentence */
    const int64_t *places, *offsets, *gold;
    const double *targets, *target_steps; /* (N, L), (L, L) what a teacher expects, or NULL: then gold counts */
    const int64_t *vector_ids; /* (U,) or NULL */
    const float *vectors;      /* (V, vector_dim) fixed: the columns of X after the tables */
    int64_t vector_count;
    character_step *characters; /* the columns of X after those; NULL: none. Tables of the last extra_dim columns follow */
    table_step *tables;
    const float *padding, *W, *b; /* the first layer: (D,), (H, K * D), (H,) */
    float *dpadding, *dW, *db;
    convolution_step *blocks;  /* (depth,) */
    const float *gain, *bias;  /* of the norm before the output; NULL: none */
    float *dgain, *dbias;
    const float *output_W, *output_b; /* (L, H), (L,) */
    float *doutput_W, *doutput_b;
    const float *transition_scores, *start_scores, *end_scores; /* of the CRF: (L, L), (L,), (L,) */
    const uint8_t *forbidden; /* (L * L + 2 * L,) which of these */
    float *dtransition_scores, *dstart_scores, *dend_scores;
    uint64_t input_key, hidden_key;
    uint32_t input_dropped, hidden_dropped;
    /* memory */
    float *X, *noise, *by_position, *dby_position, *rows, *dX; /* (1+U, wide) twice, (K*H, wide) twice, (1+U, K*H), (1+U, wide) */
    int64_t *ids, *local;                                      /* (N,), (2 * B + 2,) */
    float *Y, *slopes, *hidden, *Z, *deviation;                /* (N, H) four times, (N,) */
    float *normed, *dhidden, *dnormed, *dwindows;              /* (N, H) three times, (N, K * H) */
    float *scores, *dscores;                                   /* (N, L) */
    double *transitions, *start, *end;                         /* (L, L), (L,), (L,) -inf where they are forbidden */
    double *marginals, *log_partition, *losses, *counts;       /* (N, L), (B,), (B,), (blocks, L, L) */
    float *partial;                                            /* (blocks, 3 * depth + 2, H) */
    uint8_t *exact;                                            /* (B,) */
    int32_t parts_done;                                        /* of the words' gradients */
    double loss;
} tagger_step;

/* One parameter and what Adam and the averages keep of it; without rows (NULL) all `count` rows change. */
typedef struct {
    float *value, *mean, *square;
    int64_t *touches, *settled;
    double *total; /* NULL: no averages */
    const int64_t *rows;
    const float *g;
    int64_t count, table, columns;
    double rate;
} adam_update;
typedef struct {
    adam_update *updates;
    int64_t count;
    double *squares; /* (adam_units,) */
    double beta1, beta2, epsilon, clip;
    int64_t steps;
} adam_steps_of;
int64_t adam_units(const adam_update *updates, int64_t count);

/* What threads share out: the gradients of some taggers, or a step of Adam. */
typedef struct {
    team workers;
    tagger_step **taggers;
    int64_t count;
    adam_steps_of *adam; /* NULL: none */
} training_step;

/* Threads that help: each calls `help` and stays there until `stopped`. With `post_step` they begin, while the caller does
   something else; with `join_step` the caller takes part, and gets the code of it all. Whoever waits looks often at first,
   then less and less often. */
typedef struct {
    int64_t posted, finished;
    int32_t helpers, stopped;
    training_step step;
} crew;
void help(crew *helpers);
void stop(crew *helpers);
void post_step(crew *helpers, tagger_step **taggers, int64_t count, adam_steps_of *adam);
int join_step(crew *helpers);

/* phrases.c */
enum { OF_SUMS, OF_PAIRS, OF_CELLS };

/* engine.c: from words to scores. A model is made of sections, arrays with names (see models/engine.py), which must stay
   where they are until it is closed; any number of threads may share it. A workspace belongs to one thread at a time.
   `touched`, where it is not NULL, has a byte for each 64 KiB of the vectors, which becomes 1 when a row in them is read.
   `extra_rows` (extra_count, K * members * H), of which row 0 is zeros, are added to the first layer by `extra_ids`
   (extra_columns, N), several to each token; NULL: nothing is. `scores` has a pointer to (N, L) for each head, NULL where they are not wanted. Codes are those of engine/postil.h. */
typedef struct postil_model engine_model;
typedef struct postil_workspace engine_workspace;
typedef struct {
    const char *name;
    const void *values;
    int64_t type, rows, columns, count; /* columns: 1 of a vector; count: of all items */
} engine_section;
int engine_open(const engine_section *directory, int64_t count, uint8_t *touched, engine_model **opened);
void engine_close(engine_model *model);
int engine_workspace_new(const engine_model *model, void *product, int wide_integers, int64_t cached_bytes,
                         engine_workspace **workspace);
void engine_workspace_free(engine_workspace *workspace);
int engine_score(engine_workspace *w, const uint8_t *text, int64_t size, const int64_t *cells, int64_t N,
                 const int64_t *offsets, int64_t B, const float *extra_rows, int64_t extra_count,
                 const int64_t *extra_ids, int64_t extra_columns, float *const *scores);

/* characters.c: what characters.py knows, see there; `spaces` (256,) of a byte: 1 it is whitespace, 2 it may begin some */
typedef struct {
    const int32_t *records;
    const uint8_t *index, *pages, *spaces;
} character_tables;

/* words.c: `kind` is a place in KINDS of plain_text.py; a hash table is that of a Vocabulary. `crc` (256,)
   is the table of CRC-32, `shapes` (32,) the letter of each category in a shape, `mark` what digits become in words of
   vectors, negative: nothing. */
typedef struct {
    const uint8_t *text;
    const int32_t *offsets, *slots;
    int64_t size, count, slot_count;
} string_table;
typedef struct {
    int64_t kind, length;
    string_table table;
} word_column;
typedef struct {
    const uint32_t *crc;
    const uint8_t *shapes;
    const word_column *columns;
    int64_t count, mark;
} word_rules;

/* tokens.c: a program is what tools/patterns.py writes, see there. Entries are places in its code. */
typedef struct {
    const int32_t *code;
    const uint64_t *sets;
    const uint16_t *index, *pages;
} pattern_program;
typedef struct {
    pattern_program program;
    int32_t token, depends, reach; /* entries of two expressions, and the most characters that the second can match */
} token_rules;
/* sentences.c: word i of the rules is words[ends[i]:ends[i + 1]], in the order of their bytes */
typedef struct {
    pattern_program program;
    int32_t line_break, emoticon, ellipsis;
    const uint8_t *line_bytes, *final_bytes; /* (256,) whether a byte may begin a line break, end a final mark */
    const uint8_t *words, *kinds;
    const int64_t *ends;
    int64_t count;
} sentence_rules;
/* items.c: a model file of CRFsuite, whose content must stay where it is; any number of threads may read it */
typedef struct {
    const uint8_t *chunk, *places; /* (size,), (count, 4) where the record of each name begins */
    int64_t size, count;
} crf_names;
typedef struct {
    crf_names names;          /* of attributes */
    const uint8_t *features;  /* those of attribute a are number firsts[a] to firsts[a + 1] */
    const int32_t *firsts;    /* (A + 1,) */
    const double *transitions, *edge; /* (L, L), (L,) zeros */
    int64_t A, L;
} crf_file;
int open_crf(const uint8_t *content, int64_t size, int64_t A, int64_t L, int32_t *firsts, double *transitions,
             crf_file *file);
int score_items(const crf_file *file, const uint8_t *items, int64_t size, int64_t T, double *scores, int64_t *path);
int item_marginals(const crf_file *file, const double *scores, int64_t T, double *marginals, double *log_partition);
double item_path_score(const crf_file *file, const double *scores, int64_t T, const int64_t *path);

/* skipgram.c, ranking.c */
enum { MOST_REACH = 32, MOST_OUTPUTS = 64, LOSS_EVERY = 16, RANKING_GROUP = 16 };

#include "prototypes.h"

#if defined(__ELF__) || defined(__APPLE__)
#pragma GCC visibility pop
#endif

#endif

/* The engine that every exported model contains, as part of this library: see engine/. Python hands it
   the arrays of a fitted model in place, and gets the scores of tokens that stand in cells of a text. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "characters.h"
#include "matcher.h"
#include "shared.h"

#include "engine/postil.h"

#include "engine/memory.c"
#include "engine/model.c"
#include "engine/tagging.c"
#include "engine/trees.c"

int engine_open(const engine_section *directory, int64_t count, engine_model **opened) {
    postil_model *model = calloc(1, sizeof *model);
    *opened = NULL;
    if (model == NULL) return POSTIL_NO_MEMORY;
    model->directory = directory, model->sections = count, model->is_trusted = 1;
    read_model(model);
    const int code = model->code;
    if (code == POSTIL_OK)
        *opened = model;
    else
        postil_close(model);
    return code;
}

void engine_close(engine_model *model) { postil_close(model); }

typedef void (*narrow_product)(int, int, int, int32_t, int32_t, int32_t, float, const float *, int32_t, const float *,
                               int32_t, float, float *, int32_t);
typedef void (*wide_product)(int, int, int, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *,
                             int64_t, float, float *, int64_t);

/* By cblas_sgemm: all by rows, nothing transposed. */
static void multiply_by_blas(const postil_workspace *w, const float *X, const float *W, int64_t n, int64_t D, int64_t H,
                             float *Y) {
    if (w->wide_integers)
        ((wide_product)w->product)(101, 111, 111, n, H, D, 1.0f, X, D, W, H, 0.0f, Y, H);
    else
        ((narrow_product)w->product)(101, 111, 111, (int32_t)n, (int32_t)H, (int32_t)D, 1.0f, X, (int32_t)D, W, (int32_t)H, 0.0f,
                                     Y, (int32_t)H);
}

int engine_workspace_new(const engine_model *model, void *product, int wide_integers, int64_t cached_bytes,
                         engine_workspace **workspace) {
    *workspace = NULL;
    const int code = grown_workspace(model, cached_bytes, workspace);
    if (code != POSTIL_OK) return code;
    (*workspace)->multiply = product == NULL ? NULL : multiply_by_blas;
    (*workspace)->product = product, (*workspace)->wide_integers = wide_integers;
    return POSTIL_OK;
}

void engine_workspace_free(engine_workspace *workspace) { postil_workspace_free(workspace); }

int engine_score(engine_workspace *w, const uint8_t *text, int64_t size, const int64_t *cells, int64_t N,
                 const int64_t *offsets, int64_t B, const float *extra_rows, int64_t extra_count,
                 const int64_t *extra_ids, float *const *scores) {
    const passage p = {text, size, cells, offsets, N, B, extra_rows, extra_ids, extra_count};
    if (longest_sentence(offsets, B, N) < 0) return POSTIL_WRONG_ARGUMENT;
    for (int64_t t = 0; t < N; t++)
        if (cells[2 * t] < 0 || cells[2 * t + 1] < cells[2 * t] || cells[2 * t + 1] > size) return POSTIL_WRONG_ARGUMENT;
    return score_tokens(w, &p, scores);
}

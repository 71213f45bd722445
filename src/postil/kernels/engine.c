/* The engine that every exported model contains, as part of this library: see engine/. Python hands it
   the arrays of a fitted model in place, and gets the scores of tokens that stand in cells of a text. */

#if defined(__linux__)
#define _DEFAULT_SOURCE
#include <sys/mman.h>
#endif
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "characters.h"
#include "matcher.h"
#include "shared.h"

#include "engine/postil.h"

/* Rows of words lie anywhere in a large cache. On pages of 2 MB the processor finds them sooner. */
#if defined(MADV_HUGEPAGE)
static void prefer_large_pages(void *memory, size_t size) {
    const uintptr_t page = (uintptr_t)1 << 21, first = ((uintptr_t)memory + page - 1) & ~(page - 1);
    if ((uintptr_t)memory + size > first) madvise((void *)first, (uintptr_t)memory + size - first, MADV_HUGEPAGE);
}
#define PREFER_LARGE_PAGES prefer_large_pages
#endif

#include "engine/memory.c"
#include "engine/model.c"
#include "engine/folds.c"
#include "engine/tagging.c"
#include "engine/cuts.c"
#include "engine/votes.c"
#include "engine/trees.c"

int engine_open(const engine_section *directory, int64_t count, uint8_t *touched, engine_model **opened) {
    return open_model((postil_model){.directory = directory, .sections = count, .is_trusted = 1, .touched = touched}, opened);
}

void engine_close(engine_model *model) { postil_close(model); }

/* By cblas_sgemm: all by rows, nothing transposed. */
static void multiply_by_blas(const postil_workspace *w, const float *X, const float *W, int64_t n, int64_t D, int64_t H,
                             float *Y) {
    matrix_product(w->product, w->wide_integers, 111, 111, n, H, D, X, D, W, H, Y, H);
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
                 const int64_t *extra_ids, int64_t extra_columns, float *const *scores) {
    const passage p = {text, size, cells, offsets, N, B, extra_rows, extra_ids, extra_count, extra_columns};
    if (longest_sentence(offsets, B, N) < 0) return POSTIL_WRONG_ARGUMENT;
    for (int64_t t = 0; t < N; t++)
        if (cells[2 * t] < 0 || cells[2 * t + 1] < cells[2 * t] || cells[2 * t + 1] > size) return POSTIL_WRONG_ARGUMENT;
    return score_tokens(w, &p, scores);
}

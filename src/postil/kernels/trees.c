/* Trees: their shapes, and the cells of a Tree-LSTM, one level at a time, for float and double. */

#include "flags.h"
#include "kernels.h"
#include "portable.h"

#define REAL float
#define OF(name) name##_single
#include "trees_body.h"
#undef REAL
#undef OF
#define REAL double
#define OF(name) name##_double
#include "trees_body.h"
#undef REAL
#undef OF

/* A post-order says where the children of a binary node stand: the right one just before it, the left one before all that
   is beneath the right one. `back` holds sizes of subtrees on the way: it is settled tree by tree. */
int binary_shape(const uint8_t *widths, const int64_t *offsets, int64_t trees, int64_t nodes, int64_t *back,
                 int32_t *heights) {
    if (longest_sentence(offsets, trees, nodes) < 0) return WRONG_OFFSETS;
    for (int64_t b = 0; b < trees; b++) {
        const int64_t start = offsets[b], end = offsets[b + 1];
        for (int64_t i = start; i < end; i++) {
            if (widths[i] == 0) {
                heights[i] = 0, back[2 * i] = 1;
                continue;
            }
            if (widths[i] != 2 || i == start) return WRONG_INDEX;
            const int64_t left = i - 1 - back[2 * (i - 1)];
            if (left < start) return WRONG_INDEX;
            heights[i] = (heights[i - 1] > heights[left] ? heights[i - 1] : heights[left]) + 1;
            back[2 * i] = 1 + back[2 * (i - 1)] + back[2 * left];
        }
        if (end == start || back[2 * (end - 1)] != end - start) return WRONG_INDEX;
        for (int64_t i = end - 1; i >= start; i--) {
            back[2 * i + 1] = widths[i] ? 1 : 0;
            back[2 * i] = widths[i] ? 1 + back[2 * (i - 1)] : 0;
        }
    }
    return DONE;
}

INLINED int all_below(const int64_t *numbers, int64_t count, int64_t end) {
    int inside = 1;
    for (int64_t k = 0; k < count; k++) inside &= numbers[k] >= 0 && numbers[k] < end;
    return inside;
}

CLONED int cells_up(void *A, int single, const void *memory, int64_t rows, const int64_t *children, int64_t N,
                    int64_t H, void *out) {
    if (!all_below(children, 2 * N, rows)) return WRONG_INDEX;
    clear_flags();
    if (single)
        cells_up_single(A, memory, children, N, H, out);
    else
        cells_up_double(A, memory, children, N, H, out);
    return done();
}

CLONED int cells_down(const void *A, int single, const void *tanh_c, const void *memory, int64_t rows,
                      const int64_t *children, const int64_t *parents, const void *dH, int64_t first, int64_t N,
                      int64_t P, int64_t H, const void *sent_h, void *sent_c, void *dZ) {
    if (first < 0 || N < 0 || first + N > P) return WRONG_INDEX;
    if (!all_below(children, 2 * N, rows) || !all_below(parents, N, 2 * P + 1)) return WRONG_INDEX;
    for (int64_t k = 0; k < N; k++) /* a parent stands on a level above */
        if (parents[k] < 2 * (first + N)) return WRONG_INDEX;
    clear_flags();
    if (single)
        cells_down_single(A, tanh_c, memory, children, parents, dH, first, N, H, sent_h, sent_c, dZ);
    else
        cells_down_double(A, tanh_c, memory, children, parents, dH, first, N, H, sent_h, sent_c, dZ);
    return done();
}

CLONED int leaf_cells_down(const void *A, int single, const void *tanh_c, const int64_t *parents, const void *dH,
                           int64_t N, int64_t sent, int64_t H, const void *sent_h, const void *sent_c, void *dZ) {
    if (!all_below(parents, N, sent)) return WRONG_INDEX;
    clear_flags();
    if (single)
        leaf_cells_down_single(A, tanh_c, parents, dH, N, H, sent_h, sent_c, dZ);
    else
        leaf_cells_down_double(A, tanh_c, parents, dH, N, H, sent_h, sent_c, dZ);
    return done();
}

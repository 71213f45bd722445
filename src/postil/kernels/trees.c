/* Trees: their shapes, and the cells of a Tree-LSTM, one level at a time, for float and double. */

#include "flags.h"
#include "kernels.h"
#include "portable.h"
#include "squash.h"

#define BODY "trees.inc.h"
#include "both_types.h"

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

/* The arrays of TreeCells (plain_trees.py), and a call of the function for their type. */
#define CELLS void *words, void *phrases, void *c, void *tanh_c, void *h, void *parts, int single
#define RUN(name, ...)                                                          \
    clear_flags();                                                              \
    if (single)                                                                 \
        name##_single((Cells_single){words, phrases, c, tanh_c, h, parts}, __VA_ARGS__); \
    else                                                                        \
        name##_double((Cells_double){words, phrases, c, tanh_c, h, parts}, __VA_ARGS__); \
    return done()

int leaf_cells_up(CELLS, const void *bias, const int64_t *parents, int64_t n, int64_t P, int64_t H) {
    if (!all_below(parents, n, 2 * P + 1)) return WRONG_INDEX;
    RUN(leaf_cells_up, bias, parents, n, H);
}

/* Children stand on levels beneath, parents on levels above: so no step reads what is still to be computed. */
INLINED int is_level(const int64_t *children, const int64_t *parents, int64_t n, int64_t P, int64_t first, int64_t end) {
    if (first < 0 || end < first || end > P || !all_below(children + 2 * first, 2 * (end - first), n + first)) return 0;
    int above = 1;
    for (int64_t row = n + first; row < n + end; row++) above &= parents[row] >= 2 * end && parents[row] <= 2 * P;
    return above;
}

int cells_up(CELLS, const void *bias, const int64_t *children, const int64_t *parents, int64_t n, int64_t P, int64_t H,
             int64_t first, int64_t end) {
    if (!is_level(children, parents, n, P, first, end)) return WRONG_INDEX;
    RUN(cells_up, bias, children, parents, n, first, end, H);
}

int cells_down(CELLS, const int64_t *children, const int64_t *parents, const void *dH, void *sent_h, void *sent_c,
               void *dZ, int64_t n, int64_t P, int64_t H, int64_t first, int64_t end) {
    if (!is_level(children, parents, n, P, first, end)) return WRONG_INDEX;
    RUN(cells_down, children, parents, dH, n, first, end, H, sent_h, sent_c, dZ);
}

int leaf_cells_down(CELLS, const int64_t *parents, const void *dH, const void *sent_h, const void *sent_c, int64_t n,
                    int64_t P, int64_t H, void *dZ) {
    if (!all_below(parents, n, 2 * P + 1)) return WRONG_INDEX;
    RUN(leaf_cells_down, parents, dH, n, H, sent_h, sent_c, dZ);
}

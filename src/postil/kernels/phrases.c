/* Vectors of phrases from those of words, for prediction: all levels of a batch of trees in one call.

   Nothing is kept for a backward pass. The products of a few rows at a time stay in the fastest cache until the
   activation has been taken, and the rows of children are read where they stand. Products and sums are rounded once where
   the processor can do that, and added in an order that depends on the sizes alone; see quadratic.c. */

#if defined(__clang__)
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("fp-contract=fast")
#endif

#include <string.h>

#include "flags.h"
#include "kernels.h"
#include "portable.h"
#include "squash.h"

/* Levels cover all phrases, and children stand on levels beneath. */
static int are_levels(const int64_t *cuts, int64_t levels, const int64_t *children, int64_t n, int64_t P) {
    if (levels < 0 || cuts[0] != 0 || cuts[levels] != P) return 0;
    for (int64_t level = 0; level < levels; level++) {
        if (cuts[level] < 0 || cuts[level + 1] < cuts[level] || cuts[level + 1] > P) return 0;
        for (int64_t k = 2 * cuts[level]; k < 2 * cuts[level + 1]; k++)
            if (children[k] < 0 || children[k] >= n + cuts[level]) return 0;
    }
    return 1;
}

#define VERSIONED_BODY "phrases.inc.h"
#include "versions.h"

int composed_phrases(int how, int single, const void *states, int64_t U, const int64_t *forms, const int64_t *children,
                     const int64_t *cuts, int64_t levels, int64_t n, int64_t P, int64_t H, const void *W,
                     const void *bias, void *X, void *memory) {
    if (!are_levels(cuts, levels, children, n, P)) return WRONG_INDEX;
    for (int64_t row = 0; row < n; row++)
        if (forms[row] < 0 || forms[row] >= U) return WRONG_INDEX;
    RUN(phrases, how, states, forms, children, cuts, levels, n, P, H, W, bias, X, memory);
}

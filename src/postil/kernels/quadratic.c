/* Quadratic forms of many rows, the products of the tensor composition: z_d = cᵀ U_d c + W_d c + b_d.

   A matrix product would do all of it twice, for j, k and for k, j, and move cᵀ U_d of all units d through memory. Here rows stand side by side in vectors, and results stay in registers until they are used.

   These loops are nothing but products that are added up, as in BLAS, and as there a product and its sum are rounded once
   where the processor can do that. Every sum is added in an order that depends on the sizes alone. */

#if defined(__clang__)
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("fp-contract=fast")
#endif

#include <string.h>

#include "flags.h"
#include "kernels.h"
#include "portable.h"

#define VERSIONED_BODY "quadratic.inc.h"
#include "versions.h"

int quadratic_forms(const void *C, int single, const void *U, const void *W, const void *b, int64_t N, int64_t K,
                    int64_t D, void *Z) {
    RUN(forms, C, U, W, b, N, K, D, Z);
}

int quadratic_forms_back(const void *dZ, int single, const void *C, const void *U, const void *W, int64_t N, int64_t K,
                         int64_t D, void *dC) {
    RUN(forms_back, dZ, C, U, W, N, K, D, dC);
}

int bilinear_forms(const void *L, int single, const void *R, const void *U, int64_t N, int64_t K, int64_t D, void *Z) {
    RUN(bilinear, L, R, U, N, K, D, Z);
}

int chosen_products(const void *X, int single, const void *M, int64_t m, const int64_t *which, int64_t N, int64_t K,
                    int64_t D, void *Z) {
    for (int64_t n = 0; n < N; n++)
        if (which[n] < 0 || which[n] >= m) return WRONG_INDEX;
    RUN(chosen_products, X, M, which, N, K, D, Z);
}

int quadratic_weights(const void *dZ, int single, const void *C, int64_t N, int64_t K, int64_t D, void *dV) {
    RUN(weights, dZ, C, N, K, D, dV);
}

int sums_of_pairs(const void *V, int single, int64_t K, int64_t D, void *U) {
    RUN(sums_of_pairs, V, K, D, U);
}

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

/* A compiler splits vectors that are wider than the processor's very badly, so each instruction set has a version of its
   own: VECTOR bytes, and TILE × 2 of them fit into the registers. */
#define PASTED(a, b) a##b
#define JOINED(a, b) PASTED(a, b)
#define VERSION(name) JOINED(OF(name), SUFFIX)

#define SUFFIX _baseline
#define VERSIONED
#if defined(__AVX512F__)
#define VECTOR 64
#define TILE 10
#elif defined(__AVX__)
#define VECTOR 32
#define TILE 5
#else
#define VECTOR 16
#define TILE 5
#endif
#define BODY "quadratic_body.h"
#include "both_types.h"

#if POSTIL_LEVELS
#undef SUFFIX
#undef VERSIONED
#undef VECTOR
#undef TILE
#define SUFFIX _avx2
#define VERSIONED __attribute__((target("arch=x86-64-v3")))
#define VECTOR 32
#define TILE 5
#define BODY "quadratic_body.h"
#include "both_types.h"

#undef SUFFIX
#undef VERSIONED
#undef VECTOR
#undef TILE
#define SUFFIX _avx512
#define VERSIONED __attribute__((target("arch=x86-64-v4")))
#define VECTOR 64
#define TILE 10
#define BODY "quadratic_body.h"
#include "both_types.h"

#define CALL(name, ...)                                                       \
    switch (2 * instruction_level() + (single != 0)) {                        \
        case 2 * AVX512 + 1: code = name##_single_avx512(__VA_ARGS__); break; \
        case 2 * AVX512: code = name##_double_avx512(__VA_ARGS__); break;     \
        case 2 * AVX2 + 1: code = name##_single_avx2(__VA_ARGS__); break;     \
        case 2 * AVX2: code = name##_double_avx2(__VA_ARGS__); break;         \
        case 1: code = name##_single_baseline(__VA_ARGS__); break;            \
        default: code = name##_double_baseline(__VA_ARGS__);                  \
    }
#else
#define CALL(name, ...) \
    code = single ? name##_single_baseline(__VA_ARGS__) : name##_double_baseline(__VA_ARGS__);
#endif

#define RUN(name, ...)            \
    int code;                     \
    clear_flags();                \
    CALL(name, __VA_ARGS__)       \
    return code == DONE ? done() : code

int quadratic_forms(const void *C, int single, const void *U, const void *W, const void *b, int64_t N, int64_t K,
                    int64_t D, void *Z) {
    RUN(forms, C, U, W, b, N, K, D, Z);
}

int quadratic_forms_back(const void *dZ, int single, const void *C, const void *U, const void *W, int64_t N, int64_t K,
                         int64_t D, void *dC) {
    RUN(forms_back, dZ, C, U, W, N, K, D, dC);
}

int quadratic_weights(const void *dZ, int single, const void *C, int64_t N, int64_t K, int64_t D, void *dV) {
    RUN(weights, dZ, C, N, K, D, dV);
}

int sums_of_pairs(const void *V, int single, int64_t K, int64_t D, void *U) {
    RUN(sums_of_pairs, V, K, D, U);
}

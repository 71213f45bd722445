/* Includes VERSIONED_BODY once per instruction set and type: VERSION(name) is the name of a function for one of them, and
   RUN(name, ...) calls that of this processor, for float where `single`.

   A compiler splits vectors that are wider than the processor's very badly, so each instruction set has a version of its
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
#define BODY VERSIONED_BODY
#include "both_types.h"

#if POSTIL_CLONES
#undef SUFFIX
#undef VERSIONED
#undef VECTOR
#undef TILE
#define SUFFIX _avx2
#define VERSIONED __attribute__((target("arch=x86-64-v3")))
#define VECTOR 32
#define TILE 5
#define BODY VERSIONED_BODY
#include "both_types.h"

#undef SUFFIX
#undef VERSIONED
#undef VECTOR
#undef TILE
#define SUFFIX _avx512
#define VERSIONED __attribute__((target("arch=x86-64-v4")))
#define VECTOR 64
#define TILE 10
#define BODY VERSIONED_BODY
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

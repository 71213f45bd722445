/* Includes VERSIONED_BODY once per type, with vectors as wide as those of the instruction set that is compiled for: a
   compiler splits wider ones very badly. VECTOR bytes, and TILE × 2 of them fit into the registers.
   RUN(name, ...) calls the function for float if `single`, else that for double. */

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

#define RUN(name, ...)                                                            \
    clear_flags();                                                                \
    const int code = single ? name##_single(__VA_ARGS__) : name##_double(__VA_ARGS__); \
    return code == DONE ? done() : code

/* What the command line tells about the compiled kernels. */

#include "kernels.h"
#include "portable.h"

/* The checksum of the prototypes that this was compiled with; build.py hands it over. */
int64_t interface(void) { return POSTIL_INTERFACE; }

int instruction_level(void) {
#if POSTIL_LEVELS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw"))
        return AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return AVX2;
#endif
    return BASELINE;
}

const char *instruction_set(void) {
#if POSTIL_CLONES
    static const char *const names[] = {"baseline", "AVX2", "AVX-512"};
    return names[instruction_level()];
#elif defined(__AVX512VL__) && defined(__AVX512DQ__) && defined(__AVX512BW__)
    return "AVX-512";
#elif defined(__AVX2__)
    return "AVX2";
#elif defined(__ARM_NEON)
    return "NEON";
#else
    return "baseline";
#endif
}

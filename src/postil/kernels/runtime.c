/* What the loader of the library and the command line ask about the compiled kernels. */

#include "kernels.h"
#include "portable.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* The checksum of the prototypes that this was compiled with; build.py hands it over. */
int64_t interface(void) { return POSTIL_INTERFACE; }

#if defined(__x86_64__)
#define BIT(n) (1u << (n))
#define ALL(word, bits) (((word) & (bits)) == (bits))

/* The registers that the operating system saves: 1 and 2 those of AVX, 5 to 7 those of AVX-512. */
static uint32_t saved_registers(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

int instruction_level(void) {
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return BASELINE;
    /* SSE3, SSSE3, FMA, CMPXCHG16B, SSE4.1, SSE4.2, MOVBE, POPCNT, OSXSAVE, AVX, F16C */
    if (!ALL(c, BIT(0) | BIT(9) | BIT(12) | BIT(13) | BIT(19) | BIT(20) | BIT(22) | BIT(23) | BIT(27) | BIT(28) | BIT(29)))
        return BASELINE;
    const uint32_t saved = saved_registers();
    if (!ALL(saved, BIT(1) | BIT(2))) return BASELINE;
    if (!__get_cpuid(0x80000001, &a, &b, &c, &d) || !ALL(c, BIT(0) | BIT(5))) return BASELINE; /* LAHF, LZCNT */
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return BASELINE;
    if (!ALL(b, BIT(3) | BIT(5) | BIT(8))) return BASELINE; /* BMI1, AVX2, BMI2 */
    if (!ALL(saved, BIT(5) | BIT(6) | BIT(7))) return AVX2;
    return ALL(b, BIT(16) | BIT(17) | BIT(28) | BIT(30) | BIT(31)) ? AVX512 : AVX2; /* F, DQ, CD, BW, VL */
}
#else
int instruction_level(void) { return BASELINE; }
#endif

const char *instruction_set(void) {
#if defined(__AVX512VL__) && defined(__AVX512DQ__) && defined(__AVX512BW__)
    return "AVX-512";
#elif defined(__AVX2__)
    return "AVX2";
#elif defined(__ARM_NEON)
    return "NEON";
#else
    return "baseline";
#endif
}

/* What differs between compilers, in one place. */

#ifndef POSTIL_PORTABLE_H
#define POSTIL_PORTABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* CLONED before a function: compiled once per instruction set, the best one picked when the library is loaded.
   It needs GCC and the loader of glibc. POSTIL_NO_CLONES turns it off (the sanitisers cannot follow the picking). */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__) && !defined(POSTIL_NO_CLONES)
#define POSTIL_CLONES 1
#define CLONED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define POSTIL_CLONES 0
#define CLONED
#endif

/* A body that must become part of each clone that calls it, not a call to one common version. */
#if defined(__GNUC__)
#define INLINED static inline __attribute__((always_inline))
#define ALIGNED __attribute__((aligned(64)))
#else
#define INLINED static inline
#define ALIGNED
#endif

/* Rows are padded to LANES doubles: one register of the widest kind. */
#define LANES 8

INLINED int64_t padded(int64_t size) { return (size + LANES - 1) / LANES * LANES; }

/* `count` doubles on a cache line, or NULL; *memory is what free() takes. Never of size 0. */
INLINED double *aligned_doubles(int64_t count, void **memory) {
    *memory = count < (int64_t)(SIZE_MAX / 16) ? malloc((size_t)count * sizeof(double) + 64) : NULL;
    if (*memory == NULL) return NULL;
    return (double *)(((uintptr_t)*memory + 63) & ~(uintptr_t)63);
}

/* The longest sentence of a ragged batch, or -1 where the offsets do not cut `tokens` rows into sentences. */
INLINED int64_t longest_sentence(const int64_t *offsets, int64_t sentences, int64_t tokens) {
    int64_t longest = 0;
    if (sentences < 0 || offsets[0] != 0 || offsets[sentences] != tokens) return -1;
    for (int64_t b = 0; b < sentences; b++) {
        if (offsets[b] < 0 || offsets[b + 1] < offsets[b] || offsets[b + 1] > tokens) return -1;
        if (offsets[b + 1] - offsets[b] > longest) longest = offsets[b + 1] - offsets[b];
    }
    return longest;
}

#endif

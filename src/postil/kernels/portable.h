/* What differs between compilers and processors, in one place; and vectors of doubles, which the recursions are made of. */

#ifndef POSTIL_PORTABLE_H
#define POSTIL_PORTABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#if !defined(__GNUC__)
#error "the vector types of GCC and Clang are needed; without them Postil uses NumPy"
#endif

/* What this processor can do: see instruction_level in runtime.c. */
enum { BASELINE, AVX2, AVX512 };

/* A body that becomes part of each function that calls it, with the constants of the call. */
#define INLINED static inline __attribute__((always_inline, unused))

/* Before a loop whose arrays are the same one or do not overlap: the compiler need not ask. */
#if defined(__clang__)
#define IGNORE_ALIASES _Pragma("clang loop vectorize(assume_safety)")
#else
#define IGNORE_ALIASES _Pragma("GCC ivdep")
#endif

/* LANES doubles that are worked on at once. Four also under AVX-512: rows of labels are short, and eight would spend
   more on padding than they gain (17 labels: 24 instead of 20). */
#if defined(__AVX__)
#define LANES 4
#else
#define LANES 2
#endif
typedef double vec __attribute__((vector_size(8 * LANES), __may_alias__));
typedef int64_t bits __attribute__((vector_size(8 * LANES))); /* of a vec; a comparison gives all ones where it holds */

INLINED vec *vectors(double *row) { return (vec *)row; }
INLINED const vec *const_vectors(const double *row) { return (const vec *)row; }

INLINED vec every(double x) {
    vec v;
    for (int k = 0; k < LANES; k++) v[k] = x;
    return v;
}

/* One instruction where it stands alone in a loop; elsewhere `choose` is the safer way. */
INLINED vec larger(vec a, vec b) {
    for (int k = 0; k < LANES; k++) b[k] = a[k] > b[k] ? a[k] : b[k];
    return b;
}

/* x where the condition holds, else +0; and else y. */
INLINED vec where(bits condition, vec x) { return (vec)(condition & (bits)x); }
INLINED vec choose(bits condition, vec x, vec y) { return (vec)((condition & (bits)x) | (~condition & (bits)y)); }

INLINED double largest_lane(vec v) {
    double top = v[0];
    for (int k = 1; k < LANES; k++) top = v[k] > top ? v[k] : top;
    return top;
}

INLINED double smallest_lane(vec v) {
    double low = v[0];
    for (int k = 1; k < LANES; k++) low = v[k] < low ? v[k] : low;
    return low;
}

INLINED double sum_of_lanes(vec v) {
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int k = 0; k < half; k++) v[k] += v[k + half];
    return v[0];
}

/* Rows of labels are padded to a whole number of vectors. */
INLINED int64_t padded(int64_t size) { return (size + LANES - 1) / LANES * LANES; }

/* `count` doubles on a cache line, or NULL; *memory is what free() takes. */
INLINED double *aligned_doubles(int64_t count, void **memory) {
    *memory = count < (int64_t)(SIZE_MAX / 32) ? malloc((size_t)count * sizeof(double) + 64) : NULL;
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

/* Row t of unary scores (N, L), float32 (`single`) or float64, as doubles (P,) with `padding` behind them. */
INLINED void unary_row(const void *unary, int single, int64_t t, int64_t L, int64_t P, double padding,
                       double *restrict row) {
    if (single) {
        const float *restrict scores = (const float *)unary + t * L;
        for (int64_t j = 0; j < L; j++) row[j] = scores[j];
    } else {
        const double *restrict scores = (const double *)unary + t * L;
        for (int64_t j = 0; j < L; j++) row[j] = scores[j];
    }
    for (int64_t j = L; j < P; j++) row[j] = padding;
}

/* The body of a loop over the vectors of a row, in blocks of at most six: STEP(first vector, constant number of them).
   A block's intermediate results stay in registers while the loop inside it runs over the other label. */
#define IN_BLOCKS(count, STEP)                             \
    for (int64_t v = 0; v < (count); v += 6) switch ((count) - v) { \
        case 1: STEP(v, 1); break;                         \
        case 2: STEP(v, 2); break;                         \
        case 3: STEP(v, 3); break;                         \
        case 4: STEP(v, 4); break;                         \
        case 5: STEP(v, 5); break;                         \
        default: STEP(v, 6);                               \
    }

/* C (m, n) = A (m, k) B (k, n) by cblas_sgemm, by rows; 112 instead of 111: A or B is stored as its transpose. `a`, `b`,
   `c`: numbers from row to row. ISO C does not know that an object pointer may be one to a function. */
#define SGEMM(integer) \
    __extension__((void (*)(int, int, int, integer, integer, integer, float, const float *, integer, const float *, integer, \
                            float, float *, integer))product)
INLINED void matrix_product(void *product, int wide_integers, int of_A, int of_B, int64_t m, int64_t n, int64_t k,
                            const float *A, int64_t a, const float *B, int64_t b, float *C, int64_t c) {
    if (wide_integers)
        (SGEMM(int64_t))(101, of_A, of_B, m, n, k, 1.0f, A, a, B, b, 0.0f, C, c);
    else
        (SGEMM(int32_t))(101, of_A, of_B, (int32_t)m, (int32_t)n, (int32_t)k, 1.0f, A, (int32_t)a, B, (int32_t)b, 0.0f, C,
                         (int32_t)c);
}

#endif

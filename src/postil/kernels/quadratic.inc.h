/* The body of quadratic.c for one element type; see versions.h.

   N rows c (K,), D units. U (K, D, K) holds what c_j c_k is multiplied by at [j][d][k], k >= j; the same numbers at
   k < j are not read. */

typedef REAL OF(Vector) __attribute__((vector_size(VECTOR), aligned(sizeof(REAL)), __may_alias__));
#define LINE OF(Vector)
#define ACROSS ((int64_t)(VECTOR / sizeof(REAL))) /* rows that stand in one vector */
#define MOST 10                                   /* units, or columns, of a tile */
#define TRANSPOSED_BLOCK 16

/* `count` items in tiles whose size is a constant of each call: STEP(first, size). */
#define IN_TILES(count, largest, STEP)                                 \
    do {                                                               \
        int64_t at = 0;                                                \
        for (; at + (largest) <= (count); at += (largest)) STEP(at, largest); \
        for (; at + 4 <= (count); at += 4) STEP(at, 4);                \
        for (; at < (count); at++) STEP(at, 1);                        \
    } while (0)

/* `size` units: each of them Σ_k rows[d][k] c_k, times c_j where there is one, is added to Z. `wide` vectors of rows. */
INLINED void OF(add_units)(const REAL *U, int64_t K, const REAL *C, int64_t count, const LINE *cj, REAL *Z, int size,
                                int wide) {
    LINE sums[MOST][2];
    for (int d = 0; d < size; d++)
        for (int r = 0; r < wide; r++) sums[d][r] = (LINE){0};
    for (int64_t k = 0; k < count; k++) {
        const LINE *c = (const LINE *)(C + k * wide * ACROSS);
        for (int d = 0; d < size; d++)
            for (int r = 0; r < wide; r++) sums[d][r] += U[d * K + k] * c[r];
    }
    for (int d = 0; d < size; d++)
        for (int r = 0; r < wide; r++) {
            LINE *z = (LINE *)(Z + d * wide * ACROSS) + r;
            if (cj == NULL)
                *z += sums[d][r];
            else
                *z += cj[r] * sums[d][r];
        }
}

/* Rows are transposed: C (K, rows), Z (D, rows). */
INLINED void OF(forms_of_block)(const REAL *C, const REAL *U, const REAL *W, const REAL *b, int64_t K, int64_t D,
                                     int wide, REAL *Z) {
    const int64_t rows = wide * ACROSS;
    for (int64_t d = 0; d < D; d++)
        for (int64_t i = 0; i < rows; i++) Z[d * rows + i] = b[d];
#define UNITS(d, size) OF(add_units)(W + (d) * K, K, C, K, NULL, Z + (d) * rows, size, wide)
    IN_TILES(D, wide == 2 ? TILE : MOST, UNITS);
#undef UNITS
    for (int64_t j = 0; j < K; j++) {
        const LINE *cj = (const LINE *)(C + j * rows);
#define UNITS(d, size) \
    OF(add_units)(U + (j * D + (d)) * K + j, K, C + j * rows, K - j, cj, Z + (d) * rows, size, wide)
        IN_TILES(D, wide == 2 ? TILE : MOST, UNITS);
#undef UNITS
    }
}

/* `size` columns k: m_k = Σ_d dz_d U[d][k]; then dc_k += m_k c_j, and m_k c_k goes to dc_j, where there is a j. */
INLINED void OF(add_columns)(const REAL *dZ, const REAL *U, int64_t K, int64_t D, const LINE *cj, LINE *dcj,
                                  const REAL *C, REAL *dC, int size, int wide) {
    LINE sums[MOST][2];
    for (int k = 0; k < size; k++)
        for (int r = 0; r < wide; r++) sums[k][r] = (LINE){0};
    for (int64_t d = 0; d < D; d++) {
        const LINE *dz = (const LINE *)(dZ + d * wide * ACROSS);
        for (int k = 0; k < size; k++)
            for (int r = 0; r < wide; r++) sums[k][r] += U[d * K + k] * dz[r];
    }
    for (int k = 0; k < size; k++)
        for (int r = 0; r < wide; r++) {
            LINE *dc = (LINE *)(dC + k * wide * ACROSS) + r;
            if (cj == NULL) {
                *dc += sums[k][r];
            } else {
                *dc += sums[k][r] * cj[r];
                dcj[r] += sums[k][r] * ((const LINE *)(C + k * wide * ACROSS))[r];
            }
        }
}

/* Rows are transposed: dZ (D, rows), C and dC (K, rows). */
INLINED void OF(back_of_block)(const REAL *dZ, const REAL *C, const REAL *U, const REAL *W, int64_t K, int64_t D,
                                    int wide, REAL *dC) {
    const int64_t rows = wide * ACROSS;
    memset(dC, 0, (size_t)(K * rows) * sizeof(REAL));
#define COLUMNS(k, size) OF(add_columns)(dZ, W + (k), K, D, NULL, NULL, C, dC + (k) * rows, size, wide)
    IN_TILES(K, wide == 2 ? TILE : MOST, COLUMNS);
#undef COLUMNS
    for (int64_t j = 0; j < K; j++) {
        const LINE *cj = (const LINE *)(C + j * rows);
        const REAL *u = U + j * D * K + j, *c = C + j * rows;
        REAL *dc = dC + j * rows;
        LINE dcj[2] = {{0}, {0}};
#define COLUMNS(k, size) OF(add_columns)(dZ, u + (k), K, D, cj, dcj, c + (k) * rows, dc + (k) * rows, size, wide)
        IN_TILES(K - j, wide == 2 ? TILE : MOST, COLUMNS);
#undef COLUMNS
        for (int r = 0; r < wide; r++) ((LINE *)dc)[r] += dcj[r];
    }
}

/* `count` rows of X (N, K) side by side, (K, rows), padded with zeros; and back. */
INLINED void OF(to_columns)(const REAL *X, int64_t count, int64_t K, int64_t rows, REAL *out) {
    for (int64_t k = 0; k < K; k++) {
        for (int64_t i = 0; i < count; i++) out[k * rows + i] = X[i * K + k];
        for (int64_t i = count; i < rows; i++) out[k * rows + i] = 0;
    }
}

INLINED void OF(to_rows)(const REAL *X, int64_t count, int64_t K, int64_t rows, REAL *out) {
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < K; k++) out[i * K + k] = X[k * rows + i];
}

/* Memory for this number of columns of a block of rows, or NULL. */
INLINED REAL *OF(room)(int64_t columns, void **memory) {
    return (REAL *)aligned_doubles(columns * 2 * ACROSS, memory);
}

static int OF(forms)(const REAL *C, const REAL *U, const REAL *W, const REAL *b, int64_t N, int64_t K,
                                    int64_t D, REAL *Z) {
    void *memory;
    REAL *c = OF(room)(K + D, &memory), *z = c + 2 * ACROSS * K;
    if (memory == NULL) return NO_MEMORY;
    for (int64_t n = 0, rows; n < N; n += rows) {
        rows = N - n > ACROSS ? 2 * ACROSS : ACROSS;
        const int64_t count = N - n < rows ? N - n : rows;
        OF(to_columns)(C + n * K, count, K, rows, c);
        if (rows == ACROSS)
            OF(forms_of_block)(c, U, W, b, K, D, 1, z);
        else
            OF(forms_of_block)(c, U, W, b, K, D, 2, z);
        OF(to_rows)(z, count, D, rows, Z + n * D);
    }
    free(memory);
    return DONE;
}

/* Z += Σ_jk l_j U[j][d][k] r_k. */
static int OF(bilinear)(const REAL *L, const REAL *R, const REAL *U, int64_t N, int64_t K, int64_t D, REAL *Z) {
    void *memory;
    REAL *l = OF(room)(2 * K + D, &memory), *r = l + 2 * ACROSS * K, *z = r + 2 * ACROSS * K;
    if (memory == NULL) return NO_MEMORY;
    for (int64_t n = 0, rows; n < N; n += rows) {
        rows = N - n > ACROSS ? 2 * ACROSS : ACROSS;
        const int64_t count = N - n < rows ? N - n : rows;
        OF(to_columns)(L + n * K, count, K, rows, l);
        OF(to_columns)(R + n * K, count, K, rows, r);
        OF(to_columns)(Z + n * D, count, D, rows, z);
        for (int64_t j = 0; j < K; j++) {
            const LINE *lj = (const LINE *)(l + j * rows);
#define UNITS(d, size) OF(add_units)(U + (j * D + (d)) * K, K, r, K, lj, z + (d) * rows, size, wide)
            if (rows == ACROSS) {
                enum { wide = 1 };
                IN_TILES(D, MOST, UNITS);
            } else {
                enum { wide = 2 };
                IN_TILES(D, TILE, UNITS);
            }
#undef UNITS
        }
        OF(to_rows)(z, count, D, rows, Z + n * D);
    }
    free(memory);
    return DONE;
}

/* z_n += x_nᵀ M[which_n], M (m, K, D). */
static int OF(chosen_products)(const REAL *X, const REAL *M, const int64_t *which, int64_t N, int64_t K,
                                              int64_t D, REAL *Z) {
    for (int64_t n = 0; n < N; n++) {
        const REAL *restrict m = M + which[n] * K * D, *restrict x = X + n * K;
        REAL *restrict z = Z + n * D;
        for (int64_t k = 0; k < K; k++)
            for (int64_t d = 0; d < D; d++) z[d] += x[k] * m[k * D + d];
    }
    return DONE;
}

static int OF(forms_back)(const REAL *dZ, const REAL *C, const REAL *U, const REAL *W, int64_t N,
                                         int64_t K, int64_t D, REAL *dC) {
    void *memory;
    REAL *c = OF(room)(2 * K + D, &memory), *dc = c + 2 * ACROSS * K, *dz = dc + 2 * ACROSS * K;
    if (memory == NULL) return NO_MEMORY;
    for (int64_t n = 0, rows; n < N; n += rows) {
        rows = N - n > ACROSS ? 2 * ACROSS : ACROSS;
        const int64_t count = N - n < rows ? N - n : rows;
        OF(to_columns)(C + n * K, count, K, rows, c);
        OF(to_columns)(dZ + n * D, count, D, rows, dz);
        if (rows == ACROSS)
            OF(back_of_block)(dz, c, U, W, K, D, 1, dc);
        else
            OF(back_of_block)(dz, c, U, W, K, D, 2, dc);
        OF(to_rows)(dc, count, K, rows, dC + n * K);
    }
    free(memory);
    return DONE;
}

/* `size` units of one j: sums (size, width) += Σ_n dz_n[d] pairs[n][k …] for `wide` vectors of columns k. */
INLINED void OF(add_weights)(const REAL *dZ, const REAL *pairs, int64_t N, int64_t D, int64_t width, REAL *sums,
                                  int size, int wide) {
    LINE s[MOST][2];
    for (int d = 0; d < size; d++)
        for (int r = 0; r < wide; r++) s[d][r] = ((LINE *)(sums + d * width))[r];
    for (int64_t n = 0; n < N; n++) {
        const LINE *c = (const LINE *)(pairs + n * width);
        for (int d = 0; d < size; d++)
            for (int r = 0; r < wide; r++) s[d][r] += dZ[n * D + d] * c[r];
    }
    for (int d = 0; d < size; d++)
        for (int r = 0; r < wide; r++) ((LINE *)(sums + d * width))[r] = s[d][r];
}

#define BATCH 64 /* rows whose vectors stay in the fastest cache while units and columns go by */

/* sums (D, width) = Σ_n dz_n c_n[j] C[n]ᵀ at the columns from the vector that holds j on. */
INLINED void OF(weights_of_unit)(const REAL *dZ, const REAL *C, int64_t N, int64_t D, int64_t width, int64_t j,
                                      REAL *pairs, REAL *sums) {
    const int64_t first = j / ACROSS * ACROSS;
    memset(sums, 0, (size_t)(D * width) * sizeof(REAL));
    for (int64_t n = 0; n < N; n += BATCH) {
        const int64_t count = N - n < BATCH ? N - n : BATCH;
        for (int64_t i = 0; i < count; i++)
            for (int64_t k = first; k < width; k += ACROSS)
                *(LINE *)(pairs + i * width + k) = C[(n + i) * width + j] * *(const LINE *)(C + (n + i) * width + k);
        int64_t k = first;
#define UNITS(d, size) \
    OF(add_weights)(dZ + n * D + (d), pairs + k, count, D, width, sums + (d) * width + k, size, wide)
        for (const int wide = 2; k + 2 * ACROSS <= width; k += 2 * ACROSS) IN_TILES(D, TILE, UNITS);
        for (const int wide = 1; k < width; k += ACROSS) IN_TILES(D, MOST, UNITS);
#undef UNITS
    }
}

/* What stands at [j][d][k], k > j, is put at [k][d][j] as well: blocks of both stay in the cache. */
INLINED void OF(mirror)(int64_t K, int64_t D, REAL *dV) {
    for (int64_t jb = 0; jb < K; jb += TRANSPOSED_BLOCK)
        for (int64_t kb = jb; kb < K; kb += TRANSPOSED_BLOCK)
            for (int64_t d = 0; d < D; d++)
                for (int64_t k = kb; k < kb + TRANSPOSED_BLOCK && k < K; k++)
                    for (int64_t j = jb; j < jb + TRANSPOSED_BLOCK && j < k; j++)
                        dV[(k * D + d) * K + j] = dV[(j * D + d) * K + k];
}

static int OF(weights)(const REAL *dZ, const REAL *C, int64_t N, int64_t K, int64_t D, REAL *dV) {
    void *memory;
    const int64_t width = (K + ACROSS - 1) / ACROSS * ACROSS;
    REAL *padded_C = (REAL *)aligned_doubles((N + D + BATCH) * width, &memory);
    if (memory == NULL) return NO_MEMORY;
    REAL *sums = padded_C + N * width, *pairs = sums + D * width;
    for (int64_t n = 0; n < N; n++) {
        memcpy(padded_C + n * width, C + n * K, (size_t)K * sizeof(REAL));
        for (int64_t k = K; k < width; k++) padded_C[n * width + k] = 0;
    }
    for (int64_t j = 0; j < K; j++) {
        OF(weights_of_unit)(dZ, padded_C, N, D, width, j, pairs, sums);
        for (int64_t d = 0; d < D; d++)
            memcpy(dV + (j * D + d) * K + j, sums + d * width + j, (size_t)(K - j) * sizeof(REAL));
    }
    OF(mirror)(K, D, dV);
    free(memory);
    return DONE;
}

static int OF(sums_of_pairs)(const REAL *V, int64_t K, int64_t D, REAL *U) {
    for (int64_t jb = 0; jb < K; jb += TRANSPOSED_BLOCK)
        for (int64_t kb = jb; kb < K; kb += TRANSPOSED_BLOCK)
            for (int64_t d = 0; d < D; d++)
                for (int64_t j = jb; j < jb + TRANSPOSED_BLOCK && j < K; j++)
                    for (int64_t k = kb; k < kb + TRANSPOSED_BLOCK && k < K; k++) {
                        const REAL above = V[(j * D + d) * K + k];
                        U[(j * D + d) * K + k] = k == j ? above : above + V[(k * D + d) * K + j];
                    }
    OF(mirror)(K, D, U);
    return DONE;
}

#undef LINE
#undef ACROSS
#undef MOST
#undef TRANSPOSED_BLOCK
#undef IN_TILES
#undef BATCH

/* The body of phrases.c for one element type; see versions.h.

   n words, P phrases, M = n + P rows of width H. W (N, K) holds the N maps of a phrase: K = H where the vectors of both
   parts are added up, else 2 H. A panel holds PANEL of its rows side by side, (K, PANEL). */

typedef REAL OF(Line) __attribute__((vector_size(VECTOR), aligned(sizeof(REAL)), __may_alias__));
#define LINE OF(Line)
#define ACROSS ((int64_t)(VECTOR / sizeof(REAL)))
#define PANEL (2 * ACROSS)
#define FEW 6    /* rows whose sums with one panel stay in registers */
#define CHUNK 24 /* rows whose maps stay in the fastest cache */

/* sums += the products of `size` rows with the K rows of a panel. */
INLINED void OF(add_products)(const REAL *const *rows, int64_t K, const REAL *panel, int size, LINE sums[FEW][2]) {
    for (int64_t k = 0; k < K; k++) {
        const LINE first = *(const LINE *)(panel + k * PANEL), second = *(const LINE *)(panel + k * PANEL + ACROSS);
        for (int i = 0; i < size; i++) {
            sums[i][0] += rows[i][k] * first;
            sums[i][1] += rows[i][k] * second;
        }
    }
}

/* The products of `size` phrases with one panel; `right` is NULL where one row stands for both parts. */
INLINED void OF(one_tile)(const REAL *const *left, const REAL *const *right, int64_t H, const REAL *panel, int size,
                               int64_t width, REAL *Z) {
    LINE sums[FEW][2];
    for (int i = 0; i < size; i++) sums[i][0] = sums[i][1] = (LINE){0};
    OF(add_products)(left, H, panel, size, sums);
    if (right != NULL) OF(add_products)(right, H, panel + H * PANEL, size, sums);
    for (int i = 0; i < size; i++) {
        *(LINE *)(Z + i * width) = sums[i][0];
        *(LINE *)(Z + i * width + ACROSS) = sums[i][1];
    }
}

/* Z (count, width): all maps of some phrases, without bias. */
INLINED void OF(maps)(const REAL *const *left, const REAL *const *right, int64_t count, int64_t H,
                           const REAL *panels, int64_t width, REAL *Z) {
    const int64_t K = right == NULL ? H : 2 * H;
    for (int64_t from = 0; from < width; from += PANEL)
        for (int64_t i = 0; i < count; i += FEW) {
            const REAL *const *ls = left + i, *const *rs = right == NULL ? NULL : right + i, *panel = panels + from * K;
            REAL *z = Z + i * width + from;
#define TILE_OF(size) OF(one_tile)(ls, rs, H, panel, size, width, z)
            switch (count - i) {
                case 1: TILE_OF(1); break;
                case 2: TILE_OF(2); break;
                case 3: TILE_OF(3); break;
                case 4: TILE_OF(4); break;
                case 5: TILE_OF(5); break;
                default: TILE_OF(FEW);
            }
#undef TILE_OF
        }
}

/* W (N, K) by panels, with zeros where it has no rows. */
INLINED void OF(to_panels)(const REAL *W, int64_t N, int64_t K, int64_t width, REAL *out) {
    for (int64_t from = 0; from < width; from += PANEL, out += K * PANEL)
        for (int64_t j = 0; j < PANEL; j++)
            for (int64_t k = 0; k < K; k++) out[k * PANEL + j] = from + j < N ? W[(from + j) * K + k] : 0;
}

/* Gates, memory and vector of one phrase; the maps stand in the order o, f_1, f_2, i, u. */
INLINED void OF(cell)(REAL *restrict maps, const REAL *bias, int64_t H, const REAL *restrict c1,
                           const REAL *restrict c2, REAL *restrict c, REAL *restrict h) {
    OF(squash)(maps, bias, 4 * H, (REAL)0.5, maps);
    OF(squash)(maps + 4 * H, bias + 4 * H, H, 1, maps + 4 * H);
    for (int64_t d = 0; d < H; d++)
        c[d] = maps[H + d] * c1[d] + maps[2 * H + d] * c2[d] + maps[3 * H + d] * maps[4 * H + d];
    OF(squash)(c, NULL, H, 1, h);
    for (int64_t d = 0; d < H; d++) h[d] *= maps[d];
}

/* Phrases first:end of one level, at most CHUNK. */
INLINED void OF(some_phrases)(int how, const int64_t *children, int64_t first, int64_t end, int64_t n, int64_t H,
                const REAL *panels, int64_t width, const REAL *bias, REAL *X, REAL *memory, REAL *Z, REAL *added) {
    const REAL *left[CHUNK], *right[CHUNK];
    const int64_t count = end - first;
    for (int64_t i = 0; i < count; i++) {
        left[i] = X + children[2 * (first + i)] * H, right[i] = X + children[2 * (first + i) + 1] * H;
        if (how != OF_SUMS) continue;
        for (int64_t d = 0; d < H; d++) added[i * H + d] = left[i][d] + right[i][d];
        left[i] = added + i * H;
    }
    OF(maps)(left, how == OF_SUMS ? NULL : right, count, H, panels, width, Z);
    for (int64_t i = 0; i < count; i++) {
        const int64_t *parts = children + 2 * (first + i), row = n + first + i;
        if (how == OF_CELLS)
            OF(cell)(Z + i * width, bias, H, memory + parts[0] * H, memory + parts[1] * H, memory + row * H, X + row * H);
        else
            OF(squash)(Z + i * width, bias, H, 1, X + row * H);
    }
}

static int OF(phrases)(int how, const REAL *states, const int64_t *forms, const int64_t *children, const int64_t *cuts,
              int64_t levels, int64_t n, int64_t P, int64_t H, const REAL *W, const REAL *bias, REAL *X, REAL *memory) {
    const int64_t N = how == OF_CELLS ? 5 * H : H, K = how == OF_SUMS ? H : 2 * H;
    const int64_t width = (N + PANEL - 1) / PANEL * PANEL, S = how == OF_CELLS ? 2 * H : H;
    void *room;
    REAL *panels = (REAL *)aligned_doubles(width * K + CHUNK * (width + H), &room);
    if (room == NULL) return NO_MEMORY;
    REAL *Z = panels + width * K, *added = Z + CHUNK * width;
    if (P) OF(to_panels)(W, N, K, width, panels);
    for (int64_t row = 0; row < n; row++) {
        memcpy(X + row * H, states + forms[row] * S, (size_t)H * sizeof(REAL));
        if (how == OF_CELLS) memcpy(memory + row * H, states + forms[row] * S + H, (size_t)H * sizeof(REAL));
    }
    for (int64_t level = 0; level < levels; level++)
        for (int64_t first = cuts[level]; first < cuts[level + 1]; first += CHUNK) {
            const int64_t end = cuts[level + 1] - first < CHUNK ? cuts[level + 1] : first + CHUNK;
            OF(some_phrases)(how, children, first, end, n, H, panels, width, bias, X, memory, Z, added);
        }
    free(room);
    return DONE;
}

#undef LINE
#undef ACROSS
#undef PANEL
#undef FEW
#undef CHUNK

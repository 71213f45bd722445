/* The body of trees.c for one element type; see layers.inc.h. The maps of a phrase stand in the order o, f_1, f_2, i, u,
   those of a word in the order o, i, u: gates first. M nodes, n of them words, P = M - n phrases. */

/* Everything that cells of a batch of trees remember, as plain_trees.TreeCells. */
typedef struct {
    REAL *words;       /* (n, 3, H) gates and u of words */
    REAL *phrases;     /* (P, 5, H) gates and u of phrases */
    REAL *c, *tanh_c;  /* (M, H) */
    REAL *h;           /* (M, H) */
    REAL *parts;       /* (2 P + 1, H) h of the children of each phrase; the last row is there for roots to write to */
} OF(Cells);

/* z + bias of all maps to gates and u. */
INLINED void OF(open)(REAL *maps, const REAL *bias, int64_t gates, int64_t H) {
    OF(squash)(maps, bias, gates * H, (REAL)0.5, maps);
    OF(squash)(maps + gates * H, bias + gates * H, H, 1, maps + gates * H);
}

/* h = o tanh(c) of one node, which its parent gets as well. */
INLINED void OF(show)(const REAL *restrict o, const REAL *restrict c, int64_t H, REAL *restrict t, REAL *restrict h,
                      REAL *restrict part) {
    OF(squash)(c, NULL, H, 1, t);
    for (int64_t d = 0; d < H; d++) part[d] = h[d] = o[d] * t[d];
}

INLINED void OF(leaf_cells_up)(OF(Cells) all, const REAL *bias, const int64_t *parents, int64_t n, int64_t H) {
    for (int64_t row = 0; row < n; row++) {
        REAL *o = all.words + 3 * row * H, *c = all.c + row * H;
        const REAL *i = o + H, *u = o + 2 * H;
        OF(open)(o, bias, 2, H);
        for (int64_t d = 0; d < H; d++) c[d] = i[d] * u[d];
        OF(show)(o, c, H, all.tanh_c + row * H, all.h + row * H, all.parts + parents[row] * H);
    }
}

INLINED void OF(cells_up)(OF(Cells) all, const REAL *bias, const int64_t *children, const int64_t *parents, int64_t n,
                          int64_t first, int64_t end, int64_t H) {
    for (int64_t p = first; p < end; p++) {
        REAL *restrict o = all.phrases + 5 * p * H;
        const REAL *f1 = o + H, *f2 = o + 2 * H, *i = o + 3 * H, *u = o + 4 * H;
        const REAL *c1 = all.c + children[2 * p] * H, *c2 = all.c + children[2 * p + 1] * H;
        REAL *restrict c = all.c + (n + p) * H;
        OF(open)(o, bias, 4, H);
        for (int64_t d = 0; d < H; d++) c[d] = f1[d] * c1[d] + f2[d] * c2[d] + i[d] * u[d];
        OF(show)(o, c, H, all.tanh_c + (n + p) * H, all.h + (n + p) * H, all.parts + parents[n + p] * H);
    }
}

INLINED void OF(cells_down)(OF(Cells) all, const int64_t *children, const int64_t *parents, const REAL *dH, int64_t n,
                            int64_t first, int64_t end, int64_t H, const REAL *sent_h, REAL *sent_c, REAL *dZ) {
    for (int64_t p = first; p < end; p++) {
        const int64_t row = n + p;
        const REAL *o = all.phrases + 5 * p * H, *f1 = o + H, *f2 = o + 2 * H, *i = o + 3 * H, *u = o + 4 * H;
        const REAL *t = all.tanh_c + row * H, *c1 = all.c + children[2 * p] * H, *c2 = all.c + children[2 * p + 1] * H;
        const REAL *own = dH + row * H, *from_h = sent_h + parents[row] * H, *from_c = sent_c + parents[row] * H;
        REAL *restrict to = sent_c + 2 * p * H, *restrict z = dZ + 5 * p * H;
        for (int64_t d = 0; d < H; d++) {
            const REAL dh = own[d] + from_h[d];
            const REAL dc = dh * o[d] * (1 - t[d] * t[d]) + from_c[d];
            z[d] = dh * t[d] * (o[d] * (1 - o[d]));
            z[H + d] = dc * c1[d] * (f1[d] * (1 - f1[d]));
            z[2 * H + d] = dc * c2[d] * (f2[d] * (1 - f2[d]));
            z[3 * H + d] = dc * u[d] * (i[d] * (1 - i[d]));
            z[4 * H + d] = dc * i[d] * (1 - u[d] * u[d]);
            to[d] = dc * f1[d];
            to[H + d] = dc * f2[d];
        }
    }
}

INLINED void OF(leaf_cells_down)(OF(Cells) all, const int64_t *parents, const REAL *dH, int64_t n, int64_t H,
                                 const REAL *sent_h, const REAL *sent_c, REAL *dZ) {
    for (int64_t row = 0; row < n; row++) {
        const REAL *o = all.words + 3 * row * H, *i = o + H, *u = o + 2 * H, *t = all.tanh_c + row * H;
        const REAL *own = dH + row * H, *from_h = sent_h + parents[row] * H, *from_c = sent_c + parents[row] * H;
        REAL *restrict z = dZ + 3 * row * H;
        for (int64_t d = 0; d < H; d++) {
            const REAL dh = own[d] + from_h[d];
            const REAL dc = dh * o[d] * (1 - t[d] * t[d]) + from_c[d];
            z[d] = dh * t[d] * (o[d] * (1 - o[d]));
            z[H + d] = dc * u[d] * (i[d] * (1 - i[d]));
            z[2 * H + d] = dc * i[d] * (1 - u[d] * u[d]);
        }
    }
}

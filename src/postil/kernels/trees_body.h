/* The body of trees.c for one element type; see layers_body.h. The maps of a phrase stand in the order o, f_1, f_2, i, u,
   those of a word in the order o, i, u. */

/* A holds tanh of all maps, that of the gates at half their argument: σ(z) = (1 + tanh(z / 2)) / 2. */
INLINED void OF(cells_up)(REAL *A, const REAL *memory, const int64_t *children, int64_t N, int64_t H, REAL *out) {
    const REAL half = (REAL)0.5;
    for (int64_t n = 0; n < N; n++) {
        REAL *restrict o = A + 5 * n * H, *restrict f1 = o + H, *restrict f2 = o + 2 * H, *restrict i = o + 3 * H;
        const REAL *restrict u = o + 4 * H, *c1 = memory + children[2 * n] * H, *c2 = memory + children[2 * n + 1] * H;
        REAL *restrict c = out + n * H;
        for (int64_t d = 0; d < H; d++) {
            o[d] = o[d] * half + half;
            f1[d] = f1[d] * half + half;
            f2[d] = f2[d] * half + half;
            i[d] = i[d] * half + half;
            c[d] = f1[d] * c1[d] + f2[d] * c2[d] + i[d] * u[d];
        }
    }
}

INLINED void OF(cells_down)(const REAL *A, const REAL *tanh_c, const REAL *memory, const int64_t *children,
                            const int64_t *parents, const REAL *dH, int64_t first, int64_t N, int64_t H,
                            const REAL *sent_h, REAL *sent_c, REAL *dZ) {
    for (int64_t n = 0; n < N; n++) {
        const REAL *o = A + 5 * n * H, *f1 = o + H, *f2 = o + 2 * H, *i = o + 3 * H, *u = o + 4 * H;
        const REAL *t = tanh_c + n * H, *c1 = memory + children[2 * n] * H, *c2 = memory + children[2 * n + 1] * H;
        const REAL *own = dH + n * H, *from_h = sent_h + parents[n] * H, *from_c = sent_c + parents[n] * H;
        REAL *restrict to = sent_c + 2 * (first + n) * H, *restrict z = dZ + 5 * n * H;
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

INLINED void OF(leaf_cells_down)(const REAL *A, const REAL *tanh_c, const int64_t *parents, const REAL *dH, int64_t N,
                                 int64_t H, const REAL *sent_h, const REAL *sent_c, REAL *dZ) {
    for (int64_t n = 0; n < N; n++) {
        const REAL *o = A + 3 * n * H, *i = o + H, *u = o + 2 * H, *t = tanh_c + n * H;
        const REAL *own = dH + n * H, *from_h = sent_h + parents[n] * H, *from_c = sent_c + parents[n] * H;
        REAL *restrict z = dZ + 3 * n * H;
        for (int64_t d = 0; d < H; d++) {
            const REAL dh = own[d] + from_h[d];
            const REAL dc = dh * o[d] * (1 - t[d] * t[d]) + from_c[d];
            z[d] = dh * t[d] * (o[d] * (1 - o[d]));
            z[H + d] = dc * u[d] * (i[d] * (1 - i[d]));
            z[2 * H + d] = dc * i[d] * (1 - u[d] * u[d]);
        }
    }
}

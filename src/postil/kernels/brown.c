/* Brown clusters: plain_pretraining.py says what is computed, by the definition. Here the losses of all pairs of clusters are
   kept and only what changes is computed again.

   With h(n) = n log n, the mutual information of neighbouring clusters is, up to constants and a factor,
   Σ h(c_ab) - Σ h(left_a) - Σ h(right_b). With g(m, n) = h(m + n) - h(m) - h(n), merging i and j loses

       g(left_i, left_j) + g(right_i, right_j) - corner(i, j) - Σ_{l not i, j} [ g(c_il, c_jl) + g(c_li, c_lj) ]

   where left and right are the sums of c over the words that are in. g is 0 where one of both is 0. A new word meets few clusters, so most of these sums stay as they are. */

#include <math.h>
#include <string.h>

#include "kernels.h"
#include "portable.h"

enum { TABLE = 1 << 16 };

typedef struct {
    int64_t slots;            /* clusters and room for one more */
    double *h, *losses;       /* (TABLE,), (slots, slots) above the diagonal */
    int64_t *next, *previous; /* (slots, slots): how often b follows a at [a][b]; and at [b][a] */
    int64_t *left, *right, *name;
    uint8_t *active;
    int64_t *met;             /* (slots,) room for a list */
} clusters;

INLINED double h(const clusters *c, int64_t n) { return n < TABLE ? c->h[n] : (double)n * log((double)n); }
INLINED double g(const clusters *c, int64_t m, int64_t n) {
    return m == 0 || n == 0 ? 0 : h(c, m + n) - h(c, m) - h(c, n);
}
INLINED double *loss_of(const clusters *c, int64_t i, int64_t j) {
    return c->losses + (i < j ? i * c->slots + j : j * c->slots + i);
}
INLINED int64_t next(const clusters *c, int64_t a, int64_t b) { return c->next[a * c->slots + b]; }

/* What of the loss of (i, j) does not depend on other clusters. */
INLINED double own_loss(const clusters *c, int64_t i, int64_t j) {
    const int64_t ii = next(c, i, i), ij = next(c, i, j), ji = next(c, j, i), jj = next(c, j, j);
    return g(c, c->left[i], c->left[j]) + g(c, c->right[i], c->right[j]) - h(c, ii + ij + ji + jj) + h(c, ii) +
           h(c, ij) + h(c, ji) + h(c, jj);
}

/* The clusters l, but for `a` and `b`, with counts[l] > 0: their number, and they in c->met. */
INLINED int64_t meet(const clusters *c, const int64_t *counts, int64_t a, int64_t b) {
    int64_t n = 0;
    for (int64_t l = 0; l < c->slots; l++)
        if (counts[l] > 0 && c->active[l] && l != a && l != b) c->met[n++] = l;
    return n;
}

/* A cluster `s` has come: pairs of others that both meet it in `counts` have something in common. */
static void share_new(const clusters *c, int64_t s, const int64_t *counts) {
    const int64_t n = meet(c, counts, s, s);
    for (int64_t x = 0; x < n; x++)
        for (int64_t y = x + 1; y < n; y++)
            *loss_of(c, c->met[x], c->met[y]) -= g(c, counts[c->met[x]], counts[c->met[y]]);
}

static void losses_of_new(const clusters *c, int64_t s) {
    for (int64_t k = 0; k < c->slots; k++)
        if (c->active[k] && k != s) *loss_of(c, s, k) = own_loss(c, s, k);
    for (int side = 0; side < 2; side++) {
        const int64_t *table = side ? c->previous : c->next, *row = table + s * c->slots;
        const int64_t n = meet(c, row, s, s);
        for (int64_t k = 0; k < c->slots; k++) {
            if (!c->active[k] || k == s) continue;
            double common = 0;
            for (int64_t x = 0; x < n; x++)
                if (c->met[x] != k) common += g(c, row[c->met[x]], table[k * c->slots + c->met[x]]);
            *loss_of(c, s, k) -= common;
        }
    }
}

/* Before b goes into a: what changes for pairs of other clusters, by what precedes (or follows) a and b. */
static void share_merged(const clusters *c, const int64_t *of_a, const int64_t *of_b, int64_t a, int64_t b) {
    const int64_t n = meet(c, of_b, a, b);
    for (int64_t x = 0; x < n; x++) {
        const int64_t k = c->met[x];
        for (int64_t l = 0; l < c->slots; l++) {
            if (!c->active[l] || l == a || l == b || l == k || (of_b[l] > 0 && l < k)) continue;
            *loss_of(c, k, l) += g(c, of_a[k], of_a[l]) + g(c, of_b[k], of_b[l]) -
                                 g(c, of_a[k] + of_b[k], of_a[l] + of_b[l]);
        }
    }
}

/* Before b goes into a: the sums over other clusters in the losses of a, as they will be; without its own part. */
static void sums_of_merged(const clusters *c, int64_t a, int64_t b) {
    for (int64_t k = 0; k < c->slots; k++)
        if (c->active[k] && k != a && k != b) *loss_of(c, a, k) -= own_loss(c, a, k);
    for (int side = 0; side < 2; side++) {
        const int64_t *table = side ? c->previous : c->next, *of_a = table + a * c->slots, *of_b = table + b * c->slots;
        const int64_t n = meet(c, of_b, a, b);
        for (int64_t k = 0; k < c->slots; k++) {
            if (!c->active[k] || k == a || k == b) continue;
            const int64_t *of_k = table + k * c->slots;
            double more = -g(c, of_a[b], of_k[b]);
            for (int64_t x = 0; x < n; x++) {
                const int64_t l = c->met[x];
                if (l != k) more += g(c, of_a[l] + of_b[l], of_k[l]) - g(c, of_a[l], of_k[l]);
            }
            *loss_of(c, a, k) -= more;
        }
    }
}

static void merge(clusters *c, int64_t a, int64_t b) {
    const int64_t S = c->slots;
    share_merged(c, c->next + a * S, c->next + b * S, a, b);
    share_merged(c, c->previous + a * S, c->previous + b * S, a, b);
    sums_of_merged(c, a, b);
    for (int side = 0; side < 2; side++) { /* rows, then columns */
        const int64_t of_l = side ? S : 1, to = side ? a : a * S, from = side ? b : b * S;
        for (int64_t l = 0; l < S; l++) {
            c->next[l * of_l + to] += c->next[l * of_l + from];
            c->previous[l * of_l + to] += c->previous[l * of_l + from];
            c->next[l * of_l + from] = c->previous[l * of_l + from] = 0;
        }
    }
    c->left[a] += c->left[b];
    c->right[a] += c->right[b];
    c->active[b] = 0;
    for (int64_t k = 0; k < S; k++) {
        if (k != b) *loss_of(c, b, k) = INFINITY;
        if (c->active[k] && k != a) *loss_of(c, a, k) += own_loss(c, a, k);
    }
}

/* The pair that loses least, the first of equals; the one of both that meets fewer clusters second. */
static void best_pair(const clusters *c, int64_t *a, int64_t *b) {
    double least = INFINITY;
    *a = *b = -1;
    for (int64_t i = 0; i < c->slots; i++) {
        if (!c->active[i]) continue;
        const double *row = c->losses + i * c->slots;
        double low = INFINITY;
        for (int64_t j = i + 1; j < c->slots; j++) low = row[j] < low ? row[j] : low;
        if (!(low < least)) continue;
        least = low;
        *a = i;
    }
    for (*b = *a + 1; c->losses[*a * c->slots + *b] != least;) ++*b;
    if (meet(c, c->next + *a * c->slots, *a, *b) + meet(c, c->previous + *a * c->slots, *a, *b) <
        meet(c, c->next + *b * c->slots, *a, *b) + meet(c, c->previous + *b * c->slots, *a, *b)) {
        const int64_t other = *a;
        *a = *b, *b = other;
    }
}

/* The pairs with a new cluster `s` count for the others' sums, `sums` is left or right: `counts` are those pairs. */
static void grow_sums(const clusters *c, int64_t s, const int64_t *counts, int64_t *sums) {
    for (int64_t k = 0; k < c->slots; k++) {
        if (!c->active[k] || k == s || counts[k] == 0) continue;
        for (int64_t l = 0; l < c->slots; l++)
            if (c->active[l] && l != k && l != s)
                *loss_of(c, k, l) += g(c, sums[k] + counts[k], sums[l]) - g(c, sums[k], sums[l]);
        sums[k] += counts[k];
    }
}

/* A new cluster s, whose pairs with the others are in the tables. */
static void add_cluster(clusters *c, int64_t s) {
    const int64_t S = c->slots;
    for (int64_t l = 0; l < S; l++) c->left[s] += c->next[s * S + l], c->right[s] += c->previous[s * S + l];
    grow_sums(c, s, c->previous + s * S, c->left);
    grow_sums(c, s, c->next + s * S, c->right);
    share_new(c, s, c->next + s * S);
    share_new(c, s, c->previous + s * S);
    losses_of_new(c, s);
}

/* Steps `from` to `to` of V + N - 1. Kept between calls: `state` (2 V + 5 (N + 1),), `losses` (N + 1, N + 1) and `tables` (2, N + 1,
   N + 1). merged (V - 1, 2) */
int brown_merges(int64_t V, int64_t N, const int64_t *starts, const int32_t *following, const int64_t *counts,
                 const int64_t *back_starts, const int32_t *preceding, const int64_t *back_counts, int64_t from,
                 int64_t to, int64_t *state, double *losses, int64_t *tables, int64_t *merged) {
    const int64_t S = N + 1;
    for (int64_t i = 0; i < starts[V]; i++)
        if (following[i] < 0 || following[i] >= V) return WRONG_INDEX;
    for (int64_t i = 0; i < back_starts[V]; i++)
        if (preceding[i] < 0 || preceding[i] >= V) return WRONG_INDEX;
    if (N < 1 || V <= N || from < 0 || to > V + N - 1) return WRONG_INDEX;
    double *table = malloc(TABLE * sizeof(double));
    uint8_t *active = malloc((size_t)S);
    int64_t *met = malloc((size_t)S * sizeof(int64_t));
    if (table == NULL || active == NULL || met == NULL) {
        free(table), free(active), free(met);
        return NO_MEMORY;
    }
    table[0] = 0;
    for (int64_t n = 1; n < TABLE; n++) table[n] = (double)n * log((double)n);
    /* state: word -> cluster (V,), links of members (V,), then per slot: left, right, first word, last word, active */
    int64_t *cluster = state, *member = state + V, *slots = state + 2 * V, *last = slots + 3 * S, *flags = slots + 4 * S;
    clusters c = {.slots = S, .h = table, .losses = losses, .next = tables, .previous = tables + S * S, .left = slots,
                  .right = slots + S, .name = slots + 2 * S, .active = active, .met = met};
    if (from == 0) {
        for (int64_t i = 0; i < V; i++) cluster[i] = member[i] = -1;
        for (int64_t i = 0; i < S * S; i++) losses[i] = INFINITY;
        memset(tables, 0, (size_t)(2 * S * S) * sizeof(int64_t));
        memset(slots, 0, (size_t)(5 * S) * sizeof(int64_t));
    }
    for (int64_t s = 0; s < S; s++) active[s] = (uint8_t)flags[s];
    for (int64_t t = from; t < to; t++) {
        int64_t s = t < S ? t : 0;
        while (active[s]) s++;
        if (t < V) {
            cluster[t] = s;
            last[s] = c.name[s] = t, active[s] = 1, c.left[s] = c.right[s] = 0;
            for (int64_t i = starts[t]; i < starts[t + 1]; i++) {
                const int64_t next = cluster[following[i]];
                if (next >= 0) c.next[s * S + next] += counts[i], c.previous[next * S + s] += counts[i];
            }
            for (int64_t i = back_starts[t]; i < back_starts[t + 1]; i++) {
                const int64_t before = cluster[preceding[i]];
                if (before >= 0 && preceding[i] != t)
                    c.next[before * S + s] += back_counts[i], c.previous[s * S + before] += back_counts[i];
            }
            add_cluster(&c, s);
        }
        if (t < N) continue;
        /* Merge the best pair and note it. The words of a cluster are linked: `member` is the next one, `last` the last. */
        int64_t a, b;
        best_pair(&c, &a, &b);
        merge(&c, a, b);
        for (int64_t word = c.name[b]; word >= 0; word = member[word]) cluster[word] = a;
        merged[2 * (t - N)] = c.name[a], merged[2 * (t - N) + 1] = c.name[b];
        member[last[a]] = c.name[b];
        last[a] = last[b];
    }
    for (int64_t s = 0; s < S; s++) flags[s] = active[s];
    free(table), free(active), free(met);
    return DONE;
}

/* All that is answered about a sentence, from its scores in one pass: the best labelling and its probability, the
   entities on it with theirs, and how probable each of its labels is.

   Probabilities come from  p(y) ∝ exp(s(y) / temperature + shift · (tokens that y does not label O));  the labelling
   that is answered has the largest  log p(y) + bonus of its labels.  A span is an entity with the probability of all
   paths that agree with its labels (and, under BIO, do not go on after it): the forward recursion along one path,

       v_s = α_s(y_s),   v_t = v_t-1 E(y_t-1, y_t) ψ_t(y_t) / scale_t,   p = v_e-1 β_e-1(y_e-1) / Z. */

#include "forward_backward.h"
#include "viterbi.h"

typedef struct {
    double *A, *departures, *sums, *delta; /* Viterbi's: (L, P), (L + 1, P), (P,), (T, P) */
    double *scores;                        /* (T, L) of one sentence, in the units of the distribution */
} Room;

INLINED int make_room(Room *r, int64_t L, int64_t longest, const double *transitions, const double *end,
                      void **memory) {
    const int64_t P = padded(L), T = longest > 0 ? longest : 1;
    r->A = aligned_doubles((2 * L + 2 + T) * P + T * L, memory);
    if (r->A == NULL) return 0;
    r->departures = r->A + L * P, r->sums = r->departures + (L + 1) * P, r->delta = r->sums + P;
    r->scores = r->delta + T * P;
    padded_table(transitions, L, P, 0, r->A);
    padded_table(transitions, L, P, 1, r->departures);
    fill(r->departures + L * P, P, -INFINITY);
    memcpy(r->departures + L * P, end, (size_t)L * sizeof(double));
    return 1;
}

/* The scores of T tokens as the distribution has them. */
INLINED void enter_scores(const chain_question *q, const void *unary, int single, int64_t first, int64_t T, int64_t L,
                          double *scores) {
    for (int64_t t = 0; t < T; t++, scores += L) {
        unary_row(unary, single, first + t, L, L, 0.0, scores);
        if (q->temperature != 1.0)
            for (int64_t j = 0; j < L; j++) scores[j] /= q->temperature;
        if (q->outside >= 0) scores[q->outside] -= q->shift;
    }
}

INLINED void best_path(const chain_question *q, const Room *r, const double *start, int64_t T, int64_t L, int64_t P,
                       int64_t *path) {
    double ignored;
    for (int64_t t = 0; t < T; t++) {
        double *here = r->delta + t * P;
        unary_row(r->scores, 0, t, L, P, -INFINITY, here);
        if (q->bonus != NULL)
            for (int64_t j = 0; j < L; j++) here[j] += q->bonus[j];
        if (t > 0) best_step(here - P, r->A, L, P, here);
        else
            for (int64_t j = 0; j < L; j++) here[j] += start[j];
    }
    int64_t y = path[T - 1] = best_sum(r->delta + (T - 1) * P, r->departures + L * P, L, P, r->sums, &ignored);
    for (int64_t t = T - 2; t >= 0; t--)
        path[t] = y = best_sum(r->delta + t * P, r->departures + y * P, L, P, r->sums, &ignored);
}

INLINED double path_score(const Room *r, const double *transitions, const double *start, const double *end, int64_t T,
                          int64_t L, const int64_t *path) {
    double score = start[path[0]] + r->scores[path[0]];
    for (int64_t t = 1; t < T; t++) score += transitions[path[t - 1] * L + path[t]] + r->scores[t * L + path[t]];
    return score + end[path[T - 1]];
}

/* The entity of the tokens s:e, e > s, as the path labels them. */
INLINED double entity_probability(const chain_question *q, const Chain *c, const int64_t *path, int64_t s, int64_t e,
                                  int64_t T) {
    const int64_t P = c->P, L = c->L, last = path[e - 1], kind = q->classes[path[s]];
    double v = c->alpha[s * P + path[s]];
    for (int64_t t = s + 1; t < e; t++)
        v = v * c->E[path[t - 1] * P + path[t]] * c->psi[t * P + path[t]] / c->scale[t];
    if (q->after == NULL || e == T) return v * c->beta[(e - 1) * P + last] / c->weight[e - 1];
    double total = 0.0;
    for (int64_t j = 0; j < L; j++)
        if (q->after[kind * L + j])
            total += v * c->E[last * P + j] * c->psi[e * P + j] / c->scale[e] * c->beta[e * P + j];
    return total / c->weight[e];
}

/* The entities on the path, with their probabilities; those that are not probable enough leave it. */
INLINED int64_t entities(const chain_question *q, const Chain *c, int64_t sentence, int64_t T, int64_t *path, int64_t *spans,
                         double *probabilities) {
    int64_t found = 0;
    for (int64_t s = 0, e; s < T; s = e) {
        e = s + 1;
        if (!q->begins[path[s]]) continue;
        while (e < T && q->classes[path[e]] >= 0 && !q->begins[path[e]]) e++;
        const int64_t kind = q->classes[path[s]];
        const double p = entity_probability(q, c, path, s, e, T);
        if (q->lowest != NULL && p < q->lowest[kind]) {
            for (int64_t t = s; t < e; t++) path[t] = q->outside;
            continue;
        }
        spans[4 * found] = sentence, spans[4 * found + 1] = s, spans[4 * found + 2] = e, spans[4 * found + 3] = kind;
        probabilities[found++] = p;
    }
    return found;
}

/* How probable each token's label is; labels that the user's scheme spells alike add up. */
INLINED void label_probabilities_of(const chain_question *q, const Chain *c, int64_t T, const int64_t *path, double *out) {
    const int64_t P = c->P, L = c->L;
    for (int64_t t = 0; t < T; t++) {
        const double *alpha = c->alpha + t * P, *beta = c->beta + t * P, *alike = q->alike + path[t] * L;
        double sum = 0.0;
        for (int64_t j = 0; j < L; j++) sum += alpha[j] * beta[j] * alike[j];
        out[t] = sum / c->weight[t];
    }
}

/* `whole` is NULL where nothing but the path is wanted. */
int chain_answers(const void *unary, int single, const int64_t *offsets, int64_t tokens, int64_t sentences, int64_t L,
                  const double *transitions, const double *start, const double *end, const chain_question *q,
                  double *label_probabilities, int64_t *path, double *whole, int64_t *spans, double *probabilities,
                  int64_t *found, uint8_t *exact) {
    Chain c;
    Room r;
    void *of_chain, *of_room;
    const int code = begin(&c, offsets, tokens, sentences, L, transitions, start, end, &of_chain);
    if (code != DONE) return code;
    if (!make_room(&r, L, longest_sentence(offsets, sentences, tokens), transitions, end, &of_room)) {
        free(of_chain);
        return NO_MEMORY;
    }
    *found = 0;
    for (int64_t b = 0; b < sentences; b++) {
        const int64_t first = offsets[b], T = offsets[b + 1] - first;
        double log_partition = 0.0;
        if (whole != NULL) whole[b] = 1.0;
        exact[b] = 1;
        if (T == 0) continue;
        enter_scores(q, unary, single, first, T, L, r.scores);
        best_path(q, &r, start, T, L, c.P, path + first);
        if (whole == NULL) continue; /* the labels alone */
        exact[b] = (uint8_t)solve(&c, r.scores, 0, 0, T, &log_partition);
        if (q->classes != NULL)
            *found += entities(q, &c, b, T, path + first, spans + 4 * *found, probabilities + *found);
        whole[b] = exp(path_score(&r, transitions, start, end, T, L, path + first) - log_partition);
        if (q->alike != NULL) label_probabilities_of(q, &c, T, path + first, label_probabilities + first);
    }
    free(of_chain);
    free(of_room);
    return DONE;
}

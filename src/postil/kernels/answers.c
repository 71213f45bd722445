/* All that is answered about a sentence, from its scores in one pass: the best labelling and its probability, the
   entities on it with theirs, and how probable each of its labels is.

   Probabilities come from  p(y) ∝ exp(s(y) / temperature + shift · (tokens that y does not label O));  the labelling
   that is answered has the largest  log p(y) + bonus of its labels.  A span is an entity with the probability of all
   paths that agree with its labels (and, under BIO, do not go on after it): the forward recursion along one path,

       v_s = α_s(y_s),   v_t = v_t-1 E(y_t-1, y_t) ψ_t(y_t) / scale_t,   p = v_e-1 β_e-1(y_e-1) / Z. */

#include "forward_backward.h"
#include "viterbi.h"

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

/* `whole` is NULL where nothing but the path is wanted. */
int chain_answers(const void *unary, int single, const int64_t *offsets, int64_t tokens, int64_t sentences, int64_t L,
                  const double *transitions, const double *start, const double *end, const chain_question *q,
                  double *label_probabilities, int64_t *path, double *whole, int64_t *spans, double *probabilities,
                  int64_t *found, uint8_t *exact) {
    Chain c;
    void *of_chain, *of_room;
    const int code = begin(&c, offsets, tokens, sentences, L, transitions, start, end, &of_chain);
    if (code != DONE) return code;
    const int64_t P = padded(L), longest = longest_sentence(offsets, sentences, tokens), most = longest > 0 ? longest : 1;
    double *A = aligned_doubles((2 * L + 2 + most) * P + most * L, &of_room);
    if (A == NULL) {
        free(of_chain);
        return NO_MEMORY;
    }
    double *departures = A + L * P, *sums = departures + (L + 1) * P, *delta = sums + P, *scores = delta + most * P;
    enter_steps(transitions, end, L, P, A, departures);
    *found = 0;
    for (int64_t b = 0; b < sentences; b++) {
        const int64_t first = offsets[b], T = offsets[b + 1] - first, *y = path + first;
        double log_partition = 0.0;
        if (whole != NULL) whole[b] = 1.0;
        exact[b] = 1;
        if (T == 0) continue;
        for (int64_t t = 0; t < T; t++) { /* the scores as the distribution has them */
            double *row = scores + t * L;
            unary_row(unary, single, first + t, L, L, 0.0, row);
            if (q->temperature != 1.0)
                for (int64_t j = 0; j < L; j++) row[j] /= q->temperature;
            if (q->outside >= 0) row[q->outside] -= q->shift;
        }
        best_path(scores, 0, 0, q->bonus, A, departures, start, T, L, P, sums, delta, path + first);
        if (whole == NULL) continue; /* the labels alone */
        exact[b] = (uint8_t)solve(&c, scores, 0, 0, T, &log_partition);
        if (q->classes != NULL)
            *found += entities(q, &c, b, T, path + first, spans + 4 * *found, probabilities + *found);
        double score = start[y[0]] + scores[y[0]];
        for (int64_t t = 1; t < T; t++) score += transitions[y[t - 1] * L + y[t]] + scores[t * L + y[t]];
        whole[b] = exp(score + end[y[T - 1]] - log_partition);
        for (int64_t t = 0; q->alike != NULL && t < T; t++) { /* labels that the user's scheme spells alike add up */
            const double *alpha = c.alpha + t * P, *beta = c.beta + t * P, *alike = q->alike + y[t] * L;
            double sum = 0.0;
            for (int64_t j = 0; j < L; j++) sum += alpha[j] * beta[j] * alike[j];
            label_probabilities[first + t] = sum / c.weight[t];
        }
    }
    free(of_chain);
    free(of_room);
    return DONE;
}

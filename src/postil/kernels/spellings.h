/* Vectors of words from their characters, and the way back, for training.c: what network/characters.py computes.

   A filter adds up what each character has for it at its place in the window (rows, from one product with the whole
   alphabet); the largest sum over a word counts, and only the characters around the winner learn from it. */

#ifndef POSTIL_SPELLINGS_H
#define POSTIL_SPELLINGS_H

#include <string.h>

#include "kernels.h"
#include "portable.h"
#include "squash.h"

/* The operands of the product: row 0 of the vectors stands for places outside the word. */
INLINED void order_filters(character_step *c) {
    const size_t row = (size_t)c->D * sizeof(float);
    memcpy(c->vectors, c->padding, row);
    memcpy(c->vectors + c->D, c->table, (size_t)c->V * row);
    for (int64_t k = 0; k < c->size; k++)
        for (int64_t f = 0; f < c->F; f++)
            memcpy(c->by_position + (k * c->F + f) * c->D, c->W + (f * c->size + k) * c->D, row);
}

/* The length of a word, or -1 where it has a character that is not in the alphabet. */
INLINED int64_t spelled_length(const character_step *c, const int64_t *word) {
    int64_t length = 0;
    for (; length < c->M && word[length] != 0; length++)
        if (word[length] < 0 || word[length] > c->V) return -1;
    return length;
}

/* The sums of all filters around character t of a word, in the order of sum_windows and activate. */
INLINED void filter_sums(const character_step *c, const int64_t *word, int64_t length, int64_t t, float *restrict out) {
    const int64_t half = c->size / 2, F = c->F;
    for (int64_t k = 0; k < c->size; k++) {
        const int64_t place = t + k - half;
        const float *restrict term =
            c->rows + (place >= 0 && place < length ? word[place] : 0) * c->size * F + k * F;
        if (k == 0)
            memcpy(out, term, (size_t)F * sizeof *out);
        else
            for (int64_t f = 0; f < F; f++) out[f] += term[f];
    }
    for (int64_t f = 0; f < F; f++) out[f] += c->b[f];
}

/* The vector of word u into `out` (F,), which place of it each filter chose, and the slope of what it found. */
static int spell(character_step *c, int64_t u, float *restrict out) {
    const int64_t F = c->F, *word = c->ids + u * c->M, length = spelled_length(c, word);
    float *restrict sums = c->slopes + u * F; /* the slopes are written last */
    int32_t *restrict winners = c->winners + u * F;
    if (length < 0) return WRONG_INDEX;
    memset(out, 0, (size_t)F * sizeof *out);
    memset(sums, 0, (size_t)F * sizeof *sums);
    memset(winners, 0, (size_t)F * sizeof *winners);
    if (length == 0) return DONE;
    filter_sums(c, word, length, 0, out);
    for (int64_t t = 1; t < length; t++) {
        filter_sums(c, word, length, t, sums);
        for (int64_t f = 0; f < F; f++) {
            const int is_larger = sums[f] > out[f];
            out[f] = is_larger ? sums[f] : out[f];
            winners[f] = is_larger ? (int32_t)t : winners[f];
        }
    }
    squash_single(out, NULL, F, 1.0f, out);
    for (int64_t f = 0; f < F; f++) sums[f] = 1.0f - out[f] * out[f];
    return DONE;
}

/* From the gradients of U words, rows of `dX` with `wide` numbers from one to the next, to those of the characters' rows
   and of the bias. A word without characters has slopes of zero. */
static void spell_back(character_step *c, int64_t U, const float *dX, int64_t wide) {
    const int64_t F = c->F, half = c->size / 2, width = c->size * F;
    memset(c->drows, 0, (size_t)((1 + c->V) * width) * sizeof *c->drows);
    memset(c->db, 0, (size_t)F * sizeof *c->db);
    for (int64_t u = 0; u < U; u++, dX += wide) {
        const int64_t *word = c->ids + u * c->M, length = spelled_length(c, word);
        float *restrict g = c->slopes + u * F;
        const int32_t *winners = c->winners + u * F;
        for (int64_t f = 0; f < F; f++) g[f] *= dX[f], c->db[f] += g[f];
        for (int64_t k = 0; k < c->size; k++)
            for (int64_t f = 0; f < F; f++) {
                const int64_t place = winners[f] + k - half, id = place >= 0 && place < length ? word[place] : 0;
                c->drows[id * width + k * F + f] += g[f];
            }
    }
}

/* Hand out the gradients of the two operands. */
INLINED void order_gradients(const character_step *c) {
    const size_t row = (size_t)c->D * sizeof(float);
    memcpy(c->dpadding, c->dvectors, row);
    memcpy(c->dtable, c->dvectors + c->D, (size_t)c->V * row);
    for (int64_t k = 0; k < c->size; k++)
        for (int64_t f = 0; f < c->F; f++)
            memcpy(c->dW + (f * c->size + k) * c->D, c->dby_position + (k * c->F + f) * c->D, row);
}

#endif

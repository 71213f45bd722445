/* Tokens to sentences: the rules of plain_segmentation.py, over bytes. */

#include <string.h>

#include "matcher.h"

/* Kinds of words, as in plain_segmentation.py. */
enum { IS_FINAL = 1, CLOSES = 2, CLOSES_IF_GLUED = 4, OPENS = 8, GOES_ON = 16, NEVER_FINAL = 32, STARTS = 64 };

enum { AFTER = 16, COMMON = 3, LIST_DIGITS = 3 };

typedef struct {
    const uint8_t *text;
    const int64_t *cells;
    const sentence_rules *rules;
    const character_tables *known;
    int64_t end; /* of the document */
    int code;
    class_row row;
    retreat stack[DEEPEST];
} splitter;

INLINED int64_t first_of(const splitter *my, int64_t token) { return my->cells[2 * token]; }
INLINED int64_t end_of(const splitter *my, int64_t token) { return my->cells[2 * token + 1]; }
INLINED int is_glued(const splitter *my, int64_t token) { return first_of(my, token) == end_of(my, token - 1); }

INLINED int compare(const uint8_t *one, int64_t one_size, const uint8_t *other, int64_t other_size) {
    const int order = memcmp(one, other, (size_t)(one_size < other_size ? one_size : other_size));
    return order != 0 ? order : one_size < other_size ? -1 : one_size > other_size;
}

/* What text[first:end] is in the rules: bits. */
static int kind_of(const splitter *my, int64_t first, int64_t end) {
    const sentence_rules *rules = my->rules;
    int64_t low = 0, high = rules->count;
    while (low < high) {
        const int64_t middle = (low + high) / 2, begin = rules->ends[middle];
        const int order = compare(my->text + first, end - first, rules->words + begin, rules->ends[middle + 1] - begin);
        if (order == 0) return rules->kinds[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return 0;
}

INLINED int kind_of_token(const splitter *my, int64_t token) {
    return kind_of(my, first_of(my, token), end_of(my, token));
}

/* The character at `at`, and its size. What is not UTF-8 is one of one byte; where tokens come from, it was refused. */
INLINED uint32_t code_at(const splitter *my, int64_t at, int *bytes) {
    uint32_t code = 0;
    *bytes = decode(my->text + at, my->text + my->end, &code);
    if (*bytes == 0) *bytes = 1;
    return code;
}

INLINED int32_t flags_at(const splitter *my, int64_t at, int *bytes) {
    return flags_of(my->known, code_at(my, at, bytes));
}

INLINED int32_t first_flags(const splitter *my, int64_t token) {
    int bytes;
    return flags_at(my, first_of(my, token), &bytes);
}

INLINED int begins_final(const splitter *my, int64_t token) {
    int bytes;
    flags_at(my, first_of(my, token), &bytes);
    return kind_of(my, first_of(my, token), first_of(my, token) + bytes) & IS_FINAL;
}

INLINED int ends_final(const splitter *my, int64_t token) {
    const int64_t end = end_of(my, token);
    if (!my->rules->final_bytes[my->text[end - 1]]) return 0;
    return kind_of(my, character_before(my->text, first_of(my, token), end), end) & IS_FINAL;
}

/* Of a token: its characters, and flags that all of them have, and that some have. */
static int64_t survey(const splitter *my, int64_t first, int64_t end, int32_t *all, int32_t *some) {
    int64_t count = 0;
    int bytes;
    *all = -1, *some = 0;
    for (int64_t at = first; at < end; at += bytes, count++) {
        const int32_t flags = flags_at(my, at, &bytes);
        *all &= flags;
        *some |= flags;
    }
    return count;
}

/* text[first:end] as classes; their number, 0 where memory is short. */
static int64_t read_classes(splitter *my, int64_t first, int64_t end) {
    int odd = 0;
    const int64_t count = read_row(&my->row, &my->rules->program, my->text + first, end - first, &odd);
    if (count < 0) my->code = NO_MEMORY;
    return count < 0 ? 0 : count;
}

INLINED int matches(splitter *my, int32_t entry, int64_t at) {
    int64_t steps = INT64_MAX;
    return match(&my->rules->program, entry, my->row.classes + 1, (int32_t)at, &steps, my->stack) >= 0;
}

static int token_matches(splitter *my, int32_t entry, int64_t token) {
    return read_classes(my, first_of(my, token), end_of(my, token)) > 0 && matches(my, entry, 0);
}

/* Whether a counted line break stands between a token and the one before. What is to be seen of the text after the break,
   the mark of a list, is shorter than AFTER characters. */
static int breaks_before(splitter *my, int64_t token) {
    int64_t first = end_of(my, token - 1), end = first_of(my, token), seen = end;
    while (first < end && !my->rules->line_bytes[my->text[first]]) first++;
    if (first == end) return 0;
    for (int k = 0, bytes; k < AFTER && seen < my->end; k++, seen += bytes) code_at(my, seen, &bytes);
    const int64_t count = read_classes(my, first, seen);
    for (int64_t at = 0; at < count && my->row.places[at] < end - first; at++)
        if (matches(my, my->rules->line_break, at)) return 1;
    return 0;
}

static int64_t skip_closing(splitter *my, int64_t token, int64_t limit) {
    for (; token < limit; token++) {
        const int kind = kind_of_token(my, token);
        if (!(kind & CLOSES) && !(kind & CLOSES_IF_GLUED && is_glued(my, token)) && !token_matches(my, my->rules->emoticon, token))
            break;
    }
    return token;
}

static int ends_sentence(splitter *my, int64_t begin, int64_t mark, int64_t edge, int64_t limit) {
    if (kind_of_token(my, edge) & GOES_ON || begins_final(my, edge)) return 0;
    if (is_glued(my, edge) && first_flags(my, edge) & IS_DIGIT) return 0;
    const int64_t first = first_of(my, mark), end = end_of(my, mark);
    int32_t all, some;
    while (edge + 1 < limit && kind_of_token(my, edge) & OPENS) edge++;
    if (!begins_final(my, mark)) { /* an abbreviation, or an initial */
        const int64_t before = character_before(my->text, first, end);
        const int is_initial = survey(my, first, before, &all, &some) == 1 && all & IS_UPPER;
        return !is_initial && !(kind_of(my, first, before) & NEVER_FINAL) && kind_of_token(my, edge) & STARTS;
    }
    if (mark == begin) return 0;
    if (end - first == 1 && my->text[first] == '.' && mark == begin + 1) { /* the number of a list */
        const int64_t count = survey(my, first_of(my, begin), end_of(my, begin), &all, &some);
        if (count == 1 || (count <= LIST_DIGITS && all & IS_DIGIT)) return 0;
    }
    if (first_flags(my, edge) & IS_LOWER) {
        if (edge != mark + 1 || token_matches(my, my->rules->ellipsis, mark)) return 0;
        const int64_t count = survey(my, first_of(my, mark - 1), end_of(my, mark - 1), &all, &some);
        return count > COMMON && some & IS_LOWER && !(some & (IS_UPPER | IS_TITLE));
    }
    return 1;
}

/* tokens (D + 1,): of the documents among the tokens. offsets (N + 1,): of the sentences; found: how many there are. */
int split_sentences(const uint8_t *text, int64_t size, const int64_t *documents, const int64_t *tokens, int64_t D,
                    const int64_t *cells, int64_t N, const sentence_rules *rules, const character_tables *known,
                    int64_t *offsets, int64_t *found) {
    splitter my; /* not all of it is set: the stack is large */
    my.text = text, my.cells = cells, my.rules = rules, my.known = known;
    begin_row(&my.row);
    my.code = longest_sentence(tokens, D, N) < 0 ? WRONG_OFFSETS : DONE;
    int64_t B = 0;
    offsets[0] = 0;
    for (int64_t d = 0; d < D && my.code == DONE; d++) {
        const int64_t last = tokens[d + 1];
        int64_t begin = tokens[d], limit = begin;
        my.end = documents[2 * d + 1];
        int64_t at = documents[2 * d];
        if (at < 0 || my.end > size) my.code = WRONG_INDEX;
        for (int64_t t = begin; t < last; at = cells[2 * t++ + 1]) /* one after the other, with a character at least */
            if (cells[2 * t] < at || cells[2 * t + 1] <= cells[2 * t] || cells[2 * t + 1] > my.end) my.code = WRONG_INDEX;
        if (my.code != DONE) break;
        while (limit < last) { /* from one counted line break to the next */
            int64_t token = limit;
            for (limit++; limit < last && !breaks_before(&my, limit);) limit++;
            for (; token < limit; token++) {
                if (!ends_final(&my, token) || token < begin) continue;
                const int64_t edge = skip_closing(&my, token + 1, limit);
                if (edge == limit || !ends_sentence(&my, begin, token, edge, limit)) continue;
                offsets[++B] = begin = edge;
            }
            offsets[++B] = begin = limit;
        }
    }
    free_row(&my.row);
    *found = B;
    return my.code;
}

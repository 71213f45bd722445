/* Text to tokens: whitespace cuts it into chunks, a regular expression cuts a chunk.

   Text repeats itself, so the cuts of chunks are cached. A cut is a number: its bits are the bytes of the chunk at which a
   token begins. The cache is a table of buckets; a chunk that has no place in its bucket takes that of the one which was
   used least, and one that is used moves up. Nothing but time depends on what is there. */

#include <string.h>

#include "matcher.h"
#include "shared.h"

typedef struct {
    const token_rules *rules;
    const character_tables *known;
    int surrogates;
    slot *slots;
    uint64_t mask, seed;
    class_row row; /* of a chunk */
    retreat stack[DEEPEST];
} tokeniser;

INLINED slot *cached(tokeniser *my, uint64_t h, const uint8_t *key, int64_t size) {
    slot *bucket = my->slots + (h & my->mask) * WAYS;
    const uint32_t tag = (uint32_t)(h >> 32);
    for (int way = 0; way < WAYS; way++) {
        slot *at = bucket + way;
        if (at->tag != tag || at->size != size || memcmp(at->key, key, (size_t)size) != 0) continue;
        if (way == 0) return at;
        const slot moved = at[-1];
        at[-1] = at[0];
        at[0] = moved;
        return at - 1;
    }
    return NULL;
}

static void keep(tokeniser *my, uint64_t h, const uint8_t *key, int64_t size, uint64_t cut) {
    slot *at = my->slots + (h & my->mask) * WAYS;
    for (int way = 1; way < WAYS && at->size != 0; way++) at++;
    at->cut = cut;
    at->tag = (uint32_t)(h >> 32);
    at->size = (uint8_t)size;
    memcpy(at->key, key, (size_t)size);
}

static int depends(tokeniser *my, int64_t count, int64_t *steps) {
    int64_t at = count - my->rules->reach;
    for (at = at < 0 ? 0 : at; at < count; at++) {
        const int32_t end =
            match(&my->rules->program, my->rules->depends, my->row.classes + 1, (int32_t)at, steps, my->stack);
        if (end == TOO_HARD) return TOO_HARD;
        if (end >= 0) return 1;
    }
    return 0;
}

/* The tokens of a chunk, the first `size` bytes of a key of `all` bytes: as bits of *cut, or where cells are given as
   cells, whose number goes to *cut. A cut of 0: it depends on what follows, which the key has not. */
static int cut_chunk(tokeniser *my, const uint8_t *key, int64_t size, int64_t all, int *odd, uint64_t *cut,
                     int64_t *cells) {
    *cut = 0;
    if (all > LONGEST_CHUNK) return TOO_LONG;
    int64_t steps = 8192 + 512 * all, N = 0;
    const int64_t count = read_row(&my->row, &my->rules->program, key, all, odd);
    if (count < 0) return NO_MEMORY;
    if (*odd & HAS_OTHER_BYTES || (*odd && !my->surrogates)) return NOT_UTF8;
    if (all == size && key[size - 1] == '.') {
        const int found = depends(my, count, &steps);
        if (found != 0) return found < 0 ? TOO_LONG : DONE;
    }
    const int32_t *places = my->row.places;
    for (int32_t at = 0, end; places[at] < size; at = end) {
        end = match(&my->rules->program, my->rules->token, my->row.classes + 1, at, &steps, my->stack);
        if (end <= at) return TOO_LONG;
        if (cells == NULL) {
            *cut |= (uint64_t)1 << places[at];
        } else {
            const int64_t last = places[end];
            cells[2 * N] = places[at];
            cells[2 * N + 1] = last < size ? last : size;
            N++;
        }
    }
    if (cells != NULL) *cut = (uint64_t)N;
    return DONE;
}

/* The first place from `at` on that is not whitespace. */
INLINED int64_t skip_spaces(const character_tables *known, const uint8_t *text, int64_t at, int64_t end) {
    while (at < end) {
        const uint8_t kind = known->spaces[text[at]];
        int bytes = 1;
        uint32_t code;
        if (kind == 0) break;
        if (kind == 2) {
            bytes = decode(text + at, text + end, &code);
            if (bytes == 0 || !(flags_of(known, code) & IS_SPACE)) break;
        }
        at += bytes;
    }
    return at;
}

INLINED int64_t skip_chunk(const character_tables *known, const uint8_t *text, int64_t at, int64_t end) {
    for (; at < end; at++) {
        const uint8_t kind = known->spaces[text[at]];
        uint32_t code;
        if (kind == 0) continue;
        if (kind == 1) break;
        if (decode(text + at, text + end, &code) && flags_of(known, code) & IS_SPACE) break;
    }
    return at;
}

/* A short key's cut, from the cache or by the expression; `h` is the key's hash. */
INLINED int short_cut(tokeniser *my, uint64_t h, const uint8_t *key, int64_t size, int64_t all, uint64_t *cut) {
    const slot *known = cached(my, h, key, all);
    if (known != NULL) {
        *cut = known->cut;
        return DONE;
    }
    int odd = 0;
    const int code = cut_chunk(my, key, size, all, &odd, cut, NULL);
    if (code == DONE && !odd) keep(my, h, key, all, *cut);
    return code;
}

/* text[first:end] with a space and the first character of the next chunk, if the document has one. */
static int64_t with_next(const tokeniser *my, const uint8_t *text, int64_t first, int64_t end, int64_t document_end,
                         uint8_t *key) {
    int64_t size = end - first, next = skip_spaces(my->known, text, end, document_end);
    uint32_t code;
    memcpy(key, text + first, (size_t)size);
    key[size++] = ' ';
    const int bytes = next < document_end ? decode(text + next, text + document_end, &code) : 0;
    memcpy(key + size, text + next, (size_t)bytes);
    return size + bytes;
}

/* A chunk that is too long for the cache. */
static int long_cut(tokeniser *my, const uint8_t *text, int64_t first, int64_t end, int64_t document_end,
                    int64_t *cells, int64_t *N) {
    int odd = 0;
    uint64_t found = 0;
    int code = cut_chunk(my, text + first, end - first, end - first, &odd, &found, cells);
    if (code == DONE && found == 0) {
        uint8_t *key = malloc((size_t)(end - first) + 8);
        if (key == NULL) return NO_MEMORY;
        const int64_t all = with_next(my, text, first, end, document_end, key);
        code = cut_chunk(my, key, end - first, all, &odd, &found, cells);
        free(key);
    }
    for (uint64_t i = 0; i < 2 * found; i++) cells[i] += first;
    *N = (int64_t)found;
    return code;
}

/* Chunks of a document that are looked up together: while one is, the slots of the next ones are on their way from
   memory, where most of the time would go. */
enum { TOGETHER = 32 };
typedef struct {
    int64_t first, end;
    uint64_t hash;
} chunk;

/* The next chunks of a document from `at` on; their number. */
INLINED int next_chunks(const tokeniser *my, const uint8_t *text, int64_t at, int64_t end, chunk *chunks) {
    int count = 0;
    for (; count < TOGETHER; count++) {
        const int64_t first = skip_spaces(my->known, text, at, end);
        if (first == end) break;
        at = skip_chunk(my->known, text, first, end);
        chunks[count].first = first;
        chunks[count].end = at;
        if (at - first > LONGEST_KEY) continue;
        chunks[count].hash = hash_of(text + first, at - first, my->seed);
        __builtin_prefetch(my->slots + (chunks[count].hash & my->mask) * WAYS);
        __builtin_prefetch(my->slots + (chunks[count].hash & my->mask) * WAYS + 1);
    }
    return count;
}

/* The tokens of one chunk, written to cells, which has room for one a byte. */
INLINED int tokens_of_chunk(tokeniser *my, const uint8_t *text, chunk at, int64_t document_end, int64_t *cells,
                            int64_t *N) {
    const int64_t size = at.end - at.first;
    uint64_t cut;
    if (size > LONGEST_KEY) return long_cut(my, text, at.first, at.end, document_end, cells, N);
    int code = short_cut(my, at.hash, text + at.first, size, size, &cut);
    if (code == DONE && cut == 0) {
        uint8_t key[KEY];
        const int64_t all = with_next(my, text, at.first, at.end, document_end, key);
        code = short_cut(my, hash_of(key, all, my->seed), key, size, all, &cut);
    }
    if (code != DONE) return code;
    *N = 0, cells[0] = at.first;
    for (cut &= cut - 1; cut != 0; cut &= cut - 1) {
        const int64_t edge = at.first + __builtin_ctzll(cut);
        cells[2 * *N + 1] = edge;
        cells[2 * ++*N] = edge;
    }
    cells[2 * (*N)++ + 1] = at.end;
    return DONE;
}

/* state: the document, the place in the text from which to go on, the tokens before; and after the call the same. What is
   in the way is text[state[1]:state[3]]. NO_ROOM: for the tokens of that chunk; TOO_LONG: the twin must cut it, and the
   first character of the next chunk is text[state[4]:state[5]]. offsets (D + 1,): of the documents among the tokens. */
int tokenise_text(const uint8_t *text, int64_t size, const int64_t *documents, int64_t D, const token_rules *rules,
                  const character_tables *known, int surrogates, uint8_t *slots, int64_t buckets, uint64_t seed,
                  int64_t room, int64_t *cells, int64_t *offsets, int64_t *state) {
    tokeniser my; /* not all of it is set: the stack is large */
    if (buckets < 1 || (buckets & (buckets - 1))) return WRONG_INDEX;
    my.rules = rules, my.known = known, my.surrogates = surrogates;
    my.slots = (slot *)slots, my.mask = (uint64_t)buckets - 1, my.seed = seed;
    begin_row(&my.row);
    chunk chunks[TOGETHER], now = {state[1], state[1], 0};
    int64_t d = state[0], N = 0;
    int code = DONE;
    for (; d < D; d++) {
        const int64_t begin = documents[2 * d], end = documents[2 * d + 1];
        if (begin < 0 || end < begin || end > size) code = WRONG_INDEX;
        now.end = now.end < begin ? begin : now.end;
        for (int count = 1; code == DONE && count > 0;) {
            count = next_chunks(&my, text, now.end, end, chunks);
            for (int i = 0; i < count && code == DONE; i++) {
                int64_t added = 0;
                now = chunks[i];
                code = now.end - now.first > room - N ? NO_ROOM
                                                      : tokens_of_chunk(&my, text, now, end, cells + 2 * N, &added);
                N += added;
            }
        }
        if (code != DONE) break;
        offsets[d + 1] = state[2] + N;
        now.end = 0;
    }
    if (code == TOO_LONG) {
        const int64_t end = documents[2 * d + 1];
        uint32_t next;
        state[4] = state[5] = skip_spaces(known, text, now.end, end);
        if (state[4] < end) state[5] += decode(text + state[4], text + end, &next);
    }
    free_row(&my.row);
    state[0] = d, state[1] = now.first, state[2] += N, state[3] = now.end;
    return code;
}

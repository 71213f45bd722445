/* Characters of UTF-8 text, and what is known of them: the tables of characters.py. */

#ifndef POSTIL_CHARACTERS_H
#define POSTIL_CHARACTERS_H

#include "kernels.h"
#include "portable.h"

/* As in characters.py. */
enum { BLOCK_BITS = 7, BLOCK_MASK = (1 << BLOCK_BITS) - 1, LAST_CODE = 0x10ffff };
enum { IS_ALPHA = 1 << 5, IS_DECIMAL = 1 << 6, IS_DIGIT = 1 << 7, IS_LOWER = 1 << 8, IS_UPPER = 1 << 9, IS_TITLE = 1 << 10 };
enum { IS_SPACE = 1 << 11, IS_WORD = 1 << 12, IS_CASED = 1 << 13, IS_IGNORABLE = 1 << 14 };
enum { CAPITAL_SIGMA = 0x3a3, FINAL_SIGMA = 0x3c2, DOTTED_I = 0x130, DOT_ABOVE = 0x307 };

INLINED int is_continuation(uint8_t byte) { return (byte & 0xc0) == 0x80; }

/* The bytes of the character at the beginning of text:end, 0 if there is none in UTF-8; its code goes to *code. A lone
   surrogate counts as a character of three bytes; callers that must reject it look at the code. */
INLINED int decode(const uint8_t *text, const uint8_t *end, uint32_t *code) {
    const uint32_t lead = text[0];
    if (lead < 0x80) {
        *code = lead;
        return 1;
    }
    const int size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || end - text < size) return 0;
    uint32_t found = lead & (0x7fu >> size);
    for (int i = 1; i < size; i++) {
        if (!is_continuation(text[i])) return 0;
        found = found << 6 | (text[i] & 0x3fu);
    }
    if ((size == 3 && found < 0x800) || (size == 4 && (found < 0x10000 || found > LAST_CODE))) return 0;
    *code = found;
    return size;
}

/* The bytes of a character, written to `out`, which has room for four. */
INLINED int encode(uint32_t code, uint8_t *out) {
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    const int size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (int i = size - 1; i > 0; i--, code >>= 6) out[i] = (uint8_t)(0x80 | (code & 0x3f));
    out[0] = (uint8_t)(0xf00u >> size | code);
    return size;
}

INLINED int is_surrogate(uint32_t code) { return code >> 11 == 0xd800 >> 11; }

/* The first byte of the character that ends before text[end]; `first` is where the text begins. */
INLINED int64_t character_before(const uint8_t *text, int64_t first, int64_t end) {
    do end--;
    while (end > first && is_continuation(text[end]));
    return end;
}

INLINED const int32_t *record_of(const character_tables *known, uint32_t code) {
    const int64_t page = known->index[code >> BLOCK_BITS];
    return known->records + 2 * known->pages[page << BLOCK_BITS | (code & BLOCK_MASK)];
}

INLINED int32_t flags_of(const character_tables *known, uint32_t code) { return record_of(known, code)[0]; }

/* Whether a capital sigma at `at` is the last letter of its word, see characters.c. */
int is_final_sigma(const character_tables *known, const uint8_t *word, int64_t at, int64_t size);

#endif

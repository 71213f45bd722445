/* Characters: which sigmas are final ones, and offsets that count characters. */

#include "characters.h"

/* Whether a capital sigma at `at` is the last letter of its word: something cased before it, nothing cased after. What
   is neither, an apostrophe or an accent, is passed over. */
int is_final_sigma(const character_tables *known, const uint8_t *word, int64_t at, int64_t size) {
    uint32_t code = 0;
    int64_t i = at;
    int32_t flags = 0;
    while (i > 0) {
        i = character_before(word, 0, i);
        if (decode(word + i, word + size, &code) == 0) return 0;
        flags = flags_of(known, code);
        if (!(flags & IS_IGNORABLE)) break;
        flags = 0;
    }
    if (!(flags & IS_CASED)) return 0;
    flags = 0;
    for (i = at + 2; i < size;) { /* a sigma is two bytes */
        const int bytes = decode(word + i, word + size, &code);
        if (bytes == 0) return 0; /* no UTF-8: the caller comes to it */
        i += bytes;
        flags = flags_of(known, code);
        if (!(flags & IS_IGNORABLE)) break;
        flags = 0;
    }
    return !(flags & IS_CASED);
}

/* Offsets in bytes, none smaller than the one before, as offsets in characters. */
int character_offsets(const uint8_t *text, int64_t size, const int64_t *offsets, int64_t n, int64_t *out) {
    int64_t at = 0, count = 0;
    for (int64_t i = 0; i < n; i++) {
        if (offsets[i] < at || offsets[i] > size) return WRONG_INDEX;
        for (; at < offsets[i]; at++) count += !is_continuation(text[at]);
        out[i] = count;
    }
    return DONE;
}

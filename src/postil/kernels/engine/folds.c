/* ------------------------------------------------------------------------------------------------ folds

   A word as it is looked up: canonical composition (NFC), then a table of characters, as in features/folds.py. */

enum { LONGEST_FOLDED = 256, MOST_CODES = 2 * LONGEST_FOLDED, FOLDED_ROOM = 12 * MOST_CODES };
enum { HANGUL = 0xac00, LEADING = 0x1100, VOWEL = 0x1161, TRAILING = 0x11a7, LEADINGS = 19, VOWELS = 21, TRAILINGS = 28 };

/* The row of a table (count, width) that begins with these numbers, one or two; NULL: there is none. */
static const int32_t *row_with(const int32_t *table, int64_t count, int64_t width, int32_t first, int32_t second, int keys) {
    int64_t low = 0, high = count;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        const int32_t *row = table + middle * width;
        if (row[0] < first || (row[0] == first && keys > 1 && row[1] < second))
            low = middle + 1;
        else
            high = middle;
    }
    const int32_t *row = table + low * width;
    return low < count && row[0] == first && (keys == 1 || row[1] == second) ? row : NULL;
}

static int32_t combining_class(const word_folds *folds, int32_t code) {
    const int32_t *row = code < 0x300 ? NULL : row_with(folds->classes, folds->class_count, 2, code, 0, 1);
    return row == NULL ? 0 : row[1];
}

/* Canonical decomposition, in canonical order: how many codes. */
static int64_t decomposed(const word_folds *folds, const uint8_t *word, int64_t size, int32_t *codes) {
    int64_t n = 0;
    for (int64_t at = 0; at < size;) {
        uint32_t found = 0;
        const int bytes = decode(word + at, word + size, &found);
        if (bytes == 0) return -1;
        at += bytes;
        const int32_t code = (int32_t)found, syllable = code - HANGUL;
        const int64_t first = n;
        const int32_t *row = code < 0xc0 ? NULL : row_with(folds->decomposed, folds->decomposed_count, 5, code, 0, 1);
        if (syllable >= 0 && syllable < LEADINGS * VOWELS * TRAILINGS) {
            codes[n++] = LEADING + syllable / (VOWELS * TRAILINGS);
            codes[n++] = VOWEL + syllable / TRAILINGS % VOWELS;
            if (syllable % TRAILINGS) codes[n++] = TRAILING + syllable % TRAILINGS;
        } else if (row != NULL) {
            for (int k = 1; k < 5 && row[k] != 0; k++) codes[n++] = row[k];
        } else {
            codes[n++] = code;
        }
        for (int64_t i = first; i < n; i++) { /* marks after a letter by their classes */
            const int32_t mark = codes[i], class = combining_class(folds, mark);
            int64_t k = i;
            for (; class > 0 && k > 0 && combining_class(folds, codes[k - 1]) > class; k--) codes[k] = codes[k - 1];
            codes[k] = mark;
        }
    }
    return n;
}

/* The code that two become; 0: none. */
static int32_t composed(const word_folds *folds, int32_t first, int32_t second) {
    const int32_t leading = first - LEADING, vowel = second - VOWEL, syllable = first - HANGUL, trailing = second - TRAILING;
    if (leading >= 0 && leading < LEADINGS && vowel >= 0 && vowel < VOWELS)
        return HANGUL + (leading * VOWELS + vowel) * TRAILINGS;
    if (syllable >= 0 && syllable < LEADINGS * VOWELS * TRAILINGS && syllable % TRAILINGS == 0 && trailing > 0 &&
        trailing < TRAILINGS)
        return first + trailing;
    const int32_t *row = row_with(folds->composed, folds->composed_count, 3, first, second, 2);
    return row == NULL ? 0 : row[2];
}

static int64_t compose(const word_folds *folds, int32_t *codes, int64_t n) {
    int64_t kept = 0, starter = -1;
    int32_t last = -1; /* class of the last code that stayed after the starter; -1: none did */
    for (int64_t i = 0; i < n; i++) {
        const int32_t class = combining_class(folds, codes[i]);
        const int32_t whole = starter >= 0 && (last < class || last == -1) ? composed(folds, codes[starter], codes[i]) : 0;
        if (whole != 0) {
            codes[starter] = whole;
            continue;
        }
        if (class == 0) starter = kept;
        last = class == 0 ? -1 : class;
        codes[kept++] = codes[i];
    }
    return kept;
}

/* The folded word, `out` has FOLDED_ROOM bytes; its size, or -1 where it stays as it is. */
static int64_t folded_word(const word_folds *folds, const uint8_t *word, int64_t size, uint8_t *out) {
    int32_t codes[MOST_CODES + 8];
    int64_t n, used = 0;
    int may_change = 0;
    for (int64_t i = 0; i < size && size <= LONGEST_FOLDED; i++) may_change |= word[i] >= 0x80 || folds->ascii[word[i]];
    if (!may_change || (n = decomposed(folds, word, size, codes)) < 0) return -1;
    n = compose(folds, codes, n);
    for (int64_t i = 0; i < n; i++) {
        const int32_t *row = row_with(folds->table, folds->count, 4, codes[i], 0, 1);
        if (row == NULL) used += encode((uint32_t)codes[i], out + used);
        for (int k = 1; row != NULL && k < 4 && row[k] != 0; k++) used += encode((uint32_t)row[k], out + used);
    }
    return used > 0 ? used : -1;
}

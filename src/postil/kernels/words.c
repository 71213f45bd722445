/* Features of words: what a word looks like, and the ids of its forms in hash tables of strings.

   One pass over a word's characters writes all its forms; then each column is one search in a table. */

#include <stdlib.h>
#include <string.h>

#include "characters.h"
#include "shared.h"

enum { ITSELF, ITSELF_IF_ASCII };
enum { LONGEST_RUN = 3, IS_CATEGORY = 0x1f };

typedef struct {
    uint8_t *bytes;
    int64_t size;
} string;

/* A word and what is made of it. */
typedef struct {
    string form, lower, normal, shape, folded;
    int64_t caps;
    int has_digits;
} looks;

INLINED uint32_t crc32_of(const uint32_t *crc, string s) {
    uint32_t h = 0xffffffffu;
    for (int64_t i = 0; i < s.size; i++) h = crc[(h ^ s.bytes[i]) & 0xff] ^ h >> 8;
    return ~h;
}

/* The id of a string, 0 if it has none, -1 if the table is damaged: its arrays may be those of a file that has changed
   since they were checked. */
static int64_t id_of(const string_table *table, const uint32_t *crc, string s) {
    const uint64_t mask = (uint64_t)table->slot_count - 1;
    uint64_t slot = crc32_of(crc, s) & mask;
    for (int64_t steps = 0; steps < table->slot_count; steps++, slot = (slot + 1) & mask) {
        const int64_t id = table->slots[slot];
        if (id < 0) return 0;
        if (id >= table->count) return -1;
        const int64_t first = table->offsets[id], end = table->offsets[id + 1];
        if (first < 0 || end < first || end > table->size) return -1;
        if (end - first == s.size && memcmp(table->text + first, s.bytes, (size_t)s.size) == 0) return id;
    }
    return -1;
}

/* slots (T,): the ids of V strings, each at the slot of its hash or the next free one. TOO_LONG if more than `longest`
   neighbouring slots are taken. */
int string_slots(const uint8_t *text, int64_t size, const int32_t *offsets, int64_t V, const uint32_t *crc,
                 int64_t longest, int64_t T, int32_t *slots) {
    if (T <= V || (T & (T - 1))) return WRONG_INDEX;
    const uint64_t mask = (uint64_t)T - 1;
    for (int64_t k = 0; k < T; k++) slots[k] = -1;
    enum { AT_ONCE = 32 }; /* strings whose slots are fetched from memory while the others are hashed */
    uint64_t begins[AT_ONCE];
    for (int64_t first = 0; first < V; first += AT_ONCE) {
        const int64_t count = V - first < AT_ONCE ? V - first : AT_ONCE;
        for (int64_t i = 0; i < count; i++) {
            const int32_t *at = offsets + first + i;
            if (at[0] < 0 || at[1] < at[0] || at[1] > size) return WRONG_INDEX;
            const string s = {(uint8_t *)text + at[0], at[1] - at[0]}; /* only read */
            begins[i] = crc32_of(crc, s) & mask;
            __builtin_prefetch(slots + begins[i], 1);
        }
        for (int64_t i = 0; i < count; i++) {
            uint64_t slot = begins[i];
            for (int64_t steps = 1; slots[slot] >= 0; steps++, slot = (slot + 1) & mask)
                if (steps >= longest) return TOO_LONG;
            slots[slot] = (int32_t)(first + i);
        }
    }
    int64_t run = 0; /* the first slot follows the last */
    for (int64_t k = 0; k < T + longest && run <= longest; k++) run = slots[(uint64_t)k & mask] < 0 ? 0 : run + 1;
    return run > longest ? TOO_LONG : DONE;
}

INLINED void append(string *s, uint32_t code) { s->size += encode(code, s->bytes + s->size); }

INLINED uint32_t shape_of(const uint8_t *shapes, int32_t flags, uint32_t code) {
    const uint8_t letter = shapes[flags & IS_CATEGORY];
    if (letter == ITSELF || (letter == ITSELF_IF_ASCII && code < 128)) return code;
    return letter == ITSELF_IF_ASCII ? 's' : letter;
}

/* Fills in everything but `folded`; 0 if the word is not UTF-8. */
static int look_at(const character_tables *known, const uint8_t *shapes, looks *word) {
    const string form = word->form;
    int64_t capitals = 0, small = 0;
    int begins_capital = 0, has_letters = 0; /* begins: with the first letter that has a case */
    uint32_t code, last = 0;
    int run = 0;
    word->lower.size = word->normal.size = word->shape.size = word->has_digits = 0;
    for (int64_t at = 0; at < form.size;) {
        const int bytes = decode(form.bytes + at, form.bytes + form.size, &code);
        if (bytes == 0) return 0;
        const int32_t *record = record_of(known, code), flags = record[0];
        const int is_digit = (flags & IS_DECIMAL) != 0;
        uint32_t lower = (uint32_t)((int32_t)code + record[1]);
        if (code == CAPITAL_SIGMA && is_final_sigma(known, form.bytes, at, form.size)) lower = FINAL_SIGMA;
        append(&word->lower, lower);
        append(&word->normal, is_digit ? '0' : lower);
        if (code == DOTTED_I) append(&word->lower, DOT_ABOVE), append(&word->normal, DOT_ABOVE);
        word->has_digits |= is_digit;
        const int capital = (flags & (IS_UPPER | IS_TITLE)) != 0, has_case = capital || (flags & IS_LOWER);
        if (has_case && capitals + small == 0) begins_capital = capital;
        capitals += capital, small += has_case && !capital;
        has_letters |= flags & IS_ALPHA;
        const uint32_t letter = shape_of(shapes, flags, code);
        run = letter == last && at ? run + 1 : 1;
        if (run <= LONGEST_RUN) append(&word->shape, letter);
        last = letter;
        at += bytes;
    }
    word->caps = small == 0 && capitals == 0 ? (has_letters ? WITHOUT_CASE : NO_LETTERS)
                 : capitals == 0             ? LOWER
                 : small == 0                ? (capitals > 1 ? UPPER : SINGLE)
                 : !begins_capital           ? MIXED_LOWER
                                             : (capitals > 1 ? MIXED_UPPER : TITLE);
    return 1;
}

/* The first or last `length` characters, or the whole string. */
INLINED string first_characters(string s, int64_t length) {
    int64_t end = 0;
    for (; length > 0 && end < s.size; length--)
        do end++;
        while (end < s.size && is_continuation(s.bytes[end]));
    s.size = end;
    return s;
}

INLINED string last_characters(string s, int64_t length) {
    int64_t first = s.size;
    for (; length > 0 && first > 0; length--) first = character_before(s.bytes, 0, first);
    s.bytes += first;
    s.size -= first;
    return s;
}

/* A form in UTF-8 with a mark for every digit. */
static string with_mark(const character_tables *known, string s, int64_t mark, string folded) {
    uint32_t code = 0;
    folded.size = 0;
    for (int64_t at = 0; at < s.size;) {
        at += decode(s.bytes + at, s.bytes + s.size, &code);
        append(&folded, flags_of(known, code) & IS_DECIMAL ? (uint32_t)mark : code);
    }
    return folded;
}

static int64_t vector_of(const string_table *table, const word_rules *rules, const character_tables *known,
                         const looks *word) {
    int64_t id = id_of(table, rules->crc, word->form);
    if (id == 0) id = id_of(table, rules->crc, word->lower);
    if (id || rules->mark < 0 || !word->has_digits) return id;
    id = id_of(table, rules->crc, with_mark(known, word->form, rules->mark, word->folded));
    return id ? id : id_of(table, rules->crc, with_mark(known, word->lower, rules->mark, word->folded));
}

INLINED int64_t feature(const word_column *column, const word_rules *rules, const character_tables *known,
                        const looks *word) {
    switch (column->kind) {
        case WORD: return id_of(&column->table, rules->crc, word->normal);
        case SHAPE: return id_of(&column->table, rules->crc, word->shape);
        case PREFIX: return id_of(&column->table, rules->crc, first_characters(word->normal, column->length));
        case SUFFIX: return id_of(&column->table, rules->crc, last_characters(word->normal, column->length));
        case CAPS: return word->caps;
        case VECTOR: return vector_of(&column->table, rules, known, word);
    }
    return -1;
}

/* ids (U, F): of the word in each cell, one of each column. */
int word_features(const uint8_t *text, int64_t size, const int64_t *cells, int64_t U, const word_rules *rules,
                  const character_tables *known, int32_t *ids) {
    int64_t longest = 0;
    for (int64_t i = 0; i < U; i++) {
        if (cells[2 * i] < 0 || cells[2 * i + 1] < cells[2 * i] || cells[2 * i + 1] > size) return WRONG_INDEX;
        if (cells[2 * i + 1] - cells[2 * i] > longest) longest = cells[2 * i + 1] - cells[2 * i];
    }
    /* No character has a lower case of more than twice its bytes. */
    const int64_t room = 2 * longest + 8;
    uint8_t *memory = malloc((size_t)(4 * room));
    if (memory == NULL) return NO_MEMORY;
    looks word = {{NULL, 0}, {memory, 0}, {memory + room, 0}, {memory + 2 * room, 0}, {memory + 3 * room, 0}, 0, 0};
    int code = DONE;
    for (int64_t i = 0; i < U && code == DONE; i++) {
        word.form.bytes = (uint8_t *)text + cells[2 * i]; /* only read */
        word.form.size = cells[2 * i + 1] - cells[2 * i];
        if (!look_at(known, rules->shapes, &word)) code = NOT_UTF8;
        for (int64_t f = 0; f < rules->count && code == DONE; f++) {
            const int64_t id = feature(rules->columns + f, rules, known, &word);
            if (id < 0) code = WRONG_INDEX;
            ids[i * rules->count + f] = (int32_t)id;
        }
    }
    free(memory);
    return code;
}

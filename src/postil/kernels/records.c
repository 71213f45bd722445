/* Labelled texts as JSON Lines, from the bytes of the texts and what is answered about them.

   The bytes are those of Python's json.dumps(…, ensure_ascii=False), with U+0085, U+2028 and U+2029 as escapes. Offsets
   count characters of the record's text, UTF-16 units or bytes. */

#include <string.h>

#include "characters.h"
#include "decimals.h"
#include "kernels.h"

/* Where bytes go. `full`: there was no room for some of them. */
typedef struct {
    uint8_t *out;
    int64_t at, room;
    int full;
} sink;

INLINED void put(sink *to, const void *bytes, int64_t size) {
    if (size > to->room - to->at) {
        to->full = 1;
        return;
    }
    memcpy(to->out + to->at, bytes, (size_t)size);
    to->at += size;
}

#define PUT(to, literal) put(to, literal, (int64_t)sizeof literal - 1)

INLINED void put_number(sink *to, int64_t n) {
    uint8_t found[20];
    int at = 20;
    do found[--at] = (uint8_t)('0' + n % 10), n /= 10;
    while (n > 0);
    put(to, found + at, 20 - at);
}

INLINED void put_share(sink *to, double x) {
    uint8_t found[LONGEST_DECIMAL];
    put(to, found, write_short(x, found));
}

/* The bytes of the character at text[i:end] that has to be escaped; 0: it stands for itself. */
INLINED int escaped(const uint8_t *text, int64_t i, int64_t end) {
    const uint8_t c = text[i];
    if (c < 0x20 || c == '"' || c == '\\') return 1;
    if (c == 0xc2) return i + 1 < end && text[i + 1] == 0x85 ? 2 : 0;
    if (c != 0xe2) return 0;
    return i + 2 < end && text[i + 1] == 0x80 && (text[i + 2] & 0xfe) == 0xa8 ? 3 : 0;
}

INLINED void put_escape(sink *to, const uint8_t *c, int size) {
    static const uint8_t HEX[] = "0123456789abcdef", SHORT[] = "\b\t\n\f\r\"\\", LETTERS[] = "btnfr\"\\";
    uint8_t found[6] = {'\\', 'u', '0', '0', '0', '0'};
    const uint8_t *known = size == 1 ? memchr(SHORT, c[0], sizeof SHORT - 1) : NULL;
    if (known != NULL) {
        found[1] = LETTERS[known - SHORT];
        put(to, found, 2);
        return;
    }
    const unsigned code = size == 1 ? c[0] : size == 2 ? 0x85 : 0x2000u | (c[2] & 0x3f);
    for (int i = 0; i < 4; i++) found[5 - i] = HEX[code >> 4 * i & 15];
    put(to, found, 6);
}

/* The insides of a JSON string. */
INLINED void put_string(sink *to, const uint8_t *text, int64_t first, int64_t end) {
    int64_t i = first;
    while (i < end) {
        const int size = escaped(text, i, end);
        if (size == 0) {
            i++;
            continue;
        }
        put(to, text + first, i - first);
        put_escape(to, text + i, size);
        first = i += size;
    }
    put(to, text + first, end - first);
}

/* Units before a byte of the text: every byte counts one, except some continuations; every byte from `wide` on counts
   one more. Bytes are asked for in their order. */
typedef struct {
    const uint8_t *text;
    int64_t at, count;
    int wide, all;
} counter;

INLINED int64_t units_before(counter *c, int64_t byte) {
    for (; c->at < byte; c->at++)
        c->count += (c->all | !is_continuation(c->text[c->at])) + (c->text[c->at] >= c->wide);
    return c->count;
}

/* Word i is words[ends[i]:ends[i + 1]]. */
typedef struct {
    const uint8_t *words;
    const int64_t *ends;
} word_list;

INLINED void put_word(sink *to, word_list list, int64_t i) {
    put(to, list.words + list.ends[i], list.ends[i + 1] - list.ends[i]);
}

INLINED int are_words(const int64_t *ends, int64_t count, int64_t size) {
    if (ends[0] != 0 || ends[count] != size) return 0;
    for (int64_t i = 0; i < count; i++)
        if (ends[i + 1] < ends[i]) return 0;
    return 1;
}

INLINED int are_shares(const double *values, int64_t count) {
    int good = 1;
    for (int64_t i = 0; values != NULL && i < count; i++) good &= is_share(values[i]);
    return good;
}

/* Everything that a record is written from; see kernels.h. */
typedef struct {
    const uint8_t *text;
    const int64_t *cells, *labels;
    const double *figures;
    const int64_t *spans;
    const double *probabilities;
    word_list names;
} answers;

INLINED void put_place(sink *to, const answers *a, counter *c, int64_t first, int64_t end) {
    PUT(to, "\"start\": ");
    put_number(to, units_before(c, a->cells[2 * first]));
    PUT(to, ", \"end\": ");
    put_number(to, units_before(c, a->cells[2 * end - 1]));
}

INLINED void put_text_of(sink *to, const answers *a, int64_t first, int64_t end) {
    PUT(to, "\"text\": \"");
    put_string(to, a->text, a->cells[2 * first], a->cells[2 * end - 1]);
    PUT(to, "\"");
}

INLINED void put_spans(sink *to, const answers *a, counter c, int64_t first, int64_t end) {
    PUT(to, ", \"spans\": [");
    for (int64_t m = first; m < end && !to->full; m++) {
        const int64_t *span = a->spans + 3 * m;
        if (m > first) PUT(to, ", ");
        units_before(&c, a->cells[2 * span[0]]);
        counter ahead = c; /* the next span may begin inside of this one */
        PUT(to, "{");
        put_place(to, a, &ahead, span[0], span[1]);
        PUT(to, ", \"label\": ");
        put_word(to, a->names, span[2]);
        if (a->probabilities != NULL) {
            PUT(to, ", ");
            put_text_of(to, a, span[0], span[1]);
            PUT(to, ", \"probability\": ");
            put_share(to, a->probabilities[m]);
        }
        PUT(to, "}");
    }
    PUT(to, "]");
}

INLINED void put_tokens(sink *to, const answers *a, counter c, int64_t first, int64_t end) {
    PUT(to, ", \"tokens\": [");
    for (int64_t t = first; t < end && !to->full; t++) {
        if (t > first) PUT(to, ", ");
        PUT(to, "{");
        put_text_of(to, a, t, t + 1);
        PUT(to, ", ");
        put_place(to, a, &c, t, t + 1);
        PUT(to, ", \"id\": ");
        put_number(to, t - first);
        if (a->labels != NULL) {
            PUT(to, ", \"label\": ");
            put_word(to, a->names, a->labels[t]);
        }
        if (a->figures != NULL) {
            PUT(to, ", \"probability\": ");
            put_share(to, a->figures[t]);
        }
        PUT(to, "}");
    }
    PUT(to, "]");
}

static int is_valid(int64_t size, const int64_t *documents, const int64_t *tokens, int64_t D, const int64_t *cells,
                    int64_t N, const int64_t *labels, const int64_t *spans, int64_t M, int64_t names) {
    int64_t before = 0;
    for (int64_t d = 0; d < D; d++) {
        if (!(0 <= documents[2 * d] && documents[2 * d] <= documents[2 * d + 1] && documents[2 * d + 1] <= size)) return 0;
        before = documents[2 * d];
        for (int64_t t = tokens[d]; t < tokens[d + 1]; t++) {
            if (cells[2 * t] < before || cells[2 * t + 1] < cells[2 * t]) return 0;
            before = cells[2 * t + 1];
        }
        if (before > documents[2 * d + 1]) return 0;
    }
    for (int64_t t = 0; labels != NULL && t < N; t++)
        if (labels[t] < 0 || labels[t] >= names) return 0;
    before = 0;
    for (int64_t m = 0; m < M; m++) {
        const int64_t *span = spans + 3 * m;
        if (span[0] < before || span[1] <= span[0] || span[1] > N || span[2] < 0 || span[2] >= names) return 0;
        before = span[0];
    }
    return 1;
}

/* What a record consists of: its tokens come right after the text; layers among its fields list the tokens of labels; it
   is one of these layers, of which only the insides are written, each after a comma. */
enum { LISTS_TOKENS = 1, HAS_LAYERS = 2, IS_LAYER = 4 };

/* state: the next document, sentence and span, and the bytes written to `out` by this call. A record is written whole
   or, where there is NO_ROOM for it, not at all: the caller goes on with more room. */
int write_records(const uint8_t *text, int64_t size, const int64_t *documents, const int64_t *tokens, int64_t D,
                         const int64_t *cells, int64_t N, const int64_t *sentences, int64_t B, const int64_t *labels,
                         const double *figures, const int64_t *spans, const double *probabilities, int64_t M,
                         const double *whole, const uint8_t *names, int64_t names_size, const int64_t *name_ends,
                         int64_t name_count, const uint8_t *fields, int64_t fields_size, const int64_t *field_ends,
                         int64_t units, int form, uint8_t *out, int64_t room, int64_t *state) {
    const answers a = {text, cells, labels, figures, spans, probabilities, {names, name_ends}};
    const word_list of_user = {fields, field_ends};
    int64_t b = state[1], m = state[2];
    if (longest_sentence(tokens, D, N) < 0 || longest_sentence(sentences, B, N) < 0) return WRONG_OFFSETS;
    if (!are_words(name_ends, name_count, names_size) || !are_words(field_ends, D, fields_size)) return WRONG_INDEX;
    if (!is_valid(size, documents, tokens, D, cells, N, labels, spans, M, name_count)) return WRONG_INDEX;
    if (!are_shares(figures, N) || !are_shares(probabilities, M) || !are_shares(whole, B)) return WRONG_INDEX;
    if (units < 0 || units > 2) return WRONG_INDEX;
    if (state[0] < 0 || state[0] > D || b < 0 || b > B || m < 0 || m > M) return WRONG_INDEX;
    sink to = {out, 0, room, 0};
    state[3] = 0;
    for (int64_t d = state[0]; d < D; d++) {
        const int64_t first = tokens[d], end = tokens[d + 1], last_b = b, last_m = m;
        const counter c = {text, documents[2 * d], 0, units == 1 ? 0xf0 : 0x100, units == 2};
        while (b < B && sentences[b + 1] <= end) b++;
        while (m < M && spans[3 * m + 1] <= end) m++;
        if (m > last_m && spans[3 * last_m] < first) return WRONG_INDEX;
        if (!(form & IS_LAYER)) {
            PUT(&to, "{\"text\": \"");
            put_string(&to, text, documents[2 * d], documents[2 * d + 1]);
            PUT(&to, "\"");
        }
        if (form & LISTS_TOKENS || (form & IS_LAYER && labels != NULL)) put_tokens(&to, &a, c, first, end);
        if (labels == NULL) put_spans(&to, &a, c, last_m, m);
        if (labels != NULL && !(form & IS_LAYER)) {
            PUT(&to, ", \"labels\": [");
            for (int64_t t = first; t < end; t++) {
                if (t > first) PUT(&to, ", ");
                put_word(&to, a.names, labels[t]);
            }
            PUT(&to, "]");
        }
        put_word(&to, of_user, d);
        if (end > first && whole != NULL) {
            PUT(&to, ", \"labelling_probabilities\": [");
            for (int64_t k = last_b; k < b; k++) {
                if (k > last_b) PUT(&to, ", ");
                put_share(&to, whole[k]);
            }
            PUT(&to, "]");
        }
        if (end > first && labels != NULL && !form) put_tokens(&to, &a, c, first, end);
        if (!(form & IS_LAYER)) PUT(&to, "}");
        PUT(&to, "\n");
        if (to.full) return NO_ROOM;
        state[0] = d + 1, state[1] = b, state[2] = m, state[3] = to.at;
    }
    return DONE;
}

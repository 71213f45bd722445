/* Columns of tokens as bytes: which cells hold the tokens, which words those are, and rows of tokens with labels.

   One pass over the bytes each. Nothing becomes an object of Python but words that are met for the first time. */

#include <string.h>

#include "decimals.h"
#include "kernels.h"
#include "portable.h"

static const uint8_t MARK[] = "-DOCSTART-";
#define MARK_SIZE ((int64_t)sizeof MARK - 1)

/* Whether a cell, its first byte and the one behind its last, lies in a text of this size. */
INLINED int is_cell(const int64_t *cell, int64_t size) { return 0 <= cell[0] && cell[0] <= cell[1] && cell[1] <= size; }

INLINED int is_blank(uint8_t c) { return c == ' ' || c == '\t'; }

/* A line first:end of the text, and how rows are laid out. */
typedef struct {
    const uint8_t *text;
    int64_t first, end;
} line;

typedef struct {
    int tabs; /* one tab between two cells, else any number of spaces and tabs */
    int64_t width, token, label;
} layout;

INLINED int is_empty(line at) {
    while (at.first < at.end && is_blank(at.text[at.first])) at.first++;
    return at.first == at.end;
}

INLINED int is_mark(line at) {
    const int64_t size = at.end - at.first;
    return size >= MARK_SIZE && memcmp(at.text + at.first, MARK, MARK_SIZE) == 0 &&
           (size == MARK_SIZE || is_blank(at.text[at.first + MARK_SIZE]));
}

/* Whether the reader of lines may take it for a comment: "# …", "#begin …", "#end …", "#annotates …", but never one
   with a tab. Where this is too careful, the reader of lines finds out. */
INLINED int may_be_comment(line at, int tabs) {
    if (at.text[at.first] != '#' || memchr(at.text + at.first, '\t', (size_t)(at.end - at.first)) != NULL) return 0;
    const uint8_t next = at.first + 1 < at.end ? at.text[at.first + 1] : ' ';
    const int other = (next >= 'A' && next <= 'Z') || (next >= 'a' && next <= 'z') || (next >= '0' && next <= '9');
    return tabs || !other || next == 'a' || next == 'b' || next == 'e';
}

/* The token's cell of a row; 0 if the row is not as it should be. */
INLINED int between_tabs(line at, layout as, int64_t *cell) {
    int64_t column = 0, begin = at.first;
    for (int64_t i = at.first; i <= at.end; i++) {
        if (i < at.end && at.text[i] != '\t') continue;
        if (column == as.token) cell[0] = begin, cell[1] = i;
        if (column == as.label) {
            while (begin < i && at.text[begin] == ' ') begin++;
            if (begin == i) return 0;
        }
        column++;
        begin = i + 1;
    }
    return column == as.width;
}

INLINED int between_blanks(line at, layout as, int64_t *cell) {
    int64_t column = 0, i = at.first;
    for (;; column++) {
        while (i < at.end && is_blank(at.text[i])) i++;
        if (i == at.end) return column == as.width;
        const int64_t begin = i;
        while (i < at.end && !is_blank(at.text[i])) i++;
        if (column == as.token) cell[0] = begin, cell[1] = i;
    }
}

INLINED int holds_mark(const uint8_t *text, const int64_t *cell) {
    return cell[1] - cell[0] == MARK_SIZE && memcmp(text + cell[0], MARK, MARK_SIZE) == 0;
}

/* found: tokens, sentences, heads. Of all three arrays there are as many rows as the text has lines, or more. */
int token_cells(const uint8_t *text, int64_t size, int tabs, int64_t width, int64_t token, int64_t label,
                       int64_t lines, int64_t *cells, int64_t *offsets, int64_t *heads, int64_t *found) {
    const layout as = {tabs, width, token, label};
    int64_t N = 0, B = 0, H = 0, seen = 0, head = -1;
    int inside = 0; /* of a sentence */
    line at = {text, 0, 0};
    offsets[0] = 0;
    for (; at.first < size; at.first = at.end + 1) {
        const uint8_t *stop = memchr(text + at.first, '\n', (size_t)(size - at.first));
        at.end = stop == NULL ? size : stop - text;
        if (++seen > lines) return WRONG_INDEX;
        if (is_empty(at)) {
            if (inside) offsets[++B] = N;
            inside = 0;
        } else if (!inside && (is_mark(at) || may_be_comment(at, tabs))) {
            head = head < 0 ? at.first : head;
        } else {
            int64_t *cell = cells + 2 * N;
            if (is_mark(at) || !(tabs ? between_tabs(at, as, cell) : between_blanks(at, as, cell)) || holds_mark(text, cell))
                return NOT_PLAIN;
            if (head >= 0) {
                heads[3 * H] = B, heads[3 * H + 1] = head, heads[3 * H + 2] = at.first;
                H++, head = -1;
            }
            N++;
            inside = 1;
        }
    }
    if (head >= 0) return NOT_PLAIN;
    if (inside) offsets[++B] = N;
    found[0] = N, found[1] = B, found[2] = H;
    return DONE;
}

/* Lines of tokens between blanks, each line a sentence. `room`: rows of cells, and one less than rows of offsets. */
int line_cells(const uint8_t *text, int64_t size, int64_t room, int64_t *cells, int64_t *offsets, int64_t *found) {
    int64_t N = 0, B = 0, i = 0;
    offsets[0] = 0;
    while (i < size) {
        if (text[i] == '\n') {
            if (N > offsets[B]) offsets[++B] = N;
            i++;
        } else if (is_blank(text[i])) {
            i++;
        } else {
            if (N == room) return WRONG_INDEX;
            cells[2 * N] = i;
            while (i < size && text[i] != '\n' && !is_blank(text[i])) i++;
            cells[2 * N + 1] = i;
            if (holds_mark(text, cells + 2 * N)) return NOT_PLAIN;
            N++;
        }
    }
    if (N > offsets[B]) offsets[++B] = N;
    found[0] = N, found[1] = B;
    return DONE;
}

/* labels (N, K): a column for each task. Label i is names[ends[i]:ends[i + 1]]. figures (N, K): a column of probabilities
   before each label; NULL: none. places (B + 1,): where the sentences begin in `out`, and the end. */
int write_rows(const uint8_t *text, int64_t size, const int64_t *cells, int64_t N, const int64_t *offsets,
                      int64_t sentences, const int64_t *labels, int64_t K, const double *figures, const uint8_t *names,
                      int64_t names_size, const int64_t *ends, int64_t label_count, uint8_t *out, int64_t room,
                      int64_t *places) {
    int64_t at = 0;
    if (longest_sentence(offsets, sentences, N) < 0) return WRONG_OFFSETS;
    if (ends[0] != 0 || ends[label_count] != names_size) return WRONG_INDEX;
    for (int64_t i = 0; i < label_count; i++)
        if (ends[i + 1] < ends[i]) return WRONG_INDEX;
    for (int64_t b = 0; b < sentences; b++) {
        places[b] = at;
        for (int64_t t = offsets[b]; t < offsets[b + 1]; t++) {
            if (!is_cell(cells + 2 * t, size)) return WRONG_INDEX;
            const int64_t first = cells[2 * t], length = cells[2 * t + 1] - first;
            if (length > room - at) return WRONG_INDEX;
            memcpy(out + at, text + first, (size_t)length);
            at += length;
            for (int64_t i = t * K; i < (t + 1) * K; i++) {
                const int64_t label = labels[i];
                if (label < 0 || label >= label_count) return WRONG_INDEX;
                const int64_t name = ends[label], name_length = ends[label + 1] - name;
                if (name_length + 3 + LONGEST_DECIMAL * (figures != NULL) > room - at) return WRONG_INDEX;
                out[at++] = '\t';
                if (figures != NULL) {
                    if (!is_share(figures[i])) return WRONG_INDEX;
                    at += write_fixed(figures[i], out + at);
                    out[at++] = '\t';
                }
                memcpy(out + at, names + name, (size_t)name_length);
                at += name_length;
            }
            if (at >= room) return WRONG_INDEX;
            out[at++] = '\n';
        }
        if (at >= room) return WRONG_INDEX;
        out[at++] = '\n';
    }
    places[sentences] = at;
    return DONE;
}

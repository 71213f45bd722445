/* Items of feature dicts -> scores and labels, with a model file of CRFsuite that is read where it lies in memory.

   The file: see integrations/crfsuite/model.py. Names of attributes are found through the file's own hash tables.

   The items: what Python's marshal.dumps(items, 4) writes of a list or tuple of items. Each object is a byte for its type,
   then its content:

     z Z   n (1 byte), ASCII       a A   n (4 bytes), ASCII      u t   n (4 bytes), UTF-8
     T F   True, False             i     32 bits                 g     a double
     [ (   n (4 bytes), objects    )     n (1 byte), objects     {     key, value, key, value, …, 0
     r     the object with this number (4 bytes) among those whose type had the bit 0x80

   An item becomes attributes as in features/named.py: "key:text" with value 1, "key" with the value of a number, and
   names below keys of nested dicts and lists. Whatever else there is gives NOT_PLAIN: then Python does the work. */

#include <math.h>
#include <string.h>

#include "forward_backward.h"
#include "kernels.h"
#include "portable.h"

enum { HEADER_SIZE = 48, FEATURE_SIZE = 20, TABLES_AT = 24, TABLES = 256, RECORDS_AT = TABLES_AT + 8 * TABLES };
enum { MOST_PROBES = 1000, MOST_NAME = 4095, MOST_DEPTH = 32, IS_NUMBERED = 0x80 };
static const double LARGEST_WEIGHT = 1e100; /* sums of weights must stay finite */

/* Files and marshalled objects are little-endian; other machines leave the work to Python. */
INLINED int is_little_endian(void) {
    const uint32_t one = 1;
    return *(const uint8_t *)&one;
}

INLINED uint32_t u32(const uint8_t *at) {
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

INLINED double f64(const uint8_t *at) {
    double value;
    memcpy(&value, at, sizeof value);
    return value;
}

INLINED uint32_t rotated(uint32_t x, int by) { return x << by | x >> (32 - by); }

/* Bob Jenkins's lookup3 of `size` > 0 bytes, behind which there are zeros up to a multiple of 12. */
INLINED uint32_t hash_of(const uint8_t *key, int64_t size) {
    uint32_t a = 0xdeadbeef + (uint32_t)size, b = a, c = a;
    for (; size > 12; size -= 12, key += 12) {
        a += u32(key), b += u32(key + 4), c += u32(key + 8);
        a -= c, a ^= rotated(c, 4), c += b;
        b -= a, b ^= rotated(a, 6), a += c;
        c -= b, c ^= rotated(b, 8), b += a;
        a -= c, a ^= rotated(c, 16), c += b;
        b -= a, b ^= rotated(a, 19), a += c;
        c -= b, c ^= rotated(b, 4), b += a;
    }
    a += u32(key), b += u32(key + 4), c += u32(key + 8);
    c ^= b, c -= rotated(b, 14);
    a ^= c, a -= rotated(c, 11);
    b ^= a, b -= rotated(a, 25);
    c ^= b, c -= rotated(b, 16);
    a ^= c, a -= rotated(c, 4);
    b ^= a, b -= rotated(a, 14);
    c ^= b, c -= rotated(b, 24);
    return c;
}

/* The number of a name, or -1. `name` has room for 12 bytes behind it. */
static int64_t number_of(const crf_names *names, uint8_t *name, int64_t size) {
    memset(name + size, 0, 12);
    const uint32_t hashed = hash_of(name, size + 1);
    const uint8_t *table = names->chunk + TABLES_AT + 8 * (hashed % TABLES);
    const int64_t at = u32(table), count = u32(table + 4);
    if (count == 0) return -1;
    int64_t place = (hashed >> 8) % count;
    for (int64_t probe = 0; probe < count && probe < MOST_PROBES; probe++) {
        const uint8_t *bucket = names->chunk + at + 8 * place;
        const int64_t record = u32(bucket + 4);
        if (record == 0) return -1;
        if (u32(bucket) == hashed && record + 8 <= names->size) {
            const int64_t number = u32(names->chunk + record);
            if (number < names->count && u32(names->places + 4 * number) == record &&
                u32(names->chunk + record + 4) == size + 1 && memcmp(names->chunk + record + 8, name, (size_t)size) == 0)
                return number;
        }
        if (++place == count) place = 0;
    }
    return -1;
}

/* Names that were written one after the other, each with an end; hash tables that lie in the file. */
static int open_names(const uint8_t *content, int64_t size, int64_t begin, int64_t count, crf_names *names) {
    if (begin + RECORDS_AT > size) return NOT_PLAIN;
    const uint8_t *chunk = content + begin;
    const int64_t length = u32(chunk + 4), room = u32(chunk + 16), backward = u32(chunk + 20);
    if (memcmp(chunk, "CQDB", 4) != 0 || u32(chunk + 12) != 0x62445371) return NOT_PLAIN;
    if (length < RECORDS_AT || length > size - begin || count > room || backward + 4 * count > length) return NOT_PLAIN;
    for (int64_t t = 0; t < TABLES; t++) {
        const uint8_t *table = chunk + TABLES_AT + 8 * t;
        if ((int64_t)u32(table) + 8 * (int64_t)u32(table + 4) > length) return NOT_PLAIN;
    }
    int64_t record = count > 0 ? u32(chunk + backward) : RECORDS_AT;
    if (record < RECORDS_AT) return NOT_PLAIN;
    for (int64_t i = 0; i < count; i++) {
        if (u32(chunk + backward + 4 * i) != record || record + 8 > length || u32(chunk + record) != i) return NOT_PLAIN;
        const int64_t next = record + 8 + u32(chunk + record + 4);
        if (next == record + 8 || next > length || chunk[next - 1] != 0) return NOT_PLAIN;
        record = next;
    }
    *names = (crf_names){chunk, chunk + backward, length, count};
    return DONE;
}

/* Check a file and fill in where its parts are; `firsts` (A + 1,) and `transitions` (L, L), zeros, are the caller's.
   NOT_PLAIN: it is damaged, or written in another order than CRFsuite's. */
int open_crf(const uint8_t *content, int64_t size, int64_t A, int64_t L, int32_t *firsts, double *transitions,
             crf_file *file) {
    uint8_t name[MOST_NAME + 13];
    crf_names labels;
    if (!is_little_endian() || size < HEADER_SIZE || u32(content + 4) > size) return NOT_PLAIN;
    if (u32(content + 20) != L || u32(content + 24) != A) return NOT_PLAIN;
    const int64_t features_at = u32(content + 28);
    if (open_names(content, size, u32(content + 32), L, &labels) != DONE) return NOT_PLAIN;
    if (open_names(content, size, u32(content + 36), A, &file->names) != DONE) return NOT_PLAIN;
    for (int64_t j = 0; j < L; j++) { /* each is found: no two are the same */
        const uint8_t *record = labels.chunk + u32(labels.places + 4 * j);
        const int64_t length = u32(record + 4) - 1;
        if (length > MOST_NAME) return NOT_PLAIN;
        memcpy(name, record + 8, (size_t)length);
        if (number_of(&labels, name, length) != j) return NOT_PLAIN;
    }
    if (features_at + 12 > size || memcmp(content + features_at, "FEAT", 4) != 0) return NOT_PLAIN;
    const int64_t K = u32(content + features_at + 8);
    if (K > INT32_MAX || features_at + 12 + FEATURE_SIZE * K > size) return NOT_PLAIN;
    file->features = content + features_at + 12, file->firsts = firsts, file->transitions = transitions;
    file->A = A, file->L = L;
    int64_t last = -1, known = 0; /* attributes whose first feature is known */
    for (int64_t k = 0; k < K; k++) {
        const uint8_t *feature = file->features + FEATURE_SIZE * k;
        const uint32_t type = u32(feature);
        const int64_t source = u32(feature + 4), label = u32(feature + 8);
        const int64_t place = (type == 0 ? source : A + source) * L + label;
        const double weight = f64(feature + 12);
        if (type > 1 || source >= (type == 0 ? A : L) || label >= L || place <= last) return NOT_PLAIN;
        if (!(fabs(weight) <= LARGEST_WEIGHT)) return NOT_PLAIN;
        last = place;
        if (type == 1) transitions[source * L + label] = weight;
        for (const int64_t end = type == 0 ? source : A; known <= end; known++) firsts[known] = (int32_t)k;
    }
    for (; known <= A; known++) firsts[known] = (int32_t)K;
    return DONE;
}

typedef struct {
    const uint8_t *text, *end, *at;
    uint32_t *numbered;     /* where the objects begin that have a number */
    int64_t count, steps;   /* of them; and attributes and references that may still come: a dict may contain itself */
    int again;              /* above 0: these objects have been met before */
    const crf_file *file;   /* NULL: the items are only checked */
    double *row;
    uint8_t name[MOST_NAME + 13];
} reader;

/* The type of the next object, -1 at the end; of one that is referred to, which is then read: *back is where to go on. */
INLINED int begin_object(reader *r, const uint8_t **back) {
    *back = NULL;
    if (r->at == r->end) return -1;
    const uint8_t type = *r->at++;
    if (type & IS_NUMBERED) {
        if (!r->again) r->numbered[r->count++] = (uint32_t)(r->at - 1 - r->text);
    } else if (type == 'r') {
        if (r->end - r->at < 4 || (int64_t)u32(r->at) >= r->count || r->steps-- == 0) return -1;
        *back = r->at + 4;
        r->at = r->text + r->numbered[u32(r->at)];
        r->again++;
        return *r->at++ & ~IS_NUMBERED;
    }
    return type & ~IS_NUMBERED;
}

INLINED void end_object(reader *r, const uint8_t *back) {
    if (back != NULL) r->at = back, r->again--;
}

INLINED int is_text(int type) {
    return type == 'z' || type == 'Z' || type == 'u' || type == 't' || type == 'a' || type == 'A';
}

/* The number behind a type that takes `width` bytes, -1 at the end. */
INLINED int64_t number_behind(reader *r, int width) {
    if (r->end - r->at < width) return -1;
    const int64_t number = width == 1 ? *r->at : u32(r->at);
    r->at += width;
    return number;
}

/* Put a text behind the first `size` bytes of the name: the new size, or -1 for a text that Python should see. */
INLINED int64_t with_text(reader *r, int type, int64_t size) {
    const int64_t n = number_behind(r, type == 'z' || type == 'Z' ? 1 : 4);
    if (n < 0 || n > r->end - r->at || size + n > MOST_NAME) return -1;
    memcpy(r->name + size, r->at, (size_t)n);
    if (type == 'u' || type == 't') /* halves of characters, which Python writes in another way */
        for (const uint8_t *p = r->at, *end = p + n; (p = memchr(p, 0xed, (size_t)(end - p))) != NULL; p++)
            if (end - p > 1 && p[1] >= 0xa0) return -1;
    r->at += n;
    return size + n;
}

/* Add what the attribute whose name is complete weighs. */
INLINED int add_attribute(reader *r, int64_t size, double value) {
    if (r->steps-- == 0 || !isfinite(value)) return NOT_PLAIN;
    if (r->file == NULL || value == 0.0) return DONE;
    const uint8_t *zero = memchr(r->name, 0, (size_t)size); /* a name ends there for C */
    const int64_t a = number_of(&r->file->names, r->name, zero == NULL ? size : zero - r->name);
    if (a < 0) return DONE;
    const uint8_t *feature = r->file->features + FEATURE_SIZE * r->file->firsts[a];
    for (int64_t k = r->file->firsts[a + 1] - r->file->firsts[a]; k > 0; k--, feature += FEATURE_SIZE)
        r->row[u32(feature + 8)] += value * f64(feature + 12);
    return DONE;
}

/* The n names of a list, below the first `size` bytes of the name. */
static int read_names(reader *r, int64_t n, int64_t size) {
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *back;
        const int type = begin_object(r, &back);
        const int64_t whole = is_text(type) ? with_text(r, type, size) : -1;
        if (whole < 0 || add_attribute(r, whole, 1.0) != DONE) return NOT_PLAIN;
        end_object(r, back);
    }
    return n < 0 ? NOT_PLAIN : DONE;
}

/* The pairs of a dict, below the first `size` bytes of the name. */
static int read_pairs(reader *r, int64_t size, int depth) {
    const uint8_t *back;
    if (depth == MOST_DEPTH) return NOT_PLAIN;
    for (int type; (type = begin_object(r, &back)) != '0'; end_object(r, back)) {
        const int64_t key = is_text(type) ? with_text(r, type, size) : -1;
        if (key < 0 || key == MOST_NAME) return NOT_PLAIN;
        end_object(r, back);
        type = begin_object(r, &back);
        int code = DONE;
        r->name[key] = ':';
        if (is_text(type)) {
            const int64_t whole = with_text(r, type, key + 1);
            code = whole < 0 ? NOT_PLAIN : add_attribute(r, whole, 1.0);
        } else if (type == 'T') {
            code = add_attribute(r, key, 1.0);
        } else if (type == 'i' && r->end - r->at >= 4) {
            code = add_attribute(r, key, (int32_t)u32(r->at)), r->at += 4;
        } else if (type == 'g' && r->end - r->at >= 8) {
            code = add_attribute(r, key, f64(r->at)), r->at += 8;
        } else if (type == '{') {
            code = read_pairs(r, key + 1, depth + 1);
        } else if (type == '[') {
            code = read_names(r, number_behind(r, 4), key + 1);
        } else if (type != 'F') {
            code = NOT_PLAIN;
        }
        if (code != DONE) return code;
    }
    return DONE;
}

/* Scores (T, L) of T items, and their most probable labels (T,). Without a file the items are only checked. */
int score_items(const crf_file *file, const uint8_t *items, int64_t size, int64_t T, double *scores, int64_t *path) {
    const int64_t L = file == NULL ? 0 : file->L;
    const uint8_t *back;
    if (!is_little_endian() || size > INT32_MAX) return NOT_PLAIN;
    reader r = {.text = items, .end = items + size, .at = items, .steps = 1000 + 100 * size, .file = file};
    r.numbered = malloc((size_t)(size + 1) * sizeof *r.numbered);
    if (r.numbered == NULL) return NO_MEMORY;
    if (T * L > 0) memset(scores, 0, (size_t)(T * L) * sizeof *scores);
    int type = begin_object(&r, &back), code = DONE;
    if ((type != '[' && type != '(' && type != ')') || number_behind(&r, type == ')' ? 1 : 4) != T) code = NOT_PLAIN;
    for (int64_t t = 0; t < T && code == DONE; t++) {
        r.row = scores + t * L;
        type = begin_object(&r, &back);
        if (type == '{')
            code = read_pairs(&r, 0, 0);
        else if (type == '[' || type == '(' || type == ')')
            code = read_names(&r, number_behind(&r, type == ')' ? 1 : 4), 0);
        else
            code = NOT_PLAIN;
        end_object(&r, back);
    }
    free(r.numbered);
    if (code != DONE || file == NULL || T == 0) return code;
    const int64_t offsets[2] = {0, T};
    double best;
    return viterbi(scores, 0, offsets, T, 1, L, file->transitions, file->edge, file->edge, path, &best);
}

/* Marginals (T, L) and log Z under scores that score_items gave; NOT_FINITE: log space is needed. */
int item_marginals(const crf_file *file, const double *scores, int64_t T, double *marginals, double *log_partition) {
    const int64_t offsets[2] = {0, T};
    Chain c;
    void *memory;
    const int code = begin(&c, offsets, T, 1, file->L, file->transitions, file->edge, file->edge, &memory);
    if (code != DONE) return code;
    const int is_exact = solve(&c, scores, 0, 0, T, log_partition);
    if (is_exact) chain_marginals(&c, T, marginals);
    free(memory);
    return is_exact ? DONE : NOT_FINITE;
}

/* The score of a path; its labels are below L. */
double item_path_score(const crf_file *file, const double *scores, int64_t T, const int64_t *path) {
    double sum = 0.0;
    for (int64_t t = 0; t < T; t++) {
        sum += scores[t * file->L + path[t]];
        if (t > 0) sum += file->transitions[path[t - 1] * file->L + path[t]];
    }
    return sum;
}

/* ------------------------------------------------------------------------------------------------ exported models

   The file is flat.py's: a header, a directory, arrays. Nothing of it is believed: every offset and size, every index
   that a kernel would follow, and every instruction of the programs is checked before the model is used. */

enum { HEADER_SIZE = 64, ROW_SIZE = 96, NAME_SIZE = 48, FORMAT_VERSION = 1 };
enum { U8 = 1, U16, I32, U32, I64, U64, F16, F32, F64, LAST_TYPE = F64 };
enum { TAGGER, TREE_CLASSIFIER };
enum { LINEAR, ACTIVATE, NORMALISE, RESIDUAL };
enum { TANH = HARDTANH + 1, SIGMOID, SOFTSIGN, LEAKY_RELU, LAST_FUNCTION = LEAKY_RELU };
enum { MOST_PARTS = 10000, MOST_WIDTH = 1 << 24, MOST_LETTERS = 24, VECTOR_OF_LABELS = 16 };
#define LAYER_NORM_EPSILON 1e-5f

static const int64_t ITEM_SIZE[] = {0, 1, 2, 4, 4, 8, 8, 2, 4, 8};

/* Rows that are sums of pieces: byte m of a row of `codes` (rows, bytes) says which of pieces[m] (PIECES, width). */
enum { PIECES = 256 };
typedef struct {
    const uint8_t *codes;
    const float *pieces;
    int64_t rows, bytes;
} coded_rows;

/* A table (rows, width) of floats, or of floats of half precision, or of codes: its first rows, then the rest. */
typedef struct {
    const float *values;
    const uint16_t *halves;
    coded_rows first, rest;
    int64_t rows, width;
} number_table;

/* A linear map X W + b of rows: W (inputs, outputs). */
typedef struct {
    const float *W, *b;
    int64_t inputs, outputs;
} linear_map;

typedef struct {
    int64_t kind, function;
    linear_map map;
    const float *gain, *bias, *padding;
    int64_t size, dilation; /* of the window of a residual convolution */
} network_step;

typedef struct {
    number_table *tables;
    const float *letters, *letter_bias; /* (1 + alphabet, 3 * filters), (filters,) */
    linear_map first;
    const float *padding;
    network_step *steps;
} network_member;

typedef struct {
    word_column column;
    word_rules rules;
    const uint16_t *codes; /* (words, columns) */
    int64_t columns;
} word_lexicon;

/* How words are normalised before they are looked up: see folds.c. */
typedef struct {
    const int32_t *table, *decomposed, *classes, *composed; /* (count, 4), (…, 5), (…, 2), (…, 3), by their first numbers */
    int64_t count, decomposed_count, class_count, composed_count;
    uint8_t ascii[128]; /* whether the table changes it */
} word_folds;

/* Rules that vote for entities: see votes.c. */
enum { OF_LIST, OF_PATTERN, RULE = 6, ELEMENT = 8, LONGEST_PATTERN = 60, MOST_ELEMENTS = 30 };
enum { OF_WORDS, OF_ANY_KIND, OF_CAPITAL, OF_UPPER, OF_LOWER, OF_TITLE, OF_LETTERS, OF_NUMBER, OF_PUNCTUATION };
typedef struct {
    int64_t count;
    const int64_t *rules;    /* (count, RULE): list or pattern, map, first name or element, their number, entity from, to */
    const int64_t *elements; /* (…, ELEMENT): kind of word, least, most, map or -1, words and parts with their numbers */
    const double *lifts;     /* (4 count, L) what a vote says about an only, first, middle or last token */
    const uint8_t *text, *spellings;
    const int64_t *offsets, *spelt, *maps; /* of names in the text; of spellings; (…, 2) first character and number */
    const int32_t *codes;                  /* characters of the maps, those of each in order */
} vote_rules;

typedef struct {
    const char *name, **labels, **class_names;
    int64_t L, C, spellings, maps;
    int is_iob1;
    const double *transitions, *start, *end;
    chain_question q;
    linear_map *outputs; /* (members, maps), each with `wide` columns: L and some zeros */
    int64_t wide;
    vote_rules votes;
} task_head;

/* How raw text is cut: by rules, into characters, or by a tagger of characters inside of the model, see cuts.c. */
enum { BY_RULES, INTO_CHARACTERS, BY_TAGGER };
enum { GOES_ON_INSIDE, ENDS_TOKEN, ENDS_SENTENCE, ENDS_WORD, CUT_LABELS }; /* the last label: in some taggers */
enum { ENDS_SURELY = ENDS_WORD }; /* a sentence, by rules; a word of a multiword token is a token of this engine */
enum { LABELLED = 2000, AROUND = 40, LABELLED_ROOM = LABELLED + 2 * AROUND }; /* characters at once, with their context */
enum { CATEGORY = 31, CATEGORIES = 32, FIRST_LETTER = 5, FIRST_MARK = 10, LAST_MARK = 12, LAST_NUMBER = 15, OTHER_SYMBOL = 26 }; /* as in characters.py */
typedef struct {
    int64_t how, reach; /* reach: characters that are a word of the tagger */
    postil_model *tagger, *ends; /* of characters, and of tokens: those that end sentences; NULL: the first says it */
    uint8_t meaning[2][CUT_LABELS]; /* of their labels */
    const uint8_t *crossed;      /* (CATEGORIES, CATEGORIES) with a space between them in one token; NULL: any */
    pattern_program address;
    int32_t entry;
} learned_cuts;

/* What a tree classifier has instead of a window: see trees.c. */
typedef struct {
    int64_t how, D, H, L, function, is_right;
    number_table words;
    linear_map leaves, phrases, output;
    const float *tensor;    /* (2 H, 2 H, H) */
    const uint8_t *at_root; /* (L,) */
} tree_network;

struct postil_model {
    void *content;     /* of the file, if it is ours */
    void **allocated;  /* what else is to be freed: each block begins with a pointer to the next */
    const uint8_t *bytes;
    size_t size;
    const engine_section *directory;
    int64_t sections;
    int is_trusted; /* Python's own arrays, not a file that anybody may have written */
    uint8_t *touched; /* blocks of the vectors that rows were read from, for Python to check; NULL: it does not ask */
    int code;       /* the first thing that was wrong */

    int64_t kind;
    int is_cutter; /* the tagger inside of another model, whose characters it shares; it has no rules */
    learned_cuts cuts;
    const char *about;
    character_tables known;
    token_rules tokens;
    sentence_rules sentences;
    uint32_t crc[256];
    string_table *vocabularies;
    word_column *columns;
    word_rules words;
    int64_t vocabulary_count, has_vectors, features, lexicon_count, alphabet, filters;
    word_lexicon *lexicons;
    word_folds *folds; /* NULL: words are looked up as they are */
    const int32_t *letter_codes, *letter_ids;
    number_table vectors;
    int64_t members, K, H, function, is_mean, step_count, reach, D, widest, widest_windows;
    network_member *network;
    int64_t head_count, all_labels, most_labels, voted_labels; /* of heads with rules, the most; 0 without any */
    task_head *heads;
    tree_network tree;
};

const char *postil_error(int code) {
    switch (code) {
        case POSTIL_OK: return "no error";
        case POSTIL_NO_MEMORY: return "no memory";
        case POSTIL_NO_FILE: return "the file cannot be read";
        case POSTIL_NOT_A_MODEL: return "the file is not an exported model";
        case POSTIL_OTHER_VERSION: return "the model is of another version of the format, or this machine is big-endian";
        case POSTIL_DAMAGED: return "the model is damaged";
        case POSTIL_NOT_UTF8: return "the text is not UTF-8";
        case POSTIL_TOO_LONG: return "the text is too long for the workspace";
        case POSTIL_TOO_HARD: return "a chunk of text without spaces is too hard to cut into tokens";
        case POSTIL_NOT_FINITE: return "the model's scores are not finite";
        case POSTIL_WRONG_ARGUMENT: return "wrong argument";
        case POSTIL_WRONG_KIND: return "the model is of another kind: a tree classifier labels trees, a tagger words";
        case POSTIL_NOT_A_TREE: return "the text is not a tree in brackets";
    }
    return "unknown error";
}

/* ------------------------------------------------------------------------------------------------ sections */

/* Numbers of the file are little-endian, and so is the machine. */
static uint32_t u32_at(const uint8_t *at) {
    uint32_t x;
    memcpy(&x, at, sizeof x);
    return x;
}

static uint64_t u64_at(const uint8_t *at) {
    uint64_t x;
    memcpy(&x, at, sizeof x);
    return x;
}

static void fail(postil_model *model, int code) {
    if (model->code == POSTIL_OK) model->code = code;
}

static void require(postil_model *model, int holds) {
    if (!holds) fail(model, POSTIL_DAMAGED);
}

/* Zeros for `count` items, freed with the model. Never NULL but where memory is short: the caller goes on then with
   nothing but checks of model->code. */
static void *allocated(postil_model *model, int64_t count, size_t size) {
    void **memory = NULL;
    if (count >= 0 && count <= MOST_WIDTH) memory = calloc(1, 16 + (size_t)(count + 1) * size);
    if (memory == NULL) {
        fail(model, POSTIL_NO_MEMORY);
        return NULL;
    }
    *memory = model->allocated;
    model->allocated = memory;
    return (uint8_t *)memory + 16;
}

static uint32_t checksum(const uint32_t *crc, const uint8_t *bytes, size_t size) {
    uint32_t h = 0xffffffffu;
    for (size_t i = 0; i < size; i++) h = crc[(h ^ bytes[i]) & 0xff] ^ h >> 8;
    return ~h;
}

static void fill_crc(uint32_t *crc) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t x = i;
        for (int k = 0; k < 8; k++) x = x & 1 ? x >> 1 ^ 0xedb88320u : x >> 1;
        crc[i] = x;
    }
}

static const uint8_t *directory_row(const postil_model *model, uint32_t i) {
    return model->bytes + HEADER_SIZE + (size_t)i * ROW_SIZE;
}

/* Every section lies in the file, where it may be read as what it says. */
static int read_section(const postil_model *model, const uint8_t *row, engine_section *section) {
    const uint32_t type = u32_at(row + NAME_SIZE), dimensions = u32_at(row + NAME_SIZE + 4);
    const uint64_t offset = u64_at(row + 80), size = u64_at(row + 88);
    uint64_t items = 1;
    if (row[NAME_SIZE - 1] != 0 || type < 1 || type > LAST_TYPE || dimensions < 1 || dimensions > 3) return 0;
    if (offset % 64 || offset > model->size || size > model->size - offset) return 0;
    for (uint32_t d = 0; d < 3; d++) {
        const uint64_t length = u64_at(row + 56 + 8 * d);
        if (length > model->size || (d >= dimensions && length != 1)) return 0;
        items = length && items > model->size / length ? model->size + 1 : items * length;
    }
    section->name = (const char *)row;
    section->values = model->bytes + offset;
    section->type = type;
    section->rows = (int64_t)u64_at(row + 56);
    section->columns = (int64_t)(u64_at(row + 64) * u64_at(row + 72));
    section->count = (int64_t)items;
    return items <= model->size && items * (uint64_t)ITEM_SIZE[type] == size;
}

static int find_section(const postil_model *model, const char *name, engine_section *found) {
    for (int64_t i = 0; i < model->sections; i++) {
        if (strcmp(model->directory[i].name, name) != 0) continue;
        *found = model->directory[i];
        return 1;
    }
    return 0;
}

/* The name of a section, such as member0/step2/W. */
typedef struct {
    char text[NAME_SIZE];
} section_name;

static section_name named(const char *prefix, const char *format, int64_t number) {
    section_name name;
    const int used = snprintf(name.text, sizeof name.text, "%s", prefix);
    if (used >= 0 && (size_t)used < sizeof name.text)
        snprintf(name.text + used, sizeof name.text - (size_t)used, format, (int)number);
    return name;
}

static section_name joined(const char *prefix, const char *rest) {
    section_name name;
    const size_t first = strlen(prefix), second = strlen(rest);
    memset(&name, 0, sizeof name);
    if (first + second < sizeof name.text) {
        memcpy(name.text, prefix, first);
        memcpy(name.text + first, rest, second);
    }
    return name;
}

/* A section that must be there, (rows, columns); a negative size is any. NULL, and the model is damaged, if not. */
static const void *wanted(postil_model *model, const char *name, int64_t type, int64_t rows, int64_t columns) {
    engine_section found;
    if (find_section(model, name, &found) && found.type == type && (rows < 0 || found.rows == rows) &&
        (columns < 0 || found.columns == columns))
        return found.values;
    fail(model, POSTIL_DAMAGED);
    return NULL;
}

static int64_t rows_of(const postil_model *model, const char *name) {
    engine_section found;
    return find_section(model, name, &found) ? found.rows : 0;
}

/* A number of a section of int64, which must lie between two others. */
static int64_t whole_number(postil_model *model, const char *name, int64_t place, int64_t low, int64_t high) {
    engine_section found;
    if (find_section(model, name, &found) && found.type == I64 && place < found.count) {
        const int64_t value = ((const int64_t *)found.values)[place];
        if (value >= low && value <= high) return value;
    }
    fail(model, POSTIL_DAMAGED);
    return low;
}

static const float *wanted_floats(postil_model *model, const char *name, int64_t rows, int64_t columns) {
    const float *values = wanted(model, name, F32, rows, columns);
    engine_section found;
    if (values == NULL || model->is_trusted || !find_section(model, name, &found)) return values;
    for (int64_t i = 0; i < found.count; i++) require(model, isfinite(values[i]));
    return values;
}

/* -inf is a step that is impossible. */
static const double *wanted_doubles(postil_model *model, const char *name, int64_t rows, int64_t columns) {
    const double *values = wanted(model, name, F64, rows, columns);
    for (int64_t i = 0; values != NULL && i < rows * columns; i++)
        require(model, values[i] == -INFINITY || (values[i] >= -1e30 && values[i] <= 1e30));
    return values;
}

static int has_section(const postil_model *model, const char *name) {
    engine_section found;
    return find_section(model, name, &found);
}

static number_table wanted_table(postil_model *model, const char *name) {
    number_table table;
    engine_section found;
    memset(&table, 0, sizeof table);
    if (!find_section(model, name, &found) || (found.type != F32 && found.type != F16) || found.rows < 1 ||
        found.columns < 1 || found.columns > MOST_WIDTH) {
        fail(model, POSTIL_DAMAGED);
        return table;
    }
    table.rows = found.rows, table.width = found.columns;
    if (found.type == F32) {
        table.values = wanted_floats(model, name, -1, -1);
    } else {
        table.halves = found.values;
        for (int64_t i = 0; i < found.count; i++) require(model, (table.halves[i] & 0x7c00) != 0x7c00);
    }
    return table;
}

static coded_rows wanted_coded_rows(postil_model *model, const char *prefix, int64_t width) {
    const section_name codes = joined(prefix, "codes"), pieces = joined(prefix, "pieces");
    coded_rows rows;
    engine_section found;
    memset(&rows, 0, sizeof rows);
    rows.codes = wanted(model, codes.text, U8, -1, -1);
    if (find_section(model, codes.text, &found)) rows.rows = found.rows, rows.bytes = found.columns;
    require(model, rows.rows >= 1 && rows.bytes >= 1 && rows.bytes <= width);
    rows.pieces = wanted_floats(model, pieces.text, rows.bytes * PIECES, width);
    return rows;
}

/* The fixed vectors: a table, or codes. There must be one for each word. */
static void read_vectors(postil_model *model) {
    number_table *table = &model->vectors;
    engine_section found;
    if (!model->has_vectors) return;
    if (find_section(model, "vectors/first/pieces", &found)) {
        table->width = found.columns;
        require(model, table->width >= 1 && table->width <= MOST_WIDTH);
        table->first = wanted_coded_rows(model, "vectors/first/", table->width);
        if (has_section(model, "vectors/rest/codes")) table->rest = wanted_coded_rows(model, "vectors/rest/", table->width);
        table->rows = table->first.rows + table->rest.rows;
    } else {
        *table = wanted_table(model, "vectors");
    }
    require(model, table->rows >= model->columns[model->words.count - 1].table.count);
}

static linear_map wanted_map(postil_model *model, const char *W, const char *b, int64_t inputs, int64_t outputs) {
    linear_map map = {NULL, NULL, inputs, outputs};
    engine_section found;
    if (outputs < 0 && find_section(model, W, &found)) map.outputs = found.columns;
    require(model, map.outputs >= 1 && map.outputs <= MOST_WIDTH && inputs >= 1 && inputs <= MOST_WIDTH);
    map.W = wanted_floats(model, W, inputs, map.outputs);
    map.b = wanted_floats(model, b, map.outputs, 1);
    return map;
}

/* `count` strings, each with a zero after it. */
static const char **wanted_strings(postil_model *model, const char *name, int64_t count) {
    engine_section found;
    const char **strings = allocated(model, count, sizeof *strings);
    if (strings == NULL || !find_section(model, name, &found) || found.type != U8) {
        fail(model, POSTIL_DAMAGED);
        return strings;
    }
    const char *at = found.values, *end = at + found.count;
    for (int64_t i = 0; i < count; i++) {
        const char *zero = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;
        if (zero == NULL) {
            fail(model, POSTIL_DAMAGED);
            return strings;
        }
        strings[i] = at;
        at = zero + 1;
    }
    require(model, at == end);
    for (at = found.values; at < end && model->code == POSTIL_OK;) {
        uint32_t code;
        const int bytes = decode((const uint8_t *)at, (const uint8_t *)end, &code);
        require(model, bytes > 0);
        at += bytes;
    }
    return strings;
}

static const char *wanted_string(postil_model *model, const char *name) {
    const char **strings = wanted_strings(model, name, 1);
    return strings != NULL && strings[0] != NULL ? strings[0] : "";
}

/* ------------------------------------------------------------------------------------------------ characters, rules */

static int utf8_size(uint32_t code) { return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4; }

static void read_characters(postil_model *model) {
    const int64_t blocks = (LAST_CODE + 1) >> BLOCK_BITS, records = rows_of(model, "characters/records");
    const int64_t pages = rows_of(model, "characters/pages");
    character_tables *known = &model->known;
    known->records = wanted(model, "characters/records", I32, -1, 2);
    known->index = wanted(model, "characters/index", U8, blocks, 1);
    known->pages = wanted(model, "characters/pages", U8, -1, 1 << BLOCK_BITS);
    known->spaces = wanted(model, "characters/spaces", U8, 256, 1);
    if (model->code != POSTIL_OK || model->is_trusted) return;
    for (int64_t i = 0; i < blocks; i++) require(model, known->index[i] < pages);
    for (int64_t i = 0; i < pages << BLOCK_BITS; i++) require(model, known->pages[i] < records);
    if (model->code != POSTIL_OK) return;
    /* words.c relies on it: lower case takes at most twice the bytes, a dotted capital I three. */
    for (int64_t code = 0; code <= LAST_CODE; code++) {
        const int64_t lower = code + record_of(known, (uint32_t)code)[1];
        require(model, lower >= 0 && lower <= LAST_CODE && utf8_size((uint32_t)lower) <= 2 * utf8_size((uint32_t)code));
        if (code == DOTTED_I) require(model, utf8_size((uint32_t)lower) <= 2);
    }
}

/* A program of the matcher, and how the check goes on. */
typedef struct {
    const pattern_program *program;
    int64_t size, sets, classes;
    int8_t *holds;  /* of each instruction that can be reached: how many holds are open there; -1: not seen */
    int32_t *stack; /* instructions to look at */
    int64_t depth;
    int is_good;
} program_check;

/* Record that the instruction at `place` can be reached with this number of open holds. */
static void reach(program_check *check, int64_t place, int holds) {
    if (place < 0 || place >= check->size || holds < 0 || holds > 100) {
        check->is_good = 0;
    } else if (check->holds[place] < 0) {
        check->holds[place] = (int8_t)holds;
        check->stack[check->depth++] = (int32_t)place;
    } else if (check->holds[place] != holds) {
        check->is_good = 0;
    }
}

/* A set of classes; where the matcher steps forward by it, the edge of the text must not be in it. */
static void check_set(program_check *check, int32_t set, int steps) {
    const int64_t words = (check->classes + 63) / 64;
    if (set < 0 || set > check->sets - words)
        check->is_good = 0;
    else if (steps && has(check->program->sets, set, 0))
        check->is_good = 0;
}

static void check_instruction(program_check *check, int64_t at) {
    const int32_t *code = check->program->code + at;
    const int holds = check->holds[at];
    const int64_t left = check->size - at;
    int64_t next = 0; /* length, where the next instruction follows */
#define NEEDS(count) if (left < (count)) { check->is_good = 0; return; }
    switch (code[0]) {
        case OP_MATCH: return;
        case OP_FAIL: return;
        case OP_CHAR: NEEDS(2) check_set(check, code[1], 1); next = 2; break;
        case OP_LOOK:
        case OP_BEHIND: NEEDS(2) check_set(check, code[1], 0); next = 2; break;
        case OP_RUN:
        case OP_RUN_LAZY:
            NEEDS(5)
            check_set(check, code[1], 1);
            check_set(check, code[4], 0);
            if (code[2] < 0 || code[2] > 1 << 20 || code[3] < code[2]) check->is_good = 0;
            next = 5;
            break;
        case OP_RUN_ALL: NEEDS(4) check_set(check, code[1], 1); if (code[2] < 0 || code[2] > 1 << 20 || code[3] < code[2]) check->is_good = 0; next = 4; break;
        case OP_JUMP: NEEDS(2) reach(check, code[1], holds); return;
        case OP_TRY: NEEDS(2) reach(check, code[1], holds); next = 2; break;
        case OP_TRY_IF:
        case OP_GUARD: NEEDS(3) check_set(check, code[1], 0); reach(check, code[2], holds); next = 3; break;
        case OP_DISPATCH:
            NEEDS(1 + check->classes)
            for (int64_t k = 1; k <= check->classes; k++) reach(check, code[k], holds);
            return;
        case OP_HOLD: NEEDS(2) reach(check, code[1], holds); reach(check, at + 2, holds + 1); return;
        case OP_AHEAD: reach(check, at + 1, holds + 1); return;
        case OP_COMMIT:
        case OP_AHEAD_END: if (holds < 1) check->is_good = 0; reach(check, at + 1, holds - 1); return;
        case OP_NOT_END: if (holds < 1) check->is_good = 0; return;
        case OP_BACK: NEEDS(2) if (code[1] < 0) check->is_good = 0; next = 2; break;
        default: check->is_good = 0; return;
    }
#undef NEEDS
    reach(check, at + next, holds);
}

/* The program under a name, whose numbers are its classes and then its entries: no path through it leaves the code, the
   sets, the row of the text or the stack. */
static void read_program(postil_model *model, const char *name, int64_t entries, pattern_program *program) {
    const section_name code = joined(name, "/code"), sets = joined(name, "/sets"), numbers = joined(name, "/numbers");
    const int64_t blocks = (LAST_CODE + 1) >> BLOCK_BITS, pages = rows_of(model, joined(name, "/pages").text);
    program->code = wanted(model, code.text, I32, -1, 1);
    program->sets = wanted(model, sets.text, U64, -1, -1);
    program->index = wanted(model, joined(name, "/index").text, U16, blocks, 1);
    program->pages = wanted(model, joined(name, "/pages").text, U16, -1, 1 << BLOCK_BITS);
    engine_section of_sets = {0};
    program_check check = {program, rows_of(model, code.text), 0, 0, NULL, NULL, 0, 1};
    find_section(model, sets.text, &of_sets);
    check.sets = of_sets.count;
    check.classes = whole_number(model, numbers.text, 0, 1, 65535);
    if (model->code != POSTIL_OK) return;
    for (int64_t i = 0; i < blocks; i++) require(model, program->index[i] < pages);
    for (int64_t i = 0; i < pages << BLOCK_BITS; i++) require(model, program->pages[i] < check.classes);
    check.holds = allocated(model, check.size, sizeof *check.holds);
    check.stack = allocated(model, check.size, sizeof *check.stack);
    if (model->code != POSTIL_OK) return;
    memset(check.holds, -1, (size_t)check.size);
    for (int64_t i = 0; i < entries; i++) reach(&check, whole_number(model, numbers.text, 1 + i, 0, INT32_MAX), 0);
    while (check.depth > 0 && check.is_good) check_instruction(&check, check.stack[--check.depth]);
    require(model, check.is_good);
}

static void read_rules(postil_model *model) {
    token_rules *tokens = &model->tokens;
    sentence_rules *sentences = &model->sentences;
    read_program(model, "tokens", 2, &tokens->program);
    tokens->token = (int32_t)whole_number(model, "tokens/numbers", 1, 0, INT32_MAX);
    tokens->depends = (int32_t)whole_number(model, "tokens/numbers", 2, 0, INT32_MAX);
    tokens->reach = (int32_t)whole_number(model, "tokens/numbers", 3, 0, INT32_MAX);
    read_program(model, "sentences", 3, &sentences->program);
    sentences->line_break = (int32_t)whole_number(model, "sentences/numbers", 1, 0, INT32_MAX);
    sentences->emoticon = (int32_t)whole_number(model, "sentences/numbers", 2, 0, INT32_MAX);
    sentences->ellipsis = (int32_t)whole_number(model, "sentences/numbers", 3, 0, INT32_MAX);
    sentences->line_bytes = wanted(model, "sentences/line_bytes", U8, 256, 1);
    sentences->final_bytes = wanted(model, "sentences/final_bytes", U8, 256, 1);
    sentences->words = wanted(model, "sentences/words", U8, -1, 1);
    sentences->kinds = wanted(model, "sentences/kinds", U8, -1, 1);
    sentences->count = rows_of(model, "sentences/kinds");
    sentences->ends = wanted(model, "sentences/ends", I64, sentences->count + 1, 1);
    if (model->code != POSTIL_OK) return;
    require(model, sentences->ends[0] == 0 && sentences->ends[sentences->count] == rows_of(model, "sentences/words"));
    for (int64_t i = 0; i < sentences->count; i++) require(model, sentences->ends[i] <= sentences->ends[i + 1]);
}

/* ------------------------------------------------------------------------------------------------ words */

static void read_vocabularies(postil_model *model) {
    model->vocabulary_count = whole_number(model, "vocabularies", 0, 0, MOST_PARTS);
    model->vocabularies = allocated(model, model->vocabulary_count, sizeof *model->vocabularies);
    for (int64_t i = 0; i < model->vocabulary_count && model->code == POSTIL_OK; i++) {
        string_table *table = model->vocabularies + i;
        const section_name text = named("vocabulary", "%d/text", i), offsets = named("vocabulary", "%d/offsets", i);
        const section_name slots = named("vocabulary", "%d/slots", i);
        table->text = wanted(model, text.text, U8, -1, 1);
        table->offsets = wanted(model, offsets.text, I32, -1, 1);
        table->slots = wanted(model, slots.text, I32, -1, 1);
        table->size = rows_of(model, text.text);
        table->count = rows_of(model, offsets.text) - 1;
        table->slot_count = rows_of(model, slots.text);
        require(model, table->count >= 1 && table->slot_count >= 1 && (table->slot_count & (table->slot_count - 1)) == 0);
        /* The searches check every entry that they meet; what follows keeps them short. */
        if (model->code != POSTIL_OK) return;
        if (model->is_trusted) continue;
        int64_t run = 0, longest = 0;
        for (int64_t k = 0; k < 2 * table->slot_count; k++) {
            run = table->slots[k & (table->slot_count - 1)] < 0 ? 0 : run + 1;
            longest = run > longest ? run : longest;
        }
        require(model, longest <= 128);
    }
}

/* The number of a vocabulary; negative: none. */
static const string_table *vocabulary_at(postil_model *model, int64_t number) {
    static const string_table none = {NULL, NULL, NULL, 0, 0, 0};
    if (number < 0) return &none;
    if (number < model->vocabulary_count) return model->vocabularies + number;
    fail(model, POSTIL_DAMAGED);
    return &none;
}

static word_rules rules_of(const postil_model *model, const word_column *columns, int64_t count, int64_t mark) {
    const word_rules rules = {model->crc, model->words.shapes, columns, count, mark};
    return rules;
}

/* A table of characters (count, width): they may be written, and the rows rise. */
static const int32_t *wanted_codes(postil_model *model, const char *name, int64_t width, int64_t codes, int64_t *count) {
    const int32_t *table = wanted(model, name, I32, -1, width);
    *count = rows_of(model, name);
    for (int64_t i = 0; i < *count && model->code == POSTIL_OK; i++) {
        const int32_t *row = table + i * width;
        for (int64_t k = 0; k < codes; k++) require(model, row[k] >= 0 && row[k] <= LAST_CODE);
        require(model, i == 0 || row[0] >= row[-width]);
    }
    return table;
}

static void read_folds(postil_model *model) {
    if (!has_section(model, "folds")) return;
    word_folds *folds = model->folds = allocated(model, 1, sizeof *folds);
    if (folds == NULL) return;
    folds->table = wanted_codes(model, "folds", 4, 4, &folds->count);
    folds->decomposed = wanted_codes(model, "folds/decomposed", 5, 5, &folds->decomposed_count);
    folds->classes = wanted_codes(model, "folds/classes", 2, 1, &folds->class_count);
    folds->composed = wanted_codes(model, "folds/composed", 3, 3, &folds->composed_count);
    for (int64_t i = 0; i < folds->decomposed_count && model->code == POSTIL_OK; i++) /* room for what codes become */
        require(model, folds->decomposed[5 * i] >= 0x80 && (folds->decomposed[5 * i] >= 0x800 || folds->decomposed[5 * i + 4] == 0));
    for (int64_t i = 0; i < folds->count && model->code == POSTIL_OK; i++)
        if (folds->table[4 * i] < 128) folds->ascii[folds->table[4 * i]] = 1;
}

static void read_words(postil_model *model) {
    read_folds(model);
    const int64_t count = rows_of(model, "words/columns");
    const int64_t *columns = wanted(model, "words/columns", I64, -1, 3);
    model->words.shapes = wanted(model, "words/shapes", U8, 32, 1);
    model->columns = allocated(model, count, sizeof *model->columns);
    if (model->code != POSTIL_OK) return;
    require(model, count <= MOST_PARTS);
    for (int64_t f = 0; f < count && model->code == POSTIL_OK; f++) {
        word_column *column = model->columns + f;
        column->kind = columns[3 * f], column->length = columns[3 * f + 1];
        require(model, column->kind >= WORD && column->kind < WORD_KINDS && column->length >= 0);
        require(model, (column->kind == CAPS) == (columns[3 * f + 2] < 0));
        require(model, column->kind != VECTOR || f == count - 1);
        column->table = *vocabulary_at(model, columns[3 * f + 2]);
        model->has_vectors |= column->kind == VECTOR;
    }
    model->words = rules_of(model, model->columns, count, whole_number(model, "words/mark", 0, -1, 127));
    model->features = count - model->has_vectors;
    model->lexicon_count = rows_of(model, "lexicons");
    const int64_t *lexicons = wanted(model, "lexicons", I64, -1, 2);
    model->lexicons = allocated(model, model->lexicon_count, sizeof *model->lexicons);
    for (int64_t i = 0; i < model->lexicon_count && model->code == POSTIL_OK; i++) {
        word_lexicon *lexicon = model->lexicons + i;
        const section_name codes = named("lexicon", "%d/codes", i);
        engine_section found;
        lexicon->column.kind = VECTOR;
        lexicon->column.table = *vocabulary_at(model, lexicons[2 * i] < 0 ? INT64_MAX : lexicons[2 * i]);
        require(model, lexicons[2 * i + 1] >= -1 && lexicons[2 * i + 1] < 128);
        lexicon->rules = rules_of(model, &lexicon->column, 1, lexicons[2 * i + 1]);
        lexicon->codes = wanted(model, codes.text, U16, lexicon->column.table.count, -1);
        lexicon->columns = find_section(model, codes.text, &found) ? found.columns : 0;
        require(model, lexicon->columns >= 1 && lexicon->columns <= 64);
        model->features += lexicon->columns;
    }
    if (!has_section(model, "alphabet/codes")) return;
    model->alphabet = rows_of(model, "alphabet/codes");
    model->letter_codes = wanted(model, "alphabet/codes", I32, -1, 1);
    model->letter_ids = wanted(model, "alphabet/ids", I32, model->alphabet, 1);
    require(model, model->alphabet >= 1);
    for (int64_t i = 0; i < model->alphabet && model->code == POSTIL_OK; i++)
        require(model, model->letter_ids[i] >= 0 && model->letter_ids[i] < model->alphabet);
}

/* The most ids that a feature of words can have: its table must have as many rows. */
static int64_t ids_of_feature(const postil_model *model, int64_t f) {
    const int64_t columns = model->words.count - model->has_vectors;
    if (f < columns) return model->columns[f].kind == CAPS ? WITHOUT_CASE + 1 : model->columns[f].table.count;
    f -= columns;
    for (int64_t i = 0; i < model->lexicon_count; i++) {
        const word_lexicon *lexicon = model->lexicons + i;
        if (f < lexicon->columns) {
            int64_t most = 0;
            for (int64_t w = 0; w < lexicon->column.table.count; w++) {
                const int64_t code = lexicon->codes[w * lexicon->columns + f];
                most = code > most ? code : most;
            }
            return most + 1;
        }
        f -= lexicon->columns;
    }
    return 1;
}

/* ------------------------------------------------------------------------------------------------ network */

static network_step read_step(postil_model *model, const char *prefix, int64_t s, int64_t *width) {
    network_step step;
    memset(&step, 0, sizeof step);
    step.kind = whole_number(model, "steps", 2 * s, LINEAR, RESIDUAL);
    step.function = whole_number(model, "steps", 2 * s + 1, IDENTITY, LAST_FUNCTION);
    const section_name W = joined(prefix, "W"), b = joined(prefix, "b");
    int64_t inputs = *width;
    if (step.kind == NORMALISE || step.kind == RESIDUAL) {
        step.gain = wanted_floats(model, joined(prefix, "gain").text, *width, 1);
        step.bias = wanted_floats(model, joined(prefix, "bias").text, *width, 1);
    }
    if (step.kind == RESIDUAL) {
        step.padding = wanted_floats(model, joined(prefix, "padding").text, *width, 1);
        inputs = rows_of(model, W.text);
        step.size = inputs / *width;
        step.dilation = has_section(model, "dilations") ? whole_number(model, "dilations", s, 1, 10000) : 1;
        require(model, step.size >= 1 && step.size <= 99 && step.size % 2 == 1 && step.size * *width == inputs);
        if (inputs > model->widest_windows) model->widest_windows = inputs;
    }
    if (step.kind == LINEAR || step.kind == RESIDUAL)
        step.map = wanted_map(model, W.text, b.text, inputs, step.kind == LINEAR ? -1 : *width);
    if (step.kind == LINEAR && model->code == POSTIL_OK) *width = step.map.outputs;
    if (*width > model->widest) model->widest = *width;
    return step;
}

static int64_t read_member(postil_model *model, int64_t m, int64_t tables) {
    network_member *member = model->network + m;
    const section_name prefix = named("member", "%d/", m);
    int64_t D = 0, width = model->H;
    member->tables = allocated(model, tables, sizeof *member->tables);
    member->steps = allocated(model, model->step_count, sizeof *member->steps);
    for (int64_t f = 0; f < tables && model->code == POSTIL_OK; f++) {
        member->tables[f] = wanted_table(model, named(prefix.text, "table%d", f).text);
        require(model, member->tables[f].rows >= ids_of_feature(model, f));
        D += member->tables[f].width;
    }
    D += model->has_vectors ? model->vectors.width : 0;
    if (model->alphabet > 0) {
        const section_name b = joined(prefix.text, "characters/b");
        model->filters = rows_of(model, b.text);
        require(model, model->filters >= 1 && model->filters <= MOST_WIDTH);
        member->letter_bias = wanted_floats(model, b.text, model->filters, 1);
        member->letters = wanted_floats(model, joined(prefix.text, "characters/rows").text, model->alphabet + 1,
                                        3 * model->filters);
        D += model->filters;
    }
    if (model->code != POSTIL_OK) return 0;
    require(model, m == 0 || D == model->D);
    model->D = D;
    const section_name W = joined(prefix.text, "first/W"), b = joined(prefix.text, "first/b");
    member->first = wanted_map(model, W.text, b.text, D, model->K * model->H);
    member->padding = wanted_floats(model, joined(prefix.text, "first/padding").text, model->K * model->H, 1);
    for (int64_t s = 0; s < model->step_count && model->code == POSTIL_OK; s++)
        member->steps[s] = read_step(model, named(prefix.text, "step%d/", s).text, s, &width);
    return width;
}

static int64_t read_network(postil_model *model) {
    model->members = whole_number(model, "network", 0, 1, 100);
    model->K = whole_number(model, "network", 1, 1, 99);
    model->H = whole_number(model, "network", 2, 1, 1 << 20);
    model->function = whole_number(model, "network", 3, IDENTITY, HARDTANH);
    model->is_mean = whole_number(model, "network", 4, 0, 1);
    model->step_count = whole_number(model, "network", 5, 0, 1000);
    model->reach = whole_number(model, "network", 6, 0, 10000);
    const int64_t tables = whole_number(model, "network", 7, 0, MOST_PARTS);
    require(model, model->K % 2 == 1 && tables == model->features);
    wanted(model, "steps", I64, model->step_count, 2);
    model->widest = model->H;
    read_vectors(model);
    model->network = allocated(model, model->members, sizeof *model->network);
    int64_t width = 0;
    for (int64_t m = 0; m < model->members && model->code == POSTIL_OK; m++) width = read_member(model, m, tables);
    return width;
}

/* ------------------------------------------------------------------------------------------------ labels */

static void read_spans(postil_model *model, const char *prefix, task_head *head) {
    const int64_t L = head->L, C = head->C;
    head->q.classes = wanted(model, joined(prefix, "class_of").text, I64, L, 1);
    head->q.begins = wanted(model, joined(prefix, "begins").text, U8, L, 1);
    if (has_section(model, joined(prefix, "after").text))
        head->q.after = wanted(model, joined(prefix, "after").text, U8, C, L);
    if (has_section(model, joined(prefix, "lowest").text)) {
        head->q.lowest = wanted_doubles(model, joined(prefix, "lowest").text, C, 1);
        require(model, head->q.outside >= 0);
    }
    for (int64_t j = 0; j < L && model->code == POSTIL_OK; j++) {
        require(model, head->q.classes[j] < C && (!head->q.begins[j] || head->q.classes[j] >= 0));
    }
}

/* Offsets into a section of bytes, in order, from its beginning to its end; how many parts they delimit. */
static const int64_t *wanted_offsets(postil_model *model, const char *name, const char *text, int64_t *parts) {
    const int64_t *offsets = wanted(model, name, I64, -1, 1);
    *parts = rows_of(model, name) - 1;
    require(model, *parts >= 0);
    if (model->code != POSTIL_OK) return offsets;
    require(model, offsets[0] == 0 && offsets[*parts] == rows_of(model, text));
    for (int64_t i = 0; i < *parts; i++) require(model, offsets[i] <= offsets[i + 1]);
    return offsets;
}

/* Whether first and count are a part of `all`. */
static int is_part(const int64_t *range, int64_t all) {
    return range[0] >= 0 && range[0] <= all && range[1] >= 0 && range[1] <= all - range[0];
}

static void read_votes(postil_model *model, const char *prefix, task_head *head) {
    vote_rules *v = &head->votes;
    const section_name rules = joined(prefix, "rules"), elements = joined(prefix, "rules/elements");
    const section_name text = joined(prefix, "rules/names"), spellings = joined(prefix, "rules/spellings");
    const section_name codes = joined(prefix, "rules/codes"), maps = joined(prefix, "rules/maps");
    if (!has_section(model, rules.text)) return;
    int64_t names = 0, spelt = 0;
    v->count = rows_of(model, rules.text);
    require(model, v->count >= 1 && v->count <= MOST_PARTS);
    v->rules = wanted(model, rules.text, I64, v->count, RULE);
    v->elements = wanted(model, elements.text, I64, -1, ELEMENT);
    v->lifts = wanted_doubles(model, joined(prefix, "rules/lifts").text, 4 * v->count, head->L);
    v->text = wanted(model, text.text, U8, -1, 1);
    v->offsets = wanted_offsets(model, joined(prefix, "rules/offsets").text, text.text, &names);
    v->spellings = wanted(model, spellings.text, U8, -1, 1);
    v->spelt = wanted_offsets(model, joined(prefix, "rules/spelt").text, spellings.text, &spelt);
    v->codes = wanted(model, codes.text, I32, spelt, 1);
    v->maps = wanted(model, maps.text, I64, -1, 2);
    const int64_t F = rows_of(model, maps.text), E = rows_of(model, elements.text);
    for (int64_t i = 0; i < F && model->code == POSTIL_OK; i++) require(model, is_part(v->maps + 2 * i, spelt));
    for (int64_t i = 0; i < 4 * v->count * head->L && model->code == POSTIL_OK; i++)
        require(model, v->lifts[i] >= -1e6 && v->lifts[i] <= 1e6);
    for (int64_t i = 0; i < E && model->code == POSTIL_OK; i++) {
        const int64_t *e = v->elements + ELEMENT * i;
        require(model, e[0] >= OF_WORDS && e[0] <= OF_PUNCTUATION && e[1] >= 0 && e[1] <= e[2] && e[2] >= 1 &&
                           e[2] <= LONGEST_PATTERN && e[3] >= -1 && e[3] < F && is_part(e + 4, names) && e[7] <= names);
        const int64_t parts[2] = {e[6], 2 * e[7]};
        if (model->code == POSTIL_OK) require(model, e[7] >= 0 && is_part(parts, names));
    }
    for (int64_t i = 0; i < v->count && model->code == POSTIL_OK; i++) {
        const int64_t *r = v->rules + RULE * i;
        if (r[0] == OF_LIST) {
            require(model, r[1] >= 0 && r[1] < F && is_part(r + 2, names));
            continue;
        }
        require(model, r[0] == OF_PATTERN && is_part(r + 2, E) && r[3] >= 1 && r[3] <= MOST_ELEMENTS && r[4] >= 0 &&
                           r[4] <= r[5] && r[5] <= r[3]);
        int64_t longest = 0;
        for (int64_t k = 0; k < r[3] && model->code == POSTIL_OK; k++) longest += v->elements[ELEMENT * (r[2] + k) + 2];
        require(model, longest <= LONGEST_PATTERN);
    }
    if (head->L > model->voted_labels) model->voted_labels = head->L;
}

/* The names of a head's labels, and how answers are read from its scores. */
static void read_labels(postil_model *model, const char *prefix, task_head *head) {
    const section_name numbers = joined(prefix, "numbers");
    const int64_t L = head->L;
    head->C = whole_number(model, numbers.text, 1, 0, L);
    head->q.outside = whole_number(model, numbers.text, 2, -1, L - 1);
    head->is_iob1 = (int)whole_number(model, numbers.text, 4, 0, 1);
    head->spellings = head->is_iob1 ? 2 * L : L;
    require(model, !head->is_iob1 || head->C > 0);
    head->name = wanted_string(model, joined(prefix, "name").text);
    head->labels = wanted_strings(model, joined(prefix, "labels").text, head->spellings);
    head->class_names = wanted_strings(model, joined(prefix, "classes").text, head->C);
    head->transitions = wanted_doubles(model, joined(prefix, "transitions").text, L, L);
    head->start = wanted_doubles(model, joined(prefix, "start").text, L, 1);
    head->end = wanted_doubles(model, joined(prefix, "end").text, L, 1);
    head->q.alike = wanted_doubles(model, joined(prefix, "alike").text, L, L);
    const double *reals = wanted_doubles(model, joined(prefix, "reals").text, 2, 1);
    if (has_section(model, joined(prefix, "bonus").text))
        head->q.bonus = wanted_doubles(model, joined(prefix, "bonus").text, L, 1);
    if (model->code != POSTIL_OK) return;
    head->q.temperature = reals[0], head->q.shift = reals[1];
    require(model, head->q.temperature >= 1e-6 && head->q.temperature <= 1e6 && head->q.shift >= -1e6 && head->q.shift <= 1e6);
    for (int64_t i = 0; i < L * L; i++) require(model, head->q.alike[i] >= 0.0 && head->q.alike[i] <= 1.0);
    if (head->C > 0) read_spans(model, prefix, head);
    read_votes(model, prefix, head);
}

/* The same map with more outputs, zeros: products of whole vectors are several times as fast, with the same bits. */
static linear_map widened(postil_model *model, linear_map map, int64_t wide) {
    float *W = allocated(model, map.inputs * wide, sizeof *W), *b = allocated(model, wide, sizeof *b);
    const linear_map wider = {W, b, map.inputs, wide};
    if (model->code != POSTIL_OK) return map;
    for (int64_t d = 0; d < map.inputs; d++)
        memcpy(W + d * wide, map.W + d * map.outputs, (size_t)map.outputs * sizeof *W);
    memcpy(b, map.b, (size_t)map.outputs * sizeof *b);
    return wider;
}

static void read_head(postil_model *model, int64_t t, int64_t width) {
    task_head *head = model->heads + t;
    const section_name prefix = named("head", "%d/", t), numbers = joined(prefix.text, "numbers");
    const int64_t L = head->L = whole_number(model, numbers.text, 0, 1, 1 << 16);
    head->maps = whole_number(model, numbers.text, 3, 0, 3);
    require(model, head->maps != 2);
    require(model, head->maps > 0 || (width == L && model->head_count == 1));
    if (!model->is_trusted) read_labels(model, prefix.text, head); /* Python reads answers from the scores */
    head->wide = (L + VECTOR_OF_LABELS - 1) / VECTOR_OF_LABELS * VECTOR_OF_LABELS;
    head->outputs = allocated(model, model->members * head->maps, sizeof *head->outputs);
    for (int64_t i = 0; i < model->members * head->maps && model->code == POSTIL_OK; i++) {
        const section_name member = named(prefix.text, "member%d/", i / head->maps);
        const section_name map = named(member.text, "map%d/", i % head->maps);
        head->outputs[i] = wanted_map(model, joined(map.text, "W").text, joined(map.text, "b").text, width, L);
        if (model->code == POSTIL_OK) head->outputs[i] = widened(model, head->outputs[i], head->wide);
    }
}

static void read_heads(postil_model *model, int64_t width) {
    model->head_count = whole_number(model, "heads", 0, 1, 1000);
    model->heads = allocated(model, model->head_count, sizeof *model->heads);
    for (int64_t t = 0; t < model->head_count && model->code == POSTIL_OK; t++) {
        read_head(model, t, width);
        model->all_labels += model->heads[t].L;
        if (model->heads[t].L > model->most_labels) model->most_labels = model->heads[t].L;
    }
}

/* ------------------------------------------------------------------------------------------------ opening */

static void read_tree_network(postil_model *model); /* trees.c */
static int open_model(postil_model begun, postil_model **opened);

static int is_of(const character_tables *known, uint32_t code, int first, int last) {
    const int category = flags_of(known, code) & CATEGORY;
    return category >= first && category <= last;
}

/* A tagger inside of the model with `most` of the labels, or one less; what they mean. */
static void read_cutter(postil_model *model, const char *name, const char *const *labels, const uint8_t *values, int most,
                        int least, postil_model **opened, uint8_t *meaning) {
    engine_section inner;
    int seen = 0;
    require(model, find_section(model, name, &inner) && inner.type == U8);
    if (model->code != POSTIL_OK) return;
    const postil_model begun = {.bytes = inner.values, .size = (size_t)inner.count, .known = model->known, .is_cutter = 1};
    const int code = open_model(begun, opened);
    if (code != POSTIL_OK) {
        fail(model, code == POSTIL_NO_MEMORY ? code : POSTIL_DAMAGED);
        return;
    }
    const task_head *head = (*opened)->heads;
    require(model, (*opened)->kind == TAGGER && (*opened)->head_count == 1);
    require(model, head->spellings == most || head->spellings == least);
    if (model->code != POSTIL_OK) return;
    for (int64_t j = 0; j < head->spellings; j++)
        for (int k = 0; k < most; k++)
            if (strcmp(head->labels[j], labels[k]) == 0) meaning[j] = values[k], seen |= 1 << k;
    require(model, seen == (1 << head->spellings) - 1);
}

static void read_cuts(postil_model *model) {
    static const char *const names[CUT_LABELS] = {"inside", "token", "sentence", "word"}, *const ends[] = {"inside", "sentence"};
    static const uint8_t values[CUT_LABELS] = {GOES_ON_INSIDE, ENDS_TOKEN, ENDS_SENTENCE, ENDS_TOKEN};
    static const uint8_t of_tokens[] = {ENDS_TOKEN, ENDS_SENTENCE};
    learned_cuts *cuts = &model->cuts;
    if (has_section(model, "cuts")) cuts->how = whole_number(model, "cuts", 0, INTO_CHARACTERS, BY_TAGGER);
    if (cuts->how == BY_RULES) read_rules(model);
    if (cuts->how != BY_TAGGER || model->code != POSTIL_OK) return;
    cuts->reach = whole_number(model, "cuts", 1, 2, 3);
    if (has_section(model, "cuts/crossed")) cuts->crossed = wanted(model, "cuts/crossed", U8, CATEGORIES, CATEGORIES);
    read_program(model, "cuts/address", 1, &cuts->address);
    cuts->entry = (int32_t)whole_number(model, "cuts/address/numbers", 1, 0, INT32_MAX);
    read_cutter(model, "cuts/tagger", names, values, CUT_LABELS, ENDS_WORD, &cuts->tagger, cuts->meaning[0]);
    if (model->code == POSTIL_OK && has_section(model, "cuts/ends"))
        read_cutter(model, "cuts/ends", ends, of_tokens, 2, 2, &cuts->ends, cuts->meaning[1]);
}

static void read_header(postil_model *model) {
    const uint8_t *bytes = model->bytes;
    const uint16_t one = 1;
    if (model->size < HEADER_SIZE || memcmp(bytes, "POSTILX", 8) != 0) {
        fail(model, POSTIL_NOT_A_MODEL);
        return;
    }
    if (*(const uint8_t *)&one != 1 || u32_at(bytes + 8) != FORMAT_VERSION) {
        fail(model, POSTIL_OTHER_VERSION);
        return;
    }
    const uint32_t count = u32_at(bytes + 12);
    require(model, u64_at(bytes + 16) == model->size && count <= (model->size - HEADER_SIZE) / ROW_SIZE);
    if (model->code != POSTIL_OK) return;
    require(model, checksum(model->crc, bytes + HEADER_SIZE, model->size - HEADER_SIZE) == u32_at(bytes + 24));
    engine_section *directory = allocated(model, count, sizeof *directory);
    for (uint32_t i = 0; i < count && model->code == POSTIL_OK; i++)
        require(model, read_section(model, directory_row(model, i), directory + i));
    model->directory = directory, model->sections = count;
}

static void read_model(postil_model *model) {
    fill_crc(model->crc);
    if (!model->is_trusted) {
        read_header(model);
        if (model->code != POSTIL_OK) return;
        model->kind = whole_number(model, "kind", 0, TAGGER, TREE_CLASSIFIER);
        model->about = wanted_string(model, "about");
    }
    if (!model->is_cutter) read_characters(model);
    if (model->code == POSTIL_OK) read_vocabularies(model);
    if (model->code == POSTIL_OK) read_words(model);
    if (model->code != POSTIL_OK) return;
    if (model->kind == TREE_CLASSIFIER) {
        read_tree_network(model);
        return;
    }
    if (!model->is_trusted && !model->is_cutter) read_cuts(model); /* Python cuts texts into tokens before */
    if (model->code != POSTIL_OK) return;
    const int64_t width = read_network(model);
    if (model->code == POSTIL_OK) read_heads(model, width);
}

void postil_close(postil_model *model) {
    if (model == NULL) return;
    postil_close(model->cuts.tagger);
    postil_close(model->cuts.ends);
    for (void **memory = model->allocated; memory != NULL;) {
        void **next = *memory;
        free(memory);
        memory = next;
    }
    free(model->content);
    free(model);
}

/* A model of the fields that are known so far; its content is freed with it. */
static int open_model(postil_model begun, postil_model **opened) {
    postil_model *model = malloc(sizeof *model);
    *opened = NULL;
    if (model == NULL) {
        free(begun.content);
        return POSTIL_NO_MEMORY;
    }
    *model = begun;
    read_model(model);
    const int code = model->code;
    if (code == POSTIL_OK)
        *opened = model;
    else
        postil_close(model);
    return code;
}

int postil_open_memory(const void *bytes, size_t size, postil_model **model) {
    if (model == NULL || bytes == NULL) return POSTIL_WRONG_ARGUMENT;
    if ((uintptr_t)bytes % 8 == 0) return open_model((postil_model){.bytes = bytes, .size = size}, model);
    *model = NULL;
    void *copy = malloc(size + 1);
    if (copy == NULL) return POSTIL_NO_MEMORY;
    memcpy(copy, bytes, size);
    return open_model((postil_model){.content = copy, .bytes = copy, .size = size}, model);
}

int postil_open(const char *path, postil_model **model) {
    if (model == NULL || path == NULL) return POSTIL_WRONG_ARGUMENT;
    *model = NULL;
    FILE *file = fopen(path, "rb");
    if (file == NULL) return POSTIL_NO_FILE;
    uint8_t *content = NULL;
    long size = -1;
    if (fseek(file, 0, SEEK_END) == 0) size = ftell(file);
    if (size >= 0 && fseek(file, 0, SEEK_SET) == 0) content = malloc((size_t)size + 1);
    const int is_read = content != NULL && fread(content, 1, (size_t)size, file) == (size_t)size;
    fclose(file);
    if (!is_read) {
        free(content);
        return size >= 0 && content == NULL ? POSTIL_NO_MEMORY : POSTIL_NO_FILE;
    }
    return open_model((postil_model){.content = content, .bytes = content, .size = (size_t)size}, model);
}

const char *postil_about(const postil_model *model) { return model->about; }
int postil_is_tree_classifier(const postil_model *model) { return model->kind == TREE_CLASSIFIER; }
int32_t postil_task_count(const postil_model *model) { return (int32_t)model->head_count; }

static const task_head *head_at(const postil_model *model, int32_t task) {
    return task >= 0 && task < model->head_count ? model->heads + task : NULL;
}

const char *postil_task(const postil_model *model, int32_t task) {
    const task_head *head = head_at(model, task);
    return head == NULL ? NULL : head->name;
}

int32_t postil_label_count(const postil_model *model, int32_t task) {
    const task_head *head = head_at(model, task);
    return head == NULL ? 0 : (int32_t)head->spellings;
}

const char *postil_label(const postil_model *model, int32_t task, int32_t label) {
    const task_head *head = head_at(model, task);
    return head == NULL || label < 0 || label >= head->spellings ? NULL : head->labels[label];
}

int32_t postil_entity_label_count(const postil_model *model, int32_t task) {
    const task_head *head = head_at(model, task);
    return head == NULL ? 0 : (int32_t)head->C;
}

const char *postil_entity_label(const postil_model *model, int32_t task, int32_t label) {
    const task_head *head = head_at(model, task);
    return head == NULL || label < 0 || label >= head->C ? NULL : head->class_names[label];
}

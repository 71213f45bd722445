/* ------------------------------------------------------------------------------------------------ exported models

   The file is flat.py's: a header, a directory, arrays. Nothing of it is believed: every offset and size, every index
   that a kernel would follow, and every instruction of the programs is checked before the model is used. */

enum { HEADER_SIZE = 64, ROW_SIZE = 96, NAME_SIZE = 48, FORMAT_VERSION = 1 };
enum { U8 = 1, U16, I32, U32, I64, U64, F16, F32, F64, LAST_TYPE = F64 };
enum { TAGGER, TREE_CLASSIFIER };
enum { CHARACTER_BLOCKS = (LAST_CODE + 1) >> BLOCK_BITS };
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
    char prefix[NAME_SIZE]; /* of the sections that are being read */
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
    static const char *const texts[] = { /* by the code */
        "no error", "no memory", "the file cannot be read", "the file is not an exported model",
        "the model is of another version of the format, or this machine is big-endian", "the model is damaged",
        "the text is not UTF-8", "the text is too long for the workspace",
        "a chunk of text without spaces is too hard to cut into tokens", "the model's scores are not finite",
        "wrong argument", "the model is of another kind: a tree classifier labels trees, a tagger words",
        "the text is not a tree in brackets"};
    return code >= POSTIL_OK && code <= POSTIL_NOT_A_TREE ? texts[code] : "unknown error";
}

/* ------------------------------------------------------------------------------------------------ sections */

/* A number of 4 or 8 bytes: those of the file are little-endian, and so is the machine. */
static uint64_t number_at(const uint8_t *at, size_t size) {
    uint64_t x = 0;
    memcpy(&x, at, size);
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

/* Every section lies in the file, where it may be read as what it says. */
static int read_section(const postil_model *model, const uint8_t *row, engine_section *section) {
    const uint64_t type = number_at(row + NAME_SIZE, 4), dimensions = number_at(row + NAME_SIZE + 4, 4);
    const uint64_t offset = number_at(row + 80, 8), size = number_at(row + 88, 8);
    uint64_t items = 1, lengths[3];
    if (row[NAME_SIZE - 1] != 0 || type < 1 || type > LAST_TYPE || dimensions < 1 || dimensions > 3) return 0;
    if (offset % 64 || offset > model->size || size > model->size - offset) return 0;
    for (uint64_t d = 0; d < 3; d++) {
        const uint64_t length = lengths[d] = number_at(row + 56 + 8 * d, 8);
        if (length > model->size || (d >= dimensions && length != 1)) return 0;
        items = length && items > model->size / length ? model->size + 1 : items * length;
    }
    *section = (engine_section){(const char *)row, model->bytes + offset, (int64_t)type, (int64_t)lengths[0],
                                (int64_t)(lengths[1] * lengths[2]), (int64_t)items};
    return items <= model->size && items * (uint64_t)ITEM_SIZE[type] == size;
}

/* From now on, names of sections continue this one, such as member0/step2/; `end_part` with the answer ends it. */
static size_t begin_part(postil_model *model, const char *format, int64_t number) {
    const size_t before = strlen(model->prefix);
    snprintf(model->prefix + before, sizeof model->prefix - before, format, (int)number);
    return before;
}

static void end_part(postil_model *model, size_t before) { model->prefix[before] = 0; }

/* The section under a name; one of zeros if there is none. */
static const engine_section *section_of(const postil_model *model, const char *name) {
    static const engine_section none = {NULL, NULL, 0, 0, 0, 0};
    const size_t before = strlen(model->prefix);
    for (int64_t i = 0; i < model->sections; i++) {
        const char *full = model->directory[i].name;
        if (strncmp(full, model->prefix, before) == 0 && strcmp(full + before, name) == 0) return model->directory + i;
    }
    return &none;
}

static int has_section(const postil_model *model, const char *name) { return section_of(model, name)->name != NULL; }
static int64_t rows_of(const postil_model *model, const char *name) { return section_of(model, name)->rows; }

/* A section that must be there, (rows, columns); a negative size is any. NULL, and the model is damaged, if not. */
static const void *wanted(postil_model *model, const char *name, int64_t type, int64_t rows, int64_t columns) {
    const engine_section *s = section_of(model, name);
    const int fits = s->type == type && (rows < 0 || s->rows == rows) && (columns < 0 || s->columns == columns);
    require(model, fits);
    return fits ? s->values : NULL;
}

/* A number of a section of int64, which must lie between two others. */
static int64_t whole_number(postil_model *model, const char *name, int64_t place, int64_t low, int64_t high) {
    const engine_section *s = section_of(model, name);
    const int64_t value = s->type == I64 && place < s->count ? ((const int64_t *)s->values)[place] : low - 1;
    require(model, value >= low && value <= high);
    return value >= low && value <= high ? value : low;
}

/* All numbers of a section, of the type that was wanted, lie between two others. */
static void require_between(postil_model *model, const char *name, int64_t low, int64_t high) {
    const engine_section *s = section_of(model, name);
    for (int64_t i = 0; i < s->count && model->code == POSTIL_OK; i++) {
        const int64_t value = s->type == U8    ? ((const uint8_t *)s->values)[i]
                              : s->type == U16 ? ((const uint16_t *)s->values)[i]
                                               : ((const int32_t *)s->values)[i];
        require(model, value >= low && value <= high);
    }
}

static const float *wanted_floats(postil_model *model, const char *name, int64_t rows, int64_t columns) {
    const float *values = wanted(model, name, F32, rows, columns);
    const int64_t count = values == NULL || model->is_trusted ? 0 : section_of(model, name)->count;
    for (int64_t i = 0; i < count; i++) require(model, isfinite(values[i]));
    return values;
}

/* -inf is a step that is impossible. */
static const double *wanted_doubles(postil_model *model, const char *name, int64_t rows, int64_t columns) {
    const double *values = wanted(model, name, F64, rows, columns);
    for (int64_t i = 0; values != NULL && i < rows * columns; i++)
        require(model, values[i] == -INFINITY || (values[i] >= -1e30 && values[i] <= 1e30));
    return values;
}

static number_table wanted_table(postil_model *model, const char *name) {
    const engine_section *s = section_of(model, name);
    number_table table = {.rows = s->rows, .width = s->columns};
    require(model, (s->type == F32 || s->type == F16) && s->rows >= 1 && s->columns >= 1 && s->columns <= MOST_WIDTH);
    if (s->type == F32) table.values = wanted_floats(model, name, -1, -1);
    if (s->type == F16) table.halves = s->values;
    for (int64_t i = 0; s->type == F16 && i < s->count; i++) require(model, (table.halves[i] & 0x7c00) != 0x7c00);
    return table;
}

static coded_rows wanted_coded_rows(postil_model *model, const char *part, int64_t width) {
    const size_t before = begin_part(model, part, 0);
    coded_rows rows = {wanted(model, "codes", U8, -1, -1), NULL, rows_of(model, "codes"), section_of(model, "codes")->columns};
    require(model, rows.rows >= 1 && rows.bytes >= 1 && rows.bytes <= width);
    rows.pieces = wanted_floats(model, "pieces", rows.bytes * PIECES, width);
    end_part(model, before);
    return rows;
}

/* The fixed vectors: a table, or codes. There must be one for each word. */
static void read_vectors(postil_model *model) {
    number_table *table = &model->vectors;
    if (!model->has_vectors) return;
    if (has_section(model, "vectors/first/pieces")) {
        table->width = section_of(model, "vectors/first/pieces")->columns;
        require(model, table->width >= 1 && table->width <= MOST_WIDTH);
        table->first = wanted_coded_rows(model, "vectors/first/", table->width);
        if (has_section(model, "vectors/rest/codes")) table->rest = wanted_coded_rows(model, "vectors/rest/", table->width);
        table->rows = table->first.rows + table->rest.rows;
    } else {
        *table = wanted_table(model, "vectors");
    }
    require(model, table->rows >= model->columns[model->words.count - 1].table.count);
}

/* The sections W and b of a part; a negative number of outputs is any. */
static linear_map wanted_map(postil_model *model, const char *part, int64_t inputs, int64_t outputs) {
    const size_t before = begin_part(model, part, 0);
    linear_map map = {NULL, NULL, inputs, outputs < 0 && has_section(model, "W") ? section_of(model, "W")->columns : outputs};
    require(model, map.outputs >= 1 && map.outputs <= MOST_WIDTH && inputs >= 1 && inputs <= MOST_WIDTH);
    map.W = wanted_floats(model, "W", inputs, map.outputs);
    map.b = wanted_floats(model, "b", map.outputs, 1);
    end_part(model, before);
    return map;
}

/* `count` strings, each with a zero after it. */
static const char **wanted_strings(postil_model *model, const char *name, int64_t count) {
    const engine_section *s = section_of(model, name);
    const char **strings = allocated(model, count, sizeof *strings), *at = s->values, *end = at;
    require(model, s->type == U8);
    if (strings == NULL || s->type != U8) return strings;
    end += s->count;
    for (int64_t i = 0; i < count; i++) {
        const char *zero = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;
        require(model, zero != NULL);
        if (zero == NULL) return strings;
        strings[i] = at;
        at = zero + 1;
    }
    require(model, at == end);
    for (at = s->values; at < end && model->code == POSTIL_OK;) {
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

/* ------------------------------------------------------------------------------------------------ characters, rules */

static int utf8_size(uint32_t code) { return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4; }

static void read_characters(postil_model *model) {
    const size_t before = begin_part(model, "characters/", 0);
    character_tables *known = &model->known;
    known->records = wanted(model, "records", I32, -1, 2);
    known->index = wanted(model, "index", U8, CHARACTER_BLOCKS, 1);
    known->pages = wanted(model, "pages", U8, -1, 1 << BLOCK_BITS);
    known->spaces = wanted(model, "spaces", U8, 256, 1);
    if (!model->is_trusted) {
        require_between(model, "index", 0, rows_of(model, "pages") - 1);
        require_between(model, "pages", 0, rows_of(model, "records") - 1);
    }
    end_part(model, before);
    /* words.c relies on it: lower case takes at most twice the bytes, a dotted capital I three. */
    for (int64_t code = 0; code <= LAST_CODE && model->code == POSTIL_OK && !model->is_trusted; code++) {
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
    if (set < 0 || set > check->sets - (check->classes + 63) / 64 || (steps && has(check->program->sets, set, 0)))
        check->is_good = 0;
}

static void check_instruction(program_check *check, int64_t at) {
    const int32_t *code = check->program->code + at;
    const int holds = check->holds[at];
    const int64_t left = check->size - at;
    int64_t next = 0; /* length, where the next instruction follows */
#define NEEDS(count) if (left < (count)) { check->is_good = 0; return; }
#define NEEDS_THAT(holds) if (!(holds)) check->is_good = 0;
    switch (code[0]) {
        case OP_MATCH:
        case OP_FAIL: return;
        case OP_CHAR: NEEDS(2) check_set(check, code[1], 1); next = 2; break;
        case OP_LOOK:
        case OP_BEHIND: NEEDS(2) check_set(check, code[1], 0); next = 2; break;
        case OP_RUN:
        case OP_RUN_LAZY: NEEDS(5) check_set(check, code[4], 0); next = 5; break;
        case OP_RUN_ALL: NEEDS(4) next = 4; break;
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
        case OP_AHEAD_END: NEEDS_THAT(holds >= 1) reach(check, at + 1, holds - 1); return;
        case OP_NOT_END: NEEDS_THAT(holds >= 1) return;
        case OP_BACK: NEEDS(2) NEEDS_THAT(code[1] >= 0) next = 2; break;
        default: check->is_good = 0; return;
    }
    if (next >= 4) { /* runs: of a set, at least, at most */
        check_set(check, code[1], 1);
        NEEDS_THAT(code[2] >= 0 && code[2] <= 1 << 20 && code[3] >= code[2])
    }
#undef NEEDS
#undef NEEDS_THAT
    reach(check, at + next, holds);
}

/* The program of a part, whose numbers are its classes and then its entries, and maybe one more: no path through it leaves
   the code, the sets, the row of the text or the stack. */
static void read_program(postil_model *model, const char *part, int64_t entries, pattern_program *program,
                         int32_t *const *numbers, int64_t count) {
    const size_t before = begin_part(model, part, 0);
    program->code = wanted(model, "code", I32, -1, 1);
    program->sets = wanted(model, "sets", U64, -1, -1);
    program->index = wanted(model, "index", U16, CHARACTER_BLOCKS, 1);
    program->pages = wanted(model, "pages", U16, -1, 1 << BLOCK_BITS);
    program_check check = {program, rows_of(model, "code"), section_of(model, "sets")->count, 0, NULL, NULL, 0, 1};
    check.classes = whole_number(model, "numbers", 0, 1, 65535);
    require_between(model, "index", 0, rows_of(model, "pages") - 1);
    require_between(model, "pages", 0, check.classes - 1);
    for (int64_t i = 0; i < count; i++) *numbers[i] = (int32_t)whole_number(model, "numbers", 1 + i, 0, INT32_MAX);
    check.holds = allocated(model, check.size, sizeof *check.holds);
    check.stack = allocated(model, check.size, sizeof *check.stack);
    end_part(model, before);
    if (model->code != POSTIL_OK) return;
    memset(check.holds, -1, (size_t)check.size);
    for (int64_t i = 0; i < entries; i++) reach(&check, *numbers[i], 0);
    while (check.depth > 0 && check.is_good) check_instruction(&check, check.stack[--check.depth]);
    require(model, check.is_good);
}

static void read_rules(postil_model *model) {
    token_rules *tokens = &model->tokens;
    sentence_rules *sentences = &model->sentences;
    int32_t *const of_tokens[] = {&tokens->token, &tokens->depends, &tokens->reach};
    int32_t *const of_sentences[] = {&sentences->line_break, &sentences->emoticon, &sentences->ellipsis};
    read_program(model, "tokens/", 2, &tokens->program, of_tokens, 3);
    read_program(model, "sentences/", 3, &sentences->program, of_sentences, 3);
    sentences->line_bytes = wanted(model, "sentences/line_bytes", U8, 256, 1);
    sentences->final_bytes = wanted(model, "sentences/final_bytes", U8, 256, 1);
    sentences->words = wanted(model, "sentences/words", U8, -1, 1);
    sentences->kinds = wanted(model, "sentences/kinds", U8, -1, 1);
    sentences->ends = wanted_offsets(model, "sentences/ends", "sentences/words", &sentences->count);
    require(model, sentences->count == rows_of(model, "sentences/kinds"));
}

/* ------------------------------------------------------------------------------------------------ words */

static void read_vocabularies(postil_model *model) {
    model->vocabulary_count = whole_number(model, "vocabularies", 0, 0, MOST_PARTS);
    model->vocabularies = allocated(model, model->vocabulary_count, sizeof *model->vocabularies);
    for (int64_t i = 0; i < model->vocabulary_count && model->code == POSTIL_OK; i++) {
        const size_t before = begin_part(model, "vocabulary%d/", i);
        const int64_t size = rows_of(model, "text"), count = rows_of(model, "offsets") - 1, slots = rows_of(model, "slots");
        const string_table table = {wanted(model, "text", U8, -1, 1), wanted(model, "offsets", I32, -1, 1),
                                    wanted(model, "slots", I32, -1, 1), size, count, slots};
        end_part(model, before);
        model->vocabularies[i] = table;
        require(model, count >= 1 && slots >= 1 && (slots & (slots - 1)) == 0);
        /* The searches check every entry that they meet; what follows keeps them short. */
        if (model->code != POSTIL_OK || model->is_trusted) continue;
        int64_t run = 0, longest = 0;
        for (int64_t k = 0; k < 2 * slots; k++) {
            run = table.slots[k & (slots - 1)] < 0 ? 0 : run + 1;
            longest = run > longest ? run : longest;
        }
        require(model, longest <= 128);
    }
}

/* The number of a vocabulary; negative: none. */
static string_table vocabulary_at(postil_model *model, int64_t number) {
    static const string_table none = {NULL, NULL, NULL, 0, 0, 0};
    require(model, number < model->vocabulary_count);
    return number >= 0 && number < model->vocabulary_count ? model->vocabularies[number] : none;
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
    word_folds *folds = model->folds = allocated(model, 1, sizeof *folds);
    if (folds == NULL) return;
    folds->table = wanted_codes(model, "folds", 4, 4, &folds->count);
    folds->decomposed = wanted_codes(model, "folds/decomposed", 5, 5, &folds->decomposed_count);
    folds->classes = wanted_codes(model, "folds/classes", 2, 1, &folds->class_count);
    folds->composed = wanted_codes(model, "folds/composed", 3, 3, &folds->composed_count);
    for (int64_t i = 0; i < folds->decomposed_count && model->code == POSTIL_OK; i++) { /* room for what codes become */
        const int32_t *row = folds->decomposed + 5 * i;
        require(model, row[0] >= 0x80 && (row[0] >= 0x800 || row[4] == 0));
    }
    for (int64_t i = 0; i < folds->count && model->code == POSTIL_OK; i++)
        if (folds->table[4 * i] < 128) folds->ascii[folds->table[4 * i]] = 1;
}

static void read_words(postil_model *model) {
    if (has_section(model, "folds")) read_folds(model);
    const int64_t count = rows_of(model, "words/columns");
    const int64_t *columns = wanted(model, "words/columns", I64, -1, 3), *lexicons = wanted(model, "lexicons", I64, -1, 2);
    word_rules rules = {model->crc, wanted(model, "words/shapes", U8, 32, 1), NULL, count, 0};
    rules.columns = model->columns = allocated(model, count, sizeof *model->columns);
    if (model->code != POSTIL_OK) return;
    require(model, count <= MOST_PARTS);
    for (int64_t f = 0; f < count && model->code == POSTIL_OK; f++) {
        const int64_t kind = columns[3 * f], length = columns[3 * f + 1], vocabulary = columns[3 * f + 2];
        require(model, kind >= WORD && kind < WORD_KINDS && length >= 0 && (kind == CAPS) == (vocabulary < 0));
        require(model, kind != VECTOR || f == count - 1);
        model->columns[f] = (word_column){kind, length, vocabulary_at(model, vocabulary)};
        model->has_vectors |= kind == VECTOR;
    }
    rules.mark = whole_number(model, "words/mark", 0, -1, 127);
    model->words = rules;
    model->features = count - model->has_vectors;
    model->lexicon_count = rows_of(model, "lexicons");
    model->lexicons = allocated(model, model->lexicon_count, sizeof *model->lexicons);
    for (int64_t i = 0; i < model->lexicon_count && model->code == POSTIL_OK; i++) {
        word_lexicon *lexicon = model->lexicons + i;
        const size_t before = begin_part(model, "lexicon%d/", i);
        require(model, lexicons[2 * i] >= 0 && lexicons[2 * i + 1] >= -1 && lexicons[2 * i + 1] < 128);
        lexicon->column = (word_column){VECTOR, 0, vocabulary_at(model, lexicons[2 * i])};
        lexicon->rules = (word_rules){model->crc, rules.shapes, &lexicon->column, 1, lexicons[2 * i + 1]};
        lexicon->codes = wanted(model, "codes", U16, lexicon->column.table.count, -1);
        lexicon->columns = section_of(model, "codes")->columns;
        require(model, lexicon->columns >= 1 && lexicon->columns <= 64);
        model->features += lexicon->columns;
        end_part(model, before);
    }
    if (!has_section(model, "alphabet/codes")) return;
    model->alphabet = rows_of(model, "alphabet/codes");
    model->letter_codes = wanted(model, "alphabet/codes", I32, -1, 1);
    model->letter_ids = wanted(model, "alphabet/ids", I32, model->alphabet, 1);
    require(model, model->alphabet >= 1);
    require_between(model, "alphabet/ids", 0, model->alphabet - 1);
}

/* The most ids that a feature of words can have: its table must have as many rows. */
static int64_t ids_of_feature(const postil_model *model, int64_t f) {
    const int64_t columns = model->words.count - model->has_vectors;
    if (f < columns) return model->columns[f].kind == CAPS ? WITHOUT_CASE + 1 : model->columns[f].table.count;
    const word_lexicon *lexicon = model->lexicons;
    for (f -= columns; f >= lexicon->columns; lexicon++) f -= lexicon->columns;
    int64_t most = 0;
    for (int64_t w = 0; w < lexicon->column.table.count; w++) {
        const int64_t code = lexicon->codes[w * lexicon->columns + f];
        most = code > most ? code : most;
    }
    return most + 1;
}

/* ------------------------------------------------------------------------------------------------ network */

/* Step s of member m, whose input has *width numbers. */
static void read_step(postil_model *model, int64_t m, int64_t s, int64_t *width) {
    const int64_t kind = whole_number(model, "steps", 2 * s, LINEAR, RESIDUAL);
    network_step step = {.kind = kind, .function = whole_number(model, "steps", 2 * s + 1, IDENTITY, LAST_FUNCTION)};
    step.dilation = has_section(model, "dilations") ? whole_number(model, "dilations", s, 1, 10000) : 1;
    const size_t before = begin_part(model, "member%d/", m);
    begin_part(model, "step%d/", s);
    if (kind == NORMALISE || kind == RESIDUAL) {
        step.gain = wanted_floats(model, "gain", *width, 1);
        step.bias = wanted_floats(model, "bias", *width, 1);
    }
    if (kind == RESIDUAL) {
        const int64_t inputs = rows_of(model, "W");
        step.padding = wanted_floats(model, "padding", *width, 1);
        step.size = inputs / *width;
        require(model, step.size >= 1 && step.size <= 99 && step.size % 2 == 1 && step.size * *width == inputs);
        step.map = wanted_map(model, "", inputs, *width);
        if (inputs > model->widest_windows) model->widest_windows = inputs;
    }
    if (kind == LINEAR) step.map = wanted_map(model, "", *width, -1);
    if (kind == LINEAR && model->code == POSTIL_OK) *width = step.map.outputs;
    if (*width > model->widest) model->widest = *width;
    model->network[m].steps[s] = step;
    end_part(model, before);
}

static int64_t read_member(postil_model *model, int64_t m) {
    network_member *member = model->network + m;
    int64_t D = 0, width = model->H;
    member->tables = allocated(model, model->features, sizeof *member->tables);
    member->steps = allocated(model, model->step_count, sizeof *member->steps);
    const size_t before = begin_part(model, "member%d/", m);
    for (int64_t f = 0; f < model->features && model->code == POSTIL_OK; f++) {
        const size_t outside = begin_part(model, "table%d", f);
        member->tables[f] = wanted_table(model, "");
        end_part(model, outside);
        require(model, member->tables[f].rows >= ids_of_feature(model, f));
        D += member->tables[f].width;
    }
    D += model->has_vectors ? model->vectors.width : 0;
    if (model->alphabet > 0) {
        const int64_t F = model->filters = rows_of(model, "characters/b");
        require(model, F >= 1 && F <= MOST_WIDTH);
        member->letter_bias = wanted_floats(model, "characters/b", F, 1);
        member->letters = wanted_floats(model, "characters/rows", model->alphabet + 1, 3 * F);
        D += F;
    }
    require(model, m == 0 || D == model->D);
    model->D = D;
    if (model->code == POSTIL_OK) {
        member->first = wanted_map(model, "first/", D, model->K * model->H);
        member->padding = wanted_floats(model, "first/padding", model->K * model->H, 1);
    }
    end_part(model, before);
    for (int64_t s = 0; s < model->step_count && model->code == POSTIL_OK; s++) read_step(model, m, s, &width);
    return width;
}

/* The width of what the heads get. */
static int64_t read_network(postil_model *model) {
    int64_t width = 0;
    model->members = whole_number(model, "network", 0, 1, 100);
    model->K = whole_number(model, "network", 1, 1, 99);
    model->widest = model->H = whole_number(model, "network", 2, 1, 1 << 20);
    model->function = whole_number(model, "network", 3, IDENTITY, HARDTANH);
    model->is_mean = whole_number(model, "network", 4, 0, 1);
    model->step_count = whole_number(model, "network", 5, 0, 1000);
    model->reach = whole_number(model, "network", 6, 0, 10000);
    require(model, model->K % 2 == 1 && whole_number(model, "network", 7, 0, MOST_PARTS) == model->features);
    wanted(model, "steps", I64, model->step_count, 2);
    read_vectors(model);
    model->network = allocated(model, model->members, sizeof *model->network);
    for (int64_t m = 0; m < model->members && model->code == POSTIL_OK; m++) width = read_member(model, m);
    return width;
}

/* ------------------------------------------------------------------------------------------------ labels */

/* Whether first and count are a part of `all`. */
static int is_part(const int64_t *range, int64_t all) {
    return range[0] >= 0 && range[0] <= all && range[1] >= 0 && range[1] <= all - range[0];
}

static void read_votes(postil_model *model, task_head *head) {
    vote_rules *v = &head->votes;
    int64_t names = 0, spelt = 0;
    v->count = rows_of(model, "rules");
    require(model, v->count >= 1 && v->count <= MOST_PARTS);
    v->rules = wanted(model, "rules", I64, v->count, RULE);
    v->elements = wanted(model, "rules/elements", I64, -1, ELEMENT);
    v->lifts = wanted_doubles(model, "rules/lifts", 4 * v->count, head->L);
    v->text = wanted(model, "rules/names", U8, -1, 1);
    v->offsets = wanted_offsets(model, "rules/offsets", "rules/names", &names);
    v->spellings = wanted(model, "rules/spellings", U8, -1, 1);
    v->spelt = wanted_offsets(model, "rules/spelt", "rules/spellings", &spelt);
    v->codes = wanted(model, "rules/codes", I32, spelt, 1);
    v->maps = wanted(model, "rules/maps", I64, -1, 2);
    const int64_t F = rows_of(model, "rules/maps"), E = rows_of(model, "rules/elements");
    for (int64_t i = 0; i < F && model->code == POSTIL_OK; i++) require(model, is_part(v->maps + 2 * i, spelt));
    for (int64_t i = 0; i < 4 * v->count * head->L && model->code == POSTIL_OK; i++)
        require(model, v->lifts[i] >= -1e6 && v->lifts[i] <= 1e6);
    for (int64_t i = 0; i < E && model->code == POSTIL_OK; i++) {
        const int64_t *e = v->elements + ELEMENT * i, parts[2] = {e[6], e[7] >= 0 && e[7] <= names ? 2 * e[7] : -1};
        require(model, e[0] >= OF_WORDS && e[0] <= OF_PUNCTUATION && e[1] >= 0 && e[1] <= e[2] && e[2] >= 1 &&
                           e[2] <= LONGEST_PATTERN && e[3] >= -1 && e[3] < F && is_part(e + 4, names) && is_part(parts, names));
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
static void read_labels(postil_model *model, task_head *head) {
    const int64_t L = head->L, C = head->C = whole_number(model, "numbers", 1, 0, L);
    chain_question *q = &head->q;
    q->outside = whole_number(model, "numbers", 2, -1, L - 1);
    head->is_iob1 = (int)whole_number(model, "numbers", 4, 0, 1);
    head->spellings = head->is_iob1 ? 2 * L : L;
    require(model, !head->is_iob1 || C > 0);
    head->name = wanted_string(model, "name");
    head->labels = wanted_strings(model, "labels", head->spellings);
    head->class_names = wanted_strings(model, "classes", C);
    head->transitions = wanted_doubles(model, "transitions", L, L);
    head->start = wanted_doubles(model, "start", L, 1);
    head->end = wanted_doubles(model, "end", L, 1);
    q->alike = wanted_doubles(model, "alike", L, L);
    const double *reals = wanted_doubles(model, "reals", 2, 1);
    if (has_section(model, "bonus")) q->bonus = wanted_doubles(model, "bonus", L, 1);
    if (C > 0) {
        q->classes = wanted(model, "class_of", I64, L, 1);
        q->begins = wanted(model, "begins", U8, L, 1);
        if (has_section(model, "after")) q->after = wanted(model, "after", U8, C, L);
        if (has_section(model, "lowest")) q->lowest = wanted_doubles(model, "lowest", C, 1);
        require(model, q->lowest == NULL || q->outside >= 0);
    }
    if (model->code != POSTIL_OK) return;
    q->temperature = reals[0], q->shift = reals[1];
    require(model, q->temperature >= 1e-6 && q->temperature <= 1e6 && q->shift >= -1e6 && q->shift <= 1e6);
    for (int64_t i = 0; i < L * L; i++) require(model, q->alike[i] >= 0.0 && q->alike[i] <= 1.0);
    for (int64_t j = 0; C > 0 && j < L; j++)
        require(model, q->classes[j] < C && (!q->begins[j] || q->classes[j] >= 0));
    if (has_section(model, "rules")) read_votes(model, head);
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
    const size_t before = begin_part(model, "head%d/", t);
    const int64_t L = head->L = whole_number(model, "numbers", 0, 1, 1 << 16);
    head->maps = whole_number(model, "numbers", 3, 0, 3);
    require(model, head->maps != 2);
    require(model, head->maps > 0 || (width == L && model->head_count == 1));
    if (!model->is_trusted) read_labels(model, head); /* Python reads answers from the scores */
    head->wide = (L + VECTOR_OF_LABELS - 1) / VECTOR_OF_LABELS * VECTOR_OF_LABELS;
    head->outputs = allocated(model, model->members * head->maps, sizeof *head->outputs);
    for (int64_t i = 0; i < model->members * head->maps && model->code == POSTIL_OK; i++) {
        const size_t outside = begin_part(model, "member%d/", i / head->maps);
        begin_part(model, "map%d/", i % head->maps);
        head->outputs[i] = wanted_map(model, "", width, L);
        end_part(model, outside);
        if (model->code == POSTIL_OK) head->outputs[i] = widened(model, head->outputs[i], head->wide);
    }
    end_part(model, before);
    model->all_labels += L;
    if (L > model->most_labels) model->most_labels = L;
}

/* ------------------------------------------------------------------------------------------------ opening */

static void read_tree_network(postil_model *model); /* trees.c */
static int open_model(postil_model begun, postil_model **opened);

static int is_of(const character_tables *known, uint32_t code, int first, int last) {
    const int category = flags_of(known, code) & CATEGORY;
    return category >= first && category <= last;
}

/* A tagger inside of the model, each of whose labels is one of `count` names; what they mean. */
static void read_cutter(postil_model *model, const char *name, int count, postil_model **opened, uint8_t *meaning) {
    static const struct {
        const char *name;
        uint8_t of_characters, of_tokens;
    } known[] = {{"inside", GOES_ON_INSIDE, ENDS_TOKEN}, {"sentence", ENDS_SENTENCE, ENDS_SENTENCE},
                 {"token", ENDS_TOKEN, 0}, {"word", ENDS_TOKEN, 0}};
    const engine_section *inner = section_of(model, name);
    int seen = 0;
    require(model, inner->type == U8);
    if (model->code != POSTIL_OK) return;
    const postil_model begun = {.bytes = inner->values, .size = (size_t)inner->count, .known = model->known, .is_cutter = 1};
    const int code = open_model(begun, opened);
    if (code != POSTIL_OK) {
        fail(model, code == POSTIL_NO_MEMORY ? code : POSTIL_DAMAGED);
        return;
    }
    const task_head *head = (*opened)->heads;
    require(model, (*opened)->kind == TAGGER && (*opened)->head_count == 1);
    require(model, head->spellings == count || (count == CUT_LABELS && head->spellings == count - 1));
    if (model->code != POSTIL_OK) return;
    for (int64_t j = 0; j < head->spellings; j++)
        for (int k = 0; k < count; k++)
            if (strcmp(head->labels[j], known[k].name) == 0)
                meaning[j] = count == CUT_LABELS ? known[k].of_characters : known[k].of_tokens, seen |= 1 << k;
    require(model, seen == (1 << head->spellings) - 1);
}

static void read_cuts(postil_model *model) {
    learned_cuts *cuts = &model->cuts;
    int32_t *const entry[] = {&cuts->entry};
    if (has_section(model, "cuts")) cuts->how = whole_number(model, "cuts", 0, INTO_CHARACTERS, BY_TAGGER);
    if (cuts->how == BY_RULES) read_rules(model);
    if (cuts->how != BY_TAGGER || model->code != POSTIL_OK) return;
    cuts->reach = whole_number(model, "cuts", 1, 2, 3);
    if (has_section(model, "cuts/crossed")) cuts->crossed = wanted(model, "cuts/crossed", U8, CATEGORIES, CATEGORIES);
    read_program(model, "cuts/address/", 1, &cuts->address, entry, 1);
    read_cutter(model, "cuts/tagger", CUT_LABELS, &cuts->tagger, cuts->meaning[0]);
    if (model->code == POSTIL_OK && has_section(model, "cuts/ends"))
        read_cutter(model, "cuts/ends", 2, &cuts->ends, cuts->meaning[1]);
}

static void read_header(postil_model *model) {
    const uint8_t *bytes = model->bytes, *rows = bytes + HEADER_SIZE;
    const uint16_t one = 1;
    const int is_model = model->size >= HEADER_SIZE && memcmp(bytes, "POSTILX", 8) == 0;
    if (!is_model || *(const uint8_t *)&one != 1 || number_at(bytes + 8, 4) != FORMAT_VERSION) {
        fail(model, is_model ? POSTIL_OTHER_VERSION : POSTIL_NOT_A_MODEL);
        return;
    }
    const int64_t count = (int64_t)number_at(bytes + 12, 4);
    require(model, number_at(bytes + 16, 8) == model->size && (uint64_t)count <= (model->size - HEADER_SIZE) / ROW_SIZE);
    if (model->code != POSTIL_OK) return;
    uint32_t checksum = 0xffffffffu;
    for (size_t i = 0; i < model->size - HEADER_SIZE; i++)
        checksum = model->crc[(checksum ^ rows[i]) & 0xff] ^ checksum >> 8;
    require(model, ~checksum == number_at(bytes + 24, 4));
    engine_section *directory = allocated(model, count, sizeof *directory);
    for (int64_t i = 0; i < count && model->code == POSTIL_OK; i++)
        require(model, read_section(model, rows + i * ROW_SIZE, directory + i));
    model->directory = directory, model->sections = count;
}

static void read_model(postil_model *model) {
    for (uint32_t i = 0; i < 256; i++) { /* the table of CRC-32 */
        uint32_t x = i;
        for (int k = 0; k < 8; k++) x = x & 1 ? x >> 1 ^ 0xedb88320u : x >> 1;
        model->crc[i] = x;
    }
    if (!model->is_trusted) {
        read_header(model);
        if (model->code != POSTIL_OK) return;
        model->kind = whole_number(model, "kind", 0, TAGGER, TREE_CLASSIFIER);
        model->about = wanted_string(model, "about");
    }
    if (!model->is_cutter) read_characters(model);
    if (model->code == POSTIL_OK) read_vocabularies(model);
    if (model->code == POSTIL_OK) read_words(model);
    if (model->code == POSTIL_OK && model->kind == TREE_CLASSIFIER) read_tree_network(model);
    if (model->code != POSTIL_OK || model->kind == TREE_CLASSIFIER) return;
    if (!model->is_trusted && !model->is_cutter) read_cuts(model); /* Python cuts texts into tokens before */
    if (model->code != POSTIL_OK) return;
    const int64_t width = read_network(model);
    model->head_count = whole_number(model, "heads", 0, 1, 1000);
    model->heads = allocated(model, model->head_count, sizeof *model->heads);
    for (int64_t t = 0; t < model->head_count && model->code == POSTIL_OK; t++) read_head(model, t, width);
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

/* A number that no task has stands for a task without labels. */
static const task_head *head_at(const postil_model *model, int32_t task) {
    static const task_head none;
    return task >= 0 && task < model->head_count ? model->heads + task : &none;
}

const char *postil_task(const postil_model *model, int32_t task) { return head_at(model, task)->name; }

int32_t postil_label_count(const postil_model *model, int32_t task) { return (int32_t)head_at(model, task)->spellings; }

const char *postil_label(const postil_model *model, int32_t task, int32_t label) {
    return label < 0 || label >= postil_label_count(model, task) ? NULL : head_at(model, task)->labels[label];
}

int32_t postil_entity_label_count(const postil_model *model, int32_t task) { return (int32_t)head_at(model, task)->C; }

const char *postil_entity_label(const postil_model *model, int32_t task, int32_t label) {
    return label < 0 || label >= postil_entity_label_count(model, task) ? NULL : head_at(model, task)->class_names[label];
}

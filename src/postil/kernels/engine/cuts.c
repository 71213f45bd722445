/* ------------------------------------------------------------------------------------------------ cuts by characters

   The same as models/segmentation.py: a text as characters, each with its combining marks. They are the tokens; or a
   tagger of characters inside of the model says after which of them a token or a sentence ends, and guards keep what
   training data cannot teach. */

static int continues(const character_tables *known, uint32_t before, uint32_t code) {
    static const int64_t jamo[] = {0x1100, 0x1160, 0x11a8, 0x1200}; /* consonants, vowels, finals of Hangul, in this order */
    if (code < 0x80) return 0;
    if (is_of(known, code, FIRST_MARK, LAST_MARK) || code == 0x200c || code == 0x200d) return 1;
    if ((code >= 0x1f3fb && code <= 0x1f3ff) || (code >= 0xe0020 && code <= 0xe007f)) return 1; /* skin, tags of flags */
    if (before == 0x200d) return is_of(known, code, OTHER_SYMBOL, OTHER_SYMBOL);
    if (before < jamo[0] || before >= jamo[3] || code < jamo[0] || code >= jamo[3]) return 0;
    return (before >= jamo[1]) + (before >= jamo[2]) <= (code >= jamo[1]) + (code >= jamo[2]);
}

/* cells (U, 2) of the characters of a text; U, or -1 where it is not UTF-8. */
static int64_t character_cells(const character_tables *known, const uint8_t *text, int64_t size, int64_t *cells) {
    int64_t U = 0;
    uint32_t before = 0, code = 0;
    int bytes, letters = 0; /* of a flag, which has two */
    for (int64_t at = 0; at < size; at += bytes, before = code) {
        bytes = decode(text + at, text + size, &code);
        if (bytes == 0 || is_surrogate(code)) return -1;
        if (flags_of(known, code) & IS_SPACE) continue;
        const int of_flag = code >= 0x1f1e6 && code <= 0x1f1ff, follows = U > 0 && cells[2 * U - 1] == at;
        if (follows && ((of_flag && letters == 1) || continues(known, before, code))) {
            letters += of_flag;
        } else {
            cells[2 * U++] = at;
            letters = of_flag;
        }
        cells[2 * U - 1] = at + bytes;
    }
    return U;
}

static int is_among(const uint32_t *codes, uint32_t code) {
    while (*codes != 0 && *codes != code) codes++;
    return *codes != 0;
}

/* The end of the sentence that begins at `at`: before a line break, or after a final mark with what closes after it. */
static int64_t sentence_of_characters(const uint8_t *text, int64_t size, int64_t at) {
    static const uint32_t breaks[] = {'\n', '\r', '\f', 0x85, 0x2028, 0x2029, 0};
    static const uint32_t marks[] = {0x3002, 0xff01, 0xff1f, 0xff61, '!', '?', 0x2026, 0};
    static const uint32_t closing[] = {0x300d, 0x300f, 0xff09, 0x3011, 0x300b, 0x3009, 0x201d, 0x2019, '"', '\'', ')', ']', 0};
    enum { BEFORE, FIRST, INSIDE_OF, AFTER_MARK, CLOSED } state = BEFORE;
    for (uint32_t code = 0; at < size; at += utf8_size(code)) {
        decode(text + at, text + size, &code);
        const int is_break = is_among(breaks, code), is_mark = is_among(marks, code), closes = is_among(closing, code);
        if (state == BEFORE && is_break) continue;
        if (is_break || (state == AFTER_MARK && !is_mark && !closes) || (state == CLOSED && !closes)) break;
        if (state >= AFTER_MARK)
            state = closes ? CLOSED : AFTER_MARK;
        else
            state = state == BEFORE ? FIRST : is_mark ? AFTER_MARK : INSIDE_OF;
    }
    return at;
}

/* Cells and offsets of the workspace: every character is a token. */
static int cut_into_characters(postil_workspace *w, const uint8_t *text, int64_t size, int64_t *N, int64_t *sentences) {
    const int64_t U = *N = character_cells(&w->model->known, text, size, w->cells);
    if (U < 0) return POSTIL_NOT_UTF8;
    w->offsets[0] = *sentences = 0;
    for (int64_t u = 0, end = 0; u < U;) {
        end = sentence_of_characters(text, size, end);
        const int64_t first = u;
        while (u < U && (w->cells[2 * u] < end || end == size)) u++;
        if (u > first) w->offsets[++*sentences] = u;
    }
    return POSTIL_OK;
}

/* The text with one space for each run of white space, w->joined; where the characters are there, w->spans (U, 2). Its
   size. */
static int64_t join_characters(postil_workspace *w, const uint8_t *text, int64_t U) {
    int64_t size = 0;
    for (int64_t u = 0; u < U; u++) {
        const int64_t first = w->cells[2 * u], bytes = w->cells[2 * u + 1] - first;
        if (u > 0 && first > w->cells[2 * u - 1]) w->joined[size++] = ' ';
        memcpy(w->joined + size, text + first, (size_t)bytes);
        w->spans[2 * u] = size;
        w->spans[2 * u + 1] = size += bytes;
    }
    return size;
}

/* Where a word of a tagger is in w->joined: a character with the next ones, or a token, a sign with the space after it. */
static void place_word(const postil_workspace *w, const uint8_t *text, int64_t i, int64_t count, int of_tokens, int64_t *cell) {
    const int64_t reached = i + w->model->cuts.reach - 1;
    if (!of_tokens) {
        cell[0] = w->spans[2 * i], cell[1] = w->spans[2 * (reached < count ? reached : count - 1) + 1];
        return;
    }
    const int64_t last = w->path[i];
    uint32_t code = 0;
    cell[0] = w->spans[2 * (i > 0 ? w->path[i - 1] + 1 : 0)], cell[1] = w->spans[2 * last + 1];
    if (i + 1 == count || w->spans[2 * last + 2] == cell[1]) return;
    decode(text + w->cells[2 * last], text + w->cells[2 * last + 1], &code);
    /* Not of a flag, a joined character, an emoji, and neither a letter, a digit nor a mark. */
    cell[1] += !(code == 0x200c || code == 0x200d || (code >= 0x1f1e6 && code <= 0x1f1ff) ||
                 (code >= 0x1f3fb && code <= 0x1f3ff) || (code >= 0xe0020 && code <= 0xe007f) ||
                 is_of(&w->model->known, code, FIRST_LETTER, LAST_NUMBER));
}

/* w->exact: what the tagger of characters says about each of them, or that of tokens about the last one of each. */
static int label_words(postil_workspace *w, const uint8_t *text, int64_t size, int64_t count, int of_tokens) {
    postil_workspace *inner = w->cutters[of_tokens];
    postil_result result;
    for (int64_t first = 0; first < count; first += LABELLED) {
        const int64_t end = first + LABELLED < count ? first + LABELLED : count;
        const int64_t low = first > AROUND ? first - AROUND : 0, high = end + AROUND < count ? end + AROUND : count;
        for (int64_t i = low; i < high; i++) place_word(w, text, i, count, of_tokens, inner->cells + 2 * (i - low));
        inner->offsets[0] = 0, inner->offsets[1] = high - low;
        const int code = tag_cells(inner, w->joined, size, high - low, 1, &result);
        if (code != POSTIL_OK) return code;
        for (int64_t i = first; i < end; i++) {
            uint8_t *label = w->exact + (of_tokens ? w->path[i] : i);
            if (!of_tokens || *label != ENDS_SURELY) *label = w->model->cuts.meaning[of_tokens][result.layers[0].labels[i - low]];
        }
    }
    return POSTIL_OK;
}

static int64_t category_at(const postil_model *model, const uint8_t *text, int64_t size, int64_t at) {
    uint32_t code = 0;
    decode(text + at, text + size, &code);
    return flags_of(&model->known, code) & CATEGORY;
}

/* A blank line ends a sentence; a space is inside of a token only between such characters as in training. */
static void guard_gaps(postil_workspace *w, const uint8_t *text, int64_t size, int64_t U) {
    const uint8_t *crossed = w->model->cuts.crossed;
    for (int64_t u = 0; u + 1 < U; u++) {
        int64_t lines = 0;
        const int64_t gap = w->cells[2 * u + 1], next = w->cells[2 * u + 2];
        if (gap == next) continue;
        if (w->exact[u] == GOES_ON_INSIDE && crossed != NULL &&
            !crossed[CATEGORIES * category_at(w->model, text, size, w->cells[2 * u]) + category_at(w->model, text, size, next)])
            w->exact[u] = ENDS_TOKEN;
        for (int64_t at = gap; at < next; at++) lines += text[at] == '\n';
        if (lines > 1) w->exact[u] = ENDS_SURELY;
    }
}

static int looks_like_address(const uint8_t *text, int64_t size) {
    for (int64_t at = 0; at < size; at++) {
        if (text[at] == '@') return 1;
        if (at + 2 < size && memcmp(text + at, "://", 3) == 0) return 1;
        if (at + 3 < size && text[at + 3] == '.' && (text[at] | 32) == 'w' && (text[at + 1] | 32) == 'w' &&
            (text[at + 2] | 32) == 'w')
            return 1;
    }
    return 0;
}

/* Addresses of the web among the characters first:end, between which there is no space: each is a token. */
static int guard_addresses(postil_workspace *w, const uint8_t *text, int64_t first, int64_t end) {
    const pattern_program *program = &w->model->cuts.address;
    const int64_t begin = w->cells[2 * first], size = w->cells[2 * end - 1] - begin;
    retreat stack[DEEPEST];
    class_row row;
    if (!looks_like_address(text + begin, size)) return POSTIL_OK;
    begin_row(&row);
    int64_t steps = 8192 + 512 * size;
    int32_t found = 0;
    int odd = 0;
    const int64_t count = read_row(&row, program, text + begin, size, &odd);
    if (count < 0) return POSTIL_NO_MEMORY;
    const int32_t *places = row.places;
    for (int32_t at = 0; at < count && found != TOO_HARD; at = found > at ? found : at + 1) {
        found = match(program, w->model->cuts.entry, row.classes + 1, at, &steps, stack);
        if (found <= at) continue;
        while (first < end && w->cells[2 * first] - begin < places[at]) first++;
        if (first > 0 && w->exact[first - 1] == GOES_ON_INSIDE && w->cells[2 * first] > w->cells[2 * first - 1])
            w->exact[first - 1] = ENDS_TOKEN;
        for (; first < end && w->cells[2 * first] - begin < places[found]; first++) {
            const int is_last = first + 1 == end || w->cells[2 * first + 2] - begin >= places[found];
            if (!is_last || w->exact[first] == GOES_ON_INSIDE) w->exact[first] = is_last ? ENDS_TOKEN : GOES_ON_INSIDE;
        }
    }
    free_row(&row);
    return found == TOO_HARD ? POSTIL_TOO_HARD : POSTIL_OK;
}

/* Cells and offsets of the workspace, by the tagger inside of the model. */
static int cut_by_tagger(postil_workspace *w, const uint8_t *text, int64_t size, int64_t *N, int64_t *sentences) {
    const int64_t U = character_cells(&w->model->known, text, size, w->cells);
    *N = *sentences = w->offsets[0] = 0;
    if (U <= 0) return U < 0 ? POSTIL_NOT_UTF8 : POSTIL_OK;
    const int64_t joined = join_characters(w, text, U);
    int code = label_words(w, text, joined, U, 0);
    if (code != POSTIL_OK) return code;
    guard_gaps(w, text, size, U);
    for (int64_t first = 0, end; first < U && code == POSTIL_OK; first = end) {
        for (end = first + 1; end < U && w->cells[2 * end] == w->cells[2 * end - 1];) end++;
        code = guard_addresses(w, text, first, end);
    }
    w->exact[U - 1] = ENDS_SURELY;
    if (code == POSTIL_OK && w->cutters[1] != NULL) { /* the tagger of tokens says which of them end sentences */
        int64_t count = 0;
        for (int64_t u = 0; u < U; u++)
            if (w->exact[u] != GOES_ON_INSIDE) w->path[count++] = u;
        code = label_words(w, text, joined, count, 1);
    }
    for (int64_t u = 0, first = 0; u < U; u++) {
        if (w->exact[u] == GOES_ON_INSIDE) continue;
        w->cells[2 * *N] = w->cells[2 * first], w->cells[2 * *N + 1] = w->cells[2 * u + 1];
        ++*N, first = u + 1;
        if (w->exact[u] >= ENDS_SENTENCE) w->offsets[++*sentences] = *N;
    }
    return code;
}

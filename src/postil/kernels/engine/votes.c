/* ------------------------------------------------------------------------------------------------ votes of rules

   Lists of names and patterns over words vote for entities, as models/voting/rule.py describes. What a vote says about
   the labels of its tokens is added to their scores. */

enum { LONGEST_LISTED = 100, STRANGER = 0xff };

static const uint8_t *bytes_of(const vote_rules *rules, int64_t name, int64_t *size) {
    *size = rules->offsets[name + 1] - rules->offsets[name];
    return rules->text + rules->offsets[name];
}

/* A word as a map of characters spells it, in the workspace; its size. Characters that the map does not have become
   STRANGER, which is in no name. */
static int64_t spell(const postil_workspace *w, const vote_rules *rules, int64_t map, const uint8_t *word, int64_t size,
                     int64_t most) {
    const int64_t *range = rules->maps + 2 * map;
    const uint8_t *end = word + size;
    int64_t used = 0;
    for (int64_t n = 0; word < end && n < most; n++) {
        uint32_t code = 0;
        const int step = decode(word, end, &code);
        const int32_t *found = step > 0 ? row_with(rules->codes + range[0], range[1], 1, (int32_t)code, 0, 1) : NULL;
        const int64_t *spelt = rules->spelt + (found == NULL ? 0 : found - rules->codes), bytes = found ? spelt[1] - spelt[0] : 1;
        if (used + bytes > w->spelling_size) return used;
        if (found != NULL) memcpy(w->spelling + used, rules->spellings + spelt[0], (size_t)bytes);
        else w->spelling[used] = STRANGER;
        used += bytes;
        word += step > 0 ? step : 1;
    }
    return used;
}

/* Of sorted names low:high that begin alike, the first one whose byte at `depth` is not below `byte`; a name that ends
   there comes before all others. */
static int64_t first_not_below(const vote_rules *rules, int64_t low, int64_t high, int64_t depth, int byte) {
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        int64_t size;
        const uint8_t *name = bytes_of(rules, middle, &size);
        if (size <= depth || name[depth] < byte) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The end of the longest name of a list that begins at token `start`; `start` itself if there is none. */
static int64_t listed_until(const postil_workspace *w, const vote_rules *rules, const int64_t *rule, const passage *p,
                            int64_t start, int64_t end) {
    int64_t low = rule[2], high = rule[2] + rule[3], depth = 0, best = start;
    for (int64_t t = start; t < end; t++) {
        const int64_t *cell = p->cells + 2 * t;
        const int64_t size = spell(w, rules, rule[1], p->text + cell[0], cell[1] - cell[0], LONGEST_LISTED);
        if (t == start && size == 0) return start;
        for (int64_t i = 0; i < size && low < high; i++, depth++) {
            low = first_not_below(rules, low, high, depth, w->spelling[i]);
            high = first_not_below(rules, low, high, depth, w->spelling[i] + 1);
        }
        if (low == high) return best;
        int64_t whole;
        bytes_of(rules, low, &whole);
        if (whole == depth) best = t + 1;
    }
    return best;
}

/* As Python's methods of strings are. */
static int is_of_kind(const character_tables *known, int64_t kind, const uint8_t *word, int64_t size) {
    int64_t upper = 0, lower = 0, title = 0, alpha = 0, digits = 0, alnum = 0, count = 0, rest_upper = 0, rest_lower = 0;
    int first_upper = 0, before = 0, is_title = 1;
    for (const uint8_t *end = word + size; word < end; count++) {
        uint32_t code = 0;
        const int step = decode(word, end, &code);
        const int32_t flags = step > 0 ? flags_of(known, code) : 0;
        const int up = (flags & IS_UPPER) != 0, down = (flags & IS_LOWER) != 0, both = (flags & IS_TITLE) != 0;
        upper += up, lower += down, title += both, alpha += (flags & IS_ALPHA) != 0, digits += (flags & IS_DIGIT) != 0;
        alnum += (flags & IS_WORD) != 0 && code != '_';
        if (count == 0) first_upper = up;
        else rest_upper += up, rest_lower += down || both;
        if (((up || both) && before) || (down && !before)) is_title = 0;
        before = up || both || down;
        word += step > 0 ? step : 1;
    }
    switch (kind) {
        case OF_ANY_KIND: return 1;
        case OF_CAPITAL: return first_upper && !(rest_upper > 0 && rest_lower == 0);
        case OF_UPPER: return upper > 0 && lower + title == 0;
        case OF_LOWER: return lower > 0 && upper + title == 0;
        case OF_TITLE: return is_title && upper + lower + title > 0;
        case OF_LETTERS: return count > 0 && alpha == count;
        case OF_NUMBER: return digits > 0 && alpha == 0;
        default: return alnum == 0;
    }
}

/* Whether an element of a pattern (kind, least, most, map, words and their number, parts and theirs) matches a word. */
static int matches_word(const postil_workspace *w, const vote_rules *rules, const int64_t *element, const uint8_t *word,
                        int64_t size) {
    if (element[0] > OF_WORDS) return is_of_kind(&w->model->known, element[0], word, size);
    if (element[3] >= 0) {
        size = spell(w, rules, element[3], word, size, size);
        word = w->spelling;
    }
    int64_t low = element[4], high = element[4] + element[5], length;
    for (int64_t i = 0; i < size && low < high; i++) {
        low = first_not_below(rules, low, high, i, word[i]);
        high = first_not_below(rules, low, high, i, word[i] + 1);
    }
    if (low < high) {
        bytes_of(rules, low, &length);
        if (length == size) return 1;
    }
    for (int64_t k = 0; k < element[7]; k++) {
        int64_t begins, ends;
        const uint8_t *begin = bytes_of(rules, element[6] + 2 * k, &begins), *end = bytes_of(rules, element[6] + 2 * k + 1, &ends);
        if (size > begins + ends && memcmp(word, begin, (size_t)begins) == 0 &&
            memcmp(word + size - ends, end, (size_t)ends) == 0)
            return 1;
    }
    return 0;
}

/* An element, how often it has matched, and the entity so far. */
typedef struct {
    int64_t index, count, begin, end;
} pattern_state;

typedef struct {
    const int64_t *rule, *elements;
    pattern_state states[LONGEST_PATTERN + 1];
    int64_t count, reached, begin, end; /* of states; where the best match ends; its entity, empty if there is none */
} pattern_run;

/* Add a state and those that follow from it without a token; longer matches replace shorter ones. */
static void enter_state(pattern_run *run, pattern_state s, int64_t place) {
    for (;; s.index++, s.count = 0) {
        if (s.index == run->rule[4] && s.count == 0) s.begin = place;
        if (s.index == run->rule[5] && s.count == 0) s.end = place;
        if (s.index == run->rule[3]) {
            if (s.end > s.begin && (run->end == run->begin || place >= run->reached))
                run->begin = s.begin, run->end = s.end, run->reached = place;
            return;
        }
        int64_t i = 0;
        while (i < run->count && (run->states[i].index != s.index || run->states[i].count != s.count)) i++;
        if (i == run->count && i < LONGEST_PATTERN) run->states[run->count++] = s;
        if (s.count < run->elements[ELEMENT * s.index + 1]) return;
    }
}

/* The longest match that begins at token `start`. */
static void run_pattern(const postil_workspace *w, const vote_rules *rules, pattern_run *run, const passage *p, int64_t start,
                        int64_t end) {
    const pattern_state first = {0, 0, start, start};
    run->count = 0, run->begin = run->end = run->reached = start;
    enter_state(run, first, start);
    for (int64_t place = start; place < end && run->count > 0; place++) {
        const int64_t *cell = p->cells + 2 * place, before = run->count;
        pattern_state states[LONGEST_PATTERN + 1];
        memcpy(states, run->states, sizeof states);
        run->count = 0;
        for (int64_t i = 0; i < before; i++) {
            pattern_state s = states[i];
            const int64_t *element = run->elements + ELEMENT * s.index;
            if (!matches_word(w, rules, element, p->text + cell[0], cell[1] - cell[0])) continue;
            if (++s.count == element[2]) s.index++, s.count = 0;
            enter_state(run, s, place + 1);
        }
    }
}

/* Add log P(votes | label) to the scores (N, L) of a task. What a rule says of a token depends on its place in the entity:
   only, first, middle, last. */
static void add_votes(postil_workspace *w, const task_head *head, const passage *p, float *scores) {
    const vote_rules *rules = &head->votes;
    const int64_t L = head->L;
    pattern_run run;
    memset(w->evidence, 0, (size_t)(p->N * L) * sizeof *w->evidence);
    for (int64_t r = 0; r < rules->count; r++) {
        const int64_t *rule = run.rule = rules->rules + RULE * r;
        run.elements = rules->elements + (rule[0] == OF_PATTERN ? ELEMENT * rule[2] : 0);
        for (int64_t b = 0; b < p->B; b++)
            for (int64_t t = p->offsets[b], free = t; t < p->offsets[b + 1]; t++) {
                if (t < free) continue;
                int64_t begin = t, end;
                if (rule[0] == OF_PATTERN) {
                    run_pattern(w, rules, &run, p, t, p->offsets[b + 1]);
                    begin = run.begin, end = run.end;
                } else {
                    end = listed_until(w, rules, rule, p, t, p->offsets[b + 1]);
                }
                if (end == begin || begin < free) continue;
                free = end;
                for (int64_t k = begin; k < end; k++) {
                    const int64_t place = end - begin == 1 ? 0 : k == begin ? 1 : k == end - 1 ? 3 : 2;
                    const double *lifts = rules->lifts + (4 * r + place) * L;
                    for (int64_t j = 0; j < L; j++) w->evidence[k * L + j] += lifts[j];
                }
            }
    }
    for (int64_t i = 0; i < p->N * L; i++) scores[i] = (float)((double)scores[i] + head->q.temperature * w->evidence[i]);
}

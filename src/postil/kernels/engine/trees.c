/* ------------------------------------------------------------------------------------------------ tree classifiers

   A tree in brackets is read from left to right; its nodes are numbered as they are complete, so children come before
   their parents, and one pass over the nodes composes all vectors. */

enum { BY_SUMS, BY_PAIRS, BY_TENSOR, BY_CELLS };

static void read_tree_network(postil_model *model) {
    tree_network *tree = &model->tree;
    tree->how = whole_number(model, "tree", 0, BY_SUMS, BY_CELLS);
    const int64_t D = tree->D = whole_number(model, "tree", 1, 1, 1 << 16), H = tree->H = whole_number(model, "tree", 2, 1, 1 << 16);
    const int64_t L = tree->L = whole_number(model, "tree", 3, 1, 1 << 16);
    tree->function = whole_number(model, "tree", 4, IDENTITY, LAST_FUNCTION);
    tree->is_right = whole_number(model, "tree", 5, 0, 1);
    tree->at_root = wanted(model, "tree/at_root", U8, L, 1);
    require(model, model->words.count >= 1 && model->lexicon_count == 0 && model->alphabet == 0);
    if (model->code != POSTIL_OK) return;
    if (has_section(model, "tree/table")) {
        tree->words = wanted_table(model, "tree/table");
        require(model, tree->words.width == D && model->columns[0].kind == WORD && tree->words.rows >= ids_of_feature(model, 0));
    }
    read_vectors(model);
    require(model, !model->has_vectors || model->vectors.width == D);
    require(model, model->has_vectors || tree->words.rows > 0);
    if (has_section(model, "tree/leaves/W")) tree->leaves = wanted_map(model, "tree/leaves/", D, H);
    if (tree->how == BY_CELLS) tree->leaves = wanted_map(model, "tree/words/", D, 3 * H);
    require(model, tree->leaves.W != NULL || D == H);
    tree->phrases = wanted_map(model, "tree/phrases/", tree->how == BY_SUMS ? H : 2 * H,
                               tree->how == BY_CELLS ? 5 * H : H);
    if (tree->how == BY_TENSOR) tree->tensor = wanted_floats(model, "tree/tensor", 2 * H, 2 * H * H);
    tree->output = wanted_map(model, "tree/output/", H, L);
    model->head_count = 1;
    model->heads = allocated(model, 1, sizeof *model->heads);
    if (model->code != POSTIL_OK) return;
    int roots = 0;
    for (int64_t j = 0; j < L; j++) roots |= tree->at_root[j];
    require(model, roots);
    model->heads[0].name = "main", model->heads[0].spellings = model->heads[0].L = L;
    model->heads[0].labels = wanted_strings(model, "tree/labels", L);
}

/* A bracket that is not closed yet. */
typedef struct {
    int64_t first;       /* where its children begin among the pending ones */
    int32_t atoms;       /* words after the bracket: the label, then words that are not in brackets */
    int32_t has_blank;   /* between the bracket and the first of them */
    int32_t begin, end;  /* the first of them */
} open_bracket;

/* Room for one tree of n bytes: at most N nodes. */
typedef struct {
    postil_node *nodes;
    int64_t *cells; /* of the leaves' words in `words` */
    uint8_t *words; /* without escapes */
    open_bracket *brackets;
    int32_t *pending; /* nodes that have no parent yet */
    float *vectors, *memory, *word, *maps, *both, *scores;
    int32_t *ids;
    double *probabilities;
    int64_t node_count, pending_count, depth, used;
} tree_room;

static void plan_tree(const postil_model *model, layout_plan *plan, postil_workspace *w, int64_t n) {
    const tree_network *tree = &model->tree;
    const int64_t N = n + 1, H = tree->H;
    tree_room *room = claimed(plan, 1, sizeof *room), measured;
    w->tree = room;
    if (room == NULL) room = &measured;
    room->nodes = claimed(plan, N, sizeof *room->nodes);
    room->cells = claimed(plan, 2 * N, sizeof *room->cells);
    room->words = claimed(plan, N, 1);
    room->brackets = claimed(plan, N, sizeof *room->brackets);
    room->pending = claimed(plan, N, sizeof *room->pending);
    room->vectors = claimed(plan, N * H, sizeof(float));
    room->memory = claimed(plan, tree->how == BY_CELLS ? N * H : 1, sizeof(float));
    room->word = claimed(plan, tree->D, sizeof(float));
    room->maps = claimed(plan, 5 * H, sizeof(float));
    room->both = claimed(plan, 2 * H, sizeof(float));
    room->scores = claimed(plan, tree->L, sizeof(float));
    room->ids = claimed(plan, model->words.count + 1, sizeof(int32_t));
    room->probabilities = claimed(plan, N * tree->L, sizeof(double));
    w->kernel_size = (size_t)(16 * n + 4096);
    w->kernel_room = w->grows ? NULL : claimed(plan, 16 * n + 4096, 1);
}

static int32_t add_node(tree_room *room, int32_t left, int32_t right, int64_t begin, int64_t end) {
    room->nodes[room->node_count] = (postil_node){left, right, (int32_t)begin, (int32_t)end, 0, 0, NULL};
    return (int32_t)room->node_count++;
}

/* The last two pending nodes become the parts of one. */
static void join_last(tree_room *room) {
    const int32_t right = room->pending[--room->pending_count], left = room->pending[room->pending_count - 1];
    room->pending[room->pending_count - 1] =
        add_node(room, left, right, room->nodes[left].begin, room->nodes[right].end);
}

/* Before another child of the open bracket: ((a b) c) is joined from the left as soon as there is a third. */
static void before_child(const tree_network *tree, tree_room *room) {
    const open_bracket *open = room->brackets + room->depth - 1;
    if (!tree->is_right && room->pending_count - open->first == 2) join_last(room);
}

static const struct {
    const char *escape;
    uint8_t meaning;
} ESCAPES[] = {{"-LRB-", '('}, {"-RRB-", ')'}, {"-LSB-", '['}, {"-RSB-", ']'},
               {"-LCB-", '{'}, {"-RCB-", '}'}, {"\\/", '/'},   {"\\*", '*'}};

static void add_leaf(const tree_network *tree, tree_room *room, const uint8_t *text, int64_t begin, int64_t end) {
    before_child(tree, room);
    const int64_t first = room->used;
    for (int64_t at = begin; at < end;) {
        int64_t size = 1;
        uint8_t byte = text[at];
        for (size_t i = 0; i < sizeof ESCAPES / sizeof *ESCAPES; i++) {
            const int64_t length = (int64_t)strlen(ESCAPES[i].escape);
            if (length > end - at || memcmp(text + at, ESCAPES[i].escape, (size_t)length) != 0) continue;
            size = length, byte = ESCAPES[i].meaning;
            break;
        }
        room->words[room->used++] = byte;
        at += size;
    }
    room->cells[2 * room->node_count] = first, room->cells[2 * room->node_count + 1] = room->used;
    room->pending[room->pending_count++] = add_node(room, -1, -1, begin, end);
}

static int is_space(uint8_t c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static int read_brackets(const tree_network *tree, tree_room *room, const uint8_t *text, int64_t size) {
    room->node_count = room->pending_count = room->depth = room->used = 0;
    for (int64_t at = 0, end; at < size; at = end) {
        open_bracket *open = room->depth > 0 ? room->brackets + room->depth - 1 : NULL;
        end = at + 1;
        if (is_space(text[at])) continue;
        if (text[at] == '(') {
            if (open == NULL ? room->node_count > 0 : open->atoms > 1) return POSTIL_NOT_A_TREE; /* a second tree */
            if (open != NULL) before_child(tree, room);
            room->brackets[room->depth++] = (open_bracket){room->pending_count, 0, 0, 0, 0};
            continue;
        }
        if (open == NULL) return POSTIL_NOT_A_TREE;
        if (text[at] == ')') { /* the open bracket ends; its children are pending */
            if (room->pending_count == open->first) { /* one word, which was kept back as it might have been a label */
                if (open->atoms != 1 || !open->has_blank) return POSTIL_NOT_A_TREE;
                add_leaf(tree, room, text, open->begin, open->end);
            }
            while (room->pending_count - open->first > 1) join_last(room);
            room->depth--;
            continue;
        }
        while (end < size && !is_space(text[end]) && text[end] != '(' && text[end] != ')') end++;
        if (open->atoms < 2 && room->pending_count > open->first) return POSTIL_NOT_A_TREE; /* a word next to brackets */
        if (open->atoms++ == 0)
            open->begin = (int32_t)at, open->end = (int32_t)end, open->has_blank = at > 0 && text[at - 1] != '(';
        else
            add_leaf(tree, room, text, at, end);
    }
    return room->depth > 0 || room->pending_count != 1 ? POSTIL_NOT_A_TREE : POSTIL_OK;
}

static int leaf_vector(const postil_model *model, tree_room *room, int64_t node) {
    const tree_network *tree = &model->tree;
    const int64_t D = tree->D, H = tree->H;
    float *x = tree->leaves.W == NULL ? room->vectors + node * H : room->word;
    const int code = word_features(room->words, room->used, room->cells + 2 * node, 1, &model->words, &model->known, room->ids);
    if (code != DONE) return error_of(code);
    for (int64_t d = 0; d < D; d++) x[d] = 0.0f;
    if (model->has_vectors) append_row(&model->vectors, room->ids[model->words.count - 1], x);
    for (int64_t d = 0, at = room->ids[0] * D; tree->words.rows > 0 && d < D; d++, at++)
        x[d] += tree->words.values != NULL ? tree->words.values[at] : from_half(tree->words.halves[at]);
    if (tree->leaves.W == NULL) return POSTIL_OK;
    apply_map(&tree->leaves, x, 1, tree->how == BY_CELLS ? room->maps : room->vectors + node * H);
    if (tree->how != BY_CELLS) return POSTIL_OK;
    /* o, i, u: a word has no parts */
    float *h = room->vectors + node * H, *c = room->memory + node * H, *maps = room->maps;
    activate_rows(maps, 2 * H, SIGMOID);
    activate_rows(maps + 2 * H, H, TANH);
    for (int64_t d = 0; d < H; d++) {
        c[d] = maps[H + d] * maps[2 * H + d];
        h[d] = maps[d] * tanhf(c[d]);
    }
    return POSTIL_OK;
}

static void phrase_vector(const tree_network *tree, tree_room *room, int64_t node) {
    const int64_t H = tree->H, left = room->nodes[node].left, right = room->nodes[node].right;
    const float *l = room->vectors + left * H, *r = room->vectors + right * H;
    float *h = room->vectors + node * H, *both = room->both, *maps = room->maps;
    if (tree->how == BY_SUMS) {
        for (int64_t d = 0; d < H; d++) both[d] = l[d] + r[d];
    } else {
        memcpy(both, l, (size_t)H * sizeof *both);
        memcpy(both + H, r, (size_t)H * sizeof *both);
    }
    if (tree->how != BY_CELLS) {
        apply_map(&tree->phrases, both, 1, h);
        for (int64_t i = 0; tree->how == BY_TENSOR && i < 4 * H * H; i++) { /* z_d += Σ_j c_j Σ_k V[j, k, d] c_k */
            const float product = both[i / (2 * H)] * both[i % (2 * H)], *row = tree->tensor + i * H;
            for (int64_t d = 0; d < H; d++) h[d] += product * row[d];
        }
        activate_rows(h, H, tree->function);
        return;
    }
    /* o, f_1, f_2, i, u */
    const float *c1 = room->memory + left * H, *c2 = room->memory + right * H;
    float *c = room->memory + node * H;
    apply_map(&tree->phrases, both, 1, maps);
    activate_rows(maps, 4 * H, SIGMOID);
    activate_rows(maps + 4 * H, H, TANH);
    for (int64_t d = 0; d < H; d++) {
        c[d] = maps[H + d] * c1[d] + maps[2 * H + d] * c2[d] + maps[3 * H + d] * maps[4 * H + d];
        h[d] = maps[d] * tanhf(c[d]);
    }
}

/* The probabilities of all labels; a root has only those of roots in training. */
static int label_node(const tree_network *tree, tree_room *room, int64_t node, int is_root) {
    const int64_t L = tree->L;
    double *p = room->probabilities + node * L, sum = 0.0, top = -INFINITY;
    int64_t best = -1;
    apply_map(&tree->output, room->vectors + node * tree->H, 1, room->scores);
    for (int64_t j = 0; j < L; j++) {
        if (!(room->scores[j] >= -1e30f && room->scores[j] <= 1e30f)) return POSTIL_NOT_FINITE;
        if (is_root && !tree->at_root[j]) continue;
        if (room->scores[j] > top) top = room->scores[j], best = j;
    }
    for (int64_t j = 0; j < L; j++) {
        p[j] = is_root && !tree->at_root[j] ? 0.0 : exp(room->scores[j] - top);
        sum += p[j];
    }
    for (int64_t j = 0; j < L; j++) p[j] /= sum;
    room->nodes[node].label = (int32_t)best;
    room->nodes[node].probabilities = p;
    return POSTIL_OK;
}

int postil_tree(const postil_model *model, postil_workspace *w, const char *brackets, size_t length,
                postil_tree_result *result) {
    if (model == NULL || w == NULL || w->model != model || brackets == NULL || result == NULL) return POSTIL_WRONG_ARGUMENT;
    if (model->kind != TREE_CLASSIFIER) return POSTIL_WRONG_KIND;
    int code = make_text_room(w, length);
    if (code != POSTIL_OK) return code;
    tree_room *room = w->tree;
    begin_kernels(w);
    code = read_brackets(&model->tree, room, (const uint8_t *)brackets, (int64_t)length);
    for (int64_t i = 0; i < room->node_count && code == POSTIL_OK; i++) {
        if (room->nodes[i].left < 0)
            code = leaf_vector(model, room, i);
        else
            phrase_vector(&model->tree, room, i);
        if (code == POSTIL_OK) code = label_node(&model->tree, room, i, i == room->node_count - 1);
    }
    *result = (postil_tree_result){room->nodes, (int32_t)room->node_count, (int32_t)model->tree.L};
    return end_tagging(code);
}

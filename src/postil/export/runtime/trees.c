/* ------------------------------------------------------------------------------------------------ tree classifiers */

static void read_tree_network(postil_model *model) { fail(model, POSTIL_OTHER_VERSION); }

static void plan_tree(const postil_model *model, layout_plan *plan, postil_workspace *w, int64_t n) {
    (void)model;
    (void)n;
    w->tree = claimed(plan, 1, 1);
}

int postil_tree(const postil_model *model, postil_workspace *workspace, const char *brackets, size_t length,
                postil_tree_result *result) {
    (void)workspace, (void)brackets, (void)length, (void)result;
    return model == NULL ? POSTIL_WRONG_ARGUMENT : POSTIL_WRONG_KIND;
}

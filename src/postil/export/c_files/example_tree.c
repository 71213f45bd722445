/* ./example "(2 (2 a) (3 (2 good) (2 film)))": the label of each phrase. */

#include <stdio.h>
#include <string.h>

#include "postil.h"

int main(int count, char **words) {
    const char *text = count > 1 ? words[1] : "(2 (2 a) (3 (2 good) (2 film)))";
    postil_model *model;
    postil_workspace *workspace = NULL;
    postil_tree_result result;
    int code = postil_open("model.bin", &model);
    if (code == POSTIL_OK) code = postil_workspace_new(model, 0, &workspace);
    if (code == POSTIL_OK) code = postil_tree(model, workspace, text, strlen(text), &result);
    if (code != POSTIL_OK) return fprintf(stderr, "%s\n", postil_error(code)), 1;
    for (int32_t i = 0; i < result.count; i++) {
        const postil_node *node = result.nodes + i;
        printf("%s\t%.3f\t%.*s\n", postil_label(model, 0, node->label), node->probabilities[node->label],
               (int)(node->end - node->begin), text + node->begin);
    }
    postil_workspace_free(workspace);
    postil_close(model);
    return 0;
}

/* ./example "some text": its entities, or the labels of its words where the model has no entities. */

#include <stdio.h>
#include <string.h>

#include "postil.h"

int main(int count, char **words) {
    const char *text = count > 1 ? words[1] : "Ada Lovelace was born in London.";
    postil_model *model;
    postil_workspace *workspace = NULL;
    postil_result result;
    int code = postil_open("model.bin", &model);
    if (code == POSTIL_OK) code = postil_workspace_new(model, 0, &workspace);
    if (code == POSTIL_OK) code = postil_tag(model, workspace, text, strlen(text), &result);
    if (code != POSTIL_OK) return fprintf(stderr, "%s\n", postil_error(code)), 1;
    for (int32_t layer = 0; layer < result.layer_count; layer++) {
        const postil_layer *answers = result.layers + layer;
        for (int32_t i = 0; i < answers->entity_count; i++) {
            const postil_entity *e = answers->entities + i;
            printf("%.*s\t%s\t%.3f\n", (int)(e->end - e->begin), text + e->begin, postil_entity_label(model, layer, e->label),
                   e->probability);
        }
        if (postil_entity_label_count(model, layer) > 0) continue;
        for (int32_t t = 0; t < result.token_count; t++)
            printf("%.*s\t%s\t%.3f\n", (int)(result.tokens[t].end - result.tokens[t].begin), text + result.tokens[t].begin,
                   postil_label(model, layer, answers->labels[t]), answers->probabilities[t]);
    }
    postil_workspace_free(workspace);
    postil_close(model);
    return 0;
}

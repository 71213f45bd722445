/* Opens a library of the kernels and compares a few results with known ones: what can be run under an emulator where no
   Python is at hand.

       conformance LIBRARY

   Prints the instruction set and "ok", and returns 0; or says which result is wrong, and returns 1. */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernels.h"

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#undef interface /* a word of its own there */
#define OPEN(path) ((void *)LoadLibraryA(path))
#define SYMBOL(library, name) ((void *)GetProcAddress((HMODULE)library, name))
#define FAILURE() "LoadLibrary failed"
#else
#include <dlfcn.h>
#define OPEN(path) dlopen(path, RTLD_NOW)
#define SYMBOL(library, name) dlsym(library, name)
#define FAILURE() dlerror()
#endif

static int failures;

static void expect(int right, const char *what) {
    if (!right) failures++, printf("wrong: %s\n", what);
}

static void *symbol(void *library, const char *name) {
    void *found = SYMBOL(library, name);
    if (found == NULL) failures++, printf("missing: %s\n", name);
    return found;
}

/* Names of functions become pointers of their type; an object pointer becomes one to a function by its bytes, as POSIX has
   it. */
#define LOAD(name)                                      \
    __typeof__(&name) name##_;                          \
    void *name##_address = symbol(library, #name);      \
    if (name##_address == NULL) return 1;               \
    memcpy(&name##_, &name##_address, sizeof name##_);

static int close_to(double a, double b) { return a - b < 1e-12 && b - a < 1e-12; }

/* Two sentences, three labels: 1 may not follow 0. */
static const float unary[] = {1, 0.5, 0, 0, 2, 0, 0, 0, 0.25, 0, 1, 0};
static const int64_t offsets[] = {0, 3, 4};
static const double transitions[] = {0, -9, 0, 0, 0, 0, 0.5, 0, 0}, none[3];

static int chains(void *library) {
    LOAD(viterbi)
    LOAD(chain_moments)
    int64_t path[4];
    double scores[2], partition[2], marginals[12], counts[9];
    uint8_t exact[2];
    expect(viterbi_(unary, 1, offsets, 4, 2, 3, transitions, none, none, path, scores) == DONE, "code of viterbi");
    expect(path[0] == 1 && path[1] == 1 && path[2] == 2 && path[3] == 1, "labels of viterbi");
    expect(close_to(scores[0], 2.75) && close_to(scores[1], 1), "scores of viterbi");
    const int64_t wrong[] = {0, 5, 4};
    expect(viterbi_(unary, 1, wrong, 4, 2, 3, transitions, none, none, path, scores) == WRONG_OFFSETS, "wrong offsets");
    expect(chain_moments_(unary, 1, offsets, 4, 2, 3, transitions, none, none, partition, marginals, counts, exact) == DONE,
           "code of chain_moments");
    expect(close_to(partition[1], 1.551444713932051), "partition function");
    for (int t = 0; t < 4; t++)
        expect(close_to(marginals[3 * t] + marginals[3 * t + 1] + marginals[3 * t + 2], 1), "marginals sum to one");
    expect(close_to(marginals[10], 0.5761168847658291), "marginal of one token");
    return 0;
}

static int tables(void *library) {
    LOAD(sum_windows)
    LOAD(line_cells)
    /* rows (3, window of 1, 4): two words and the padding */
    const float rows[] = {0, 0, 0, 0, 1, -1, 2, -2, 3, 3, -3, -3};
    const int64_t ids[] = {1, 2, 2, 1};
    float out[16] = {0};
    expect(sum_windows_(rows, 3, 1, 4, ids, offsets, 4, 2, RELU, 0, out) == DONE, "code of sum_windows");
    expect(out[0] == 1 && out[1] == 0 && out[2] == 2 && out[4] == 3 && out[6] == 0 && out[15] == 0, "rows of sum_windows");
    const char *text = "It rains .\nIt stops\n";
    int64_t cells[16], sentences[8], found[2] = {0, 0};
    expect(line_cells_((const uint8_t *)text, 20, 6, cells, sentences, found) == DONE, "code of line_cells");
    expect(found[0] == 5 && found[1] == 2 && cells[2] == 3 && cells[3] == 8 && sentences[1] == 3, "cells of lines");
    return 0;
}

int main(int count, char **arguments) {
    void *library = count == 2 ? OPEN(arguments[1]) : NULL;
    if (library == NULL) {
        printf("%s\n", count == 2 ? FAILURE() : "conformance LIBRARY");
        return 1;
    }
    LOAD(instruction_set)
    LOAD(instruction_level)
    LOAD(interface)
    expect(interface_() == POSTIL_INTERFACE, "checksum of the prototypes");
    expect(instruction_level_() >= 0 && instruction_level_() <= 2, "level of the processor");
    if (chains(library) || tables(library)) return 1;
    printf("%s, processor of level %d: %s\n", instruction_set_(), instruction_level_(), failures ? "wrong" : "ok");
    return failures != 0;
}

/* The matcher of regular expressions: it runs what tools/patterns.py writes.

   A text is a row of classes with an edge (class 0) before and after it. Matching is backtracking with a stack of its
   own: no recursion, and an end to it, for whoever calls gives a number of steps. Expressions that are exact about what
   may come next (tools/patterns.py works that out) leave little to go back to. */

#ifndef POSTIL_MATCHER_H
#define POSTIL_MATCHER_H

#include <stdlib.h>

#include "characters.h"

/* In the order of tools/patterns.py. */
enum {
    OP_MATCH, OP_FAIL, OP_CHAR, OP_LOOK, OP_BEHIND, OP_RUN, OP_RUN_LAZY, OP_RUN_ALL, OP_JUMP, OP_TRY, OP_TRY_IF,
    OP_GUARD, OP_DISPATCH, OP_HOLD, OP_COMMIT, OP_AHEAD, OP_AHEAD_END, OP_NOT_END, OP_BACK
};

/* Where to go on after a failure. A hold also ends what may be gone back to once its part has matched; `low` of a run is
   where it may end at the earliest (lazy: at the latest). */
enum { BRANCH, HOLD, RUN, RUN_LAZY };
typedef struct {
    int32_t kind, code, at, low;
} retreat;

enum { DEEPEST = 2048, NO_MATCH = -1, TOO_HARD = -2 };

INLINED uint16_t class_of(const pattern_program *program, uint32_t code) {
    const int64_t page = program->index[code >> BLOCK_BITS];
    return program->pages[page << BLOCK_BITS | (code & BLOCK_MASK)];
}

/* The characters of a text as classes, from classes[1] on with the edge before and after, and the byte at which each
   begins, with the end. A long row is allocated; it stays until another is longer. */
enum { SHORT_ROW = 56 };
typedef struct {
    uint16_t *classes;
    int32_t *places;
    int64_t room;
    void *memory;
    uint16_t short_classes[SHORT_ROW + 2];
    int32_t short_places[SHORT_ROW + 2];
} class_row;

INLINED void begin_row(class_row *row) {
    row->classes = row->short_classes, row->places = row->short_places, row->room = SHORT_ROW, row->memory = NULL;
}

INLINED void free_row(class_row *row) { free(row->memory); }

/* How many characters there are; -1: no memory. *odd: whether there is half of a surrogate pair, or something that is not
   UTF-8, each byte of which counts as a character. */
enum { HAS_SURROGATE = 1, HAS_OTHER_BYTES = 2 };
static int64_t read_row(class_row *row, const pattern_program *program, const uint8_t *text, int64_t size, int *odd) {
    int64_t count = 0;
    if (size > row->room) {
        free(row->memory);
        begin_row(row);
        row->memory = malloc((size_t)(size + 2) * (sizeof *row->places + sizeof *row->classes));
        if (row->memory == NULL) return -1;
        row->places = row->memory, row->classes = (uint16_t *)(row->places + size + 2), row->room = size;
    }
    row->classes[0] = 0;
    for (int64_t at = 0; at < size;) {
        uint32_t code = 0;
        const int bytes = decode(text + at, text + size, &code);
        *odd |= bytes == 0 ? HAS_OTHER_BYTES : is_surrogate(code) ? HAS_SURROGATE : 0;
        row->places[count] = (int32_t)at;
        row->classes[++count] = class_of(program, code);
        at += bytes == 0 ? 1 : bytes;
    }
    row->places[count] = (int32_t)size;
    row->classes[count + 1] = 0;
    return count;
}

INLINED int has(const uint64_t *sets, int32_t set, uint16_t class) {
    return (int)(sets[set + (class >> 6)] >> (class & 63) & 1);
}

/* Drop retreats down to the innermost hold, and that one too: its place in the text. */
INLINED int32_t released(const retreat *stack, int32_t *depth) {
    while (stack[--*depth].kind != HOLD) {
    }
    return stack[*depth].at;
}

/* The end of the match that begins at `at` in the row; NO_MATCH; TOO_HARD when the steps or the stack are used up. */
static int32_t match(const pattern_program *program, int32_t entry, const uint16_t *row, int32_t at, int64_t *steps,
                     retreat *stack) {
    const int32_t *code = program->code + entry;
    const uint64_t *sets = program->sets;
    int32_t depth = 0;
    int64_t left = *steps;
#define PUSH(kind, target, at, low) stack[depth++] = (retreat){kind, (int32_t)(target), at, low}
    for (;;) {
        if (--left < 0 || depth >= DEEPEST - 1) return TOO_HARD;
        switch (*code) {
        case OP_MATCH:
            *steps = left;
            return at;
        case OP_CHAR:
            if (!has(sets, code[1], row[at])) break;
            at++;
            code += 2;
            continue;
        case OP_LOOK:
            if (!has(sets, code[1], row[at])) break;
            code += 2;
            continue;
        case OP_BEHIND:
            if (!has(sets, code[1], row[at - 1])) break;
            code += 2;
            continue;
        case OP_RUN_ALL: {
            const int32_t begin = at, most = code[3];
            while (at - begin < most && has(sets, code[1], row[at])) at++;
            left -= (at - begin) >> 2;
            if (at - begin < code[2]) break;
            code += 4;
            continue;
        }
        case OP_RUN: {
            const int32_t begin = at, low = begin + code[2], most = code[3];
            while (at - begin < most && has(sets, code[1], row[at])) at++;
            left -= (at - begin) >> 2;
            while (at >= low && !has(sets, code[4], row[at])) at--;
            if (at < low) break;
            if (at > low) PUSH(RUN, code - program->code, at, low);
            code += 5;
            continue;
        }
        case OP_RUN_LAZY: {
            const int32_t begin = at, most = code[3];
            while (at - begin < code[2] && has(sets, code[1], row[at])) at++;
            if (at - begin < code[2]) break;
            PUSH(RUN_LAZY, code - program->code, at, most < INT32_MAX - begin ? begin + most : INT32_MAX);
            code += 5;
            continue;
        }
        case OP_JUMP:
            code = program->code + code[1];
            continue;
        case OP_TRY:
            PUSH(BRANCH, code[1], at, 0);
            code += 2;
            continue;
        case OP_TRY_IF:
            if (has(sets, code[1], row[at])) {
                PUSH(BRANCH, code[2], at, 0);
                code += 3;
            } else {
                code = program->code + code[2];
            }
            continue;
        case OP_GUARD:
            code = has(sets, code[1], row[at]) ? code + 3 : program->code + code[2];
            continue;
        case OP_DISPATCH:
            code = program->code + code[1 + row[at]];
            continue;
        case OP_HOLD:
            PUSH(HOLD, code[1], at, 0);
            code += 2;
            continue;
        case OP_COMMIT:
            released(stack, &depth);
            code += 1;
            continue;
        case OP_AHEAD:
            PUSH(HOLD, -1, at, 0);
            code += 1;
            continue;
        case OP_AHEAD_END:
            at = released(stack, &depth);
            code += 1;
            continue;
        case OP_NOT_END:
            released(stack, &depth);
            break;
        case OP_BACK:
            if (at < code[1]) break;
            at -= code[1];
            code += 2;
            continue;
        default: /* OP_FAIL */
            break;
        }
        /* What was tried has failed: back to the last place where something else can be tried. */
        for (;;) {
            if (depth == 0) {
                *steps = left;
                return NO_MATCH;
            }
            retreat *back = stack + depth - 1;
            if (back->kind == HOLD && back->code < 0) {
                depth--;
                continue;
            }
            code = program->code + back->code;
            if (back->kind == BRANCH || back->kind == HOLD) {
                depth--;
                at = back->at;
                break;
            }
            const int32_t before = at = back->at;
            if (back->kind == RUN) {
                at--;
                while (at >= back->low && !has(sets, code[4], row[at])) at--;
                left -= (before - at) >> 2;
                back->at = at;
                if (at <= back->low) depth--;
                code += 5;
                if (at >= back->low) break;
            } else {
                do {
                    if (at == back->low || !has(sets, code[1], row[at])) break;
                    at++;
                } while (!has(sets, code[4], row[at]));
                left -= (at - before) >> 2;
                if (at > before && has(sets, code[4], row[at])) {
                    back->at = at;
                    code += 5;
                    break;
                }
                depth--;
            }
        }
    }
#undef PUSH
}

#endif

/* What the engine shares with the files of single kernels: kinds of word features, the cache of the tokeniser, a hash of
   bytes, activations. */

#ifndef POSTIL_SHARED_H
#define POSTIL_SHARED_H

#include <string.h>

#include "kernels.h"
#include "portable.h"

/* As in plain_text.py and characters.py. */
enum { WORD, SHAPE, PREFIX, SUFFIX, CAPS, VECTOR, WORD_KINDS };
enum { NO_LETTERS, LOWER, TITLE, UPPER, SINGLE, MIXED_UPPER, MIXED_LOWER, WITHOUT_CASE };

/* The tokeniser's cache. A key is a chunk, or a chunk with a space and one more character. */
enum { KEY = 48, LONGEST_KEY = KEY - 5, WAYS = 4, LONGEST_CHUNK = 1 << 28 };

typedef struct {
    uint64_t cut; /* 0: it depends on the next chunk */
    uint32_t tag;
    uint8_t size; /* of the chunk in bytes; 0: the slot is free */
    uint8_t unused[3];
    uint8_t key[KEY];
} slot;

INLINED uint64_t mixed(uint64_t h, uint64_t word) {
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

INLINED uint64_t hash_of(const uint8_t *key, int64_t size, uint64_t seed) {
    uint64_t h = seed ^ (uint64_t)size * 0xd6e8feb86659fd93u, word = 0;
    if (size >= 8) {
        for (int64_t i = 0; i < size - 8; i += 8) {
            memcpy(&word, key + i, 8);
            h = mixed(h, word);
        }
        memcpy(&word, key + size - 8, 8);
    } else {
        for (int64_t i = 0; i < size; i++) word = word << 8 | key[i];
    }
    return mixed(mixed(h, word), seed);
}

INLINED float activated(float z, int activation) {
    if (activation == RELU) return z > 0.0f || z != z ? z : 0.0f;
    if (activation == HARDTANH) return z < -1.0f ? -1.0f : z > 1.0f ? 1.0f : z;
    return z;
}

#endif

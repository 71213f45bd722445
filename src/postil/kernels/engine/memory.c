/* ------------------------------------------------------------------------------------------------ memory of kernels

   Kernels allocate what they need on the way. In a workspace of fixed size they get it from a stack of blocks inside of
   the workspace: a block that is freed goes when all blocks above it have gone. */

typedef struct {
    uint8_t *base;
    size_t size, used, top; /* top: where the last block begins; NO_BLOCK: there is none */
} block_stack;

typedef struct {
    size_t before; /* where the block before begins */
    size_t is_free;
} block;

#define NO_BLOCK SIZE_MAX

/* Of the thread that tags; NULL: malloc. */
static __thread block_stack *kernel_memory;

static void *kernel_malloc(size_t size) {
    block_stack *stack = kernel_memory;
    if (stack == NULL) return malloc(size);
    if (size > stack->size || sizeof(block) + (size + 15) / 16 * 16 > stack->size - stack->used) return NULL;
    block *at = (block *)(void *)(stack->base + stack->used);
    at->before = stack->top, at->is_free = 0;
    stack->top = stack->used;
    stack->used += sizeof(block) + (size + 15) / 16 * 16;
    return at + 1;
}

static void kernel_free(void *memory) {
    block_stack *stack = kernel_memory;
    if (stack == NULL || memory == NULL) {
        free(memory);
        return;
    }
    ((block *)memory - 1)->is_free = 1;
    while (stack->top != NO_BLOCK) {
        const block *at = (const block *)(const void *)(stack->base + stack->top);
        if (!at->is_free) break;
        stack->used = stack->top;
        stack->top = at->before;
    }
}

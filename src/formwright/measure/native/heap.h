/* The heap of a kernel that is being checked: each block ends at a page that nothing is mapped to,
 * and holds NaN (0xFF) until it is written.
 *
 * The worker exports these names, so a library that it loads gets its memory here. While `fw_heap`
 * is 0 (loading, and all that is timed) they are glibc's own.
 */
#ifndef FORMWRIGHT_HEAP_H
#define FORMWRIGHT_HEAP_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static int fw_heap;

enum { FW_PAGE = 4096, FW_KNOWN = 64 };
static uintptr_t fw_guards[FW_KNOWN]; /* the latest pages behind blocks, for messages */
static unsigned fw_guard_count;

static int fw_beyond_heap(uintptr_t address) {
    for (int i = 0; i < FW_KNOWN; i++)
        if (fw_guards[i] && address - fw_guards[i] < FW_PAGE) return 1;
    return 0;
}

#ifdef __GLIBC__

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

struct fw_block { /* stands before the block, in pages of its own or in front of it */
    char *base;
    size_t span, size;
    uint64_t magic;
};
#define FW_MAGIC 0x9d1c5ae37b20f846u

static struct fw_block *fw_block_of(void *at) {
    struct fw_block *block = (struct fw_block *)at - 1;
    return block->magic == (FW_MAGIC ^ (uintptr_t)at) ? block : NULL;
}

static void *fw_guarded_block(size_t alignment, size_t size, int fill) {
    if (size > (size_t)1 << 40 || alignment > FW_PAGE) return NULL;
    if (alignment < 16) alignment = 16;
    const size_t body = (size + sizeof(struct fw_block) + 2 * alignment + FW_PAGE - 1) / FW_PAGE * FW_PAGE;
    char *base = mmap(NULL, body + FW_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return NULL;
    mprotect(base + body, FW_PAGE, PROT_NONE);
    fw_guards[__atomic_fetch_add(&fw_guard_count, 1, __ATOMIC_RELAXED) % FW_KNOWN] = (uintptr_t)base + body;
    char *at = (char *)(((uintptr_t)base + body - size) / alignment * alignment);
    if (fill) memset(at, 0xFF, size);
    ((struct fw_block *)at)[-1] =
        (struct fw_block){base, body + FW_PAGE, size, FW_MAGIC ^ (uintptr_t)at};
    return at;
}

static void *fw_or_none(void *block) {
    if (!block) errno = ENOMEM;
    return block;
}

void *malloc(size_t size) {
    return fw_heap ? fw_or_none(fw_guarded_block(16, size, 1)) : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    if (!fw_heap) return __libc_calloc(count, size);
    size_t all;
    if (__builtin_mul_overflow(count, size, &all)) return fw_or_none(NULL);
    return fw_or_none(fw_guarded_block(16, all, 0));
}

void free(void *at) {
    if (!at) return;
    struct fw_block *block = fw_block_of(at);
    if (!block) __libc_free(at);
    else munmap(block->base, block->span);
}

void *realloc(void *at, size_t size) {
    struct fw_block *block = at ? fw_block_of(at) : NULL;
    if (!block && (at || !fw_heap)) return __libc_realloc(at, size);
    void *moved = fw_or_none(fw_guarded_block(16, size, 1));
    if (moved && block) {
        memcpy(moved, at, block->size < size ? block->size : size);
        free(at);
    }
    return moved;
}

void *memalign(size_t alignment, size_t size) {
    if (!fw_heap || alignment > FW_PAGE) return __libc_memalign(alignment, size);
    return fw_or_none(fw_guarded_block(alignment, size, 1));
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **at, size_t alignment, size_t size) {
    void *found = memalign(alignment, size);
    if (!found) return ENOMEM;
    *at = found;
    return 0;
}

#endif
#endif

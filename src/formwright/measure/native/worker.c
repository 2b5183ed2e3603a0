/* The child that runs a kernel nobody trusts.
 *
 * It is C and not Python because the kernel shares its address space: there is no interpreter to
 * look into, it starts in a millisecond, and a call costs no more than a call. It holds no clock, no
 * reference and no inputs but those it has to run on; it maps inputs from a descriptor that is open
 * for reading only, confines itself (limits, no_new_privs, Landlock, seccomp), then loads the
 * library. All messages go through one SOCK_SEQPACKET socket.
 *
 * usage: worker LIBRARY SOCKET INPUTS OUTPUTS CONFINE [READABLE PATH ...]
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#include "confine.h"
#include "heap.h"

enum { HELLO = 0, READY = 1, DONE = 2, FAILED = 3, FAULT = 4, REFUSED = 5 };
enum { CALL = 1, PREPARE = 2, EVICT = 3 };
enum { POISON_SCRATCH = 1, AHEAD = 2 };
enum { ALTERED = 2 }; /* the code of a refusal; 1 is a peer that has no such operator */

struct setup {
    uint32_t tensors, slots, mappings, extents;
    int32_t threads;
    uint32_t flags;
    uint64_t reserve, scratch_limit, memory_limit, cpu_seconds;
};
struct mapping {
    uint32_t output, pad;
    uint64_t file_offset, bytes, address;
};
struct command {
    uint32_t operation, count;
    uint32_t order[];
};
struct reply {
    uint32_t kind;
    int32_t code;
    uint64_t a, b;
    char text[232];
};

typedef int32_t call_fn(void *const *, const int64_t *, const int64_t *, void *, int64_t, int32_t);
typedef int32_t ahead_fn(void *const *, const int64_t *, const int64_t *, void *, int64_t, int32_t,
                         void *);

static int channel;

static void answer(uint32_t kind, int32_t code, uint64_t a, uint64_t b, const char *text) {
    struct reply r = {kind, code, a, b, {0}};
    if (text) strncpy(r.text, text, sizeof r.text - 1);
    while (send(channel, &r, sizeof r, MSG_NOSIGNAL) < 0 && errno == EINTR) {}
}

static void refuse(const char *text) {
    answer(REFUSED, 0, 0, 0, text);
    _exit(3);
}

/* How this thread rounds, flushes denormals and traps: what a library built with -ffast-math
   changes for the whole process when it is loaded. */
static uint32_t rounding(void) {
#if defined(__x86_64__)
    uint16_t control;
    __asm__ volatile("fnstcw %0" : "=m"(control));
    return (__builtin_ia32_stmxcsr() & 0xFFC0u) | (uint32_t)control << 16;
#else
    return 0;
#endif
}

static void keep_rounding(uint32_t before) {
    if (rounding() == before) return;
    answer(REFUSED, ALTERED, 0, 0, NULL);
    _exit(3);
}

static void on_fault(int number, siginfo_t *info, void *context) {
    uint64_t detail = 0;
#if defined(__x86_64__)
    detail = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] >> 1 & 1; /* a write */
#else
    (void)context;
#endif
    if (number == SIGSEGV && fw_beyond_heap((uintptr_t)info->si_addr)) detail |= 2;
    if (number == SIGSYS) detail = (uint64_t)info->si_syscall;
    answer(FAULT, number, (uint64_t)(uintptr_t)info->si_addr, detail, NULL);
    _exit(128 + number);
}

static void watch_faults(void) {
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGXFSZ};
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaltstack(&stack, NULL);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
}

/* What a kernel finds on its stack is as little its own as what it finds in scratch. */
static __attribute__((noinline)) void soil_stack(void) {
    char room[1 << 16];
    memset(room, 0xFF, sizeof room);
    __asm__ volatile("" : : "r"(room) : "memory");
}

static void limit(int what, uint64_t value) {
    struct rlimit bounds = {value, value};
    setrlimit(what, &bounds);
}

/* A private buffer whose end is at an unmapped page and whose start is 64-byte aligned. */
static void *guarded(int64_t bytes) {
    const int64_t page = sysconf(_SC_PAGESIZE);
    const int64_t body = (bytes + 63) / 64 * 64;
    const int64_t span = (body + page - 1) / page * page;
    char *base = mmap(NULL, span + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) refuse("no memory for scratch");
    if (span && mprotect(base + page, span, PROT_READ | PROT_WRITE)) refuse("no memory for scratch");
    if (span >= 2 << 20) madvise(base + page, span, MADV_HUGEPAGE);
    return base + page + span - body;
}

/* Reads and writes more than the caches hold, so that nothing of the slots is left in them. */
static void evict(uint32_t mebibytes) {
    static volatile uint64_t *swept;
    static uint32_t size;
    const size_t words = (size_t)mebibytes << 17;
    if (size != mebibytes) {
        free((void *)swept);
        swept = malloc(words * sizeof *swept);
        size = mebibytes;
        if (!swept) refuse("no memory to sweep the caches with");
    }
    for (size_t i = 0; i < words; i += 8) swept[i] += i;
}

static void *receive(size_t *bytes) {
    static char buffer[1 << 18];
    ssize_t got;
    do got = recv(channel, buffer, sizeof buffer, 0);
    while (got < 0 && errno == EINTR);
    if (got <= 0) _exit(0); /* the parent is gone, or has no more work */
    *bytes = (size_t)got;
    return buffer;
}

static char *map_slots(const struct setup *s, const struct mapping *m, int inputs, int outputs) {
    char *base = mmap(NULL, s->reserve, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) refuse("no address space for the slots");
    for (uint32_t i = 0; i < s->mappings; i++) {
        int rights = m[i].output ? PROT_READ | PROT_WRITE : PROT_READ;
        void *at = mmap(base + m[i].address, m[i].bytes, rights, MAP_SHARED | MAP_FIXED,
                        m[i].output ? outputs : inputs, (off_t)m[i].file_offset);
        if (at == MAP_FAILED) refuse("cannot map the slots");
    }
    return base;
}

static void *symbol(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        char text[128];
        snprintf(text, sizeof text, "the library has no function %s", name);
        refuse(text);
    }
    return found;
}

int main(int argc, char **argv) {
    if (argc < 6) return 2;
    channel = atoi(argv[2]);
    const int inputs = atoi(argv[3]), outputs = atoi(argv[4]), confined = atoi(argv[5]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);

    /* The parent learns our process id from the credentials of this message, whatever namespace we
       are in, and pins us before it sends the layout. */
    answer(HELLO, 0, 0, 0, NULL);
    size_t bytes;
    char *message = receive(&bytes), *setup = malloc(bytes);
    memcpy(setup, message, bytes);
    const struct setup *s = (const struct setup *)setup;
    const struct mapping *maps = (const struct mapping *)(s + 1);
    const int64_t *strides = (const int64_t *)(maps + s->mappings);
    const int64_t *extents = strides + s->tensors;
    const uint64_t *offsets = (const uint64_t *)(extents + s->extents);
    const size_t pointers = (size_t)s->slots * s->tensors;

    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_CPU, s->cpu_seconds);
    limit(RLIMIT_AS, s->memory_limit);

    char *base = map_slots(s, maps, inputs, outputs);
    close(inputs);
    close(outputs);
    void **table = malloc(pointers * sizeof *table);
    for (size_t i = 0; i < pointers; i++) table[i] = base + offsets[i];

    watch_faults();
    uint64_t level = confined ? confine(argc - 6, argv + 6) : 0;

    const uint32_t round_as = rounding();
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) refuse(dlerror());
    keep_rounding(round_as);
    int32_t (*abi)(void) = (int32_t (*)(void))symbol(library, "fw_abi");
    int32_t (*cpu_ok)(void) = (int32_t (*)(void))symbol(library, "fw_cpu_ok");
    if (abi() != 1) refuse("the library speaks another version of the ABI");
    if (!cpu_ok()) refuse("this CPU lacks instructions that the library needs");
    int64_t (*scratch_bytes)(const int64_t *, int32_t) =
        (int64_t (*)(const int64_t *, int32_t))symbol(library, "fw_scratch_bytes");
    const int64_t scratch_size = scratch_bytes(extents, s->threads);
    if (scratch_size < 0 || (uint64_t)scratch_size > s->scratch_limit)
        refuse("the library asks for more scratch memory than the limit");
    void *scratch = guarded(scratch_size);

    const int ahead = (s->flags & AHEAD) != 0;
    call_fn *call = ahead ? NULL : (call_fn *)symbol(library, "fw_call");
    ahead_fn *prepare = NULL, *call_ahead = NULL;
    void **packed = calloc(s->slots, sizeof *packed);
    int64_t packed_size = 0;
    if (ahead) {
        prepare = (ahead_fn *)symbol(library, "fw_prepare");
        call_ahead = (ahead_fn *)symbol(library, "fw_call_ahead");
        packed_size = ((int64_t (*)(const int64_t *))symbol(library, "fw_ahead_bytes"))(extents);
        if (packed_size < 0 || (uint64_t)packed_size > s->scratch_limit)
            refuse("the library asks for more packed memory than the limit");
    }
    char memory[32];
    snprintf(memory, sizeof memory, "%lld", (long long)(scratch_size + packed_size));
    fw_heap = (s->flags & POISON_SCRATCH) != 0;
    answer(READY, 0, (uint64_t)(uintptr_t)base, level, memory);

    for (;;) {
        const struct command *c = receive(&bytes);
        int32_t code = 0;
        if (c->operation == EVICT) {
            evict(c->order[0]);
            answer(DONE, 0, 0, 0, NULL);
            continue;
        }
        for (uint32_t i = 0; i < c->count && code == 0; i++) {
            const uint32_t slot = c->order[i];
            void *const *tensors = table + (size_t)slot * s->tensors;
            if (s->flags & POISON_SCRATCH) {
                memset(scratch, 0xFF, (size_t)scratch_size);
                soil_stack();
            }
            if (c->operation == PREPARE) {
                if (!packed[slot]) packed[slot] = guarded(packed_size);
                code = prepare(tensors, strides, extents, scratch, scratch_size, s->threads,
                               packed[slot]);
            } else if (ahead) {
                if (!packed[slot]) refuse("called before it was prepared");
                code = call_ahead(tensors, strides, extents, scratch, scratch_size, s->threads,
                                  packed[slot]);
            } else {
                code = call(tensors, strides, extents, scratch, scratch_size, s->threads);
            }
        }
        keep_rounding(round_as);
        answer(code ? FAILED : DONE, code, 0, 0, NULL);
    }
}

/* The fixed thread runtime: a pool of pinned workers, fork and join over a range of agents.
 *
 * A job is a phase over [0, count). Each thread has a share of it, the same in every call, so that it
 * finds in its caches what it had before; it takes chunks of that, then of what others have left. Idle
 * workers spin for a while, then sleep on a futex, so a call after a pause costs one wake-up. No worker stays on
 * the processor that the caller has moved to. With one thread no worker is made. One caller at a
 * time has the pool; a second one runs alone. */
typedef void (*fw_phase)(int64_t lo, int64_t hi, int32_t agent, const void *env);

enum { FW_MOST_THREADS = 256, FW_SPINS = 4000 };

/* The first agent of a thread's share that nobody has taken, and the end of the share. */
typedef struct {
    _Alignas(64) _Atomic int64_t next;
    int64_t end;
} fw_share;

typedef struct {
    pthread_t thread;
    int32_t agent, cpu;
} fw_worker;

static struct {
    fw_worker workers[FW_MOST_THREADS];
    int32_t made;           /* workers that exist */
    int32_t home;           /* the processor that is left to the caller */
    pid_t owner;            /* the process that made them: a forked child has none */
    int stop;
    _Atomic int32_t busy;   /* a caller has the pool */
    _Atomic uint32_t round; /* counts jobs; workers wait for it to change */
    _Atomic int32_t asleep; /* workers on the futex */
    _Alignas(64) _Atomic int32_t running; /* workers that have not finished the job */
    fw_phase phase;
    const void *env;
    int64_t chunk;
    int32_t threads;
    fw_share shares[FW_MOST_THREADS];
} fw_pool;

static inline void fw_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static long fw_futex(_Atomic uint32_t *at, int op, uint32_t value) {
    return syscall(SYS_futex, (uint32_t *)at, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void fw_take(int32_t agent) {
    const int64_t chunk = fw_pool.chunk;
    for (int32_t turn = 0; turn < fw_pool.threads; turn++) {
        fw_share *const share = &fw_pool.shares[(agent + turn) % fw_pool.threads];
        for (;;) {
            if (atomic_load_explicit(&share->next, memory_order_relaxed) >= share->end) break;
            const int64_t lo = atomic_fetch_add_explicit(&share->next, chunk, memory_order_relaxed);
            if (lo >= share->end) break;
            fw_pool.phase(lo, fw_min(lo + chunk, share->end), agent, fw_pool.env);
        }
    }
}

static uint32_t fw_await_round(uint32_t seen) {
    for (int spin = 0; spin < FW_SPINS; spin++) {
        const uint32_t now = atomic_load_explicit(&fw_pool.round, memory_order_acquire);
        if (now != seen) return now;
        fw_pause();
    }
    for (;;) {
        atomic_fetch_add(&fw_pool.asleep, 1);
        uint32_t now = atomic_load(&fw_pool.round);
        if (now == seen) fw_futex(&fw_pool.round, FUTEX_WAIT, seen);
        atomic_fetch_sub(&fw_pool.asleep, 1);
        now = atomic_load_explicit(&fw_pool.round, memory_order_acquire);
        if (now != seen) return now;
    }
}

static void *fw_work(void *given) {
    const fw_worker *self = given;
    uint32_t seen = 0;
    for (;;) {
        seen = fw_await_round(seen);
        if (fw_pool.stop) return NULL;
        if (self->agent < fw_pool.threads) fw_take(self->agent);
        atomic_fetch_sub_explicit(&fw_pool.running, 1, memory_order_release);
    }
}

/* A processor for a worker: the allowed ones in turn, that of the caller last; -1 when unknown. */
static int32_t fw_choose_cpu(int32_t agent, int32_t here) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
    const int32_t total = CPU_COUNT(&allowed);
    if (total < 2) return -1;
    int32_t rank = (agent - 1) % total;
    for (int32_t turn = 0; turn < 2; turn++)
        for (int32_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &allowed) && (cpu == here) == (turn == 1) && rank-- == 0) return cpu;
    return -1;
}

static void fw_pin(fw_worker *worker, int32_t cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (cpu < 0 || cpu >= CPU_SETSIZE) return;
    CPU_SET(cpu, &set);
    if (pthread_setaffinity_np(worker->thread, sizeof set, &set) == 0) worker->cpu = cpu;
}

/* A caller that was moved onto a worker's processor would only take turns with it: that worker
 * goes where the caller was. */
static void fw_part(void) {
    const int32_t here = sched_getcpu();
    if (here < 0 || here == fw_pool.home) return;
    for (int32_t i = 0; i < fw_pool.made; i++)
        if (fw_pool.workers[i].cpu == here) {
            fw_pin(&fw_pool.workers[i], fw_pool.home);
            break;
        }
    fw_pool.home = here;
}

static void fw_signal(void) {
    atomic_fetch_add(&fw_pool.round, 1);
    if (atomic_load(&fw_pool.asleep) > 0) fw_futex(&fw_pool.round, FUTEX_WAKE, INT32_MAX);
}

/* Workers for agents 1 .. threads-1; how many threads there are then. */
static int32_t fw_grow(int32_t threads) {
    if (fw_pool.owner != getpid()) {
        fw_pool.owner = getpid();
        fw_pool.made = 0;
        atomic_store(&fw_pool.round, 0);
        atomic_store(&fw_pool.asleep, 0);
    }
    if (fw_pool.made + 1 < threads && fw_pool.made > 0) {
        /* A late worker must not take the current round for a new one: start again from none. */
        fw_pool.stop = 1;
        fw_signal();
        for (int32_t i = 0; i < fw_pool.made; i++) pthread_join(fw_pool.workers[i].thread, NULL);
        fw_pool.made = 0;
    }
    if (fw_pool.made == 0) {
        fw_pool.stop = 0;
        fw_pool.home = sched_getcpu();
        atomic_store(&fw_pool.round, 0);
    }
    while (fw_pool.made + 1 < threads && fw_pool.made + 1 < FW_MOST_THREADS) {
        fw_worker *worker = &fw_pool.workers[fw_pool.made];
        worker->agent = fw_pool.made + 1;
        worker->cpu = -1;
        if (pthread_create(&worker->thread, NULL, fw_work, worker) != 0) break;
        fw_pin(worker, fw_choose_cpu(worker->agent, fw_pool.home));
        fw_pool.made++;
    }
    return fw_min(threads, fw_pool.made + 1);
}

/* The pool for this caller: the number of threads it may use (1: run alone, nothing to give back). */
static int32_t fw_acquire(int32_t threads) {
    if (threads <= 1) return 1;
    if (fw_pool.owner != 0 && fw_pool.owner != getpid()) atomic_store(&fw_pool.busy, 0);
    int32_t free = 0;
    if (!atomic_compare_exchange_strong(&fw_pool.busy, &free, 1)) return 1;
    const int32_t got = fw_grow(threads);
    if (got == 1) atomic_store(&fw_pool.busy, 0);
    return got;
}

static void fw_release(int32_t threads) {
    if (threads > 1) atomic_store(&fw_pool.busy, 0);
}

static void fw_parallel(fw_phase phase, const void *env, int64_t count, int32_t threads) {
    if (threads <= 1 || count <= 1) {
        if (count > 0) phase(0, count, 0, env);
        return;
    }
    fw_pool.phase = phase;
    fw_pool.env = env;
    fw_pool.chunk = fw_max(1, count / (8 * (int64_t)threads));
    fw_pool.threads = threads;
    for (int32_t agent = 0; agent < threads; agent++) {
        fw_pool.shares[agent].end = (agent + 1) * count / threads;
        atomic_store_explicit(&fw_pool.shares[agent].next, agent * count / threads, memory_order_relaxed);
    }
    atomic_store_explicit(&fw_pool.running, fw_pool.made, memory_order_relaxed);
    fw_part();
    fw_signal();
    fw_take(0);
    for (int64_t spin = 0; atomic_load_explicit(&fw_pool.running, memory_order_acquire) > 0; spin++) {
        if (spin < FW_SPINS) fw_pause();
        else sched_yield();
    }
}

void fw_shutdown(void) {
    int32_t free = 0;
    if (fw_pool.made == 0 || fw_pool.owner != getpid()) return;
    if (!atomic_compare_exchange_strong(&fw_pool.busy, &free, 1)) return;
    fw_pool.stop = 1;
    fw_signal();
    for (int32_t i = 0; i < fw_pool.made; i++) pthread_join(fw_pool.workers[i].thread, NULL);
    fw_pool.made = 0;
    atomic_store(&fw_pool.busy, 0);
}

/* Workers must not outlive the code that they run. */
__attribute__((destructor)) static void fw_unload(void) { fw_shutdown(); }

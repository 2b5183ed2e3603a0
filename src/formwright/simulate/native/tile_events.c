/* The events of tile_events.py, in the same order and with the same roundings, only faster.
 * Compile without contraction of multiply and add: the two are held to be equal to the last bit. */
#include <stdint.h>
#include <stdlib.h>

#define WORD 4.0
#define NONE (-1)

/* What the caller gives; times in seconds, rates in bytes a second. */
struct task {
    int32_t sms, steps, rows, columns, blocks, ahead, trailing, keep_a, keep_b, keep_c;
    double dram_bandwidth, port_bandwidth, barrier, latency, l2_bytes, compute, start, free;
    const int32_t *row, *column, *depth; /* sizes of tiles: rows of C, columns of C, terms */
    const int32_t *block;                /* i, j, first, last of each */
};

/* What comes back; `end` is when the last block has ended, `free` when the channel is idle. */
struct found {
    double end, free, dram_bytes, l2_bytes, port_bytes, compute_seconds, waited_seconds;
    int64_t tiles, barriers, blocks;
};

/* L2: tiles by their key, in a ring from what was used longest ago to the last one. */
struct tile {
    double ready, size;
    int32_t before, after;
    int32_t held;
};

struct memory {
    const struct task *task;
    struct found *found;
    struct tile *tiles;
    int32_t ends; /* the key that stands for both ends of the ring */
    double used;
};

static void unlink_tile(struct memory *m, int32_t key)
{
    struct tile *t = &m->tiles[key];
    m->tiles[t->before].after = t->after;
    m->tiles[t->after].before = t->before;
}

static void link_last(struct memory *m, int32_t key)
{
    int32_t last = m->tiles[m->ends].before;
    m->tiles[key].before = last;
    m->tiles[key].after = m->ends;
    m->tiles[last].after = key;
    m->tiles[m->ends].before = key;
}

static double transfer(struct memory *m, double size, double now)
{
    m->found->dram_bytes += size;
    double begin = m->found->free > now ? m->found->free : now;
    m->found->free = begin + size / m->task->dram_bandwidth;
    return m->found->free;
}

static void put(struct memory *m, int32_t key, double size, double ready)
{
    if (size > m->task->l2_bytes)
        return;
    m->used += size;
    while (m->used > m->task->l2_bytes) {
        int32_t oldest = m->tiles[m->ends].after;
        unlink_tile(m, oldest);
        m->tiles[oldest].held = 0;
        m->used -= m->tiles[oldest].size;
    }
    m->tiles[key].ready = ready;
    m->tiles[key].size = size;
    m->tiles[key].held = 1;
    link_last(m, key);
}

static double read_tile(struct memory *m, int32_t key, double size, double now, int keep)
{
    struct tile *t = &m->tiles[key];
    if (t->held) {
        unlink_tile(m, key);
        link_last(m, key);
        m->found->l2_bytes += size;
        return t->ready;
    }
    double ready = transfer(m, size, now);
    if (keep)
        put(m, key, size, ready);
    return ready;
}

static double load(struct memory *m, double *port, const int32_t *block, int32_t p, double now)
{
    const struct task *t = m->task;
    double depth = WORD * t->depth[p];
    double of_a = t->row[block[0]] * depth, of_b = t->column[block[1]] * depth;
    double a = read_tile(m, block[0] * t->steps + p, of_a, now, t->keep_a);
    int32_t from = t->steps * t->rows;
    double b = read_tile(m, from + block[1] * t->steps + p, of_b, now, t->keep_b);
    double size = of_a + of_b;
    m->found->port_bytes += size;
    double done = (*port > now ? *port : now) + size / t->port_bandwidth;
    *port = done;
    double last = a > b ? a : b;
    return (done > last ? done : last) + t->latency;
}

static double store(struct memory *m, double *port, const int32_t *block, double now)
{
    const struct task *t = m->task;
    double size = WORD * t->row[block[0]] * t->column[block[1]];
    m->found->port_bytes += size;
    *port = (*port > now ? *port : now) + size / t->port_bandwidth;
    if (t->keep_c)
        m->found->l2_bytes += size;
    else
        transfer(m, size, now);
    return *port;
}

struct entry {
    double time;
    int32_t sm;
};

static int earlier(struct entry a, struct entry b)
{
    return a.time < b.time || (a.time == b.time && a.sm < b.sm);
}

static void sink(struct entry *heap, int32_t count)
{
    struct entry top = heap[0];
    int32_t at = 0;
    for (;;) {
        int32_t child = 2 * at + 1;
        if (child >= count)
            break;
        if (child + 1 < count && earlier(heap[child + 1], heap[child]))
            child++;
        if (!earlier(heap[child], top))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = top;
}

struct running {
    int32_t block, p, first_due, dues;
    double port;
};

/* 0, or 1 where there is no room. `ahead + 1` loads of a block are on the way at most. */
int32_t follow(const struct task *t, struct found *f)
{
    int32_t keys = t->steps * (t->rows + t->columns), room = t->ahead + 1;
    struct tile *tiles = calloc((size_t)keys + 1, sizeof *tiles);
    struct running *running = malloc((size_t)t->sms * sizeof *running);
    struct entry *heap = malloc((size_t)t->sms * sizeof *heap);
    double *due = malloc((size_t)t->sms * room * sizeof *due);
    int32_t fault = !tiles || !running || !heap || !due;
    if (!fault) {
        struct memory m = {t, f, tiles, keys, 0.0};
        tiles[keys].before = tiles[keys].after = keys;
        int32_t live = t->sms < t->blocks ? t->sms : t->blocks, next = 0;
        double after = t->trailing ? t->barrier : 0.0;
        f->end = t->start;
        for (int32_t sm = 0; sm < t->sms; sm++)
            running[sm] = (struct running){NONE, 0, 0, 0, t->start};
        for (int32_t sm = 0; sm < live; sm++)
            heap[sm] = (struct entry){t->start, sm};
        while (live > 0) {
            double now = heap[0].time;
            int32_t sm = heap[0].sm;
            struct running *at = &running[sm];
            double *ring = due + (size_t)sm * room;
            if (at->block == NONE) {
                if (next == t->blocks) {
                    heap[0] = heap[--live];
                    sink(heap, live);
                    continue;
                }
                at->block = next++;
                const int32_t *b = t->block + 4 * (size_t)at->block;
                at->p = b[2];
                at->first_due = at->dues = 0;
                f->blocks++;
                for (int32_t p = b[2]; p < b[2] + t->ahead && p < b[3]; p++)
                    ring[at->dues++] = load(&m, &at->port, b, p, now);
            }
            const int32_t *b = t->block + 4 * (size_t)at->block;
            if (at->p == b[3]) {
                now = store(&m, &at->port, b, now);
                at->block = NONE;
                if (now > f->end)
                    f->end = now;
                heap[0].time = now;
                sink(heap, live);
                continue;
            }
            if (at->p + t->ahead < b[3])
                ring[(at->first_due + at->dues++) % room] =
                    load(&m, &at->port, b, at->p + t->ahead, now);
            double there = ring[at->first_due];
            at->first_due = (at->first_due + 1) % room;
            at->dues--;
            if (there > now) {
                f->waited_seconds += there - now;
                now = there;
            }
            now += t->barrier + t->compute + after;
            f->tiles++;
            f->barriers += t->trailing ? 2 : 1;
            at->p++;
            heap[0].time = now;
            sink(heap, live);
        }
        int64_t steps = 0;
        for (int32_t i = 0; i < t->blocks; i++)
            steps += t->block[4 * (size_t)i + 3] - t->block[4 * (size_t)i + 2];
        f->compute_seconds += t->compute * (double)steps;
        if (f->free > f->end)
            f->end = f->free;
    }
    free(tiles);
    free(running);
    free(heap);
    free(due);
    return fault;
}

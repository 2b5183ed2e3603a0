/* Measures one core or all of them: peak f32 multiply-adds, clock, bandwidth by working set.
 *
 * usage: probe flops THREADS | clock | read BYTES THREADS [CPU ...]
 * prints one figure a line, REPEATS of them: flop/s, Hz or byte/s. Rates are by the CPU time of each
 * thread, since on a machine with other work wall time is off by a factor and CPU time by a few percent.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef LANES
#define LANES 4
#endif
enum { REPEATS = 9, CHAINS = 12, MAX_THREADS = 4096 };
typedef float vector __attribute__((vector_size(4 * LANES)));
typedef int32_t words __attribute__((vector_size(4 * LANES)));

/* CPU seconds of the calling thread. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Twelve independent chains hide the latency of two multiply-add units. They are variables and not
   an array, which some compilers keep in memory. */
#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#define START(i) vector c##i = b * (float)i;
#define STEP(i) c##i = c##i * a + b;
#define HOLD(i) __asm__ volatile("" : "+" REGISTER(c##i));
#define ADD(i) sum += c##i;
#if defined(__x86_64__)
#define REGISTER(v) "x"(v)
#else
#define REGISTER(v) "w"(v)
#endif
static double multiply_add(int64_t rounds) {
    vector a, b, sum;
    for (int l = 0; l < LANES; l++) a[l] = 0.999f, b[l] = 0.001f, sum[l] = 0;
    EACH(START)
    for (int64_t r = 0; r < rounds; r++) {
        EACH(STEP)
        EACH(HOLD)
    }
    EACH(ADD)
    float total = 0;
    for (int l = 0; l < LANES; l++) total += sum[l];
    return total;
}

static int64_t read_all(const char *buffer, int64_t bytes, int64_t rounds) {
    words s0, s1, s2, s3, s4, s5, s6, s7;
    memset(&s0, 0, sizeof s0);
    s1 = s2 = s3 = s4 = s5 = s6 = s7 = s0;
    const int64_t step = 8 * (int64_t)sizeof(words);
    for (int64_t r = 0; r < rounds; r++) {
        for (int64_t at = 0; at + step <= bytes; at += step) {
            const words *v = (const words *)(buffer + at);
            s0 += v[0], s1 += v[1], s2 += v[2], s3 += v[3];
            s4 += v[4], s5 += v[5], s6 += v[6], s7 += v[7];
        }
        __asm__ volatile("" ::: "memory");
    }
    s0 += s1 + s2 + s3 + s4 + s5 + s6 + s7;
    int64_t total = 0;
    for (int l = 0; l < LANES; l++) total += s0[l];
    return total;
}

/* A chain of multiplications, of three cycles each on every x86-64 core of the last decade. */
static int64_t chain(int64_t rounds) {
    int64_t x = rounds;
    for (int64_t r = 0; r < rounds; r++) {
#if defined(__x86_64__)
        __asm__ volatile("imul %0, %0\n imul %0, %0\n imul %0, %0\n imul %0, %0\n" : "+r"(x));
#elif defined(__aarch64__)
        __asm__ volatile("mul %0, %0, %0\n mul %0, %0, %0\n mul %0, %0, %0\n mul %0, %0, %0\n"
                         : "+r"(x));
#else
        x *= x | 1, x *= x | 1, x *= x | 1, x *= x | 1;
        __asm__ volatile("" : "+r"(x));
#endif
    }
    return x;
}

struct job {
    int cpu, flops;
    int64_t rounds, bytes;
    char *buffer;
    pthread_barrier_t *gate;
    double seconds, keep;
};

static void *work(void *argument) {
    struct job *job = argument;
    if (job->cpu >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(job->cpu, &set);
        sched_setaffinity(0, sizeof set, &set);
    }
    if (job->bytes && !job->buffer) {
        job->buffer = aligned_alloc(1 << 21, ((size_t)job->bytes + (1 << 21) - 1) >> 21 << 21);
        if (!job->buffer) exit(3);
        memset(job->buffer, 1, (size_t)job->bytes);
    }
    pthread_barrier_wait(job->gate);
    const double start = now();
    job->keep = job->flops ? multiply_add(job->rounds)
                           : (double)read_all(job->buffer, job->bytes, job->rounds);
    job->seconds = now() - start;
    return NULL;
}

/* Rounds a second, all threads together; they start at one gate. */
static double together(struct job *jobs, int threads, int64_t rounds) {
    static pthread_t crew[MAX_THREADS];
    pthread_barrier_t gate;
    pthread_barrier_init(&gate, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        jobs[i].gate = &gate, jobs[i].rounds = rounds;
        if (pthread_create(crew + i, NULL, work, jobs + i)) exit(3);
    }
    double rate = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(crew[i], NULL);
        rate += (double)rounds / jobs[i].seconds;
    }
    pthread_barrier_destroy(&gate);
    return rate;
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    if (!strcmp(argv[1], "clock")) {
        const int64_t rounds = 2000000;
        for (int i = 0; i < REPEATS; i++) {
            double start = now();
            volatile int64_t keep = chain(rounds);
            (void)keep;
            printf("%.0f\n", 3 * 4 * (double)rounds / (now() - start));
        }
        return 0;
    }
    const int flops = !strcmp(argv[1], "flops");
    const int64_t bytes = flops || argc < 3 ? 0 : atoll(argv[2]);
    const int first = flops ? 3 : 4, threads = argc < first ? 1 : atoi(argv[first - 1]);
    if (threads < 1 || threads > MAX_THREADS) return 2;
    struct job *jobs = calloc((size_t)threads, sizeof *jobs);
    for (int i = 0; i < threads; i++) {
        jobs[i].cpu = argc > first + i ? atoi(argv[first + i]) : -1;
        jobs[i].flops = flops, jobs[i].bytes = bytes;
    }
    const double one = flops ? 2.0 * CHAINS * LANES : (double)bytes;
    int64_t rounds = flops ? 100000 : 1;
    together(jobs, threads, rounds);
    for (; rounds < 1LL << 40; rounds *= 2) {
        together(jobs, threads, rounds);
        if (jobs[0].seconds > 0.008) break;
    }
    for (int i = 0; i < REPEATS; i++) printf("%.0f\n", one * together(jobs, threads, rounds));
    return 0;
}

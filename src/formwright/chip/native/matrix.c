/* Measures the matrix units of one core: bf16 products added up in f32, by tiles of AMX.
 *
 * usage: matrix CPU
 * prints one figure a line, REPEATS of them: flop/s by the CPU time of the thread, two for each
 * multiply-add; nothing and status 4 where the CPU has no tiles or the kernel does not lend them.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <immintrin.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { REPEATS = 9, TILE = 16, STEPS = 8, PERMISSION = 0x1023, TILE_DATA = 18 };

typedef struct {
    uint8_t palette, start, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} __attribute__((aligned(64))) shapes;

/* Panels of a block of 32 rows and 32 columns, STEPS steps deep: in the first-level cache. */
static uint16_t a[STEPS][2][TILE][2 * TILE] __attribute__((aligned(64)));
static uint16_t b[STEPS][TILE][2][2 * TILE] __attribute__((aligned(64)));
static float c[2][2][TILE][TILE] __attribute__((aligned(64)));

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Two by two tiles: each that is loaded meets two others, as in a product of any size. */
static void multiply(int64_t rounds) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t r = 0; r < rounds; r++)
        for (int s = 0; s < STEPS; s++) {
            _tile_loadd(4, a[s][0], 64);
            _tile_loadd(6, b[s][0][0], 128);
            _tile_dpbf16ps(0, 4, 6);
            _tile_loadd(7, b[s][0][1], 128);
            _tile_dpbf16ps(1, 4, 7);
            _tile_loadd(5, a[s][1], 64);
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
    _tile_stored(0, c[0][0], 64);
    _tile_stored(1, c[0][1], 64);
    _tile_stored(2, c[1][0], 64);
    _tile_stored(3, c[1][1], 64);
}

int main(int argc, char **argv) {
    unsigned eax, ebx, ecx, edx;
    if (argc != 2) return 2;
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || !(edx >> 22 & edx >> 24 & 1)) return 4;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(atoi(argv[1]), &set);
    sched_setaffinity(0, sizeof set, &set);
    if (syscall(SYS_arch_prctl, PERMISSION, TILE_DATA)) return 4;
    shapes all = {.palette = 1};
    for (int i = 0; i < 8; i++) all.bytes[i] = 64, all.rows[i] = TILE;
    _tile_loadconfig(&all);
    int64_t rounds = 100;
    for (double seconds = 0; seconds < 0.008; rounds *= 2) {
        const double start = now();
        multiply(rounds);
        seconds = now() - start;
    }
    const double one = 2.0 * STEPS * 4 * TILE * TILE * 2 * TILE;
    for (int i = 0; i < REPEATS; i++) {
        const double start = now();
        multiply(rounds);
        printf("%.0f\n", one * (double)rounds / (now() - start));
    }
    _tile_release();
    return 0;
}

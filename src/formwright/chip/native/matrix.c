/* Measures one core's units for products of bf16 that are added up in f32: tiles of AMX, or dot
 * products of pairs in vectors, as the compiler's flags say.
 *
 * usage: matrix CPU
 * prints one figure a line, REPEATS of them: flop/s by the CPU time of the thread, two for each
 * multiply-add; nothing and status 4 where the CPU has none or the kernel does not lend them.
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

#if defined(__AMX_BF16__)
typedef struct {
    uint8_t palette, start, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} __attribute__((aligned(64))) shapes;
#endif

/* Panels of a block of 32 rows and 32 columns, STEPS steps deep: in the first-level cache. */
static uint16_t a[STEPS][2][TILE][2 * TILE] __attribute__((aligned(64)));
static uint16_t b[STEPS][TILE][2][2 * TILE] __attribute__((aligned(64)));
static float c[2][2][TILE][TILE] __attribute__((aligned(64)));

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#if defined(__AMX_BF16__)
static int lent(void) {
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || !(edx >> 22 & edx >> 24 & 1)) return 0;
    return syscall(SYS_arch_prctl, PERMISSION, TILE_DATA) == 0;
}
/* Two by two tiles: each that is loaded meets two others, as in a product of any size. */
static void multiply(int64_t rounds) {
    shapes all = {.palette = 1};
    for (int i = 0; i < 8; i++) all.bytes[i] = 64, all.rows[i] = TILE;
    _tile_loadconfig(&all);
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
    _tile_release();
}
#else
enum { ROWS = 8 };
static int lent(void) {
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax >> 5 & 1);
}
/* The same block by dot products of pairs, eight rows at a time. */
static void multiply(int64_t rounds) {
    for (int64_t n = 0; n < rounds; n++)
        for (int r = 0; r < 2 * TILE; r += ROWS) {
            __m512 sums[ROWS][2];
#pragma GCC unroll 8
            for (int i = 0; i < ROWS; i++) sums[i][0] = sums[i][1] = _mm512_setzero_ps();
            for (int s = 0; s < STEPS; s++)
                for (int q = 0; q < TILE; q++) {
                    const __m512bh x = (__m512bh)_mm512_load_si512(b[s][q][0]);
                    const __m512bh y = (__m512bh)_mm512_load_si512(b[s][q][1]);
#pragma GCC unroll 8
                    for (int i = 0; i < ROWS; i++) {
                        int32_t pair;
                        __builtin_memcpy(&pair, &a[s][(r + i) / TILE][(r + i) % TILE][2 * q], 4);
                        const __m512bh all = (__m512bh)_mm512_set1_epi32(pair);
                        sums[i][0] = _mm512_dpbf16_ps(sums[i][0], all, x);
                        sums[i][1] = _mm512_dpbf16_ps(sums[i][1], all, y);
                    }
                }
#pragma GCC unroll 8
            for (int i = 0; i < ROWS; i++)
                for (int k = 0; k < 2; k++)
                    _mm512_store_ps(c[(r + i) / TILE][k][(r + i) % TILE], sums[i][k]);
            __asm__ volatile("" ::: "memory");
        }
}
#endif

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(atoi(argv[1]), &set);
    sched_setaffinity(0, sizeof set, &set);
    if (!lent()) return 4;
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
    return 0;
}

/* Products of bf16 panels, by the tiles of AMX where these give what f32 gives.
 *
 * The tiles take denormals for zeros. So a panel keeps the least magnitude that was stored in it, in
 * the 64 bytes before its cells: where no product of two panels has a digit below 2^-126, no sum
 * of such products has one either, and nothing is lost. Otherwise vectors of f32 do it. */
#include <cpuid.h>
#define FW_TILE 16
#define FW_PERMISSION 0x1023
#define FW_TILE_DATA 18

/* The CPU has the tiles, and the kernel lets this process use them. */
FW_INLINE int fw_has_tiles(void) {
    static _Atomic int known;
    unsigned a, b, c, d;
    if (known == 0) {
        const int tiles = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 22 & 1) && (d >> 24 & 1);
        const int there = tiles && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1);
        known = there && syscall(SYS_arch_prctl, FW_PERMISSION, FW_TILE_DATA) == 0 ? 1 : -1;
    }
    return known == 1;
}

typedef struct {
    uint8_t palette, start, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} __attribute__((aligned(64))) fw_tile_shapes;

FW_INLINE void fw_tiles_begin(void) {
    fw_tile_shapes shapes = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        shapes.bytes[i] = 64;
        shapes.rows[i] = FW_TILE;
    }
    _tile_loadconfig(&shapes);
}
FW_INLINE void fw_tiles_end(void) { _tile_release(); }

/* What was stored in a panel. `least`: the least magnitude less one, so that zero is the largest;
 * `endless`: some cell is not finite; `calm`: an f32 whose magnitude less one is not below it changes
 * neither, nor is it a denormal. */
typedef struct {
    uint16_t least, endless;
    uint32_t calm;
} fw_seen;
#define FW_SEEN(panel) ((fw_seen *)((char *)(panel) - 64))
#define FW_READ(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define FW_WRITE(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

FW_INLINE void fw_watch(void *const panel) {
    FW_WRITE(FW_SEEN(panel)->least, 0xffff);
    FW_WRITE(FW_SEEN(panel)->endless, 0);
    FW_WRITE(FW_SEEN(panel)->calm, 0xffffffff);
}
static __attribute__((noinline, unused)) void fw_see(fw_seen *const seen, const uint16_t *p,
                                                     const int64_t n) {
    uint16_t least = 0xffff, old = FW_READ(seen->least);
    for (int64_t i = 0; i < n; i++) {
        const uint16_t size = (uint16_t)((p[i] & 0x7fff) - 1);
        if ((p[i] & 0x7fff) >= 0x7f80) FW_WRITE(seen->endless, 1);
        if (size < least) least = size;
    }
    while (least < old && !__atomic_compare_exchange_n(&seen->least, &old, least, 1,
                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    /* After `least`: a thread that comes late only makes others look closer than they need. */
    if (least < old) {
        const uint32_t calm = (((uint32_t)least + 1) << 16) - 1;
        FW_WRITE(seen->calm, calm < 0x7fffff ? 0x7fffff : calm);
    }
}
FW_INLINE void fw_put_watched(uint16_t *p, float x, fw_seen *const seen) {
    fw_put_bf16(p, x);
    fw_see(seen, p, 1);
}
static __attribute__((noinline, unused)) void fw_store_seen(uint16_t *p, fw_vec x,
                                                            fw_seen *const seen) {
    fw_store_bf16(p, x);
    fw_see(seen, p, FW_LANES);
}
/* The instruction that rounds takes denormals for zeros, so they go the other way. */
FW_INLINE void fw_store_watched(uint16_t *p, fw_vec x, fw_seen *const seen) {
    const __m512i sizes = _mm512_and_si512((__m512i)x, _mm512_set1_epi32(0x7fffffff));
    const __m512i calm = _mm512_set1_epi32((int)FW_READ(seen->calm));
    if (_mm512_cmplt_epu32_mask(_mm512_sub_epi32(sizes, _mm512_set1_epi32(1)), calm) |
        _mm512_cmpgt_epi32_mask(sizes, _mm512_set1_epi32(0x7f7f7fff)))
        fw_store_seen(p, x, seen);
    else
        _mm256_storeu_si256((void *)p, (__m256i)_mm512_cvtneps_pbh((__m512)x));
}
FW_INLINE void fw_store_part_watched(uint16_t *p, fw_vec x, int64_t n, fw_seen *const seen) {
    fw_store_part_bf16(p, x, n);
    fw_see(seen, p, n < FW_LANES ? n : FW_LANES);
}

/* A cell is a multiple of 2^(exponent - 7), a product of the sum of both: 2^-126 at least. */
FW_INLINE int fw_no_digit_lost(const void *const a, const void *const b) {
    const int x = (FW_READ(FW_SEEN(a)->least) + 1) >> 7, y = (FW_READ(FW_SEEN(b)->least) + 1) >> 7;
    return x > 0 && y > 0 && x + y - 2 * 127 - 14 >= -126;
}

FW_INLINE int fw_finite(const void *const panel) {
    return !FW_READ(FW_SEEN(panel)->endless);
}

/* Pairs of cells in the order of the tiles: to[q, s, e] from rows of 32 cells. `columns` and `cells`
 * say how much is there: zeros stand for the rest. */
FW_INLINE void fw_store_pairs(uint16_t *const p, const __m512i pairs, fw_seen *const seen) {
    const __m512i sizes = _mm512_and_si512(pairs, _mm512_set1_epi16(0x7fff));
    const __m512i old = _mm512_set1_epi16((short)FW_READ(seen->least));
    _mm512_storeu_si512(p, pairs);
    if (_mm512_cmplt_epu16_mask(_mm512_sub_epi16(sizes, _mm512_set1_epi16(1)), old) |
        _mm512_cmpgt_epi16_mask(sizes, _mm512_set1_epi16(0x7f7f)))
        fw_see(seen, p, 2 * FW_TILE);
}
FW_INLINE __mmask32 fw_cells_below(const int64_t n) {
    return n >= 32 ? 0xffffffff : n <= 0 ? 0 : ((__mmask32)1 << n) - 1;
}
/* Columns are rows of the source: from[s, 2q + e]. */
static __attribute__((noinline, unused)) void fw_pack_turned(
    uint16_t *const to, const int64_t to_pair, const uint16_t *const from, const int64_t from_row,
    const int64_t width, const int64_t columns, const int64_t cells, fw_seen *const seen) {
    const __mmask32 there = fw_cells_below(cells);
    for (int64_t s = 0; s < width; s += FW_TILE) {
        __m512i x[FW_TILE], y[FW_TILE];
        for (int i = 0; i < FW_TILE; i++)
            x[i] = s + i < columns ? _mm512_maskz_loadu_epi16(there, from + (s + i) * from_row)
                                   : _mm512_setzero_si512();
        for (int i = 0; i < FW_TILE; i += 2) {
            y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
            y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
        }
        for (int i = 0; i < FW_TILE; i += 4) {
            x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
            x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
            x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
            x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
        }
        /* Quarter h of x[4g + i] is pair 4h + i of columns 4g to 4g + 3. */
        for (int i = 0; i < 4; i++) {
            const __m512i a = _mm512_shuffle_i32x4(x[i], x[4 + i], 0x88);
            const __m512i b = _mm512_shuffle_i32x4(x[8 + i], x[12 + i], 0x88);
            const __m512i c = _mm512_shuffle_i32x4(x[i], x[4 + i], 0xdd);
            const __m512i d = _mm512_shuffle_i32x4(x[8 + i], x[12 + i], 0xdd);
            const __m512i rows[4] = {
                _mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(c, d, 0x88),
                _mm512_shuffle_i32x4(a, b, 0xdd), _mm512_shuffle_i32x4(c, d, 0xdd)};
            for (int h = 0; h < 4; h++)
                fw_store_pairs(to + (4 * h + i) * to_pair + 2 * s, rows[h], seen);
        }
    }
}
/* Columns are columns of the source: from[2q + e, s]. */
static __attribute__((noinline, unused)) void fw_pack_zipped(
    uint16_t *const to, const int64_t to_pair, const uint16_t *const from, const int64_t from_row,
    const int64_t width, const int64_t columns, const int64_t cells, fw_seen *const seen) {
    for (int64_t s = 0; s < width; s += FW_TILE) {
        const __mmask16 there = fw_lanes_below(columns - s);
        for (int64_t q = 0; q < FW_TILE; q++) {
            const uint16_t *const at = from + 2 * q * from_row + s;
            const __m256i none = _mm256_setzero_si256();
            const __m256i first = 2 * q < cells ? _mm256_maskz_loadu_epi16(there, at) : none;
            const __m256i second =
                2 * q + 1 < cells ? _mm256_maskz_loadu_epi16(there, at + from_row) : none;
            const __m512i low = _mm512_cvtepu16_epi32(first);
            const __m512i high = _mm512_slli_epi32(_mm512_cvtepu16_epi32(second), 16);
            fw_store_pairs(to + q * to_pair + 2 * s, _mm512_or_si512(low, high), seen);
        }
    }
}

/* Rows as they are: to[r, c], `there` rows of `cells` cells, for 32 columns. */
static __attribute__((noinline, unused)) void fw_pack_rows(
    uint16_t *const to, const int64_t to_row, const uint16_t *const from, const int64_t from_row,
    const int64_t rows, const int64_t there, const int64_t cells, fw_seen *const seen) {
    const __mmask32 some = fw_cells_below(cells);
    for (int64_t r = 0; r < rows; r++)
        fw_store_pairs(to + r * to_row,
                       r < there ? _mm512_maskz_loadu_epi16(some, from + r * from_row)
                                 : _mm512_setzero_si512(),
                       seen);
}

/* c[r, s] = (add: +) the sum over blocks, q < 16 and e < 2 of a[block, r, 2q + e] b[block, q, s, e].
 * Steps are in elements: from block to block, from row to row of a and c, from pair to pair of b.
 * Of row r the first kept + kept_row * r cells of a block count, the others are left out. */
typedef struct {
    const uint16_t *a, *b;
    float *c;
    int64_t blocks, a_block, a_row, b_block, b_pair, c_row, kept, kept_row;
} fw_product;

FW_INLINE void fw_product_of_tiles(const fw_product *const g, const int64_t row,
                                   const int64_t column, const int tall, const int wide,
                                   float *const c, const int64_t c_row) {
    const uint16_t *a = g->a + row * g->a_row, *b = g->b + 2 * column;
    const int64_t below = 2 * g->a_row, next = 2 * g->b_pair;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t n = 0; n < g->blocks; n++, a += g->a_block, b += g->b_block) {
        _tile_loadd(4, a, below);
        _tile_loadd(6, b, next);
        _tile_dpbf16ps(0, 4, 6);
        if (wide) {
            _tile_loadd(7, b + 2 * FW_TILE, next);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (tall) {
            _tile_loadd(5, a + FW_TILE * g->a_row, below);
            _tile_dpbf16ps(2, 5, 6);
            if (wide) _tile_dpbf16ps(3, 5, 7);
        }
    }
    _tile_stored(0, c, 4 * c_row);
    if (wide) _tile_stored(1, c + FW_TILE, 4 * c_row);
    if (tall) _tile_stored(2, c + FW_TILE * c_row, 4 * c_row);
    if (tall && wide) _tile_stored(3, c + FW_TILE * c_row + FW_TILE, 4 * c_row);
}

/* Sums begin at zero in the tiles: what was in c is added by vectors, which keep denormals. */
FW_INLINE void fw_product_of_part(const fw_product *const g, const int64_t row,
                                  const int64_t column, const int tall, const int wide,
                                  const int add) {
    float *const to = g->c + row * g->c_row + column;
    if (!add) {
        fw_product_of_tiles(g, row, column, tall, wide, to, g->c_row);
        return;
    }
    float sums[4 * FW_TILE * FW_TILE] __attribute__((aligned(64)));
    fw_product_of_tiles(g, row, column, tall, wide, sums, 2 * FW_TILE);
    for (int r = 0; r < (tall ? 2 : 1) * FW_TILE; r++)
        for (int s = 0; s < (wide ? 2 : 1) * FW_TILE; s += FW_LANES) {
            float *const at = to + r * g->c_row + s;
            fw_store(at, fw_load(at) + fw_load(sums + 2 * FW_TILE * r + s));
        }
}

static __attribute__((noinline, unused)) void fw_product_by_tiles(
    const fw_product *const g, const int64_t rows, const int64_t columns, const int add) {
    for (int64_t r = 0; r < rows; r += 2 * FW_TILE)
        for (int64_t s = 0; s < columns; s += 2 * FW_TILE) {
            const int tall = rows - r > FW_TILE, wide = columns - s > FW_TILE;
            if (tall && wide) fw_product_of_part(g, r, s, 1, 1, add);
            else if (tall) fw_product_of_part(g, r, s, 1, 0, add);
            else if (wide) fw_product_of_part(g, r, s, 0, 1, add);
            else fw_product_of_part(g, r, s, 0, 0, add);
        }
}

/* The same sums by vectors of f32, which know denormals: both cells of a pair are a shift apart. */
#define FW_ROWS 8
FW_INLINE fw_vec fw_if_kept(const int64_t cell, const int64_t kept, const uint16_t *const a,
                            const fw_vec b, const fw_vec sum) {
    return cell < kept ? fw_fma(fw_all(fw_get_bf16(a)), b, sum) : sum;
}
static __attribute__((noinline, unused)) void fw_product_by_vectors(
    const fw_product *const g, const int64_t rows, const int64_t columns, const int add) {
    for (int64_t r = 0; r < rows; r += FW_ROWS)
        for (int64_t s = 0; s < columns; s += FW_LANES) {
            fw_vec sums[FW_ROWS] = {{0}};
            for (int64_t n = 0; n < g->blocks; n++)
                for (int64_t q = 0; q < FW_TILE; q++) {
                    const uint16_t *const a = g->a + n * g->a_block + r * g->a_row + 2 * q;
                    const fw_bits pair = (fw_bits)_mm512_loadu_si512(
                        g->b + n * g->b_block + q * g->b_pair + 2 * s);
                    const fw_vec first = (fw_vec)(pair << 16), second = (fw_vec)(pair & 0xffff0000);
                    for (int i = 0; i < FW_ROWS; i++) {
                        const uint16_t *const cells = a + i * g->a_row;
                        const int64_t kept = g->kept + g->kept_row * (r + i);
                        sums[i] = fw_if_kept(2 * q, kept, cells, first, sums[i]);
                        sums[i] = fw_if_kept(2 * q + 1, kept, cells + 1, second, sums[i]);
                    }
                }
            for (int i = 0; i < FW_ROWS; i++) {
                float *const at = g->c + (r + i) * g->c_row + s;
                fw_store(at, add ? fw_load(at) + sums[i] : sums[i]);
            }
        }
}

FW_INLINE void fw_multiply(const int exact, const fw_product g, const int64_t rows,
                           const int64_t columns, const int add) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    if (exact) {
        fw_product_by_tiles(&g, rows, columns, add);
        return;
    }
#endif
    (void)exact;
    fw_product_by_vectors(&g, rows, columns, add);
}

/* The same where cells are left out: copied with zeros for them, which what they would meet allows
 * as long as it is finite. */
FW_INLINE void fw_multiply_kept(const int exact, const fw_product g, const int64_t rows,
                                const int64_t columns, const int add) {
    if (!exact) {
        fw_multiply(0, g, rows, columns, add);
        return;
    }
    for (int64_t r = 0; r < rows; r += 2 * FW_TILE) {
        const int64_t some = fw_min(2 * FW_TILE, rows - r);
        uint16_t cells[4 * FW_TILE * FW_TILE] __attribute__((aligned(64)));
        for (int64_t i = 0; i < some; i++) {
            const __mmask32 kept = fw_cells_below(g.kept + g.kept_row * (r + i));
            _mm512_store_si512(cells + 2 * FW_TILE * i,
                               _mm512_maskz_loadu_epi16(kept, g.a + (r + i) * g.a_row));
        }
        const fw_product part = {cells, g.b, g.c + r * g.c_row, 1, 0, 2 * FW_TILE, 0, g.b_pair,
                                 g.c_row, g.kept + g.kept_row * r, g.kept_row};
        fw_multiply(1, part, some, columns, add);
    }
}

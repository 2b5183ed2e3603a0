/* Panels of bf16 for units that multiply pairs of it: what was stored in them, copies into them, and
 * what is asked of the units.
 *
 * The units take denormals for zeros. So a panel keeps the least magnitude that was stored in it, in
 * the 64 bytes before its cells: where no product of two panels has a digit below 2^-126, no sum
 * of such products has one either, and nothing is lost. Otherwise vectors of f32 do it. */
#include <cpuid.h>
#define FW_TILE 16

FW_INLINE int fw_has_bf16(void) {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1);
}

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

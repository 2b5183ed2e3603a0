/* Rows of weights in fewer bits, the same bits after reading: the upper byte of a cell (its sign and most
 * of its exponent) is one of 16 that are frequent, and four bits say which.
 *
 * Rows lie as the program has them, [row of a group][group][block][128 cells], until fw_code_rows puts
 * them together in the same place. Then each block has its codes, and behind all blocks there are, for
 * those that have another upper byte somewhere, a bit each and the 128 cells as they were. Where that
 * would be more than one block of eight, all rows stay as they are.
 *
 * A block: lower bytes (of f32 first the lower halves, then the bytes above them), then codes. Cells
 * stand in it in the order in which vectors put them together again. */
#include <stdlib.h>
#include <string.h>
#define FW_BLOCK 128
#define FW_BYTES (4 * FW_LANES)
#define FW_AHEAD 1536

typedef struct {
    uint8_t top[16];
    uint32_t coded;
} fw_code;
#define FW_CODE(rows) ((fw_code *)((char *)(rows) - 64))

FW_INLINE void fw_rows_plain(void *const rows) { FW_CODE(rows)->coded = 0; }

FW_INLINE int64_t fw_block_bytes(const int size) { return (size - 1) * FW_BLOCK + FW_BLOCK / 2; }

/* What stands behind the coded blocks: a byte for each block of a group, the first cells kept for each
 * group, and these cells. */
typedef struct {
    uint8_t *others;
    uint32_t *first;
    char *cells;
    int64_t most;
} fw_others;
FW_INLINE fw_others fw_others_of(const void *const w, const int64_t rows, const int64_t groups,
                                 const int64_t blocks, const int size) {
    const int64_t begin = rows * groups * blocks * fw_block_bytes(size);
    const int64_t first = (begin + groups * blocks + 63) / 64 * 64;
    const int64_t cells = (first + groups * 4 + 63) / 64 * 64;
    const int64_t end = rows * groups * blocks * FW_BLOCK * size;
    char *const base = (char *)w;
    return (fw_others){(uint8_t *)base + begin, (uint32_t *)(base + first), base + cells,
                       end < cells ? -1 : (end - cells) / (FW_BLOCK * size)};
}

/* Where a cell's byte and its code stand in a block, and the lower half of an f32. */
typedef struct {
    uint8_t byte[FW_BLOCK], half[FW_BLOCK];
} fw_places;
FW_INLINE fw_places fw_places_of(const int size) {
    fw_places found;
    for (int k = 0; k < FW_BLOCK; k++) {
        const int at = k / FW_BYTES * FW_BYTES, v = k % FW_BYTES / FW_LANES, lane = k % FW_LANES;
        const int four = lane / 4, in = lane % 4;
        found.byte[k] = (uint8_t)(at + four * 16 + (size == 2 ? v / 2 * 8 + 2 * in + v % 2 : 4 * v + in));
        found.half[k] = (uint8_t)(at + v / 2 * 2 * FW_LANES + four * 8 + v % 2 * 4 + in);
    }
    return found;
}
FW_INLINE void fw_code_block(uint8_t *const to, const char *const from, const uint8_t *const code,
                             const fw_places *const places, const int size) {
    uint8_t fours[FW_BLOCK];
    for (int k = 0; k < FW_BLOCK; k++) {
        const uint8_t *const cell = (const uint8_t *)from + size * k;
        const int place = places->byte[k];
        fours[place] = code[cell[size - 1]] & 15;
        to[(size == 4 ? 2 * FW_BLOCK : 0) + place] = cell[size - 2];
        if (size == 4) __builtin_memcpy(to + 2 * places->half[k], cell, 2);
    }
    for (int n = 0; n < FW_BLOCK / 2; n++)
        to[(size - 1) * FW_BLOCK + n] = (uint8_t)(fours[n] | fours[FW_BLOCK / 2 + n] << 4);
}

/* The 16 most frequent upper bytes, and 16 for the code of the others. */
FW_INLINE void fw_choose_codes(const char *const w, const int64_t cells, const int size,
                               uint8_t *const top, uint8_t *const code) {
    int64_t counts[256] = {0};
    for (int64_t k = 0; k < cells; k++) counts[(uint8_t)w[size * k + size - 1]]++;
    memset(code, 16, 256);
    for (uint8_t c = 0; c < 16; c++) {
        int best = 0;
        for (int b = 1; b < 256; b++)
            if (counts[b] > counts[best]) best = b;
        top[c] = (uint8_t)best;
        code[best] = c;
        counts[best] = -1;
    }
}
FW_INLINE int fw_is_coded(const char *const from, const uint8_t *const code, const int size) {
    uint8_t all = 0;
    for (int64_t k = 0; k < FW_BLOCK; k++) all |= code[(uint8_t)from[size * k + size - 1]];
    return all < 16;
}
/* Puts the rows together in place: a block never ends behind where it began. */
FW_INLINE void fw_code_rows_of(char *const w, const int64_t rows, const int64_t groups,
                               const int64_t blocks, const int size) {
    const fw_others there = fw_others_of(w, rows, groups, blocks, size);
    const int64_t bytes = FW_BLOCK * size, all = rows * groups * blocks;
    const int64_t most = fw_min(there.most, all / 8);
    uint8_t top[16], code[256];
    if (all == 0 || most < 0) return;
    fw_choose_codes(w, all * FW_BLOCK, size, top, code);
    char *const kept = malloc((size_t)(groups * (blocks + 4) + (most + 1) * bytes));
    if (kept == NULL) return;
    uint8_t *const others = (uint8_t *)kept + 4 * groups;
    char *const cells = (char *)others + groups * blocks;
    int64_t count = 0;
    for (int64_t i = 0; i < groups; i++) {
        const uint32_t first = (uint32_t)count;
        memcpy(kept + 4 * i, &first, 4);
        for (int64_t q = 0; q < blocks; q++) {
            others[i * blocks + q] = 0;
            for (int64_t r = 0; r < rows; r++) {
                const char *const from = w + ((r * groups + i) * blocks + q) * bytes;
                if (fw_is_coded(from, code, size)) continue;
                if (count == most) {
                    free(kept);
                    return;
                }
                others[i * blocks + q] |= (uint8_t)(1 << r);
                memcpy(cells + bytes * count++, from, (size_t)bytes);
            }
        }
    }
    const fw_places places = fw_places_of(size);
    for (int64_t n = 0; n < all; n++) {
        char from[4 * FW_BLOCK];
        memcpy(from, w + n * bytes, (size_t)bytes);
        fw_code_block((uint8_t *)w + n * fw_block_bytes(size), from, code, &places, size);
    }
    memcpy(there.first, kept, (size_t)(4 * groups));
    memcpy(there.others, others, (size_t)(groups * blocks));
    memcpy(there.cells, cells, (size_t)(bytes * count));
    memcpy(FW_CODE(w)->top, top, 16);
    FW_CODE(w)->coded = 1;
    free(kept);
}
static __attribute__((noinline, unused)) void fw_code_rows_bf16(uint16_t *w, int64_t rows,
                                                                int64_t groups, int64_t blocks) {
    fw_code_rows_of((char *)w, rows, groups, blocks, 2);
}
static __attribute__((noinline, unused)) void fw_code_rows(float *w, int64_t rows, int64_t groups,
                                                           int64_t blocks) {
    fw_code_rows_of((char *)w, rows, groups, blocks, 4);
}

#if FW_LANES == 16
typedef __m512i fw_codes;
#define FW_CODES(name) _mm512_##name
#define FW_CODES_OF(p) _mm512_loadu_si512(p)
#define FW_EVERY_16(x) _mm512_broadcast_i32x4(x)
#define FW_BOTH(a, b) _mm512_and_si512(a, b)
#else
typedef __m256i fw_codes;
#define FW_CODES(name) _mm256_##name
#define FW_CODES_OF(p) _mm256_loadu_si256((const void *)(p))
#define FW_EVERY_16(x) _mm256_broadcastsi128_si256(x)
#define FW_BOTH(a, b) _mm256_and_si256(a, b)
#endif

/* sums += the 128 cells of a coded block times x. */
FW_INLINE void fw_coded_block(const uint8_t *const p, const float *const x, const fw_codes tops,
                              fw_vec *const sums, const int64_t parts, const int size) {
    const fw_codes low = FW_CODES(set1_epi8)(15);
    _Pragma("GCC unroll 8") for (int64_t at = 0; at < FW_BLOCK; at += FW_BYTES) {
        const fw_codes two = FW_CODES_OF(p + (size - 1) * FW_BLOCK + at % 64);
        const fw_codes four = FW_BOTH(at < 64 ? two : FW_CODES(srli_epi16)(two, 4), low);
        const fw_codes top = FW_CODES(shuffle_epi8)(tops, four);
        const fw_codes next = FW_CODES_OF(p + (size == 4 ? 2 * FW_BLOCK : 0) + at);
        const fw_codes a = FW_CODES(unpacklo_epi8)(next, top), b = FW_CODES(unpackhi_epi8)(next, top);
        fw_vec cells[4];
        if (size == 4) {
            const fw_codes c = FW_CODES_OF(p + 2 * at), d = FW_CODES_OF(p + 2 * at + FW_BYTES);
            cells[0] = (fw_vec)FW_CODES(unpacklo_epi16)(c, a);
            cells[1] = (fw_vec)FW_CODES(unpackhi_epi16)(c, a);
            cells[2] = (fw_vec)FW_CODES(unpacklo_epi16)(d, b);
            cells[3] = (fw_vec)FW_CODES(unpackhi_epi16)(d, b);
        } else {
            cells[0] = (fw_vec)((fw_bits)a << 16), cells[1] = (fw_vec)((fw_bits)a & 0xffff0000);
            cells[2] = (fw_vec)((fw_bits)b << 16), cells[3] = (fw_vec)((fw_bits)b & 0xffff0000);
        }
        _Pragma("GCC unroll 8") for (int v = 0; v < 4; v++)
            sums[v % parts] = fw_fma(cells[v], fw_load(x + at + v * FW_LANES), sums[v % parts]);
    }
}
FW_INLINE void fw_plain_block(const char *const p, const float *const x, fw_vec *const sums,
                           const int64_t parts, const int size) {
    _Pragma("GCC unroll 16") for (int64_t v = 0; v < FW_BLOCK / FW_LANES; v++) {
        const char *const at = p + v * FW_LANES * size;
        const fw_vec w = size == 4 ? fw_load((const float *)at) : fw_load_bf16((const uint16_t *)at);
        sums[v % parts] = fw_fma(w, fw_load(x + v * FW_LANES), sums[v % parts]);
    }
}
FW_INLINE void fw_ask(const char *const p, const int64_t bytes) {
    _Pragma("GCC unroll 8") for (int64_t n = 0; n < bytes; n += 64) __builtin_prefetch(p + FW_AHEAD + n);
}

/* to[r] += the sum over blocks q and cells l of w[r, i, q, l] x[q, l], for r < rows: a constant. */
FW_INLINE void fw_times_rows(float *const to, const char *const w, const int64_t rows,
                             const int64_t i, const int64_t groups, const int64_t blocks,
                             const float *const x, const int size) {
    const int64_t parts = rows > 4 ? 1 : 2;
    fw_vec sums[8][2] = {{{0}}};
    if (FW_CODE(w)->coded) {
        const fw_codes tops = FW_EVERY_16(_mm_loadu_si128((const void *)FW_CODE(w)->top));
        const fw_others there = fw_others_of(w, rows, groups, blocks, size);
        const uint8_t *const others = there.others + i * blocks;
        const char *cells = there.cells + (int64_t)FW_BLOCK * size * there.first[i];
        const int64_t bytes = fw_block_bytes(size), apart = groups * blocks * bytes;
        const char *p = w + i * blocks * bytes;
        for (int64_t q = 0; q < blocks; q++, p += bytes) {
            const float *const xs = x + q * FW_BLOCK;
            if (__builtin_expect(others[q] == 0, 1)) {
                _Pragma("GCC unroll 8") for (int64_t r = 0; r < rows; r++) {
                    fw_ask(p + r * apart, bytes);
                    fw_coded_block((const uint8_t *)p + r * apart, xs, tops, sums[r], parts, size);
                }
                continue;
            }
            _Pragma("GCC unroll 8") for (int64_t r = 0; r < rows; r++) {
                if (others[q] >> r & 1) {
                    fw_plain_block(cells, xs, sums[r], parts, size);
                    cells += FW_BLOCK * size;
                } else {
                    fw_coded_block((const uint8_t *)p + r * apart, xs, tops, sums[r], parts, size);
                }
            }
        }
    } else {
        const int64_t bytes = (int64_t)FW_BLOCK * size, apart = groups * blocks * bytes;
        const char *p = w + i * blocks * bytes;
        for (int64_t q = 0; q < blocks; q++, p += bytes)
            _Pragma("GCC unroll 8") for (int64_t r = 0; r < rows; r++) {
                fw_ask(p + r * apart, bytes);
                fw_plain_block(p + r * apart, x + q * FW_BLOCK, sums[r], parts, size);
            }
    }
    _Pragma("GCC unroll 8") for (int64_t r = 0; r < rows; r++) to[r] += fw_sum(sums[r][0] + sums[r][1]);
}

/* Products of panels by dot products of pairs (AVX512_BF16), a row of pairs at a time. */
#define fw_units_begin() ((void)0)
#define fw_units_end() ((void)0)

#define FW_PAIR_ROWS 8
FW_INLINE __m512bh fw_pair(const uint16_t *const p) {
    int32_t pair;
    __builtin_memcpy(&pair, p, 4);
    return (__m512bh)_mm512_set1_epi32(pair);
}
FW_INLINE void fw_product_of_pairs(const fw_product *const g, const int64_t row,
                                   const int64_t column, const int wide, const int add) {
    __m512 sums[FW_PAIR_ROWS][2];
    _Pragma("GCC unroll 8") for (int i = 0; i < FW_PAIR_ROWS; i++) sums[i][0] = sums[i][1] = _mm512_setzero_ps();
    const uint16_t *a = g->a + row * g->a_row, *b = g->b + 2 * column;
    for (int64_t n = 0; n < g->blocks; n++, a += g->a_block, b += g->b_block)
        for (int64_t q = 0; q < FW_TILE; q++) {
            const uint16_t *const at = b + q * g->b_pair;
            const __m512bh x = (__m512bh)_mm512_loadu_si512(at);
            const __m512bh y = (__m512bh)_mm512_loadu_si512(at + (wide ? 2 * FW_TILE : 0));
            _Pragma("GCC unroll 8") for (int i = 0; i < FW_PAIR_ROWS; i++) {
                const __m512bh pair = fw_pair(a + i * g->a_row + 2 * q);
                sums[i][0] = _mm512_dpbf16_ps(sums[i][0], pair, x);
                if (wide) sums[i][1] = _mm512_dpbf16_ps(sums[i][1], pair, y);
            }
        }
    _Pragma("GCC unroll 8") for (int i = 0; i < FW_PAIR_ROWS; i++)
        for (int k = 0; k < (wide ? 2 : 1); k++) {
            float *const to = g->c + (row + i) * g->c_row + column + k * FW_TILE;
            const fw_vec sum = (fw_vec)sums[i][k];
            fw_store(to, add ? fw_load(to) + sum : sum);
        }
}
static __attribute__((noinline, unused)) void fw_product_by_units(
    const fw_product *const g, const int64_t rows, const int64_t columns, const int add) {
    for (int64_t s = 0; s < columns; s += 2 * FW_TILE)
        for (int64_t r = 0; r < rows; r += FW_PAIR_ROWS) {
            if (columns - s > FW_TILE) fw_product_of_pairs(g, r, s, 1, add);
            else fw_product_of_pairs(g, r, s, 0, add);
        }
}

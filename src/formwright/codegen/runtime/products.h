/* Products of panels: by the units where these give what f32 gives, else by vectors. */
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
                    _Pragma("GCC unroll 8") for (int i = 0; i < FW_ROWS; i++) {
                        const uint16_t *const cells = a + i * g->a_row;
                        const int64_t kept = g->kept + g->kept_row * (r + i);
                        sums[i] = fw_if_kept(2 * q, kept, cells, first, sums[i]);
                        sums[i] = fw_if_kept(2 * q + 1, kept, cells + 1, second, sums[i]);
                    }
                }
            _Pragma("GCC unroll 8") for (int i = 0; i < FW_ROWS; i++) {
                float *const at = g->c + (r + i) * g->c_row + s;
                fw_store(at, add ? fw_load(at) + sums[i] : sums[i]);
            }
        }
}

FW_INLINE void fw_multiply(const int exact, const fw_product g, const int64_t rows,
                           const int64_t columns, const int add) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    if (exact) {
        fw_product_by_units(&g, rows, columns, add);
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

/* Products of panels by the tiles of AMX. */
#define FW_PERMISSION 0x1023
#define FW_TILE_DATA 18

/* The CPU has the tiles, and the kernel lets this process use them. */
FW_INLINE int fw_has_tiles(void) {
    static _Atomic int known;
    unsigned a, b, c, d;
    if (known == 0) {
        const int there = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 22 & 1) && (d >> 24 & 1);
        known = there && syscall(SYS_arch_prctl, FW_PERMISSION, FW_TILE_DATA) == 0 ? 1 : -1;
    }
    return known == 1;
}

typedef struct {
    uint8_t palette, start, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} __attribute__((aligned(64))) fw_tile_shapes;

FW_INLINE void fw_units_begin(void) {
    fw_tile_shapes shapes = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        shapes.bytes[i] = 64;
        shapes.rows[i] = FW_TILE;
    }
    _tile_loadconfig(&shapes);
}
FW_INLINE void fw_units_end(void) { _tile_release(); }

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

static __attribute__((noinline, unused)) void fw_product_by_units(
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

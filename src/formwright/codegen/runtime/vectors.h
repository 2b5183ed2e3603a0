/* f32 vectors of FW_LANES lanes: whole and partial loads and stores, and a fused multiply-add. */
typedef float fw_vec __attribute__((vector_size(4 * FW_LANES)));
typedef float fw_any __attribute__((vector_size(4 * FW_LANES), aligned(4), may_alias));
typedef float fw_four __attribute__((vector_size(16)));
typedef float fw_four_any __attribute__((vector_size(16), aligned(4), may_alias));
typedef float fw_two_any __attribute__((vector_size(8), aligned(4), may_alias));

#define FW_INLINE static inline __attribute__((always_inline, unused))

FW_INLINE fw_vec fw_load(const float *p) { return *(const fw_any *)p; }
FW_INLINE void fw_store(float *p, fw_vec v) { *(fw_any *)p = v; }

#if FW_LANES == 16
#include <immintrin.h>
#define FW_KEEP "+v"
FW_INLINE __mmask16 fw_lanes_below(int64_t n) {
    return (__mmask16)(n >= 16 ? 0xffff : n <= 0 ? 0 : (1 << n) - 1);
}
/* The first n lanes from memory, 0 in the others; lanes from n on are not touched. */
FW_INLINE fw_vec fw_load_part(const float *p, int64_t n) {
    return (fw_vec)_mm512_maskz_loadu_ps(fw_lanes_below(n), p);
}
FW_INLINE void fw_store_part(float *p, fw_vec v, int64_t n) {
    _mm512_mask_storeu_ps(p, fw_lanes_below(n), (__m512)v);
}
/* One instruction on chosen registers: compilers add moves round a contracted a * b + c. */
FW_INLINE fw_vec fw_fma(fw_vec a, fw_vec b, fw_vec c) {
    __asm__("vfmadd231ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    return c;
}
#elif FW_LANES == 8
#include <immintrin.h>
#define FW_KEEP "+x"
static const int32_t fw_mask_table[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
FW_INLINE __m256i fw_lanes_below(int64_t n) {
    const int64_t kept = n >= 8 ? 8 : n <= 0 ? 0 : n;
    return _mm256_loadu_si256((const __m256i *)(fw_mask_table + 8 - kept));
}
FW_INLINE fw_vec fw_load_part(const float *p, int64_t n) {
    return (fw_vec)_mm256_maskload_ps(p, fw_lanes_below(n));
}
FW_INLINE void fw_store_part(float *p, fw_vec v, int64_t n) {
    _mm256_maskstore_ps(p, fw_lanes_below(n), (__m256)v);
}
FW_INLINE fw_vec fw_fma(fw_vec a, fw_vec b, fw_vec c) {
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(c) : "x"(a), "x"(b));
    return c;
}
#else
FW_INLINE fw_vec fw_load_part(const float *p, int64_t n) {
    fw_vec v = {0};
    for (int64_t i = 0; i < FW_LANES && i < n; i++) v[i] = p[i];
    return v;
}
FW_INLINE void fw_store_part(float *p, fw_vec v, int64_t n) {
    for (int64_t i = 0; i < FW_LANES && i < n; i++) p[i] = v[i];
}
FW_INLINE fw_vec fw_fma(fw_vec a, fw_vec b, fw_vec c) { return a * b + c; }
#endif

/* The scalar in every lane; kept in a register, so that it is not loaded again for each use. */
FW_INLINE fw_vec fw_splat(float x) {
    fw_vec v;
    for (int i = 0; i < FW_LANES; i++) v[i] = x;
#ifdef FW_KEEP
    __asm__("" : FW_KEEP(v));
#endif
    return v;
}
/* to[4 columns][4 rows] = from[4 rows][4 columns]: rows of `from` are `row` apart, of `to` `column`. */
FW_INLINE void fw_transpose_4(const float *from, int64_t row, float *to, int64_t column) {
    const fw_four a = *(const fw_four_any *)from, b = *(const fw_four_any *)(from + row);
    const fw_four c = *(const fw_four_any *)(from + 2 * row), d = *(const fw_four_any *)(from + 3 * row);
    const fw_four p = __builtin_shufflevector(a, b, 0, 4, 1, 5), q = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const fw_four r = __builtin_shufflevector(c, d, 0, 4, 1, 5), s = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    *(fw_four_any *)to = __builtin_shufflevector(p, r, 0, 1, 4, 5);
    *(fw_four_any *)(to + column) = __builtin_shufflevector(p, r, 2, 3, 6, 7);
    *(fw_four_any *)(to + 2 * column) = __builtin_shufflevector(q, s, 0, 1, 4, 5);
    *(fw_four_any *)(to + 3 * column) = __builtin_shufflevector(q, s, 2, 3, 6, 7);
}
/* The same for two rows. */
FW_INLINE void fw_transpose_2(const float *from, int64_t row, float *to, int64_t column) {
    const fw_four a = *(const fw_four_any *)from, b = *(const fw_four_any *)(from + row);
    const fw_four p = __builtin_shufflevector(a, b, 0, 4, 1, 5), q = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    *(fw_two_any *)to = __builtin_shufflevector(p, p, 0, 1);
    *(fw_two_any *)(to + column) = __builtin_shufflevector(p, p, 2, 3);
    *(fw_two_any *)(to + 2 * column) = __builtin_shufflevector(q, q, 0, 1);
    *(fw_two_any *)(to + 3 * column) = __builtin_shufflevector(q, q, 2, 3);
}

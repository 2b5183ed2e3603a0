/* bf16, f16 and i8 elements: loads widen to f32, stores round to nearest even, once.
 * Partial loads and stores touch the first n elements only. */
typedef uint32_t fw_bits __attribute__((vector_size(4 * FW_LANES)));
typedef uint16_t fw_halves __attribute__((vector_size(2 * FW_LANES)));
typedef uint16_t fw_halves_any __attribute__((vector_size(2 * FW_LANES), aligned(2), may_alias));

FW_INLINE float fw_from_bits(uint32_t bits) {
    float value;
    __builtin_memcpy(&value, &bits, 4);
    return value;
}
FW_INLINE uint32_t fw_to_bits(float value) {
    uint32_t bits;
    __builtin_memcpy(&bits, &value, 4);
    return bits;
}

FW_INLINE float fw_get_bf16(const uint16_t *p) { return fw_from_bits((uint32_t)*p << 16); }
/* The upper half, rounded to even; a NaN keeps its upper bits and is made quiet. */
FW_INLINE void fw_put_bf16(uint16_t *p, float x) {
    const uint32_t bits = fw_to_bits(x), round = bits + 0x7fff + (bits >> 16 & 1);
    *p = (uint16_t)(x != x ? bits >> 16 | 0x40 : round >> 16);
}
FW_INLINE fw_vec fw_load_bf16(const uint16_t *p) {
#if FW_LANES == 16
    return (fw_vec)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)p)), 16);
#elif FW_LANES == 8
    return (fw_vec)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)p)), 16);
#else
    return (fw_vec)(__builtin_convertvector(*(const fw_halves_any *)p, fw_bits) << 16);
#endif
}
FW_INLINE void fw_store_bf16(uint16_t *p, fw_vec x) {
#if FW_LANES == 16 && defined(__AVX512BF16__)
    /* The instruction takes denormals for zeros. */
    const __m512i sizes = _mm512_and_si512((__m512i)x, _mm512_set1_epi32(0x7fffffff));
    if (!_mm512_cmplt_epu32_mask(_mm512_sub_epi32(sizes, _mm512_set1_epi32(1)),
                                 _mm512_set1_epi32(0x7fffff))) {
        _mm256_storeu_si256((void *)p, (__m256i)_mm512_cvtneps_pbh((__m512)x));
        return;
    }
#endif
    const fw_bits bits = (fw_bits)x, round = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    const fw_bits quiet = bits >> 16 | 0x40, nan = (fw_bits)(x != x);
    *(fw_halves_any *)p = __builtin_convertvector((quiet & nan) | (round & ~nan), fw_halves);
}

#if defined(__F16C__)
#include <cpuid.h>
FW_INLINE float fw_get_f16(const uint16_t *p) { return _cvtsh_ss(*p); }
FW_INLINE void fw_put_f16(uint16_t *p, float x) { *p = (uint16_t)_cvtss_sh(x, 0); }
/* What the compilers' own check does not know by name everywhere. */
FW_INLINE int fw_has_f16c(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c >> 29 & 1);
}
#else
/* Exact: a subnormal is a multiple of 2^-24, a normal number's exponent moves by 112. */
static __attribute__((noinline, unused)) float fw_get_f16(const uint16_t *p) {
    const uint32_t sign = (uint32_t)(*p & 0x8000) << 16, size = *p & 0x7fff;
    if (size < 0x400) return fw_from_bits(sign | fw_to_bits((float)size * 0x1p-24f));
    if (size < 0x7c00) return fw_from_bits(sign | ((size << 13) + (112u << 23)));
    return fw_from_bits(sign | 0x7f800000 | size << 13 | (size > 0x7c00 ? 0x400000 : 0));
}
/* To nearest even by integers; below 2^-14 the sum with 0.5 rounds at 2^-24. */
static __attribute__((noinline, unused)) void fw_put_f16(uint16_t *p, float x) {
    const uint32_t bits = fw_to_bits(x), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    uint32_t to;
    if (size > 0x7f800000) to = 0x7e00 | (size >> 13 & 0x3ff);
    else if (size >= 0x477ff000) to = 0x7c00;
    else if (size < 0x38800000) to = fw_to_bits(fw_from_bits(size) + 0.5f) - fw_to_bits(0.5f);
    else to = (size - (112u << 23) + 0xfff + (size >> 13 & 1)) >> 13;
    *p = (uint16_t)(sign | to);
}
#endif
FW_INLINE fw_vec fw_load_f16(const uint16_t *p) {
#if FW_LANES == 16
    return (fw_vec)_mm512_cvtph_ps(_mm256_loadu_si256((const void *)p));
#elif FW_LANES == 8 && defined(__F16C__)
    return (fw_vec)_mm256_cvtph_ps(_mm_loadu_si128((const void *)p));
#else
    fw_vec v;
    for (int i = 0; i < FW_LANES; i++) v[i] = fw_get_f16(p + i);
    return v;
#endif
}
FW_INLINE void fw_store_f16(uint16_t *p, fw_vec x) {
#if FW_LANES == 16
    _mm256_storeu_si256((void *)p, _mm512_cvtps_ph((__m512)x, 0));
#elif FW_LANES == 8 && defined(__F16C__)
    _mm_storeu_si128((void *)p, _mm256_cvtps_ph((__m256)x, 0));
#else
    for (int i = 0; i < FW_LANES; i++) fw_put_f16(p + i, x[i]);
#endif
}

FW_INLINE float fw_get_i8(const int8_t *p) { return (float)*p; }
FW_INLINE fw_vec fw_load_i8(const int8_t *p) {
#if FW_LANES == 16
    return (fw_vec)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)p)));
#elif FW_LANES == 8
    return (fw_vec)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)p)));
#else
    fw_vec v;
    for (int i = 0; i < FW_LANES; i++) v[i] = (float)p[i];
    return v;
#endif
}

/* Ends of rows are rare: calls keep the code small. */
#define FW_CALLED static __attribute__((noinline, unused))
#define FW_PARTS(name, type) \
    FW_CALLED fw_vec fw_load_part_##name(const type *p, int64_t n) { \
        if (n >= FW_LANES) return fw_load_##name(p); \
        type part[FW_LANES] = {0}; \
        for (int64_t i = 0; i < n; i++) part[i] = p[i]; \
        return fw_load_##name(part); \
    }
FW_PARTS(bf16, uint16_t)
FW_PARTS(f16, uint16_t)
FW_PARTS(i8, int8_t)
#define FW_STORE_PARTS(name) \
    FW_CALLED void fw_store_part_##name(uint16_t *p, fw_vec x, int64_t n) { \
        for (int64_t i = 0; i < FW_LANES && i < n; i++) fw_put_##name(p + i, x[i]); \
    }
FW_STORE_PARTS(bf16)
FW_STORE_PARTS(f16)

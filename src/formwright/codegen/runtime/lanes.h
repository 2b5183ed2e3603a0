/* What every vector expression may need: splats, masks, choices, reductions, maxima with NaN. */
typedef int32_t fw_ints __attribute__((vector_size(4 * FW_LANES)));

#if FW_LANES == 16
#define FW_IOTA {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
#elif FW_LANES == 8
#define FW_IOTA {0, 1, 2, 3, 4, 5, 6, 7}
#else
#define FW_IOTA {0, 1, 2, 3}
#endif

/* The scalar in every lane; unlike fw_splat the compiler may move or repeat it. */
FW_INLINE fw_vec fw_all(float x) {
    fw_vec v;
    for (int i = 0; i < FW_LANES; i++) v[i] = x;
    return v;
}
FW_INLINE fw_ints fw_all_ints(int32_t x) {
    fw_ints v;
    for (int i = 0; i < FW_LANES; i++) v[i] = x;
    return v;
}

/* a * b + c in one rounding where the target has it; the compiler may read b from memory. */
#if FW_LANES == 16
FW_INLINE fw_vec fw_madd(fw_vec a, fw_vec b, fw_vec c) {
    return (fw_vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
FW_INLINE fw_vec fw_vec_sqrt(fw_vec a) { return (fw_vec)_mm512_sqrt_ps((__m512)a); }
#elif FW_LANES == 8
FW_INLINE fw_vec fw_madd(fw_vec a, fw_vec b, fw_vec c) {
    return (fw_vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
FW_INLINE fw_vec fw_vec_sqrt(fw_vec a) { return (fw_vec)_mm256_sqrt_ps((__m256)a); }
#else
FW_INLINE fw_vec fw_madd(fw_vec a, fw_vec b, fw_vec c) { return a * b + c; }
FW_INLINE fw_vec fw_vec_sqrt(fw_vec a) {
    for (int i = 0; i < FW_LANES; i++) a[i] = sqrtf(a[i]);
    return a;
}
#endif
#if FW_LANES >= 8
FW_INLINE float fw_madd_1(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#else
FW_INLINE float fw_madd_1(float a, float b, float c) { return a * b + c; }
#endif

/* All ones in the lanes 0 .. n-1, and in the lanes from n on. */
FW_INLINE fw_ints fw_first(int64_t n) {
    const fw_ints lanes = FW_IOTA;
    return lanes < fw_all_ints((int32_t)fw_min(FW_LANES, fw_max(0, n)));
}
FW_INLINE fw_ints fw_from(int64_t n) { return ~fw_first(n); }
FW_INLINE fw_ints fw_truth(int holds) { return fw_all_ints(holds ? -1 : 0); }

/* `then` where the mask is set, else `other`. */
FW_INLINE fw_vec fw_choose(fw_ints mask, fw_vec then, fw_vec other) {
#if FW_LANES == 8
    return (fw_vec)_mm256_blendv_ps((__m256)other, (__m256)then, (__m256)mask);
#else
    return (fw_vec)(((fw_ints)then & mask) | ((fw_ints)other & ~mask));
#endif
}

/* base + step * lane, each lane rounded once. */
FW_INLINE fw_vec fw_index(int64_t base, int32_t step) {
    const fw_ints lanes = FW_IOTA;
    return __builtin_convertvector(lanes * fw_all_ints(step) + fw_all_ints((int32_t)base), fw_vec);
}

/* Maxima and minima: NaN when either side is; of two zeros the second. Same bits in any lane. Which
 * zero is the greatest of a whole vector is left to the tree that finds it. */
FW_INLINE float fw_larger(float a, float b) { return a != a || a > b ? a : b; }
FW_INLINE float fw_smaller(float a, float b) { return a != a || a < b ? a : b; }
FW_INLINE fw_vec fw_vec_max(fw_vec a, fw_vec b) {
#if FW_LANES == 8
    const __m256 nan = _mm256_cmp_ps((__m256)a, (__m256)a, _CMP_UNORD_Q);
    return (fw_vec)_mm256_or_ps(_mm256_max_ps((__m256)a, (__m256)b), nan);
#elif FW_LANES == 16
    const __mmask16 nan = _mm512_cmp_ps_mask((__m512)a, (__m512)a, _CMP_UNORD_Q);
    return (fw_vec)_mm512_mask_mov_ps(_mm512_max_ps((__m512)a, (__m512)b), nan, (__m512)a);
#else
    return fw_choose((fw_ints)(a != a) | (fw_ints)(a > b), a, b);
#endif
}
FW_INLINE fw_vec fw_vec_min(fw_vec a, fw_vec b) {
#if FW_LANES == 8
    const __m256 nan = _mm256_cmp_ps((__m256)a, (__m256)a, _CMP_UNORD_Q);
    return (fw_vec)_mm256_or_ps(_mm256_min_ps((__m256)a, (__m256)b), nan);
#elif FW_LANES == 16
    const __mmask16 nan = _mm512_cmp_ps_mask((__m512)a, (__m512)a, _CMP_UNORD_Q);
    return (fw_vec)_mm512_mask_mov_ps(_mm512_min_ps((__m512)a, (__m512)b), nan, (__m512)a);
#else
    return fw_choose((fw_ints)(a != a) | (fw_ints)(a < b), a, b);
#endif
}

FW_INLINE float fw_rsqrtf(float x) { return 1.0f / sqrtf(x); }
FW_INLINE fw_vec fw_vec_rsqrt(fw_vec a) { return fw_all(1.0f) / fw_vec_sqrt(a); }

/* Over all lanes: halves onto each other, always in the same order. */
typedef float fw_four __attribute__((vector_size(16)));
#if FW_LANES == 16
/* Read lane by lane a quarter goes through memory. */
#define fw_quarter(v, at) ((fw_four)_mm512_extractf32x4_ps((__m512)(v), at))
#endif
FW_INLINE float fw_sum(fw_vec v) {
#if FW_LANES == 16
    const fw_four a = fw_quarter(v, 0) + fw_quarter(v, 2), b = fw_quarter(v, 1) + fw_quarter(v, 3);
    const fw_four s = a + b;
#elif FW_LANES == 8
    const fw_four s = (fw_four)_mm256_castps256_ps128((__m256)v) +
                      (fw_four)_mm256_extractf128_ps((__m256)v, 1);
#else
    const fw_four s = v;
#endif
    const fw_four t = s + __builtin_shufflevector(s, s, 2, 3, 2, 3);
    return t[0] + t[1];
}
/* fw_sum of four vectors: the same sums in the same order, in a third of the instructions. */
FW_INLINE fw_four fw_sum_of_4(fw_vec a, fw_vec b, fw_vec c, fw_vec d) {
#if FW_LANES == 16
    const __m512 x = (__m512)a, y = (__m512)b, z = (__m512)c, w = (__m512)d;
    /* Halves of x and y onto each other, then quarters: blends cost no shuffle. */
    const __m512 xy = _mm512_add_ps(_mm512_mask_blend_ps(0xff00, x, y), _mm512_shuffle_f32x4(x, y, 0x4e));
    const __m512 zw = _mm512_add_ps(_mm512_mask_blend_ps(0xff00, z, w), _mm512_shuffle_f32x4(z, w, 0x4e));
    const __m512 even = _mm512_mask_blend_ps(0xf0f0, xy, zw), odd = _mm512_mask_blend_ps(0x0f0f, xy, zw);
    const __m512 s = _mm512_add_ps(even, _mm512_shuffle_f32x4(odd, odd, 0xb1));
    const __m512 t = _mm512_add_ps(s, _mm512_permute_ps(s, 0xee));
    const __m512 u = _mm512_add_ps(t, _mm512_movehdup_ps(t));
    const __m512i first = _mm512_setr_epi32(0, 8, 4, 12, 0, 8, 4, 12, 0, 8, 4, 12, 0, 8, 4, 12);
    return (fw_four)_mm512_castps512_ps128(_mm512_permutexvar_ps(first, u));
#elif FW_LANES == 8
    const __m256 x = (__m256)a, y = (__m256)b, z = (__m256)c, w = (__m256)d;
    const __m256 xy = _mm256_add_ps(_mm256_blend_ps(x, y, 0xf0), _mm256_permute2f128_ps(x, y, 0x21));
    const __m256 zw = _mm256_add_ps(_mm256_blend_ps(z, w, 0xf0), _mm256_permute2f128_ps(z, w, 0x21));
    /* Lanes 0 and 2, then 1 and 3, of vectors a and c below, of b and d above. */
    const __m256 t = _mm256_add_ps(_mm256_unpacklo_ps(xy, zw), _mm256_unpackhi_ps(xy, zw));
    const __m256 u = _mm256_add_ps(t, _mm256_permute_ps(t, 0xee));
    return (fw_four)_mm_unpacklo_ps(_mm256_castps256_ps128(u), _mm256_extractf128_ps(u, 1));
#else
    return (fw_four){fw_sum(a), fw_sum(b), fw_sum(c), fw_sum(d)};
#endif
}
#if FW_LANES >= 8
FW_INLINE __m128 fw_larger_of_four(__m128 a, __m128 b) {
    return _mm_or_ps(_mm_max_ps(a, b), _mm_cmpunord_ps(a, a));
}
FW_INLINE float fw_greatest(fw_vec v) {
#if FW_LANES == 16
    const __m128 a = (__m128)fw_quarter(v, 0), b = (__m128)fw_quarter(v, 1);
    const __m128 c = (__m128)fw_quarter(v, 2), d = (__m128)fw_quarter(v, 3);
    const __m128 s = fw_larger_of_four(fw_larger_of_four(d, b), fw_larger_of_four(c, a));
#else
    const __m128 s = fw_larger_of_four(_mm256_extractf128_ps((__m256)v, 1),
                                       _mm256_castps256_ps128((__m256)v));
#endif
    const __m128 t = fw_larger_of_four(_mm_movehl_ps(s, s), s);
    return _mm_cvtss_f32(fw_larger_of_four(_mm_movehdup_ps(t), t));
}
#else
FW_INLINE float fw_greatest(fw_vec v) {
    float most = v[0];
    for (int i = 1; i < FW_LANES; i++) most = fw_larger(v[i], most);
    return most;
}
#endif

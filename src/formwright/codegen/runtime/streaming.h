/* Whole vectors stored past the caches where their address allows it; the same bits either way.
 * Sanitizers do not see such stores and the plain target has none: stores as any then. */
#if defined(FW_KEEP) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if FW_LANES == 16
typedef __m256i fw_half;
FW_INLINE void fw_stream_whole(float *p, fw_vec v) { _mm512_stream_ps(p, (__m512)v); }
FW_INLINE void fw_stream_half(uint16_t *p, fw_half v) { _mm256_stream_si256((void *)p, v); }
#else
typedef __m128i fw_half;
FW_INLINE void fw_stream_whole(float *p, fw_vec v) { _mm256_stream_ps(p, (__m256)v); }
FW_INLINE void fw_stream_half(uint16_t *p, fw_half v) { _mm_stream_si128((void *)p, v); }
#endif
FW_INLINE void fw_stream(float *p, fw_vec v) {
    if ((uintptr_t)p % sizeof(fw_vec) == 0) fw_stream_whole(p, v);
    else fw_store(p, v);
}
#define FW_STREAM_HALVES(name) \
    FW_INLINE void fw_stream_##name(uint16_t *p, fw_vec x) { \
        fw_half half; \
        if ((uintptr_t)p % sizeof(fw_half) != 0) { \
            fw_store_##name(p, x); \
            return; \
        } \
        fw_store_##name((uint16_t *)&half, x); \
        fw_stream_half(p, half); \
    }
FW_STREAM_HALVES(bf16)
FW_STREAM_HALVES(f16)
/* Other threads read what was streamed once this one has said that it is done. */
FW_INLINE void fw_stream_end(void) { _mm_sfence(); }
#else
#define fw_stream fw_store
#define fw_stream_bf16 fw_store_bf16
#define fw_stream_f16 fw_store_f16
#define fw_stream_end() ((void)0)
#endif

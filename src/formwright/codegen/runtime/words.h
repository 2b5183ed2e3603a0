/* In place of f32 and its vectors: words of 64 bits. What they stand for, and their arithmetic,
 * is in the header that follows. */
typedef uint64_t fw_word;
typedef fw_word fw_vec __attribute__((vector_size(8 * FW_LANES)));
typedef fw_word fw_any __attribute__((vector_size(8 * FW_LANES), aligned(8), may_alias));
typedef int64_t fw_ints __attribute__((vector_size(8 * FW_LANES)));
typedef fw_word fw_four __attribute__((vector_size(32)));
#define fw_sum_of_4(a, b, c, d) ((fw_four){fw_sum(a), fw_sum(b), fw_sum(c), fw_sum(d)})

#define FW_INLINE static inline __attribute__((always_inline, unused))
/* Calls keep the code small: it is compiled for a few runs. */
#define FW_CALL static __attribute__((noinline, unused))

FW_INLINE fw_vec fw_load(const fw_word *p) { return *(const fw_any *)p; }
FW_INLINE void fw_store(fw_word *p, fw_vec v) { *(fw_any *)p = v; }
FW_INLINE void fw_stream(fw_word *p, fw_vec v) { fw_store(p, v); }
FW_INLINE void fw_stream_end(void) {}
FW_CALL fw_vec fw_load_part(const fw_word *p, int64_t n) {
    fw_vec v = {0};
    for (int64_t i = 0; i < FW_LANES && i < n; i++) v[i] = p[i];
    return v;
}
FW_CALL void fw_store_part(fw_word *p, fw_vec v, int64_t n) {
    for (int64_t i = 0; i < FW_LANES && i < n; i++) p[i] = v[i];
}
FW_CALL fw_vec fw_all(fw_word x) {
    fw_vec v;
    for (int i = 0; i < FW_LANES; i++) v[i] = x;
    return v;
}
FW_INLINE fw_vec fw_splat(fw_word x) { return fw_all(x); }
FW_CALL fw_ints fw_first(int64_t n) {
    fw_ints v;
    for (int i = 0; i < FW_LANES; i++) v[i] = i < n ? -1 : 0;
    return v;
}
FW_INLINE fw_ints fw_from(int64_t n) { return ~fw_first(n); }
FW_INLINE fw_ints fw_truth(int holds) { return holds ? fw_first(FW_LANES) : fw_first(0); }
FW_CALL fw_vec fw_choose(fw_ints mask, fw_vec then, fw_vec other) {
    return (fw_vec)(((fw_ints)then & mask) | ((fw_ints)other & ~mask));
}
FW_CALL void fw_transpose_4(const fw_word *from, int64_t row, fw_word *to, int64_t column) {
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 4; c++) to[c * column + r] = from[r * row + c];
}
FW_CALL void fw_transpose_2(const fw_word *from, int64_t row, fw_word *to, int64_t column) {
    for (int r = 0; r < 2; r++)
        for (int c = 0; c < 4; c++) to[c * column + r] = from[r * row + c];
}

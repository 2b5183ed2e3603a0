/* Integers mod 2^64, in which every sum and product is exact. */
FW_INLINE fw_vec fw_fma(fw_vec a, fw_vec b, fw_vec c) { return a * b + c; }
FW_INLINE fw_vec fw_madd(fw_vec a, fw_vec b, fw_vec c) { return a * b + c; }
FW_INLINE fw_word fw_madd_1(fw_word a, fw_word b, fw_word c) { return a * b + c; }
FW_CALL fw_vec fw_index(int64_t base, int32_t step) {
    fw_vec v;
    for (int i = 0; i < FW_LANES; i++) v[i] = (fw_word)(base + (int64_t)step * i);
    return v;
}
FW_CALL fw_word fw_sum(fw_vec v) {
    fw_word total = 0;
    for (int i = 0; i < FW_LANES; i++) total += v[i];
    return total;
}

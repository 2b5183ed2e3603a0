/* What follows from the sums, products, inverses and roots of a field's words.
 *
 * A root is a secret odd power: a function of its argument that goes with products and quotients
 * as roots do, and of which nothing else is known. 1 / sqrt(x) is rsqrt(x). */
FW_CALL fw_word fw_sub(fw_word a, fw_word b) { return fw_add(a, fw_neg(b)); }
FW_CALL fw_word fw_div(fw_word a, fw_word b) { return fw_mul(a, fw_inverse(b)); }
FW_CALL fw_word fw_rsqrtf(fw_word a) { return fw_inverse(fw_root(a)); }
FW_CALL fw_word fw_fraction(int64_t top, int64_t bottom) {
    return bottom == 1 ? fw_whole(top) : fw_div(fw_whole(top), fw_whole(bottom));
}
FW_CALL fw_word fw_madd_1(fw_word a, fw_word b, fw_word c) { return fw_add(fw_mul(a, b), c); }

FW_CALL fw_vec fw_vec_add(fw_vec a, fw_vec b) {
    for (int i = 0; i < FW_LANES; i++) a[i] = fw_add(a[i], b[i]);
    return a;
}
FW_CALL fw_vec fw_vec_sub(fw_vec a, fw_vec b) {
    for (int i = 0; i < FW_LANES; i++) a[i] = fw_sub(a[i], b[i]);
    return a;
}
FW_CALL fw_vec fw_vec_mul(fw_vec a, fw_vec b) {
    for (int i = 0; i < FW_LANES; i++) a[i] = fw_mul(a[i], b[i]);
    return a;
}
FW_CALL fw_vec fw_vec_div(fw_vec a, fw_vec b) {
    for (int i = 0; i < FW_LANES; i++) a[i] = fw_div(a[i], b[i]);
    return a;
}
FW_CALL fw_vec fw_vec_neg(fw_vec a) {
    for (int i = 0; i < FW_LANES; i++) a[i] = fw_neg(a[i]);
    return a;
}
FW_CALL fw_vec fw_vec_sqrt(fw_vec a) {
    for (int i = 0; i < FW_LANES; i++) a[i] = fw_root(a[i]);
    return a;
}
FW_CALL fw_vec fw_vec_rsqrt(fw_vec a) {
    for (int i = 0; i < FW_LANES; i++) a[i] = fw_rsqrtf(a[i]);
    return a;
}
FW_CALL fw_vec fw_fma(fw_vec a, fw_vec b, fw_vec c) {
    for (int i = 0; i < FW_LANES; i++) c[i] = fw_madd_1(a[i], b[i], c[i]);
    return c;
}
FW_INLINE fw_vec fw_madd(fw_vec a, fw_vec b, fw_vec c) { return fw_fma(a, b, c); }
FW_CALL fw_vec fw_index(int64_t base, int32_t step) {
    fw_vec v;
    for (int i = 0; i < FW_LANES; i++) v[i] = fw_whole(base + (int64_t)step * i);
    return v;
}
FW_CALL fw_word fw_sum(fw_vec v) {
    fw_word total = v[0];
    for (int i = 1; i < FW_LANES; i++) total = fw_add(total, v[i]);
    return total;
}

/* Pairs of a residue mod q (upper half) and one mod p = 2q + 1 (lower half): the scalar part.
 *
 * Both halves are computed always. exp takes s mod q to g^s mod p, where g has the order q, so
 * exp(a + b) = exp(a) exp(b); mod q its result stands for nothing. FW_ROOT is an odd power, see
 * field.h. */
#define FW_Q UINT64_C(2147483543)
#define FW_P UINT64_C(4294967087)
#define FW_G UINT64_C(4)

FW_INLINE fw_word fw_pair(uint64_t q, uint64_t p) { return q << 32 | p; }
FW_INLINE uint64_t fw_upper(fw_word a) { return a >> 32; }
FW_INLINE uint64_t fw_lower(fw_word a) { return a & UINT32_MAX; }

FW_CALL fw_word fw_add(fw_word a, fw_word b) {
    return fw_pair((fw_upper(a) + fw_upper(b)) % FW_Q, (fw_lower(a) + fw_lower(b)) % FW_P);
}
FW_CALL fw_word fw_neg(fw_word a) {
    return fw_pair((FW_Q - fw_upper(a)) % FW_Q, (FW_P - fw_lower(a)) % FW_P);
}
FW_CALL fw_word fw_mul(fw_word a, fw_word b) {
    return fw_pair(fw_upper(a) * fw_upper(b) % FW_Q, fw_lower(a) * fw_lower(b) % FW_P);
}
FW_CALL fw_word fw_whole(int64_t n) {
    const uint64_t size = n >= 0 ? (uint64_t)n : 0 - (uint64_t)n;
    const fw_word a = fw_pair(size % FW_Q, size % FW_P);
    return n >= 0 ? a : fw_neg(a);
}
FW_CALL uint64_t fw_power(uint64_t a, uint64_t n, uint64_t modulus) {
    uint64_t product = 1;
    for (; n; n >>= 1, a = a * a % modulus)
        if (n & 1) product = product * a % modulus;
    return product;
}
/* Of 0 it is 0. */
FW_CALL fw_word fw_inverse(fw_word a) {
    return fw_pair(fw_power(fw_upper(a), FW_Q - 2, FW_Q), fw_power(fw_lower(a), FW_P - 2, FW_P));
}
FW_CALL fw_word fw_root(fw_word a) {
    return fw_pair(fw_power(fw_upper(a), FW_ROOT, FW_Q), fw_power(fw_lower(a), FW_ROOT, FW_P));
}
FW_CALL fw_word fw_exp(fw_word a) { return fw_power(FW_G, fw_upper(a), FW_P); }

FW_CALL fw_vec fw_vec_exp(fw_vec a) {
    for (int i = 0; i < FW_LANES; i++) a[i] = fw_exp(a[i]);
    return a;
}
/* The larger word: some element, always the same one of a set. */
FW_INLINE fw_word fw_larger(fw_word a, fw_word b) { return a > b ? a : b; }
FW_CALL fw_vec fw_vec_max(fw_vec a, fw_vec b) {
    for (int i = 0; i < FW_LANES; i++) a[i] = fw_larger(a[i], b[i]);
    return a;
}
FW_CALL fw_word fw_greatest(fw_vec v) {
    fw_word most = v[0];
    for (int i = 1; i < FW_LANES; i++) most = fw_larger(v[i], most);
    return most;
}

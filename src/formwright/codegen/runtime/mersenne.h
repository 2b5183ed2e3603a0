/* The field of integers mod 2^61 - 1: the scalar part. FW_ROOT is an odd power, see field.h. */
#define FW_PRIME ((UINT64_C(1) << 61) - 1)

FW_CALL fw_word fw_add(fw_word a, fw_word b) {
    const fw_word sum = a + b;
    return sum >= FW_PRIME ? sum - FW_PRIME : sum;
}
FW_CALL fw_word fw_neg(fw_word a) { return a ? FW_PRIME - a : 0; }
FW_CALL fw_word fw_mul(fw_word a, fw_word b) {
    const unsigned __int128 product = (unsigned __int128)a * b;
    return fw_add((uint64_t)product & FW_PRIME, (uint64_t)(product >> 61));
}
FW_CALL fw_word fw_whole(int64_t n) {
    return n >= 0 ? (fw_word)n % FW_PRIME : fw_neg((0 - (fw_word)n) % FW_PRIME);
}
FW_CALL fw_word fw_power(fw_word a, uint64_t n) {
    fw_word product = 1;
    for (; n; n >>= 1, a = fw_mul(a, a))
        if (n & 1) product = fw_mul(product, a);
    return product;
}
/* Of 0 it is 0. */
FW_CALL fw_word fw_inverse(fw_word a) { return fw_power(a, FW_PRIME - 2); }
FW_CALL fw_word fw_root(fw_word a) { return fw_power(a, FW_ROOT); }

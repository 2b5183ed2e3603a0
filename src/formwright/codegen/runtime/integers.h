/* Integer helpers: floor division, as the expression language means it (divisors are positive). */
static inline int64_t fw_floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q - (a % b < 0);
}
static inline int64_t fw_ceil_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q + (a % b > 0);
}
static inline int64_t fw_mod(int64_t a, int64_t b) {
    int64_t r = a % b;
    return r < 0 ? r + b : r;
}
static inline int64_t fw_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t fw_max(int64_t a, int64_t b) { return a > b ? a : b; }

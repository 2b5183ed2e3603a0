/* exp of f32, the same bits in any lane and for a scalar.
 *
 * Cody and Waite: x = n * ln 2 + r with |r| <= 0.347, ln 2 in two parts of which n times the first
 * is exact; twice a polynomial of degree 6 in r (minimax, 1 and r exact, so exp(0) is 1); then
 * 2^(n-1) as bits of an exponent. The largest results are right and what is above is infinite;
 * n <= -126 gives zero, so results below 2^-125.5 are: softmax is made of these instructions, and
 * another factor for subnormal results would cost it a tenth of its time.
 * Operands of min and max stand so that a NaN goes through.
 * The error is below 1.1 ulp, tests/unit/test_codegen_exponential.py. */
FW_INLINE fw_vec fw_vec_exp(fw_vec x) {
#if FW_LANES == 16
    const fw_vec y = (fw_vec)_mm512_max_ps(_mm512_set1_ps(-87.35f),
                                           _mm512_min_ps(_mm512_set1_ps(89.0f), (__m512)x));
#elif FW_LANES == 8
    const fw_vec y = (fw_vec)_mm256_max_ps(_mm256_set1_ps(-87.35f),
                                           _mm256_min_ps(_mm256_set1_ps(89.0f), (__m256)x));
#else
    const fw_vec low = fw_all(-87.35f), high = fw_all(89.0f);
    const fw_vec below = fw_choose((fw_ints)(x > high), high, x);
    const fw_vec y = fw_choose((fw_ints)(below < low), low, below);
#endif
    const fw_vec shift = fw_all(12583038.0f); /* 1.5 * 2^23 + 126: the sum's low bits are n + 126 */
    const fw_vec shifted = fw_madd(y, fw_all(1.44269504088896341f), shift);
    const fw_vec n = shifted - shift;
    fw_vec r = fw_madd(n, fw_all(-0.693359375f), y);
    r = fw_madd(n, fw_all(2.12194440054690583e-4f), r);
    fw_vec p = fw_all(0x1.6a23d0p-9f);
    p = fw_madd(p, r, fw_all(0x1.123a20p-6f));
    p = fw_madd(p, r, fw_all(0x1.5558f2p-4f));
    p = fw_madd(p, r, fw_all(0x1.555492p-2f));
    p = fw_madd(p, r, fw_all(0x1.fffffcp-1f));
    p = fw_madd(p, r, fw_all(2.0f));
    p = fw_madd(p, r, fw_all(2.0f));
    return p * (fw_vec)((fw_ints)shifted << 23);
}
FW_INLINE float fw_exp(float x) { return fw_vec_exp(fw_all(x))[0]; }

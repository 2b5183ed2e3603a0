"""Kernels against the call interface, right and wrong, written by hand for the tests."""

import subprocess
from pathlib import Path

PRELUDE = r"""
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
int32_t fw_abi(void) { return 1; }
int32_t fw_cpu_ok(void) { return CPU_OK; }
void fw_shutdown(void) {}
int64_t fw_scratch_bytes(const int64_t *e, int32_t threads) { return 4096; }
#define A(i, k) a[(i) * lda + (k)]
#define B(k, j) b[(k) * ldb + (j)]
#define C(i, j) c[(i) * ldc + (j)]
#define EACH(i, n) for (int64_t i = 0; i < (n); i++)
#define CELLS EACH(i, M) EACH(j, N)
#define SUM(T, X) T s = 0; EACH(k, K) s += (T)(X) * B(k, j)
#define PRODUCT(T, X) CELLS { SUM(T, X); C(i, j) = s; }
#define PARTIAL(KK) CELLS { float s = 0; EACH(k, KK) s += A(i, k) * B(k, j); C(i, j) = s; }
#define NAIVE(T) PRODUCT(T, A(i, k))
static float half(float x) {
  uint32_t u; memcpy(&u, &x, 4); u &= 0xffff0000u; memcpy(&x, &u, 4); return x;
}
typedef struct { const float *a, *b; float *c; int64_t lda, ldb, ldc, M, N, K, lo, hi; } part;
SUPPORT
int32_t fw_call(void *const *t, const int64_t *s, const int64_t *e, void *scratch, int64_t size,
                int32_t threads) {
  const float *a = t[0], *b = t[1];
  float *c = t[2];
  const int64_t lda = s[0], ldb = s[1], ldc = s[2], M = e[0], N = e[1], K = e[2];
  BODY
  return 0;
}
"""

RIGHT = {
    "naive": "NAIVE(float)",
    "double": "NAIVE(double)",
    "outer": """
  EACH(i, M) EACH(j, N) C(i, j) = 0;
  EACH(k, K) EACH(i, M) EACH(j, N) C(i, j) += A(i, k) * B(k, j);""",
    "backwards": """
  for (int64_t j = N - 1; j >= 0; j--) for (int64_t i = M - 1; i >= 0; i--) {
    float s = 0; for (int64_t k = K - 1; k >= 0; k--) s += A(i, k) * B(k, j); C(i, j) = s; }""",
}


def compile_kernel(
    folder: Path, name: str, body: str, support: str = "", cpu_ok: str = "1", flags: str = ""
) -> Path:
    """``folder/name.so`` from the body of ``fw_call``; the C source stands beside it."""
    text = PRELUDE.replace("SUPPORT", support).replace("BODY", body).replace("CPU_OK", cpu_ok)
    source = folder / f"{name}.c"
    source.write_text(text)
    library = folder / f"{name}.so"
    command = ["gcc", "-O1", "-w", "-shared", "-fPIC", "-pthread", *flags.split()]
    subprocess.run([*command, str(source), "-o", str(library)], check=True)
    return library


AHEAD = r"""
int64_t fw_ahead_bytes(const int64_t *e) { return 4 * e[1] * e[2] + 4; }
int32_t fw_prepare(void *const *t, const int64_t *s, const int64_t *e, void *scratch, int64_t size,
                   int32_t threads, void *ahead) {
  for (int64_t k = 0; k < e[2]; k++)
    for (int64_t j = 0; j < e[1]; j++)
      ((float *)ahead)[k * e[1] + j] = ((const float *)t[1])[k * s[1] + j];
  return 0;
}
int32_t fw_call(void *const *, const int64_t *, const int64_t *, void *, int64_t, int32_t);
int32_t fw_call_ahead(void *const *t, const int64_t *s, const int64_t *e, void *scratch,
                      int64_t size, int32_t threads, const void *ahead) {
  void *const tensors[3] = {t[0], (void *)ahead, t[2]};
  const int64_t rows[3] = {s[0], e[1], s[2]};
  int32_t code = fw_call(tensors, rows, e, scratch, size, threads);
  AFTER
  return code;
}
"""
"""Copies B ahead of the call; ``AFTER`` is where a test breaks the call on the copy."""

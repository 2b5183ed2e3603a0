"""Plain C functions as other people write them: right ones, and ones with a fault planted."""

from dataclasses import dataclass

HEAD = """
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define EACH(i, n) for (int64_t i = 0; i < (n); i++)
static inline float wide(uint16_t h) {
  uint32_t u = (uint32_t)h << 16; float f; memcpy(&f, &u, 4); return f;
}
static inline uint16_t narrow(float f) {
  uint32_t u; memcpy(&u, &f, 4);
  if (f != f) return 0x7fc0;
  return (uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}
"""

SIGNATURES = {
    "gemm": "const float *A, const float *B, float *C, int64_t M, int64_t N, int64_t K",
    "gemv": "const float *W, const float *x, float *y, int64_t N, int64_t K",
    "gemv:bf16": "const uint16_t *W, const uint16_t *x, uint16_t *y, int64_t N, int64_t K",
    "softmax": "const float *X, float *Y, int64_t R, int64_t C",
    "rmsnorm": "const float *X, const float *g, float *Y, int64_t T, int64_t H",
    "decode_attention": "const float *q, const float *kc, const float *vc, float *O, int64_t H,"
    " int64_t G, int64_t S, int64_t D",
}


@dataclass(frozen=True)
class Plain:
    """The body of ``kernel`` for an operator; ``clause`` and ``words`` of the refusal."""

    operator: str
    body: str
    clause: str = ""
    words: str = ""
    support: str = ""

    @property
    def source(self) -> str:
        head = f"void kernel({SIGNATURES[self.operator]})"
        return f"{HEAD}{self.support}\n{head} {{\n{self.body}\n}}\n"


SOFTMAX = """EACH(r, R) { const float *x = X + r * C; float *o = Y + r * C;
  float m = -INFINITY, z = 0; int bad = 0;
  EACH(c, C) { if (x[c] > m) m = x[c]; bad |= x[c] != x[c]; }
  EACH(c, C) z += o[c] = expf(x[c] - m);
  EACH(c, C) o[c] = bad ? NAN : o[c] / z; }"""

ONLINE = """EACH(r, R) { const float *x = X + r * C; float *o = Y + r * C;
  float m = -INFINITY, z = 0;
  EACH(c, C) { float n = x[c] > m || x[c] != x[c] ? x[c] : m;
    z = z * (m == n ? 1 : expf(m - n)) + (x[c] == -INFINITY ? 0 : expf(x[c] - n));
    m = n; if (m != m) break; }
  EACH(c, C) o[c] = expf(x[c] - m) / z; }"""

RMSNORM = """EACH(t, T) { const float *x = X + t * H; double s = 0;
  EACH(h, H) s += (double)x[h] * x[h];
  float f = (float)(1 / sqrt(s / H + 1e-6));
  EACH(h, H) Y[t * H + h] = x[h] * f * g[h]; }"""

ATTENTION = """float *s = malloc(4 * S + 4);
  EACH(h, H) EACH(i, G) { const float *a = q + (h * G + i) * D; float *o = O + (h * G + i) * D;
    float m = -INFINITY, z = 0;
    EACH(j, S) { const float *b = kc + (h * S + j) * D; float t = 0;
      EACH(d, D) t += a[d] * b[d];
      s[j] = t * SCALE; if (s[j] > m || s[j] != s[j]) m = s[j]; }
    EACH(j, S) z += s[j] = expf(s[j] - m);
    EACH(d, D) { float t = 0;
      EACH(j, KEYS) t += s[j] * vc[(HEAD * S + j) * D + d];
      o[d] = t / z; } }
  free(s);"""


def attention(scale: str = "(1 / sqrtf(D))", keys: str = "S", head: str = "h") -> str:
    return ATTENTION.replace("SCALE", scale).replace("KEYS", keys).replace("HEAD", head)


PAIRWISE = """
static float pairs(const float *a, const float *b, int64_t step, int64_t n) {
  if (n == 0) return 0;
  if (n == 1) return a[0] * b[0];
  return pairs(a, b, step, n / 2) + pairs(a + n / 2, b + n / 2 * step, step, n - n / 2);
}
"""

RIGHT = {
    "gemm in blocks of k": Plain(
        "gemm",
        """EACH(x, M * N) C[x] = 0;
  for (int64_t p = 0; p < K; p += 7) EACH(i, M) EACH(j, N) { float s = 0;
    for (int64_t k = p; k < K && k < p + 7; k++) s += A[i * K + k] * B[k * N + j];
    C[i * N + j] += s; }""",
    ),
    "gemm by pairs": Plain(
        "gemm",
        "EACH(i, M) EACH(j, N) C[i * N + j] = pairs(A + i * K, B + j, N, K);",
        support=PAIRWISE,
    ),
    "gemv in four sums": Plain(
        "gemv",
        """EACH(n, N) { float s[4] = {0}; const float *w = W + n * K; int64_t k = 0;
    for (; k + 4 <= K; k += 4) EACH(l, 4) s[l] += w[k + l] * x[k + l];
    for (; k < K; k++) s[k % 4] += w[k] * x[k];
    y[n] = (s[0] + s[2]) + (s[1] + s[3]); }""",
    ),
    "gemv from the end": Plain(
        "gemv",
        "EACH(n, N) { float s = 0; for (int64_t k = K; k--;) s += W[n * K + k] * x[k]; y[n] = s; }",
    ),
    "gemv in double": Plain(
        "gemv",
        "EACH(n, N) { double s = 0; EACH(k, K) s += (double)W[n * K + k] * x[k]; y[n] = s; }",
    ),
    "gemv by columns": Plain(
        "gemv", "EACH(n, N) y[n] = 0; EACH(k, K) EACH(n, N) y[n] += W[n * K + k] * x[k];"
    ),
    "gemv in bf16": Plain(
        "gemv:bf16",
        """EACH(n, N) { float s = 0;
    EACH(k, K) s += wide(W[n * K + k]) * wide(x[k]); y[n] = narrow(s); }""",
    ),
    "softmax in three passes": Plain("softmax", SOFTMAX),
    "softmax online": Plain("softmax", ONLINE),
    "rmsnorm in double": Plain("rmsnorm", RMSNORM),
    "rmsnorm in lanes": Plain(
        "rmsnorm",
        """EACH(t, T) { const float *x = X + t * H; float s[8] = {0}, z = 0;
    EACH(h, H) s[h % 8] += x[h] * x[h];
    for (int l = 7; l >= 0; l--) z += s[l];
    float f = 1 / sqrtf(z / H + 1e-6f);
    EACH(h, H) Y[t * H + h] = x[h] * (f * g[h]); }""",
    ),
    "attention": Plain("decode_attention", attention()),
}

WRONG = {
    "a tail of k left out": Plain(
        "gemm",
        """EACH(i, M) EACH(j, N) { float s = 0; int64_t end = K < 8 ? K : K / 8 * 8;
    EACH(k, end) s += A[i * K + k] * B[k * N + j]; C[i * N + j] = s; }""",
        "tolerance",
        "it equals the sum over k < 8 alone",
    ),
    "vectors read beyond the row": Plain(
        "gemv",
        """EACH(n, N) { float s = 0; const float *w = W + n * K;
    EACH(k, K) s += w[k] * x[k];
    if (K % 4) { volatile float over = w[K / 4 * 4 + 3]; (void)over; }
    y[n] = s; }""",
        "memory",
        "after the end of W",
    ),
    "sums kept in bf16": Plain(
        "gemv:bf16",
        """EACH(n, N) { float s = 0;
    EACH(k, K) s = wide(narrow(s + wide(W[n * K + k]) * wide(x[k]))); y[n] = narrow(s); }""",
        "exact_integers",
        "cells are wrong",
    ),
    "a store that cuts instead of rounding": Plain(
        "gemv:bf16",
        """EACH(n, N) { float s = 0; uint32_t u;
    EACH(k, K) s += wide(W[n * K + k]) * wide(x[k]);
    memcpy(&u, &s, 4); y[n] = u >> 16; }""",
        "exact_integers",
        "cells are wrong",
    ),
    "no maximum subtracted": Plain(
        "softmax",
        """EACH(r, R) { float z = 0; EACH(c, C) z += Y[r * C + c] = expf(X[r * C + c]);
    EACH(c, C) Y[r * C + c] /= z; }""",
        "finite",
        "every cell is NaN",
    ),
    "a masked row of zeros": Plain(
        "softmax",
        SOFTMAX.replace("o[c] / z;", "m == -INFINITY ? 0 : o[c] / z;"),
        "masked_row",
        "cells are wrong",
    ),
    "sums not rescaled": Plain(
        "softmax",
        ONLINE.replace("z * (m == n ? 1 : expf(m - n))", "z"),
        "rescaled",
        "cells are wrong",
    ),
    "a block that is masked whole": Plain(
        "softmax",
        """EACH(r, R) { const float *x = X + r * C; float m = -INFINITY, z = 0;
    for (int64_t p = 0; p < C; p += 4) { int64_t e = C - p < 4 ? C : p + 4; float n = m;
      for (int64_t c = p; c < e; c++) if (x[c] > n || x[c] != x[c]) n = x[c];
      z *= expf(m - n);
      for (int64_t c = p; c < e; c++) z += expf(x[c] - n);
      m = n; }
    EACH(c, C) Y[r * C + c] = expf(x[c] - m) / z; }""",
        "masked",
        "see what the mask leaves out",
    ),
    "epsilon beside the root": Plain(
        "rmsnorm",
        RMSNORM.replace("(1 / sqrt(s / H + 1e-6))", "(1 / (sqrt(s / H) + 1e-6))"),
        "epsilon",
        "cells are wrong",
    ),
    "the mean over the vectors' length": Plain(
        "rmsnorm",
        RMSNORM.replace("s / H", "s / ((H + 7) / 8 * 8)"),
        "tolerance",
        "cells are wrong",
    ),
    "the last key forgotten": Plain(
        "decode_attention",
        attention(keys="(S > 1 ? S - 1 : S)"),
        "tolerance",
        "cells are wrong",
    ),
    "scores not scaled": Plain(
        "decode_attention", attention(scale="1"), "tolerance", "cells are wrong"
    ),
    "values of another head": Plain(
        "decode_attention", attention(head="(H - 1 - h)"), "tolerance", "cells are wrong"
    ),
    "keys of no weight met first": Plain(
        "decode_attention",
        """EACH(h, H) EACH(i, G) { const float *a = q + (h * G + i) * D;
    float *o = O + (h * G + i) * D, m = -INFINITY, z = 0;
    EACH(d, D) o[d] = 0;
    EACH(j, S) { const float *b = kc + (h * S + j) * D, *c = vc + (h * S + j) * D; float t = 0;
      EACH(d, D) t += a[d] * b[d];
      t /= sqrtf(D);
      float n = t > m || t != t ? t : m, f = expf(m - n), w = expf(t - n);
      z = z * f + w; EACH(d, D) o[d] = o[d] * f + w * c[d]; m = n; }
    EACH(d, D) o[d] /= z; }""",
        "finite",
        "every cell is NaN",
    ),
    "works in its input": Plain(
        "softmax",
        "float *w = (float *)X; EACH(x, R * C) w[x] -= 1; " + SOFTMAX,
        "inputs_unchanged",
        "writes to its input X",
    ),
}

"""Right kernels in plain C by parameter: other orders of reduction, other tilings, other passes.

Each is a whole source file with ``void kernel(…)`` for the contract named by its operator. They
are what validation may not refuse, and what ``mutants.py`` plants faults in.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from formwright.flow.stating import stated_contract
from formwright.qualify.adapter import plain_signature

HEAD = """\
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
static inline float wide(uint16_t h) {
  uint32_t u = (uint32_t)h << 16; float f; memcpy(&f, &u, 4); return f;
}
static inline uint16_t narrow(float f) {
  uint32_t u; memcpy(&u, &f, 4);
  if (f != f) return 0x7fc0;
  return (uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}
"""


@dataclass(frozen=True)
class Right:
    """``body`` is what ``kernel`` does; ``flags`` go to the compiler beside the usual ones."""

    operator: str
    name: str
    body: str
    flags: tuple[str, ...] = ()

    def source(self, body: str | None = None) -> str:
        """The file, with another body where a mutant has one."""
        head = plain_signature(stated_contract(self.operator).contract, "kernel")
        return f"{HEAD}{head} {{\n{self.body if body is None else body}\n}}\n"


def _gemm() -> Iterator[Right]:
    for rows, depth, kind in product((1, 4, 13, 40), (1, 7, 32), ("float", "double")):
        body = f"""
  for (int64_t x = 0; x < M * N; x++) C[x] = 0;
  for (int64_t p = 0; p < K; p += {depth})
    for (int64_t b = 0; b < M; b += {rows})
      for (int64_t i = b; i < M && i < b + {rows}; i++)
        for (int64_t j = 0; j < N; j++) {{
          {kind} s = C[i * N + j];
          for (int64_t k = p; k < K && k < p + {depth}; k++) s += A[i * K + k] * B[k * N + j];
          C[i * N + j] = s;
        }}"""
        yield Right("gemm", f"{kind} in blocks of {rows} rows and {depth} terms", body)
    for first, last, step in (("0", "k < K", "k++"), ("K - 1", "k >= 0", "k--")):
        body = f"""
  for (int64_t i = 0; i < M; i++)
    for (int64_t j = 0; j < N; j++) C[i * N + j] = 0;
  for (int64_t k = {first}; {last}; {step})
    for (int64_t i = 0; i < M; i++)
      for (int64_t j = 0; j < N; j++) C[i * N + j] += A[i * K + k] * B[k * N + j];"""
        for flag in ("-O1", "-O3", "-ffp-contract=off"):
            yield Right("gemm", f"outer products, {step}, {flag}", body, (flag,))


def _gemv() -> Iterator[Right]:
    for lanes, tree, back in product((1, 2, 4, 8, 16), (True, False), (True, False)):
        sums = (
            f"for (int64_t w = {lanes} / 2; w > 0; w /= 2)\n"
            "      for (int64_t l = 0; l < w; l++) s[l] += s[l + w];"
            if tree
            else f"for (int64_t l = 1; l < {lanes}; l++) s[0] += s[l];"
        )
        index = "K - 1 - k" if back else "k"
        body = f"""
  for (int64_t n = 0; n < N; n++) {{
    float s[{lanes}] = {{0}};
    for (int64_t k = 0; k < K; k++) s[k % {lanes}] += W[n * K + {index}] * x[{index}];
    {sums}
    y[n] = s[0];
  }}"""
        name = f"{lanes} sums, {'by halves' if tree else 'in turn'}{', backwards' if back else ''}"
        yield Right("gemv", name, body)
    for depth, kind in product((1, 5, 64), ("float", "double")):
        body = f"""
  for (int64_t n = 0; n < N; n++) {{
    {kind} t = 0;
    for (int64_t p = 0; p < K; p += {depth}) {{
      {kind} s = 0;
      for (int64_t k = p; k < K && k < p + {depth}; k++) s += W[n * K + k] * x[k];
      t += s;
    }}
    y[n] = t;
  }}"""
        yield Right("gemv", f"{kind} in blocks of {depth}", body)
    for lanes in (1, 3, 8, 32):
        body = f"""
  for (int64_t n = 0; n < N; n++) {{
    float s[{lanes}] = {{0}};
    for (int64_t k = 0; k < K; k++) s[k % {lanes}] += wide(W[n * K + k]) * wide(x[k]);
    for (int64_t l = 1; l < {lanes}; l++) s[0] += s[l];
    y[n] = narrow(s[0]);
  }}"""
        yield Right("gemv:bf16", f"{lanes} sums", body)


def _softmax() -> Iterator[Right]:
    for lanes, divide in product((1, 2, 4, 8, 16), ("o[c] / t", "o[c] * (1 / t)")):
        body = f"""
  for (int64_t r = 0; r < R; r++) {{
    const float *x = X + r * C;
    float *o = Y + r * C, m = -INFINITY, t = 0, z[{lanes}] = {{0}};
    for (int64_t c = 0; c < C; c++) if (x[c] > m || x[c] != x[c]) m = x[c];
    for (int64_t c = 0; c < C; c++) z[c % {lanes}] += o[c] = expf(x[c] - m);
    for (int64_t l = 0; l < {lanes}; l++) t += z[l];
    for (int64_t c = 0; c < C; c++) o[c] = {divide};
  }}"""
        yield Right("softmax", f"three passes, {lanes} sums, {divide}", body)
    for chunk in (1, 3, 16, 64):
        body = f"""
  for (int64_t r = 0; r < R; r++) {{
    const float *x = X + r * C;
    float m = -INFINITY, z = 0;
    for (int64_t p = 0; p < C; p += {chunk}) {{
      float n = m;
      for (int64_t c = p; c < C && c < p + {chunk}; c++)
        if (x[c] > n || x[c] != x[c]) n = x[c];
      if (n == -INFINITY) continue;
      z *= expf(m - n);
      for (int64_t c = p; c < C && c < p + {chunk}; c++) z += expf(x[c] - n);
      m = n;
      if (m != m) break;
    }}
    for (int64_t c = 0; c < C; c++) Y[r * C + c] = expf(x[c] - m) / z;
  }}"""
        yield Right("softmax", f"online in chunks of {chunk}", body)


def _rmsnorm() -> Iterator[Right]:
    roots = ("1 / sqrtf(s / H + 1e-6f)", "sqrtf(1 / (s / H + 1e-6f))")
    uses = ("x[h] * f * g[h]", "x[h] * (f * g[h])")
    for lanes, root, use in product((1, 4, 8, 16), roots, uses):
        body = f"""
  for (int64_t t = 0; t < T; t++) {{
    const float *x = X + t * H;
    float p[{lanes}] = {{0}}, s = 0;
    for (int64_t h = 0; h < H; h++) p[h % {lanes}] += x[h] * x[h];
    for (int64_t l = 0; l < {lanes}; l++) s += p[l];
    float f = {root};
    for (int64_t h = 0; h < H; h++) Y[t * H + h] = {use};
  }}"""
        yield Right("rmsnorm", f"{lanes} sums, {root}, {use}", body)
    yield Right(
        "rmsnorm",
        "in double",
        """
  for (int64_t t = 0; t < T; t++) {
    double s = 0;
    for (int64_t h = H - 1; h >= 0; h--) s += (double)X[t * H + h] * X[t * H + h];
    for (int64_t h = 0; h < H; h++)
      Y[t * H + h] = (float)(X[t * H + h] / sqrt(s / H + 1e-6) * g[h]);
  }""",
    )


def _attention() -> Iterator[Right]:
    for lanes, values in product((1, 2, 4, 8), ("by keys", "by columns")):
        weigh = (
            """for (int64_t d = 0; d < D; d++) o[d] = 0;
      for (int64_t j = 0; j < S; j++)
        for (int64_t d = 0; d < D; d++) o[d] += s[j] * vc[(h * S + j) * D + d];
      for (int64_t d = 0; d < D; d++) o[d] /= z;"""
            if values == "by keys"
            else """for (int64_t d = 0; d < D; d++) {
        float t = 0;
        for (int64_t j = 0; j < S; j++) t += s[j] * vc[(h * S + j) * D + d];
        o[d] = t / z;
      }"""
        )
        body = f"""
  float *s = malloc(4 * S + 4);
  for (int64_t h = 0; h < H; h++)
    for (int64_t i = 0; i < G; i++) {{
      const float *a = q + (h * G + i) * D;
      float *o = O + (h * G + i) * D, m = -INFINITY, z = 0;
      for (int64_t j = 0; j < S; j++) {{
        float t[{lanes}] = {{0}}, u = 0;
        for (int64_t d = 0; d < D; d++) t[d % {lanes}] += a[d] * kc[(h * S + j) * D + d];
        for (int64_t l = 0; l < {lanes}; l++) u += t[l];
        s[j] = u / sqrtf(D);
        if (s[j] > m || s[j] != s[j]) m = s[j];
      }}
      for (int64_t j = 0; j < S; j++) z += s[j] = expf(s[j] - m);
      {weigh}
    }}
  free(s);"""
        yield Right("decode_attention", f"{lanes} sums, {values}", body)
    for chunk in (1, 8, 32):
        body = f"""
  for (int64_t h = 0; h < H; h++)
    for (int64_t i = 0; i < G; i++) {{
      const float *a = q + (h * G + i) * D;
      float *o = O + (h * G + i) * D, m = -INFINITY, z = 0, s[{chunk}];
      for (int64_t d = 0; d < D; d++) o[d] = 0;
      for (int64_t p = 0; p < S; p += {chunk}) {{
        const int64_t e = S - p < {chunk} ? S - p : {chunk};
        float n = m;
        for (int64_t j = 0; j < e; j++) {{
          float u = 0;
          for (int64_t d = 0; d < D; d++) u += a[d] * kc[(h * S + p + j) * D + d];
          s[j] = u / sqrtf(D);
          if (s[j] > n || s[j] != s[j]) n = s[j];
        }}
        if (n == -INFINITY) continue;
        const float f = expf(m - n);
        z *= f;
        for (int64_t d = 0; d < D; d++) o[d] *= f;
        for (int64_t j = 0; j < e; j++) {{
          const float w = expf(s[j] - n);
          z += w;
          for (int64_t d = 0; d < D; d++) o[d] += w * vc[(h * S + p + j) * D + d];
        }}
        m = n;
      }}
      for (int64_t d = 0; d < D; d++) o[d] /= z;
    }}"""
        yield Right("decode_attention", f"online in chunks of {chunk} keys", body)


def right_kernels() -> tuple[Right, ...]:
    """All of them; the order is fixed."""
    makers = (_gemm, _gemv, _softmax, _rmsnorm, _attention)
    return tuple(kernel for make in makers for kernel in make())

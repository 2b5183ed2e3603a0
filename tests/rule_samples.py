"""Templates that rules are tried on, as plain as one writes them."""

from formwright.base.source import Source
from formwright.ir.template import Template
from formwright.lang.parser import parse

DECODE = """
template decode_plain : operator -> mapping

scope
  workload  O[H,G,D] = sum(j < S) exp(s[H,G,j] - m[H,G]) * vc[H,j,D] / z[H,G]
  stage     s[H,G,S] = sum(d < D) q[H,G,d] * kc[H,S,d] * rsqrt(index(D))
  stage     m[H,G] = max(j < S) s[H,G,j]
  stage     z[H,G] = sum(j < S) exp(s[H,G,j] - m[H,G])
  extents   H >= 1, G >= 1, S >= 1, D >= 1

program
  par grid (h, g) in H, G:
    alloc sc[S] scratch
    alloc top[1], tot[1] register
    for j in 0 .. S:
      sc[j] = 0
      for d in 0 .. D:
        sc[j] += q[h,g,d] * kc[h,j,d] * rsqrt(index(D))
    top[0] = sc[0]
    for j in 0 .. S:
      top[0] max= sc[j]
    tot[0] = 0
    for j in 0 .. S:
      tot[0] += exp(sc[j] - top[0])
    for d in 0 .. D:
      alloc acc[1] register
      acc[0] = 0
      for j in 0 .. S:
        acc[0] += exp(sc[j] - top[0]) * vc[h,j,d] / tot[0]
      O[h,g,d] = acc[0]

realise
  s[h,g,j] = sc[j]
  m[h,g] = top[r]
  z[h,g] = tot[r]
"""

GEMM = """
template gemm_of_loops : operator -> mapping

scope
  workload  C[M,N] = sum(k < K) A[M,k] * B[k,N]
  extents   M >= 1, N >= 1, K >= 0

program
  par grid (i, j) in M, N:
    alloc acc[1] register
    acc[x] = 0
    for k in 0 .. K:
      acc[x] += A[i,k] * B[k,j]
    C[i,j] = acc[0]
"""

GEMV = """
template gemv_of_loops : operator -> mapping

scope
  workload  y[N] = sum(k < K) W[N,k] * x[k]
  extents   N >= 1, K >= 0

program
  par grid i in N:
    alloc acc[1] register
    acc[0] = 0
    for k in 0 .. K:
      acc[0] += W[i,k] * x[k]
    y[i] = acc[0]
"""

TILES = """
template tiles_of_a_team : operator -> mapping

scope
  workload  C[M,N] = sum(k < K) A[M,k] * B[k,N]
  extents   M >= 1, N >= 1, K >= 1
  agents    W >= 1
  chip      shared_bytes >= 2048, accumulators >= 256

decisions
  T  in {8, 16}
  Tk in {8, 16}

program
  par grid (i, j) in ceil(M/T), ceil(N/T):
    alloc sA[T,Tk], sB[Tk,T] ring 1 shared
    alloc acc[T,T] register dist 2
    par team w in W:
      acc[r,s] = 0
      for p in 0 .. ceil(K/Tk):
        sA<p>[r,k] = A[i*T+r, p*Tk+k] clip
        sB<p>[k,s] = B[p*Tk+k, j*T+s] clip
        barrier
        acc[r,s] += sA<p>[r,k] * sB<p>[k,s]
        barrier
      C[i*T+r, j*T+s] = acc[r,s] clip
"""

SOFTMAX = """
template softmax_of_loops : operator -> mapping

scope
  workload  Y[R,C] = exp(X[R,C] - m[R]) / z[R]
  stage     m[R] = max(c < C) X[R,c]
  stage     z[R] = sum(c < C) exp(X[R,c] - m[R])
  extents   R >= 1, C >= 1

program
  par grid i in R:
    alloc top[1], tot[1] register
    top[0] = X[i,0]
    for c in 0 .. C:
      top[0] max= X[i,c]
    tot[0] = 0
    for c in 0 .. C:
      tot[0] += exp(X[i,c] - top[0])
    for c in 0 .. C:
      Y[i,c] = exp(X[i,c] - top[0]) / tot[0]

realise
  m[i] = top[r]
  z[i] = tot[r]
"""


def sample(text: str) -> Template:
    return parse(Source("sample.fw", text))

"""Terms that go through a buffer with two writers: whole blocks, and what is left of them."""

import pytest

from formwright.base.source import Source
from formwright.lang import parse
from formwright.smt import prove

TEXT = """template rows : operator -> mapping

scope
  workload  y[M] = sum(k < K) A[M,k] * x[k]
  extents   M >= 1, K >= 1

decisions
  L in {4, 8}

program
  par grid i in M:
    alloc w[K//L + 1, L], acc[L], tot[1] scratch
    for q in 0 .. K//L:
      w[q,l] = A[i, q*L+l] over (l < L) clip
    w[K//L, l] = A[i, (K//L)*L+l] over (l < L) clip
    acc[l] = 0
    for q in 0 .. K//L:
      acc[l] += w[q,l] * x[q*L+l] clip
    acc[l] += w[K//L, l] * x[(K//L)*L+l] clip
    tot[0] = 0
    tot[0] += acc[l]
    y[i] = tot[0]
"""
REST = "    acc[l] += w[K//L, l] * x[(K//L)*L+l] clip\n"


@pytest.mark.parametrize(
    ("rest", "verdict"), [(REST, "proved"), (REST + REST, "unresolved"), ("", "unresolved")]
)
def test_a_writer_that_a_read_never_meets_takes_no_fact_from_the_others(
    rest: str, verdict: str
) -> None:
    """The last block is never one of the whole ones; what held of both was nothing at all.

    Here nothing is replayed, so what is wrong stays unresolved.
    """
    proof = prove(parse(Source("rows.fw", TEXT.replace(REST, rest))))
    terms = [o for o in proof.obligations if o.condition in ("exact_once", "coverage", "phantom")]
    assert {o.verdict for o in terms} == {"proved", verdict}
    assert proof.verdict == verdict

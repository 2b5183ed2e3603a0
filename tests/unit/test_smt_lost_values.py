"""What is multiplied with a sum that may be empty: ``0 * (1/0)`` is no 0 (rule P16)."""

import pytest

from formwright.base.source import Source
from formwright.lang.parser import parse
from formwright.smt.prove import prove

MEAN = """  workload  y[N] = sum(k < K) W[N,k] * x[k] / z[N]
  stage     z[N] = sum(k < K) W[N,k]
"""

MEAN_PROGRAM = """  par grid i in N:
    alloc out[1], tot[1], inv[1] register
    tot[a] = 0
    for k in 0 .. K:
      tot[a] += W[i,k] over (a < 1)
    inv[a] = 1 / tot[a]
    out[a] = 0
    for k in 0 .. K:
      out[a] += W[i,k] * x[k] over (a < 1)
    y[i] = out[0] * inv[0]

realise
  z[i] = tot[a]
"""

MASKED = """  workload  y[T] = sum(j < T) select(j MASK t, a[j] * v[j] / z[T], 0)
  stage     z[T] = sum(j < T) select(j MASK t, a[j], 0)
"""

MASKED_PROGRAM = """  par grid i in T:
    alloc out[1], tot[1], inv[1] register
    tot[b] = 0
    for k in 0 .. LAST:
      tot[b] += a[k] over (b < 1)
    inv[b] = 1 / tot[b]
    out[b] = 0
    for k in 0 .. LAST:
      out[b] += a[k] * v[k] over (b < 1)
    y[i] = out[0] * inv[0]

realise
  z[i] = tot[b]
"""

SUM = "  workload  y[N] = sum(k < K) W[N,k]\n"

SUM_PROGRAM = """  par grid i in N:
    alloc zero[1], inv[1], safe[1] register
    zero[a] = 0
    inv[a] = 1 / (W[i,0] - W[i,0])
    safe[a] = W[i,0]
    y[i] = 0
    for k in 0 .. K:
      y[i] += W[i,k]
    y[i] += LOST
"""

ROOT = "  workload  y[N] = sum(k < K) W[N,k] * W[N,k] * rsqrt(index(K))\n"

ROOT_PROGRAM = """  par grid i in N:
    alloc out[1] register
    out[a] = 0
    for k in 0 .. K:
      out[a] += W[i,k] * W[i,k] over (a < 1)
    y[i] = out[0] * rsqrt(index(K))
"""


def _verdict(scope: str, extents: str, program: str) -> str:
    text = f"template t : operator -> mapping\n\nscope\n{scope}  extents   {extents}\n\n"
    text += f"decisions\n  L in {{4}}\n\nprogram\n{program}"
    terms = ("phantom", "exact_once", "coverage", "defined")
    return prove(parse(Source("t.fw", text)), only=lambda c: c in terms).verdict


@pytest.mark.parametrize(("least", "verdict"), [(0, "unresolved"), (1, "proved")])
@pytest.mark.parametrize("quotient", ["out[0] * inv[0]", "inv[0] * out[0]", "out[0] / tot[0]"])
def test_a_mean_over_nothing(least: int, verdict: str, quotient: str) -> None:
    program = MEAN_PROGRAM.replace("out[0] * inv[0]", quotient)
    assert _verdict(MEAN, f"N >= 1, K >= {least}", program) == verdict


@pytest.mark.parametrize(("least", "verdict"), [(0, "unresolved"), (1, "proved")])
def test_a_scale_behind_a_sum(least: int, verdict: str) -> None:
    assert _verdict(ROOT, f"N >= 1, K >= {least}", ROOT_PROGRAM) == verdict


@pytest.mark.parametrize(
    ("mask", "last", "verdict"), [("<", "i", "unresolved"), ("<=", "i + 1", "proved")]
)
def test_a_mean_of_which_all_may_be_masked(mask: str, last: str, verdict: str) -> None:
    scope, program = MASKED.replace("MASK", mask), MASKED_PROGRAM.replace("LAST", last)
    assert _verdict(scope, "T >= 1", program) == verdict


@pytest.mark.parametrize(
    "lost",
    [
        "zero[0] * inv[0]",
        "inv[0] * zero[0]",
        "zero[0] * (safe[0] + inv[0])",
        "(zero[0] + zero[0]) * (2 * inv[0])",
        "index(0) * (1 / W[i,0])",
        "index(i - i) * (1 / W[i,0])",
        "select(i < i, W[i,0], 0) * (1 / W[i,0])",
        "(1 / W[i,0]) * select(i < i, W[i,0], 0)",
        "0 / W[i,0]",
        "zero[0] / W[i,0]",
        "zero[0] * rsqrt(W[i,0])",
        "zero[0] * (zero[0] * inv[0])",
        "-zero[0] * sqrt(W[i,0])",
        "max(0 / W[i,0], 0) * zero[0]",
    ],
)
def test_nothing_times_what_may_have_no_value(lost: str) -> None:
    program = SUM_PROGRAM.replace("LOST", lost)
    assert _verdict(SUM, "N >= 1, K >= 1", program) == "unresolved"


@pytest.mark.parametrize("lost", ["zero[0]", "zero[0] * safe[0]", "zero[0] * (safe[0] / 2)"])
def test_nothing_times_a_number_is_nothing(lost: str) -> None:
    program = SUM_PROGRAM.replace("LOST", lost)
    assert _verdict(SUM, "N >= 1, K >= 1", program) == "proved"


def test_nothing_over_what_may_be_nothing_inside_a_function() -> None:
    scope = "  workload  y[N] = W[N] * exp(0)\n"
    program = "  par grid i in N:\n    y[i] = W[i] * exp(0 / W[i])\n"
    assert _verdict(scope, "N >= 1", program) == "unresolved"
    assert _verdict(scope, "N >= 1", program.replace(" / W[i]", "")) == "proved"


OF_A_STAGE = """  workload  y[N] = sum(k < K) W[N,k] * s[N]
  stage     s[N] = 1 / x[N]
"""

OF_A_STAGE_PROGRAM = """  par grid i in N:
    alloc out[1], quot[1] register
    quot[a] = 1 / x[i]
    out[a] = 0
    for k in 0 .. K:
      out[a] += W[i,k] over (a < 1)
    y[i] = out[0] * quot[0]

realise
  s[i] = quot[a]
"""


@pytest.mark.parametrize(("least", "verdict"), [(0, "unresolved"), (1, "proved")])
def test_a_stage_that_may_have_no_value(least: int, verdict: str) -> None:
    assert _verdict(OF_A_STAGE, f"N >= 1, K >= {least}", OF_A_STAGE_PROGRAM) == verdict


SPREAD = {
    "sums": "*".join(["(X[N] + Z[N])"] * 40),
    "differences": "*".join(["(X[N] - Z[N])"] * 40),
    "masks": "*".join(f"select(n < {k}, X[N], Z[N])" for k in range(30)),
    "masks in a function": "exp("
    + "+".join(f"select(n < {k}, X[N], Z[N])" for k in range(30))
    + ")",
    "masks in a quotient": "1 / ("
    + "*".join(f"select(n < {k}, X[N], Z[N])" for k in range(30))
    + ")",
}


@pytest.mark.parametrize("name", SPREAD)
@pytest.mark.parametrize("head", ["sum(k < K) x[k] * ", "max(k < K) x[k] * "])
def test_a_line_of_very_many_products_is_open_at_once(name: str, head: str) -> None:
    """2^40 products are not written out to be counted."""
    scope = f"  workload  y[N] = {head}{SPREAD[name]}\n"
    program = "  par grid i in N:\n    y[i] = X[i] * Z[i] * x[0]\n"
    assert _verdict(scope, "N >= 1, K >= 1", program) == "unresolved"


@pytest.mark.parametrize("op", "*/")
def test_copies_of_copies_are_open_at_once(op: str) -> None:
    names = ", ".join(f"b{k}[1]" for k in range(9))
    program = f"  par grid i in N:\n    alloc {names} register\n    b0[a] = W[i]\n"
    program += "".join(f"    b{k}[a] = b{k - 1}[0] {op} b{k - 1}[0]\n" for k in range(1, 9))
    program += "    y[i] = b8[0]\n"
    assert _verdict("  workload  y[N] = W[N] * exp(0)\n", "N >= 1", program) == "unresolved"

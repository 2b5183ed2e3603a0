"""What is derived of lines with stages and functions, and what is left open with its reason."""

from pathlib import Path

import pytest

from formwright.base.source import Source
from formwright.lang.parser import parse
from formwright.proof.verdict import Obligation
from formwright.replay import replay
from formwright.smt.prove import prove

TEXTS = Path(__file__).parents[1] / "stages"
Edits = tuple[tuple[str, str], ...]
TERMS = ("phantom", "exact_once", "coverage", "defined")


EXPONENTIALS = """template t : operator -> mapping

scope
  workload  y[N] = sum(k < K) W[N,k] * exp(x[k])
  extents   N >= 1, K >= 1

decisions
  L in {4, 8}

program
  par grid i in N:
    alloc acc[L] register
    acc[l] = 0
    for q in 0 .. ceil(K/L):
      acc[l] += W[i, q*L+l] * exp(x[q*L+l]) over (l < BOX) clip
    y[i] = 0
    y[i] += acc[l]
"""


def _obligations(name: str, edits: Edits, *conditions: str) -> list[Obligation]:
    text = (TEXTS / f"{name}.fw").read_text()
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    template = parse(Source(f"{name}.fw", text))
    found = prove(template, replayer=replay, only=lambda c: c in conditions).obligations
    return list(found)


STABLE: dict[str, tuple[str, Edits, str]] = {
    "as it is": ("softmax", (), "proved"),
    "turned": ("softmax", (("exp(X[R,c] - m[R])", "exp(m[R] - X[R,c])"),), "unresolved"),
    "half": ("softmax", (("exp(X[R,c] - m[R])", "exp(0.5*X[R,c] - m[R])"),), "unresolved"),
    "a scale": (
        "softmax",
        (("exp(X[R,c] - m[R])", "exp((X[R,c] - m[R])*rsqrt(index(C)))"),),
        "proved",
    ),
    "a negative scale": (
        "softmax",
        (("exp(X[R,c] - m[R])", "exp((X[R,c] - m[R])*(0-2))"),),
        "unresolved",
    ),
    "a scale of any sign": (
        "softmax",
        (("exp(X[R,c] - m[R])", "exp((X[R,c] - m[R])*X[R,c])"),),
        "unresolved",
    ),
    "the maximum of something else": (
        "softmax",
        (("max(c < C) X[R,c]", "max(c < C) 2*X[R,c]"), ("[R,c] - m[R])", "[R,c] - 0.5*m[R])")),
        "unresolved",
    ),
    "shifted further": ("softmax", (("X[R,c] - m[R])", "X[R,c] - m[R] + 1)"),), "unresolved"),
    "a mask": ("prefill_attention", (), "proved"),
    "a mask of the maximum alone": (
        "prefill_attention",
        (
            (
                "select(j <= t, exp(s[H,G,T,j] - m[H,G,T]), 0)",
                "exp(s[H,G,T,j] - m[H,G,T])",
            ),
        ),
        "unresolved",
    ),
    "no mask of the maximum": (
        "prefill_attention",
        (("max(j < T) select(j <= t, s[H,G,T,j], s[H,G,T,T])", "max(j < T) s[H,G,T,j]"),),
        "proved",
    ),
}


@pytest.mark.parametrize("name", STABLE)
def test_stable(name: str) -> None:
    text, edits, wanted = STABLE[name]
    found = _obligations(text, edits, "stable")
    assert found
    assert {o.verdict for o in found} == ({"proved"} if wanted == "proved" else {"proved", wanted})


def test_an_exp_without_a_maximum_owes_no_stability() -> None:
    assert _obligations("gated_mlp", (), "stable") == []


OPEN: dict[str, tuple[Edits, str]] = {
    "a sum inside a function": (
        (("1 / tot[r]", "1 / acc[r,0]"),),
        "accumulated and read inside a function",
    ),
    "a maximum in a sum": (
        (("tot[r] += acc[r,l]", "tot[r] += acc[r,l] + big[r,l]"),),
        "a running maximum in a sum",
    ),
    "a sum in a maximum": (
        (
            (
                "top[r] max= big[r,l]",
                "big2[r] = 0\n    big2[r] += X[i*Rr+r, 0]\n    top[r] max= big2[r]",
            ),
            ("top[Rr] register", "top[Rr], big2[Rr] register"),
        ),
        "is a sum in a maximum",
    ),
    "0 times a function": (
        ((" * inv[r] over", " * inv[r] + 0 * exp(X[i*Rr+r, 0]) over"),),
        "0 times a function",
    ),
}


@pytest.mark.parametrize("name", OPEN)
def test_what_is_not_derived_is_open_and_says_why(name: str) -> None:
    edits, reason = OPEN[name]
    found = _obligations("softmax", edits, *TERMS)
    assert any(o.verdict == "unresolved" and reason in o.detail for o in found), [
        (o.name, o.verdict, o.detail) for o in found
    ]


@pytest.mark.slow
def test_what_is_equal_for_a_deeper_reason_is_not_refuted() -> None:
    edits = (
        ("exp(X[i*Rr+r, q*L+l] - top[r]) * inv", "exp(X[i*Rr+r, q*L+l]) * exp(-top[r]) * inv"),
    )
    found = _obligations("softmax", edits, *TERMS)
    assert {o.verdict for o in found} == {"proved", "unresolved"}


@pytest.mark.parametrize(("box", "verdict"), [("L", "unresolved"), ("min(L, K - q*L)", "proved")])
def test_a_clipped_term_with_a_function_does_not_vanish(box: str, verdict: str) -> None:
    """``0*f`` is 0 over the reals, and no number where ``f`` overflows."""
    template = parse(Source("t.fw", EXPONENTIALS.replace("BOX", box)))
    found = prove(template, only=lambda c: c in TERMS)
    assert found.verdict == verdict, [(o.name, o.detail) for o in found.obligations]


def test_a_scale_of_indices_has_to_be_a_number() -> None:
    """``rsqrt(index(D - 1))`` has no value for ``D = 1``, whatever it is multiplied with."""
    text = (TEXTS / "decode_attention.fw").read_text()
    text = text.replace("rsqrt(index(D))", "rsqrt(index(D-1))")
    found = prove(parse(Source("t.fw", text)), only=lambda c: c == "phantom").obligations
    assert [o.verdict for o in found if o.name.startswith("phantom s")] == ["unresolved"]


def test_a_stage_that_nobody_reads_may_hold_what_it_likes() -> None:
    """Rows behind the last and scores beyond the diagonal are computed, and are of no account."""
    found = _obligations("prefill_attention", (), "coverage")
    assert {o.verdict for o in found} == {"proved"}


def test_an_index_that_leaves_a_tensor_is_a_fault_of_the_workload() -> None:
    edits = (
        ("X[T,e + E//2]", "X[T,e + E]"),
        ("X[t,e + E//2] * d[t,e] over", "X[t,e + E] * d[t,e] over"),
    )
    found = _obligations("rotary", edits, "phantom", "address")
    assert {"refuted"} <= {o.verdict for o in found if o.condition == "address"}
    assert {"refuted"} <= {o.verdict for o in found if o.condition == "phantom"}


PADDED = """template t : operator -> mapping

scope
  workload  y[N] = sum(k < K) e[k] * W[N,k]
  stage     e[K] = VALUE
  extents   N >= 1, K >= 1

decisions
  L in {4, 8}

program
  alloc q[ceil(K/L)*L] scratch
  par grid b in ceil(K/L):
    q[b*L+l] = KEPT over (l < L) clip
  par grid i in N:
    alloc acc[L] register
    acc[l] = 0
    for p in 0 .. ceil(K/L):
      acc[l] += q[p*L+l] * W[i, p*L+l] over (l < L) clip
    y[i] = 0
    y[i] += acc[l]

realise
  e[c] = q[c]
"""


@pytest.mark.parametrize(
    ("value", "kept", "verdict"),
    [
        ("2 * x[K]", "2 * x[b*L+l]", "proved"),
        ("1 / x[K]", "1 / x[b*L+l]", "unresolved"),
    ],
)
def test_a_cell_behind_the_last_may_be_no_number(value: str, kept: str, verdict: str) -> None:
    """Behind ``x`` stands ``1/0``: a weight of 0 does not make it a term that vanishes."""
    text = PADDED.replace("VALUE", value).replace("KEPT", kept)
    assert prove(parse(Source("t.fw", text)), only=lambda c: c in TERMS).verdict == verdict

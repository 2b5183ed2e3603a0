"""The precondition against the safe set: exact, too strong, too weak, and what that costs.

The verifier is played by exhaustive interpretation of a 2x2x5 product (every interleaving of
two warps), and the solver by plain enumeration with the exact evaluator, so that nothing
of the solver or the conditions is trusted here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from formwright.base.diagnostics import InputError
from formwright.flow.weakest import Bounded, Weakest, rule_of, weakest
from formwright.ir.expr import Compare, Scalar, Var, num
from formwright.ir.inline import inlined
from formwright.ir.template import Requirement, Template
from formwright.lang import load
from formwright.proof.refutation import Refutation
from formwright.proof.verdict import Counterexample, Verdict
from formwright.replay import explore, replay
from formwright.replay.compiled import compile_bool, compile_expr

VARIANTS = Path(__file__).parents[1] / "variants"
CHIP: dict[str, Scalar] = {
    "chip.shared_bytes": 96 * 1024,
    "chip.accumulators": 32768,
    "chip.sms": 128,
    "chip.clock": 1_800_000_000,
    "chip.flops": 80 * 10**12,
    "chip.dram_bandwidth": 1_800 * 10**9,
    "chip.barrier_cycles": 40,
}
SHAPES = {"4096^3": (4096, 4096, 4096), "64x4096^2": (64, 4096, 4096), "1000^3": (1000,) * 3}
WORKLOADS = {name: {**CHIP, "M": m, "N": n, "K": k, "W": 8} for name, (m, n, k) in SHAPES.items()}
SMALL = {"M": 2, "N": 2, "K": 5, "W": 2, "Tm": 2, "Tn": 2, "Tk": 1}


@dataclass(frozen=True)
class Answer:
    status: str
    assignment: dict[str, int]
    objective: Fraction | None


def enumerated(template: Template, values: Mapping[str, Scalar]) -> Answer:
    """The least objective over all assignments that meet the constraints."""
    closed = inlined(template)
    assert closed.cost is not None
    names = [d.name for d in closed.decisions]
    conditions = [compile_bool(c.condition, values) for c in closed.constraints]
    bounds = [
        (None if b.guard is None else compile_bool(b.guard, values), compile_expr(b.value, values))
        for b in closed.cost.bounds
    ]
    best: tuple[Fraction, dict[str, int]] | None = None
    for point in product(*(d.menu for d in closed.decisions)):
        env = dict(zip(names, point, strict=True))
        if not all(c(env) for c in conditions):
            continue
        value = max(Fraction(v(env)) for guard, v in bounds if guard is None or guard(env))
        if best is None or value < best[0]:
            best = (value, env)
    if best is None:
        return Answer("infeasible", {}, None)
    return Answer("optimal", best[1], best[0])


@cache
def _verdict(S: int, P: int, beta: int) -> Verdict:
    _, template = load("shared_memory_tiling")
    found = explore(template, {**SMALL, "S": S, "P": P, "beta": beta})
    return "proved" if found.safe else "refuted"


def safe(point: dict[str, int]) -> Verdict:
    return _verdict(point["S"], point["P"], point["beta"])


def compared(template: Template, **more: object) -> Weakest:
    return weakest(template, WORKLOADS, safe, enumerated, **more)  # type: ignore[arg-type]


def variant(name: str) -> Template:
    _, template = load(str(VARIANTS / f"{name}.fw"))
    return template


@pytest.mark.parametrize("name", ["tiling_always_trailing", "tiling_weak"])
def test_variants_differ_in_their_conditions_alone(name: str) -> None:
    _, template = load("shared_memory_tiling")
    changed = variant(name)
    assert changed.program == template.program
    assert changed.cost == template.cost
    assert changed.decisions == template.decisions
    assert changed.requires != template.requires


def test_shipped_precondition_is_exact_on_24() -> None:
    _, template = load("shared_memory_tiling")
    result = compared(template)
    assert result.exact
    assert result.judgement == "exact"
    assert (result.decisions, result.checked) == (("S", "P", "beta"), 24)
    assert {(p["S"], p["P"], p["beta"]) for p in result.safe} == {
        (s, p, b) for s, p, b in product((1, 2, 3), (0, 1, 2, 3), (0, 1)) if p <= s - 2 + b
    }
    for loss in result.loss.values():
        assert loss.relative == 0
        assert loss.assignment_safe


def test_always_keeping_the_trailing_barrier_is_too_strong() -> None:
    result = compared(variant("tiling_always_trailing"))
    assert result.judgement == "too strong"
    assert not result.exact
    assert not result.excess
    assert {p["beta"] for p in result.missing} == {0}
    lost = {name: float(loss.relative or 0) for name, loss in result.loss.items()}
    assert lost["1000^3"] == pytest.approx(0.0134, abs=5e-5)
    assert lost["4096^3"] == 0
    assert lost["64x4096^2"] == 0


def test_forgetting_the_barrier_is_too_weak_with_the_replayed_race() -> None:
    template = variant("tiling_weak")
    base = {**CHIP, "M": 4096, "N": 4096, "K": 4096, "W": 8, "Tm": 128, "Tn": 128, "Tk": 16}

    def explain(point: dict[str, int]) -> Counterexample | None:
        if point["S"] != 2:
            return None
        values = {n: v for n, v in {**base, **point}.items() if not isinstance(v, bool)}
        return replay(template, Refutation("lifetime", "lifetime of sB", values, (), ""))

    result = compared(template, explain=explain)
    assert result.judgement == "too weak"
    assert result.checked == 24
    assert not result.missing
    reasons = {tuple(e.point.values()): e.counterexample for e in result.excess}
    assert set(reasons) == {(1, 0, 0), (2, 1, 0), (3, 2, 0)}
    assert result.excess[0].point == {"S": 2, "P": 1, "beta": 0}  # what the solver picks
    race = reasons[(2, 1, 0)]
    assert race is not None
    assert race.text.splitlines()[0] == (
        "C[0,1] accumulates A[0,2]*B[4,1] instead of A[0,2]*B[2,1]"
    )
    for loss in result.loss.values():
        assert loss.relative is not None
        assert loss.relative <= 0


def test_unresolved_is_never_exact() -> None:
    _, template = load("shared_memory_tiling")
    result = weakest(template, {}, lambda p: "unresolved" if p["S"] == 3 else safe(p), enumerated)
    assert not result.exact
    assert result.judgement == "unresolved"
    assert len(result.unresolved) == 8


def test_requirement_that_reads_an_extent_is_set_apart() -> None:
    _, template = load("shared_memory_tiling")
    aware = Requirement("short", Compare("<=", Var("K"), num(100)))
    result = compared(replace(template, requires=(*template.requires, aware)))
    assert result.exact
    assert result.reads_scope == ("short",)


def test_nothing_to_compare_is_an_input_error() -> None:
    _, template = load("packed_gemm")
    with pytest.raises(InputError, match="nothing to compare"):
        compared(template)


def test_bounds_stand_apart_and_become_one_rule() -> None:
    count = Var("KT")
    at = [Bounded({"S": s, "P": p}, count, s, True) for s, p in ((1, 1), (2, 2), (3, 3), (3, 4))]
    assert rule_of(tuple(at)) == (count, "S")
    assert rule_of((*at, replace(at[0], most=2))) is None
    assert rule_of((*at, replace(at[0], exact=False))) is None
    assert rule_of(()) is None

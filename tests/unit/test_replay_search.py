"""From a claim to a counterexample: words, miniatures, and what is not believed."""

import time
from collections.abc import Collection
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

from formwright.base.source import Source
from formwright.ir.expr import Compare, Scalar, Var, num
from formwright.ir.inline import inlined
from formwright.ir.template import Constraint, Requirement, Template
from formwright.lang import load, parse
from formwright.proof.refutation import Instance, Refutation
from formwright.replay import replay
from formwright.replay.adversary import adversarial
from formwright.replay.events import Anomaly, AnomalyKind
from formwright.replay.judge import ORDER_CONDITIONS, finding, telling
from formwright.replay.known import runs_of
from formwright.replay.runner import Outcome, Prepared, run, run_prepared
from formwright.replay.schedule import Schedule
from formwright.replay.sizes import candidates, family, full_sizes

VARIANTS = Path(__file__).parents[1] / "variants"
POINT: dict[str, int | Fraction] = {
    "M": 1000,
    "N": 1000,
    "K": 1000,
    "W": 4,
    "Tm": 16,
    "Tn": 16,
    "Tk": 8,
    "S": 2,
    "P": 1,
    "beta": 0,
    "chip.shared_bytes": 98304,
    "chip.accumulators": 32768,
}


@cache
def weak() -> Template:
    return load(str(VARIANTS / "tiling_weak.fw"))[1]


@cache
def packed() -> Template:
    return load("packed_gemm")[1]


def claim(condition: str, **values: int | Fraction) -> Refutation:
    return Refutation(condition, condition, {**POINT, **values}, (), "")


def test_the_race_of_figure_7_in_its_words() -> None:
    found = replay(weak(), claim("lifetime"))
    assert found is not None
    assert found.replayed
    assert found.text == (
        "C[0,1] accumulates A[0,2]*B[4,1] instead of A[0,2]*B[2,1]\n"
        "miniature: Tm = 2, Tn = 2, Tk = 1 stand for the menu's tiles"
    )
    shown = {n: found.values[n] for n in ("M", "N", "K", "W", "S", "P", "beta")}
    assert shown == {"M": 2, "N": 2, "K": 5, "W": 2, "S": 2, "P": 1, "beta": 0}
    assert found.trace[:5] == (
        "w1: sB<2>[0,1] = B[2,1]  (slot 0, held sB<0>)",
        "w1: acc[1,0] += sA<2>[1,0]*sB<2>[0,0]",
        "w1: sA<4>[1,0] = A[1,4]  (slot 0, held sA<2>)",
        "w1: sB<4>[0,1] = B[4,1]  (slot 0, held sB<2>)",
        "w0: acc[0,1] += sA<2>[0,0]*sB<2>[0,1]  (slot 0 holds sB<4>)",
    )
    assert found.trace[5].startswith("with M = 2, N = 2, K = 40, Tm = 16, Tn = 16, Tk = 8: ")


@pytest.mark.slow
def test_a_claim_about_a_safe_point_is_not_believed() -> None:
    for condition in ("lifetime", "readiness", "race"):
        assert replay(weak(), claim(condition, S=3), seconds=0.3) is None


def test_a_claim_of_the_wrong_condition_is_not_believed() -> None:
    """The data were there and were overwritten: that is no failure of readiness."""
    assert replay(weak(), claim("readiness"), seconds=0.3) is None
    assert replay(weak(), claim("coverage"), seconds=0.3) is None


SELECT = """template t : operator -> mapping

scope
  workload  C[M,N] = sum(k < K) A[M,k] * B[k,N]
  extents   M >= 1, N >= 1, K >= 1

decisions
  T in {2, 4}

program
  C[r,s] = 0 over (r < M, s < N)
  for k in 0 .. K:
    C[r,s] += A[r,k] * B[k,s] over (r < M, s < N)
    if k > FIRST: C[r,s] += A[r,k] * B[k,s] over (r < M, s < N)
"""


@pytest.mark.parametrize("first", [5, 11, 20])
def test_the_very_values_of_a_claim_come_first_when_they_are_small(first: int) -> None:
    """No miniature reaches a defect past the twentieth step; the claim itself does, at once."""
    template = parse(Source("t.fw", SELECT.replace("FIRST", str(first))))
    values: dict[str, int | Fraction] = {"M": 1, "N": 1, "K": first + 2, "T": 2}
    start = time.process_time()
    found = replay(template, Refutation("exact_once", "x", values, (), ""))
    assert time.process_time() - start < 0.5
    assert found is not None
    assert found.values == values
    assert found.text == f"C[0,0] receives A[0,{first + 1}]*B[{first + 1},0] twice"


def test_divisibility_holds_in_the_miniature_too() -> None:
    """``Mc mod Mr = 0`` is kept, so that no false counterexample is drawn."""
    sizes = {"Mr": 6, "Nr": 16, "Kc": 256, "Mc": 96, "Nb": 768, "Ib": 4}
    base: dict[str, int | bool | Fraction] = {"M": 99, "N": 99, "K": 99, **sizes}
    around = family(inlined(packed()), base)
    for number, values in enumerate(candidates(around, empty_reduction=False)):
        assert int(values["Mc"]) % int(values["Mr"]) == 0
        assert int(values["Nb"]) % int(values["Nr"]) == 0
        if number > 50:
            break
    refutation = Refutation("exact_once", "x", {"M": 99, "N": 99, "K": 99, **sizes}, (), "")
    assert replay(packed(), refutation, seconds=0.5) is None


def test_a_miniature_grows_back_to_the_menus() -> None:
    around = family(inlined(weak()), {**POINT})
    small = next(candidates(around, empty_reduction=False))
    assert {n: small[n] for n in ("M", "N", "K", "Tm", "Tn", "Tk")} == {
        "M": 2,
        "N": 2,
        "K": 5,
        "Tm": 2,
        "Tn": 2,
        "Tk": 1,
    }
    assert around.miniature(small) == ("Tm = 2", "Tn = 2", "Tk = 1")
    for full in full_sizes(around, small):
        assert not around.miniature(full)
        assert full["K"] == 40


def test_floor_in_the_reduction_loses_terms() -> None:
    text = load("packed_gemm")[0].text.replace("ceil(K/Kc)", "floor(K/Kc)")
    assert "floor(K/Kc)" in text
    broken = parse(Source("floor.fw", text))
    values = {"M": 9, "N": 9, "K": 99, "Mr": 4, "Nr": 8, "Kc": 64, "Mc": 48, "Nb": 96, "Ib": 1}
    found = replay(broken, Refutation("coverage", "x", dict(values), (), ""))
    assert found is not None
    assert " misses A[" in found.text


@pytest.mark.parametrize(
    ("condition", "change", "words"),
    [
        ("implied", "requirement", "the requirement never does not"),
        ("menu", "constraint", "none of the 1800 assignments"),
        ("fits", "", "the shared buffers take 2048 bytes and chip.shared_bytes is 2047"),
    ],
)
def test_conditions_on_numbers_alone(condition: str, change: str, words: str) -> None:
    never = Compare("<", Var("S"), num(1))
    template = weak()
    if change == "requirement":
        template = replace(template, requires=(Requirement("never", never),))
    if change == "constraint":
        template = replace(template, constraints=(Constraint("never", never),))
    if condition == "fits":
        template = replace(template, constraints=())
        # The scope asks for 2048 bytes: judged here without it.
        scope = replace(template.scope, chip=())
        template = replace(template, scope=scope)
    values = {"chip.shared_bytes": 2047} if condition == "fits" else {}
    found = replay(template, claim(condition, **values))
    assert found is not None
    assert words in found.text
    assert found.replayed


def test_numbers_that_hold_give_nothing() -> None:
    for condition in ("implied", "menu", "fits", "divisor"):
        assert replay(weak(), claim(condition), seconds=0.3) is None


def test_what_failed_one_obligation_is_tried_first_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[object] = []

    def counted(
        prepared: Prepared, schedule: Schedule, budget: int, until: Collection[AnomalyKind]
    ) -> Outcome:
        made.append(schedule)
        return run_prepared(prepared, schedule, budget, until=until)

    monkeypatch.setattr("formwright.replay.known.run_prepared", counted)
    template = weak_of_its_own()
    first = replay(template, about("lifetime", "sA"))
    assert first is not None
    assert len(made) > 1
    made.clear()
    second = replay(template, about("lifetime", "sB"))
    assert second is not None
    assert second.values == first.values
    assert not made
    # another choice of decisions is another question, and so is another template
    assert replay(template, about("lifetime", "sB", S=3), seconds=0.3) is None
    assert made
    made.clear()
    again = replay(weak_of_its_own(), about("lifetime", "sB"))
    assert again is not None
    assert made


def test_a_run_that_is_only_to_confirm_ends_where_it_has() -> None:
    template = weak_of_its_own()
    full: dict[str, Scalar] = {**POINT, "M": 2, "N": 2, "K": 6, "W": 2, "Tm": 2, "Tn": 2, "Tk": 1}
    schedule = next(
        s
        for s in adversarial(10, 2, False)
        if finding("lifetime", "sA", run(template, full, s)) is not None
    )
    runs = runs_of(template)
    whole = runs.outcome(full, schedule, 60_000)
    short = runs.outcome(full, schedule, 60_000, telling("lifetime"))
    assert whole is not None
    assert short is not None
    assert short.points < whole.points
    seen = finding("lifetime", "sA", short)
    assert seen is not None
    assert seen.anomaly == whole.anomalies[0]
    # nothing is said of outputs that were not reached
    assert not short.cells


@pytest.mark.parametrize("condition", sorted({*ORDER_CONDITIONS, "coverage", "defined", "implied"}))
def test_only_what_an_anomaly_alone_bears_out_ends_a_run(condition: str) -> None:
    enough = telling(condition)
    assert bool(enough) == (condition in {"readiness", "lifetime", "order", "single"})
    outcome = Outcome("defect")
    for kind in enough:
        odd = replace(outcome, anomalies=(Anomaly(kind, "warp 0", "does something odd"),))
        assert finding(condition, "", odd) is not None


def weak_of_its_own() -> Template:
    """A text that was read before is the same template, with all that was run of it."""
    return replace(load(str(VARIANTS / "tiling_weak.fw"))[1])


def about(condition: str, buffer: str, **values: int | Fraction) -> Refutation:
    actor = Instance((), "read", {}, buffer)
    return Refutation(condition, condition, {**POINT, **values}, (actor,), "")


def test_a_schedule_of_agents_bears_out_no_condition_on_the_textual_order() -> None:
    template = load(str(VARIANTS / "tiling_weak.fw"))[1]
    assert replay(template, claim("lifetime")) is not None
    assert replay(template, claim("coverage"), seconds=0.3) is None


def test_what_is_only_accumulated_into_is_not_defined() -> None:
    """``C += ...`` alone: the cell has a value, and what it held before stays in it."""
    text = load("packed_gemm")[0].text
    start = text.index("            if pc = 0:\n              C[")
    end = text.index("            if pc > 0:\n")
    broken = parse(Source("added.fw", text[:start] + text[end:].replace("pc > 0", "pc >= 0", 1)))
    values = {"M": 9, "N": 9, "K": 0, "Mr": 4, "Nr": 8, "Kc": 64, "Mc": 48, "Nb": 96, "Ib": 1}
    found = replay(broken, Refutation("defined", "x", dict(values), (), ""))
    assert found is not None
    assert found.text == "C[0,0] is accumulated into and never assigned"

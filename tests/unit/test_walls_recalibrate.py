"""Purchases held against an evaluator while the relaxation runs."""

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from recalibration_models import Truth, counters, problem, template

from formwright.ir.expr import Scalar
from formwright.simulate.evaluator import Evaluation
from formwright.walls.agreement import rank_agreement
from formwright.walls.inner import build_inner
from formwright.walls.problem import CodesignProblem, Kernel, ScenarioSpec
from formwright.walls.recalibrate import Recalibration
from formwright.walls.relax import begin, run, step
from formwright.walls.state import Options, State, state_from_json

BUDGET = Fraction(4)
OPTIONS = Options(variant="coupled", budget=BUDGET)
NOISE = Fraction(1, 100)


def relaxed(
    model: CodesignProblem, truth: Truth, names: tuple[str, ...] = (), rounds: int = 20
) -> tuple[State, Any]:
    watch = Recalibration(model, truth, NOISE, counters(*names), samples=24)
    inner = build_inner(model)
    options = replace(OPTIONS, rounds=rounds)
    state = run(inner, options, model.library.start, watch.judge(inner))
    final = watch.rebuild(state.repairs)
    return state, final.solve(state.point)


def designs(answer: Any) -> dict[Any, Any]:
    return {key: dict(chosen.assignment) for key, chosen in answer.software.items()}


@pytest.fixture(scope="module")
def right() -> tuple[State, Any]:
    """The run with the model that is right."""
    return relaxed(problem(), Truth())


def test_a_right_model_agrees_at_every_purchase(right: tuple[State, Any]) -> None:
    state, _ = right
    assert len(state.purchases) >= 2
    assert not state.repairs
    for bought in state.purchases:
        verdict = bought["verdict"]
        assert verdict["verdict"] == "agrees"
        assert verdict["predicted"] == pytest.approx(verdict["evaluated"])
        assert not verdict["missed"]


@pytest.mark.parametrize(
    ("name", "factor"),
    [("compute", Fraction(2)), ("memory", Fraction(2)), ("overhead", Fraction(1, 2))],
)
def test_a_coefficient_off_by_two_is_repaired_at_the_first_purchase(
    name: str, factor: Fraction, right: tuple[State, Any]
) -> None:
    expected, answer = right
    state, mended = relaxed(problem({name: factor}), Truth())
    assert state.rounds[0]["bought"] is None
    (repair,) = state.repairs
    assert repair["missed"]
    assert repair["repairs"] == [
        {"template": "bench_gemm", "coefficients": {name: "1"}, "term": None}
    ]
    assert repair["rank_after"] == pytest.approx(1)
    assert all(p["verdict"]["verdict"] == "agrees" for p in state.purchases)
    assert state.point == expected.point
    assert designs(mended) == designs(answer)


def test_a_lacking_term_is_named_added_and_bought_against() -> None:
    truth = Truth(conflict=Fraction(1, 2))
    state, _ = relaxed(problem(), truth, ("conflicts", "barriers"))
    (repair,) = state.repairs
    (tried,) = repair["tried"]
    assert tried["refits"]
    assert not any(fit["explains"] for fit in tried["refits"])
    assert tried["wall"]["counter"] == "conflicts"
    assert tried["wall"]["field"] == "banks"
    (made,) = repair["repairs"]
    assert made["term"]["form"] == "added"
    assert Fraction(made["term"]["weight"]) == Fraction(1, 2)
    assert repair["rank_before"] < 0.95
    assert repair["rank_after"] == pytest.approx(1)
    assert state.purchases
    assert all(p["verdict"]["verdict"] == "agrees" for p in state.purchases)


def test_without_what_counters_count_the_wall_is_named_and_the_miss_stays() -> None:
    state, _ = relaxed(problem(), Truth(conflict=Fraction(1, 2)), rounds=1)
    assert not state.repairs
    first = state.purchases[0]["verdict"]
    assert first["verdict"] == "unexplained"
    assert first["tried"][0]["wall"]["counter"] == "conflicts"


def test_a_resumed_run_judges_as_an_undisturbed_one() -> None:
    model, truth = problem({"memory": Fraction(2)}), Truth()
    whole, _ = relaxed(model, truth)
    state = begin(build_inner(model), OPTIONS, model.library.start)
    while not state.done:
        # Everything but the journaled state is forgotten after each round.
        state = state_from_json(json.loads(json.dumps(state.as_json())))
        watch = Recalibration(model, truth, NOISE, samples=24)
        inner = watch.rebuild(state.repairs)
        state = step(inner, OPTIONS, state, watch.judge(inner)).state
    assert state.point == whole.point
    assert state.repairs == whole.repairs
    assert [p["fields"] for p in state.purchases] == [p["fields"] for p in whole.purchases]
    assert state.spent.solves == whole.spent.solves


def test_a_design_is_evaluated_once_on_a_chip() -> None:
    model, truth = problem(), Truth()
    watch = Recalibration(model, truth, NOISE)
    inner = build_inner(model)
    run(inner, OPTIONS, model.library.start, watch.judge(inner))
    assert truth.asked == len(watch.observer.known)


def test_the_ranking_is_told_before_anything_is_bought() -> None:
    model = problem()
    inner = build_inner(model)
    right = rank_agreement(model, inner, Truth(), samples=30, seed=5)
    assert right["rank"] == pytest.approx(1)
    assert right["samples"] >= 25
    assert right["by_template"]["bench_gemm"]["samples"] == right["samples"]
    assert right["worst"]["rank"] == pytest.approx(1)
    assert right == json.loads(json.dumps(right))
    wrong = rank_agreement(model, inner, Truth(conflict=Fraction(1, 2)), samples=30, seed=5)
    assert wrong["rank"] < 0.95
    assert right["evidence"] == "modelled"


class Stray(Truth):
    """One kernel of twelve takes longer than the model says."""

    longer = Fraction(0)

    def evaluate(
        self,
        template: str,
        extents: Mapping[str, int],
        assignment: Mapping[str, int],
        chip: Mapping[str, Scalar],
    ) -> Evaluation:
        plain = super().evaluate(template, extents, assignment, chip)
        longer = self.longer if extents["M"] == 64 else Fraction(0)
        return replace(plain, time=plain.time * (1 + longer))


@pytest.mark.parametrize(
    ("longer", "verdict"),
    [(Fraction(15, 1000), "agrees"), (Fraction(30, 1000), "unexplained")],
)
def test_a_few_strays_are_listed_unless_they_are_far_off(longer: Fraction, verdict: str) -> None:
    model = problem()
    shape = template()
    works = tuple(
        (Kernel(f"m{m}", (shape,), {"M": m, "N": 128, "K": 128}), 1) for m in range(64, 256, 16)
    )
    model = replace(model, scenarios=(ScenarioSpec("all", works),))
    truth = Stray()
    truth.longer = longer
    inner = build_inner(model)
    watch = Recalibration(model, truth, NOISE, samples=24)
    state = run(inner, replace(OPTIONS, rounds=1), model.library.start, watch.judge(inner))
    (bought,) = state.purchases
    assert bought["verdict"]["verdict"] == verdict
    assert {m["kernel"] for m in bought["verdict"]["missed"]} == {"m64"}

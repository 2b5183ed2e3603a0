"""Refits and missing terms on samples: what is found, what is kept, what stays unexplained."""

from fractions import Fraction
from random import Random

import pytest
from recalibration_models import Truth, counters, problem, template

from formwright.milp.check import check
from formwright.simulate.evaluator import Evaluation
from formwright.walls.agreement import ranked, sampled
from formwright.walls.counters import Counter
from formwright.walls.drawing import draw
from formwright.walls.explaining import Search
from formwright.walls.fitting import single
from formwright.walls.missing import terms
from formwright.walls.observed import Compared, Observer, compare, log_ratio, present_of
from formwright.walls.problem import CodesignProblem
from formwright.walls.repairs import repaired

NOISE = 0.01
WEIGHT = {"energy_per_barriers": 0.03}


def rows(truth: Truth, model: CodesignProblem, known: tuple[Counter, ...] = ()) -> list[Compared]:
    seen = sampled(model, None, Observer(model, truth), 40, 7)
    return compare(model, seen, known)["bench_gemm"]


def test_drawn_designs_keep_every_constraint() -> None:
    model = problem()
    values = {**model.library.values((0, 0, 0)), "M": 64, "N": 64, "K": 64}
    found = draw(template(), values, 100, Random(3))
    # Tm = Tn = 8 alone fits 64 accumulators, and 4 KiB hold each Tk.
    assert sorted((d["Tm"], d["Tn"], d["Tk"]) for d in found) == [(8, 8, k) for k in (8, 16, 32)]
    assert all(check(template(), values, d).ok for d in found)
    assert len(draw(template(), values, 2, Random(3))) == 2
    assert draw(template(), values, 0, Random(3)) == []
    assert draw(template(), {**values, "M": 0}, 6, Random(3)) == []


@pytest.mark.parametrize("name", ["compute", "memory", "overhead"])
@pytest.mark.parametrize("factor", [Fraction(2), Fraction(1, 2), Fraction(7, 5)])
def test_the_coefficient_that_is_wrong_is_the_one_refitted(name: str, factor: Fraction) -> None:
    model = problem({name: factor})
    observed = rows(Truth(), model)
    present = present_of(model, "bench_gemm")
    repair, told = Search("bench_gemm", present, observed, observed, (), NOISE).run()
    assert told["by"] == "refit"
    assert repair is not None
    assert repair.changed == {name: 1}
    assert told["wall"] is None


def test_a_model_that_is_right_is_left_alone() -> None:
    observed = rows(Truth(), problem())
    for name in ("compute", "memory", "overhead"):
        fit = single(observed, present_of(problem(), "bench_gemm"), name, NOISE)
        assert fit.changed == {}
        assert fit.error == pytest.approx(0, abs=1e-12)
        assert fit.inside == 1


def test_a_lacking_term_is_named_by_its_counter_and_added() -> None:
    model, known = problem(), counters("conflicts", "barriers")
    truth = Truth(conflict=Fraction(1, 2))
    observed = rows(truth, model, known)
    present = present_of(model, "bench_gemm")
    repair, told = Search("bench_gemm", present, observed, observed, known, NOISE).run()
    assert told["refits"]
    assert not any(f["explains"] for f in told["refits"])
    assert told["by"] == "term"
    assert told["wall"] == {"counter": "conflicts", "field": "banks", "why": ""}
    assert repair is not None
    assert repair.term is not None
    assert repair.term.form == "added"
    assert repair.term.weight == Fraction(1, 2)
    seen = [row.seen for row in observed]
    before = ranked(model, seen)["rank"]
    mended = repaired(model, [repair.as_json()], known)
    after = ranked(mended, seen)["rank"]
    assert before < 0.95
    assert after == pytest.approx(1)
    assert present_of(mended, "bench_gemm")["per_conflicts"] == Fraction(1, 2)


def test_a_term_that_the_energy_lacks_is_added_to_the_energy() -> None:
    model, known = problem(), counters("conflicts", "barriers")
    observed = rows(Truth(joules=Fraction(3, 100)), model, known)
    present = present_of(model, "bench_gemm")
    repair, told = Search("bench_gemm", present, observed, observed, known, NOISE).run()
    assert told["by"] == "term"
    assert told["wall"] == {"counter": "barriers", "field": "shared_bytes", "why": ""}
    assert repair is not None
    assert repair.term is not None
    assert repair.term.form == "energy"
    assert repair.term.weight == Fraction(3, 100)
    mended = repaired(model, [repair.as_json()], known)
    again = compare(mended, [row.seen for row in observed], known)["bench_gemm"]
    errors = [e for row in again for e in row.errors({**dict.fromkeys(present, 1.0), **WEIGHT})]
    assert max(map(abs, errors)) < 1e-9
    # What the cost has is not offered again: its coefficient is refitted.
    offered = terms(again, present_of(mended, "bench_gemm"), known, NOISE)
    assert not any(t.counter == "barriers" and t.form == "energy" for t in offered)


def test_a_counter_that_nobody_states_is_named_but_not_added() -> None:
    model = problem()
    observed = rows(Truth(conflict=Fraction(1, 2)), model, counters("barriers"))
    present = present_of(model, "bench_gemm")
    known = counters("barriers")
    repair, told = Search("bench_gemm", present, observed, observed, known, NOISE).run()
    assert repair is None
    assert told["wall"]["counter"] == "conflicts"
    assert told["wall"]["why"] == "the study does not say what it counts"


def test_a_counter_that_is_stated_wrongly_is_not_added() -> None:
    model = problem()
    (barriers,) = counters("barriers")
    wrong = Counter("conflicts", "banks", barriers.counts)
    observed = rows(Truth(conflict=Fraction(1, 2)), model, (wrong,))
    found = terms(observed, present_of(model, "bench_gemm"), (wrong,), NOISE)
    assert found[0].counter == "conflicts"
    assert not found[0].stated
    assert "were counted" in found[0].why


def test_what_nothing_explains_stays_unexplained() -> None:
    class Odd(Truth):
        def evaluate(self, template, extents, assignment, chip):  # type: ignore[no-untyped-def]
            plain = super().evaluate(template, extents, assignment, chip)
            wild = 1 + (sum(assignment.values()) * 7919) % 13
            return Evaluation(plain.time * wild, None, {"flops": plain.counters["flops"]})

    model = problem()
    observed = rows(Odd(), model)
    present = present_of(model, "bench_gemm")
    repair, told = Search("bench_gemm", present, observed, observed, (), NOISE).run()
    assert not any(f["explains"] for f in told["refits"])
    assert repair is None or told["by"] == "part"


def test_errors_of_nothing_are_large_and_finite() -> None:
    assert log_ratio(0.0, 0.0) == 0
    assert 10 < log_ratio(1.0, 0.0) < 100

"""Diagnoses of constructed runs in which the cause of the shortfall is known."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import diagnosed_runs as runs
import pytest

from effort import thinned
from formwright.flow.diagnosis import diagnose
from formwright.flow.diagnosis_costs import shares_of
from formwright.flow.diagnosis_data import Case, Excluded, Outside
from formwright.flow.diagnosis_excluding import excluded
from formwright.flow.diagnosis_reading import read_case
from formwright.flow.parameters import bind
from formwright.ir.template import Constraint, Template
from formwright.lang import load
from formwright.lang.parser import parse_expression
from formwright.milp.check import objective_of
from formwright.milp.solve import solve

VARIANTS = Path(__file__).parents[1] / "variants"
TILING: dict[str, int | Fraction] = {
    "chip.shared_bytes": 96 * 1024,
    "chip.accumulators": 32768,
    "chip.sms": 128,
    "chip.clock": 1_800_000_000,
    "chip.flops": 80 * 10**12,
    "chip.dram_bandwidth": 1_800 * 10**9,
    "chip.barrier_cycles": 40,
}
GEMM = load("packed_gemm")[1]
VALUES = runs.parameters_of(GEMM)


def machine(**true: Fraction) -> runs.Machine:
    """One that behaves as the model says, with some coefficients of its own."""
    weights = {**runs.defaults(GEMM), **true}
    return lambda a: float(objective_of(GEMM, VALUES, a, weights))


def test_nothing_is_said_where_nothing_is_lost() -> None:
    assert diagnose(runs.case_of(GEMM, machine())) == ()


def test_a_case_without_measurements_says_nothing() -> None:
    assert diagnose(Case("shape", {GEMM.name: GEMM}, {}, (), ())) == ()


def test_a_faster_design_outside_is_representation() -> None:
    case = runs.case_of(GEMM, machine())
    best = min(t.seconds for t in case.tried)
    library = Outside("onednn", best / 2, best * 0.49, best * 0.51, "confirm/shape")
    found = diagnose(replace(case, outside=(library,)))
    assert [d.kind for d in found] == ["representation"]
    assert found[0].loss == pytest.approx(0.5)
    assert found[0].action == "new"
    assert found[0].data["resource"] == "core"
    assert {f.entry for f in found[0].figures} == {"measure/shape/0", "confirm/shape"}


def test_an_outside_design_within_the_noise_is_none() -> None:
    case = runs.case_of(GEMM, machine())
    best = min(t.seconds for t in case.tried)
    near = Outside("onednn", best * 0.99, best * 0.9, best * 1.1, "confirm/shape")
    assert diagnose(replace(case, outside=(near,))) == ()


@pytest.mark.parametrize(
    ("name", "factor"),
    thinned([("issue_cycles", 6), ("load_cycles", 30), ("store_cycles", 30)]),
)
def test_a_wrong_coefficient_is_prediction(name: str, factor: int) -> None:
    true = runs.defaults(GEMM)[name] * factor
    case = runs.case_of(GEMM, machine(**{name: true}))
    found = diagnose(case)
    assert [d.kind for d in found] == ["prediction"]
    assert found[0].action == "refit"
    refitted = {n: float(Fraction(v)) for n, v in found[0].data["coefficients"].items()}
    assert refitted == {name: pytest.approx(float(true), rel=0.05)}
    # What is lost: from the model's choice to the best of the refitted model.
    best = solve(GEMM, VALUES, coefficients={**runs.defaults(GEMM), name: true}).objective
    lost = 1 - float(best or 0) / machine(**{name: true})(case.solved[0].assignment)
    assert found[0].loss == pytest.approx(lost, abs=0.02)
    assert all(f.entry for f in found[0].figures)


@pytest.mark.parametrize(("name", "factor"), [("pack_cycles", 20), ("fork_cycles", 30)])
@pytest.mark.slow
def test_a_wrong_coefficient_that_costs_nothing_is_no_cause(name: str, factor: int) -> None:
    """The choice stays the best one, however wrong its predicted time."""
    true = runs.defaults(GEMM)[name] * factor
    assert diagnose(runs.case_of(GEMM, machine(**{name: true}))) == ()


def test_no_coefficient_within_reach_is_a_missing_wall() -> None:
    """A refit moves a coefficient by a factor of 32 at most: what needs 100 is not a rate."""
    true = runs.defaults(GEMM)["tile_cycles"] * 100
    found = diagnose(runs.case_of(GEMM, machine(tile_cycles=true)))
    assert [d.kind for d in found] == ["missing wall"]


def test_a_term_that_the_cost_lacks_is_a_missing_wall() -> None:
    present = runs.defaults(GEMM)
    pool = runs.spread_out(solve(GEMM, VALUES, limit=512), 10)

    def misses(a: Mapping[str, int]) -> int:
        return 100_000 * (1 + (a["Kc"] * a["Nb"]) % 7 + 3 * (a["Mr"] * a["Nr"] % 5))

    def slow(a: Mapping[str, int]) -> float:
        return machine()(a) + misses(a) * 5e-9

    tried = tuple(
        runs.tried_of(GEMM, slow, a, present, "measure/shape/0", {"misses": Fraction(misses(a))})
        for a in pool
    )
    case = replace(runs.case_of(GEMM, slow), tried=tried)
    found = diagnose(case)
    walls = [d for d in found if d.kind == "missing wall"]
    assert found[0] is walls[0]
    assert walls[0].data["counter"] == "misses"
    assert float(Fraction(walls[0].data["term"]["weight"])) == pytest.approx(5e-9, rel=0.05)
    # Without the counter the wall is still missing, and has no name.
    blind = replace(case, tried=tuple(replace(t, counters={}) for t in tried))
    unnamed = [d for d in diagnose(blind) if d.kind == "missing wall"]
    assert unnamed[0].data["counter"] == ""
    assert unnamed[0].action == "measure"


@pytest.mark.slow
def test_three_designs_do_not_tell_a_missing_wall() -> None:
    def slow(a: Mapping[str, int]) -> float:
        return machine()(a) * (1 + (a["Kc"] * a["Mr"]) % 3)

    assert "missing wall" not in {d.kind for d in diagnose(runs.case_of(GEMM, slow, count=3))}


def test_a_solver_that_stopped_early_is_optimisation() -> None:
    case = runs.case_of(GEMM, machine())
    answer = replace(case.solved[0], status="unresolved", bound=(case.solved[0].bound or 0) * 0.7)
    found = diagnose(replace(case, solved=(answer,)))
    assert [d.kind for d in found] == ["optimisation"]
    assert found[0].loss == pytest.approx(0.3)
    assert found[0].action == "solve"
    near = replace(answer, bound=(case.solved[0].bound or 0) * 0.99)
    assert diagnose(replace(case, solved=(near,))) == ()


def test_a_solver_without_any_answer_is_optimisation_even_if_nothing_was_measured() -> None:
    case = runs.case_of(GEMM, machine())
    answer = replace(case.solved[0], status="unresolved", objective=None, bound=None)
    found = diagnose(replace(case, tried=(), solved=(answer,)))
    assert [(d.kind, d.loss) for d in found] == [("optimisation", 1.0)]


def test_a_precondition_that_excludes_proved_designs() -> None:
    case = runs.case_of(GEMM, machine())
    cost = case.solved[0].objective or 0
    too_strong = Excluded(GEMM.name, "requires", cost, cost * 0.8, True, "excluded/shape/x")
    found = diagnose(replace(case, excluded=(too_strong,)))
    assert [d.kind for d in found] == ["precondition"]
    assert found[0].loss == pytest.approx(0.2)
    unproved = replace(too_strong, proved=False)
    assert diagnose(replace(case, excluded=(unproved,))) == ()


def test_a_precondition_too_strong_is_found_by_the_verifier() -> None:
    template = load(str(VARIANTS / "tiling_always_trailing.fw"))[1]
    values = bind(template, TILING, {"M": 1000, "N": 1000, "K": 1000}, "made up")
    (found,) = excluded(template, values, {})
    assert found.condition == "requires"
    assert found.proved
    assert found.safe < found.required


@pytest.mark.parametrize("proved", [True, False])
def test_a_constraint_is_left_out_only_if_the_verifier_still_proves(proved: bool) -> None:
    needless = Constraint("small", parse_expression("Mr <= 2"))
    template = replace(GEMM, constraints=(*GEMM.constraints, needless))
    asked = []

    def proves(without: Template) -> bool:
        asked.append({c.name for c in without.constraints})
        return proved

    found = {e.condition: e for e in excluded(template, VALUES, {}, proves)}
    assert found["small"].safe < 0.9 * found["small"].required
    assert found["small"].proved is proved
    assert asked[0] == {c.name for c in GEMM.constraints}
    case = runs.case_of(template, machine())
    causes = diagnose(replace(case, excluded=(replace(found["small"], entry="excluded/shape/x"),)))
    assert [d.kind for d in causes] == (["precondition"] if proved else [])


def test_the_bottleneck_moved() -> None:
    """A first design that waits for the caches, a second that computes."""
    present = {**runs.defaults(GEMM), "reread": Fraction(16)}
    true = machine(reread=Fraction(16))
    computes = solve(GEMM, VALUES, coefficients=present).assignment
    waits = {**computes, "Nb": 48, "Nr": 16}
    old = runs.tried_of(GEMM, true, waits, present, "measure/shape/0")
    new = runs.tried_of(GEMM, true, computes, present, "measure/shape/1")
    case = runs.case_of(GEMM, true, present)
    was = shares_of(GEMM, VALUES, waits, present)
    now = shares_of(GEMM, VALUES, computes, present)
    assert was is not None
    assert now is not None
    found = diagnose(replace(case, tried=(old, new)))
    assert was.resource != now.resource
    assert [d.kind for d in found] == ["bottleneck moved"]
    assert found[0].action == "lower"
    assert found[0].data["level"] == "schedule"
    assert found[0].data["resource"] == now.resource
    # Nothing moved where both stood in one generation, or where the model does not hold.
    assert diagnose(replace(case, tried=(old, new), before=0)) == ()
    wrong = replace(new, seconds=new.seconds * 0.7, low=new.low * 0.7, high=new.high * 0.7)
    kinds = {d.kind for d in diagnose(replace(case, tried=(old, wrong)))}
    assert "bottleneck moved" not in kinds


def test_shares_are_parts_of_the_time() -> None:
    assignment = solve(GEMM, VALUES).assignment
    shares = shares_of(GEMM, VALUES, assignment, {})
    assert shares is not None
    assert sum(shares.resources.values()) == pytest.approx(1, abs=0.02)
    assert shares.seconds == pytest.approx(float(objective_of(GEMM, VALUES, assignment)))
    assert shares_of(replace(GEMM, cost=None), VALUES, assignment, {}) is None


def test_a_run_is_read_from_its_journal(tmp_path: Path) -> None:
    setting = runs.setting_of(tmp_path, ["packed_gemm", "direct_gemm"])
    workload = setting.problem.workloads[0]
    picked = runs.spread_out(solve(GEMM, VALUES, limit=512), 6)
    true = machine()
    runs.journaled(setting, 0, [("packed_gemm", a, true(a)) for a in picked[1:]])
    since = len(setting.journal.entries)
    runs.journaled(setting, 1, [("packed_gemm", picked[0], true(picked[0]))])
    best = true(picked[0])
    times = {"median": best / 4, "low": best / 4.1, "high": best / 3.9}
    setting.journal.step(
        "confirm/shape",
        lambda: {"programs": {"kernel": {"seconds": times}, "numpy": {"seconds": times}}},
    )
    case = read_case(setting, workload, since=since)
    assert sorted(t.seconds for t in case.tried) == pytest.approx(sorted(map(true, picked)))
    assert case.tried[-1].assignment == picked[0]
    assert case.before == 5
    assert [o.name for o in case.outside] == ["numpy"]
    assert case.tried[0].counters["bytes_dram"] > 0
    assert 0 < case.tried[0].roofs["arithmetic"] < 1
    found = diagnose(case)
    assert found[0].kind == "representation"
    assert found[0].loss == pytest.approx(0.75)
    assert {f.entry for f in found[0].figures} == {"measure/shape/1", "confirm/shape"}
    setting.journal.close()


def test_times_of_a_slow_hour_are_brought_back(tmp_path: Path) -> None:
    """What a round measured again says how much slower all was."""
    setting = runs.setting_of(tmp_path, ["packed_gemm"])
    first, second = runs.spread_out(solve(GEMM, VALUES, limit=512), 2)
    true = machine()
    runs.journaled(setting, 0, [("packed_gemm", first, true(first))])
    slow = [("packed_gemm", a, 3 * true(a)) for a in (first, second)]
    runs.journaled(setting, 1, slow)
    case = read_case(setting, setting.problem.workloads[0])
    assert [t.seconds for t in case.tried] == pytest.approx([true(first), true(second)])
    assert case.tried[1].high == pytest.approx(1.005 * true(second))
    setting.journal.close()


@pytest.mark.slow
def test_what_is_only_open_by_the_roofs_comes_last(tmp_path: Path) -> None:
    setting = runs.setting_of(tmp_path, ["packed_gemm"])
    picked = runs.spread_out(solve(GEMM, VALUES, limit=512), 5)
    runs.journaled(setting, 0, [("packed_gemm", a, machine()(a)) for a in picked])
    found = diagnose(read_case(setting, setting.problem.workloads[0]))
    assert [(d.kind, d.evidence) for d in found] == [("representation", "modelled")]
    assert found[0].data["roof"] == "arithmetic"
    setting.journal.close()

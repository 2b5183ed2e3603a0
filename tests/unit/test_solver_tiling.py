"""The tiling template with the paper's illustrative chip: published figures and random chips."""

import random
from fractions import Fraction
from typing import Any

import pytest

from effort import examples
from formwright.base.diagnostics import InputError
from formwright.ir.expr import Arith, Compare, Expr, Num, Var, num
from formwright.ir.template import Constraint
from formwright.lang import load
from formwright.milp.check import check, objective_of
from formwright.milp.loss import loss
from formwright.milp.solve import solve

CHIP: dict[str, int | Fraction] = {
    "chip.shared_bytes": 98304,
    "chip.accumulators": 32768,
    "chip.sms": 128,
    "chip.clock": 1_800_000_000,
    "chip.flops": 80 * 10**12,
    "chip.dram_bandwidth": 18 * 10**11,
    "chip.barrier_cycles": 40,
}
TEMPLATE = load("shared_memory_tiling")[1]
SHAPES = {
    (4096, 4096, 4096): (1826.852, (128, 256, 16, 3, 1, 0)),
    (64, 4096, 4096): (75.148, (64, 64, 16, 3, 1, 0)),
    (1000, 1000, 1000): (53.140, (128, 128, 32, 3, 1, 0)),
}


def at(shape: tuple[int, int, int], **chip: Any) -> dict[str, int | Fraction]:
    changed = {f"chip.{n}": v for n, v in chip.items()}
    return {**CHIP, **changed, **dict(zip("MNK", shape, strict=True))}


def constraint(left: Expr, op: Any, right: int) -> Constraint:
    return Constraint("X", Compare(op, left, num(right)))


@pytest.mark.parametrize("shape", SHAPES)
def test_published_optima_by_both_methods(shape: tuple[int, int, int]) -> None:
    microseconds, published = SHAPES[shape]
    exact = solve(TEMPLATE, at(shape), "enumerate", ties=True)
    milp = solve(TEMPLATE, at(shape), "milp", ties=True)
    for solution in (exact, milp):
        assert solution.status == "optimal"
        assert solution.objective is not None
        assert round(float(solution.objective) * 1e6, 3) == microseconds
        assert solution.gap == 0.0
        assert solution.feasible == 722
        assert published in [tuple(t.values()) for t in solution.ties]
        assert solution.assignment == solution.ties[0]
    assert exact.objective == milp.objective
    assert exact.assignment == milp.assignment
    assert (exact.bound_kind, milp.bound_kind) == ("exact", "solver bound")
    assert milp.variables < 93
    assert milp.constraints < 248


def test_the_tie_break_is_least_shared_memory_then_least_decisions() -> None:
    solution = solve(TEMPLATE, at((4096, 4096, 4096)), ties=True)

    def shared(design: dict[str, int]) -> int:
        return design["S"] * 4 * design["Tk"] * (design["Tm"] + design["Tn"])

    keys = [(shared(d), tuple(d.values())) for d in solution.ties]
    assert keys == sorted(keys)
    assert len(keys) == len(set(keys)) == 18


def test_random_shapes_and_chips() -> None:
    pick = random.Random(20)
    for _ in range(examples(100)):
        parameters = at(
            (pick.randint(1, 5000), pick.randint(1, 5000), pick.randint(1, 5000)),
            shared_bytes=pick.choice([2048, 8192, 49152, 98304, pick.randint(2048, 300_000)]),
            accumulators=pick.choice([256, 4096, 65536, pick.randint(256, 70_000)]),
            sms=pick.randint(1, 200),
            clock=pick.randint(5 * 10**8, 3 * 10**9),
            flops=Fraction(pick.randint(10**11, 10**14)),
            dram_bandwidth=Fraction(pick.randint(10**10, 4 * 10**12), pick.randint(1, 3)),
            barrier_cycles=pick.randint(0, 200),
        )
        exact = solve(TEMPLATE, parameters, "enumerate")
        milp = solve(TEMPLATE, parameters, "milp")
        assert (milp.status, milp.objective, milp.assignment) == (
            exact.status,
            exact.objective,
            exact.assignment,
        )
        if exact.assignment:
            assert objective_of(TEMPLATE, parameters, exact.assignment) == exact.objective
            assert check(TEMPLATE, parameters, exact.assignment).ok


def test_loss_of_always_keeping_the_trailing_barrier() -> None:
    allowed = next(c.condition for c in TEMPLATE.constraints if c.name == "C3")
    keep = constraint(Var("beta"), "=", 1)
    losses = [
        loss(TEMPLATE, at(shape), allowed, frozenset({"C3"}), extra_constraints=(keep,)).relative
        for shape in SHAPES
    ]
    assert losses[:2] == [0, 0]
    assert losses[2] is not None
    assert round(float(losses[2]) * 100, 3) == 1.338


def test_without_the_precondition_a_racy_design_wins() -> None:
    parameters = at((1000, 1000, 1000))
    weak = solve(TEMPLATE, parameters, without=frozenset({"C3"}))
    assert weak.status == "optimal"
    assert check(TEMPLATE, parameters, weak.assignment).failed == ("C3", "lifetime")


@pytest.mark.parametrize("method", ["enumerate", "milp"])
def test_a_smallest_conflict_is_named(method: Any) -> None:
    parameters = at((1000, 1000, 1000))
    alone = constraint(Var("S"), ">", 3)
    assert solve(TEMPLATE, parameters, method, extra_constraints=(alone,)).conflict == ("X",)
    product = Arith("*", Var("Tm"), Var("Tn"))
    pair = solve(TEMPLATE, parameters, method, extra_constraints=(constraint(product, ">", 40000),))
    assert pair.status == "infeasible"
    assert pair.conflict == ("C2", "X")
    assert pair.feasible == 0
    # Two tiles of 256 x 64 by 64 need 163,840 bytes: C1 and both halves of the wish.
    wide = (
        Constraint("wide", Compare(">=", Arith("*", Var("Tk"), Var("Tm")), num(64 * 256))),
        Constraint("deep", Compare(">=", Var("S"), num(2))),
    )
    both = solve(TEMPLATE, parameters, method, extra_constraints=wide)
    assert both.conflict == ("C1", "wide", "deep")


def test_a_lower_wall_moves_the_optimum_and_the_count() -> None:
    tight = solve(TEMPLATE, at((1000, 1000, 1000), shared_bytes=2048))
    assert tight.feasible == 8
    assert tight.assignment == {"Tm": 32, "Tn": 32, "Tk": 8, "S": 1, "P": 0, "beta": 1}


def test_coefficients_unknown_names_and_scope_are_input_errors() -> None:
    with pytest.raises(InputError, match='no value for "K"'):
        solve(TEMPLATE, {n: v for n, v in at((1, 1, 1)).items() if n != "K"})
    with pytest.raises(InputError, match="outside the scope of shared_memory_tiling: scope M"):
        solve(TEMPLATE, at((0, 1, 1)))
    with pytest.raises(InputError, match='did you mean "C3"'):
        solve(TEMPLATE, at((1, 1, 1)), without=frozenset({"C33"}))
    with pytest.raises(InputError, match="must be an integer"):
        solve(TEMPLATE, {**at((1, 1, 1)), "K": Num(Fraction(1, 2)).value})
    with pytest.raises(InputError, match='no coefficient "x"'):
        solve(TEMPLATE, at((1, 1, 1)), coefficients={"x": Fraction(1)})
    with pytest.raises(InputError, match="no value for beta, no decision b"):
        check(TEMPLATE, at((1, 1, 1)), {"Tm": 1, "Tn": 1, "Tk": 1, "S": 1, "P": 0, "b": 1})


def test_check_names_what_fails() -> None:
    design = {"Tm": 256, "Tn": 256, "Tk": 64, "S": 3, "P": 2, "beta": 0}
    result = check(TEMPLATE, at((10, 10, 10)), design)
    assert result.failed == ("C1", "C2", "C3", "lifetime")
    outside = check(TEMPLATE, at((10, 0, 10)), {**design, "Tm": 48})
    assert "scope N" in outside.failed
    assert "menu Tm" in outside.failed

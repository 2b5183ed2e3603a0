"""A point that shows premises to hold together meets all of them."""

from formwright.smt.atoms import Atoms
from formwright.smt.clock import Clock
from formwright.smt.premises import Premises
from formwright.smt.solve import Solver
from formwright.smt.terms import ONE, ZERO, le, symbol


def test_premises_about_decisions_that_no_formula_names_count() -> None:
    """M*N*T <= 0 contradicts M, N, T >= 1; it was left out where no formula names T."""
    M, N, T = (symbol(n) for n in "MNT")
    rules = Premises(
        scope=(le(ONE, M), le(ONE, N)),
        conditions=(le(M * N * T, ZERO),),
        menus={"T": (1, 2)},
        positive=frozenset("MNT"),
    )
    assert Solver(Atoms(), rules, Clock(3000)).consistent([]).status == "unsat"


def test_a_point_has_a_value_for_every_decision() -> None:
    rules = Premises((le(ONE, symbol("M")),), (), {"T": (1, 2)}, frozenset("MT"))
    found = Solver(Atoms(), rules, Clock(3000)).consistent([])
    assert found.status == "sat"
    assert found.values["T"] in (1, 2)

"""The SMT reader of expressions against ``evaluate``, on random expressions and points."""

from collections.abc import Iterator

import z3
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies_expr import MENUS, conditions, numbers, plain_constants

from effort import examples
from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.expr import Expr, Scalar
from formwright.smt.atoms import Atoms
from formwright.smt.encode import UnderivableError, number, truth
from formwright.smt.encoding import Encoding
from formwright.smt.terms import Formula, constant, eq, negated, polys

points = st.fixed_dictionaries({n: st.sampled_from(menu) for n, menu in MENUS.items()})
relaxed = settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)


def meaning(expr: Expr, at: dict[str, int]) -> Scalar | None:
    try:
        return evaluate(expr, at)
    except EvaluationError:
        return None


def claims(expr: Expr, expected: Scalar, atoms: Atoms) -> Iterator[Formula]:
    """What must be false if the reader means what ``evaluate`` means."""
    try:
        if isinstance(expected, bool):
            formula = truth(expr, {}, atoms)
            yield negated(formula) if expected else formula
        else:
            yield negated(eq(number(expr, {}, atoms), constant(expected)))
    except UnderivableError:
        return


@relaxed
@given(st.one_of(numbers(pool=plain_constants), conditions(pool=plain_constants)), points)
def test_values_agree(expr: Expr, at: dict[str, int]) -> None:
    expected = meaning(expr, at)
    if expected is None:
        return
    atoms = Atoms()
    for claim in claims(expr, expected, atoms):
        assert not atoms.holds(claim, at)


@relaxed
@given(st.one_of(numbers(2, pool=plain_constants), conditions(2, pool=plain_constants)), points)
def test_the_solver_reads_the_same(expr: Expr, at: dict[str, int]) -> None:
    """With every name fixed, definitions leave one value: the one of ``evaluate``.

    Divisors that have no value in a branch that is not taken are left out: there definitions
    say nothing, which is sound and leaves more than one value.
    """
    expected = meaning(expr, at)
    if expected is None:
        return
    atoms = Atoms()
    for claim in claims(expr, expected, atoms):
        names = atoms.closure({n for p in polys(claim) for n in p.symbols()})
        definitions = [atoms.definition(n) for n in names if n in atoms.by_name]
        encoding = Encoding(atoms, exact=True, fixed=at)
        solver = z3.SimpleSolver()
        solver.set("timeout", 2000)
        solver.add(encoding.whole((*definitions, claim)))
        assert solver.check() == z3.unsat or encoding.nonlinear

"""Closures over a state mean what ``evaluate`` says, errors and laziness included."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from formwright.ir.evaluate import EvaluationError, cell_key, evaluate
from formwright.ir.expr import (
    Arith,
    Cell,
    Compare,
    Cond,
    Expr,
    Logic,
    MinMax,
    Neg,
    Not,
    Num,
    Round,
    Scalar,
    Sum,
    Truth,
    Var,
)
from formwright.replay.system.closures import Names, Place, compiled, condition, integer
from formwright.replay.system.made import Compiled, State

SIZE = 3
VARIABLES = {
    "x": Place("x", 0, 0, 1, False, "int"),
    "f": Place("f", 1, 0, 1, False, "bool"),
    "p": Place("p", 2, 1, SIZE, True, "int"),
    "g": Place("g", 2 + SIZE, 0, 1, True, "bool"),
}

DEPTH = 3
ODD = 15
"""One in so many is a name without value, or a condition where a number belongs."""

number_leaves = st.one_of(
    st.integers(-2, 4).map(lambda n: Num(Fraction(n))),
    st.just(Num(Fraction(1, 2))),
    st.sampled_from(["a", "q", "x", "x"]).map(Var),
    st.integers(1, 3).map(lambda i: Cell("p", (Num(Fraction(i)),))),
)
truth_leaves = st.one_of(
    st.booleans().map(Truth), st.just(Var("f")), st.just(Cell("g", (Num(Fraction(0)),)))
)


@cache
def numbers(depth: int) -> st.SearchStrategy[Expr]:
    if depth == 0:
        return number_leaves
    inner, truth = mostly(numbers, truths, depth), mostly(truths, numbers, depth)
    small = st.lists(inner, min_size=1, max_size=3).map(tuple)
    operations = st.sampled_from(["+", "-", "*", "+", "-", "*", "/", "//", "mod"])
    return st.one_of(
        number_leaves,
        st.builds(Arith, operations, inner, inner),
        st.builds(Arith, operations, inner, number_leaves),
        st.builds(Neg, inner),
        st.builds(MinMax, st.sampled_from(["min", "max"]), small),
        st.builds(Round, st.sampled_from(["ceil", "floor"]), inner),
        st.builds(Cond, truth, inner, inner),
        st.builds(Sum, st.just("i"), inner, inner, st.one_of(inner, st.just(Var("i")))),
        st.builds(Cell, st.just("p"), st.tuples(st.one_of(inner, number_leaves))),
    )


@cache
def truths(depth: int) -> st.SearchStrategy[Expr]:
    if depth == 0:
        return truth_leaves
    inner, number = mostly(truths, numbers, depth), mostly(numbers, truths, depth)
    compare = st.sampled_from(["<", "<=", "=", "!=", ">=", ">"])
    return st.one_of(
        truth_leaves,
        st.builds(Compare, compare, number, number),
        st.builds(Compare, compare, number, number_leaves),
        st.builds(Logic, st.sampled_from(["and", "or", "=>"]), inner, inner),
        st.builds(Not, inner),
        st.builds(Cond, inner, inner, inner),
    )


Make = Callable[[int], st.SearchStrategy[Expr]]


def mostly(right: Make, wrong: Make, depth: int) -> st.SearchStrategy[Expr]:
    """Of the right kind, seldom not."""

    def chosen(n: int) -> st.SearchStrategy[Expr]:
        if n == 0:
            return st.one_of(wrong(0), st.just(Var("unknown")))
        return right(depth - 1)

    return st.integers(0, ODD).flatmap(chosen)


expressions = st.one_of(numbers(DEPTH), truths(DEPTH))


def outcome(made: Compiled, state: State) -> Scalar | None:
    try:
        value: Scalar = made.fn(state)
    except EvaluationError:
        return None
    return value


def meaning(expr: Expr, environment: dict[str, Scalar]) -> Scalar | None:
    try:
        return evaluate(expr, environment)
    except EvaluationError:
        return None


@settings(max_examples=examples(300), deadline=None)
@given(
    expressions,
    st.integers(-2, 3),
    st.booleans(),
    st.lists(st.integers(-2, 3), min_size=SIZE, max_size=SIZE),
    st.booleans(),
)
def test_closures_agree_with_evaluate(
    expr: Expr, x: int, f: bool, cells: list[int], g: bool
) -> None:
    constants: dict[str, Scalar] = {"a": 2, "q": Fraction(3, 2)}
    state = (x, f, *cells, g)
    environment = {**constants, "x": x, "f": f, cell_key("g", (0,)): g}
    environment |= {cell_key("p", (1 + n,)): v for n, v in enumerate(cells)}
    made = compiled(expr, Names(constants, VARIABLES))
    found, meant = outcome(made, state), meaning(expr, environment)
    assert found == meant
    assert type(found) is type(meant)
    if made.total:
        assert found is not None
    if made.fixed:
        assert made.value == found
    if made.test is not None:
        place, value = made.test
        assert found is (state[place] == value)
    if made.kind == "int":
        assert found is None or type(found) is int
    if made.kind == "bool":
        assert found is None or type(found) is bool
    is_bool, is_int = type(meant) is bool, type(meant) is int
    assert outcome(condition(expr, Names(constants, VARIABLES)), state) == (
        meant if is_bool else None
    )
    assert outcome(integer(expr, Names(constants, VARIABLES)), state) == (meant if is_int else None)

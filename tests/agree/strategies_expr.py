"""Random well-kinded expressions over small named ranges, errors of division included."""

from fractions import Fraction

from hypothesis import strategies as st

from formwright.ir.expr import (
    Arith,
    Compare,
    Cond,
    Expr,
    Logic,
    MinMax,
    Neg,
    Not,
    Num,
    Round,
    Sum,
    Truth,
    Var,
)
from formwright.ir.program import Literal
from formwright.ir.template import (
    Constraint,
    Cost,
    CostBound,
    Decision,
    Outline,
    Scope,
    Template,
    Tensor,
    Workload,
)

MENUS: dict[str, tuple[int, ...]] = {
    "a": (1, 2, 3, 8),
    "b": (-3, 0, 5),
    "c": (1, 16, 1000),
    "d": (0, 1),
}
"""The names that random expressions use, each with its values."""

small = st.integers(-6, 12)
constants = st.one_of(
    small.map(Fraction),
    st.fractions(min_value=-4, max_value=9, max_denominator=7),
    st.sampled_from([Fraction(10**19), Fraction(2**62), Fraction(1, 10**12 + 39)]),
)


plain_constants = st.one_of(
    small.map(Fraction), st.fractions(min_value=-4, max_value=9, max_denominator=7)
)
"""Constants of a size that floating-point solvers tell apart."""

NAMES = tuple(MENUS)
Constants = st.SearchStrategy[Fraction]


def leaves(names: tuple[str, ...], pool: Constants) -> st.SearchStrategy[Expr]:
    return st.one_of(st.builds(Num, pool), st.builds(Var, st.sampled_from(names)))


def _divisor(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    positive = st.integers(1, 9).map(lambda n: Num(Fraction(n)))
    return st.one_of(positive, positive, inner)


def _integer(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return st.builds(Round, st.sampled_from(["ceil", "floor"]), inner)


KINDS = ["leaf", "ring", "ring", "divide", "whole", "minmax", "neg", "round", "cond", "sum"]


@st.composite
def numbers(
    draw: st.DrawFn,
    depth: int = 3,
    names: tuple[str, ...] = NAMES,
    pool: Constants = constants,
) -> Expr:
    """A numeric expression."""
    if depth == 0:
        return draw(leaves(names, pool))
    inner = numbers(depth - 1, names, pool)
    match draw(st.sampled_from(KINDS)):
        case "leaf":
            return draw(leaves(names, pool))
        case "ring":
            return Arith(draw(st.sampled_from(["+", "-", "*"])), draw(inner), draw(inner))
        case "divide":
            return Arith("/", draw(inner), draw(_divisor(inner)))
        case "whole":
            op = draw(st.sampled_from(["//", "mod"]))
            return Arith(op, draw(_integer(inner)), draw(_divisor(_integer(inner))))
        case "minmax":
            args = tuple(draw(st.lists(inner, min_size=1, max_size=3)))
            return MinMax(draw(st.sampled_from(["min", "max"])), args)
        case "neg":
            return Neg(draw(inner))
        case "round":
            return draw(_integer(inner))
        case "cond":
            return Cond(draw(conditions(depth - 1, names, pool)), draw(inner), draw(inner))
        case _:
            body = draw(numbers(depth - 1, (*names, "i"), pool))
            hi = draw(st.one_of(st.integers(0, 3).map(lambda n: Num(Fraction(n))), _integer(inner)))
            capped = MinMax("min", (hi, Num(Fraction(4))))
            return Sum("i", Num(Fraction(draw(st.integers(-2, 2)))), capped, body)


@st.composite
def conditions(
    draw: st.DrawFn,
    depth: int = 3,
    names: tuple[str, ...] = NAMES,
    pool: Constants = constants,
) -> Expr:
    """A boolean expression."""
    kind = draw(st.sampled_from(["compare", "compare", "compare", "truth", "logic", "not", "cond"]))
    if depth == 0 or kind == "compare":
        op = draw(st.sampled_from(["<", "<=", "=", "!=", ">=", ">"]))
        inner = numbers(max(0, depth - 1), names, pool)
        return Compare(op, draw(inner), draw(inner))
    inner = conditions(depth - 1, names, pool)
    match kind:
        case "truth":
            return Truth(draw(st.booleans()))
        case "logic":
            op = draw(st.sampled_from(["and", "or", "=>"]))
            return Logic(op, draw(inner), draw(inner))
        case "not":
            return Not(draw(inner))
        case _:
            return Cond(draw(inner), draw(inner), draw(inner))


expressions = st.one_of(numbers(), conditions())


def template(
    menus: dict[str, tuple[int, ...]],
    constraints: dict[str, Expr],
    bounds: tuple[tuple[Expr, Expr | None], ...],
    prefer: tuple[Expr, ...] = (),
) -> Template:
    """A template with nothing but decisions, constraints and a cost."""
    tensor = Tensor("C", ())
    workload = Workload(tensor, (), (), (), Literal(Fraction(0)))
    cost = Cost("T", "seconds", (), (), tuple(CostBound(v, g) for v, g in bounds), prefer)
    return Template(
        name="random",
        coarse="operator",
        fine="mapping",
        object_name="",
        object_text="",
        scope=Scope(workload, (), (), ()),
        decisions=tuple(Decision(n, m) for n, m in menus.items()),
        definitions=(),
        constraints=tuple(Constraint(n, c) for n, c in constraints.items()),
        requires=(),
        program=(),
        globals=(),
        outline=Outline(),
        cost=cost if bounds else None,
    )


@st.composite
def templates(draw: st.DrawFn, pool: Constants = constants) -> Template:
    """A template over :data:`MENUS`, feasible or not."""
    count = draw(st.integers(0, 3))
    constraints = {f"C{i}": draw(conditions(2, NAMES, pool)) for i in range(count)}
    bounds = [(draw(numbers(2, NAMES, pool)), None)]
    for _ in range(draw(st.integers(0, 2))):
        guard = draw(st.one_of(st.none(), conditions(1, NAMES, pool)))
        bounds.append((draw(numbers(2, NAMES, pool)), guard))
    prefer = tuple(draw(st.lists(numbers(1, NAMES, pool), max_size=1)))
    return template(MENUS, constraints, tuple(bounds), prefer)

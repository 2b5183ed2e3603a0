"""Constraints over several groups as rows, without loss.

Over two groups the allowed pairs give clauses: of the combinations that share a forbidden
set on the other side, and that set, at most one is chosen. A comparison of sums of integers
becomes one row with slack on both sides of the border. All else goes through classes.
"""

from fractions import Fraction
from math import prod

import numpy as np

from formwright.ir.expr import Arith, Compare, Expr, Logic, Num, Truth, Var
from formwright.ir.int_arrays import Array
from formwright.ir.template import Constraint
from formwright.ir.vectorise import Evaluator, Given
from formwright.milp.classes import Classes, Form, value_of
from formwright.milp.encode import Encoder
from formwright.milp.enumerate import where_held
from formwright.milp.model import EncodingError, Exactly, combined, largest_size
from formwright.milp.problem import holds

_PAIRS = 1 << 20
"""Pairs of combinations that are looked at one by one."""
_WIDEST_ROW = 50_000
"""Largest coefficient of an integer row whose border floats still tell apart."""
_ONE, _ZERO, _HALF = 1, 0, Fraction(1, 2)


def constrain(encoder: Encoder, constraint: Constraint) -> None:
    """Rows that hold exactly where ``constraint`` does.

    Where it has no value it does not hold. Raises :class:`EncodingError` past the limits.
    """
    if len(encoder.spans(constraint.condition)) == 1:
        return  # Combinations that break it were left out when the group was made.
    for condition in _conjuncts(constraint.condition):
        _constrain(encoder, Constraint(constraint.name, condition, span=constraint.span))


def _conjuncts(expr: Expr) -> list[Expr]:
    # The right side of an "and" may need the left one as a guard; only comparisons are cut
    # apart, and a part without a value falls back to the whole.
    match expr:
        case Logic("and", a, b) if _total(a) and _total(b):
            return [*_conjuncts(a), *_conjuncts(b)]
        case _:
            return [expr]


def _total(expr: Expr) -> bool:
    """Whether ``expr`` has a value everywhere, by its text: it divides by nothing."""
    match expr:
        case Logic(_, a, b) | Compare(_, a, b):
            return _total(a) and _total(b)
        case Arith(op, a, b):
            return op in "+-*" and _total(a) and _total(b)
        case _:
            return isinstance(expr, (Num, Truth, Var))


def _constrain(encoder: Encoder, constraint: Constraint) -> None:
    expr = constraint.condition
    spans = encoder.spans(expr)
    if not spans:
        _constant(encoder, constraint)
    elif len(spans) == 1:
        _forbid(encoder, encoder.classes(expr))
    elif len(spans) == 2 and prod(encoder.groups[s].count for s in spans) <= _PAIRS:
        allowed = _matrix(encoder, constraint, spans)
        sides: list[list[Form]] = [[{c: _ONE} for c in encoder.cells[s]] for s in spans]
        _clauses(encoder, allowed, sides[0], sides[1])
    elif not (isinstance(expr, Compare) and _row(encoder, expr)):
        if isinstance(expr, Compare):
            _compared(encoder, expr, constraint)
        else:
            _forbid(encoder, encoder.classes(expr))


def _constant(encoder: Encoder, constraint: Constraint) -> None:
    if not holds(constraint.condition, encoder.problem.constants):
        encoder.model.add({}, _ONE, None)


def _forbid(encoder: Encoder, classes: Classes) -> None:
    for value, form in zip(classes.values, classes.forms, strict=True):
        if value is not True:
            if not form:
                encoder.model.add({}, _ONE, None)
            encoder.model.add(form, None, _ZERO)


def _matrix(encoder: Encoder, constraint: Constraint, spans: tuple[int, ...]) -> Array:
    given: dict[str, Given] = dict(encoder.problem.constants)
    shape = []
    for axis, place in enumerate(spans):
        group = encoder.groups[place]
        shape.append(group.count)
        for name, column in group.cells.items():
            given[name] = column.reshape((-1, 1) if axis == 0 else (1, -1))
    held = where_held(constraint, Evaluator(given))
    return np.broadcast_to(np.asarray(held), tuple(shape))


def _clauses(encoder: Encoder, allowed: Array, rows: list[Form], columns: list[Form]) -> None:
    """Rows that leave exactly the allowed pairs of two one-of sets."""
    if len({r.tobytes() for r in allowed}) > len({c.tobytes() for c in allowed.T.copy()}):
        allowed, rows, columns = allowed.T.copy(), columns, rows
    forbidden = ~allowed
    patterns = {row.tobytes(): row for row in forbidden if row.any()}
    for _, pattern in sorted(patterns.items()):
        covering = np.flatnonzero((forbidden | ~pattern).all(axis=1))
        parts = [(_ONE, rows[i]) for i in covering]
        parts += [(_ONE, columns[j]) for j in np.flatnonzero(pattern)]
        encoder.model.add(combined(parts), None, _ONE)


def _row(encoder: Encoder, expr: Compare) -> bool:
    """One row for a comparison of integer sums of single groups; false if it is not one."""
    if expr.op == "!=" or not (_separable(encoder, expr.left) and _separable(encoder, expr.right)):
        return False
    try:
        left, right = encoder.linear(expr.left, False), encoder.linear(expr.right, False)
    except EncodingError:
        return False  # A part has no value somewhere: by its distinct values.
    terms = combined([(_ONE, left.terms), (-_ONE, right.terms)])
    border = right.constant - left.constant
    numbers = [*terms.values(), border]
    if any(n.denominator != 1 for n in numbers) or largest_size(numbers) > _WIDEST_ROW:
        return False
    low, high = _sides(expr, border)
    encoder.model.add(terms, low, high)
    return True


def _sides(expr: Compare, border: Exactly) -> tuple[Exactly | None, Exactly | None]:
    match expr.op:
        case "<":
            return None, border - _HALF
        case "<=":
            return None, border + _HALF
        case ">":
            return border + _HALF, None
        case ">=":
            return border - _HALF, None
        case _:
            return border - _HALF, border + _HALF


def _separable(encoder: Encoder, expr: Expr) -> bool:
    if len(encoder.spans(expr)) <= 1:
        return True
    match expr:
        case Arith("+" | "-", a, b):
            return _separable(encoder, a) and _separable(encoder, b)
        case _:
            return False


def _compared(encoder: Encoder, expr: Compare, constraint: Constraint) -> None:
    """Clauses between the distinct values of both sides."""
    left, right = encoder.classes(expr.left), encoder.classes(expr.right)
    if len(left.values) * len(right.values) > _PAIRS:
        raise EncodingError(f"constraint {constraint.name} compares too many distinct values")
    shape = Compare(expr.op, Var("$0"), Var("$1"))
    allowed = np.array(
        [[value_of(shape, (a, b)) is True for b in right.values] for a in left.values], dtype=bool
    )
    if len(right.values) == 1:
        _pick(encoder, allowed[:, 0], left)
    elif len(left.values) == 1:
        _pick(encoder, allowed[0], right)
    else:
        _clauses(encoder, allowed, list(left.forms), list(right.forms))


def _pick(encoder: Encoder, allowed: Array, classes: Classes) -> None:
    wrong = combined((_ONE, f) for f, ok in zip(classes.forms, allowed, strict=True) if not ok)
    if wrong:
        encoder.model.add(wrong, None, _ZERO)

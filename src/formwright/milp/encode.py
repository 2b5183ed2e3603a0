"""Expressions over groups of decisions as linear forms over 0/1 columns.

An expression over one group is a table. Others are *classes*: their distinct values, each
with the linear form that is 1 exactly when the expression has that value; two of them meet
in a joint table that is linked to both by its marginals. Sums stay linear; a product of
classes with a sum takes one copy of the sum for each distinct value.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import assert_never

from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.expr import (
    CELL,
    ONE,
    Arith,
    Cell,
    Compare,
    CompareOp,
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
    num,
)
from formwright.ir.interval import Interval, bounds
from formwright.ir.rewrite import substitute
from formwright.ir.vectorise import Evaluator
from formwright.milp.classes import (
    Classes,
    Form,
    by_value,
    exact_number,
    product_factors,
    signed_terms,
    value_of,
    with_children,
)
from formwright.milp.groups import Group, evaluator_of, spanned, values_by_cell
from formwright.milp.model import (
    LARGEST_MODEL,
    EncodingError,
    Exactly,
    Linear,
    Model,
    combined,
    largest_size,
)
from formwright.milp.problem import Problem

_ONE = 1
_INSIDE: tuple[CompareOp, CompareOp] = ("<=", ">")


@dataclass(slots=True)
class Encoder:
    """One model under construction; equal nodes are encoded once."""

    problem: Problem
    groups: list[Group]
    model: Model = field(default_factory=Model)
    cells: list[list[int]] = field(default_factory=list)
    evaluators: list[Evaluator] = field(default_factory=list)
    _spans: dict[int, tuple[Expr, tuple[int, ...]]] = field(default_factory=dict)
    _classes: dict[int, tuple[Expr, Classes]] = field(default_factory=dict)
    _linear: dict[tuple[int, bool], tuple[Expr, Linear]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for group in self.groups:
            columns = self.model.indicators(group.count, integer=True)
            self.cells.append(columns)
            self.evaluators.append(evaluator_of(self.problem, group))
            self.model.add(dict.fromkeys(columns, _ONE), _ONE, _ONE)

    def spans(self, expr: Expr) -> tuple[int, ...]:
        """Places of the groups that ``expr`` reads."""
        found = self._spans.get(id(expr))
        if found is None:
            found = (expr, spanned(self.groups, expr))
            self._spans[id(expr)] = found
        return found[1]

    # Classes -------------------------------------------------------------------------

    def classes(self, expr: Expr) -> Classes:
        """The distinct values of ``expr`` with their indicator forms."""
        found = self._classes.get(id(expr))
        if found is None:
            found = (expr, self._new_classes(expr))
            self._classes[id(expr)] = found
        return found[1]

    def _new_classes(self, expr: Expr) -> Classes:
        spans = self.spans(expr)
        if len(spans) <= 1:
            return self._table(expr, spans)
        match expr:
            case Arith(_, a, b) | Compare(_, a, b) | Logic(_, a, b):
                return self._joint(expr, (a, b))
            case Neg(a) | Round(_, a) | Not(a):
                return self._joint(expr, (a,))
            case MinMax(op, args):
                result = self.classes(args[0])
                for arg in args[1:]:
                    pair = MinMax(op, (Var("$0"), Var("$1")))
                    result = self._meet(pair, result, self.classes(arg))
                return result
            case Cond(cond, then, other):
                chosen = self._meet_both(self.classes(then), self.classes(other))
                return self._choose(self.classes(cond), chosen)
            case Sum():
                return self.classes(self._unrolled(expr))
            case Cell():
                raise EncodingError(CELL)
            case Num() | Truth() | Var():
                raise AssertionError("a leaf reads at most one group")
            case _:
                assert_never(expr)

    def _table(self, expr: Expr, spans: tuple[int, ...]) -> Classes:
        if not spans:
            try:
                return Classes((evaluate(expr, self.problem.constants),), ({},))
            except EvaluationError:
                return Classes((None,), ({},))
        group, columns = self.groups[spans[0]], self.cells[spans[0]]
        values = values_by_cell(expr, group, self.evaluators[spans[0]])
        return by_value(values, [{c: _ONE} for c in columns])

    def _joint(self, expr: Expr, args: tuple[Expr, ...]) -> Classes:
        names = [Var(f"${i}") for i in range(len(args))]
        shape = with_children(expr, names)
        parts = [self.classes(a) for a in args]
        if len(parts) == 1:
            return by_value([value_of(shape, (v,)) for v in parts[0].values], list(parts[0].forms))
        return self._meet(shape, parts[0], parts[1])

    def _meet(self, shape: Expr, left: Classes, right: Classes) -> Classes:
        """Classes of ``shape`` over ``$0`` and ``$1``, through a table of their pairs."""
        pairs, forms = self._pairs(left, right)
        values = [value_of(shape, (left.values[i], right.values[j])) for i, j in pairs]
        return by_value(values, forms)

    def _pairs(self, left: Classes, right: Classes) -> tuple[list[tuple[int, int]], list[Form]]:
        if len(left.values) * len(right.values) > LARGEST_MODEL:
            raise EncodingError("two expressions have too many distinct values to meet")
        pairs = [(i, j) for i in range(len(left.values)) for j in range(len(right.values))]
        if len(left.values) == 1:
            return pairs, [right.forms[j] for _, j in pairs]
        if len(right.values) == 1:
            return pairs, [left.forms[i] for i, _ in pairs]
        columns = self.model.indicators(len(pairs), integer=False)
        for side, classes in enumerate((left, right)):
            for k, form in enumerate(classes.forms):
                margin = {c: _ONE for c, p in zip(columns, pairs, strict=True) if p[side] == k}
                self.model.add(combined([(_ONE, margin), (-_ONE, form)]), 0, 0)
        return pairs, [{c: _ONE} for c in columns]

    def _meet_both(self, left: Classes, right: Classes) -> tuple[Classes, list[Scalar | None]]:
        """Classes of pairs, numbered, with the value of each side."""
        pairs, forms = self._pairs(left, right)
        numbered = Classes(tuple(range(len(pairs))), tuple(forms))
        sides = [left.values[i] for i, _ in pairs] + [right.values[j] for _, j in pairs]
        return numbered, sides

    def _choose(self, cond: Classes, branches: tuple[Classes, list[Scalar | None]]) -> Classes:
        numbered, sides = branches
        pairs, forms = self._pairs(cond, numbered)
        half = len(numbered.values)
        values: list[Scalar | None] = []
        for i, j in pairs:
            verdict = cond.values[i]
            values.append(None if verdict is None else sides[j if verdict else half + j])
        return by_value(values, forms)

    def _unrolled(self, expr: Sum) -> Expr:
        """A sum as additions; where the range changes, each term has its condition."""
        lo, hi = self._range(expr.lo), self._range(expr.hi)
        first, last = lo.lo, hi.hi
        if isinstance(first, float) or isinstance(last, float) or last - first > 1000:
            raise EncodingError("a sum is too long to be written out")
        fixed = lo.lo == lo.hi and hi.lo == hi.hi
        total: Expr = num(0)
        for i in range(ceil(first), ceil(last)):
            term = substitute(expr.body, {expr.var: num(i)})
            if not fixed:
                # An end that is not an integer has no value, here as in evaluate.
                ends = (Arith("//", end, ONE) for end in (expr.lo, expr.hi))
                above, below = (Compare(op, e, num(i)) for op, e in zip(_INSIDE, ends, strict=True))
                term = Cond(Logic("and", above, below), term, num(0))
            total = Arith("+", total, term)
        return total

    def _range(self, expr: Expr) -> Interval:
        menus = zip(self.problem.names, self.problem.menus, strict=True)
        ranges = {n: Interval(min(m), max(m)) for n, m in menus}
        for name, value in self.problem.constants.items():
            ranges[name] = bounds(num(value), {})
        return bounds(expr, ranges)

    # Linear forms --------------------------------------------------------------------

    def linear(self, expr: Expr, upper: bool) -> Linear:
        """``expr`` as a linear form; with ``upper`` one that is at least its value.

        The least value of an ``upper`` form is the exact one, so it may stand where
        minimisation pushes it down.
        """
        found = self._linear.get((id(expr), upper))
        if found is None:
            found = (expr, self._new_linear(expr, upper))
            self._linear[(id(expr), upper)] = found
        return found[1]

    def _new_linear(self, expr: Expr, upper: bool) -> Linear:
        if len(self.spans(expr)) > 1:
            match expr:
                case Arith("+", a, b):
                    return self._sum([(_ONE, self.linear(a, upper)), (_ONE, self.linear(b, upper))])
                case Arith("-", a, b):
                    left, right = self.linear(a, upper), self.linear(b, False)
                    return self._sum([(_ONE, left), (-_ONE, right)])
                case Neg(a):
                    return self._sum([(-_ONE, self.linear(a, False))])
                case Arith("/", a, _) if a is ONE:
                    # A reciprocal that product_factors made: its values are classes.
                    pass
                case Arith("*", _, _) | Arith("/", _, _):
                    return self._product(expr, upper)
                case MinMax("max", args) if upper:
                    return self._largest(args)
                case Sum():
                    return self.linear(self._unrolled(expr), upper)
                case _:
                    pass
        return self.of_classes(self.classes(expr))

    def of_classes(self, classes: Classes) -> Linear:
        """The value itself as a form."""
        values: list[Exactly] = []
        for value in classes.values:
            if value is None:
                raise EncodingError("an expression has no value at some combination")
            values.append(exact_number(value))
        if len(values) == 1:
            return Linear(values[0], {}, values[0], values[0])
        terms = combined(zip(values, classes.forms, strict=True))
        return Linear(0, terms, min(values), max(values))

    def _sum(self, parts: list[tuple[Exactly, Linear]]) -> Linear:
        constant = sum((w * p.constant for w, p in parts), 0)
        terms = combined((w, p.terms) for w, p in parts)
        low = sum((w * (p.low if w > 0 else p.high) for w, p in parts), 0)
        high = sum((w * (p.high if w > 0 else p.low) for w, p in parts), 0)
        sets = [{self.model.family[column] for column in p.terms} for _, p in parts]
        if len(set().union(*sets)) < sum(map(len, sets)):
            # Parts share a one-of set: their extremes need not come together.
            joint = self.model.linear(constant, terms)
            low, high = max(low, joint.low), min(high, joint.high)
        return Linear(constant, terms, low, high)

    def _largest(self, args: tuple[Expr, ...]) -> Linear:
        parts = [self.linear(a, True) for a in args]
        low, high = max(p.low for p in parts), max(p.high for p in parts)
        size = largest_size((low, high))
        (column,) = self.model.ranged(1, Fraction(low) / size, Fraction(high) / size)
        for part in parts:
            row = combined([(size, {column: _ONE}), (-_ONE, part.terms)])
            self.model.add(row, part.constant, None)
        return Linear(0, {column: size}, low, high)

    def _product(self, expr: Expr, upper: bool) -> Linear:
        """Factors of one group first become one table; a sum comes last, by copies."""
        alone: dict[tuple[int, ...], Expr] = {}
        wide: list[Expr] = []
        for factor in product_factors(expr):
            spans = self.spans(factor)
            if len(spans) > 1:
                wide.append(factor)
            else:
                alone[spans] = Arith("*", alone[spans], factor) if spans in alone else factor
        scale = self._constant(alone.pop((), ONE))
        upper = upper and scale >= 0
        tables = sorted(alone.values(), key=lambda e: len(self.classes(e).values))
        wide.sort(key=lambda e: isinstance(e, Arith) and e.op in "+-")
        last = wide.pop() if wide else tables.pop()
        if wide or len(tables) != 1:
            return self._sum([(scale, self._chain([*wide, *tables], last, upper))])
        return self._sum([(scale, self._distributed(tables[0], last, upper))])

    def _chain(self, factors: list[Expr], last: Expr, upper: bool) -> Linear:
        if not factors:
            return self.linear(last, upper)
        shape = Arith("*", Var("$0"), Var("$1"))
        left = self.classes(factors[0])
        for factor in factors[1:]:
            left = self._meet(shape, left, self.classes(factor))
        return self._copied(left, last, upper)

    def _distributed(self, table: Expr, other: Expr, upper: bool) -> Linear:
        """``table * other``, where terms of ``other`` over the table's group join the table."""
        own = self.spans(table)
        inside: list[tuple[Exactly, Expr]] = []
        outside: list[tuple[Exactly, Expr]] = []
        for sign, term in signed_terms(other):
            (inside if set(self.spans(term)) <= set(own) else outside).append((sign, term))
        parts = [(s, self.linear(Arith("*", table, t), False)) for s, t in inside]
        if outside:
            rest: Expr = num(0)
            for sign, term in outside:
                rest = Arith("+" if sign > 0 else "-", rest, term)
            parts.append((_ONE, self._copied(self.classes(table), rest, upper)))
        return self._sum(parts)

    def _copied(self, classes: Classes, other: Expr, upper: bool) -> Linear:
        """``classes * other`` by a copy of ``other`` for each distinct value."""
        factors = self.of_classes(classes)
        form = self.linear(other, upper and factors.low >= 0)
        if not form.terms:
            return self._sum([(form.constant, factors)])
        if len(self.spans(other)) == 1:
            second = self.classes(other)
            if len(second.values) < len(classes.values):
                classes, form = second, factors
        size = largest_size((form.low, form.high))
        low, high = Fraction(form.low) / size, Fraction(form.high) / size
        copies = self.model.ranged(len(classes.values), low, high)
        total = combined([(size, dict.fromkeys(copies, _ONE)), (-_ONE, form.terms)])
        self.model.add(total, form.constant, form.constant)
        for column, chosen in zip(copies, classes.forms, strict=True):
            self.model.add(combined([(_ONE, {column: _ONE}), (-high, chosen)]), None, 0)
            self.model.add(combined([(_ONE, {column: _ONE}), (-low, chosen)]), 0, None)
        values = [exact_number(v) for v in classes.values if v is not None]
        ends = [v * e for v in values for e in (form.low, form.high)]
        terms = {c: v * size for c, v in zip(copies, values, strict=True) if v != 0}
        return Linear(0, terms, min(ends), max(ends))

    def _constant(self, expr: Expr) -> Exactly:
        try:
            return exact_number(evaluate(expr, self.problem.constants))
        except EvaluationError as error:
            raise EncodingError(f"a constant factor has no value: {error}") from None

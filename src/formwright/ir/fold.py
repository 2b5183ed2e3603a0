"""What stays of an expression when some of its names have values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType

from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.expr import Arith, Cond, Expr, Logic, Num, Scalar, Sum, Truth, Var
from formwright.ir.rewrite import children, free_names, map_children


def folded(expr: Expr, values: Mapping[str, Scalar] = MappingProxyType({})) -> Expr:
    """``expr`` with ``values`` put in and all computed that they settle.

    A part without a value (a division by 0) stays as it is, so that its meaning, an error where it
    is looked at, stays too; of a choice that is settled only the chosen side is left, and what adds
    0 or multiplies by 1 is gone.
    """
    return _Fold(values).run(expr)


@dataclass(slots=True)
class _Fold:
    values: Mapping[str, Scalar]
    seen: dict[int, tuple[Expr, Expr]] = field(default_factory=dict)
    """Inlined expressions share their parts: each is folded once. The key keeps its expression."""

    def run(self, expr: Expr) -> Expr:
        found = self.seen.get(id(expr))
        if found is None:
            found = (expr, self._fold(expr))
            self.seen[id(expr)] = found
        return found[1]

    def _fold(self, expr: Expr) -> Expr:
        match expr:
            case Var(name):
                return constant(self.values[name]) if name in self.values else expr
            case Cond(cond, then, other):
                choice = self.run(cond)
                if isinstance(choice, Truth):
                    return self.run(then if choice.value else other)
                return Cond(choice, self.run(then), self.run(other), expr.span)
            case Logic(op, left, right):
                first = self.run(left)
                if not isinstance(first, Truth):
                    return Logic(op, first, self.run(right), expr.span)
                if op == "=>" and not first.value:
                    return Truth(True)
                if op != "=>" and first.value == (op == "or"):
                    return first
                return self.run(right)
        inner = _without_neutral(map_children(expr, self.run))
        if isinstance(inner, (Num, Truth, Var)):
            return inner
        if isinstance(inner, Sum):
            settled = not free_names(inner)
        else:
            settled = all(isinstance(part, (Num, Truth)) for part in children(inner))
        return _computed(inner) if settled else inner


def _without_neutral(expr: Expr) -> Expr:
    match expr:
        case Arith("+", Num(value), other) if value == 0:
            return other
        case Arith("+" | "-", other, Num(value)) if value == 0:
            return other
        case Arith("*", Num(value), other) if value == 1:
            return other
        case Arith("*" | "/", other, Num(value)) if value == 1:
            return other
        case _:
            return expr


def _computed(expr: Expr) -> Expr:
    try:
        return constant(evaluate(expr, {}))
    except EvaluationError:
        return expr


def constant(value: Scalar) -> Expr:
    """The value as an expression."""
    return Truth(value) if isinstance(value, bool) else Num(Fraction(value))

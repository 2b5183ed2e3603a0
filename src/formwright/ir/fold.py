"""What stays of an expression when some of its names have values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.expr import Cond, Expr, Logic, Num, Scalar, Sum, Truth, Var
from formwright.ir.rewrite import children, free_names, map_children


def folded(expr: Expr, values: Mapping[str, Scalar]) -> Expr:
    """``expr`` with ``values`` put in and all computed that they settle.

    A part without a value (a division by 0) stays as it is, so that its meaning, an error where it
    is looked at, stays too; of a choice that is settled only the chosen side is left.
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
                return _constant(self.values[name]) if name in self.values else expr
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
        inner = map_children(expr, self.run)
        settled = (
            not free_names(inner)
            if isinstance(inner, Sum)
            else all(isinstance(part, (Num, Truth)) for part in children(inner))
        )
        return _computed(inner) if settled else inner


def _computed(expr: Expr) -> Expr:
    try:
        return _constant(evaluate(expr, {}))
    except EvaluationError:
        return expr


def _constant(value: Scalar) -> Expr:
    return Truth(value) if isinstance(value, bool) else Num(Fraction(value))

"""Formulas of contracts and of templates, brought to one form so that they can be compared.

Two lines are the same when they differ only in the names of indices, in the order of the
operands of ``+``, ``*``, ``max`` and ``min``, and in how products and quotients, sums and
differences are grouped: over the reals these are one value.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Final, assert_never

from formwright.base.source import Source
from formwright.contract.contract import Contract, Extent
from formwright.ir.expr import Expr, Num, Var
from formwright.ir.program import Index, Literal, Op, Read, Select, Value
from formwright.ir.rewrite import substitute
from formwright.ir.show import show_expr
from formwright.ir.template import Workload
from formwright.lang import parse

Form = tuple[object, ...]

_ONE: Final[Form] = ("number", "1")


def workload_of(contract: Contract) -> tuple[Workload, tuple[Workload, ...]]:
    """The contract's formula, read as a template's workload and stages."""
    return _read(contract.formula, contract.extents, contract.output.extents)


@lru_cache(maxsize=64)
def _read(
    formula: tuple[str, ...], extents: tuple[Extent, ...], output: tuple[str, ...]
) -> tuple[Workload, tuple[Workload, ...]]:
    first, *stages = formula
    name = first.partition("[")[0]
    heads = [line.partition("]")[0] for line in stages]
    kept = [(f"kept_{head.partition('[')[0]}", head) for head in heads]
    text = [
        "template contract : operator -> mapping",
        "scope",
        f"  workload {first}",
        *(f"  stage {line}" for line in stages),
        "  extents " + ", ".join(f"{e.name} >= {max(e.low, 0)}" for e in extents),
        "program",
        *(f"  alloc {buffer}[1] scratch" for buffer, _ in kept),
        f"  {name}[{','.join('0' for _ in output)}] = 0",
    ]
    # A template says where its program keeps each stage; here it does not matter.
    text += ["realise"] if kept else []
    for buffer, head in kept:
        stage, _, extents_of = head.partition("[")
        zeros = ",".join("0" for _ in extents_of.split(","))
        text.append(f"  {stage}[{zeros}] = {buffer}[at]")
    scope = parse(Source("contract", "\n".join(text) + "\n")).scope
    return scope.workload, scope.stages


def form_of(line: Workload) -> Form:
    """What two lines for the same tensor have in common when they say the same."""
    free = {name: Var(f"#{number}") for number, name in enumerate(line.indices)}
    bound = {name: Var(f"#r{number}") for number, (name, _) in enumerate(line.reductions)}
    names: dict[str, Expr] = {**free, **bound}
    return (
        line.output.extents,
        tuple(extent for _, extent in line.reductions),
        line.combine if line.reductions else "",
        _value(line.value, names),
    )


def _value(value: Value, names: dict[str, Expr]) -> Form:
    match value:
        case Literal(number):
            return ("number", str(number))
        case Index(Num(number)):
            return ("number", str(Fraction(number)))
        case Index(expr):
            return ("index", _index(expr, names))
        case Read(access):
            return ("read", access.buffer, tuple(_index(i, names) for i in access.index))
        case Op("*" | "/"):
            above, below = list[Form](), list[Form]()
            for part, inverted in _factors(value, False):
                form = _value(part, names)
                if form != _ONE:
                    (below if inverted else above).append(form)
            return ("product", _sorted(above), _sorted(below))
        case Op("+" | "-" | "neg"):
            parts: list[Form] = [(s, _value(part, names)) for part, s in _terms(value, 1)]
            return ("sum", _sorted(parts))
        case Op("max" | "min" as name, args):
            return (name, _sorted([_value(a, names) for a in args]))
        case Op(name, args):
            return (name, *(_value(a, names) for a in args))
        case Select(cond, then, other):
            return ("select", _index(cond, names), _value(then, names), _value(other, names))
        case _:
            assert_never(value)


def _sorted(forms: list[Form]) -> Form:
    return tuple(sorted(forms, key=repr))


def _index(expr: Expr, names: dict[str, Expr]) -> str:
    return show_expr(substitute(expr, names))


def _factors(value: Value, inverted: bool) -> Iterator[tuple[Value, bool]]:
    match value:
        case Op("*", (a, b)):
            yield from _factors(a, inverted)
            yield from _factors(b, inverted)
        case Op("/", (a, b)):
            yield from _factors(a, inverted)
            yield from _factors(b, not inverted)
        case _:
            yield value, inverted


def _terms(value: Value, sign: int) -> Iterator[tuple[Value, int]]:
    match value:
        case Op("+", (a, b)):
            yield from _terms(a, sign)
            yield from _terms(b, sign)
        case Op("-", (a, b)):
            yield from _terms(a, sign)
            yield from _terms(b, -sign)
        case Op("neg", (a,)):
            yield from _terms(a, -sign)
        case _:
            yield value, sign

"""The lines of a contract as what a plain program computes, one after another.

A line reads inputs and earlier lines. A causal ``select`` over a reduction (``j <= t``) is a
shorter reduction: later terms are never read.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal as OneOf

from formwright.agent.rules.naming import free_name
from formwright.agent.rules.values import factors, is_zero
from formwright.contract.contract import Contract
from formwright.contract.formulas import workload_of
from formwright.ir.expr import ONE, ZERO, Arith, Compare, Expr, Var
from formwright.ir.program import Access, Literal, Op, Read, Select, Value
from formwright.ir.rewrite import accesses, map_value, substitute
from formwright.ir.template import Workload
from formwright.ir.values import names_of, parts, swapped

HEAVY = ("exp", "sqrt", "rsqrt", "/")
"""Functions that take many times as long as a product."""


@dataclass(frozen=True, slots=True)
class Over:
    """A reduction: ``0 <= index < bound``; ``extent`` is what the contract reduces over."""

    index: str
    extent: str
    bound: Expr


@dataclass(frozen=True, slots=True)
class Line:
    """``name[free] = combine(over) value``.

    ``kind``: a ``part`` is a value that several cells share, kept by no stage of the contract.
    ``first``: of a maximum, a value that is among its terms, to begin with.
    """

    name: str
    kind: OneOf["output", "stage", "part"]
    free: tuple[tuple[str, str], ...]
    over: tuple[Over, ...]
    combine: OneOf["sum", "max"]
    value: Value
    first: Value | None = None

    @property
    def reads(self) -> frozenset[str]:
        return frozenset(a.buffer for a in accesses(self.value))


def lines_of(contract: Contract) -> tuple[Line, ...]:
    """The contract's lines, each behind those that it reads; the output is the last."""
    output, stages = workload_of(contract)
    found = [_line(s, "stage") for s in stages]
    ordered = list[Line]()
    while found:
        waiting = {line.name for line in found}
        ready = [line for line in found if not line.reads & waiting]
        # The reader refuses cycles; without one somebody is ready.
        ordered += ready
        found = [line for line in found if line not in ready]
    return _named(*ordered, _line(output, "output"))


def _named(*lines: Line) -> tuple[Line, ...]:
    """Free indices of stages called as the readers' reductions: ``s[h, g, j]``, not ``s[h, g, s]``.

    Later readers come first, so that a line reads under names that are settled.
    """
    found = list(lines)
    for place in reversed(range(len(found))):
        line = found[place]
        names = dict[str, Expr]()
        for reader, access in reads_of(tuple(found[place + 1 :]), line.name):
            for index, (name, _) in zip(access.index, line.free, strict=True):
                if isinstance(index, Var) and index.name in _reduced(reader):
                    names.setdefault(name, index)
        inner = {n for n, _ in line.free} | _reduced(line)
        if {v.name for v in names.values() if isinstance(v, Var)} & inner:
            continue
        found[place] = _renamed(line, names)
    return tuple(found)


def _renamed(line: Line, names: Mapping[str, Expr]) -> Line:
    def change(expr: Expr) -> Expr:
        return substitute(expr, names)

    def name_of(old: str) -> str:
        new = names.get(old)
        return new.name if isinstance(new, Var) else old

    return replace(
        line,
        free=tuple((name_of(n), e) for n, e in line.free),
        over=tuple(replace(o, bound=change(o.bound)) for o in line.over),
        value=map_value(line.value, change),
        first=None if line.first is None else map_value(line.first, change),
    )


def _line(workload: Workload, kind: OneOf["output", "stage"]) -> Line:
    over = tuple(Over(name, extent, Var(extent)) for name, extent in workload.reductions)
    free = tuple(zip(workload.indices, workload.output.extents, strict=True))
    line = Line(workload.output.name, kind, free, over, workload.combine, workload.value)
    line = _shorter(line)
    if line.combine == "max" and line.over:
        begin = dict.fromkeys((o.index for o in line.over), ZERO)
        first = map_value(line.value, lambda e: substitute(e, begin))
        line = replace(line, first=_decided(first))
    return line


def _shorter(line: Line) -> Line:
    """``line`` with a causal mask as the bound of its reduction, where it is one.

    ``sum(j < T) select(j <= t, x, 0)`` has the terms up to ``t``; in a maximum the other side has
    to be the term of ``j = 0``, which every such range has.
    """
    value = line.value
    if not isinstance(value, Select) or len(line.over) != 1:
        return line
    (over,) = line.over
    match value.cond:
        case Compare("<=", Var(left), Var(right)) if left == over.index:
            pass
        case Compare(">=", Var(right), Var(left)) if left == over.index:
            pass
        case _:
            return line
    if (right, over.extent) not in line.free:
        return line
    nothing = map_value(value.then, lambda e: substitute(e, {over.index: ZERO}))
    if line.combine == "max" and value.other != nothing:
        return line
    if line.combine == "sum" and not is_zero(value.other):
        return line
    bound = Arith("+", Var(right), ONE)
    return replace(line, over=(replace(over, bound=bound),), value=value.then)


def _decided(value: Value) -> Value:
    """A choice between equal sides is none."""
    if isinstance(value, Select) and value.then == value.other:
        return value.then
    return value


def with_parts(lines: tuple[Line, ...], taken: frozenset[str]) -> tuple[Line, ...]:
    """``lines`` with values that many cells of a line share as lines of their own.

    Shared is what has a function such as ``exp`` in it and does not change with one of the line's
    free indices, though with a reduction: without this each cell would compute it again.
    """
    found = list[Line]()
    names = set(taken)
    for line in lines:
        shared = _shared(line)
        if shared is None:
            found.append(line)
            continue
        old, value, rest = shared
        used = names_of(value)
        free = tuple((n, e) for n, e in line.free if n in used)
        free += tuple((o.index, o.extent) for o in line.over if o.index in used)
        name = free_name(names, "w")
        names.add(name)
        # Cells behind a causal bound are filled too, with what nobody reads: bounded as well.
        part = Line(name, "part", free, (), "sum", value)
        read = Read(Access(name, tuple(Var(n) for n, _ in free)))
        new = _in_order(((read, False), *rest))
        found += [part, replace(line, value=swapped(line.value, old, new))]
    return tuple(found)


def _shared(line: Line) -> tuple[Value, Value, tuple[tuple[Value, bool], ...]] | None:
    if not line.over or not line.free or any(o.bound != Var(o.extent) for o in line.over):
        return None
    terms = factors(line.value)
    for index, _ in reversed(line.free):
        still = tuple(t for t in terms if index not in names_of(t[0]))
        value = _in_order(still)
        if len(still) < len(terms) and _is_heavy(value) and names_of(value) & _reduced(line):
            return line.value, value, tuple(t for t in terms if t not in still)
    return None


def _in_order(terms: tuple[tuple[Value, bool], ...]) -> Value:
    """The product, multiplied and divided as the line does it: nothing else could overflow."""
    value: Value | None = None
    for factor, down in terms:
        if value is None:
            value = Op("/", (Literal(Fraction(1)), factor)) if down else factor
        else:
            value = Op("/" if down else "*", (value, factor))
    return value if value is not None else Literal(Fraction(1))


def _reduced(line: Line) -> frozenset[str]:
    return frozenset(o.index for o in line.over)


def _is_heavy(value: Value) -> bool:
    return any(
        isinstance(p, Op) and p.name in HEAVY and any(True for _ in accesses(p))
        for p in parts(value)
    )


def reads_of(lines: tuple[Line, ...], name: str) -> Iterator[tuple[Line, Access]]:
    """Who reads ``name``, and how, the value that a maximum begins with included."""
    for line in lines:
        for value in (line.value, *((line.first,) if line.first else ())):
            for access in accesses(value):
                if access.buffer == name:
                    yield line, access

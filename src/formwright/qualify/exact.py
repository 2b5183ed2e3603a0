"""The exact output of a contract's formula over integers mod 2^n: the reference of ring builds."""

from collections.abc import Mapping
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from formwright.contract.contract import Contract
from formwright.contract.formulas import workload_of
from formwright.ir.expr import Expr, Num, Var
from formwright.ir.program import Index, Literal, Op, Read, Select, Value
from formwright.ir.rewrite import accesses
from formwright.ir.template import Workload

Whole = NDArray[Any]
"""Python integers (``dtype=object``), so that nothing overflows."""


class NotExactError(Exception):
    """The formula divides, takes a maximum or a function: it is no polynomial in its inputs."""


def exact_output(
    contract: Contract, values: Mapping[str, int], inputs: Mapping[str, Whole], bits: int
) -> Whole:
    """The output for integer inputs, mod ``2**bits``. Raises :class:`NotExactError`."""
    known = dict(inputs)
    for line in lines_in_order(contract):
        known[line.output.name] = _line(line, values, known, bits)
    return known[contract.output.name]


def lines_in_order(contract: Contract) -> tuple[Workload, ...]:
    """The lines of the formula, each after the stages that it reads; the output's is the last."""
    workload, stages = workload_of(contract)
    known = {o.name for o in contract.inputs}
    waiting, found = list(stages), list[Workload]()
    while waiting:
        ready = [s for s in waiting if {a.buffer for a in accesses(s.value)} <= known]
        if not ready:
            raise NotExactError("its stages wait for each other")
        for stage in ready:
            known.add(stage.output.name)
            found.append(stage)
            waiting.remove(stage)
    return (*found, workload)


def _line(
    line: Workload, values: Mapping[str, int], known: Mapping[str, Whole], bits: int
) -> Whole:
    if line.reductions and line.combine != "sum":
        raise NotExactError("it takes a maximum")
    sizes = {i: values[e] for i, e in zip(line.indices, line.output.extents, strict=True)}
    sizes |= {i: values[e] for i, e in line.reductions}
    axes = list(sizes)
    whole = np.broadcast_to(_value(line.value, axes, values, known), tuple(sizes.values()))
    over = tuple(range(len(line.indices), len(axes)))
    summed = whole.sum(axis=over) if over else whole
    return np.asarray(summed, object) % (1 << bits)


def _value(
    value: Value, axes: list[str], values: Mapping[str, int], known: Mapping[str, Whole]
) -> Whole:
    """An array that broadcasts to one dimension for each of ``axes``."""
    match value:
        case Literal(number) if number.denominator == 1:
            return np.array(int(number), object)
        case Literal(number):
            raise NotExactError(f"{number} is no integer")
        case Read(access):
            return _placed(known[access.buffer], access.index, axes)
        case Index(expr):
            return np.array(_whole(expr, values), object)
        case Op("+", (a, b)):
            return _value(a, axes, values, known) + _value(b, axes, values, known)
        case Op("-", (a, b)):
            return _value(a, axes, values, known) - _value(b, axes, values, known)
        case Op("*", (a, b)):
            return _value(a, axes, values, known) * _value(b, axes, values, known)
        case Op("neg", (a,)):
            return -_value(a, axes, values, known)
        case Op(name):
            raise NotExactError(f"it has {name}")
        case Select():
            raise NotExactError("it chooses by a condition")
        case _:
            assert_never(value)


def _placed(array: Whole, index: tuple[Expr, ...], axes: list[str]) -> Whole:
    names = [i.name if isinstance(i, Var) else "" for i in index]
    if len(set(names)) != len(names) or not set(names) <= set(axes):
        raise NotExactError("it reads a tensor at a computed index")
    order = sorted(range(len(names)), key=lambda n: axes.index(names[n]))
    lengths = dict(zip(names, array.shape, strict=True))
    return array.transpose(order).reshape([lengths.get(a, 1) for a in axes])


def _whole(expr: Expr, values: Mapping[str, int]) -> int:
    match expr:
        case Num(number) if number.denominator == 1:
            return int(number)
        case Var(name) if name in values:
            return values[name]
    raise NotExactError("it takes an index as a number")

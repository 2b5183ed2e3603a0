"""The shapes that a problem is about: from its file, or from ``--set``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from formwright.base.diagnostics import Diagnostic, InputError, nearest
from formwright.base.source import Source
from formwright.base.toml import Place
from formwright.contract.contract import Extent
from formwright.contract.fields import Fields
from formwright.contract.operators.family import Operator

MAX_WORKLOADS: Final = 64
MAX_OPERAND_BYTES: Final = 1 << 36
"""The largest tensor a workload may have (64 GiB): beyond it is a slip, not a workload."""

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
"""What a folder may be called."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One shape to make a kernel for: ``extents`` has all of the operator's, in order."""

    name: str
    extents: dict[str, int]


def read_workloads(fields: Fields, family: Operator | None, *, needed: bool) -> list[Workload]:
    """The tables under ``[workloads]``; without a ``family`` their extents are not looked at."""
    place: Place = ("workloads",)
    table = fields.get(place)
    if table is None and not needed:
        return []
    if not isinstance(table, dict) or not table:
        fields.fault("the problem has no workloads", place, hint_for(family))
        return []
    if len(table) > MAX_WORKLOADS:
        fields.fault(f"more than {MAX_WORKLOADS} workloads", place, "split the file")
        return []
    if family is None:
        return []
    found = [_workload(fields, family, name, value) for name, value in table.items()]
    return [w for w in found if w is not None]


def hint_for(family: Operator | None) -> str:
    """How a workload is written."""
    names = [] if family is None else [e.name for e in family.extents]
    return f"write [workloads.NAME] and under it {', '.join(f'{n} = …' for n in names)}"


def _workload(fields: Fields, family: Operator, name: str, value: Any) -> Workload | None:
    place: Place = ("workloads", name)
    before = len(fields.faults)
    if not isinstance(value, dict):
        fields.fault(f'workload "{name}" is not a table', place, hint_for(family))
        return None
    if not NAME.fullmatch(name):
        fields.fault(f'"{name}" is not a name for a folder', place, "use letters, digits, - _ .")
    names = [e.name for e in family.extents]
    fields.faults.extend(fields.document.unknown(place, value, names))
    extents: dict[str, int] = {}
    for extent in family.extents:
        if extent.name not in value:
            fields.fault(f'workload "{name}" has no {extent.name}', place, f"add {extent.name} = …")
            continue
        at = (*place, extent.name)
        number = fields.whole(at, extent.low, extent.high, default=None)
        if number is not None:
            extents[extent.name] = number
    if len(fields.faults) == before and (fault := _size_fault(family, extents)):
        fields.fault(fault, place, "choose smaller extents")
    return Workload(name, extents) if len(fields.faults) == before else None


def parse_overrides(text: str) -> dict[str, int]:
    """``"M=300,N=200,K=100"`` as extents. Raises ``InputError`` naming each fault."""
    source = Source("--set", text)
    values: dict[str, int] = {}
    faults: list[Diagnostic] = []
    for part in text.split(","):
        name, equals, digits = (p.strip() for p in part.partition("="))
        if not equals or not re.fullmatch(r"[+-]?\d{1,18}", digits):
            faults.append(
                Diagnostic(
                    f'"{part.strip()}" is not NAME=INTEGER', hint="write --set M=300,N=200,K=100"
                )
            )
        elif name in values:
            faults.append(Diagnostic(f"{name} is set twice", hint="give each extent once"))
        else:
            values[name] = int(digits)
    if faults:
        raise InputError(faults, source)
    return values


def overriding(family: Operator, values: Mapping[str, int]) -> Workload:
    """The workload of ``--set``, named by its extents. Raises ``InputError``."""
    faults = _override_faults(family, values)
    if faults:
        text = ",".join(f"{n}={v}" for n, v in values.items())
        raise InputError(faults, Source("--set", text))
    ordered = {e.name: values[e.name] for e in family.extents}
    return Workload("x".join(str(v) for v in ordered.values()), ordered)


def _override_faults(family: Operator, values: Mapping[str, int]) -> list[Diagnostic]:
    known = {e.name: e for e in family.extents}
    missing = [n for n in known if n not in values]
    every = ", ".join(known)
    faults = [
        Diagnostic(
            f'{family.name} has no extent "{n}"', hint=nearest(n, known) or f"extents are {every}"
        )
        for n in values
        if n not in known
    ]
    if missing:
        example = ",".join(f"{n}=…" for n in known)
        faults.append(
            Diagnostic(f"--set leaves out {', '.join(missing)}", hint=f"give all: --set {example}")
        )
    faults.extend(
        Diagnostic(
            f"{name} = {value} is outside the contract of {family.name}",
            hint=_range(known[name]),
        )
        for name, value in values.items()
        if name in known and not known[name].low <= value <= known[name].high
    )
    if not faults and (fault := _size_fault(family, values)):
        faults.append(Diagnostic(fault, hint="choose smaller extents"))
    return faults


def _range(extent: Extent) -> str:
    return f"{extent.name} takes {extent.low} .. {extent.high}"


def _size_fault(family: Operator, extents: Mapping[str, int]) -> str | None:
    largest = 4 * max(prod(extents[n] for n in o.extents) for o in family.operands)
    if largest <= MAX_OPERAND_BYTES:
        return None
    shape = " x ".join(str(extents[e.name]) for e in family.extents)
    return f"the largest operand of {shape} has {largest / 2**30:.0f} GiB"

"""The contract that a kernel is judged by, as somebody states it on the command line."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

from formwright.base.diagnostics import Diagnostic, InputError, fail
from formwright.base.toml import Document, Place, read_toml_file
from formwright.contract.contract import Contract, outside
from formwright.contract.operators import OPERATORS, operator
from formwright.contract.relation import Relation, relation_data, relation_from
from formwright.contract.stored import contract_from

POINTS = 1 << 20
"""Product of the extents of the shape that is taken where nobody names one."""

_KEYS = ("operator", "dtype", "ahead", "extents", "relation", "caches", "workloads")
_OF_PROBLEMS = ("name", "templates", "chip", "threads", "baselines", "budget", "objective")


@dataclass(frozen=True, slots=True)
class Stated:
    """A contract and the shapes that the kernel is for, by name."""

    contract: Contract
    workloads: Mapping[str, Mapping[str, int]]


def stated_contract(text: str, shape: Mapping[str, int] | None = None) -> Stated:
    """``gemm``, ``gemv:bf16``, a ``.toml`` file or the ``contract.json`` of an artifact.

    A TOML file has ``operator`` and, where they are not the operator's own, ``dtype`` (a
    name, or a table by tensor), ``ahead``, ``[extents]`` (``K = [1, 4096]``), ``[relation]``
    and ``[workloads.NAME]``; a problem file is one. ``shape`` replaces its workloads; without
    either a shape of about 2^20 points is taken. Raises ``InputError``.
    """
    path = Path(text)
    if path.suffix == ".toml":
        stated = _from_toml(read_toml_file(path))
    elif path.suffix == ".json":
        stated = Stated(_from_json(path), {})
    else:
        name, _, dtype = text.partition(":")
        stated = Stated(operator(name).contract(dtypes=dtype or None), {})
    contract = stated.contract
    if shape is not None:
        return Stated(contract, {"given": checked_shape(contract, shape)})
    return stated if stated.workloads else Stated(contract, {"usual": usual(contract)})


def parsed_shape(text: str) -> dict[str, int]:
    """``"M=300,N=200,K=100"`` as extents. Raises ``InputError``."""
    values: dict[str, int] = {}
    for part in text.split(","):
        name, equals, digits = (p.strip() for p in part.partition("="))
        if not equals or not re.fullmatch(r"\d{1,18}", digits) or name in values:
            raise fail(f'"{part.strip()}" is not NAME=INTEGER, each once', hint="M=300,N=200,K=100")
        values[name] = int(digits)
    return values


def checked_shape(contract: Contract, shape: Mapping[str, int]) -> dict[str, int]:
    """The extents in the order of the contract. Raises ``InputError`` outside its domain."""
    known = ", ".join(contract.names)
    for name in shape:
        if name not in contract.names:
            raise fail(f'{contract.operator} has no extent "{name}"', hint=f"extents are {known}")
    for name in contract.names:
        if name not in shape:
            raise fail(f"the shape leaves out {name}", hint=f"give all of {known}")
    fault = outside(contract, shape)
    if fault is not None:
        raise fail(fault, hint="choose a shape of the contract's domain")
    return {name: shape[name] for name in contract.names}


def usual(contract: Contract) -> dict[str, int]:
    """All extents alike, as large as ``POINTS`` allows, within their ranges."""
    side = 1
    while True:
        wider = _sides(contract, side * 2)
        if prod(wider.values()) > POINTS or wider == _sides(contract, side):
            return _sides(contract, side)
        side *= 2


def _sides(contract: Contract, side: int) -> dict[str, int]:
    return {e.name: max(e.low, min(e.high, side)) for e in contract.extents}


def _from_json(path: Path) -> Contract:
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise fail(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise fail(f"{path} is not JSON", hint="give the contract.json of an artifact") from None
    if not isinstance(data, dict):
        raise fail(f"{path} is not a JSON object", hint="give the contract.json of an artifact")
    return contract_from(data)


def _from_toml(document: Document) -> Stated:
    table = document.table
    faults = document.unknown((), table, (*_KEYS, *_OF_PROBLEMS))
    name = table.get("operator", "gemm")
    if name not in OPERATORS:
        faults.append(_at(document, ("operator",), f'no operator is called "{name}"'))
    ranges = _ranges(document, faults)
    relation = _relation(document, faults)
    ahead = table.get("ahead", [])
    if not isinstance(ahead, list) or not all(isinstance(a, str) for a in ahead):
        faults.append(_at(document, ("ahead",), "ahead is not a list of tensors"))
    if faults:
        raise InputError(faults, document.source)
    try:
        contract = operator(name).contract(
            dtypes=table.get("dtype"),
            ahead=tuple(ahead),
            extents=ranges,
            relation=relation,
            caches=table.get("caches", "warm"),
        )
    except InputError as error:
        first = error.diagnostics[0]
        place = document.value(*_about(first.message, table))
        raise InputError([Diagnostic(first.message, place, first.hint)], document.source) from None
    return Stated(contract, _workloads(document, contract))


def _about(message: str, table: Mapping[str, Any]) -> Place:
    """The key that a message of the operator is about."""
    for key, word in (("dtype", "element type"), ("extents", "extent"), ("ahead", "input")):
        if key in table and word in message:
            return (key,)
    return ("caches",) if "caches" in message else ("operator",)


def _ranges(document: Document, faults: list[Diagnostic]) -> dict[str, tuple[int, int]]:
    table = document.table.get("extents", {})
    found: dict[str, tuple[int, int]] = {}
    if not isinstance(table, dict):
        faults.append(_at(document, ("extents",), "extents is not a table"))
        return found
    for name, value in table.items():
        pair = [value, value] if _whole(value) else value
        if not isinstance(pair, list) or len(pair) != 2 or not all(_whole(v) for v in pair):
            faults.append(
                _at(document, ("extents", name), f"{name} is no range", f"{name} = [1, 4096]")
            )
        else:
            found[name] = (pair[0], pair[1])
    return found


def _relation(document: Document, faults: list[Diagnostic]) -> Relation | None:
    table = document.table.get("relation")
    if table is None:
        return None
    usual = relation_data(Relation())
    if not isinstance(table, dict) or not set(table) <= set(usual):
        known = ", ".join(usual)
        faults.append(_at(document, ("relation",), "relation is no such table", f"keys: {known}"))
        return None
    given = {
        key: str(Fraction(str(value))) if re.fullmatch(r"absolute|relative|norm", key) else value
        for key, value in table.items()
        if not isinstance(value, str) or key == "kind"
    }
    try:
        return relation_from(usual | given)
    except (InputError, ValueError) as error:
        said = error.diagnostics[0].message if isinstance(error, InputError) else str(error)
        faults.append(_at(document, ("relation",), said))
        return None


def _workloads(document: Document, contract: Contract) -> dict[str, dict[str, int]]:
    table = document.table.get("workloads", {})
    faults: list[Diagnostic] = []
    found: dict[str, dict[str, int]] = {}
    for name, value in table.items() if isinstance(table, dict) else ():
        numbers = isinstance(value, dict) and all(_whole(v) for v in value.values())
        try:
            if not numbers:
                raise fail(f'workload "{name}" is no table of extents')
            found[name] = checked_shape(contract, value)
        except InputError as error:
            first = error.diagnostics[0]
            faults.append(_at(document, ("workloads", name), first.message, first.hint))
    if faults:
        raise InputError(faults, document.source)
    return found


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _at(document: Document, place: Place, message: str, hint: str | None = None) -> Diagnostic:
    return Diagnostic(message, document.value(*place), hint)

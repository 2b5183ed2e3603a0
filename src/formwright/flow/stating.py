"""The contract that a kernel is judged by, as somebody states it on the command line."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

from formwright.base.diagnostics import fail
from formwright.contract.contract import Contract, outside
from formwright.contract.files import load_contract
from formwright.contract.operators import operator
from formwright.contract.stored import contract_from

POINTS = 1 << 20
"""Product of the extents of the shape that is taken where nobody names one."""


@dataclass(frozen=True, slots=True)
class Stated:
    """A contract and the shapes that the kernel is for, by name."""

    contract: Contract
    workloads: Mapping[str, Mapping[str, int]]


def stated_contract(text: str, shape: Mapping[str, int] | None = None) -> Stated:
    """``gemm``, ``gemv:bf16``, a ``.toml`` file or the ``contract.json`` of an artifact.

    A TOML file is a contract file (:mod:`formwright.contract.files`): ``operator`` and, where
    they are not the operator's own, ``dtype`` or ``dtypes``, ``ahead``, ``[extents]``
    (``K = [1, 4096]``), ``[relation]`` and ``[workloads.NAME]``; a problem file is one.
    ``shape`` replaces its workloads; without either a shape of about 2^20 points is taken.
    Raises ``InputError``.
    """
    path = Path(text)
    if path.suffix == ".toml":
        stated = _from_toml(path)
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


def _from_toml(path: Path) -> Stated:
    found = load_contract(path)
    return Stated(found.contract, {w.name: w.extents for w in found.workloads})

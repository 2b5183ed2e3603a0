"""Contract files, and the keys of problem files that state a contract: all faults at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from formwright.base.diagnostics import InputError, nearest
from formwright.base.toml import Place, read_toml_file
from formwright.contract.contract import Contract, contract_data
from formwright.contract.fields import Fields
from formwright.contract.numbers import FORMATS
from formwright.contract.operators import OPERATORS, operator
from formwright.contract.operators.family import Operator, no_stage
from formwright.contract.relation import (
    EQUIVALENCES,
    ORDINARY,
    Relation,
    relation_data,
    relation_from,
)
from formwright.contract.workloads import Workload, read_workloads

CHOSEN: Final = ("operator", "dtype", "dtypes", "ahead", "extents", "relation", "caches", "stages")
"""Keys by which a contract is chosen."""

STATED: Final = (
    "formula",
    "strides",
    "special",
    "alignment",
    "aliasing",
    "mutation",
    "previous_output",
    "threads",
    "repeatable",
)
"""Clauses that a contract file may spell out: they must be those that are checked."""

OF_PROBLEMS: Final = (
    "name",
    "templates",
    "chip",
    "threads",
    "baselines",
    "budget",
    "objective",
    "ceilings",
    "agent",
)
"""What else a problem file has: it can be given where a contract file is asked for."""


@dataclass(frozen=True, slots=True)
class ContractFile:
    """A contract, and the shapes that a kernel of it is for, if the file names any."""

    contract: Contract
    workloads: tuple[Workload, ...]


def load_contract(path: str | Path) -> ContractFile:
    """Read and check a contract file. Raises ``InputError`` with every fault and its place."""
    document = read_toml_file(Path(path))
    fields = Fields(document)
    other = document.table.get("contract")
    problem = any(key in document.table for key in OF_PROBLEMS if key not in ("name", "threads"))
    if isinstance(other, str) and problem:
        # A problem file whose contract stands elsewhere; its own shapes count.
        named = load_contract(Path(path).parent / other).contract
        shapes = read_workloads(fields, operator(named.operator), needed=False)
        if fields.faults:
            raise InputError(fields.faults, document.source)
        return ContractFile(named, tuple(shapes))
    known = (*CHOSEN, *STATED, "workloads", *OF_PROBLEMS)
    fields.faults.extend(document.unknown((), document.table, known))
    contract = read_contract(fields, stated=() if problem else STATED)
    workloads = read_workloads(fields, family_of(fields), needed=False)
    if fields.faults or contract is None:
        raise InputError(fields.faults, document.source)
    return ContractFile(contract, tuple(workloads))


def family_of(fields: Fields) -> Operator | None:
    """The operator that the document names; of a name that is wrong the nearest one."""
    name = fields.get(("operator",))
    close = get_close_matches(name, OPERATORS, 3) if isinstance(name, str) else ["gemm"]
    named = _extents_named(fields)
    # Of several near names the one whose extents the workloads have.
    close.sort(key=lambda n: len(named ^ {e.name for e in OPERATORS[n].extents}))
    return OPERATORS[name] if name in OPERATORS else OPERATORS[close[0]] if close else None


def _extents_named(fields: Fields) -> set[str]:
    table = fields.get(("workloads",))
    shapes = table.values() if isinstance(table, dict) else ()
    return {name for shape in shapes if isinstance(shape, dict) for name in shape}


def read_contract(fields: Fields, stated: tuple[str, ...] = ()) -> Contract | None:
    """The contract that the document chooses; ``stated`` clauses are compared with it."""
    before = len(fields.faults)
    name = fields.choice(("operator",), OPERATORS, "gemm")
    family = family_of(fields)
    dtypes = _dtypes(fields, family)
    inputs = [] if family is None else [o.name for o in family.operands if o.role == "input"]
    ahead = fields.chosen(("ahead",), tuple(inputs), ())
    ranges = _ranges(fields, family)
    relation = _relation(fields)
    caches = fields.choice(("caches",), ("warm", "cold"), "warm")
    stages = _stages(fields, family)
    if family is not None:
        # Clauses are the operator's, whatever is chosen.
        _clauses(fields, family.contract(), stated)
    if len(fields.faults) > before or name is None:
        return None
    if ahead is None or caches is None or stages is None:
        return None
    try:
        return operator(name).contract(
            dtypes=dtypes,
            ahead=ahead,
            extents=ranges,
            relation=relation,
            caches=caches,
            stages=stages,
        )
    except InputError as error:
        first = error.diagnostics[0]
        fields.fault(first.message, ("operator",), first.hint)
        return None


def _stages(fields: Fields, family: Operator | None) -> str | None:
    name = fields.choice(("stages",), ("f32", "bf16"), "f32")
    if name == "bf16" and family is not None and not family.narrow_stages:
        offered = ", ".join(n for n, known in OPERATORS.items() if known.narrow_stages)
        fields.fault(no_stage(family), ("stages",), f"leave stages out; it is of {offered}")
        return None
    return name


def _dtypes(fields: Fields, family: Operator | None) -> Mapping[str, str] | str | None:
    """``dtype = "bf16"`` for every tensor that may have it, ``dtypes`` by tensor."""
    place: Place = ("dtypes",) if "dtypes" in fields.document.table else ("dtype",)
    value = fields.get(place)
    if value is None:
        return None
    if "dtypes" in fields.document.table and "dtype" in fields.document.table:
        fields.fault("dtype and dtypes both name element types", ("dtypes",), "leave one out")
    if isinstance(value, dict):
        return _by_tensor(fields, place, value, family)
    if place == ("dtypes",):
        fields.fault("dtypes is not a table", place, 'write dtypes = { W = "bf16" }')
        return None
    name = fields.choice(place, FORMATS, "f32")
    if name is None or family is None:
        return None
    if not any(name in allowed for allowed in family.dtypes.values()):
        usual = {d for allowed in family.dtypes.values() for d in allowed}
        fields.fault(
            f"no tensor of {family.name} may be {name}", place, f"known: {', '.join(sorted(usual))}"
        )
        return None
    return name


def _by_tensor(
    fields: Fields, place: Place, table: Mapping[str, Any], family: Operator | None
) -> dict[str, str]:
    found: dict[str, str] = {}
    for tensor in table:
        at = (*place, tensor)
        allowed = None if family is None else family.dtypes.get(tensor)
        if family is not None and allowed is None:
            hint = nearest(tensor, family.dtypes) or f"tensors are {', '.join(family.dtypes)}"
            fields.fault(f'{family.name} has no tensor "{tensor}"', at, hint)
            continue
        name = fields.choice(at, FORMATS, "f32")
        if name is None:
            continue
        if allowed is not None and name not in allowed:
            fields.fault(f"{tensor} may not be {name}", at, f"{tensor} may be {', '.join(allowed)}")
            continue
        found[tensor] = name
    return found


def _ranges(fields: Fields, family: Operator | None) -> dict[str, tuple[int, int]]:
    table = fields.get(("extents",))
    if table is None or family is None:
        return {}
    if not isinstance(table, dict):
        fields.fault("extents is not a table", ("extents",), "write [extents] and K = [1, 4096]")
        return {}
    widest = {e.name: e for e in family.extents}
    found: dict[str, tuple[int, int]] = {}
    for name, value in table.items():
        at: Place = ("extents", name)
        if name not in widest:
            hint = nearest(name, widest) or f"extents are {', '.join(widest)}"
            fields.fault(f'{family.name} has no extent "{name}"', at, hint)
            continue
        low, high = widest[name].low, widest[name].high
        pair = [value, value] if _whole(value) else value
        if not isinstance(pair, list) or len(pair) != 2 or not all(_whole(v) for v in pair):
            fields.fault(f"{name} is not a range", at, f"write {name} = [{max(low, 1)}, 4096]")
        elif not low <= pair[0] <= pair[1] <= high:
            told = f"{name} in {pair[0]} .. {pair[1]} is outside the contract of {family.name}"
            fields.fault(told, at, f"use a range inside {low} .. {high}")
        else:
            found[name] = (pair[0], pair[1])
    return found


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _relation(fields: Fields) -> Relation | None:
    """``relation = "bitwise"``, or a table with ``kind``, ``ulps``, ``absolute``, ``norm``, …"""
    place: Place = ("relation",)
    value = fields.get(place)
    if value is None:
        return None
    if isinstance(value, str):
        kind = fields.choice(place, EQUIVALENCES, "bound")
        given: dict[str, Any] = {"kind": kind}
    elif isinstance(value, dict):
        usual = relation_data(ORDINARY)
        fields.faults.extend(fields.document.unknown(place, value, usual))
        kind = fields.choice((*place, "kind"), EQUIVALENCES, "bound")
        given = {"kind": kind} | _allowances(fields, value)
    else:
        fields.fault("relation is not a table", place, 'write [relation] and kind = "bound"')
        return None
    if kind is None or any(v is None for v in given.values()):
        return None
    try:
        return relation_from(relation_data(ORDINARY) | given)
    except InputError as error:
        fields.fault(error.diagnostics[0].message, place, error.diagnostics[0].hint)
        return None


def _allowances(fields: Fields, table: Mapping[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if "ulps" in table:
        given["ulps"] = fields.whole(("relation", "ulps"), 1, 1 << 20, default=None)
    for key in ("absolute", "relative", "norm"):
        if key in table:
            given[key] = _allowance(fields, ("relation", key), table[key])
    if "reassociate" in table:
        given["reassociate"] = table["reassociate"]
        if not isinstance(table["reassociate"], bool):
            place: Place = ("relation", "reassociate")
            fields.fault("reassociate is not true or false", place, "write reassociate = true")
            given["reassociate"] = None
    return given


def _allowance(fields: Fields, place: Place, value: Any) -> str | None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 < value < 1e300:
        fields.fault(f"{place[-1]} is not a positive number", place, f"write {place[-1]} = 1e-5")
        return None
    return str(Fraction(str(value)))


def _clauses(fields: Fields, contract: Contract, stated: tuple[str, ...]) -> None:
    known = contract_data(contract)
    for clause in stated:
        if clause not in fields.document.table:
            continue
        value = fields.get((clause,))
        if not isinstance(known[clause], dict):
            _clause(fields, (clause,), value, known[clause])
        elif not isinstance(value, dict):
            fields.fault(f"{clause} is not a table", (clause,), f"write [{clause}]")
        else:
            fields.faults.extend(fields.document.unknown((clause,), value, known[clause]))
            for name in value.keys() & known[clause].keys():
                _clause(fields, (clause, name), value[name], known[clause][name])


def _clause(fields: Fields, place: Place, value: Any, known: Any) -> None:
    if value == known or (isinstance(known, list) and [value] == known):
        return
    fields.fault(
        f"clause {'.'.join(str(p) for p in place)} is {value!r}",
        place,
        f"what is checked is {known!r}: state that, or leave the clause out",
    )

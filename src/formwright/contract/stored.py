"""Contracts read back from JSON data: only those that this version can make and check."""

from collections.abc import Mapping
from typing import Any

from formwright.base.diagnostics import InputError, fail
from formwright.contract.contract import Contract, contract_data
from formwright.contract.operators import operator
from formwright.contract.relation import relation_from


def contract_from(data: Mapping[str, Any]) -> Contract:
    """The contract that :func:`formwright.contract.contract.contract_data` wrote.

    Every clause must be the one that the operator states, else the data asks for something
    that is not checked. Raises ``InputError``.
    """
    try:
        extents = {n: (int(low), int(high)) for n, (low, high) in data["extents"].items()}
        dtypes = {o["name"]: o["dtype"] for o in data["operands"]}
        contract = operator(data["operator"]).contract(
            dtypes=dtypes,
            ahead=tuple(data["ahead"]),
            extents=extents,
            relation=relation_from(data["relation"]),
            caches=data["caches"],
            stages=data.get("stages", "f32"),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise fail(f"not a contract: {error!r}", hint="write it with contract_data") from None
    except InputError as error:
        raise fail(f"not a contract of this version: {error.diagnostics[0].message}") from None
    known = contract_data(contract)
    for key in sorted({*known, *data}):
        if key not in data or key not in known or data[key] != known[key]:
            raise fail(
                f'contract clause "{key}" is {data.get(key)!r}',
                hint=f"this version knows {known.get(key)!r}",
            )
    return contract

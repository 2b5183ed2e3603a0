"""A contract as the text of a contract file, with the shapes that are asked for."""

import json
from collections.abc import Sequence

from formwright.contract.contract import Contract
from formwright.contract.operators import operator
from formwright.contract.relation import ORDINARY, Relation
from formwright.contract.workloads import Workload


def contract_text(contract: Contract, workloads: Sequence[Workload] = ()) -> str:
    """TOML that ``contract.files.load_contract`` reads back as ``contract`` and ``workloads``.

    What the operator has anyway is left out. Equal contracts have equal texts.
    """
    family = operator(contract.operator)
    usual = family.contract()
    lines = [f"operator = {_quoted(contract.operator)}"]
    types = {n: contract.dtype_of(n) for n in family.dtypes}
    changed = {n: t for n, t in types.items() if t != usual.dtype_of(n)}
    if changed:
        lines.append(
            f"dtypes = {{ {', '.join(f'{n} = {_quoted(t)}' for n, t in changed.items())} }}"
        )
    if contract.ahead:
        lines.append(f"ahead = [{', '.join(map(_quoted, contract.ahead))}]")
    ranges = [e for e, widest in zip(contract.extents, usual.extents, strict=True) if e != widest]
    if ranges:
        shown = ", ".join(f"{e.name} = [{e.low}, {e.high}]" for e in ranges)
        lines.append(f"extents = {{ {shown} }}")
    if contract.relation != ORDINARY:
        lines.append(f"relation = {{ {_relation(contract.relation)} }}")
    if contract.caches != usual.caches:
        lines.append(f"caches = {_quoted(contract.caches)}")
    if contract.stages != usual.stages:
        lines.append(f"stages = {_quoted(contract.stages)}")
    for workload in workloads:
        lines += ["", f"[workloads.{_quoted(workload.name)}]"]
        lines += [f"{name} = {value}" for name, value in workload.extents.items()]
    return "\n".join(lines) + "\n"


def _relation(relation: Relation) -> str:
    said = [f"kind = {_quoted(relation.kind)}"]
    if relation.ulps:
        said.append(f"ulps = {relation.ulps}")
    for name in ("absolute", "relative", "norm"):
        if value := getattr(relation, name):
            said.append(f"{name} = {float(value)!r}")
    if not relation.reassociate:
        said.append("reassociate = false")
    return ", ".join(said)


def _quoted(text: str) -> str:
    return json.dumps(text)

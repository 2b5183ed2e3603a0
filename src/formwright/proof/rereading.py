"""A proof from what it told of itself as JSON: in a journal, or from another process."""

from collections.abc import Mapping
from typing import Any

from formwright.proof.verdict import Counterexample, Obligation, Proof


def proof_of(data: Mapping[str, Any]) -> Proof:
    """The proof whose :meth:`Proof.as_json` is ``data``, but for the runs that are only drawn."""
    return Proof(
        data["template"],
        data["digest"],
        data["verdict"],
        tuple(obligation_of(o) for o in data["obligations"]),
        float(data["seconds"]),
        data["solver"],
        int(data["queries"]),
    )


def obligation_of(data: Mapping[str, Any]) -> Obligation:
    """The obligation that was told as ``data``."""
    met = data.get("counterexample")
    return Obligation(
        name=data["name"],
        group=data["group"],
        condition=data["condition"],
        verdict=data["verdict"],
        evidence=data["evidence"],
        seconds=float(data["seconds"]),
        reused=bool(data["reused"]),
        detail=data["detail"],
        counterexample=None if met is None else _met(met),
    )


def _met(data: Mapping[str, Any]) -> Counterexample:
    trace = tuple(data["trace"])
    return Counterexample(data["values"], data["text"], bool(data["replayed"]), trace)

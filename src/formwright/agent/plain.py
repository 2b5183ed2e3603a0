"""Requests and replies as JSON, and back. Raises ``ValueError`` for data of another shape."""

from dataclasses import asdict
from typing import Any

from formwright.agent.protocol import Proposal, Reply, Request, Spent
from formwright.base.digest import plain_digest


def request_data(request: Request) -> dict[str, Any]:
    """Everything that a proposer was shown."""
    return {
        **{
            "kind": request.kind,
            "number": request.number,
            "seed": request.seed,
            "contract": request.contract,
            "formula": list(request.formula),
            "chip": dict(request.chip),
            "parent": request.parent,
            "journal": list(request.journal),
            "data": dict(request.data),
        },
        "known": [asdict(k) for k in request.known],
        "findings": [asdict(f) for f in request.findings],
    }


def question(request: Request) -> str:
    """Digest of what a request asks, whatever the run measured meanwhile.

    Kind, contract, formula, and for a repair the parent; not the journal, the facts or the chip,
    which differ between machines.
    """
    return plain_digest([request.kind, request.contract, list(request.formula), request.parent])


def reply_data(reply: Reply) -> dict[str, Any]:
    """As JSON."""
    return {
        "proposals": [asdict(p) | {"parents": list(p.parents)} for p in reply.proposals],
        "spent": asdict(reply.spent),
        "problem": reply.problem,
    }


def reply_from(data: Any) -> Reply:
    """The reply that :func:`reply_data` wrote. Raises ``ValueError``."""
    try:
        proposals = tuple(_proposal(p) for p in data["proposals"])
        spent = Spent(**data["spent"])
        return Reply(proposals, spent, str(data["problem"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no reply: {error}") from None


def _proposal(data: dict[str, Any]) -> Proposal:
    if data["language"] not in ("fw", "c", "text") or not isinstance(data["text"], str):
        raise ValueError("a proposal of no known language")
    parents = tuple(str(p) for p in data["parents"])
    return Proposal(data["text"], data["language"], str(data["rule"]), parents, str(data["why"]))

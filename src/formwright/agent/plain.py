"""Requests and replies as JSON, and back. Raises ``ValueError`` for data of another shape."""

from dataclasses import asdict, fields
from typing import Any, Final

from formwright.agent.protocol import Proposal, Reply, Request, Spent
from formwright.base.digest import plain_digest

MOST: Final = 10.0**15
"""Of anything that an answer may have taken."""
WHOLE: Final = ("calls", "tokens_in", "tokens_out")
"""Of what was spent: what is counted."""


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
    """The reply that :func:`reply_data` wrote. Raises ``ValueError``.

    Half characters, which JSON can spell and no file can hold, are replaced; what was spent are
    counts and amounts from 0, so no reply gives a budget back.
    """
    try:
        proposals = tuple(_proposal(p) for p in data["proposals"])
        return Reply(proposals, _spent(data["spent"]), _text(data["problem"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no reply: {error}") from None


def _spent(data: dict[str, Any]) -> Spent:
    spent = Spent(**data)
    for field in fields(spent):
        value: Any = getattr(spent, field.name)
        kind = int if field.name in WHOLE else (int, float)
        if not isinstance(value, kind) or isinstance(value, bool) or not 0 <= value <= MOST:
            raise ValueError(f"{field.name} spent is no number from 0 to {MOST:g}")
    return spent


def _proposal(data: dict[str, Any]) -> Proposal:
    if data["language"] not in ("fw", "c", "text") or not isinstance(data["text"], str):
        raise ValueError("a proposal of no known language")
    parents = tuple(_text(p) for p in data["parents"])
    return Proposal(
        _text(data["text"]), data["language"], _text(data["rule"]), parents, _text(data["why"])
    )


def _text(value: Any) -> str:
    return str(value).encode("utf-8", "replace").decode()

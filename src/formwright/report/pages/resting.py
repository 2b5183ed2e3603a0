"""What obligations rest on, as the kept grounds say it; nothing is checked here."""

from collections.abc import Sequence
from typing import Final

from formwright.flow.subjects import SHIPPED, grounds_folder
from formwright.proof.grounds import (
    Agreement,
    Alone,
    Ground,
    Resting,
    grounds_path,
    read_grounds,
)

CONTENT: Final = "a comparison of content"


def kept_resting(digest: str, condition: str = "") -> tuple[tuple[Resting, str], ...]:
    """Each obligation of this very template (or of one condition of it) with its ground in words;
    none where no grounds are kept."""
    if not digest.isalnum():
        return ()
    for folder in (grounds_folder(), SHIPPED):
        grounds = read_grounds(grounds_path(folder, digest, condition)).grounds
        if grounds is not None and grounds.subject.digest == digest:
            first = grounds.subject.first
            return tuple(
                (o, _weakest([grounds.grounds.get(q) for q in o.queries], first))
                for o in grounds.obligations
            )
    return ()


def _weakest(grounds: Sequence[Ground | None], first: str) -> str:
    if not grounds:
        return CONTENT
    if any(isinstance(g, Alone) or g is None for g in grounds):
        return f"{first} alone"
    second = next((g for g in grounds if isinstance(g, Agreement)), None)
    if second is not None:
        return f"two solvers, {first} and {second.second}"
    return "a certificate"

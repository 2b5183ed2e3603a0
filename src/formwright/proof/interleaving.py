"""A run as people read it: lanes side by side, one event after another. Data, no drawing."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """One atomic step. ``lane`` is a name of :attr:`Interleaving.lanes`.

    ``text`` says what was done (``load(0)``); ``reads`` and ``writes`` name cells with their
    values (``loc[0] = 3``); ``note`` is what a reader should not miss, empty mostly.
    """

    lane: str
    text: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Interleaving:
    """Events in the order in which they happened, and the defect that they end in.

    ``lanes``: agents first, then other units, then the environment; each has an event, or
    is an agent that waits in vain. ``title`` names the system and its parameters.
    """

    title: str
    lanes: tuple[str, ...]
    events: tuple[Event, ...]
    defect: str


def lines(shown: Interleaving) -> tuple[str, ...]:
    """One line for an event: the lane, what it did, what it read and wrote, the note."""
    return (*(_line(e) for e in shown.events), shown.defect)


def _line(event: Event) -> str:
    parts = [f"{event.lane}: {event.text}"]
    if event.reads:
        parts.append(f"reads {', '.join(event.reads)}")
    if event.writes:
        parts.append(f"writes {', '.join(event.writes)}")
    if event.note:
        parts.append(event.note)
    return "; ".join(parts)

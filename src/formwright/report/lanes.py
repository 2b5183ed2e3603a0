"""Interleavings in text: a column for each lane, time running down."""

from collections.abc import Sequence
from textwrap import wrap

from formwright.proof.interleaving import Event, Interleaving

LEAST_WIDTH = 18
MOST_WIDTH = 44


def lane_lines(shown: Interleaving, width: int = 100) -> list[str]:
    """The interleaving for a terminal of ``width`` characters.

    Lanes stand side by side where they fit; a run of more lanes is told line by line with the
    lane's name in front.
    """
    gap = 3
    room = (width - 5 - gap * (len(shown.lanes) - 1)) // max(1, len(shown.lanes))
    if room < LEAST_WIDTH:
        return _listed(shown, width)
    column = min(room, MOST_WIDTH)
    rule = (" " * gap).join("-" * column for _ in shown.lanes)
    rows = [shown.title, "", _row("", shown.lanes, column, gap), f"     {rule}"]
    for number, event in enumerate(shown.events, 1):
        place = shown.lanes.index(event.lane)
        for n, text in enumerate(_cell(event, column)):
            cells = ["" if i != place else text for i in range(len(shown.lanes))]
            rows.append(_row(str(number) if n == 0 else "", cells, column, gap))
    return [*rows, "", *wrap(f"=> {shown.defect}", width)]


def _row(number: str, cells: Sequence[str], column: int, gap: int) -> str:
    return f"{number:>3}  {(' ' * gap).join(c.ljust(column) for c in cells)}".rstrip()


def _cell(event: Event, column: int) -> list[str]:
    lines = wrap(event.text, column)
    for word, items in (("reads", event.reads), ("writes", event.writes)):
        for item in items:
            lines += wrap(f"  {word} {item}", column, subsequent_indent="    ")
    if event.note:
        lines += wrap(f"  ! {event.note}", column, subsequent_indent="    ")
    return lines


def _listed(shown: Interleaving, width: int) -> list[str]:
    rows = [shown.title, ""]
    for number, event in enumerate(shown.events, 1):
        first, *rest = _cell(event, width - 5)
        rows.append(f"{number:>3}  {event.lane}: {first}")
        rows += [f"     {line}" for line in rest]
    return [*rows, "", *wrap(f"=> {shown.defect}", width)]

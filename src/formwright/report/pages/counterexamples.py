"""Counterexamples of a proof: all in a table, and the runs that differ as swim-lanes."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from formwright.proof.interleaving import Event, Interleaving
from formwright.report.lanes import lane_lines
from formwright.report.lanes_svg import lanes_svg
from formwright.report.page import Block, Cell, Column, Drawing, Fold, Origin, Source, Table
from formwright.report.pages.conditions import Condition, standing_of
from formwright.report.pages.entries import items, mapping, words
from formwright.report.pages.units import counted

MOST_EVENTS: Final = 200
"""Of a run that is drawn; a longer one is told in the table."""


def counterexample_blocks(
    found: Sequence[tuple[str, Condition, Origin | None]], most: int
) -> tuple[Block, ...]:
    """Refutations: a table of all, and of the first ``most`` that differ the run in lanes.

    ``found``: the template's name, the obligation, the entry.
    """
    rows = []
    drawn: dict[Interleaving, Drawing] = {}
    for template, c, origin in found:
        met = c.counterexample
        values = _values(mapping(met.get("values")))
        replayed = met.get("replayed") is True
        rows.append(
            (
                Cell(template, origin=origin),
                Cell(c.condition, standing=standing_of(c.verdict)),
                Cell(words(met, "text") or c.detail),
                Cell("yes" if replayed else "no", evidence="tested" if replayed else None),
                Cell(values or "–"),
            )
        )
        run = interleaving_of(met.get("interleaving"))
        if run is not None and run not in drawn and len(drawn) < most:
            drawn[run] = _drawing(template, c, run)
    table = Table(
        title="Counterexamples",
        columns=(
            Column("template"),
            Column("condition"),
            Column("what goes wrong"),
            Column("replayed"),
            Column("with"),
        ),
        rows=tuple(rows),
        says="Replayed: an interpreter that shares no code with the verifier reached the defect.",
        shown=20,
    )
    blocks: list[Block] = [table]
    for run, drawing in drawn.items():
        text = Source("The run in words", "\n".join(lane_lines(run)))
        blocks += [drawing, Fold("The run in words", (text,))]
    return tuple(blocks)


def _values(values: Mapping[str, Any]) -> str:
    """Extents, agents and decisions; figures of the chip are counted, the entry has them."""
    own = {k: v for k, v in values.items() if not k.startswith(("chip.", "bytes."))}
    rest = len(values) - len(own)
    told = [f"{k} = {v}" for k, v in own.items()]
    return ", ".join([*told, *([f"and {rest} figures of chip and types"] if rest else [])])


def _drawing(template: str, c: Condition, run: Interleaving) -> Drawing:
    lanes = counted(len(run.lanes), "lane")
    steps = counted(len(run.events), "step")
    return Drawing(
        title=f"{c.condition}: {run.title or template}",
        says=f"{steps} in {lanes}, from top to bottom; they end in this: {run.defect}.",
        svg=lanes_svg(run),
    )


def interleaving_of(value: Any) -> Interleaving | None:
    """A run as it was written; ``None`` where it cannot be drawn."""
    data = mapping(value)
    lanes = tuple(map(str, items(data.get("lanes"))))
    events = tuple(_event(mapping(e)) for e in items(data.get("events")))
    drawable = 0 < len(events) <= MOST_EVENTS and 0 < len(lanes) <= 16
    if not drawable or any(e.lane not in lanes for e in events):
        return None
    return Interleaving(words(data, "title"), lanes, events, words(data, "defect"))


def _event(data: Mapping[str, Any]) -> Event:
    return Event(
        lane=words(data, "lane"),
        text=words(data, "text"),
        reads=tuple(map(str, items(data.get("reads")))),
        writes=tuple(map(str, items(data.get("writes")))),
        note=words(data, "note"),
    )

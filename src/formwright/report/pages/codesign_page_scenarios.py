"""What each scenario gets on the chosen chip, and how."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from formwright.report.page import (
    Axis,
    Bar,
    Bars,
    Block,
    Cell,
    Column,
    Fold,
    Part,
    Section,
    Table,
    Text,
)
from formwright.report.pages.codesign_told import Told
from formwright.report.pages.study_words import assignment, figure, percent

OPEN: Final = 12
"""Designs up to which their table is not folded."""


def scenarios_section(told: Told) -> Section | None:
    scenarios = told.ceiling["scenarios"]
    if not scenarios:
        return None
    blocks: list[Block] = [_ratios(told)]
    for s in scenarios:
        blocks += _works(told, s) if len(scenarios) == 1 else []
    if len(scenarios) > 1:
        blocks.append(_table(told))
    notes = [
        f"The chip for {s['name']} alone may not be the best: {s.get('alone_note')}."
        for s in scenarios
        if s.get("alone_note")
    ]
    if notes:
        blocks.append(Text(" ".join(notes)))
    named = next((d["template"] for s in scenarios for d in s["designs"] if d["assignment"]), "")
    if named:
        blocks.append(
            Text(
                "Names such as those below are decisions of a template, tile sizes and loop orders:"
                f" `formwright show {named}` prints what each is."
            )
        )
    designs = _designs(told)
    blocks.append(
        designs if len(designs.rows) <= OPEN else Fold("The design of each kernel", (designs,))
    )
    return Section("scenarios", "Scenarios: what the software does on it", tuple(blocks))


def _ratios(told: Told) -> Bars:
    scenarios = told.ceiling["scenarios"]
    bars = tuple(
        Bar(
            s["name"],
            (Part("ratio", s["ratio"], told.kept.entry(s["entry"])),),
            _alone(s),
        )
        for s in scenarios
    )
    worst = max(scenarios, key=lambda s: s["ratio"])
    says = (
        f"Time on the chosen chip over the time on the reference chip: {worst['name']} takes"
        f" {figure(worst['ratio'], 4)} of it"
    )
    says += ", the largest." if len(scenarios) > 1 else "."
    return Bars("Each scenario against the reference chip", says, Axis("ratio of times"), bars)


def _alone(scenario: Mapping[str, Any]) -> str:
    if scenario["alone"] is None:
        return ""
    loses = "nothing" if scenario["loses"] < 1e-6 else percent(scenario["loses"])
    return f"{figure(scenario['alone'], 4)} on the best chip for it alone: sharing loses {loses}"


def _works(told: Told, scenario: Mapping[str, Any]) -> list[Block]:
    """Which kernels take the time and the energy."""
    origin = told.kept.entry(scenario["entry"])
    blocks: list[Block] = []
    for name, unit, key in (("time", told.time, "time"), ("energy", told.energy, "energy")):
        designs = [d for d in scenario["designs"] if d[key] is not None]
        if not designs or not sum(d[key] * d["count"] for d in designs):
            continue
        total = sum(d[key] * d["count"] for d in designs)
        top = max(designs, key=lambda d: d[key] * d["count"])
        bars = tuple(
            Bar(
                d["work"],
                (Part(d["template"], d[key] * d["count"], origin),),
                f"{d['count']} times {figure(d[key])}" if d["count"] > 1 else "",
            )
            for d in designs
        )
        says = (
            f"{' '.join((figure(total), unit)).strip()} in all; {top['work']} takes"
            f" {percent(top[key] * top['count'] / total)} of it."
        )
        title = f"{name[:1].upper()}{name[1:]} of {scenario['name']} by kernel (modelled)"
        blocks.append(Bars(title, says, Axis(name, unit), bars))
    return blocks


def _table(told: Told) -> Table:
    scenarios = told.ceiling["scenarios"]
    columns = [
        Column("scenario"),
        Column("time", told.time, number=True),
        Column("energy", told.energy, number=True),
        Column("ratio", number=True),
        Column("alone", number=True),
        Column("loses by sharing", number=True),
    ]
    rows = tuple(
        (
            Cell(s["name"]),
            told.cell(s["time"], s["entry"]),
            told.cell(s["energy"], s["entry"]),
            told.cell(s["ratio"], s["entry"]),
            told.cell(s["alone"], told.ceiling["entries"].get(f"alone/{s['name']}")),
            Cell(percent(s["loses"]), s["loses"]),
        )
        for s in scenarios
    )
    says = "Alone: the ratio on the best chip for this scenario only, under the same ceiling."
    return Table("Scenarios", tuple(columns), rows, says)


def _designs(told: Told) -> Table:
    rows = tuple(
        (
            Cell(s["name"]),
            Cell(d["work"]),
            told.cell(d["count"], s["entry"]),
            Cell(d["template"]),
            Cell(assignment(d["assignment"])),
            told.cell(d["time"], s["entry"], evidence="modelled"),
            told.cell(d["energy"], s["entry"]),
            told.cell(d["evaluated"], s["entry"]),
        )
        for s in told.ceiling["scenarios"]
        for d in s["designs"]
    )
    columns = (
        Column("scenario"),
        Column("kernel"),
        Column("runs", number=True),
        Column("template"),
        Column("design"),
        Column("time of one", told.time, number=True),
        Column("energy of one", told.energy, number=True),
        Column("time, evaluated", told.time, number=True),
    )
    return Table("The design of each kernel", _used(columns, rows), _cut(columns, rows))


def _empty(rows: Sequence[Sequence[Cell]], at: int) -> bool:
    return all(row[at].text == "-" for row in rows)


def _used(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> tuple[Column, ...]:
    """Without columns in which nothing stands."""
    return tuple(c for at, c in enumerate(columns) if not _empty(rows, at))


def _cut(
    columns: Sequence[Column], rows: Sequence[tuple[Cell, ...]]
) -> tuple[tuple[Cell, ...], ...]:
    kept = [at for at in range(len(columns)) if not _empty(rows, at)]
    return tuple(tuple(row[at] for at in kept) for row in rows)

"""Objective against area: the front, the way of the purchases, and chips to compare with."""

from collections.abc import Mapping, Sequence
from typing import Any

from formwright.report.page import (
    Axis,
    Block,
    Cell,
    Chart,
    Column,
    Fold,
    Line,
    Origin,
    Point,
    Section,
    Series,
    Table,
    Text,
)
from formwright.report.pages.codesign_told import (
    Told,
    best_entry,
    chosen_entry,
    exact,
    relaxed,
    start_of,
)
from formwright.report.pages.study_words import figure, percent
from formwright.report.pages.units import counted


def front_section(told: Told) -> Section | None:
    """Objective against area: the front, the way of the purchases, chips to compare with."""
    series = tuple(s for s in _series(told) if s.points)
    if not series:
        return None
    blocks: list[Block] = [Text(_front_words(told)), _front_chart(told, series)]
    if told.result["chips"]:
        blocks.append(_chips(told))
    if told.result["front"]:
        blocks.append(Fold("All chips of the front", (_front_table(told),)))
    return Section("front", "Objective against area", tuple(blocks))


def _front_words(told: Told) -> str:
    front = told.result["front"]
    if not front:
        return (
            "This study asks for no front of objective and area. What is drawn are the chips that"
            " its methods came to, and the way of the purchases."
        )
    text = (
        f"The front has {counted(len(front), 'chip')}: each is ahead of every chip of less area."
        " It leaves out chips that are ahead by less than"
        f" {percent(told.result['front_tolerance'])}"
    )
    limit = told.result["front_complete_to"]
    if limit is not None:
        text += f", and is complete for areas below {figure(limit)} mm²: the time was spent there"
    return f"{text}."


def _front_chart(told: Told, series: tuple[Series, ...]) -> Chart:
    found = told.ceiling
    lines = []
    if found["bound"] is not None:
        lines.append(Line("no chip is below this", "y", found["bound"]))
    if found["budget"] is not None:
        lines.append(Line("ceiling on the area", "x", found["budget"]))
    says = "No chip was found."
    if found["area"] is not None:
        says = (
            f"The chosen chip has {figure(found['area'], 4)} mm² and"
            f" {told.objective(found['objective'], 5)}."
        )
        start = start_of(told)
        if start.area is not None and start.objective is not None:
            says += (
                f" The start has {figure(start.area, 4)} mm² and"
                f" {told.objective(start.objective, 5)}."
            )
    return Chart(
        f"{told.goal.name[:1].upper()}{told.goal.name[1:]} against area; lower and further left is"
        " better",
        says,
        Axis("area", "mm²", "log"),
        told.axis(),
        series,
        tuple(lines),
    )


def _series(told: Told) -> Sequence[Series]:
    found, kept = told.ceiling, told.kept
    front = tuple(
        Point(c["area"], c["objective"], told.fields.chip(c["chip"]), origin=kept.entry(c["entry"]))
        for c in told.result["front"]
        if c["objective"] is not None
    )
    named = tuple(
        Point(
            c["area"],
            c["objective"],
            f"{c['name']}: {told.fields.chip(c['chip'])}",
            origin=kept.entry(c["entry"]),
        )
        for c in told.result["chips"]
        if c["objective"] is not None
    )
    methods = tuple(
        Point(
            m["area"],
            m["objective"],
            f"{m['method']}: {told.fields.chip(m['chip'])}",
            origin=kept.entry(best_entry(m)),
        )
        for m in found["methods"]
        if m["objective"] is not None
    )
    chosen: tuple[Point, ...] = ()
    if found["chip"] is not None:
        origin = kept.entry(chosen_entry(told))
        label = f"chosen: {told.fields.chip(found['chip'])}"
        chosen = (Point(found["area"], found["objective"], label, origin=origin),)
    begun = start_of(told)
    start: tuple[Point, ...] = ()
    if begun.area is not None and begun.objective is not None:
        label = f"start: {told.fields.chip(told.result['start'])}"
        start = (Point(begun.area, begun.objective, label, origin=begun.origin),)
    return (
        Series("front", front, "steps", "modelled"),
        Series("path of purchases", path(told), "line", "modelled", lead=True),
        Series("best of each method", methods, "points", "modelled"),
        Series("chips to compare with", named, "points", "modelled"),
        Series("start", start, "points", "modelled"),
        Series("chosen chip", chosen, "points", "modelled"),
    )


def path(told: Told) -> tuple[Point, ...]:
    """From the start through every purchase, with what was given back after the last."""
    state = relaxed(told)
    if state is None:
        return ()
    data, entry = state
    model = data["model"]
    visited = [v for v in data["visited"] if v["model"] == model and v["objective"] is not None]
    if not visited:
        return ()
    origin = told.kept.entry(entry)
    first, last = visited[0], visited[-1]
    points = [_visited(first, "", origin)]
    for bought in told.ceiling["purchases"]:
        if bought["objective"] is None or bought["total_area"] is None:
            continue
        label = f"step {bought['round']}: {told.fields.steps(bought['fields'])}"
        at = told.kept.entry(bought["entry"])
        points.append(Point(bought["total_area"], bought["objective"], label, origin=at))
    end = _visited(last, "given back at the end", origin)
    if (end.x, end.y) != (points[-1].x, points[-1].y):
        points.append(end)
    return tuple(points)


def _visited(visit: Mapping[str, Any], label: str, origin: Origin | None) -> Point:
    area, objective = exact(visit["area"]), exact(visit["objective"])
    assert area is not None
    assert objective is not None
    return Point(area, objective, label, origin=origin)


def _chips(told: Told) -> Table:
    """The chips that the study names, and the chosen one, beside each other."""
    found = told.ceiling
    rows = []
    if found["chip"] is not None:
        entry = chosen_entry(told)
        rows.append(
            (
                Cell("the chosen chip"),
                Cell(told.fields.chip(found["chip"])),
                told.cell(found["area"], entry, digits=4),
                told.cell(found["objective"], entry, digits=7, evidence="modelled"),
                Cell("1", 1.0),
                Cell("-"),
                Cell("this study"),
            )
        )
    for chip in told.result["chips"]:
        times = None
        if chip["objective"] is not None and found["objective"]:
            times = chip["objective"] / found["objective"]
        rows.append(
            (
                Cell(chip["name"]),
                Cell(told.fields.chip(chip["chip"])),
                told.cell(chip["area"], chip["entry"], digits=4),
                told.cell(chip["objective"], chip["entry"], digits=7, evidence="modelled"),
                told.cell(times, chip["entry"], digits=4),
                Cell({True: "yes", False: "no", None: "not known"}[chip["dominated"]]),
                Cell(chip["source"]),
            )
        )
    columns = (
        Column("chip"),
        Column("fields"),
        Column("area", "mm²", number=True),
        Column("objective", told.goal.unit, number=True),
        Column("times the chosen one's", number=True),
        Column("dominated"),
        Column("source"),
    )
    says = "Dominated: a chip of the front has no more area and a lower objective."
    return Table("Chips to compare with, each with its best software", columns, tuple(rows), says)


def _front_table(told: Told) -> Table:
    names = told.fields.choices
    rows = tuple(
        (
            told.cell(c["area"], c["entry"]),
            told.cell(c["objective"], c["entry"], digits=7),
            *(Cell(told.fields.value(n, c["chip"][n]), float(c["chip"][n])) for n in names),
        )
        for c in told.result["front"]
    )
    columns = (
        Column("area", "mm²", number=True),
        Column("objective", told.goal.unit, number=True),
        *(Column(n, number=True) for n in names),
    )
    return Table("The front", columns, rows, shown=100)

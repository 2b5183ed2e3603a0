"""The methods beside each other: how good, for how much work; ceilings; drawn problems."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, Final

from formwright.report.page import (
    Axis,
    Bar,
    Bars,
    Block,
    Cell,
    Chart,
    Column,
    Facts,
    Fold,
    Line,
    Part,
    Point,
    Section,
    Series,
    Table,
    Text,
)
from formwright.report.pages.codesign_told import METHODS, Told, best_entry, exact
from formwright.report.pages.study_words import figure, no_less, percent, spread

NEAR: Final = 1.01
"""A run has come to the best of all methods where it is within 1 % of it."""


def methods_section(told: Told) -> Section | None:
    methods = told.ceiling["methods"]
    if not methods:
        return None
    blocks: list[Block] = [Text(_words(told))]
    chart = quality(told)
    if chart is not None:
        blocks.append(chart)
    blocks.append(_table(told))
    meaning = tuple((m["method"], Cell(METHODS.get(m["method"], "-"))) for m in methods)
    blocks.append(Fold("What each method is free to choose", (Facts(meaning),)))
    notes = dict.fromkeys(m["note"] for m in methods if m["note"])
    for note in notes:
        names = ", ".join(m["method"] for m in methods if m["note"] == note)
        blocks.append(Text(f"{names}: {note}."))
    blocks += [Text(f"{note}.") for note in told.ceiling.get("notes") or ()]
    return Section("methods", "Methods: how near, for how much work", tuple(blocks))


def _words(told: Told) -> str:
    return (
        "All methods ask the same question, counted alike: what is the best software of this chip?"
        " One distinct question (a chip, and walls that are removed) is one inner problem; answers"
        " are exact. Bounds of boxes of chips and costings of given software are counted apart."
    )


def quality(told: Told) -> Chart | None:
    """Objective over the best known, against inner problems; one run a method, the median one."""
    best = told.ceiling["objective"]
    if not best:
        return None
    series = tuple(s for m in told.ceiling["methods"] if (s := _run(told, m, best)) is not None)
    if not series:
        return None
    return Chart(
        "Quality against inner problems",
        _quality_words(told),
        Axis("inner problems", "", "log"),
        Axis("objective over the best found", "", "log"),
        series,
        (Line("the best found", "y", 1.0),),
    )


def _quality_words(told: Told) -> str:
    reached = [m for m in told.ceiling["methods"] if any(m["reached_by"])]
    if not reached:
        return "No method came within 1 % of the best chip."
    named = [
        f"{m['method']} after {spread(m['solves_to_best'])}"
        + (
            f" in {sum(m['reached_by'])} of {len(m['reached_by'])} runs"
            if len(m["reached_by"]) > 1
            else ""
        )
        for m in reached
    ]
    return f"Within 1 % of the best chip: {'; '.join(named)}."


def _run(told: Told, row: Mapping[str, Any], best: float) -> Series | None:
    """The trajectory of the median run of a method, as its entry of the journal has it."""
    runs = [n for n, o in enumerate(row["objectives"]) if o is not None]
    if not runs:
        return None
    runs.sort(key=lambda n: (row["objectives"][n], n))
    at = runs[(len(runs) - 1) // 2]
    entry = row["entries"][at] if at < len(row["entries"]) else None
    reached = trajectory(told.kept.data(entry))
    if not reached:
        return None
    origin = told.kept.entry(entry)
    points = [Point(float(max(1, n)), value / best, origin=origin) for n, value in reached]
    ended = float(row["solves"][at])
    if ended > points[-1].x:
        points.append(Point(ended, points[-1].y, origin=origin))
    name = row["method"]
    if len(row["objectives"]) > 1:
        name = f"{name}, median of {len(row['objectives'])} runs"
    return Series(name, tuple(points), "steps", "modelled", lead=row["method"] == "sets")


def trajectory(data: Any) -> list[tuple[int, float]]:
    """Inner problems paid and the best objective then, of an outcome or of a relaxation's state."""
    if not isinstance(data, dict):
        return []
    rows: list[tuple[int, float]] = []
    if "trajectory" in data:
        reached = [(t["solves"], t["objective"]) for t in data["trajectory"]]
    else:
        model = data.get("model")
        reached = [
            (v["spent"]["solves"], v["objective"])
            for v in data.get("visited") or ()
            if v["model"] == model
        ]
    for solves, told in reached:
        objective = exact(told)
        if objective is not None and (not rows or objective < rows[-1][1]):
            rows.append((solves, objective))
    return rows


def _table(told: Told) -> Table:
    best = told.ceiling["objective"]
    several = any(len(m["objectives"]) > 1 for m in told.ceiling["methods"])
    bounds = any(any(m["relaxations"]) for m in told.ceiling["methods"])
    columns = [
        Column("method"),
        Column("objective, best run", told.goal.unit, number=True),
        Column("over the best", number=True),
    ]
    columns += [Column("median run over the best", number=True)] if several else []
    columns += [
        Column("area", "mm²", number=True),
        Column("inner problems", number=True),
        Column("until within 1 %", number=True),
    ]
    columns += [Column("bounds of boxes", number=True)] if bounds else []
    columns.append(Column("seconds", "s", number=True))
    rows = tuple(_row(told, m, best, several, bounds) for m in told.ceiling["methods"])
    says = "Several runs: the median, and in brackets the least and the most."
    return Table("Methods", tuple(columns), rows, says if several else "")


def _row(
    told: Told, m: Mapping[str, Any], best: float | None, several: bool, bounds: bool
) -> tuple[Cell, ...]:
    entry = best_entry(m)
    # What several runs have in the middle stands in no entry of one of them.
    only = entry if len(m["objectives"]) == 1 else None
    row = [
        Cell(m["method"]),
        told.cell(m["objective"], entry, digits=7, evidence="modelled"),
        _over(told, m["objective"], best, entry),
    ]
    if several:
        found = [o for o in m["objectives"] if o is not None]
        row.append(_over(told, median(found) if found else None, best, only))
    reached = sum(m["reached_by"])
    runs = len(m["reached_by"])
    until = spread(m["solves_to_best"]) if reached else "never"
    if reached and runs > 1:
        until += f" ({reached} of {runs} runs)"
    row += [
        told.cell(m["area"], entry, digits=4),
        Cell(spread(m["solves"]), _middle(m["solves"]), told.kept.entry(only)),
        Cell(until, _middle(m["solves_to_best"]) if reached else float("1e99")),
    ]
    row += [Cell(spread(m["relaxations"]), _middle(m["relaxations"]))] if bounds else []
    return (*row, Cell(spread(m["seconds"], 3), _middle(m["seconds"])))


def _over(told: Told, value: float | None, best: float | None, entry: int | None) -> Cell:
    if value is None or not best:
        return Cell("-", None)
    part = value / best - 1
    return Cell("0 %" if part < 1e-6 else f"+{percent(part)}", part, told.kept.entry(entry))


def _middle(values: Sequence[float]) -> float | None:
    return float(median(values)) if values else None


def sweep_section(told: Told) -> Section | None:
    """Several ceilings on the area: what each method reaches within each."""
    ceilings = told.result.get("ceilings") or ()
    if len(ceilings) < 2:
        return None
    names = list(dict.fromkeys(m["method"] for c in ceilings for m in c["methods"]))
    series = []
    for name in names:
        points = []
        for c in ceilings:
            row = next((m for m in c["methods"] if m["method"] == name), None)
            if row is None or row["objective"] is None or c["budget"] is None:
                continue
            origin = told.kept.entry(best_entry(row))
            points.append(Point(c["budget"], row["objective"], f"{name}", origin=origin))
        if points:
            series.append(Series(name, tuple(points), "line", "modelled", lead=name == "sets"))
    chart = Chart(
        "Objective against the ceiling on the area",
        _sweep_words(told, ceilings),
        Axis("ceiling", "mm²", "log"),
        told.axis(),
        tuple(series),
    )
    return Section("ceilings", "Ceilings on the area", (chart, _sweep_table(told, ceilings, names)))


def _sweep_words(told: Told, ceilings: Sequence[Mapping[str, Any]]) -> str:
    first = next((c for c in ceilings if c["objective"] is not None), None)
    last = ceilings[-1]
    if first is None or last["objective"] is None:
        return "No ceiling has a chip."
    return (
        f"From {told.objective(first['objective'], 4)} within {figure(first['budget'])} mm² to"
        f" {told.objective(last['objective'], 4)} within {figure(last['budget'])} mm²."
    )


def _sweep_table(told: Told, ceilings: Sequence[Mapping[str, Any]], names: list[str]) -> Table:
    columns = (
        Column("ceiling", "mm²", number=True),
        Column("chosen chip"),
        Column("area", "mm²", number=True),
        Column("objective", told.goal.unit, number=True),
        Column("gap to the bound", number=True),
        Column("found by"),
        *(Column(name, number=True) for name in names),
    )
    rows = []
    for c in ceilings:
        by = {m["method"]: m for m in c["methods"]}
        bound = c["entries"].get("bound")
        found = "none" if c["chip"] is None else told.fields.chip(c["chip"])
        rows.append(
            (
                told.cell(c["budget"]),
                Cell(found),
                told.cell(c["area"], digits=4),
                told.cell(c["objective"], c["entries"].get("scenarios"), evidence="modelled"),
                Cell(no_less(c["gap"]), c["gap"], told.kept.entry(bound)),
                Cell(c["found_by"] or "-"),
                *(
                    told.cell(by[n]["objective"], best_entry(by[n])) if n in by else Cell("-")
                    for n in names
                ),
            )
        )
    return Table("What each method reaches within each ceiling", columns, tuple(rows))


def generated_section(told: Told) -> Section | None:
    """Problems drawn at random, in which a set of walls pays only together."""
    rows: Sequence[Mapping[str, Any]] = told.result["generated"]
    if not rows:
        return None
    variants = [key.removesuffix("_found") for key in rows[0] if key.endswith("_found")]
    bars, table = [], []
    for hidden in dict.fromkeys(row["hidden"] for row in rows):
        same = [row for row in rows if row["hidden"] == hidden]
        for variant in variants:
            found = sum(row[f"{variant}_found"] for row in same)
            solves = [row[f"{variant}_solves"] for row in same]
            name = f"{variant}, {hidden} of {same[0]['walls']} walls"
            note = f"{found} of {len(same)}; inner problems {spread(solves)}"
            bars.append(Bar(name, (Part("found", found / len(same) * 100),), note))
            table.append(
                (
                    told.cell(hidden),
                    Cell(variant),
                    Cell(f"{found}/{len(same)}", found / len(same)),
                    Cell(spread(solves), float(median(solves))),
                    told.cell(same[0]["sets_of_that_size"]),
                )
            )
    says = (
        "Problems drawn at random, in each of which one set of walls pays only together. A run has"
        " found it where it ends at the best chip of the ceiling."
    )
    columns = (
        Column("hidden walls", number=True),
        Column("variant"),
        Column("found"),
        Column("inner problems", number=True),
        Column("sets of that size", number=True),
    )
    blocks = (
        Bars(
            "How often the hidden set was found", says, Axis("found", "%", high=100.0), tuple(bars)
        ),
        Table("Drawn problems", columns, tuple(table)),
    )
    return Section("generated", "Walls that pay only together", blocks)

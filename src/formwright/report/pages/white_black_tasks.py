"""One task of the study `white-black`: who ended with which kernel, how soon, at what cost."""

from collections.abc import Mapping
from statistics import median
from typing import Any, Final

from formwright.report.page import (
    Axis,
    Block,
    Cell,
    Chart,
    Column,
    Distributions,
    Fold,
    Point,
    Sample,
    Section,
    Series,
    Table,
)
from formwright.report.pages.study_sources import Kept
from formwright.report.pages.study_words import assignment, figure, ratio

FLOWS: Final = ("flow", "flow-transcript")
"""Rows of the flow itself, by proposer."""
MICRO: Final = 1e6
"""Microseconds in a second."""

Data = Mapping[str, Any]


def rows_of(task: Data) -> list[Data]:
    copied = task["copied"]
    return [*task["rows"], *([] if copied is None else [copied])]


def rivals_of(task: Data) -> list[Data]:
    return [r for r in task["rows"] if r["searcher"] not in FLOWS]


def surely_ahead(task: Data) -> bool:
    """Whether the intervals of all searchers show that the flow's kernel is the faster one."""
    ratios = [r["ratio"] for r in rivals_of(task) if r["ratio"] is not None]
    return bool(ratios) and all(r["low"] > 1 for r in ratios)


def extents(task: Data) -> str:
    return assignment(task["extents"])


def task_section(kept: Kept, task: Data) -> Section:
    blocks: list[Block] = []
    samples = _samples(kept, task)
    if samples:
        blocks.append(
            Distributions(
                "Times of a call of the kernels of the median seeds, round by round",
                "All were measured in turn in each round of one session, on new inputs.",
                Axis("time of a call", "s"),
                samples,
            )
        )
    blocks.append(_results(kept, task))
    blocks += _curves(kept, task)
    blocks.append(Fold("Every search", (_searches(kept, task),)))
    return Section(f"task-{task['name']}", f"{task['name']}: {extents(task)}", tuple(blocks))


def _median_run(row: Data) -> Data | None:
    """The search whose kernel has the median time: the lower one of an even number."""
    timed = [f for f in row["found"] if f["seconds"] is not None]
    timed.sort(key=lambda f: (f["seconds"], f["seed"]))
    return timed[(len(timed) - 1) // 2] if timed else None


def _samples(kept: Kept, task: Data) -> tuple[Sample, ...]:
    data = kept.data(task["entry"])
    rounds = data.get("rounds", {}) if isinstance(data, dict) else {}
    found = []
    for row in rows_of(task):
        run = _median_run(row)
        values = tuple(rounds.get(run["key"], {}).values()) if run is not None else ()
        if values:
            found.append(Sample(row["searcher"], values, "measured", kept.entry(task["entry"])))
    return tuple(found)


def _results(kept: Kept, task: Data) -> Table:
    columns = (
        Column("searcher"),
        Column("median seed", "µs", number=True),
        Column("fastest seed", "µs", number=True),
        Column("slowest seed", "µs", number=True),
        Column("takes times as long", number=True),
        Column("the flow is"),
        Column("kernels", number=True),
        Column("of them not right", number=True),
        Column("seconds spent", "s", number=True),
    )
    rows = tuple(_result(kept, task, row) for row in rows_of(task))
    says = (
        "Brackets: 95 % bootstrap interval of the ratio, paired by round. Ahead and behind are of"
        " the median; where the interval holds 1 the two are not told apart."
    )
    return Table(f"Searchers on {task['name']}", columns, rows, says)


def _result(kept: Kept, task: Data, row: Data) -> tuple[Cell, ...]:
    origin = kept.entry(task["entry"])
    seconds = row["seconds"] or {}
    times = [None if not seconds else seconds[n] * MICRO for n in ("median", "low", "high")]
    found = row["found"]
    held = row["ratio"]
    standing = row["standing"]
    kernels = median([f["evaluations"] for f in found]) if found else None
    spent = median([f["spent"] for f in found]) if found else None
    failures = sum(f["failures"] for f in found)
    told = standing or ("itself" if row["searcher"] in FLOWS else row["note"] or "not run")
    if standing in ("ahead", "behind") and held is not None and held["low"] <= 1 <= held["high"]:
        told += ", not told apart"
    return (
        Cell(row["searcher"]),
        *(Cell(figure(t, 4), t, origin, "measured" if t else None) for t in times),
        Cell(ratio(held), None if held is None else held["median"], origin),
        Cell(told),
        Cell(figure(kernels), kernels),
        Cell(f"{failures} of {sum(f['evaluations'] for f in found)}", failures),
        Cell(figure(spent, 3), spent),
    )


def _curves(kept: Kept, task: Data) -> list[Block]:
    """The best time that the median search knew, against kernels and against seconds."""
    charts: list[Block] = []
    for title, name, unit, at in (
        ("against kernels tried", "kernels tried", "", 0),
        ("against seconds spent", "time spent", "s", 1),
    ):
        series = []
        for row in task["rows"]:
            run = _median_run(row)
            if run is None or not run["curve"]:
                continue
            origin = kept.entry(run["entry"])
            points = [Point(float(step[at]), step[2], origin=origin) for step in run["curve"]]
            end = float(run["evaluations"] if at == 0 else run["spent"])
            if end > points[-1].x:
                points.append(Point(end, points[-1].y, origin=origin))
            lead = row["searcher"] == "flow"
            series.append(Series(row["searcher"], tuple(points), "steps", "measured", lead))
        if series:
            charts.append(
                Chart(
                    f"The best kernel so far, {title}",
                    "Of the median seed; times as the search itself measured them, which flatters"
                    " the fastest.",
                    Axis(name, unit),
                    Axis("time of a call", "s", "log"),
                    tuple(series),
                )
            )
    return charts


def _searches(kept: Kept, task: Data) -> Table:
    columns = (
        Column("searcher"),
        Column("seed", number=True),
        Column("final", "µs", number=True),
        Column("as searched", "µs", number=True),
        Column("kernels", number=True),
        Column("seconds", "s", number=True),
        Column("template"),
        Column("design"),
    )
    rows = []
    for row in rows_of(task):
        for f in row["found"]:
            final, seen = (
                None if f[n] is None else f[n] * MICRO for n in ("seconds", "searched_seconds")
            )
            origin = kept.entry(f["entry"])
            rows.append(
                (
                    Cell(row["searcher"]),
                    Cell(str(f["seed"]), f["seed"]),
                    Cell(figure(final, 4), final, kept.entry(task["entry"])),
                    Cell(figure(seen, 4), seen, origin),
                    Cell(str(f["evaluations"]), f["evaluations"]),
                    Cell(figure(f["spent"], 3), f["spent"], origin),
                    Cell(f["template"]),
                    Cell(assignment(f["assignment"])),
                )
            )
    return Table(f"Searches on {task['name']}", columns, tuple(rows), shown=20)

"""The page of the study `growth`: the same problems with and without what earlier ones left."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from formwright.report.page import (
    Axis,
    Block,
    Cell,
    Chart,
    Column,
    Facts,
    Fold,
    Line,
    Page,
    Point,
    Section,
    Series,
    Table,
    Text,
)
from formwright.report.pages.study_reading import study_page
from formwright.report.pages.study_sources import Kept
from formwright.report.pages.study_words import assignment, figure, ratio, spread
from formwright.report.pages.units import counted

ARMS: Final = ("with", "without")
MICRO: Final = 1e6

Data = Mapping[str, Any]


def growth_page(folder: Path) -> Page:
    """Raises ``InputError`` where the study has no result yet, or one that it did not write."""
    return study_page(folder, _page)


def _page(kept: Kept) -> Page:
    result = kept.result
    problems: Sequence[Data] = result["problems"]
    return Page(
        title="Growth: what a population of templates is worth to the next problem",
        kind="study growth",
        answer=_answer(problems),
        facts=_facts(kept, result),
        sections=(
            _first(kept, problems),
            _final(kept, problems),
            _runs(kept, problems),
            _grounds(),
        ),
        made=kept.made,
        entries=kept.book.texts(),
    )


def _drew(problems: Sequence[Data]) -> list[Data]:
    return [p for p in problems if any(r["drawn"] for r in _of(p, "with"))]


def _of(problem: Data, arm: str) -> list[Data]:
    return [r for r in problem["runs"] if r["arm"] == arm]


def _values(problem: Data, arm: str, name: str) -> list[float]:
    return [r[name] for r in _of(problem, arm) if r[name] is not None]


def _middle(problem: Data, arm: str, name: str) -> int | None:
    """The entry of the repeat that has the median, the lower one of an even number."""
    runs = sorted((r for r in _of(problem, arm) if r[name] is not None), key=lambda r: r[name])
    entry: int | None = runs[(len(runs) - 1) // 2]["entry"] if runs else None
    return entry


def _gain(problem: Data, name: str) -> float | None:
    """Without the population over with it, of the medians over the repeats."""
    ours, theirs = (_values(problem, arm, name) for arm in ARMS)
    return median(theirs) / median(ours) if ours and theirs and median(ours) else None


def _answer(problems: Sequence[Data]) -> tuple[str, ...]:
    drew = _drew(problems)
    found = [
        f"Of {counted(len(problems), 'problem')}, {len(drew)} drew templates that earlier ones had"
        " left in the population."
    ]
    later = [1 / v for p in drew if (v := _gain(p, "first_seconds"))]
    faster = [v for p in drew if (v := _gain(p, "first_latency"))]
    if later and faster:
        found.append(
            f"There the first kernel that holds took {_middle_of(later)} times the seconds that it"
            f" took without the population, and is {_middle_of(faster)} times as fast as the first"
            " one without it (medians over the problems; measured)."
        )
    finals = [p["ratio"] for p in drew if p["ratio"] is not None]
    if finals:
        middle = median(r["median"] for r in finals)
        unsure = sum(r["low"] <= 1 <= r["high"] for r in finals)
        told = (
            "No final kernel can be told apart from that without it"
            if unsure == len(finals)
            else f"The final kernel is {middle:.2f} times as fast as without it in the median of"
            " those problems"
        )
        found.append(f"{told}; {unsure} of {len(finals)} of the 95 % intervals hold 1.")
    faults = [r for p in problems for r in p["runs"] if r["fault"]]
    if faults:
        found.append(f"{counted(len(faults), 'run')} came to no kernel.")
    return tuple(found)


def _middle_of(values: Sequence[float]) -> str:
    least, most = min(values), max(values)
    return f"{median(values):.2f}" + (f" ({least:.2f} to {most:.2f})" if least < most else "")


def _facts(kept: Kept, result: Data) -> Facts:
    return Facts(
        (
            (
                "Problems, in order",
                Cell(", ".join(p["problem"]["name"] for p in result["problems"])),
            ),
            ("Repeats of the sequence", Cell(str(result["repeats"]), result["repeats"])),
            ("Generations of a run, at most", Cell(str(result["generations"]))),
            ("Threads", Cell(str(result["threads"]))),
            ("Every run ended with a kernel", Cell("yes" if result["held"] else "no")),
            ("Time taken", Cell(f"{figure(result['seconds'])} s", origin=kept.at("seconds"))),
        )
    )


def _series(
    kept: Kept, problems: Sequence[Data], name: str, unit: str, scale: float
) -> tuple[Series, ...]:
    found = []
    for arm in ARMS:
        points = []
        for at, problem in enumerate(problems, start=1):
            values = [v * scale for v in _values(problem, arm, name)]
            if not values:
                continue
            entry = _middle(problem, arm, name)
            label = f"{problem['problem']['name']}: {spread(values, 3)} {unit}"
            points.append(
                Point(float(at), median(values), label, min(values), max(values), kept.entry(entry))
            )
        if points:
            title = f"{arm} the population"
            found.append(Series(title, tuple(points), "points", "measured", arm == "with"))
    return tuple(found)


def _numbered(problems: Sequence[Data]) -> str:
    names = (f"{at} {p['problem']['name']}" for at, p in enumerate(problems, start=1))
    return f"Problems in the order of the sequence: {', '.join(names)}."


def _first(kept: Kept, problems: Sequence[Data]) -> Section:
    axis = Axis("problem", low=0.5, high=len(problems) + 0.5)
    charts: list[Block] = []
    for title, says, name, unit, scale in (
        ("When the first kernel held", "time until then", "first_seconds", "s", 1.0),
        ("The first kernel's time for a call", "time of a call", "first_latency", "µs", MICRO),
    ):
        series = _series(kept, problems, name, unit, scale)
        if series:
            y = Axis(says, unit, "log")
            charts.append(Chart(title, _numbered(problems), axis, y, series))
    columns = (
        Column("problem"),
        Column("templates drawn", number=True),
        Column("first kernel, with", "s", number=True),
        Column("first kernel, without", "s", number=True),
        Column("sooner by", "times", number=True),
        Column("its call, with", "µs", number=True),
        Column("its call, without", "µs", number=True),
    )
    rows = tuple(_first_row(kept, p) for p in problems)
    table = Table("The first kernel that was validated and measured", columns, rows)
    return Section("first", "The first kernel: how soon, and how fast", (*charts, table))


def _first_row(kept: Kept, problem: Data) -> tuple[Cell, ...]:
    drawn = [len(r["drawn"]) for r in _of(problem, "with")]
    cells = [Cell(_name(problem)), Cell(spread(drawn), float(max(drawn, default=0)))]
    cells += [_cell(kept, problem, arm, "first_seconds", 1.0) for arm in ARMS]
    gain = _gain(problem, "first_seconds")
    cells.append(Cell("-" if gain is None else f"{gain:.2f}", gain))
    return (*cells, *(_cell(kept, problem, arm, "first_latency", MICRO) for arm in ARMS))


def _cell(kept: Kept, problem: Data, arm: str, name: str, unit: float) -> Cell:
    values = [v * unit for v in _values(problem, arm, name)]
    if not values:
        return Cell("-")
    entry = _middle(problem, arm, name)
    return Cell(spread(values, 3), float(median(values)), kept.entry(entry), "measured")


def _name(problem: Data) -> str:
    posed = problem["problem"]
    return f"{posed['name']} ({posed['operator']} {assignment(posed['extents'])})"


def _final(kept: Kept, problems: Sequence[Data]) -> Section:
    points = tuple(
        Point(
            float(at),
            p["ratio"]["median"],
            f"{p['problem']['name']}: {ratio(p['ratio'])}",
            p["ratio"]["low"],
            p["ratio"]["high"],
            kept.entry(_compared(kept, at, p)),
        )
        for at, p in enumerate(problems, start=1)
        if p["ratio"] is not None
    )
    blocks: list[Block] = [
        Text(
            "The kernels that both arms ended with, timed side by side on new inputs and paired by"
            " round: above 1 the population helped, an interval that holds 1 tells nothing apart."
        )
    ]
    if points:
        blocks.append(
            Chart(
                "The final kernel without the population over the one with it",
                _numbered(problems),
                Axis("problem", low=0.5, high=len(problems) + 0.5),
                Axis("ratio of times", "", "log"),
                (Series("without over with", points, "points", "measured", True),),
                (Line("no difference", "y", 1.0),),
            )
        )
    columns = (
        Column("problem"),
        Column("without over with", number=True),
        Column("final call, with", "µs", number=True),
        Column("final call, without", "µs", number=True),
    )
    rows = tuple(
        (
            Cell(_name(p)),
            Cell(
                ratio(p["ratio"]),
                None if p["ratio"] is None else p["ratio"]["median"],
                kept.entry(_compared(kept, at, p)),
            ),
            *(_cell(kept, p, arm, "latency", MICRO) for arm in ARMS),
        )
        for at, p in enumerate(problems, start=1)
    )
    blocks.append(Table("The final kernels", columns, rows))
    return Section("final", "The final kernel", tuple(blocks))


def _compared(kept: Kept, at: int, problem: Data) -> int | None:
    """The entry of the first comparison of a problem's kernels."""
    return kept.keyed(f"compare/0/{at:02d}-{problem['problem']['name']}")


def _runs(kept: Kept, problems: Sequence[Data]) -> Section:
    columns = (
        Column("problem"),
        Column("population"),
        Column("repeat", number=True),
        Column("drawn"),
        Column("proposed", number=True),
        Column("proved", number=True),
        Column("template"),
        Column("rule"),
        Column("seconds", "s", number=True),
        Column("fault"),
    )
    rows = tuple(
        (
            Cell(p["problem"]["name"]),
            Cell(r["arm"]),
            Cell(str(r["repeat"] + 1), float(r["repeat"])),
            Cell(", ".join(r["drawn"]) or "-"),
            Cell(str(r["proposed"]), r["proposed"], kept.entry(r["entry"])),
            Cell(str(r["proved"]), r["proved"], kept.entry(r["entry"])),
            Cell(r["template"] or "-"),
            Cell(r["rule"] or "-"),
            Cell(figure(r["seconds"], 3), r["seconds"], kept.entry(r["entry"])),
            Cell(r["fault"] or "-"),
        )
        for p in problems
        for r in p["runs"]
    )
    table = Table("Every run", columns, rows, "Proposed, proved: of the texts of this run.")
    return Section("runs", "Every run", (Fold("The runs one by one", (table,)),))


def _grounds() -> Section:
    facts = Facts(
        (
            ("Times", Cell("of whole processes and of calls on this machine", evidence="measured")),
            ("Kernels", Cell("validated against the contract, not qualified", evidence="tested")),
            ("What differs", Cell("the population alone; the arms go first in turn")),
            ("To get it again", Cell("formwright study growth --out DIR")),
        )
    )
    says = Text(
        "What this does not say: both arms keep a cache of proofs along the sequence, so that a"
        " proof that comes again is cheap in both; the sequence is one of our choice."
    )
    return Section("grounds", "How the numbers were obtained", (facts, says))

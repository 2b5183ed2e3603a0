"""The page of the study `white-black`: the flow against searchers that see a space and a clock."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from formwright.report.page import (
    Axis,
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
from formwright.report.pages.study_words import figure, listed, ratio
from formwright.report.pages.units import counted
from formwright.report.pages.white_black_tasks import (
    FLOWS,
    MICRO,
    Data,
    extents,
    rivals_of,
    rows_of,
    surely_ahead,
    task_section,
)

SEARCHERS: Final[Mapping[str, str]] = {
    "flow": "solves with the present coefficients, measures designs that differ, refits, again",
    "flow-transcript": "the same, on a recorded agent's program",
    "random": "designs of the space, none twice",
    "optuna-tpe": "Optuna's tree-structured Parzen estimator over places in the menus",
    "kernel-tuner-annealing": "Kernel Tuner's simulated annealing",
    "kernel-tuner-greedy": "Kernel Tuner's greedy iterated local search",
    "kernel-tuner-genetic": "Kernel Tuner's genetic algorithm",
    "evolution": "a population of programs: other values, or another program by the rules",
    "evolution-transcript": "the same, with programs of a recorded agent",
    "copied": "the control, no search: the best of a neighbouring task, asked for once",
}
"""What each searcher does."""
BESIDE: Final = 0.1
"""Marks of one task stand so far apart, in tasks."""


def white_black_page(folder: Path) -> Page:
    """Raises ``InputError`` where the study has no result yet, or one that it did not write."""
    return study_page(folder, _page)


def _page(kept: Kept) -> Page:
    result = kept.result
    tasks: Sequence[Data] = result["tasks"]
    return Page(
        title="White box and black boxes: who finds the faster kernel",
        kind="study white-black",
        answer=_answer(result, tasks),
        facts=_facts(kept, result),
        sections=(
            _overview(kept, tasks),
            *(task_section(kept, task) for task in tasks),
            _grounds(kept, result),
        ),
        made=kept.made,
        entries=kept.book.texts(),
    )


def _answer(result: Data, tasks: Sequence[Data]) -> tuple[str, ...]:
    ahead = [t["name"] for t in tasks if t["ahead"]]
    ratios = [r["ratio"] for t in tasks for r in rivals_of(t) if r["ratio"] is not None]
    sure = sum(t["ahead"] and surely_ahead(t) for t in tasks)
    text = (
        f"The flow's kernel takes less time than that of every searcher on {len(ahead)} of"
        f" {counted(len(tasks), 'task')}, in the median of {counted(result['seeds'], 'seed')}"
        f" (measured); on {sure} of them every 95 % interval shows it."
    )
    found = [text]
    if ratios:
        low, high = min(r["median"] for r in ratios), max(r["median"] for r in ratios)
        unsure = sum(r["low"] <= 1 <= r["high"] for r in ratios)
        found.append(
            f"A searcher's kernel takes {low:.2f} to {high:.2f} times as long as the flow's, over"
            f" {counted(len(ratios), 'pair')} of a task and a searcher. {unsure} of their 95 %"
            " intervals hold 1: those two kernels cannot be told apart."
        )
    behind = [_closest(t) for t in tasks if not t["ahead"]]
    if behind:
        found.append(f"It is not ahead on {listed([b for b in behind if b])}.")
    found.append(
        f"Every search may try {counted(result['evaluations'], 'distinct kernel')} and take"
        f" {figure(result['budget_seconds'])} s; the kernels that searches ended with were measured"
        " afresh, interleaved, on new inputs."
    )
    return tuple(found)


def _closest(task: Data) -> str:
    rivals = [r for r in rivals_of(task) if r["ratio"] is not None]
    if not rivals:
        return f"{task['name']} (no other searcher was run)"
    near = min(rivals, key=lambda r: r["ratio"]["median"])
    return f"{task['name']} ({near['searcher']}: {near['ratio']['median']:.3f})"


def _facts(kept: Kept, result: Data) -> Facts:
    return Facts(
        (
            ("Chip", Cell(result["chip"], origin=kept.entry(kept.keyed("chip")))),
            ("Threads", Cell(str(result["threads"]), float(result["threads"]))),
            ("Seeds of each searcher", Cell(str(result["seeds"]), float(result["seeds"]))),
            ("Kernels of a search", Cell(str(result["evaluations"]), result["evaluations"])),
            ("Seconds of a search", Cell(figure(result["budget_seconds"]))),
            ("Distinct kernels built", Cell(f"{result['kernels']:,}", result["kernels"])),
            (
                "The study's claim",
                Cell(
                    "ahead on four of five tasks, and behind none by more than 2 % on the others",
                    standing="held" if result["held"] else "refuted",
                ),
            ),
        )
    )


def _overview(kept: Kept, tasks: Sequence[Data]) -> Section:
    names = list(dict.fromkeys(r["searcher"] for t in tasks for r in rows_of(t)))
    series = []
    others = [n for n in names if n not in FLOWS]
    for number, name in enumerate(others):
        beside = (number - (len(others) - 1) / 2) * BESIDE
        points = tuple(
            Point(
                at + beside,
                row["ratio"]["median"],
                f"{task['name']}: {ratio(row['ratio'])}",
                row["ratio"]["low"],
                row["ratio"]["high"],
                kept.entry(task["entry"]),
            )
            for at, task in enumerate(tasks, start=1)
            for row in rows_of(task)
            if row["searcher"] == name and row["ratio"] is not None
        )
        if points:
            series.append(Series(name, points, "points", "measured"))
    numbered = ", ".join(f"{at} {t['name']}" for at, t in enumerate(tasks, start=1))
    chart = Chart(
        "How much longer the other kernels take",
        f"Above 1 the flow's kernel is faster. Bars: 95 % intervals. Tasks: {numbered}.",
        Axis("task", low=0.5, high=len(tasks) + 0.5),
        Axis("time over the flow's", "", "log"),
        tuple(series),
        (Line("the flow's kernel", "y", 1.0),),
    )
    columns = (
        Column("task"),
        Column("template"),
        Column("designs", number=True),
        Column("the flow's kernel", "µs", number=True),
        Column("closest searcher"),
        Column("takes times as long", number=True),
        Column("the flow is"),
    )
    rows = tuple(_overview_row(kept, task) for task in tasks)
    return Section("tasks", "All tasks", (chart, Table("Tasks", columns, rows), _searchers(names)))


def _overview_row(kept: Kept, task: Data) -> tuple[Cell, ...]:
    origin = kept.entry(task["entry"])
    flow = next((r for r in task["rows"] if r["searcher"] == "flow"), None)
    rivals = [r for r in rivals_of(task) if r["ratio"] is not None]
    near = min(rivals, key=lambda r: r["ratio"]["median"], default=None)
    time = None if flow is None or flow["seconds"] is None else flow["seconds"]["median"] * MICRO
    ahead = "ahead of all in the median" if task["ahead"] else "not ahead of all"
    if task["ahead"] and not surely_ahead(task):
        ahead += ", not told apart from all"
    return (
        Cell(f"{task['name']} ({extents(task)})"),
        Cell(task["template"], evidence="proved" if task["proof"] == "proved" else None),
        Cell(f"{task['designs']:,}", task["designs"]),
        Cell(figure(time, 4), time, origin, "measured"),
        Cell("-" if near is None else near["searcher"]),
        Cell("-")
        if near is None
        else Cell(ratio(near["ratio"]), near["ratio"]["median"], origin, "measured"),
        Cell(ahead),
    )


def _searchers(names: Sequence[str]) -> Fold:
    rows = tuple((Cell(n), Cell(SEARCHERS.get(n, ""))) for n in names)
    columns = (Column("searcher"), Column("what it does"))
    return Fold("What each searcher does", (Table("Searchers", columns, rows),))


def _grounds(kept: Kept, result: Data) -> Section:
    how = Facts(
        (
            (
                "Times",
                Cell(
                    "of a call on this machine, all finalists in turn in each round of one session",
                    evidence="measured",
                ),
            ),
            (
                "Right or not",
                Cell(
                    "each kernel is validated against the contract before it is timed, and its"
                    " outputs are compared again while it is",
                    evidence="tested",
                ),
            ),
            (
                "Templates",
                Cell(
                    "the programs of the space are shown right once for all designs",
                    evidence="proved",
                ),
            ),
            (
                "Time taken",
                Cell(f"{figure(result['seconds'])} s", result["seconds"], kept.at("seconds")),
            ),
            ("To get it again", Cell("formwright study white-black --out DIR")),
        )
    )
    says = Text(
        "What this does not say: the space is one template's, so what is compared is finding a good"
        " design in it; only the evolutionary searcher may leave it. Budgets are small, since"
        " a large one finds the best design by trying them all. The coefficients that the flow's"
        " model begins with were set on this kind of machine before."
    )
    return Section("grounds", "How the numbers were obtained", (how, says))

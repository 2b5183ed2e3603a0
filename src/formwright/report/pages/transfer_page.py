"""The page of the study `transfer`: known families at shapes that nobody tuned them for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
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
    Origin,
    Page,
    Point,
    Section,
    Series,
    Table,
    Text,
)
from formwright.report.pages.entries import Book, journal_in, read_entries
from formwright.report.pages.study_reading import study_page
from formwright.report.pages.study_sources import Kept
from formwright.report.pages.study_words import assignment, figure, ratio
from formwright.report.pages.units import counted

PICKS: Final[Mapping[str, str]] = {
    "selected": "the model's choice, with what three designs of the source have taught it",
    "shipped": "the model's choice, with the coefficients of the text",
    "copied": "the source's measured best",
    "best": "the fastest of a search at the target",
}
"""How a design at the target is come by."""

NEAR: Final = 1.05
"""A choice is near where it takes at most so many times as long as the best that was found."""
MICRO: Final = 1e6

Data = Mapping[str, Any]


def transfer_page(folder: Path) -> Page:
    """Raises ``InputError`` where the study has no result yet, or one that it did not write."""
    return study_page(folder, _page)


def _page(kept: Kept) -> Page:
    result = kept.result
    tasks: Sequence[Data] = result["tasks"]
    origins = {t["task"]["name"]: _origins(kept, t) for t in tasks}
    return Page(
        title="Transfer: a template at shapes that nobody tuned it for",
        kind="study transfer",
        answer=_answer(tasks),
        facts=_facts(kept, result),
        sections=(
            _quality(tasks, origins),
            _costs(tasks, origins),
            _picks(tasks, origins),
            _grounds(),
        ),
        made=kept.made,
        entries=kept.book.texts(),
    )


@dataclass(frozen=True, slots=True)
class Origins:
    """The entries of a task's own journal: of its choice, its search and its comparison."""

    chosen: Origin | None
    searched: Origin | None
    compared: Origin | None


def _origins(kept: Kept, task: Data) -> Origins:
    name = str(task["task"]["name"])
    # A result that names a folder elsewhere does not get what stands there into the page.
    inside = Path(name).name == name and name not in ("", "..")
    journal = journal_in(kept.folder / name) if inside else None
    if journal is None:
        return Origins(None, None, None)
    book = Book(read_entries(journal), journal.name, name)
    compared = book.keys(f"compare/{name}/")
    found = Origins(
        book.origin(f"choose/{name}"),
        book.origin(f"search/{name}"),
        book.origin(compared[0]) if compared else None,
    )
    kept.book.add(book)
    return found


def _answer(tasks: Sequence[Data]) -> tuple[str, ...]:
    near = [t for t in tasks if _near(t)]
    copies = [t["copied_over_selected"] for t in tasks if t["copied_over_selected"] is not None]
    faster, slower = sum(c["low"] > 1 for c in copies), sum(c["high"] < 1 for c in copies)
    one = [t for t in tasks if t["copied_over_selected"] is None and _one(t, "copied", "selected")]
    same = len(copies) - faster - slower + len(one)
    found = [
        f"On {len(near)} of {counted(len(tasks), 'task')} the model's choice, with nothing measured"
        " at the target, is within 5 % of the best kernel that a search there found (measured,"
        " in the median).",
        f"It is faster than the copied best of the source on {faster} and slower on {slower}; on"
        f" {same} the two are one kernel or cannot be told apart.",
    ]
    if faster + slower + same < len(tasks):
        found.append(f"On {len(tasks) - faster - slower - same} one of the two has no time.")
    if tasks:
        solve = max(t["solve_seconds"]["median"] for t in tasks)
        build = max(t["build_seconds"]["median"] for t in tasks)
        search = min(t["searched_seconds"] for t in tasks)
        found.append(
            f"Choosing takes {figure(solve, 2)} s and building {figure(build, 2)} s at most; the"
            f" shortest search takes {figure(search, 3)} s. Nothing is proved anew: the proof holds"
            " for the family."
        )
    missing = [t["task"]["name"] for t in tasks if not t["held"]]
    if missing:
        found.append(f"No kernel of the choice held on {', '.join(missing)}.")
    return tuple(found)


def _one(task: Data, first: str, second: str) -> bool:
    """Whether two picks are one kernel, which holds and was timed."""
    a, b = task[first], task[second]
    return a["seconds"] is not None and b["seconds"] is not None and a["key"] == b["key"]


def _near(task: Data) -> bool:
    """A choice without a time is near to nothing."""
    ratio_of = task["selected_over_best"]
    if ratio_of is None:
        return _one(task, "selected", "best")
    return bool(ratio_of["median"] <= NEAR)


def _facts(kept: Kept, result: Data) -> Facts:
    return Facts(
        (
            ("Chip", Cell(result["chip"], origin=kept.entry(kept.keyed("chip")))),
            ("Threads", Cell(str(result["threads"]))),
            ("Repeats", Cell(str(result["repeats"]))),
            ("Tasks", Cell(str(len(result["tasks"])), float(len(result["tasks"])))),
            ("Every choice is a kernel that holds", Cell("yes" if result["held"] else "no")),
            ("Time taken", Cell(f"{figure(result['seconds'])} s", origin=kept.at("seconds"))),
        )
    )


def _quality(tasks: Sequence[Data], origins: Mapping[str, Origins]) -> Section:
    series = []
    for title, name, beside in (
        ("the choice over the best found", "selected_over_best", -0.1),
        ("the copy over the choice", "copied_over_selected", 0.1),
    ):
        points = tuple(
            Point(
                at + beside,
                t[name]["median"],
                f"{t['task']['name']}: {ratio(t[name])}",
                t[name]["low"],
                t[name]["high"],
                origins[t["task"]["name"]].compared,
            )
            for at, t in enumerate(tasks, start=1)
            if t[name] is not None
        )
        if points:
            lead = name == "selected_over_best"
            series.append(Series(title, points, "points", "measured", lead))
    numbered = ", ".join(f"{at} {t['task']['name']}" for at, t in enumerate(tasks, start=1))
    blocks: list[Block] = []
    if series:
        blocks.append(
            Chart(
                "How good the choice is",
                "Above 1 the second one is faster; a task without a mark has one kernel for both."
                f" Tasks: {numbered}.",
                Axis("task", low=0.5, high=len(tasks) + 0.5),
                Axis("ratio of times", "", "log"),
                tuple(series),
                (Line("no difference", "y", 1.0),),
            )
        )
    columns = (
        Column("task"),
        Column("what it is"),
        Column("template"),
        Column("from"),
        Column("to"),
        Column("choice over best found", number=True),
        Column("copy over choice", number=True),
        Column("choice", "µs", number=True),
        Column("best found", "µs", number=True),
    )
    rows = tuple(_quality_row(t, origins[t["task"]["name"]]) for t in tasks)
    blocks.append(Table("Tasks", columns, rows, "Ratios: median and 95 % interval, paired."))
    return Section("quality", "How good the choice is", tuple(blocks))


def _quality_row(task: Data, origins: Origins) -> tuple[Cell, ...]:
    about = task["task"]
    ratios = (
        (task["selected_over_best"], _one(task, "selected", "best")),
        (task["copied_over_selected"], _one(task, "copied", "selected")),
    )
    return (
        Cell(about["name"]),
        Cell(about["what"]),
        Cell(about["template"], evidence="proved" if task["proof"] == "proved" else None),
        Cell(assignment(about["source"])),
        Cell(assignment(about["target"])),
        *(_ratio_cell(r, one, origins) for r, one in ratios),
        _time(task["selected"], origins),
        _time(task["best"], origins),
    )


def _ratio_cell(found: Data | None, one: bool, origins: Origins) -> Cell:
    if found is not None:
        return Cell(ratio(found), found["median"], origins.compared, "measured")
    return Cell("one kernel", 1.0) if one else Cell("not compared")


def _time(pick: Data, origins: Origins) -> Cell:
    seconds = pick["seconds"]
    if seconds is None:
        return Cell(pick["note"] or "-")
    value = seconds["median"] * MICRO
    return Cell(figure(value, 4), value, origins.compared, "measured")


def _costs(tasks: Sequence[Data], origins: Mapping[str, Origins]) -> Section:
    columns = (
        Column("task"),
        Column("designs weighed", number=True),
        Column("choosing", "s", number=True),
        Column("building", "s", number=True),
        Column("validating", "s", number=True),
        Column("search at the target", "s", number=True),
        Column("designs it measured", number=True),
    )
    rows = tuple(
        (
            Cell(t["task"]["name"]),
            Cell(f"{t['designs']:,}", t["designs"], origins[t["task"]["name"]].searched),
            *(
                Cell(figure(t[n]["median"], 3), t[n]["median"], evidence="measured")
                for n in ("solve_seconds", "build_seconds")
            ),
            Cell(figure(t["validate_seconds"], 3), t["validate_seconds"]),
            Cell(
                figure(t["searched_seconds"], 3),
                t["searched_seconds"],
                origins[t["task"]["name"]].searched,
                "measured",
            ),
            Cell(str(t["searched"]), t["searched"]),
        )
        for t in tasks
    )
    table = Table("Seconds to a kernel at the target", columns, rows)
    return Section("costs", "What it costs to get there", (table,))


def _picks(tasks: Sequence[Data], origins: Mapping[str, Origins]) -> Section:
    columns = (
        Column("task"),
        Column("pick"),
        Column("design"),
        Column("median", "µs", number=True),
        Column("least", "µs", number=True),
        Column("largest", "µs", number=True),
        Column("note"),
    )
    rows = []
    for t in tasks:
        for name in PICKS:
            pick = t[name]
            times = pick["seconds"] or {}
            values = [times[n] * MICRO if times else None for n in ("median", "low", "high")]
            origin = origins[t["task"]["name"]].compared
            rows.append(
                (
                    Cell(t["task"]["name"]),
                    Cell(name),
                    Cell(
                        assignment(pick["assignment"]) or "-",
                        origin=origins[t["task"]["name"]].chosen,
                    ),
                    *(Cell(figure(v, 4), v, origin) for v in values),
                    Cell(pick["note"] or "-"),
                )
            )
    meaning = Facts(tuple((name, Cell(text)) for name, text in PICKS.items()))
    table = Table("Designs at the target", columns, tuple(rows))
    return Section("picks", "Four ways to a design", (meaning, Fold("The designs", (table,))))


def _grounds() -> Section:
    facts = Facts(
        (
            (
                "Times",
                Cell(
                    "of calls on this machine, side by side, on new inputs in each repeat",
                    evidence="measured",
                ),
            ),
            ("Templates", Cell("shown right once for the whole family", evidence="proved")),
            ("Kernels", Cell("validated against the contract", evidence="tested")),
            ("Where the entries are", Cell("each task has a journal in a folder of its own")),
            ("To get it again", Cell("formwright study transfer --out DIR")),
        )
    )
    says = Text(
        "What this does not say: the best is the best that a search found, not the optimum of the"
        " chip. The coefficients that the model begins with were set on this kind of machine"
        " before."
    )
    return Section("grounds", "How the numbers were obtained", (facts, says))

"""The study `white-black` for people, and as files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from formwright.base.files import write_json, write_text
from formwright.flow.study_results import BEHIND, Row, Spread, TaskResult, WhiteBlack
from formwright.report.codesign_files import csv_text
from formwright.report.tables import print_table, print_title


def print_white_black(console: Console, result: WhiteBlack) -> None:
    """A table for each task, then the line that sums it up."""
    for task in result.tasks:
        _print_task(console, task)
    print(f"  {summary(result)}")


def summary(result: WhiteBlack) -> str:
    """On how many tasks the flow is ahead of all searchers, and by how much it is behind."""
    ahead = [t.name for t in result.tasks if t.ahead]
    behind = [
        f"{t.name} {t.worst.ratio.median - 1:+.1%} to {t.worst.searcher}"
        for t in result.tasks
        if not t.ahead and t.worst is not None and t.worst.ratio is not None
    ]
    told = f"ahead of every searcher in the median of {result.seeds} seeds on {len(ahead)} of"
    told += f" {len(result.tasks)} tasks (measured)"
    if behind:
        told += f"; on the others the closest is {', '.join(behind)} (at most -{BEHIND:.0%} holds)"
    return told


COLUMNS = ("searcher", "us (seeds)", "to the flow", "spent", "flow is")


def _print_task(console: Console, task: TaskResult) -> None:
    extents = " ".join(f"{n}={v}" for n, v in task.extents.items())
    title = f"{task.name}: {task.template} ({task.proof}), {extents}, {task.designs} designs"
    print_title(console, title)
    rows = [_cells(r) for r in (*task.rows, *([] if task.copied is None else [task.copied]))]
    print_table(console, COLUMNS, rows, frozenset((1, 2, 3)))
    console.print()


def _cells(row: Row) -> tuple[str, ...]:
    found = row.found
    middle = sorted(f.evaluations for f in found)[len(found) // 2] if found else 0
    spent = sorted(f.spent for f in found)[len(found) // 2] if found else 0.0
    ratio = row.ratio
    return (
        row.searcher,
        "-" if row.seconds is None else _micro(row.seconds),
        "" if ratio is None else f"{ratio.median:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]",
        f"{middle}, {spent:.0f} s",
        _standing(row),
    )


def _standing(row: Row) -> str:
    """Of the median; where the interval holds 1, that says little, and must not read as more."""
    if row.standing is None:
        return "not run" if row.note.startswith("not run") else ""
    unsure = row.ratio is not None and row.ratio.low <= 1 <= row.ratio.high
    return row.standing + (", not told apart" if unsure and row.standing != "even" else "")


def _micro(seconds: Spread) -> str:
    """The median, and the least and the largest of the seeds, in microseconds."""
    values = (seconds.median, seconds.low, seconds.high)
    median, low, high = (f"{v * 1e6:.{1 if v < 1e-3 else 0}f}" for v in values)
    return f"{median} ({low}-{high})"


def report_text(result: WhiteBlack) -> str:
    """The tables as Markdown, with what they were made by."""
    lines = [
        "# White box and black boxes",
        "",
        f"`formwright study white-black`, chip `{result.chip}`, {result.threads} thread(s),"
        f" {result.seeds} seeds, {result.evaluations} kernels and"
        f" {result.budget_seconds:g} s a search at most; {result.kernels} kernels in all.",
        "",
        f"The flow is {summary(result)}.",
    ]
    for task in result.tasks:
        extents = " ".join(f"{n}={v}" for n, v in task.extents.items())
        lines += [
            "",
            f"## {task.name}",
            "",
            f"`{task.template}` ({task.proof}), {extents}, {task.designs} designs. Times of a call:"
            " the median of the seeds, the least and the largest (`measured`).",
            "",
            "| searcher | us | to the flow [95 %] | kernels and seconds | the flow is |",
            "| --- | --: | --: | --: | --- |",
        ]
        for row in (*task.rows, *([] if task.copied is None else [task.copied])):
            lines.append(f"| {' | '.join(_cells(row))} |")
    return "\n".join(lines) + "\n"


def write_white_black(result: WhiteBlack, folder: Path) -> tuple[Path, ...]:
    """``result.json``, two tables and ``report.md``, each whole or not at all."""
    searches = [_search_row(t, r, n) for t, r, n in _searches(result)]
    curves = [row for t, r, n in _searches(result) for row in _curve_rows(t, r, n)]
    names = ("result.json", "searches.csv", "curves.csv", "report.md")
    written = [folder / name for name in names]
    write_json(written[0], result.as_json())
    write_text(written[1], csv_text(searches))
    write_text(written[2], csv_text(curves))
    write_text(written[3], report_text(result))
    return tuple(written)


def _searches(result: WhiteBlack) -> list[tuple[TaskResult, Row, int]]:
    return [
        (task, row, n)
        for task in result.tasks
        for row in (*task.rows, *([] if task.copied is None else [task.copied]))
        for n in range(len(row.found))
    ]


def _search_row(task: TaskResult, row: Row, number: int) -> Mapping[str, Any]:
    found = row.found[number]
    return {
        "task": task.name,
        "searcher": row.searcher,
        "seed": found.seed,
        "seconds": found.seconds,
        "searched_seconds": found.searched_seconds,
        "evaluations": found.evaluations,
        "failures": found.failures,
        "spent_seconds": found.spent,
        "template": found.template,
        "assignment": " ".join(f"{n}={v}" for n, v in found.assignment.items()),
        "kernel": found.key,
        "entry": found.entry,
    }


def _curve_rows(task: TaskResult, row: Row, number: int) -> list[Mapping[str, Any]]:
    found = row.found[number]
    return [
        {
            "task": task.name,
            "searcher": row.searcher,
            "seed": found.seed,
            "evaluations": evaluations,
            "spent_seconds": spent,
            "searched_seconds": seconds,
        }
        for evaluations, spent, seconds in found.curve
    ]

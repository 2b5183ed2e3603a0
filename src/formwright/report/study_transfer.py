"""The study `transfer` for people, and as files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from formwright.base.files import write_json, write_text
from formwright.flow.study_results import Spread
from formwright.flow.transfer_results import Pick, Transferred, TransferStudy
from formwright.report.codesign_files import csv_text
from formwright.report.tables import print_table, print_title

_RIGHT = ("solve ms", "build s", "search s", "selected us", "copy/sel", "sel/best")


def print_transfer(console: Console, result: TransferStudy) -> None:
    """One table, then the line that sums it up."""
    title = f"transfer: {result.threads} thread(s), {result.repeats} repeats, measured"
    print_title(console, title)
    rows = [_cells(row) for row in result.rows]
    print_table(console, ("task", *_RIGHT), rows, frozenset(range(1, 1 + len(_RIGHT))))
    print(f"  {summary(result)}")


def summary(result: TransferStudy) -> str:
    """How the choice stands to the copy and to the best, over the tasks."""
    near = [r for r in result.rows if _near(r)]
    ahead = [r for r in result.rows if r.copied_over_selected and r.copied_over_selected.low > 1]
    behind = [r for r in result.rows if r.copied_over_selected and r.copied_over_selected.high < 1]
    untimed = [r for r in result.rows if _ratio_of(r, "copied", "selected") == NO_TIME]
    return (
        f"selected with nothing measured at the target: within 5 % of the best found on"
        f" {len(near)} of {len(result.rows)}; faster than the copy on {len(ahead)},"
        f" slower on {len(behind)}, the rest not told apart or the same kernel"
    ) + (f"; {len(untimed)} not compared" if untimed else "")


NO_TIME = "-"
"""What stands for a ratio where one of the two kernels has no time."""


def _near(row: Transferred) -> bool:
    """A choice without a time is near to nothing."""
    found = row.selected_over_best
    if found is None:
        return _ratio_of(row, "selected", "best") == "same"
    return found.median <= 1.05


def _ratio_of(row: Transferred, slower: str, faster: str) -> str:
    """The ratio of two picks, or ``same`` for one kernel that was timed."""
    found: Spread | None = getattr(row, f"{slower}_over_{faster}")
    if found is not None:
        return f"{found.median:.3f} ({found.low:.2f}-{found.high:.2f})"
    a, b = getattr(row, slower), getattr(row, faster)
    return "same" if a.key == b.key and a.seconds is not None else NO_TIME


def _cells(row: Transferred) -> tuple[str, ...]:
    return (
        row.task.name,
        f"{row.solve_seconds.median * 1e3:.0f}",
        f"{row.build_seconds.median:.2f}",
        f"{row.searched_seconds:.0f}",
        _micro(row.selected),
        _ratio_of(row, "copied", "selected"),
        _ratio_of(row, "selected", "best"),
    )


def _micro(pick: Pick) -> str:
    return "-" if pick.seconds is None else f"{pick.seconds.median * 1e6:.1f}"


def write_transfer(result: TransferStudy, folder: Path) -> tuple[Path, ...]:
    """``result.json`` and ``transfer.csv``, each whole or not at all."""
    written = (folder / "result.json", folder / "transfer.csv")
    write_json(written[0], result.as_json())
    write_text(written[1], csv_text([_row(r) for r in result.rows]))
    return written


def _row(row: Transferred) -> Mapping[str, Any]:
    picks = {"selected": row.selected, "copied": row.copied, "best": row.best}
    shown: dict[str, Any] = {
        "task": row.task.name,
        "template": row.task.template,
        "source": _text(row.task.source),
        "target": _text(row.task.target),
        "designs": row.designs,
        "solve_seconds": row.solve_seconds.median,
        "build_seconds": row.build_seconds.median,
        "searched": row.searched,
        "searched_seconds": row.searched_seconds,
    }
    for name, pick in picks.items():
        shown[f"{name}_assignment"] = _text(pick.assignment)
        shown |= _spread(f"{name}_seconds", pick.seconds)
    return (
        shown
        | _spread("copied_over_selected", row.copied_over_selected)
        | _spread("selected_over_best", row.selected_over_best)
    )


def _spread(name: str, found: Spread | None) -> dict[str, Any]:
    ends = (None, None, None) if found is None else (found.median, found.low, found.high)
    return dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))


def _text(values: Mapping[str, int]) -> str:
    return " ".join(f"{n}={v}" for n, v in values.items())

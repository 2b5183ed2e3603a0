"""The study `growth` for people, and as files."""

from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console

from formwright.base.files import write_json, write_text
from formwright.flow.growth_results import Arm, Grown, GrowthStudy, Ran
from formwright.flow.study_results import Spread
from formwright.report.codesign_files import csv_text
from formwright.report.tables import print_table, print_title

_RIGHT = ("drawn", "first s", "s without", "first us", "us without", "without/with")


def print_growth(console: Console, result: GrowthStudy) -> None:
    """A row for each problem, then the line that sums it up."""
    title = f"growth: {result.threads} thread(s), {result.repeats} repeat(s), measured"
    print_title(console, title)
    rows = [_cells(grown) for grown in result.problems]
    print_table(console, ("problem", *_RIGHT), rows, frozenset(range(1, 1 + len(_RIGHT))))
    print(f"  {summary(result)}")


def summary(result: GrowthStudy) -> str:
    """Of the problems that drew something: how much sooner the first kernel was, how much faster
    it was, and how the final kernels stand."""
    drew = [g for g in result.problems if any(r.drawn for r in g.of("with"))]
    sooner = [v for g in drew if (v := _gain(g, "first_seconds")) is not None]
    faster = [v for g in drew if (v := _gain(g, "first_latency")) is not None]
    final = [g.ratio.median for g in drew if g.ratio is not None]
    told = f"{len(drew)} of {len(result.problems)} problems drew templates"
    for name, found in (
        ("first kernel sooner by", sooner),
        ("and faster by", faster),
        ("final kernel faster by", final),
    ):
        if found:
            told += f"; {name} {median(found):.2f}x ({min(found):.2f}-{max(found):.2f})"
    return f"{told} (medians over those problems, least and largest)"


def _gain(grown: Grown, name: str) -> float | None:
    """Without over with, of the medians over the repeats."""
    ours, theirs = _figure(grown, "with", name), _figure(grown, "without", name)
    return None if ours is None or theirs is None else theirs.median / ours.median


def _figure(grown: Grown, arm: Arm, name: str) -> Spread | None:
    values = [v for r in grown.of(arm) if (v := getattr(r, name)) is not None]
    return Spread(median(values), min(values), max(values)) if values else None


def _cells(grown: Grown) -> tuple[str, ...]:
    drawn = [len(r.drawn) for r in grown.of("with")]
    return (
        grown.problem.name,
        "-".join(dict.fromkeys(map(str, (min(drawn), max(drawn))))),
        _shown(_figure(grown, "with", "first_seconds"), 1.0, 1),
        _shown(_figure(grown, "without", "first_seconds"), 1.0, 1),
        _shown(_figure(grown, "with", "first_latency"), 1e6, 0),
        _shown(_figure(grown, "without", "first_latency"), 1e6, 0),
        _ratio(grown.ratio),
    )


def _shown(found: Spread | None, unit: float, digits: int) -> str:
    return "-" if found is None else f"{found.median * unit:.{digits}f}"


def _ratio(found: Spread | None) -> str:
    return "-" if found is None else f"{found.median:.2f} ({found.low:.2f}-{found.high:.2f})"


def write_growth(result: GrowthStudy, folder: Path) -> tuple[Path, ...]:
    """``result.json`` and ``runs.csv``, each whole or not at all."""
    written = (folder / "result.json", folder / "runs.csv")
    write_json(written[0], result.as_json())
    rows = [_row(g, r) for g in result.problems for r in g.runs]
    write_text(written[1], csv_text(rows))
    return written


def _row(grown: Grown, ran: Ran) -> Mapping[str, Any]:
    return {
        "problem": grown.problem.name,
        "operator": grown.problem.operator,
        "extents": " ".join(f"{n}={v}" for n, v in grown.problem.extents.items()),
        "repeat": ran.repeat,
        "population": ran.arm,
        "drawn": " ".join(ran.drawn),
        "proposed": ran.proposed,
        "proved": ran.proved,
        "template": ran.template,
        "rule": ran.rule,
        "first_seconds": ran.first_seconds,
        "run_seconds": ran.seconds,
        "first_latency": ran.first_latency,
        "latency": ran.latency,
        "fault": ran.fault,
        "entry": ran.entry,
    }

"""A study's result as files: ``result.json``, and a CSV for each table."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from formwright.base.files import write_json, write_text
from formwright.flow.codesign_results import CeilingResult, ChipRow, StudyResult

Row = Mapping[str, Any]


def write_study(result: StudyResult, folder: Path) -> tuple[Path, ...]:
    """Write the files, each whole or not at all. ``entry`` is the line of the journal."""
    ceilings = result.ceilings
    tables: dict[str, list[Row]] = {
        "ceilings.csv": [_ceiling(c) for c in ceilings],
        "methods.csv": [row for c in ceilings for row in _methods(c)],
        "purchases.csv": [row for c in ceilings for row in _purchases(c)],
        "scenarios.csv": [row for c in ceilings for row in _scenarios(c)],
        "front.csv": [_chip(r) for r in result.front],
        "chips.csv": [_chip(r) for r in result.chips],
        "generated.csv": list(result.generated),
    }
    written = [folder / "result.json"]
    write_json(written[0], result.as_json())
    for name, rows in tables.items():
        if rows:
            write_text(folder / name, csv_text(rows))
            written.append(folder / name)
    return tuple(written)


def csv_text(rows: Sequence[Row]) -> str:
    """Comma-separated, one header line; ``None`` is an empty cell."""
    stream = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(stream, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def _ceiling(c: CeilingResult) -> Row:
    return {
        "budget_mm2": c.budget,
        "found_by": c.found_by,
        **(c.chip or {}),
        "area_mm2": c.area,
        "objective": c.objective,
        "bound": c.bound,
        "gap": c.gap,
        "bound_entry": c.entries.get("bound"),
    }


def _methods(c: CeilingResult) -> list[Row]:
    return [
        {
            "budget_mm2": c.budget,
            "method": m.method,
            "run": run,
            "objective": m.objectives[run],
            "solves": m.solves[run],
            "evaluations": m.evaluations[run],
            "bounds": m.relaxations[run],
            "solves_to_1_percent": m.solves_to_best[run],
            "reached": m.reached_by[run],
            "seconds": m.seconds[run],
            "entry": m.entries[run],
        }
        for m in c.methods
        for run in range(len(m.objectives))
    ]


def _purchases(c: CeilingResult) -> list[Row]:
    return [
        {
            "budget_mm2": c.budget,
            "method": c.purchases_of,
            "round": p.round,
            "field": field,
            "before": before,
            "after": after,
            "area_of_all_mm2": p.area,
            "predicted_drop": p.predicted,
            "price_per_mm2": p.price,
            "evaluated_drop": p.evaluated,
            "objective": p.objective,
            "mechanism": "; ".join(p.mechanism),
            "entry": p.entry,
        }
        for p in c.purchases
        for field, (before, after) in p.fields.items()
    ]


def _scenarios(c: CeilingResult) -> list[Row]:
    return [
        {
            "budget_mm2": c.budget,
            "scenario": s.name,
            "scenario_ratio": s.ratio,
            "scenario_alone": s.alone,
            "work": d.work,
            "count": d.count,
            "template": d.template,
            "assignment": " ".join(f"{n}={v}" for n, v in d.assignment.items()),
            "time": d.time,
            "energy": d.energy,
            "evaluated": d.evaluated,
            "entry": s.entry,
        }
        for s in c.scenarios
        for d in s.designs
    ]


def _chip(row: ChipRow) -> Row:
    return {
        "name": row.name,
        **row.chip,
        "area_mm2": row.area,
        "objective": row.objective,
        "dominated": row.dominated,
        "source": row.source,
        "entry": row.entry,
    }

"""Certificates and audits on a terminal."""

from collections import Counter
from typing import TextIO

from formwright.flow.auditing import Audited, Row
from formwright.flow.certifying import Certified
from formwright.report.plain import bold, print_rows


def print_certified(result: Certified, out: TextIO) -> None:
    """A row for each template, then every obligation that is left open."""
    headings = ("template", "obligations", "certificates", "points", "second", "kept", "kB", "s")
    rows = [
        (
            f"{p.template} {p.condition}".strip(),
            str(p.obligations),
            str(p.certificates),
            str(p.points),
            str(p.agreements),
            str(p.kept),
            f"{p.bytes / 1000:.1f}",
            f"{p.seconds:.1f}",
        )
        for p in result.parts
    ]
    print_rows(headings, rows, frozenset(range(1, len(headings))), out)
    for part in result.parts:
        for name, reason in part.open:
            print(f"\n{part.template}: {name}\n  {reason}", file=out)
    print(bold("certified" if result.held else "not all certified", out), file=out)


def print_audit(result: Audited, out: TextIO) -> None:
    """A row for each template and ground, then every fault by name."""
    headings = ("template", "rests on", "obligations", "queries", "bytes", "check ms", "again")
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in result.rows:
        by = f"{row.rests}: {row.by}" if row.rests == "second solver" else row.rests
        groups.setdefault((row.template, by), []).append(row)
    rows = [
        (
            template,
            by,
            str(len(members)),
            str(sum(r.queries for r in members)),
            str(sum(r.bytes for r in members)),
            f"{1000 * sum(r.seconds for r in members):.1f}",
            str(sum(r.reproved for r in members)),
        )
        for (template, by), members in groups.items()
    ]
    print_rows(headings, rows, frozenset(range(2, len(headings))), out)
    for row in result.rows:
        if row.fault:
            print(f"\n{row.template}: {row.name}\n  {row.fault}", file=out)
    for fault in result.faults:
        print(f"\n{fault.file}: {fault.entry}\n  {fault.reason}", file=out)
    kinds = Counter(r.rests for r in result.rows)
    told = ", ".join(f"{n} {kind}" for kind, n in kinds.most_common())
    verdict = "held" if result.held else "not met"
    print(
        f"\n{bold(f'audit: {verdict}', out)} ({told}; seed {result.seed}, {result.seconds:.1f} s)",
        file=out,
    )

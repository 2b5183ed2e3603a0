"""What nobody has tested of an artifact, worked out from what its record lists as run."""

from collections.abc import Mapping
from typing import Any, Final

from formwright.report.page import Cell, Column, Table
from formwright.report.pages.conditions import standing_of
from formwright.report.pages.entries import at, items, mapping, number, words
from formwright.report.pages.record_blocks import extents_text, in_order

Row = tuple[Cell, Cell, Cell]


def untested(record: Mapping[str, Any], contract: Mapping[str, Any]) -> Table:
    """A row for each gap between what the domain allows and what was run."""
    rows = [
        *_extents(record),
        *_threads(record, contract),
        *_machine(record),
        *_open(record),
        *_unseen(record),
        *_times(record),
    ]
    return Table(
        title="Gaps",
        columns=(Column("about"), Column("what was run"), Column("what was not")),
        rows=tuple(rows),
        says="No test shows what it did not run. What follows is inside the domain, and open.",
        shown=40,
    )


def _extents(record: Mapping[str, Any]) -> list[Row]:
    """The range of each extent that was run against the one that the domain has."""
    runs = [mapping(at(r, "extents")) for r in items(at(record, "evidence", "binary", "runs"))]
    rows = []
    domain = mapping(at(record, "domain", "extents"))
    for name, ends in in_order(domain, items(at(record, "contract", "formula"))).items():
        low, high = (number({"v": v}, "v") for v in items(ends)) if len(items(ends)) == 2 else _NONE
        seen = {v for r in runs if (v := number(r, name)) is not None}
        if not seen or low is None or high is None or len(seen) > high - low:
            continue
        rows.append((Cell(f"extent {name}"), Cell(_seen(sorted(seen))), _not_run(seen, low, high)))
    return rows


_NONE: Final = (None, None)


def _not_run(seen: set[float], low: float, high: float) -> Cell:
    """What of a range was run at no value of it."""
    told = []
    if max(seen) < high:
        told.append(f"beyond {max(seen):,.0f}, up to {high:,.0f}")
    if min(seen) > low:
        told.append(f"below {min(seen):,.0f}, down to {low:,.0f}")
    if len(seen) <= max(seen) - min(seen):
        told.append("other values between")
    return Cell("; ".join(told) or "values outside of its range alone")


def _seen(values: list[float]) -> str:
    if len(values) == 1:
        return f"{values[0]:,.0f} alone"
    return f"{len(values)} values, {values[0]:,.0f} to {values[-1]:,.0f}"


def _threads(record: Mapping[str, Any], contract: Mapping[str, Any]) -> list[Row]:
    runs = items(at(record, "evidence", "binary", "runs"))
    seen = sorted({int(n) for r in runs if (n := number(r, "threads")) is not None})
    if not seen:
        return []
    allowed = words(contract, "threads")
    ran = ", ".join(map(str, seen))
    return [
        (
            Cell("threads"),
            Cell(ran),
            Cell(f"more than {seen[-1]}" + (f"; the contract: {allowed}" if allowed else "")),
        )
    ]


def _machine(record: Mapping[str, Any]) -> list[Row]:
    facts = mapping(record.get("facts"))
    here = f"{words(facts, 'cpu')}, {words(facts, 'cores')} cores, {words(facts, 'libc')}"
    told = "another CPU or C library; formwright requalify tests the very binary there"
    return [(Cell("machine"), Cell(here), Cell(told))]


def _open(record: Mapping[str, Any]) -> list[Row]:
    """Checks and builds that came to no verdict: they count as not tested."""
    rows = []
    for kind, what in (("binary", "checks"), ("", "")):
        found = (
            items(at(record, "evidence", kind, what))
            if kind
            else items(at(record, "evidence", "other_build"))
        )
        for one in map(mapping, found):
            verdict = words(one, "verdict")
            if verdict != "held":
                name = words(one, "name") or words(one, "what")
                detail = words(one, "detail") or words(one, "says")
                shown = Cell(verdict, standing=standing_of(verdict))
                rows.append((Cell(name), shown, Cell(detail)))
    return rows


def _unseen(record: Mapping[str, Any]) -> list[Row]:
    """What no run of an exact build can find, in its own words."""
    return [
        (Cell(words(o, "what")), Cell("every output is an exact value"), Cell(words(o, "unseen")))
        for o in map(mapping, items(at(record, "evidence", "other_build")))
        if words(o, "unseen")
    ]


def _times(record: Mapping[str, Any]) -> list[Row]:
    extents = mapping(at(record, "workload", "extents"))
    shape = extents_text(in_order(extents, items(at(record, "contract", "formula"))))
    caches = words(record, "timing", "caches") or "warm"
    threads = words(record, "threads")
    rows = [
        (
            Cell("time"),
            Cell(f"{shape}, {threads} thread(s), {caches} caches"),
            Cell("any other extents, threads or state of the caches"),
        )
    ]
    programs = mapping(at(record, "timing", "programs"))
    rows += [
        (Cell(f"against {name}"), Cell("nothing"), Cell(words(p, "failure")))
        for name, p in programs.items()
        if "failure" in mapping(p)
    ]
    return rows

"""Where the time of a run went, by the kind of step, and what was spent of its budgets."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from formwright.report.page import Axis, Bar, Bars, Block, Cell, Facts, Part
from formwright.report.pages.entries import Entry, at, items, mapping, number, words
from formwright.report.pages.run_facts import RunFacts
from formwright.report.pages.units import count_cell, seconds_cell, seconds_text


def _seconds(data: Any) -> float:
    return number(data, "seconds") or 0.0


def _solving(data: Any) -> float:
    return sum(_seconds(s) for s in mapping(at(data, "solutions")).values())


def _wall(data: Any) -> float:
    return number(data, "wall_seconds") or 0.0


KINDS: Final[Mapping[str, tuple[tuple[str, ...], Callable[[Any], float]]]] = {
    "proving": (("prove", "judge"), _seconds),
    "solving": (("solve",), _solving),
    "building": (("build", "source"), _seconds),
    "validating": (("validate",), _seconds),
    "measuring": (("measure", "final", "baselines", "confirm", "kernel", "throughput"), _wall),
}
"""Kinds of work: steps of the journal, and the seconds that an entry says it took."""


def budget_blocks(facts: RunFacts) -> tuple[Block, ...]:
    """Bars of seconds by kind, and a list of limits with what was spent."""
    spent = _spent(facts.book.entries)
    elapsed = elapsed_seconds(facts.book.entries)
    bars = tuple(Bar(name, (Part(name, value),), note) for name, (value, note) in spent.items())
    total = sum(value for value, _ in spent.values())
    says = f"{seconds_text(total)} of work in steps that say what they took"
    if elapsed is not None:
        says += f", {seconds_text(elapsed)} from the first entry of the journal to the last"
    says += (
        ". Builds go on side by side; refits, diagnoses, other builds and the last validation are "
        "not among the bars; a pause between two starts of the run is in the second figure."
    )
    return (Bars("Where the time went", says, Axis("time", "s"), bars), _limits(facts, elapsed))


def _spent(entries: tuple[Entry, ...]) -> dict[str, tuple[float, str]]:
    found = {}
    for name, (kinds, read) in KINDS.items():
        mine = [e for e in entries if e.key.partition("/")[0] in kinds]
        found[name] = (sum(read(e.data) for e in mine), f"{len(mine)} steps")
    return found


def elapsed_seconds(entries: tuple[Entry, ...]) -> float | None:
    """From the first entry's time to the last one's."""
    times = [_time(e.time) for e in (*entries[:1], *entries[-1:])]
    if len(times) < 2 or times[0] is None or times[1] is None:
        return None
    return max(0.0, (times[1] - times[0]).total_seconds())


def _time(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _limits(facts: RunFacts, elapsed: float | None) -> Facts:
    book = facts.book
    about = book.origin("about")
    budget = mapping(facts.about.get("budget"))
    asked = book.keys("ask/")
    rows: list[tuple[str, Cell]] = [
        ("entries of the journal", count_cell(len(book.entries))),
        ("from the first entry to the last", seconds_cell(elapsed)),
    ]
    for name, says in (
        ("candidates", "designs that are built in a round, at most"),
        ("rounds", "rounds, at most"),
        ("seconds", "seconds after which no round begins"),
    ):
        value = number(budget, name)
        if value is not None:
            rows.append((says, Cell(f"{value:g}", value, about)))
    if asked:
        texts = sum(len(items(at(book.data(k), "proposals"))) for k in asked)
        rows.append(("requests to the proposer", count_cell(len(asked))))
        rows.append(("answers in them", count_cell(texts)))
    stops = [k for k in book.keys("go/") if words(book.data(k), "stop")]
    rows += [
        ("ended because", Cell(words(book.data(k), "stop"), origin=book.origin(k))) for k in stops
    ]
    return Facts(tuple(rows))

"""What a record says, evidence kept apart: proved of the template, tested on the binary, trusted.

Shared by the page of a run and the page of an artifact.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from formwright.report.page import (
    Axis,
    Block,
    Cell,
    Column,
    Distributions,
    Facts,
    Sample,
    Table,
    Text,
)
from formwright.report.pages.conditions import verdict_cell
from formwright.report.pages.entries import Book, at, items, mapping, number, words
from formwright.report.pages.units import (
    bytes_cell,
    count_cell,
    ratio_text,
    seconds_cell,
    seconds_text,
)

OURS: Final = "kernel"

COUNTS: Final = ("faster", "slower")
"""Verdicts on a ratio that tell a difference."""


def tested_blocks(book: Book, record: Mapping[str, Any], file: str) -> tuple[Block, ...]:
    """What was run on the very binary: each check, and with which inputs."""
    binary = mapping(at(record, "evidence", "binary"))
    checks = [mapping(c) for c in items(binary.get("checks"))]
    runs = [mapping(r) for r in items(binary.get("runs"))]
    origin = book.part(file, record, "evidence", "binary")
    table = Table(
        title="Checks of this very binary",
        columns=(Column("check"), Column("verdict"), Column("calls", number=True), Column("what")),
        rows=tuple(
            (
                Cell(words(c, "name"), origin=origin),
                verdict_cell(words(c, "verdict"), words(c, "evidence") or "tested"),
                count_cell(int(number(c, "runs") or 0)),
                Cell(words(c, "says") + _counterexample(c)),
            )
            for c in checks
        ),
        says=", ".join(
            f"{n} {v}" for v, n in Counter(words(c, "verdict") for c in checks).most_common()
        ),
        shown=12,
    )
    return (table, _shapes(runs))


def _counterexample(check: Mapping[str, Any]) -> str:
    if words(check, "verdict") == "held":
        return ""
    told = words(check, "detail") or words(check, "counterexample")
    return f"; {told}" if told else ""


def _shapes(runs: Sequence[Mapping[str, Any]]) -> Table:
    """The shapes that were run, with kinds of inputs, threads and seeds."""
    shapes: dict[str, list[Mapping[str, Any]]] = {}
    for run in runs:
        shapes.setdefault(extents_text(mapping(run.get("extents"))), []).append(run)
    rows = []
    for shape, members in shapes.items():
        kinds = sorted({str(k) for r in members for k in items(r.get("kinds"))})
        threads = sorted({words(r, "threads") for r in members})
        seeds = sorted({words(r, "seed") for r in members})
        rows.append(
            (
                Cell(shape),
                count_cell(len(members)),
                count_cell(len(kinds)),
                Cell(", ".join(kinds)),
                Cell(", ".join(threads)),
                Cell(", ".join(seeds[:3]) + (" …" if len(seeds) > 3 else "")),
            )
        )
    return Table(
        title="What was run: shapes and kinds of inputs",
        columns=(
            Column("shape"),
            Column("runs", number=True),
            Column("kinds", number=True),
            Column("which kinds"),
            Column("threads"),
            Column("seeds"),
        ),
        rows=tuple(rows),
        says=f"{len(runs)} runs at {len(shapes)} shapes. With its seed each call can be made "
        "again; other shapes and other inputs were not run.",
        shown=8,
    )


def other_build_table(book: Book, record: Mapping[str, Any], file: str) -> Table:
    """Builds of the same source under other conditions: never mixed with tests of the binary."""
    origin = book.part(file, record, "evidence", "other_build")
    rows = []
    for other in map(mapping, items(at(record, "evidence", "other_build"))):
        unseen = words(other, "unseen")
        detail = words(other, "detail")
        rows.append(
            (
                Cell(words(other, "what"), origin=origin),
                verdict_cell(words(other, "verdict"), words(other, "evidence")),
                count_cell(int(number(other, "runs") or 0)),
                Cell(words(other, "says") + (f"; {detail}" if detail else "")),
                Cell(f"does not see: {unseen}" if unseen else words(other, "difference")),
            )
        )
    return Table(
        title="Other builds of the same source",
        columns=(
            Column("build"),
            Column("verdict"),
            Column("calls", number=True),
            Column("what it shows"),
            Column("how it differs, and what it cannot see"),
        ),
        rows=tuple(rows),
        says="They say nothing of this binary's instructions: loops, tiles, packing and threads "
        "of the source are what they test.",
    )


def trusted_table(book: Book, record: Mapping[str, Any], file: str) -> Table:
    """What leads from the proof to the binary and is neither proved nor tested alone."""
    origin = book.part(file, record, "evidence", "trusted")
    rows = tuple(
        (Cell(words(t, "name"), origin=origin), Cell(words(t, "what")))
        for t in map(mapping, items(at(record, "evidence", "trusted")))
    )
    return Table(
        title="What is trusted: between the proved template and this binary",
        columns=(Column("part"), Column("what")),
        rows=rows,
        says="None of it is proved; the tests above are what stands against a fault in it.",
    )


def timing_blocks(
    timing: Mapping[str, Any], cell_origin: Any, title: str, ours: str = OURS
) -> tuple[Block, ...]:
    """Distributions of the kernel and each baseline, and a table of medians, tails and ratios.

    ``cell_origin`` is where the timing stands.
    """
    programs = mapping(timing.get("programs"))
    order = [n for n in (ours, *programs) if n in programs]
    samples = []
    for name in dict.fromkeys(order):
        values = tuple(
            v
            for s in items(at(programs, name, "samples"))
            if (v := number(s, "seconds")) is not None
        )
        if values:
            shown = "this kernel" if name == ours else name
            samples.append(Sample(shown, values, "measured", cell_origin))
    rows = tuple(_timed_row(n, timing, cell_origin, ours) for n in dict.fromkeys(order))
    rounds = number(timing, "rounds")
    waited = number(timing, "queue_share")
    says = _timing_says(timing, ours)
    blocks: list[Block] = []
    if samples:
        blocks.append(Distributions(title, says, Axis("time of a call", "s"), tuple(samples)))
    blocks.append(
        Table(
            title=f"{title}: medians and ratios",
            columns=(
                Column("program"),
                Column("median", number=True),
                Column("95 % interval"),
                Column("p95", number=True),
                Column("p99", number=True),
                Column("its time over the kernel's"),
                Column("verdict"),
            ),
            rows=rows,
            says="Programs are timed in turn, in random order, in processes of their own; ratios "
            "are paired by round, above 1 the kernel is faster.",
        )
    )
    told = [] if rounds is None else [f"{rounds:.0f} rounds were asked for"]
    told += [f"caches {words(timing, 'caches')}"] if words(timing, "caches") else []
    if waited is not None:
        told.append(f"threads waited for a core {waited:.0%} of the time at most")
    if told:
        blocks.append(Text(f"{'; '.join(told)}."))
    return tuple(blocks)


def beside_text(timing: Mapping[str, Any]) -> str:
    """How the kernel stands beside each baseline, as the end of a sentence; empty without any.

    A ratio whose interval shows no gain is never told as one.
    """
    told = []
    for name, r in mapping(timing.get("ratios")).items():
        value = number(r, "median")
        if value is None:
            continue
        text = ratio_text(value, number(r, "low"), number(r, "high"))
        verdict = verdict_beside(timing, name)
        if verdict in COUNTS:
            told.append(f"{text} as fast as {name}")
        else:
            told.append(f"no difference from {name} that counts ({verdict}: {text} as fast)")
    missing = [
        name for name, p in mapping(timing.get("programs")).items() if "failure" in mapping(p)
    ]
    end = f"; not compared with {', '.join(missing)}" if missing else ""
    return (f", {', '.join(told)}" if told else "") + end


def verdict_beside(timing: Mapping[str, Any], name: str) -> str:
    """What the interval of the ratio to a program says: ``faster`` and ``slower`` only where it
    leaves 1 out, whatever the timing says of it itself; empty where there is no ratio."""
    ratio = mapping(at(timing, "ratios", name))
    if number(ratio, "median") is None:
        return ""
    low, high = number(ratio, "low"), number(ratio, "high")
    if low is None or high is None:
        return "no interval"
    if low > 1 or high < 1:
        return "faster" if low > 1 else "slower"
    told = words(timing, "verdicts", name)
    return told if told and told not in COUNTS else "its interval holds 1"


def _timing_says(timing: Mapping[str, Any], ours: str) -> str:
    median = number(timing, "programs", ours, "seconds", "median")
    if median is None:
        return "The kernel has no time here."
    told = []
    for name, ratio in mapping(timing.get("ratios")).items():
        value = number(ratio, "median")
        if value is not None:
            text = ratio_text(value, number(ratio, "low"), number(ratio, "high"))
            verdict = verdict_beside(timing, name)
            counts = "" if verdict in COUNTS else f" ({verdict}: no difference that counts)"
            told.append(f"{name} takes {text} as long{counts}")
    return f"The kernel takes {seconds_text(median)} in the median" + (
        f"; {'; '.join(told)}." if told else "."
    )


def _timed_row(name: str, timing: Mapping[str, Any], origin: Any, ours: str) -> tuple[Cell, ...]:
    program = mapping(at(timing, "programs", name))
    shown = "this kernel" if name == ours else name
    if "failure" in program:
        why = Cell(f"not compared: {words(program, 'failure')}", standing="unresolved")
        return (Cell(shown), *(Cell("–") for _ in range(5)), why)
    low, high = number(program, "seconds", "low"), number(program, "seconds", "high")
    interval = (
        "–" if low is None or high is None else f"{seconds_text(low)} to {seconds_text(high)}"
    )
    ratio = mapping(at(timing, "ratios", name))
    value = number(ratio, "median")
    beside = (
        Cell("–")
        if value is None
        else Cell(ratio_text(value, number(ratio, "low"), number(ratio, "high")), value, origin)
    )
    verdict = verdict_beside(timing, name)
    tail = mapping(at(timing, "tails", name))
    if tail.get("regression") is True:
        verdict += "; its slow calls are faster than the kernel's"
    return (
        Cell(shown),
        seconds_cell(number(program, "seconds", "median"), origin, "measured"),
        Cell(interval, low),
        seconds_cell(number(program, "tail", "p95"), origin),
        seconds_cell(number(program, "tail", "p99"), origin),
        beside,
        Cell(_stands(verdict)),
    )


def _stands(verdict: str) -> str:
    if not verdict:
        return "–"
    return f"the kernel is {verdict}" if verdict.startswith(COUNTS) else verdict


def extents_text(extents: Mapping[str, Any]) -> str:
    """``M=64 N=128``."""
    return " ".join(f"{n}={v}" for n, v in extents.items()) or "–"


def in_order(extents: Mapping[str, Any], formula: Sequence[Any]) -> dict[str, Any]:
    """Extents as the formula names them: JSON has them by the alphabet."""
    named = re.findall(r"\w+", " ".join(map(str, formula)))
    order = {name: place for place, name in reversed(list(enumerate(named)))}
    return dict(sorted(extents.items(), key=lambda e: order.get(e[0], len(named))))


def memory_facts(book: Book, record: Mapping[str, Any], file: str) -> Facts:
    """What a call asks for beside its tensors, and the threads that it starts."""
    origin = book.part(file, record, "timing", "programs", OURS)
    memory = number(record, "timing", "programs", OURS, "memory_bytes")
    packing = number(record, "timing", "programs", OURS, "prepare_seconds")
    facts = [
        ("memory of a call beside its tensors", bytes_cell(memory, origin)),
        ("threads", Cell(words(record, "threads") or "–")),
    ]
    if packing is not None:
        facts.append(("packing ahead, outside the time", seconds_cell(packing, origin, "measured")))
    return Facts(tuple(facts))

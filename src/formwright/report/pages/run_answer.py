"""What a run came to: the first sentences of its page, and a row for each workload."""

from typing import Final

from formwright.report.page import Cell, Column, Table
from formwright.report.pages.conditions import verdict_of
from formwright.report.pages.entries import at, items, mapping, number, words
from formwright.report.pages.record_blocks import beside_text, extents_text, verdict_beside
from formwright.report.pages.run_facts import RunFacts, Workload
from formwright.report.pages.run_funnel import Funnel, design_text
from formwright.report.pages.units import counted, ratio_text, seconds_cell, seconds_text

MOST_TOLD: Final = 4
"""Workloads that are told one by one; of more the table tells each."""


def answer(facts: RunFacts, funnel: Funnel) -> tuple[str, ...]:
    """What came out, in sentences: a line for each workload, then how it was come by."""
    many = len(facts.workloads) > MOST_TOLD
    told = [_all_told(facts)] if many else [_came_out(w) for w in facts.workloads]
    if not facts.ended:
        last = facts.book.entries[-1]
        told.append(
            f"The run has not ended: the last of {len(facts.book.entries)} steps is "
            f"`{last.key}`, {last.time}. The same command goes on from there."
        )
    if not many:
        told += [said for w in facts.workloads if (said := _rests(facts, w))]
    texts, designs = dict(funnel.texts), dict(funnel.designs)
    told.append(
        f"Templates: {texts['proved']} of {texts['proposed']} proved for every design and extent "
        f"that they allow. Designs: {designs['chosen by the solver']} chosen by the solver, "
        f"{designs['built']} built, {designs['validated']} validated, {designs['measured']} "
        "measured."
    )
    return tuple(told)


def _all_told(facts: RunFacts) -> str:
    """Of many workloads how many came out, and how those stand beside their baselines."""
    qualified = [w for w in facts.workloads if w.artifact]
    told = f"{len(qualified)} of {len(facts.workloads)} workloads have a qualified kernel"
    ratios = [(w.confirm, list(mapping(w.confirm.get("ratios")))) for w in qualified]
    ahead = sum(
        bool(names) and all(verdict_beside(timed, n) == "faster" for n in names)
        for timed, names in ratios
    )
    return f"{told}; {ahead} of them are faster than every baseline beside which they were timed."


def _rests(facts: RunFacts, w: Workload) -> str:
    """Of a winner: what was proved, what was tested, what was only predicted."""
    if w.winner is None or not w.record:
        return ""
    proof = mapping(at(w.record, "evidence", "template"))
    binary = mapping(at(w.record, "evidence", "binary"))
    checks = [words(c, "verdict") for c in items(binary.get("checks"))]
    of = f"{w.name}: " if len(facts.workloads) > 1 else ""
    obligations = counted(len(items(proof.get("obligations"))), "obligation")
    runs = counted(len(items(binary.get("runs"))), "run")
    told = (
        f"{of}its template {w.winner.template} is {verdict_of(proof)} ({obligations}, in "
        f"real arithmetic); of the binary {checks.count('held')} of "
        f"{counted(len(checks), 'check')} held in {runs} (tested)"
    )
    predicted = number(w.record, "predicted_seconds")
    if predicted is not None:
        told += f"; its model had said {seconds_text(predicted)} (modelled)"
    return f"{told[:1].upper()}{told[1:]}."


def _came_out(w: Workload) -> str:
    shape = f" ({extents_text(w.extents)})" if w.extents else ""
    if not w.qualify:
        best = min((s for d in w.designs if (s := d.seconds) is not None), default=None)
        so_far = "nothing measured yet" if best is None else f"best so far {seconds_text(best)}"
        return f"{w.name}{shape}: not decided; {so_far}."
    median = number(w.confirm, "programs", "kernel", "seconds", "median")
    if not w.artifact:
        return f"{w.name}{shape}: no kernel is qualified: {words(w.qualify, 'message')}."
    told = f"{w.name}{shape}: a qualified kernel"
    if median is not None:
        told += f", {seconds_text(median)} a call in the median (measured)"
    return f"{told}{beside_text(w.confirm)}."


def results_table(facts: RunFacts) -> Table:
    baselines = sorted({n for w in facts.workloads for n in mapping(w.confirm.get("ratios"))})
    return Table(
        title="Each workload",
        columns=(
            Column("workload"),
            Column("shape"),
            Column("template and decisions"),
            Column("measured", number=True),
            Column("predicted", number=True),
            *(Column(f"over {n}", number=True) for n in baselines),
            Column("outcome"),
        ),
        rows=tuple(_result(facts, w, baselines) for w in facts.workloads),
        says="Measured: the winner again, in new processes, on inputs that the search had not "
        "seen. Over a baseline: its time over the kernel's, paired by round, with a 95 % interval.",
    )


def _result(facts: RunFacts, w: Workload, baselines: list[str]) -> tuple[Cell, ...]:
    origin = facts.book.origin(f"confirm/{w.name}")
    winner = w.winner
    predicted = number(w.record, "predicted_seconds")
    if predicted is None and winner is not None:
        predicted = winner.predicted
    ratios = []
    for name in baselines:
        r = at(w.confirm, "ratios", name)
        value = number(r, "median")
        text = "–" if value is None else ratio_text(value, number(r, "low"), number(r, "high"))
        ratios.append(Cell(text, value, None if value is None else origin))
    return (
        Cell(w.name),
        Cell(extents_text(w.extents)),
        Cell("–" if winner is None else design_text(winner)),
        seconds_cell(
            number(w.confirm, "programs", "kernel", "seconds", "median"), origin, "measured"
        ),
        seconds_cell(predicted, evidence="modelled"),
        *ratios,
        _outcome(facts, w),
    )


def _outcome(facts: RunFacts, w: Workload) -> Cell:
    origin = facts.book.origin(f"qualify/{w.name}")
    if w.artifact:
        return Cell("qualified", standing="held", origin=origin)
    if w.qualify:
        told = f"not qualified: {words(w.qualify, 'message')}"
        return Cell(told, standing=w.standing, origin=origin)
    return Cell("not decided", standing="unresolved")

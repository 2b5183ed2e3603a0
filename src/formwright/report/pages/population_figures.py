"""The figures of a population, by chip and workload."""

from formwright.population.entries import Fact, KeptFact
from formwright.population.telling import work_line
from formwright.report.page import (
    Axis,
    Block,
    Cell,
    Chart,
    Column,
    Evidence,
    Point,
    Section,
    Series,
    Table,
)
from formwright.report.pages.population_facts import Kept, compared
from formwright.report.pages.study_words import assignment, figure
from formwright.report.pages.units import counted

MOST_CHARTS = 8
"""Workloads that have a chart, those with most figures first."""


def figures_section(kept: Kept) -> Section | None:
    """``None`` where there are no figures."""
    if not kept.facts:
        return None
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, each in enumerate(kept.facts):
        # What came in with files is shown apart: it stands for no measurement of ours.
        groups.setdefault((*compared(each.fact), each.fact.imported), []).append(number)
    most = sorted(groups.values(), key=lambda g: (-len(g), g[0]))
    charts: list[Block] = [_chart(kept, g) for g in most[:MOST_CHARTS] if len(g) > 1]
    return Section(
        "figures",
        "What was seen of them",
        (_by_chip(kept, list(groups.values())), *charts, _all(kept)),
    )


def _where(fact: Fact) -> str:
    machine = f" ({fact.machine})" if fact.machine and fact.machine != fact.chip.name else ""
    return f"{fact.chip.name}{machine}{', imported' if fact.imported else ''}"


def _evidence(fact: Fact) -> Evidence | None:
    """None of what files say: nobody saw it here."""
    return None if fact.imported else fact.evidence


def _best(kept: Kept, group: list[int]) -> int:
    return min(group, key=lambda n: (kept.facts[n].fact.value, n))


def _by_chip(kept: Kept, groups: list[list[int]]) -> Table:
    columns = (
        Column("chip and machine"),
        Column("workload"),
        Column("quantity"),
        Column("figures", number=True),
        Column("templates", number=True),
        Column("best", number=True),
        Column("by"),
    )
    rows = []
    for group in groups:
        best = _best(kept, group)
        fact = kept.facts[best].fact
        rows.append(
            (
                Cell(_where(fact)),
                Cell(work_line(fact)),
                Cell(f"{fact.quantity}, {fact.unit}" if fact.unit else fact.quantity),
                Cell(str(len(group)), float(len(group))),
                Cell(str(len({kept.facts[n].fact.template for n in group}))),
                _value(kept, best),
                Cell(kept.name(fact.template)),
            )
        )
    says = "Only figures of one row are compared with one another."
    return Table("Best figures by chip and workload", columns, tuple(rows), says)


def _value(kept: Kept, number: int) -> Cell:
    fact = kept.facts[number].fact
    return Cell(figure(fact.value), fact.value, kept.row("facts", str(number)), _evidence(fact))


def _chart(kept: Kept, group: list[int]) -> Chart:
    """Each figure in the order in which it came, and the best one until then."""
    fact = kept.facts[group[0]].fact
    points = tuple(_point(kept, at, n) for at, n in enumerate(group, start=1))
    best: list[Point] = []
    for point in points:
        least = point.y if not best else min(point.y, best[-1].y)
        best.append(Point(point.x, least, "best until then"))
    first = points[0].y
    says = (
        f"{counted(len(points), 'figure')}; the best is {figure(min(p.y for p in points), 4)}"
        f" {fact.unit}, the first was {figure(first, 4)} {fact.unit}."
    )
    return Chart(
        f"{work_line(fact)} on {_where(fact)}",
        says,
        Axis("figure, in the order of their coming"),
        Axis(fact.quantity, fact.unit, "log"),
        (
            Series("figures", points, "points", _evidence(fact)),
            Series("best until then", tuple(best), "steps", _evidence(fact), True),
        ),
    )


def _point(kept: Kept, at: int, number: int) -> Point:
    fact = kept.facts[number].fact
    label = f"{kept.name(fact.template)}: {assignment(fact.assignment)}"
    origin = kept.row("facts", str(number))
    return Point(float(at), fact.value, label, fact.low, fact.high, origin)


def _all(kept: Kept) -> Table:
    columns = (
        Column("template"),
        Column("design"),
        Column("workload"),
        Column("chip and machine"),
        Column("quantity"),
        Column("value", number=True),
        Column("from", number=True),
        Column("to", number=True),
        Column("stands"),
        Column("of"),
    )
    rows = tuple(_row(kept, n, each) for n, each in enumerate(kept.facts))
    says = f"The newest {len(rows):,}." if len(rows) < kept.counts.get("facts", 0) else ""
    return Table("All figures", columns, rows, says, shown=30)


def _row(kept: Kept, number: int, each: KeptFact) -> tuple[Cell, ...]:
    fact = each.fact
    imported = "imported: orders a draw, stands for no measurement here" if fact.imported else ""
    return (
        Cell(kept.name(fact.template)),
        Cell(assignment(fact.assignment)),
        Cell(work_line(fact)),
        Cell(_where(fact)),
        Cell(f"{fact.quantity}, {fact.unit}" if fact.unit else fact.quantity),
        _value(kept, number),
        *(Cell("-") if v is None else Cell(figure(v), v) for v in (fact.low, fact.high)),
        Cell(imported or (each.why if each.standing == "reopened" else "for its chip")),
        Cell(fact.source),
    )

"""Predicted against measured, and every design that was measured by all that is known of it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from formwright.measure.statistics import rank_correlation
from formwright.report.page import (
    Axis,
    Block,
    Cell,
    Chart,
    Column,
    Line,
    Origin,
    Point,
    Series,
    Table,
)
from formwright.report.pages.entries import at, items, mapping, number, words
from formwright.report.pages.run_facts import Design, RunFacts, Workload, place_of
from formwright.report.pages.run_funnel import assignment_text, design_text
from formwright.report.pages.units import (
    bytes_cell,
    mean_log_error,
    ratio_text,
    seconds_cell,
)

MOST_SERIES: Final = 6
MOST_POINTS: Final = 1200
"""Marks of one chart; a table below it has every design."""


def prediction_blocks(facts: RunFacts) -> tuple[Block, ...]:
    """A chart for each workload, what the refits came to, and the table of all designs."""
    blocks: list[Block] = []
    for w in facts.workloads:
        chart = _chart(facts, w)
        if chart is not None:
            blocks.append(chart)
    refits = _refits(facts)
    if refits is not None:
        blocks.append(refits)
    return tuple(blocks)


def _chart(facts: RunFacts, workload: Workload) -> Chart | None:
    """The first time of each design against what was predicted before it was taken."""
    pairs = [(d, *first) for d in workload.designs if (first := _first(d)) is not None]
    if not pairs:
        return None
    predicted, measured = [p for _, p, _, _ in pairs], [m for _, _, m, _ in pairs]
    order = rank_correlation(predicted, measured)
    error = mean_log_error(zip(predicted, measured, strict=True))
    groups: dict[str, list[Point]] = {}
    by_template = len({d.template for d, *_ in pairs}) <= MOST_SERIES
    step = -(-len(pairs) // MOST_POINTS)
    for d, p, m, (key, timed) in pairs[::step]:
        group = d.template if by_template else d.group
        point = Point(
            x=p,
            y=m,
            label=design_text(d),
            low=number(timed, "seconds", "low"),
            high=number(timed, "seconds", "high"),
            origin=facts.book.origin(key),
        )
        groups.setdefault(group, []).append(point)
    said = f"{len(pairs)} designs, each predicted before it was measured"
    if error is not None:
        said += f"; the time is off by {_factor(error)} in the mean"
    if order is not None:
        said += f"; rank correlation {order:.2f}"
    if step > 1:
        said += f"; every {step}th is drawn"
    series = [Series(name, tuple(points), "points", "measured") for name, points in groups.items()]
    lead = _winning(facts, workload)
    if lead is not None:
        series.append(Series("qualified", (lead,), "points", "measured", lead=True))
    return Chart(
        title=f"Predicted against measured, {workload.name}",
        says=f"{said}.",
        x=Axis("predicted time of a call", "s", "log"),
        y=Axis("measured time of a call", "s", "log"),
        series=tuple(series),
        lines=(Line("as predicted", "diagonal"),),
    )


def _winning(facts: RunFacts, workload: Workload) -> Point | None:
    winner = workload.winner
    first = None if winner is None else _first(winner)
    if winner is None or first is None:
        return None
    p, m, (key, _) = first
    return Point(p, m, design_text(winner), origin=facts.book.origin(key))


def _factor(error: float) -> str:
    """``exp(error)`` as a factor: what a mean of logarithms says."""
    return f"a factor of {2.718281828459045**error:.2f}"


def _first(d: Design) -> tuple[float, float, tuple[str, Mapping[str, Any]]] | None:
    if d.predicted is None or d.predicted <= 0 or not d.timings:
        return None
    key, timed = d.timings[0]
    seconds = number(timed, "seconds", "median")
    return None if seconds is None or seconds <= 0 else (d.predicted, seconds, (key, timed))


def _refits(facts: RunFacts) -> Table | None:
    """What learning did: errors of each model before and after, on what it was fitted to."""
    rows = []
    for key in facts.book.keys("refit/"):
        data = facts.book.data(key)
        place, _, name = key.removeprefix("refit/").rpartition("/")
        before, after = number(data, "error_before"), number(data, "error_after")
        rows.append(
            (
                Cell(name, origin=facts.book.origin(key)),
                Cell(_after(place)),
                _plain(number(data, "observations"), 0),
                _plain(before, 3),
                _plain(after, 3),
                _plain(number(data, "rank"), 2),
            )
        )
    if not rows:
        return None
    return Table(
        title="The cost models, refitted to what was measured",
        columns=(
            Column("template"),
            Column("after"),
            Column("times", number=True),
            Column("error before", number=True),
            Column("error after", number=True),
            Column("rank", number=True),
        ),
        rows=tuple(rows),
        says="Error: the mean of |log(predicted / measured)|, 0.1 is about ten per cent. With few "
        "times an error after the fit says little of designs that were not measured.",
        shown=10,
    )


def _after(place: str) -> str:
    """``long/0`` in words; what came from the population is ``before`` the run."""
    workload, _, turn = place.partition("/")
    number_of = place_of(turn)
    return place if number_of is None else f"{workload}, round {number_of + 1}"


def _plain(value: float | None, digits: int) -> Cell:
    return Cell("–") if value is None else Cell(f"{value:.{digits}f}", value)


def designs_table(facts: RunFacts, workload: Workload) -> Table:
    """Every design of a workload, fastest first, by each measure that was taken."""
    designs = sorted(
        workload.designs, key=lambda d: (d.seconds is None, d.seconds or 0.0, d.template)
    )
    tails = any(number(t, "tail", "p99") is not None for d in designs for _, t in d.timings)
    rates = _rates(facts, workload)
    columns = [
        Column("template"),
        Column("decisions"),
        Column("predicted", number=True),
        Column("measured", number=True),
        *([Column("p99", number=True)] if tails else []),
        *([Column("calls a second, every core", number=True)] if rates else []),
        Column("memory of a call", number=True),
        Column("code", number=True),
        Column("came to"),
    ]
    rows = tuple(_row(facts, workload, d, tails, rates) for d in designs)
    return Table(
        title=f"Designs of {workload.name}",
        columns=tuple(columns),
        rows=rows,
        says="Medians of the last measurement of each. Predicted: by the model as it was when the "
        "design was chosen.",
        shown=20,
    )


def _rates(facts: RunFacts, workload: Workload) -> dict[str, tuple[float, Origin | None]]:
    found = {}
    for step in facts.book.keys(f"throughput/{workload.name}/"):
        for key, data in mapping(facts.book.data(step)).items():
            value = number(data, "calls_per_second", "median")
            if value is not None:
                found[key] = (value, facts.book.origin(step))
    return found


def _row(
    facts: RunFacts,
    workload: Workload,
    d: Design,
    tails: bool,
    rates: Mapping[str, tuple[float, Origin | None]],
) -> tuple[Cell, ...]:
    step, timed = d.timings[-1] if d.timings else ("", {})
    origin = facts.book.origin(step)
    solve = facts.book.origin(d.step)
    won = workload.winner is not None and workload.winner.key == d.key and d.key != ""
    rate = rates.get(d.key)
    return (
        Cell(d.template, origin=solve),
        Cell(assignment_text(d.assignment) or "–"),
        seconds_cell(d.predicted, solve),
        seconds_cell(d.seconds, origin),
        *([seconds_cell(number(timed, "tail", "p99"), origin)] if tails else []),
        *([Cell("–") if rate is None else Cell(f"{rate[0]:,.0f}", *rate)] if rates else []),
        bytes_cell(number(timed, "memory_bytes"), origin),
        bytes_cell(number(timed, "code_bytes"), origin),
        _outcome(facts, workload, d, won),
    )


def _outcome(facts: RunFacts, workload: Workload, d: Design, won: bool) -> Cell:
    if won and workload.artifact:
        return Cell("qualified", standing="held", origin=facts.book.origin(f"qualify/{d.workload}"))
    if won:
        return Cell("chosen, not qualified", standing="unresolved")
    if d.built is False:
        return Cell("not built", standing="refuted", origin=facts.book.origin(f"build/{d.key}"))
    if d.validated not in ("", "held"):
        key = f"validate/{d.workload}/{d.key}"
        standing = "refuted" if d.validated == "refuted" else "unresolved"
        return Cell(d.validated, standing=standing, origin=facts.book.origin(key))  # type: ignore[arg-type]
    if d.failure and d.seconds is None:
        return Cell("not measured", standing="unresolved")
    return Cell("measured" if d.seconds is not None else "not looked at yet")


def tradeoff_chart(facts: RunFacts, workload: Workload) -> Chart | None:
    """Time against the memory of a call, where designs differ in it."""
    points = []
    for d in workload.designs:
        memory = [number(t, "memory_bytes") for _, t in d.timings]
        seconds = d.seconds
        if seconds is None or not memory or not memory[-1]:
            continue
        origin = facts.book.origin(d.timings[-1][0])
        points.append((d, Point(memory[-1], seconds, design_text(d), origin=origin)))
    if len({p.x for _, p in points}) < 2:
        return None
    winner = workload.winner
    mine = tuple(p for d, p in points if winner is not None and d.key == winner.key and d.key)
    step = -(-len(points) // MOST_POINTS)
    series = [Series("measured designs", tuple(p for _, p in points[::step]), "points", "measured")]
    if mine:
        series.append(Series("chosen", mine, "points", "measured", lead=True))
    goal = words(facts.about, "objective") or "latency"
    return Chart(
        title=f"Time against memory, {workload.name}",
        says=f"The objective is {goal}. {_gave_up(points, mine)}",
        x=Axis("memory of a call beside its tensors", "B", "log"),
        y=Axis("measured time of a call", "s", "log"),
        series=tuple(series),
    )


def _gave_up(points: Sequence[tuple[Design, Point]], mine: Sequence[Point]) -> str:
    if not mine:
        return "No design was chosen yet."
    chosen = mine[0]
    least = min(points, key=lambda pair: pair[1].x)[1]
    fastest = min(points, key=lambda pair: pair[1].y)[1]
    told = []
    if least.x < chosen.x:
        ratio, time = chosen.x / least.x, least.y / chosen.y
        text = f"the chosen one asks for {ratio_text(ratio, None, None)} the memory of the least"
        told.append(f"{text}, which takes {ratio_text(time, None, None)} as long")
    if fastest.y < chosen.y:
        told.append(
            f"{fastest.label} was {ratio_text(chosen.y / fastest.y, None, None)} as fast when it "
            "was measured, in another round"
        )
    said = "; ".join(told) or "the chosen one is best in both"
    return f"{said[:1].upper()}{said[1:]}."


def ceilings(facts: RunFacts) -> tuple[tuple[str, Cell], ...]:
    """The limits that the problem set on what is not the objective."""
    found = []
    for name, value in mapping(at(facts.about, "ceilings")).items():
        if value is not None:
            found.append((f"ceiling on {name}", Cell(str(value), facts_value(value))))
    return tuple(found)


def facts_value(value: Any) -> float | None:
    return number({"v": value}, "v")


def baselines_text(facts: RunFacts) -> str:
    return ", ".join(map(str, items(facts.about.get("baselines")))) or "none are named"

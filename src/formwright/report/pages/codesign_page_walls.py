"""The walls of a chip: the staircase of each, and what was on offer in each round."""

from collections.abc import Mapping, Sequence
from typing import Any

from formwright.report.page import (
    Axis,
    Block,
    Cell,
    Chart,
    Column,
    Fold,
    Line,
    Point,
    Section,
    Series,
    Table,
    Text,
)
from formwright.report.pages.codesign_told import Told, exact, relaxed
from formwright.report.pages.study_words import figure, percent


def walls_section(told: Told) -> Section | None:
    """Empty where the study kept neither staircases nor rounds."""
    stairs = [_staircase(told, s) for s in told.ceiling.get("staircases") or ()]
    offered = _offered(told)
    if not stairs and not offered:
        return None
    blocks: list[Block] = []
    if stairs:
        blocks.append(
            Text(
                "A wall is a limit of the chip that keeps better software out. Each chart moves one"
                " field and leaves all others as they are, and shows what the best software then"
                " reaches: where the line goes down a step, a better program fits; where it"
                " rises, a larger memory costs more to use. A wall that would pay if it were"
                " moved alone shows as a drop behind the chosen value."
            )
        )
    blocks += stairs
    if offered:
        blocks.append(Fold("What was on offer in each round", offered))
    return Section("walls", "The walls: what each field keeps out", tuple(blocks))


def _staircase(told: Told, stairs: Mapping[str, Any]) -> Chart:
    name = stairs["field"]
    scale, unit = told.fields.scale(name)
    origin = told.kept.entry(stairs["entry"])
    series = []
    for label, key in (
        ("other fields as chosen", "chosen"),
        ("other fields as at the start", "start"),
    ):
        points = tuple(
            Point(
                s["value"] / scale,
                s["objective"],
                f"{name} {told.fields.value(name, s['value'])}, {figure(s['area'], 4)} mm²",
                origin=origin,
            )
            for s in stairs[key]
            if s["objective"] is not None
        )
        if points:
            series.append(Series(label, points, "steps", "modelled", lead=key == "chosen"))
    lines = []
    chip, start = told.ceiling["chip"], told.result["start"]
    if chip is not None:
        lines.append(Line("chosen", "x", chip[name] / scale))
    if chip is None or start[name] != chip[name]:
        lines.append(Line("start", "x", start[name] / scale))
    least = min(s["value"] for s in stairs["chosen"]) if stairs["chosen"] else 0
    return Chart(
        f"The staircase of {name}",
        _staircase_words(told, stairs),
        Axis(name, unit, "log" if least > 0 else "linear"),
        told.axis(),
        tuple(series),
        tuple(lines),
    )


def _staircase_words(told: Told, stairs: Mapping[str, Any]) -> str:
    """What the chart shows around the chosen value: less is worse, more gives nothing."""
    name, chip = stairs["field"], told.ceiling["chip"]
    if chip is None:
        return ""
    here = chip[name]
    rows = [s for s in stairs["chosen"] if s["objective"] is not None]
    now = next((s["objective"] for s in rows if s["value"] == here), None)
    if now is None or not now:
        return ""
    less = [s for s in rows if s["value"] < here]
    more = [s for s in rows if s["value"] > here]
    text = f"At the chosen {told.fields.value(name, here)}"
    parts = []
    if less:
        down = less[-1]
        below = [s for s in stairs["chosen"] if s["value"] < here]
        by = "one place less" if down is below[-1] else "the next less that has a program"
        by = "the next less that was solved" if stairs["sampled"] else by
        parts.append(
            f"{by} ({told.fields.value(name, down['value'])}) is"
            f" {_worse(down['objective'] / now - 1)}"
        )
    elif any(s["value"] < here for s in stairs["chosen"]):
        parts.append("with any less there is no program")
    if more:
        best = min(more, key=lambda s: s["objective"])
        if best["objective"] < now:
            dear = ""
            budget = told.ceiling["budget"]
            if budget is not None and best["area"] > budget:
                dear = f", but that chip has {figure(best['area'], 4)} mm², over the ceiling"
            parts.append(
                f"{told.fields.value(name, best['value'])} would be"
                f" {percent(1 - best['objective'] / now)} better{dear}"
            )
        else:
            parts.append(
                f"more gains nothing: the best of it is {_worse(best['objective'] / now - 1)}"
            )
    elif any(s["value"] > here for s in stairs["chosen"]):
        parts.append("with any more there is no program")
    else:
        parts.append("the menu has no more")
    sampled = " Values of a long menu are sampled." if stairs["sampled"] else ""
    return f"{text}: {'; '.join(parts)}.{sampled}"


def _worse(part: float) -> str:
    return "as good" if abs(part) < 1e-9 else f"{percent(part)} {'worse' if part > 0 else 'better'}"


def _offered(told: Told) -> tuple[Block, ...]:
    """What the relaxation priced in each round, as its state has it."""
    state = relaxed(told)
    if state is None:
        return ()
    data, _ = state
    # A round before or at a purchase has its own entry of the journal; the last state has all.
    rows = [row for record in data["rounds"] for row in _round(told, record)]
    if not rows:
        return ()
    columns = (
        Column("round", number=True),
        Column("moved"),
        Column("how it was weighed"),
        Column("objective", told.goal.unit, number=True),
        Column("area", "mm²", number=True),
        Column("round bought"),
    )
    says = (
        "A screen removes a wall altogether: what does not help then cannot help if it is moved."
        " A bound says that no value of a field does better."
    )
    return (Table("Walls and fields, round by round", columns, tuple(rows), says),)


def _round(told: Told, record: Mapping[str, Any]) -> list[tuple[Cell, ...]]:
    bought = record.get("bought")
    taken = told.fields.steps(_numbers(bought["fields"])) if bought else "nothing"
    found: list[tuple[str, str, float | None, float | None]] = []
    for wall, objective in (record.get("screen") or {}).items():
        found.append((wall, "screen: the wall removed", exact(objective), None))
    for first, second, objective in record.get("pair_screen") or ():
        found.append(
            (f"{first} and {second}", "screen: both walls removed", exact(objective), None)
        )
    for wall, stairs in (record.get("staircases") or {}).items():
        for steps, objective, area in stairs:
            found.append((wall, f"{steps} up its menu", exact(objective), exact(area)))
    for first, second, objective, area in record.get("pairs") or ():
        found.append((f"{first} and {second}", "both 1 up", exact(objective), exact(area)))
    for field, weighed in (record.get("throughput") or {}).items():
        if "bound" in weighed:
            found.append((field, "bound over all its values", weighed["bound"], None))
        found += [_tried(told, field, place) for place, _ in weighed.get("steps") or ()]
    sets = record.get("sets") or {}
    for corner in sets.get("excluded") or ():
        walls = " and ".join(corner["walls"])
        how = "would help, but is over the ceiling or against a rule"
        found.append((walls, how, exact(corner["objective"]), exact(corner["area"])))
    return [
        (
            told.cell(record["round"]),
            Cell(name),
            Cell(how),
            told.cell(objective, digits=6),
            told.cell(area, digits=4),
            Cell(taken),
        )
        for name, how, objective, area in found
    ]


def _tried(
    told: Told, field: str, place: Sequence[int]
) -> tuple[str, str, float | None, float | None]:
    """A value of a field that was solved: its objective stands among the questions asked."""
    state = relaxed(told)
    asked = [] if state is None else state[0]["queries"]
    objective = next((q[2] for q in asked if q[0] == list(place) and not q[1]), None)
    return field, "another value, solved", exact(objective), None


def _numbers(steps: Mapping[str, Sequence[str | int]]) -> dict[str, tuple[float, float]]:
    return {n: (exact(a) or 0.0, exact(b) or 0.0) for n, (a, b) in steps.items()}

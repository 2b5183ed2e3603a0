"""What a purchase leaves for readers, and the designs that a run goes on from, as plain JSON."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from formwright.chip.library import Library, Point
from formwright.walls.core import Answer, Chosen, ScenarioAnswer
from formwright.walls.mechanism import mechanism
from formwright.walls.moves import Move
from formwright.walls.pricing import text
from formwright.walls.reclaim import Given
from formwright.walls.state import State
from formwright.walls.verdict import Agrees, Repaired, Unexplained, Verdict, Visit


def purchase(
    library: Library,
    move: Move,
    before: Visit,
    after: Visit,
    given: Sequence[Given],
    verdict: Agrees | Unexplained | None,
    *,
    area_before: Fraction,
    area: Fraction,
    together: bool | None,
) -> dict[str, Any]:
    """Areas in mm2; ``gain`` is the drop by area added, ``None`` where it cost none. ``area`` and
    ``objective`` are those after what was given back."""
    return {
        "way": move.way,
        "fields": _changed(library, before.point, move.point),
        "area_before": str(area_before),
        "area": str(area),
        "area_added": str(move.added),
        "before": text(before.answer.objective),
        "objective": text(after.answer.objective),
        "drop": _drop(before.answer, move),
        "gain": str(move.gain) if isinstance(move.gain, Fraction) else None,
        "together": together,
        "mechanism": list(
            mechanism(library, (before.point, before.answer), (after.point, after.answer))
        ),
        "effects": _effects(before.answer, after.answer),
        "verdict": _verdict(verdict),
        "chip": _chip(library, after.point),
        "reclaimed": given_back(library, given),
    }


def designs_of(state: State) -> Answer:
    """The incumbent's designs, as ``keep`` takes them: without their costs."""
    chosen: dict[str, list[Chosen]] = {}
    for scenario, work, template, values in state.software:
        design = Chosen(work, template, values, Fraction(0), None, 1, {})
        chosen.setdefault(scenario, []).append(design)
    zero = Fraction(0)
    answers = (ScenarioAnswer(n, zero, None, zero, tuple(c)) for n, c in chosen.items())
    return Answer(None, tuple(answers))


def software_of(answer: Answer) -> tuple[tuple[str, str, str, Mapping[str, int]], ...]:
    return tuple(
        (s.name, c.work, c.template, dict(c.assignment)) for s in answer.scenarios for c in s.chosen
    )


def _drop(before: Answer, move: Move) -> str | None:
    return None if before.objective is None else str(before.objective - move.objective)


def _effects(before: Answer, after: Answer) -> list[list[str | None]]:
    """Of each scenario: name, time before and after, energy before and after."""
    was = {s.name: s for s in before.scenarios}
    told: list[list[str | None]] = []
    for now in after.scenarios:
        old = was.get(now.name)
        times = [None if old is None else str(old.time), str(now.time)]
        told.append([now.name, *times, None if old is None else text(old.energy), text(now.energy)])
    return told


def _verdict(verdict: Verdict | None) -> dict[str, Any] | None:
    if verdict is None:
        return None
    word = {Agrees: "agrees", Unexplained: "unexplained", Repaired: "repaired"}[type(verdict)]
    return {"verdict": word, **verdict.data}


def _changed(library: Library, before: Point, after: Point) -> dict[str, list[Any]]:
    """Values from and to, in base units, of the fields that differ."""
    return {
        f.name: [_plain(f.menu[a]), _plain(f.menu[b])]
        for f, a, b in zip(library.fields, before, after, strict=True)
        if a != b
    }


def given_back(library: Library, given: Sequence[Given]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for each in given:
        menu = library.fields[library.index(each.field)].menu
        first = found.get(each.field, [_plain(menu[each.before])])[0]
        found[each.field] = [first, _plain(menu[each.after])]
    return found


def _chip(library: Library, point: Point) -> dict[str, Any]:
    return {
        f.name: _plain(f.menu[i])
        for f, i in zip(library.fields, point, strict=True)
        if len(f.menu) > 1
    }


def _plain(value: int | Fraction) -> int | str:
    exact = Fraction(value)
    return exact.numerator if exact.denominator == 1 else str(exact)

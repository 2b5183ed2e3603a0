"""The staircase of each wall: what the best software gains as one field moves and no other does.

It is asked of the chip that was chosen and of the start, after all methods have ended, so that no
method is charged with it. It says why a step was worth its area and why the next one is not, and
is what the journal keeps for readers; nothing is decided by it.
"""

from fractions import Fraction
from typing import Any, Final

from formwright.chip.library import Library, Point
from formwright.flow.codesign_results import Stair, Staircase
from formwright.flow.codesign_setting import Room, plain

MOST_VALUES: Final = 24
"""Places of a longer menu that are solved: at equal ratios, besides those beside the chip."""


def staircases(room: Room, at: str, chosen: Point) -> tuple[Staircase, ...]:
    """Of each field with a wall and a choice, in the order of the library."""
    library = room.study.library
    walls = [n for n in room.inner.walls if len(library.fields[library.index(n)].menu) > 1]
    if not walls:
        return ()
    key = f"{at}/staircases"
    room.listener.stage(f"{at} the staircase of each wall")
    data = room.journal.step(key, lambda: _solved(room, walls, chosen))
    entry = room.entry(key)
    return tuple(
        Staircase(
            field=name,
            chosen=_stairs(library, name, data[name]["chosen"]),
            start=_stairs(library, name, data[name]["start"]),
            sampled=data[name]["sampled"],
            entry=entry,
        )
        for name in walls
    )


def places(library: Library, name: str, here: int, start: int) -> tuple[int, ...]:
    """The places of the menu of field ``name`` that are solved, in order: all of a short menu,
    else some at equal ratios, with ``here``, its neighbours and ``start``."""
    menu = library.fields[library.index(name)].menu
    if len(menu) <= MOST_VALUES:
        return tuple(range(len(menu)))
    beside = {p for p in (here - 1, here, here + 1, start) if 0 <= p < len(menu)}
    spread = {round(len(menu) ** (n / (MOST_VALUES - 1))) - 1 for n in range(MOST_VALUES)}
    return tuple(sorted(spread | beside))


def _solved(room: Room, walls: list[str], chosen: Point) -> dict[str, Any]:
    library, start = room.study.library, room.study.start
    found: dict[str, Any] = {}
    for name in walls:
        at = library.index(name)
        asked = places(library, name, chosen[at], start[at])
        found[name] = {
            "chosen": _asked(room, chosen, at, asked),
            "start": _asked(room, start, at, asked),
            "sampled": len(asked) < len(library.fields[at].menu),
        }
    return found


def _asked(room: Room, point: Point, at: int, asked: tuple[int, ...]) -> list[list[Any]]:
    """Place, objective and area of each chip that keeps the library's rules."""
    library = room.study.library
    rows: list[list[Any]] = []
    for place in asked:
        chip = (*point[:at], place, *point[at + 1 :])
        if library.broken(chip):
            continue
        objective = room.inner.solve(chip).objective
        told = None if objective is None else str(objective)
        rows.append([place, told, str(library.area(chip))])
    return rows


def _stairs(library: Library, name: str, rows: list[list[Any]]) -> tuple[Stair, ...]:
    menu = library.fields[library.index(name)].menu
    return tuple(
        Stair(
            plain(Fraction(menu[place])),
            None if objective is None else float(Fraction(objective)),
            float(Fraction(area)),
        )
        for place, objective, area in rows
    )


def area_parts(library: Library, start: Point, chosen: Point) -> dict[str, tuple[float, float]]:
    """By term of the area model, mm2: of the start and of the chosen chip."""
    was, now = library.area_by_term(start), library.area_by_term(chosen)
    return {name: (float(was[name]), float(now[name])) for name in now}

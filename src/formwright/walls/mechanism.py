"""Why a purchase pays: what became possible, read off the two solutions on either side of it."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from formwright.base.quantities import Dimension, Quantity, show_quantity
from formwright.chip.library import Library, Point
from formwright.walls.core import Answer, Chosen


def mechanism(
    library: Library, before: tuple[Point, Answer], after: tuple[Point, Answer]
) -> tuple[str, ...]:
    """One sentence for each design that changed or costs something else now, the largest change of
    time first, then of energy.

    It names the decisions that changed and the walls that stood in the way: those of which the
    new design needs more than the old chip has. A design that fitted before and is chosen only
    now, or that stays, gains by a field that changes costs. Energies are told where the templates
    state them.
    """
    (old_point, old), (new_point, new) = before, after
    if old.objective is None:
        return (f"a program exists now: {old.reason}" if old.reason else "a program exists now",)
    was, now = old.software, new.software
    told: list[tuple[_Saved, str]] = []
    for key, design in now.items():
        previous = was.get(key)
        if previous is None:
            continue
        saved = _saved(previous, design)
        blocked = _blocked(library, old_point, new_point, design)
        if not _same(previous, design):
            told.append((saved, _changed(key, previous, design, blocked)))
        elif previous.time != design.time or _energy(previous, design):
            told.append((saved, _rescaled(key, previous, design, library, old_point, new_point)))
    merged: dict[str, _Saved] = {}
    for (time, energy), sentence in told:
        before_time, before_energy = merged.get(sentence, (Fraction(0), Fraction(0)))
        merged[sentence] = (before_time + time, before_energy + energy)

    def order(sentence: str) -> tuple[Fraction, Fraction, str]:
        time, energy = merged[sentence]
        return -time, -energy, sentence

    return tuple(sorted(merged, key=order))


_Saved = tuple[Fraction, Fraction]
"""Time and energy, in the templates' units, over all runs of a work."""


def _saved(old: Chosen, new: Chosen) -> _Saved:
    energy = Fraction(0)
    if old.energy is not None and new.energy is not None:
        energy = (old.energy - new.energy) * new.count
    return (old.time - new.time) * new.count, energy


def _same(one: Chosen, other: Chosen) -> bool:
    return one.template == other.template and one.assignment == other.assignment


def _changed(key: tuple[str, str], old: Chosen, new: Chosen, blocked: Sequence[str]) -> str:
    name = _name(key)
    if old.template != new.template:
        what = f"{name} runs {new.template} in place of {old.template}"
        if new.assignment:
            what += f" ({_listed(new.assignment)})"
    else:
        moved = [d for d in new.assignment if new.assignment[d] != old.assignment.get(d)]
        shown = ", ".join(f"{d} {old.assignment.get(d)} -> {new.assignment[d]}" for d in moved)
        what = f"{name}: {shown}"
    what += f", {_factor(old, new)}"
    if blocked:
        return f"{what}; before, {' and '.join(blocked)}"
    return f"{what}; it fitted before and pays only now"


def _rescaled(
    key: tuple[str, str],
    old: Chosen,
    new: Chosen,
    library: Library,
    old_point: Point,
    new_point: Point,
) -> str:
    fields = [
        f.name for f, a, b in zip(library.fields, old_point, new_point, strict=True) if a != b
    ]
    return f"{_name(key)} keeps its design, {_factor(old, new)} by {' and '.join(fields)}"


def _blocked(library: Library, old: Point, new: Point, design: Chosen) -> list[str]:
    """The walls of the new design that the old chip did not reach, with need and value.

    A need that no slack tells in the unit of its field shows as a wall that moved, by name.
    """
    told: list[str] = []
    for at, field in enumerate(library.fields):
        if field.name not in design.slack or new[at] <= old[at]:
            continue
        need = Fraction(field.menu[new[at]]) - design.slack[field.name]
        if need > field.menu[old[at]]:
            shown = _quantity(need, field.dimension)
            had = _quantity(Fraction(field.menu[old[at]]), field.dimension)
            told.append(f"{field.name} was in the way (it needs {shown}, there was {had})")
    return told


def _name(key: tuple[str, str]) -> str:
    scenario, work = key
    return work if scenario == work else f"{work} of {scenario}"


def _listed(assignment: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {value}" for name, value in assignment.items())


def _factor(old: Chosen, new: Chosen) -> str:
    return f"{_speed(old.time, new.time)}{_energy(old, new)}"


def _speed(old: Fraction, new: Fraction) -> str:
    if new == 0 or old == new:
        return "as fast"
    ratio = float(old / new)
    return f"{ratio:.3g} times as fast" if ratio >= 1 else f"{1 / ratio:.3g} times as slow"


def _energy(old: Chosen, new: Chosen) -> str:
    """Empty where a template states none, or where it is the same to four digits."""
    if not old.energy or new.energy is None:
        return ""
    ratio = f"{float(new.energy / old.energy):.4g}"
    return "" if ratio == "1" else f" with {ratio} times the energy"


def _quantity(value: Fraction, dimension: Dimension) -> str:
    return show_quantity(Quantity(value, dimension))

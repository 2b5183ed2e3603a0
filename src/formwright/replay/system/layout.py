"""Where the variables of a fine and a coarse system lie in one tuple, for given parameters."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from formwright.ir.expr import Scalar
from formwright.ir.system import Index, Refinement, StateVar, System
from formwright.replay.system.closures import Names, Place, condition, integer
from formwright.replay.system.made import Compiled, State

CELL_LIMIT = 4_096
"""Cells of both systems together; more is no small instance."""

SMALL = (-1, 0, 1, 2)
"""Tried for ``x any``, beside the values that occur."""

COARSE = "coarse."


class TooLargeError(Exception):
    """These parameters are beyond what the interpreter explores; the text says what."""


@dataclass(frozen=True, slots=True)
class Bound:
    """An integer cell with its range ``lo <= value < hi``."""

    slot: int
    lo: Compiled
    hi: Compiled

    @property
    def fixed(self) -> bool:
        """The range is the same in every state."""
        return self.lo.fixed and self.hi.fixed


@dataclass(frozen=True, slots=True)
class Layout:
    """``fine`` and ``coarse`` are the names that each system's expressions see.

    The relation and the matches see those of ``fine``, coarse variables as ``coarse.x``.
    Coarse cells begin at ``split``; the last place, ``alive``, is true while the coarse
    system has followed every match.
    """

    tokens: Mapping[str, Scalar]
    fine: Names
    coarse: Names
    split: int
    alive: int
    bounds: Mapping[int, Bound]
    cells: tuple[str, ...]
    """What each place is called: ``loc[1]``, ``coarse.p``."""


def span_of(index: Index, names: Names) -> range | None:
    """The values of an index; ``None`` for any integer. Its bounds must be known."""
    if index.lo is None or index.hi is None:
        return None
    lo, hi = integer(index.lo, names), integer(index.hi, names)
    return range(int(lo.fn(())), int(hi.fn(())))


def token_choices(step: Refinement, constants: Mapping[str, Scalar]) -> Iterator[dict[str, Scalar]]:
    """Every choice of the tokens of both systems; one that both have is in both ranges."""
    indices = (*step.coarse.tokens, *step.fine.tokens)
    yield from _chosen(indices, Names(constants, {}), {})


def has_any_token(step: Refinement) -> bool:
    """Some token is any integer: its choices are a sample."""
    tokens = (*step.fine.tokens, *step.coarse.tokens)
    bounded = {t.name for t in tokens if t.lo is not None}
    return any(t.name not in bounded for t in tokens)


def _chosen(
    indices: tuple[Index, ...], names: Names, known: dict[str, Scalar]
) -> Iterator[dict[str, Scalar]]:
    if not indices:
        yield known
        return
    first, rest = indices[0], indices[1:]
    within = span_of(first, names.bind(known))
    if first.name in known:
        if within is None or known[first.name] in within:
            yield from _chosen(rest, names, known)
        return
    for value in SMALL if within is None else within:
        yield from _chosen(rest, names, {**known, first.name: value})


def layout(step: Refinement, constants: Mapping[str, Scalar], tokens: dict[str, Scalar]) -> Layout:
    """Places for all variables; raises :class:`TooLargeError` where there are too many."""
    known = Names({**constants, **tokens}, {})
    fine, split = _places(step.fine, known, 0)
    coarse, end = _places(step.coarse, known, split)
    seen = {**fine, **{COARSE + name: place for name, place in coarse.items()}}
    whole = {name: Names(known.constants, v) for name, v in (("fine", seen), ("coarse", coarse))}
    bounds = {
        b.slot: b
        for system, places, names in (
            (step.fine, fine, whole["fine"]),
            (step.coarse, coarse, whole["coarse"]),
        )
        for b in _bounds(system, places, names)
    }
    cells = (*_cells(fine, ""), *_cells(coarse, COARSE))
    return Layout(tokens, whole["fine"], whole["coarse"], split, end, bounds, cells)


def _places(system: System, names: Names, start: int) -> tuple[dict[str, Place], int]:
    places: dict[str, Place] = {}
    for var in system.state:
        lo, size = 0, 1
        if var.index is not None:
            within = span_of(var.index, names)
            if within is None:
                raise TooLargeError(f"{var.name} has a cell for every integer")
            lo, size = within.start, len(within)
        places[var.name] = Place(var.name, start, lo, size, var.index is not None, var.sort)
        start += size
        if start > CELL_LIMIT:
            raise TooLargeError(f"more than {CELL_LIMIT} cells")
    return places, start


def _cells(places: Mapping[str, Place], prefix: str) -> Iterator[str]:
    for place in places.values():
        for index in range(place.lo, place.lo + place.size):
            yield f"{prefix}{place.name}[{index}]" if place.indexed else prefix + place.name


def cell_names(var: StateVar, place: Place, names: Names) -> Iterator[tuple[int, Names]]:
    """Each cell of a variable: its place, and the names with its index bound."""
    for number in range(place.size):
        bound = {} if var.index is None else {var.index.name: place.lo + number}
        yield place.offset + number, names.bind(bound)


def _bounds(system: System, places: Mapping[str, Place], names: Names) -> Iterator[Bound]:
    for var in system.state:
        if var.sort == "int" and var.lo is not None and var.hi is not None:
            for slot, inner in cell_names(var, places[var.name], names):
                yield Bound(slot, integer(var.lo, inner), integer(var.hi, inner))


def initial(step: Refinement, where: Layout) -> State:
    """The initial state; raises :class:`EvaluationError` where a value does not exist."""
    cells: list[Scalar] = [0] * where.alive
    for system, names in ((step.fine, where.fine), (step.coarse, where.coarse)):
        for var in system.state:
            compile_as = condition if var.sort == "bool" else integer
            for slot, inner in cell_names(var, names.variables[var.name], names):
                cells[slot] = compile_as(var.initial, Names(inner.constants, {})).fn(())
    return (*cells, True)


def out_of_range(where: Layout, state: State) -> str:
    """The first cell that is outside its range, in words; empty if none is."""
    for bound in where.bounds.values():
        wrong = outside(where, state, bound)
        if wrong:
            return wrong
    return ""


def outside(where: Layout, state: State, bound: Bound) -> str:
    """What is wrong with one cell, in words; empty if it is in its range."""
    lo, hi = bound.lo.fn(state), bound.hi.fn(state)
    value = state[bound.slot]
    if lo <= value < hi:
        return ""
    return f"{where.cells[bound.slot]} = {value} is outside {lo} .. {hi}"

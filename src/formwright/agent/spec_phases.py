"""Which lines one agent computes, and over which indices agents are parallel.

A *phase* is a grid of agents and the lines that each of them computes. Between phases lines meet
in scratch that all agents share; within one an agent reads what it has computed itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from formwright.agent.spec_lines import Line, reads_of
from formwright.ir.expr import Expr, Var
from formwright.ir.program import Access
from formwright.ir.rewrite import accesses, free_names
from formwright.ir.values import names_of_access

Tie = tuple[str | None, ...]
"""Of a line: the index of the grid that each of its free indices is, or None where it is none."""


@dataclass(frozen=True, slots=True)
class Phase:
    """``grid``: the parallel indices with their extents, never empty. ``ties`` by line."""

    grid: tuple[tuple[str, str], ...]
    lines: tuple[Line, ...]
    ties: Mapping[str, Tie]


def together(lines: tuple[Line, ...]) -> tuple[Phase, ...]:
    """One phase: an agent for each point of the indices that the output shares with all lines.

    Where they share none the lines are :func:`apart`.
    """
    ties = _output_ties(lines)
    shared = _shared(lines, ties)
    return (_phase(lines, ties, shared),) if shared else apart(lines)


def apart(lines: tuple[Line, ...]) -> tuple[Phase, ...]:
    """A phase ends where a line reads cells that other agents of it would have computed."""
    groups = list[tuple[list[Line], dict[str, Tie]]]()
    for line in lines:
        tie = _same_cells(*groups[-1], line) if groups else None
        if tie is None:
            groups.append(([line], {line.name: tuple(n for n, _ in line.free)}))
        else:
            groups[-1][0].append(line)
            groups[-1][1][line.name] = tie
    return tuple(_phase(tuple(g), ties, [n for n, _ in g[0].free]) for g, ties in groups)


def is_better_apart(lines: tuple[Line, ...]) -> bool:
    """Would agents that compute all lines each read the whole of some matrix?

    Then the lines are better apart: the work on that input is spread over its rows.
    """
    ties = _output_ties(lines)
    shared = _shared(lines, ties)
    known = {line.name for line in lines}
    for line in lines[:-1]:
        tied = zip(line.free, ties[line.name], strict=True)
        mine = {n for (n, _), tie in tied if tie in shared}
        for access in accesses(line.value):
            inner = access.buffer not in known and len(access.index) > 1
            if inner and not names_of_access(access) & mine:
                return True
    return not shared


def _output_ties(lines: tuple[Line, ...]) -> dict[str, Tie]:
    """From the output backwards: what every reader of a line puts in the place of an index."""
    output = lines[-1]
    ties: dict[str, Tie] = {output.name: tuple(n for n, _ in output.free)}
    for line in reversed(lines[:-1]):
        seen = [
            tuple(
                _tie(index, extent, reader, ties[reader.name])
                for index, (_, extent) in zip(access.index, line.free, strict=True)
            )
            for reader, access in reads_of(lines, line.name)
        ]
        ties[line.name] = tuple(
            places[0] if len(set(places)) == 1 else None for places in zip(*seen, strict=True)
        )
    return ties


def _tie(index: Expr, extent: str, reader: Line, ties: Tie) -> str | None:
    for (name, over), tie in zip(reader.free, ties, strict=True):
        if isinstance(index, Var) and (index.name, extent) == (name, over):
            return tie
    return None


def _shared(lines: tuple[Line, ...], ties: Mapping[str, Tie]) -> list[str]:
    return [n for n, _ in lines[-1].free if all(n in ties[line.name] for line in lines)]


def _same_cells(group: list[Line], ties: Mapping[str, Tie], line: Line) -> Tie | None:
    """How ``line`` has the group's indices, if it reads the group at its own cells only."""
    wanted = [n for n, _ in group[0].free]
    found: list[str | None] = [None] * len(line.free)
    names = {n: place for place, (n, _) in enumerate(line.free)}
    reads = [(o, a) for o in group for _, a in reads_of((line,), o.name)]
    for other, access in reads:
        for index, tie in zip(access.index, ties[other.name], strict=True):
            place = names.get(index.name) if isinstance(index, Var) else None
            if tie is not None and (place is None or found[place] not in (None, tie)):
                return None
            if tie is not None and place is not None:
                found[place] = tie
    if not reads and [e for _, e in line.free] == [e for _, e in group[0].free]:
        return tuple(wanted)
    return tuple(found) if set(wanted) <= set(found) else None


def _phase(lines: tuple[Line, ...], ties: Mapping[str, Tie], shared: list[str]) -> Phase:
    """Of the shared indices those stay in the agent along which a line runs through memory."""
    summing = [line for line in lines if line.over and line.combine == "sum"]
    rows = set[str | None]()
    for line in summing or lines:
        along = _along(line)
        tied = zip(line.free, ties[line.name], strict=True)
        rows |= {tie for (name, _), tie in tied if name == along}
    extents = dict[str, str]()
    for line in lines:
        for (_, extent), tie in zip(line.free, ties[line.name], strict=True):
            if tie is not None:
                extents.setdefault(tie, extent)
    kept = [n for n in shared if n not in rows] or shared
    return Phase(tuple((n, extents[n]) for n in kept), lines, ties)


def _along(line: Line) -> str:
    """The index of ``line`` that runs along rows of what it reads and writes, mostly.

    An access whose last index it is counts for it, one where it stands elsewhere against it.
    """
    stored = Access(line.name, tuple(Var(n) for n, _ in line.free))
    scores = dict.fromkeys([*(o.index for o in line.over), *(n for n, _ in line.free)], 0)
    for access in (*accesses(line.value), stored):
        *front, last = access.index or (Var(""),)
        for name in scores:
            scores[name] += name in free_names(last)
            scores[name] -= any(name in free_names(i) for i in front)
    return max(scores, key=lambda n: scores[n]) if scores else ""

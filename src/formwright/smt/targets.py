"""What a line of the workload is computed into: the output, or a buffer that keeps a stage.

A cell of a buffer stands for a cell of the stage: which one the template's section ``realise``
says, by the run's values of the names in sight at the ``alloc``. A line is proved for each cell
of its storage that stands for a cell of the stage; a read of the storage elsewhere is then a
read of the stage (``docs/program-rules.md``, the theorem of stages).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from formwright.ir.program import Access
from formwright.ir.template import Realised, Template, Workload
from formwright.smt.atoms import Atoms
from formwright.smt.encode import number
from formwright.smt.instances import Instance, cell, fresh, present
from formwright.smt.lazy import Reach, reads_of
from formwright.smt.sites import Home, Site
from formwright.smt.terms import ZERO, Formula, Poly, le, lt, symbol


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a program computes: the workload, its stages, and where it keeps them."""

    workload: Workload
    stages: tuple[Workload, ...] = ()
    realised: tuple[Realised, ...] = ()

    def visible(self, used: frozenset[str]) -> "Meaning":
        """Without what is kept in buffers that are not used."""
        kept = tuple(r for r in self.realised if r.buffer in used)
        return Meaning(self.workload, self.stages, kept)


def meaning_of(template: Template) -> Meaning:
    scope = template.scope
    return Meaning(scope.workload, scope.stages, template.realised)


class Stages:
    """Reads of buffers that keep stages."""

    def __init__(self, realised: Sequence[Realised]) -> None:
        self._kept: Mapping[str, Realised] = {r.buffer: r for r in realised}

    def kept_by(self, buffer: str) -> str | None:
        """The stage that a buffer keeps."""
        found = self._kept.get(buffer)
        return None if found is None else found.stage

    def place(
        self, run: Instance, access: Access, index: tuple[Poly, ...], atoms: Atoms
    ) -> tuple[Poly, ...]:
        """The cell of the stage for ``index`` of its buffer; of another tensor ``index``."""
        kept = self._kept.get(access.buffer)
        if kept is None:
            return index
        env = dict(_outer(run, run.site.home(access)))
        env.update(zip(kept.names, index, strict=True))
        return tuple(number(i, env, atoms) for i in kept.index)


def _outer(run: Instance, home: Home) -> list[tuple[str, Poly]]:
    """The names above the ``alloc`` of a buffer, outermost first, with their values."""
    names = [n for f in run.site.frames[: home.depth] for n in f.binds()]
    return [(n, run.env[n]) for n in names]


@dataclass(frozen=True, slots=True)
class Somewhere:
    """An arbitrary cell: what is known of it, which one it is, and its place in the line.

    ``given``: what a counterexample says of it.
    """

    facts: list[Formula]
    cell: tuple[Poly, ...]
    place: tuple[Poly, ...]
    given: tuple[tuple[str, Poly], ...]


class Target:
    """The storage of one line: the statements that write it, and what its cells stand for."""

    def __init__(
        self, line: Workload, kept: Realised | None, applies: Sequence[Site], atoms: Atoms
    ) -> None:
        self.line = line
        self.kept = kept
        self.buffer = line.output.name if kept is None else kept.buffer
        self.writers = [s for s in applies if s.apply.destination.buffer == self.buffer]
        self.reads = [
            (s, r)
            for s in applies
            for r in dict.fromkeys(reads_of(s.apply.value))
            if kept is not None and r.access.buffer == self.buffer
        ]
        self._stages = Stages(() if kept is None else (kept,))
        self._atoms = atoms

    @property
    def name(self) -> str:
        return self.line.output.name

    def cell(self, run: Instance) -> tuple[Poly, ...]:
        """Which cell of which storage ``run`` writes."""
        access = run.site.apply.destination
        index = cell(run, access, self._atoms).index
        if self.kept is None:
            return index
        return (*(p for _, p in _outer(run, run.site.home(access))), *index)

    def place(self, run: Instance) -> tuple[Poly, ...]:
        """The indices of the line that the cell stands for."""
        access = run.site.apply.destination
        index = cell(run, access, self._atoms).index
        return self._stages.place(run, access, index, self._atoms)

    def premises(self, place: Sequence[Poly]) -> list[Formula]:
        """What may be taken for granted: cells that stand for nothing hold what they like."""
        return [] if self.kept is None else self.in_range(place)

    def in_range(self, place: Sequence[Poly]) -> list[Formula]:
        return ranges(place, [symbol(e) for e in self.line.output.extents])

    def wanted(self) -> list[Somewhere]:
        """The cells that have to be right: any of the output, any that is read of a stage."""
        if self.kept is None:
            index = tuple(symbol(f"{n}@cell") for n in self.line.indices)
            given = tuple(zip(self.line.indices, index, strict=True))
            return [Somewhere(self.in_range(index), index, index, given)]
        return [self._read(site, reach) for site, reach in self.reads]

    def _read(self, site: Site, reach: Reach) -> Somewhere:
        """A cell that some run reads, and that stands for a cell of the stage."""
        run = fresh(site, f"r{site.number}", {}, 0)
        made = cell(run, reach.access, self._atoms)
        place = self._stages.place(run, reach.access, made.index, self._atoms)
        facts = present(run, reach, made, self._atoms) + self.in_range(place)
        outer = _outer(run, site.home(reach.access))
        given = [(f"{self.name}.{n}", p) for n, p in zip(self.line.indices, place, strict=True)]
        return Somewhere(facts, (*(p for _, p in outer), *made.index), place, (*outer, *given))


def ranges(indices: Sequence[Poly], extents: Sequence[Poly]) -> list[Formula]:
    found: list[Formula] = []
    for index, extent in zip(indices, extents, strict=True):
        found += [le(ZERO, index), lt(index, extent)]
    return found


def targets(meaning: Meaning, applies: Sequence[Site], atoms: Atoms) -> list[Target]:
    """The output, then the stages that are kept, in the order of their lines."""
    kept = {r.stage: r for r in meaning.realised}
    stages = [
        Target(s, kept[s.output.name], applies, atoms)
        for s in meaning.stages
        if s.output.name in kept
    ]
    return [Target(meaning.workload, None, applies, atoms), *stages]

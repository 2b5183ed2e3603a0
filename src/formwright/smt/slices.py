"""The part of a program that one goal is derived from, as a program of its own.

A goal is derived from its slice and nothing else when proofs are kept, so that the digest of
the slice stands for everything that the derivation can have read.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from formwright.ir.program import (
    Alloc,
    Apply,
    Arrive,
    Await,
    Barrier,
    Buffer,
    Commit,
    For,
    If,
    Par,
    Stmt,
    Wait,
)
from formwright.ir.rewrite import accesses
from formwright.ir.template import Template, Workload
from formwright.smt.agreement import Agreement
from formwright.smt.atoms import Atoms
from formwright.smt.counters import Counters
from formwright.smt.goals import Goal, Reads
from formwright.smt.progress import Progress
from formwright.smt.schedule import Schedule
from formwright.smt.sites import Sites, sites_of
from formwright.smt.terms import Formula

Path = tuple[int, ...]
Impossible = Callable[[Sequence[Formula]], bool]
SYNCHRONISING = (Barrier, Commit, Wait, Arrive, Await)


def program_goals(
    sites: Sites,
    workload: Workload,
    decisions: Sequence[str],
    atoms: Atoms,
    impossible: Impossible,
) -> Iterator[Goal]:
    """The conditions of K2 on a program; ``decisions`` are tried where a number is looked for."""
    inputs = frozenset(t.name for t in workload.inputs)
    counters = Counters(sites, atoms, impossible)
    yield from Schedule(sites, inputs, atoms, counters).goals()
    yield from Progress(sites, atoms, counters, decisions, impossible).goals()
    yield from Agreement(sites.applies, workload, atoms, impossible).goals()


@dataclass(frozen=True, slots=True)
class Slice:
    """``program`` with its ``tensors``; ``places`` leads from the whole program to it."""

    program: tuple[Stmt, ...]
    tensors: tuple[Buffer, ...]
    workload: Workload
    decisions: tuple[str, ...]
    places: dict[Path, Path]

    def goal(
        self, condition: str, reads: Reads, ordinal: int, atoms: Atoms, impossible: Impossible
    ) -> Goal | None:
        """The goal of the slice that is the given one of the whole program."""
        named = tuple(self.places[p] for p in reads.named)
        sites = sites_of(self.program, self.tensors)
        goals = program_goals(sites, self.workload, self.decisions, atoms, impossible)
        for goal in goals:
            mine = goal.reads
            if mine is None or goal.condition != condition:
                continue
            if (mine.what, mine.named) == (reads.what, named):
                if ordinal == 0:
                    return goal
                ordinal -= 1
        return None


class Slicer:
    """Cuts slices out of the program of one template; texts are made once."""

    def __init__(self, template: Template) -> None:
        self._program = template.program
        self._workload = template.scope.workload
        self._decisions = tuple(d.name for d in template.decisions)
        self._tensors = {b.name: b for b in template.globals}
        self._texts: dict[Path, str] = {}
        self._buffers: dict[Path, frozenset[str]] = {}
        self._read(template.program, ())
        self._tensor_texts = {n: repr(b) for n, b in self._tensors.items()}
        self._terms = repr(template.scope.workload)

    def _read(self, block: Sequence[Stmt], above: Path) -> None:
        for position, node in enumerate(block):
            path = (*above, position)
            if isinstance(node, For | Par | If):
                self._texts[path] = repr(replace(node, body=()))
                self._read(node.body, path)
            else:
                self._texts[path] = repr(node)
            if isinstance(node, Apply):
                reached = (node.destination, *accesses(node.value))
                self._buffers[path] = frozenset(a.buffer for a in reached)

    def text(self, condition: str, reads: Reads, ordinal: int) -> str:
        """Everything that the goal is derived from: equal texts are equal goals."""
        used = self._used(reads)
        places: dict[Path, Path] = {}
        rows = self._rows(self._program, (), (), reads, used, places)
        tensors = sorted(self._tensor_texts[n] for n in used if n in self._tensor_texts)
        inputs = sorted(t.name for t in self._workload.inputs if t.name in used)
        named = [places[p] for p in reads.named]
        terms = self._terms if reads.terms else ""
        shifts = self._decisions if reads.shifts else ()
        head = f"{condition} {reads.what} {named} {ordinal} {tensors} {inputs} {terms} {shifts}"
        return "\n".join([head, *rows])

    def slice(self, reads: Reads) -> Slice:
        """The program of that text."""
        used = self._used(reads)
        places: dict[Path, Path] = {}
        self._rows(self._program, (), (), reads, used, places)
        program = _cut(self._program, (), places, used)
        tensors = tuple(b for n, b in self._tensors.items() if n in used)
        decisions = self._decisions if reads.shifts else ()
        return Slice(program, tensors, self._visible(reads, used), decisions, places)

    def _visible(self, reads: Reads, used: frozenset[str]) -> Workload:
        """Without terms only the names of the inputs that are used are read of the workload."""
        if reads.terms:
            return self._workload
        inputs = tuple(t for t in self._workload.inputs if t.name in used)
        return replace(self._workload, inputs=inputs)

    def _used(self, reads: Reads) -> frozenset[str]:
        return frozenset[str]().union(*(self._buffers.get(p, frozenset()) for p in reads.kept))

    def _rows(
        self,
        block: Sequence[Stmt],
        above: Path,
        into: Path,
        reads: Reads,
        used: frozenset[str],
        places: dict[Path, Path],
    ) -> list[str]:
        """The texts of what is kept, and where it goes."""
        rows: list[str] = []
        count = 0
        for position, node in enumerate(block):
            path, place = (*above, position), (*into, count)
            match node:
                case For(_, _, _, body) | Par(_, _, _, body) | If(_, body):
                    inner = self._rows(body, path, place, reads, used, places)
                    if not inner and path not in reads.kept:
                        continue
                    rows += ["(", self._texts[path], *inner, ")"]
                case Alloc(buffers):
                    mine = tuple(b for b in buffers if b.name in used)
                    if not mine:
                        continue
                    whole = len(mine) == len(buffers)
                    rows.append(self._texts[path] if whole else repr(Alloc(mine)))
                case _:
                    synchronises = reads.ordered and isinstance(node, SYNCHRONISING)
                    if not synchronises and path not in reads.kept:
                        continue
                    rows.append(self._texts[path])
            places[path] = place
            count += 1
        return rows


def _cut(
    block: Sequence[Stmt], above: Path, places: dict[Path, Path], used: frozenset[str]
) -> tuple[Stmt, ...]:
    found: list[Stmt] = []
    for position, node in enumerate(block):
        path = (*above, position)
        if path not in places:
            continue
        match node:
            case For(_, _, _, body) | Par(_, _, _, body) | If(_, body):
                found.append(replace(node, body=_cut(body, path, places, used)))
            case Alloc(buffers):
                found.append(replace(node, buffers=tuple(b for b in buffers if b.name in used)))
            case _:
                found.append(node)
    return tuple(found)

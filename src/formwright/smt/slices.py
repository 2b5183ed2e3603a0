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
from formwright.ir.template import Template
from formwright.smt.agreement import Agreement
from formwright.smt.atoms import Atoms
from formwright.smt.counters import Counters
from formwright.smt.goals import Goal, Reads
from formwright.smt.progress import Progress
from formwright.smt.schedule import Schedule
from formwright.smt.sites import Sites, sites_of
from formwright.smt.targets import Meaning, meaning_of
from formwright.smt.terms import Formula

Path = tuple[int, ...]
Impossible = Callable[[Sequence[Formula]], bool]
SYNCHRONISING = (Barrier, Commit, Wait, Arrive, Await)


def program_goals(
    sites: Sites,
    meaning: Meaning,
    decisions: Sequence[str],
    atoms: Atoms,
    impossible: Impossible,
) -> Iterator[Goal]:
    """The conditions of K2 on a program; ``decisions`` are tried where a number is looked for."""
    inputs = frozenset(t.name for t in meaning.workload.inputs)
    counters = Counters(sites, atoms, impossible)
    yield from Schedule(sites, inputs, atoms, counters).goals()
    yield from Progress(sites, atoms, counters, decisions, impossible).goals()
    yield from Agreement(sites.applies, meaning, atoms, impossible).goals()


@dataclass(frozen=True, slots=True)
class Part:
    """A statement that a slice keeps, with the place it had; ``inner``: what it keeps inside."""

    node: Stmt
    path: Path
    text: str
    inner: Sequence["Part"] = ()


@dataclass(frozen=True, slots=True)
class Slice:
    """``program`` with its ``tensors``; ``places`` leads from the whole program to it."""

    program: tuple[Stmt, ...]
    tensors: tuple[Buffer, ...]
    meaning: Meaning
    decisions: tuple[str, ...]
    places: dict[Path, Path]

    def goal(
        self, condition: str, reads: Reads, ordinal: int, atoms: Atoms, impossible: Impossible
    ) -> Goal | None:
        """The goal of the slice that is the given one of the whole program."""
        named = _named(reads, self.places)
        sites = sites_of(self.program, self.tensors)
        goals = program_goals(sites, self.meaning, self.decisions, atoms, impossible)
        for goal in goals:
            mine = goal.reads
            if mine is None or goal.condition != condition:
                continue
            here = mine.named if mine.ordered else tuple(sorted(mine.named))
            if (mine.what, here) == (reads.what, named):
                if ordinal == 0:
                    return goal
                ordinal -= 1
        return None


class Slicer:
    """Cuts slices out of the program of one template; texts are made once."""

    def __init__(self, template: Template) -> None:
        self._program = template.program
        self._meaning = meaning_of(template)
        self._decisions = tuple(d.name for d in template.decisions)
        self._tensors = {b.name: b for b in template.globals}
        self._texts: dict[Path, str] = {}
        self._buffers: dict[Path, frozenset[str]] = {}
        self._read(template.program, ())
        self._tensor_texts = {n: repr(b) for n, b in self._tensors.items()}
        self._terms = repr(template.scope.lines)

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
        part = self._parts(reads)
        used = self._used(reads)
        tensors = sorted(self._tensor_texts[n] for n in used if n in self._tensor_texts)
        inputs = sorted(t.name for t in self._meaning.workload.inputs if t.name in used)
        places: dict[Path, Path] = {}
        _placed(part, (), places)
        named = _named(reads, places)
        terms = ""
        if reads.terms:
            kept = [repr(r) for r in self._meaning.visible(used).realised]
            terms = self._terms + "".join(kept)
        shifts = self._decisions if reads.shifts else ()
        head = f"{condition} {reads.what!r} {named} {ordinal} {tensors} {inputs} {terms} {shifts}"
        return "\n".join([head, *(p.text for p in part)])

    def slice(self, reads: Reads) -> Slice:
        """The program of that text."""
        part = self._parts(reads)
        used = self._used(reads)
        places: dict[Path, Path] = {}
        _placed(part, (), places)
        tensors = tuple(b for n, b in self._tensors.items() if n in used)
        decisions = self._decisions if reads.shifts else ()
        program = tuple(_whole(p) for p in part)
        return Slice(program, tensors, self._visible(reads, used), decisions, places)

    def _parts(self, reads: Reads) -> list[Part]:
        return self._cut(self._program, (), reads, self._used(reads))

    def _visible(self, reads: Reads, used: frozenset[str]) -> Meaning:
        """Without terms only the names of the inputs that are used are read of the workload."""
        if reads.terms:
            return self._meaning.visible(used)
        workload = self._meaning.workload
        inputs = tuple(t for t in workload.inputs if t.name in used)
        return Meaning(replace(workload, inputs=inputs))

    def _used(self, reads: Reads) -> frozenset[str]:
        return frozenset[str]().union(*(self._buffers.get(p, frozenset()) for p in reads.kept))

    def _cut(
        self, block: Sequence[Stmt], above: Path, reads: Reads, used: frozenset[str]
    ) -> list[Part]:
        """What is kept of a block. Where no order is read its statements stand by their texts,
        storage first: an edit of the order is none of the goal."""
        found: list[Part] = []
        for position, node in enumerate(block):
            path = (*above, position)
            match node:
                case For(_, _, _, body) | Par(_, _, _, body) | If(_, body):
                    inner = self._cut(body, path, reads, used)
                    if inner:
                        rows = "\n".join(p.text for p in inner)
                        found.append(Part(node, path, f"({self._texts[path]}\n{rows})", inner))
                case Alloc(buffers):
                    mine = tuple(b for b in buffers if b.name in used)
                    if mine:
                        kept = node if len(mine) == len(buffers) else replace(node, buffers=mine)
                        text = self._texts[path] if kept is node else repr(kept)
                        found.append(Part(kept, path, text))
                case _:
                    synchronises = reads.ordered and isinstance(node, SYNCHRONISING)
                    if synchronises or path in reads.kept:
                        found.append(Part(node, path, self._texts[path]))
        if not reads.ordered:
            found.sort(key=lambda p: (not isinstance(p.node, Alloc), p.text))
        return found


def _named(reads: Reads, places: dict[Path, Path]) -> tuple[Path, ...]:
    """The named places in the slice; a pair without an order has none of its own."""
    named = tuple(places[p] for p in reads.named)
    return named if reads.ordered else tuple(sorted(named))


def _placed(parts: Sequence[Part], above: Path, places: dict[Path, Path]) -> None:
    """Where each statement that is kept has gone."""
    for position, part in enumerate(parts):
        places[part.path] = (*above, position)
        _placed(part.inner, places[part.path], places)


def _whole(part: Part) -> Stmt:
    node = part.node
    if isinstance(node, For | Par | If):
        return replace(node, body=tuple(_whole(p) for p in part.inner))
    return node

"""What is drawn: templates that cover a contract, and templates of like structure.

Names decide nothing. A template covers a contract when ``contract.matching.matches`` finds no
difference; whether it keeps what it claims is the verifier's word, which an admitted entry has.
Of the templates of one niche the best come first; of the niches each has its turn before one has
a second.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, islice
from typing import TypeVar

from formwright.base.diagnostics import InputError
from formwright.base.digest import digest
from formwright.base.source import Source
from formwright.contract.contract import Contract
from formwright.contract.formulas import form_of, workload_of
from formwright.contract.matching import matches
from formwright.ir.template import Template, Workload
from formwright.lang.parser import parse
from formwright.population.describing import line_words
from formwright.population.entries import Entry, Fact, KeptFact
from formwright.population.signature import Signature, likeness, signature_of

T = TypeVar("T")

SEATS = 8
"""Templates of one niche that are drawn at most. The others stay: another chip may seat them."""


@dataclass(frozen=True, slots=True)
class Covered:
    """A template that claims the contract, with what is known of it, newest fact last.

    ``template`` is as parsed; ``contract.matching.typed_for`` gives it the contract's types.
    """

    entry: Entry
    template: Template
    facts: tuple[KeptFact, ...]


@dataclass(frozen=True, slots=True)
class Alike:
    """``likeness`` from 0 to 1; ``shared``: words of both structures."""

    entry: Entry
    likeness: Fraction
    shared: tuple[str, ...]


def interface_of(template: Template) -> str:
    """The tensors of the call in order; equal wherever ``matches`` could find no difference."""
    workload = template.scope.workload
    tensors = (*workload.inputs, workload.output)
    return " ".join(f"{t.name}[{','.join(t.extents)}]" for t in tensors)


def interface_of_contract(contract: Contract) -> str:
    """As :func:`interface_of`, of what is asked for."""
    return " ".join(f"{o.name}[{','.join(o.extents)}]" for o in contract.operands)


def problem_of(lines: Sequence[Workload]) -> str:
    """A digest of the mathematical workload: its lines, in whatever order the stages stand."""
    return digest(sorted([line.output.name, repr(form_of(line))] for line in lines))


def niche_of(problem: str, signature: Signature) -> str:
    """Templates of one problem and one structure share a niche."""
    return digest([problem, signature])


def covers(entry: Entry, contract: Contract) -> Template | None:
    """The parsed template if its claim has the whole contract in it."""
    try:
        template = parse(Source(f"{entry.name}.fw", entry.text))
    except InputError:  # kept under an earlier grammar
        return None
    return None if matches(template, contract) else template


Quality = Callable[[Entry], tuple[object, ...]]


def quality(facts: Iterable[KeptFact]) -> Quality:
    """An order of entries by facts that hold: best first.

    Figures of one workload, chip, machine and quantity are compared: an entry stands where its
    best ratio to the best of them puts it. Entries of which nothing holds come after, oldest first.
    """
    groups: dict[tuple[object, ...], list[Fact]] = {}
    for kept in facts:
        if kept.standing == "holds":
            groups.setdefault(_compared(kept.fact), []).append(kept.fact)
    ratios: dict[str, float] = {}
    for group in groups.values():
        best = min(f.value for f in group)
        for fact in group:
            ratio = fact.value / best if best > 0 else 1.0
            ratios[fact.template] = min(ratio, ratios.get(fact.template, ratio))
    return lambda entry: (
        entry.digest not in ratios,
        ratios.get(entry.digest, 0.0),
        entry.created,
        entry.digest,
    )


def _compared(fact: Fact) -> tuple[object, ...]:
    work = fact.work
    shape = (*sorted(work.extents.items()), *sorted(work.dtypes.items()))
    where = (fact.machine, fact.chip.digest)
    return (work.contract, shape, work.threads, *where, fact.quantity, fact.evidence)


def seated(
    entries: Iterable[Entry],
    order: Quality,
    seats: int,
    covers: Callable[[Entry], Template | None],
) -> tuple[tuple[Entry, Template], ...]:
    """At most ``seats`` of each niche that cover, the niches in turn.

    Proved before reopened before shelf, then by ``order``. ``covers`` is asked (it parses) in this
    order, until a niche has its seats.
    """
    found = sorted(entries, key=lambda e: e.niche)
    niches = []
    for _, group in groupby(found, key=lambda e: e.niche):
        members = sorted(group, key=lambda e: (_standing(e), *order(e)))
        pairs = ((e, covers(e)) for e in members)
        taken = [(e, t) for e, t in islice((p for p in pairs if p[1] is not None), seats) if t]
        if taken:
            niches.append(taken)
    niches.sort(key=lambda taken: (_standing(taken[0][0]), *order(taken[0][0])))
    return tuple(_in_turn(niches))


def _standing(entry: Entry) -> int:
    return 2 if not entry.admitted else 1 if entry.reopened else 0


def _in_turn(niches: Sequence[Sequence[T]]) -> Iterator[T]:
    for turn in range(max((len(n) for n in niches), default=0)):
        for members in niches:
            if turn < len(members):
                yield members[turn]


def alike_to(of: Template | Contract, entries: Iterable[Entry]) -> tuple[Alike, ...]:
    """Entries with something in common with ``of``, most alike first.

    Of a contract only what it computes is known; that is compared then.
    """
    if isinstance(of, Template):
        wanted, whole = signature_of(of), True
    else:
        line, stages = workload_of(of)
        words = tuple(sorted(line_words((line, *stages))))
        wanted, whole = Signature(words, (), (), ()), False
    found = []
    for entry in entries:
        if entry.signature is None:
            continue
        has = entry.signature if whole else _lines_only(entry.signature)
        share = likeness(wanted, has)
        if share:
            found.append(Alike(entry, share, _shared(wanted, has)))
    return tuple(sorted(found, key=lambda a: (-a.likeness, a.entry.created, a.entry.digest)))


def _lines_only(signature: Signature) -> Signature:
    words = (w for w in signature.algorithm if w.startswith(("line ", "computes ")))
    return Signature(tuple(words), (), (), ())


def _shared(a: Signature, b: Signature) -> tuple[str, ...]:
    return tuple(
        w for (_, x), (_, y) in zip(a.parts(), b.parts(), strict=True) for w in x if w in y
    )

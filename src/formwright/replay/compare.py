"""The outputs of a run against the workload, term by term."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal as OneOf
from typing import cast

from formwright.replay.memory import Memory
from formwright.replay.numeric import differ
from formwright.replay.stages import Lines
from formwright.replay.terms import (
    FUNCTIONS,
    Frozen,
    Monomial,
    Polynomial,
    Terms,
    show_monomial,
    show_sum,
    tokens_of,
)

DefectKind = OneOf["unwritten", "missing", "foreign", "doubled", "swapped"]
"""``unwritten``: an output cell without value, or that nothing assigns. ``missing``: a term is
lost. ``foreign``: a term that is not the cell's. ``doubled``: a term more than once.
``swapped``: a term is lost and a foreign one stands in its place."""


@dataclass(frozen=True, slots=True)
class CellDefect:
    """One cell that is wrong, of the output or of a buffer that keeps a stage.

    ``sentences``: each kind of wrong that it is, the most telling first, with a sentence that has
    no full stop.
    """

    index: tuple[int, ...]
    sentences: tuple[tuple[DefectKind, str], ...]

    @property
    def kind(self) -> DefectKind:
        return self.sentences[0][0]

    @property
    def text(self) -> str:
        return self.sentences[0][1]


def expected_cells(lines: Lines, name: str, terms: Terms) -> dict[tuple[int, ...], Polynomial]:
    """What the workload says each cell of its output ``name`` is."""
    return {index: terms.polynomial(lines.cell(name, index)) for index in lines.cells(name)}


def wrong_stages(lines: Lines, memory: Memory, terms: Terms) -> tuple[CellDefect, ...]:
    """Cells of the first stage, in the order of what needs what, that is read wrong somewhere.

    What is never read, and what stands for no cell of the stage, may be anything.
    """
    for kept in lines.realised:
        found: list[CellDefect] = []
        for read in memory.stage_reads:
            if read.stage != kept.stage:
                continue
            wanted = terms.polynomial(lines.cell(read.stage, read.place))
            got = terms.polynomial(read.value)
            if differ(got, wanted, lines.made):
                stage = f"{read.stage}[{_listed(read.place)}]"
                cell = f"{read.buffer}[{_listed(read.index)}], which keeps {stage},"
                found.append(CellDefect(read.index, tuple(_differences(cell, wanted, got))))
        if found:
            return tuple(found)
    return ()


def _listed(index: tuple[int, ...]) -> str:
    return ",".join(str(i) for i in index)


def wrong_cells(
    name: str,
    expected: Mapping[tuple[int, ...], Polynomial],
    memory: Memory,
    terms: Terms,
    lines: Lines,
) -> tuple[CellDefect, ...]:
    """Every output cell that differs, in the order of the indices."""
    found = []
    for index, wanted in expected.items():
        number = memory.output(index)
        cell = f"{name}[{','.join(str(i) for i in index)}]"
        if number is None:
            found.append(CellDefect(index, (("unwritten", f"{cell} is never written"),)))
            continue
        got = terms.polynomial(number)
        if differ(got, wanted, lines.made):
            sentences = tuple(_differences(cell, wanted, got))
            if not memory.assigned(index):
                text = f"{cell} is accumulated into and never assigned"
                sentences = (*sentences, ("unwritten", text))
            found.append(CellDefect(index, sentences))
    return tuple(found)


def _differences(
    cell: str, wanted: Polynomial, got: Polynomial
) -> Iterator[tuple[DefectKind, str]]:
    compared = _compared(wanted), _compared(got)
    if compared[0] is not None and compared[1] is not None:
        yield from _other_values(cell, compared[0], compared[1])
        return
    lost = [m for m in wanted if got.get(m, 0) < wanted[m]]
    foreign = [m for m in got if m not in wanted]
    doubled = [m for m in got if m in wanted and got[m] > wanted[m]]
    if lost and (foreign or doubled):
        wrong, right = _closest(foreign or doubled, lost)
        yield (
            "swapped",
            f"{cell} accumulates {show_monomial(wrong)} instead of {show_monomial(right)}",
        )
    if foreign:
        shown = show_monomial(foreign[0], got[foreign[0]])
        yield "foreign", f"{cell} accumulates {shown}, which is not its own"
    if doubled:
        times = Fraction(got[doubled[0]]) / wanted[doubled[0]]
        often = "twice" if times == 2 else f"{times} times"
        yield "doubled", f"{cell} receives {show_monomial(doubled[0])} {often}"
    if lost:
        yield "missing", f"{cell} misses {show_monomial(lost[0])}"


def _compared(polynomial: Polynomial) -> set[Frozen] | None:
    """The values that a maximum compares; of anything else nothing, of one cell itself."""
    if len(polynomial) != 1:
        return None
    ((monomial, factor),) = polynomial.items()
    if len(monomial) == 1 and factor == 1:
        name, args = monomial[0]
        if name == "max":
            return set(cast(tuple[Frozen, ...], args))
        if name not in FUNCTIONS:
            return {((monomial, 1),)}
    return None


def _other_values(
    cell: str, wanted: set[Frozen], got: set[Frozen]
) -> Iterator[tuple[DefectKind, str]]:
    """Of two maxima: the values that one compares and the other does not."""
    lost = sorted(wanted - got, key=repr)
    foreign = sorted(got - wanted, key=repr)
    if foreign:
        yield "foreign", f"{cell} compares {show_sum(foreign[0])}, which is not its own"
    if lost:
        yield "missing", f"{cell} does not compare {show_sum(lost[0])}"


def _closest(foreign: list[Monomial], lost: list[Monomial]) -> tuple[Monomial, Monomial]:
    """The pair that shares most tokens: the term that took another's place."""
    pairs = [(f, m) for f in foreign for m in lost]
    return max(pairs, key=lambda pair: len(tokens_of([pair[0]]) & tokens_of([pair[1]])))

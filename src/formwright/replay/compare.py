"""The outputs of a run against the workload, term by term."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Literal as OneOf

from formwright.ir.expr import Scalar
from formwright.ir.template import Template
from formwright.replay.code import AccessCode, compile_value
from formwright.replay.compiled import Env
from formwright.replay.memory import Memory
from formwright.replay.terms import Monomial, Polynomial, Terms, show_monomial, tokens_of

DefectKind = OneOf["unwritten", "missing", "foreign", "doubled", "swapped"]
"""``unwritten``: an output cell without value, or that nothing assigns. ``missing``: a term is
lost. ``foreign``: a term that is not the cell's. ``doubled``: a term more than once.
``swapped``: a term is lost and a foreign one stands in its place."""


@dataclass(frozen=True, slots=True)
class CellDefect:
    """One output cell that is wrong: each kind of wrong that it is, with a sentence.

    The most telling kind comes first; a sentence has no full stop.
    """

    index: tuple[int, ...]
    sentences: tuple[tuple[DefectKind, str], ...]

    @property
    def kind(self) -> DefectKind:
        return self.sentences[0][0]

    @property
    def text(self) -> str:
        return self.sentences[0][1]


class _Workload:
    """Reads inputs as tokens; the workload's own indices are in range by construction."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms

    def read(self, access: AccessCode, env: Env) -> int:
        return self._terms.token(access.buffer, tuple(i(env) for i in access.index))

    def number(self, value: Scalar) -> int:
        return self._terms.literal(Fraction(value))

    def apply(self, name: str, args: tuple[int, ...]) -> int:
        return self._terms.op(name, args)


def expected_cells(
    template: Template, values: Mapping[str, Scalar], terms: Terms
) -> dict[tuple[int, ...], Polynomial]:
    """What the workload says each output cell is."""
    workload = template.scope.workload
    value = compile_value(workload.value, values)
    reader = _Workload(terms)
    outer = [range(int(values[e])) for e in workload.output.extents]
    inner = [range(int(values[extent])) for _, extent in workload.reductions]
    names = [name for name, _ in workload.reductions]
    cells: dict[tuple[int, ...], Polynomial] = {}
    for index in product(*outer):
        env: Env = dict(zip(workload.indices, index, strict=True))
        total: Polynomial = {}
        for point in product(*inner):
            env.update(zip(names, point, strict=True))
            for monomial, factor in terms.polynomial(value(reader, env)).items():
                total[monomial] = total.get(monomial, 0) + factor
        cells[index] = {m: c for m, c in total.items() if c != 0}
    return cells


def wrong_cells(
    name: str, expected: Mapping[tuple[int, ...], Polynomial], memory: Memory, terms: Terms
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
        if got != wanted:
            sentences = tuple(_differences(cell, wanted, got))
            if not memory.assigned(index):
                text = f"{cell} is accumulated into and never assigned"
                sentences = (*sentences, ("unwritten", text))
            found.append(CellDefect(index, sentences))
    return tuple(found)


def _differences(
    cell: str, wanted: Polynomial, got: Polynomial
) -> Iterator[tuple[DefectKind, str]]:
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


def _closest(foreign: list[Monomial], lost: list[Monomial]) -> tuple[Monomial, Monomial]:
    """The pair that shares most tokens: the term that took another's place."""
    pairs = [(f, m) for f in foreign for m in lost]
    return max(pairs, key=lambda pair: len(tokens_of([pair[0]]) & tokens_of([pair[1]])))

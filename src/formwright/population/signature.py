"""What kind of design a template makes, computed from its text: nobody's claim.

Four sets of words: *algorithm* (what is computed and in which passes), *reuse* (what is read how
often from where), *placement* (where values live), *resources* (what of the chip it relies on).
Names of buffers, indices, decisions and the template do not count, nor do the values of menus:
templates that differ in those alone have one signature.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from formwright.base.memo import by_identity
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.population.describing import (
    chip_words,
    line_words,
    program_words,
    step_words,
)

PARTS = ("algorithm", "reuse", "placement", "resources")


@dataclass(frozen=True, slots=True)
class Signature:
    """Each part sorted, each word once."""

    algorithm: tuple[str, ...]
    reuse: tuple[str, ...]
    placement: tuple[str, ...]
    resources: tuple[str, ...]

    def parts(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Pairs of a part's name and its words."""
        return tuple((part, getattr(self, part)) for part in PARTS)


@by_identity
def signature_of(template: Template) -> Signature:
    """The signature of what ``template`` says, definitions put in their places."""
    plain = inlined(template)
    found = program_words(plain)
    algorithm = line_words(plain.scope.lines) | step_words(plain) | found.algorithm
    return Signature(
        _words(algorithm),
        _words(found.reuse),
        _words(found.placement),
        _words(found.resources | chip_words(plain)),
    )


def _words(words: set[str]) -> tuple[str, ...]:
    return tuple(sorted(words))


def likeness(a: Signature, b: Signature) -> Fraction:
    """From 0 to 1: the mean over the parts of shared words over all words (Jaccard).

    A part that is empty in both says nothing and does not count.
    """
    shares = [_share(x, y) for (_, x), (_, y) in zip(a.parts(), b.parts(), strict=True) if x or y]
    return sum(shares, Fraction(0)) / len(shares) if shares else Fraction(0)


def _share(a: Sequence[str], b: Sequence[str]) -> Fraction:
    return Fraction(len({*a} & {*b}), len({*a} | {*b}))

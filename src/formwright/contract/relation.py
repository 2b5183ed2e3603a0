"""When are two outputs the same? The relations that a contract may choose from."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal

from formwright.base.diagnostics import InputError, fail

Equivalence = Literal["bound", "bitwise", "ulp", "absolute_relative"]

EQUIVALENCES: tuple[Equivalence, ...] = ("bound", "bitwise", "ulp", "absolute_relative")


@dataclass(frozen=True, slots=True)
class Relation:
    """How near each component must come to the reference, which is float64.

    ``bound``: the operator's own component-wise bound from analysis (``docs/contract.md``);
    it holds for every order of summation. ``bitwise``: the reference rounded once to the
    output's type. ``ulp``: at most ``ulps`` units in the last place of the output's type away.
    ``absolute_relative``: ``|y - r| <= absolute + relative |r|``.

    ``norm`` adds a limit on ``||y - r|| / ||r||`` (Frobenius, over the finite cells) beside
    the element-wise one. ``reassociate`` permits any order of summation: without it only a
    ``bitwise`` relation is accepted.
    """

    kind: Equivalence = "bound"
    ulps: int = 0
    absolute: Fraction = Fraction(0)
    relative: Fraction = Fraction(0)
    norm: Fraction | None = None
    reassociate: bool = True

    def __post_init__(self) -> None:
        if not self.reassociate and self.kind != "bitwise":
            raise fail(
                f"relation {self.kind} without reassociation has no meaning",
                hint='choose relation "bitwise", or permit it: reassociate = true',
            )
        if self.kind == "ulp" and self.ulps < 1:
            raise fail("relation ulp needs a number of units", hint="write ulps = 1 or more")
        if self.kind == "absolute_relative" and self.absolute <= 0 and self.relative <= 0:
            raise fail(
                "relation absolute_relative allows nothing", hint="give absolute or relative"
            )
        if min(self.absolute, self.relative) < 0 or (self.norm is not None and self.norm <= 0):
            raise fail("a relation's allowance is negative", hint="allowances are above 0")


ORDINARY: Final = Relation()
"""The operator's own bound, for any order of summation."""


def told(relation: Relation) -> str:
    """What is allowed instead of the operator's own bound; nothing where it is that bound."""
    match relation.kind:
        case "bound":
            words = ""
        case "bitwise":
            words = "equal in every bit"
        case "ulp":
            words = f"within {relation.ulps} ulp"
        case "absolute_relative":
            absolute, relative = float(relation.absolute), float(relation.relative)
            words = f"within {absolute:g} absolute and {relative:g} relative"
    if relation.norm is None:
        return words
    return ", ".join([*filter(None, [words]), f"within {float(relation.norm):g} in norm"])


def relation_data(relation: Relation) -> dict[str, Any]:
    """Plain JSON data; :func:`relation_from` reads it back."""
    return {
        "kind": relation.kind,
        "ulps": relation.ulps,
        "absolute": str(relation.absolute),
        "relative": str(relation.relative),
        "norm": None if relation.norm is None else str(relation.norm),
        "reassociate": relation.reassociate,
    }


def relation_from(data: Mapping[str, Any]) -> Relation:
    """Raises ``InputError`` for data that :func:`relation_data` does not write."""
    try:
        kind = EQUIVALENCES[EQUIVALENCES.index(data["kind"])]
        norm = data["norm"]
        relation = Relation(
            kind,
            data["ulps"],
            Fraction(data["absolute"]),
            Fraction(data["relative"]),
            None if norm is None else Fraction(norm),
            data["reassociate"],
        )
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise fail(f"not a relation: {error!r}", hint="write it with contract_data") from None
    except InputError:
        raise
    if relation_data(relation) != dict(data):
        raise fail("not a relation of this version", hint="write it with contract_data")
    return relation

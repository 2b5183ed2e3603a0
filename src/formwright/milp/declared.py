"""Structures that a template declares, and what became of them in a search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from formwright.ir.evaluate import EvaluationError, truth
from formwright.ir.rewrite import free_names
from formwright.ir.structures import Structure, Title, decisions_of, expressions_of, title_of
from formwright.ir.vectorise import Given

Verdict = Literal["held", "reopened", "unused"]


@dataclass(frozen=True, slots=True)
class Declared:
    """``text`` as the template has it; ``structure`` with definitions in their places."""

    text: str
    structure: Structure


@dataclass(frozen=True, slots=True)
class Used:
    """What became of a structure.

    ``held``: its condition was shown and it was used; ``reopened``: its condition was not shown, so
    what it would have left out was searched; ``unused``: nothing is claimed or asked here.
    """

    text: str
    title: Title
    verdict: Verdict
    why: str


def held(declared: Declared, why: str) -> Used:
    return _used(declared, "held", why)


def reopened(declared: Declared, why: str) -> Used:
    return _used(declared, "reopened", why)


def unused(declared: Declared, why: str) -> Used:
    return _used(declared, "unused", why)


def _used(declared: Declared, verdict: Verdict, why: str) -> Used:
    return Used(declared.text, title_of(declared.structure), verdict, why)


def used_as_json(used: Sequence[Used]) -> list[dict[str, str]]:
    """What became of each structure, in the words of Table 1: for journals and reports."""
    return [
        {"text": u.text, "structure": u.title, "verdict": u.verdict, "why": u.why} for u in used
    ]


def claimed(
    declared: tuple[Declared, ...], constants: Mapping[str, Given], decisions: frozenset[str]
) -> tuple[list[Declared], list[Used]]:
    """Those that claim something for these constants, and why the others do not."""
    kept: list[Declared] = []
    left: list[Used] = []
    for each in declared:
        why = _silent(each.structure, constants, decisions)
        if why:
            left.append(unused(each, why))
        else:
            kept.append(each)
    return kept, left


def _silent(structure: Structure, constants: Mapping[str, Given], decisions: frozenset[str]) -> str:
    names = frozenset(decisions_of(structure)) - decisions
    for expr in expressions_of(structure):
        names |= free_names(expr) - decisions - constants.keys()
    if names:
        return f"there is no {', '.join(sorted(names))} here"
    if structure.when is None:
        return ""
    try:
        known = {n: v for n, v in constants.items() if isinstance(v, (int, Fraction))}
        return "" if truth(structure.when, known) else "it is not claimed here"
    except EvaluationError as error:
        return f"its condition has no value here: {error.message}"

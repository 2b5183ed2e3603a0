"""A design built over exact numbers: the integers mod 2^64, a prime field, or a pair of fields.

One of the three, by the formula and by what the program does: a polynomial has a ring, a quotient
needs a field, ``exp`` a pair. The entry goes beside those of :mod:`other_builds`.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Final

from formwright.base.diagnostics import InputError
from formwright.codegen.emit import emit_c
from formwright.codegen.field import field_source, kinds_of
from formwright.codegen.ring import RingError, check_ring, ring_source
from formwright.codegen.target import Target
from formwright.codegen.words import NumbersError, of_floats
from formwright.contract.contract import Contract
from formwright.contract.formulas import workload_of
from formwright.ir.template import Template
from formwright.qualify.fields import field_numbers
from formwright.qualify.numbers import Numbers, run_numbers
from formwright.qualify.other_builds import tried_shapes
from formwright.qualify.program import shown
from formwright.qualify.ring import Ring

_MOST: Final = 1 << 17
"""Points of a product of extents: the reference is on Python integers."""

_MOST_TERMS: Final = 1 << 20
"""Of a line of the formula; larger shapes are left out (attention's has an extent twice)."""


@dataclass(frozen=True, slots=True)
class ExactBuild:
    """``source``: C text, or why there is none. ``unseen``: what no run of it can find."""

    source: str | NumbersError
    numbers: Numbers
    what: str
    modulus: str
    unseen: str


_ALWAYS: Final = (
    "rounding, the arithmetic of floats, element types, loads and stores of the library"
)
_ROOT: Final = "; a root other than as a function of its argument, the same power everywhere"


def exact_build(
    template: Template, assignment: Mapping[str, int], target: Target, seed: int
) -> ExactBuild:
    """The design over the numbers that its program asks for, whatever its element types are."""
    plain = of_floats(template)
    try:
        check_ring(plain.program)
    except RingError:
        return _field_build(plain, assignment, target, seed)
    source = _or_why(lambda: ring_source(emit_c(plain, assignment, target, coded=False)))
    return ExactBuild(source, Ring(), "integers mod 2^64", "2^64", _ALWAYS)


def _field_build(
    template: Template, assignment: Mapping[str, int], target: Target, seed: int
) -> ExactBuild:
    def made() -> str:
        return field_source(emit_c(template, assignment, target, calls=True), kinds)

    try:
        kinds = kinds_of(template.scope, template.program)
    except NumbersError as error:
        numbers = field_numbers(False, seed)
        return ExactBuild(error, numbers, "prime field", numbers.modulus, _ALWAYS)
    numbers = field_numbers(kinds.pair, seed)
    unseen = _ALWAYS + _ROOT
    if kinds.pair:
        unseen += (
            "; which element a maximum is (so an exponent above 0, and overflow); exp of anything"
            " else than sums and products of inputs is refused"
        )
    what = "pair of prime fields" if kinds.pair else "prime field"
    return ExactBuild(_or_why(made), numbers, what, numbers.modulus, unseen)


def _or_why(made: Callable[[], str]) -> str | NumbersError:
    try:
        return made()
    except NumbersError as error:
        return error
    except InputError as error:
        return NumbersError(error.diagnostics[0].message)


def _terms(contract: Contract, shape: Mapping[str, int]) -> int:
    """The points of the formula's longest line."""
    workload, stages = workload_of(contract)
    return max(
        prod(shape[e] for e in (*line.output.extents, *(e for _, e in line.reductions)))
        for line in (workload, *stages)
    )


def exact_evidence(
    build: ExactBuild,
    command: Sequence[str],
    contract: Contract,
    seed: int,
    boundaries: Mapping[str, Sequence[int]],
    threads: int,
) -> dict[str, Any]:
    """The entry of ``build``: random inputs, outputs equal to the formula's exact value.

    Two programs whose outputs are different fractions of the inputs agree by chance at one random
    point about as often as their degree in 2^61, in a pair in 2^31, for each cell; rounding cannot
    hide a term.
    """
    drawn = tried_shapes(contract, seed, boundaries, _MOST)
    tried = [s for s in drawn if _terms(contract, s) <= _MOST_TERMS] or drawn[:1]
    with tempfile.TemporaryDirectory(prefix="formwright-exact-") as folder:
        outcome = run_numbers(
            build.numbers, build.source, command, contract, tried, seed, threads, Path(folder)
        )
    runs = [dict(s) for s in tried[: outcome.runs]]
    return {
        "what": build.what,
        "difference": (
            "emitted again for f32 tensors, then words of these numbers put in the place of f32 and"
            " of its vectors, and compiled as a program that is not optimised as the library is;"
            " loops, tiles, packing and threads are the same text"
        ),
        "says": "every output is the exact value of the contract's formula at random inputs",
        "modulus": build.modulus,
        "unseen": build.unseen,
        "verdict": outcome.verdict,
        "evidence": "tested",
        "detail": outcome.detail,
        "runs": outcome.runs,
        "threads": {"asked": threads, "seen": outcome.threads},
        "shapes": runs,
        "seed": seed,
        "command": [shown(part) for part in outcome.command],
        "compiler": outcome.compiler,
        "sandbox": outcome.sandbox,
    }

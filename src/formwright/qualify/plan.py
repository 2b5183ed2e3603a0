"""Which calls test a kernel: shapes, strides, placements, threads and kinds, by one seed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Final, Literal

import numpy as np

from formwright.contract.contract import Contract
from formwright.contract.inputs import kinds as kinds_of
from formwright.qualify.shapes import (
    Effort,
    Shape,
    deep,
    first,
    is_empty,
    large,
    remainders,
    reported,
    rounds,
    shapes,
    tiny,
)

Group = Literal["plain", "alignment", "strides", "threads", "ahead"]
"""What a trial adds to ``plain``: a kernel that fails there only is told so by that name."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One child's work: ``kinds`` in order at one shape.

    ``padding`` is added to the row stride of each operand, in the order of the call; without
    it rows stand one behind another. ``ahead``: the inputs that the contract names are
    prepared in a call of their own. ``relations``: the contract's metamorphic relations are
    tried on what the first kind gave, and one cell of an input is changed. Without ``poison``
    scratch, heap and stack are as a user's call finds them: a kernel that looks for the poison
    must be right without.
    """

    group: Group
    extents: Mapping[str, int]
    kinds: tuple[str, ...]
    seed: int
    padding: tuple[int, ...] = ()
    placement: Literal["start", "end"] = "start"
    threads: int = 1
    repeats: int = 1
    ahead: bool = False
    relations: bool = field(default=False, kw_only=True)
    poison: bool = field(default=True, kw_only=True)


def strides(contract: Contract, trial: Trial) -> tuple[int, ...]:
    """Row strides of the operands in elements; a tensor of one dimension is one row."""
    padding = trial.padding or (0,) * len(contract.operands)
    return tuple(
        contract.shape(o, trial.extents)[-1] + (p if len(o.extents) > 1 else 0)
        for o, p in zip(contract.operands, padding, strict=True)
    )


def plain(trial: Trial) -> Trial:
    """The same call with nothing special about it."""
    return replace(trial, group="plain", padding=(), placement="start", threads=1, ahead=False)


WIDE: Final[Mapping[str, tuple[Shape, tuple[int, ...]]]] = {
    "gemm": ({"M": 126, "N": 126, "K": 1}, (0, 31509 - 126, 0))
}
"""Published over-reads: rows so far apart that reading beyond one touches nothing mapped."""

DENSE: Final = "normal"
"""The kind that every family has: dense inputs of ordinary size."""

CHECKED_AT_WORKLOADS: Final = ("normal", "integer", "sparse_rows", "select", "few")
"""Of the kinds that the family has; the exact ones are cheap to judge at any size."""


def plan(
    contract: Contract,
    workloads: Sequence[Mapping[str, int]],
    seed: int,
    threads: int,
    effort: Effort,
    boundaries: Mapping[str, Sequence[int]] | None = None,
) -> tuple[Trial, ...]:
    """Every trial, cheap ones first. Equal arguments give equal plans.

    ``boundaries`` names sizes at which the kernel's own blocks end (``{"K": (256,)}``):
    shapes just below, at and above them are drawn. ``workloads`` are the shapes it is for.
    """
    rng = np.random.default_rng([seed, 1])
    drawn = shapes(contract, rng, effort, boundaries or {})
    trials = [t for shape in drawn for t in _trials(contract, rng, shape, effort)]
    trials += [_round(contract, rng, shape) for shape in rounds(contract, rng, effort)]
    trials += _threaded(contract, rng, drawn, threads, effort)
    if effort == "full" and not boundaries:
        trials += _swept(contract, rng)
    known = kinds_of(contract)
    for workload in workloads:
        kinds = [k for k in CHECKED_AT_WORKLOADS if k in known]
        few = tuple(kinds) if effort == "full" else tuple(kinds[1:3] or kinds)
        shape = {n: workload[n] for n in contract.names}
        trials.append(Trial("plain", shape, few, _seed(rng), threads=threads))
    if contract.ahead:
        trials += [replace(t, group="ahead", ahead=True) for t in trials if _tries_ahead(t)]
    return tuple(trials)


def _swept(contract: Contract, rng: np.random.Generator) -> Iterator[Trial]:
    """Where nobody says at which sizes a kernel's blocks end: every remainder by a vector."""
    for shape in remainders(contract, rng):
        yield Trial(
            "alignment", shape, _kinds(contract, shape)[1][-1:], _seed(rng), placement="end"
        )
    for shape in large(contract, rng):
        yield Trial("plain", shape, _kinds(contract, shape)[1][-1:], _seed(rng))


def _tries_ahead(trial: Trial) -> bool:
    return trial.group in ("strides", "threads") or trial.threads > 1


def _round(contract: Contract, rng: np.random.Generator, shape: Shape) -> Trial:
    """One call at the end of its pages: what is read beyond a tail faults there."""
    few = _kinds(contract, shape)[1]
    return Trial("plain", shape, few[-1:], _seed(rng), placement="end")


def _trials(
    contract: Contract, rng: np.random.Generator, shape: Shape, effort: Effort
) -> Iterator[Trial]:
    seed = _seed(rng)
    full = effort == "full"
    small = shape in tiny(contract)
    usual = shape == first(contract)
    kinds, few = _kinds(contract, shape)
    repeats = 1 if small and not full else 2
    relations = usual or (full and not small)
    yield Trial("plain", shape, kinds, seed, repeats=repeats, relations=relations)
    if full and (usual or shape in deep(contract)):
        yield Trial("plain", shape, kinds, seed, poison=False)
    if full or usual or shape in deep(contract):
        yield Trial("alignment", shape, few, seed, placement="end")
    padding = tuple(int(rng.integers(1, 9)) for _ in contract.operands)
    wide = WIDE.get(contract.operator)
    if wide is not None and wide[0] == shape:
        padding = wide[1]
    if _one_row_each(contract, shape):
        return
    if full or not small or shape in reported(contract):
        yield Trial("strides", shape, few, seed, padding=padding, placement="end")
    if full:
        turn = int(rng.integers(3))
        # Half of a wider tensor, a bit more than a row, far apart.
        more = tuple(
            (contract.shape(o, shape)[-1], p + 15, p + 256)[(i + turn) % 3]
            for i, (o, p) in enumerate(zip(contract.operands, padding, strict=True))
        )
        yield Trial("strides", shape, few, seed, padding=more)


def _one_row_each(contract: Contract, shape: Shape) -> bool:
    """Is no operand padded, whatever its row stride?"""
    return all(len(o.extents) == 1 for o in contract.operands) or is_nothing(contract, shape)


def is_nothing(contract: Contract, shape: Mapping[str, int]) -> bool:
    """Has the output no element?"""
    return prod(contract.shape(contract.output, shape)) == 0


def _kinds(contract: Contract, shape: Shape) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """All kinds, and the few that try a layout."""
    if is_empty(contract, shape):
        return (DENSE,), (DENSE,)
    kinds = kinds_of(contract)
    return kinds, tuple(k for k in (DENSE, "integer") if k in kinds)


def _threaded(
    contract: Contract,
    rng: np.random.Generator,
    drawn: Sequence[Shape],
    threads: int,
    effort: Effort,
) -> Iterator[Trial]:
    if threads < 2:
        return
    large = sorted(drawn, key=lambda s: prod(max(1, v) for v in s.values()))[-3:]
    empty = [s for s in drawn if is_empty(contract, s)][:1]
    few = [drawn[0], *empty, *large] if effort == "full" else [*empty, *large[-2:]]
    for shape in few:
        kinds = _kinds(contract, shape)[1][::-1]
        yield Trial("threads", shape, kinds, _seed(rng), threads=threads, repeats=6)
    # A process with fewer cores calls it with as many threads as it has.
    for fewer in range(2, threads) if effort == "full" else ():
        kinds = _kinds(contract, large[-1])[1]
        yield Trial("threads", large[-1], kinds, _seed(rng), threads=fewer, repeats=2)


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(0, 1 << 53))

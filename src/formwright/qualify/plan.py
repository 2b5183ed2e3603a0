"""Which calls test a kernel: shapes, strides, placements, threads and kinds, by one seed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from formwright.contract.operators.gemm import GEMM

Kind = str
KINDS: Final = tuple(k.name for k in GEMM.kind_list)

Effort = Literal["quick", "full"]
"""``quick`` refuses what is wrong while searching; ``full`` is what qualifies."""

Group = Literal["plain", "alignment", "strides", "threads", "ahead"]
"""What a trial adds to ``plain``: a kernel that fails there only is told so by that name."""

Shape = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Trial:
    """One child's work: ``kinds`` in order at one shape. ``padding`` is added to each row.

    ``ahead``: the inputs that the contract names are prepared in a call of their own.
    """

    group: Group
    extents: Shape
    kinds: tuple[Kind, ...]
    seed: int
    padding: Shape = (0, 0, 0)
    placement: Literal["start", "end"] = "start"
    threads: int = 1
    repeats: int = 1
    ahead: bool = False


FIRST: Final[Shape] = (7, 5, 11)
"""Large enough for an error to show its form, small enough to cost nothing.

All odd: a tensor that ends at a page's end then starts at no multiple of 8 bytes."""


def strides(trial: Trial) -> Shape:
    """Row strides of A, B and C in elements."""
    _, n, k = trial.extents
    return k + trial.padding[0], n + trial.padding[1], n + trial.padding[2]


def plain(trial: Trial) -> Trial:
    """The same call with nothing special about it."""
    return replace(
        trial, group="plain", padding=(0, 0, 0), placement="start", threads=1, ahead=False
    )


TINY: Final[tuple[Shape, ...]] = ((1, 1, 1), (3, 5, 0), (2, 3, 1), (1, 37, 19), (41, 1, 23))

REPORTED: Final[tuple[Shape, ...]] = ((64, 64, 24), (64, 128, 200), (126, 126, 1))
"""Shapes at which published kernels have failed: K tails, and over-reads next to one column."""

DEEP: Final[Shape] = (9, 13, 1029)
"""So many terms that ``gamma_K`` alone lets 16-bit inputs pass."""

WIDE_PADDING: Final = 31509 - 126

CHECKED_AT_WORKLOADS: Final[tuple[Kind, ...]] = ("normal", "integer", "sparse_rows", "select")


def plan(
    workloads: Sequence[Mapping[str, int]],
    seed: int,
    threads: int,
    effort: Effort,
    boundaries: Mapping[str, Sequence[int]] | None = None,
    ahead: bool = False,
) -> tuple[Trial, ...]:
    """Every trial, cheap ones first. Equal arguments give equal plans.

    ``boundaries`` names sizes at which the kernel's own blocks end (``{"K": (256,)}``):
    shapes just below, at and above them are drawn. ``workloads`` are the shapes it is for.
    """
    rng = np.random.default_rng([seed, 1])
    shapes = _shapes(rng, effort, boundaries or {})
    trials = [t for shape in shapes for t in _trials(rng, shape, effort)]
    trials += _threaded(rng, shapes, threads, effort)
    for workload in workloads:
        shape = (workload["M"], workload["N"], workload["K"])
        kinds = CHECKED_AT_WORKLOADS if effort == "full" else CHECKED_AT_WORKLOADS[1:3]
        trials.append(Trial("plain", shape, kinds, _seed(rng), threads=threads))
    if ahead:
        trials += [replace(t, group="ahead", ahead=True) for t in trials if _tries_ahead(t)]
    return tuple(trials)


def _tries_ahead(trial: Trial) -> bool:
    return trial.group in ("strides", "threads") or trial.threads > 1


def _shapes(
    rng: np.random.Generator, effort: Effort, boundaries: Mapping[str, Sequence[int]]
) -> list[Shape]:
    ragged = [_ragged(rng) for _ in range(8 if effort == "full" else 3)]
    edges = list(_edges(rng, boundaries))
    if effort == "quick":
        # Each block's end once, at a size drawn by the seed.
        edges = [edges[i] for i in sorted(rng.permutation(len(edges))[:4])]
        return [FIRST, *TINY[:4], *REPORTED[1:], *ragged, DEEP, *edges]
    return [FIRST, *TINY, *REPORTED, *ragged, DEEP, *edges]


def _ragged(rng: np.random.Generator) -> Shape:
    """Log-uniform sizes, so that small and odd ones are as likely as large ones."""
    m, n, k = (int(2 ** rng.uniform(0, top)) for top in (7.5, 7.5, 8.5))
    return m, n, k


def _edges(rng: np.random.Generator, boundaries: Mapping[str, Sequence[int]]) -> Iterator[Shape]:
    for name, sizes in sorted(boundaries.items()):
        for size in sizes:
            step = int(rng.integers(-1, 2))
            small = [int(v) for v in rng.integers(2, 40, 3)]
            small["MNK".index(name)] = max(1, size + step)
            yield small[0], small[1], small[2]


def _trials(rng: np.random.Generator, shape: Shape, effort: Effort) -> Iterator[Trial]:
    seed = _seed(rng)
    full = effort == "full"
    kinds: tuple[Kind, ...] = ("normal",) if shape[2] == 0 else KINDS
    yield Trial("plain", shape, kinds, seed, repeats=1 if shape in TINY and not full else 2)
    few: tuple[Kind, ...] = ("normal",) if shape[2] == 0 else ("normal", "integer")
    if full or shape in (FIRST, DEEP):
        yield Trial("alignment", shape, few, seed, placement="end")
    padding = (int(rng.integers(1, 9)), int(rng.integers(1, 9)), int(rng.integers(1, 9)))
    if shape == (126, 126, 1):
        padding = (0, WIDE_PADDING, 0)
    if full or shape not in TINY:
        yield Trial("strides", shape, few, seed, padding=padding, placement="end")
    if full:
        more = (padding[2] + 1, padding[0] + 15, padding[1] + 2)
        yield Trial("strides", shape, few, seed, padding=more)


def _threaded(
    rng: np.random.Generator, shapes: Sequence[Shape], threads: int, effort: Effort
) -> Iterator[Trial]:
    if threads < 2:
        return
    large = sorted(shapes, key=lambda s: s[0] * s[1] * max(1, s[2]))[-3:]
    few = [(1, 1, 1), (3, 5, 0), *large] if effort == "full" else [(3, 5, 0), *large[-2:]]
    for shape in few:
        kinds: tuple[Kind, ...] = ("normal",) if shape[2] == 0 else ("integer", "normal")
        yield Trial("threads", shape, kinds, _seed(rng), threads=threads, repeats=6)


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(0, 1 << 53))

"""The sequence of the study `growth`: problems one after another, as a user would meet them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Posed:
    """One problem: an operator in f32 at one shape, no template named."""

    name: str
    operator: str
    extents: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class GrowthPlan:
    """``repeats`` of the whole sequence, each from an empty population. Of each run at most
    ``generations`` are asked for, begun within ``seconds``."""

    problems: tuple[Posed, ...]
    repeats: int = 2
    generations: int = 2
    proposals: int = 2
    candidates: int = 2
    seconds: float = 20.0
    threads: int = 2
    rounds: int = 9


def _decode(history: int) -> Posed:
    return Posed(f"decode-{history}", "decode_attention", {"H": 2, "G": 7, "S": history, "D": 64})


PROBLEMS: Final = (
    Posed("key-0.5b", "gemv", {"N": 128, "K": 896}),
    Posed("norm-1", "rmsnorm", {"T": 1, "H": 896}),
    _decode(256),
    Posed("query-0.5b", "gemv", {"N": 896, "K": 896}),
    Posed("softmax-64", "softmax", {"R": 64, "C": 1024}),
    _decode(1024),
    Posed("norm-128", "rmsnorm", {"T": 128, "H": 896}),
    Posed("down-0.5b", "gemv", {"N": 896, "K": 4864}),
    Posed("layernorm-128", "layernorm", {"T": 128, "H": 768}),
    _decode(2048),
    Posed("softmax-256", "softmax", {"R": 256, "C": 2048}),
    Posed("query-8b", "gemv", {"N": 4096, "K": 4096}),
)
"""Twelve: five operators, four of them met again at other shapes, one that is like another."""


def growth_plan(
    problems: int = len(PROBLEMS), repeats: int = 2, generations: int = 2, threads: int = 2
) -> GrowthPlan:
    """The first ``problems`` of the sequence."""
    return GrowthPlan(
        PROBLEMS[:problems], repeats=repeats, generations=generations, threads=threads
    )

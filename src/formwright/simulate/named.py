"""The evaluators that a study may name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from formwright.simulate.evaluator import Evaluator
from formwright.simulate.gemmini import LOOPS, GemminiEvaluator
from formwright.simulate.tiled_gpu import RUNS, TiledGpu


@dataclass(frozen=True, slots=True)
class Named:
    """``make`` takes the relative noise; ``templates`` are those whose designs it can follow."""

    make: Callable[[Fraction], Evaluator]
    templates: tuple[str, ...]


EVALUATORS: Final[Mapping[str, Named]] = {
    "gemmini": Named(lambda noise: GemminiEvaluator(noise=noise), tuple(LOOPS)),
    "tiled-gpu": Named(TiledGpu, tuple(RUNS)),
}

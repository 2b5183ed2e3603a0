"""The evaluators that a study may name."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final

from formwright.simulate.evaluator import Evaluator
from formwright.simulate.gemmini import GemminiEvaluator
from formwright.simulate.tiled_gpu import TiledGpu

EVALUATORS: Final[Mapping[str, Callable[[Fraction], Evaluator]]] = {
    "gemmini": lambda noise: GemminiEvaluator(noise=noise),
    "tiled-gpu": TiledGpu,
}
"""By name: given the relative noise, the evaluator."""

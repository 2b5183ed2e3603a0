"""The evaluators that a study may name."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final

from formwright.simulate.evaluator import Evaluator

EVALUATORS: Final[Mapping[str, Callable[[Fraction], Evaluator]]] = {}
"""By name: given the relative noise, the evaluator."""

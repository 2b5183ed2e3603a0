"""The evaluator of a design on a chip: what the model's predictions are held against."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol

from formwright.ir.expr import Scalar


@dataclass(frozen=True, slots=True)
class Evaluation:
    """``time`` and ``energy`` in the units of the template's cost; ``counters`` by name."""

    time: Fraction
    energy: Fraction | None
    counters: Mapping[str, Fraction]


class Evaluator(Protocol):
    """``evidence``: ``simulated`` where events are followed one by one, else ``modelled``."""

    @property
    def name(self) -> str: ...

    @property
    def evidence(self) -> Literal["simulated", "modelled"]: ...

    @property
    def noise(self) -> Fraction:
        """Relative: differences up to this are no miss of the model."""
        ...

    def evaluate(
        self,
        template: str,
        extents: Mapping[str, int],
        assignment: Mapping[str, int],
        chip: Mapping[str, Scalar],
    ) -> Evaluation: ...

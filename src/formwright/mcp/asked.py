"""What a child process is asked for."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from formwright.mcp.fixed import FixedProblem
from formwright.mcp.limits import Kind

Method = Literal["auto", "milp", "enumerate"]

LENGTH: Final = struct.Struct("=Q")
"""What stands in front of a pickled :class:`Asked` on the pipe to its child."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One call, as its child gets it. ``folder`` is the child's own, new and empty.

    ``template`` is a text, the name of a template that ships, or a digest of the population.
    Without ``problem`` a template stands by itself, on ``chip`` with ``extents``.
    ``seconds`` bounds a solver; ``words`` is a query or a reason; ``shelf`` and ``shown`` ask for
    more in the answer.
    """

    kind: Kind
    folder: Path
    population: str = ""
    template: str = ""
    problem: FixedProblem | None = None
    workload: str = ""
    chip: str = ""
    extents: Mapping[str, int] = field(default_factory=dict)
    assignments: tuple[Mapping[str, int], ...] = ()
    method: Method = "auto"
    seconds: float = 60.0
    words: str = ""
    parents: tuple[str, ...] = ()
    shelf: bool = False
    shown: bool = False

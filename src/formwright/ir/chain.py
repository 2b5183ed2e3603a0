"""A chain as data: a workload and the steps that refine it, the coarsest first."""

from dataclasses import dataclass

from formwright.ir.template import Template, Workload


@dataclass(frozen=True, slots=True)
class Chain:
    """``assumptions`` (name, text) are those that the chain's file adds to those of the steps."""

    name: str
    workload: Workload
    steps: tuple[Template, ...]
    assumptions: tuple[tuple[str, str], ...] = ()

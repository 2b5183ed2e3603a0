"""What each system of a chain takes from its surroundings, and who sees to it in the end.

A coarse system may rely on actions of its environment. In the step below they are what some
fine actions do. Where those are actions of the design itself, the assumption is discharged.
Where the surroundings act below as well, it is carried: an assumption of the whole chain.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from formwright.ir.system import System
from formwright.ir.template import Template
from formwright.proof.chain_links import compared, listed, systems
from formwright.proof.chains import Assumed
from formwright.proof.verdict import Obligation

Stated = dict[tuple[str, str], Assumed]
"""By name and text: two steps may mean two things by one name."""


@dataclass(frozen=True, slots=True)
class Environment:
    """``carried`` are assumptions of the whole chain; ``obligations`` say what became of each."""

    obligations: tuple[Obligation, ...]
    carried: tuple[Assumed, ...]


def environment(steps: Sequence[Template]) -> Environment:
    """Every assumption of a system is discharged by the step below or stated of the whole."""
    obligations: list[Obligation] = []
    open_ = _stated(systems(steps[0])[0], steps[0])
    for step in steps:
        coarse, fine = systems(step)
        kept: Stated = {}
        for assumed in open_.values():
            done, how = _fate(step, coarse, fine)
            if not done:
                kept[assumed.name, assumed.text] = assumed
            name = f"environment {assumed.name} of {assumed.of} in {step.name}"
            obligations.append(compared(name, "environment", "", how))
        open_ = kept | _stated(fine, step)
        acting = {a.name for a in fine.actions if a.environment}
        outside = {a.name for a in coarse.actions if a.environment}
        # What they did above already is assumed above; what is new has to be stated here.
        known = set(_carriers(step, outside)) if open_ else set()
        unstated = sorted(acting - known)
        if unstated and not fine.assumptions:
            told = f"its surroundings do {listed(unstated)}, and nothing is assumed of them"
            obligations.append(compared(f"environment of {step.name}", "environment", told, ""))
    return Environment(tuple(obligations), tuple(open_.values()))


def _stated(system: System, step: Template) -> Stated:
    return {(a.name, a.text): Assumed(a.name, a.text, step.name) for a in system.assumptions}


def _fate(step: Template, coarse: System, fine: System) -> tuple[bool, str]:
    """Whether ``step`` sees to the environment of ``coarse``, and how."""
    outside = {a.name for a in coarse.actions if a.environment}
    if not outside:
        return False, f"{coarse.name} has no action for it: it is assumed of the whole chain"
    carriers = dict.fromkeys(_carriers(step, outside))
    if not carriers:
        return True, f"nothing in {fine.name} does what it is about"
    passed = [a.name for a in fine.actions if a.environment and a.name in carriers]
    if passed:
        return False, f"the surroundings of {step.name} do it by {listed(passed)}: it is assumed"
    return True, f"{step.name} discharges it: {listed(outside)} is what {listed(carriers)} does"


def _carriers(step: Template, outside: set[str]) -> Iterator[str]:
    assert step.refinement is not None
    for match in step.refinement.matches:
        if any(c.action in outside for c in match.calls):
            yield match.action

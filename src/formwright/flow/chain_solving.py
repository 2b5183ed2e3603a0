"""Solve a chain by names: the steps in turn, and all at once to compare."""

from dataclasses import dataclass, replace

from formwright.flow.parameters import parse_settings
from formwright.flow.solving import Method, bound
from formwright.ir.inline import inlined
from formwright.ir.stacked import given_conditions, stacked
from formwright.ir.template import Requirement
from formwright.lang.chains import load_chain
from formwright.milp.check import CheckResult, check
from formwright.milp.progressive import ChainSolution, solve_at_once, solve_progressively
from formwright.milp.solve import Solution


@dataclass(frozen=True, slots=True)
class SolvedChain:
    """``monolithic`` is the answer over all decisions at once, where it was asked for."""

    name: str
    chain: ChainSolution
    monolithic: Solution | None

    @property
    def held(self) -> bool:
        """A best design was found, and the one over all decisions costs the same."""
        if self.chain.last.status != "optimal" or not self.chain.whole:
            return False
        return self.monolithic is None or (
            self.monolithic.status == "optimal"
            and self.monolithic.objective == self.chain.last.objective
        )


def solve_chain(
    reference: str,
    chip: str,
    settings: str,
    method: Method = "auto",
    time_limit: float = 60.0,
    monolithic: bool = False,
) -> SolvedChain:
    """The best design of a chain for one workload and chip, with what each step did.

    ``time_limit`` bounds each formulation, in seconds. Raises :class:`InputError` for a chain
    that does not parse and for values that are missing or outside the scope of a step.
    """
    chain = load_chain(reference)
    parameters = bound(stacked(chain.steps), chip, settings)
    found = solve_progressively(chain.steps, parameters, method, time_limit)
    other = solve_at_once(chain.steps, parameters, method, time_limit) if monolithic else None
    return SolvedChain(chain.name, found, other)


def check_chain(reference: str, chip: str, settings: str, assignment: str) -> CheckResult:
    """One assignment of all decisions: in the scope, in the menus, and every step's constraints,
    requirements and conditions on what it is given, named ``STEP.NAME``."""
    steps = load_chain(reference).steps
    wanted = [
        Requirement(f"{s.name}.{name}", condition)
        for s in steps
        for name, condition in (
            *((f"given {n}", c) for n, c in given_conditions(s)),
            *((r.name, r.condition) for r in inlined(s).requires),
        )
    ]
    whole = replace(stacked(steps), requires=tuple(wanted))
    values = parse_settings(assignment, "--assign")
    return check(whole, bound(whole, chip, settings), values)

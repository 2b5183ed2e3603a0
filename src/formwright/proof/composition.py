"""That the steps of a chain compose (Theorem 1): what is asked beside the steps themselves.

The contract is a step like any other, from the workload to the top system. What a step takes
for given of the decisions above is a requirement that the scope, the menus and the constraints of
the steps above have to imply. Everything else is compared by content.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from formwright.ir.chain import Chain
from formwright.ir.stacked import given_conditions, stacked
from formwright.ir.template import Requirement, Template
from formwright.proof.chain_contract import NoTokensError, contract_step
from formwright.proof.chain_environment import Environment, environment
from formwright.proof.chain_links import GROUP, compared, contract, link, names
from formwright.proof.verdict import Obligation, Proof

Prove = Callable[[Template], Proof]
"""Every condition of a template."""
ProveOnly = Callable[[Template, str], Proof]
"""The obligations of one condition only."""

_NEEDED = ("vacuity", "initial", "rank", "progress", "completion")
"""Conditions without which a proof of a step is none."""


@dataclass(frozen=True, slots=True)
class Composer:
    """The obligations between the steps of ``chain``, from the top down."""

    chain: Chain
    prove: Prove
    prove_only: ProveOnly

    def above(self, place: int) -> tuple[Obligation, ...]:
        """What has to hold before the step at ``place`` counts: how it hangs on what is above."""
        step = self.chain.steps[place]
        named = tuple(names(self.chain.steps[: place + 1]))[place]
        known = (contract(step, self.chain.workload), named)
        if place == 0:
            return (*known, *self._contract())
        given = self._given(self.chain.steps[: place + 1])
        return (*known, link(self.chain.steps[place - 1], step), *given)

    def whole(self) -> tuple[tuple[Obligation, ...], Environment]:
        """What is said of all steps together, once each is proved."""
        around = environment(self.chain.steps)
        together = replace(stacked(self.chain.steps), name=f"premises of {self.chain.name}")
        proof = self.prove_only(together, "vacuity")
        return (*around.obligations, *_renamed(proof, "a design of the whole chain")), around

    def _contract(self) -> tuple[Obligation, ...]:
        """The top system computes the workload, can always go on, and ends by its own rank."""
        try:
            step = contract_step(self.chain.steps[0], self.chain.workload)
        except NoTokensError as error:
            return (_open("contract", "contract", str(error)),)
        proof = self.prove(step)
        found = tuple(
            replace(o, group=GROUP, name=f"contract: {o.name}") for o in proof.obligations
        )
        if any(o.condition == "termination" for o in found):
            return found
        why = f"{step.fine} states no rank: its runs may have no end"
        return (*found, _open(f"runs of {step.fine}", "termination", why))

    def _given(self, steps: Sequence[Template]) -> tuple[Obligation, ...]:
        """What ``steps[-1]`` says of decisions of the others follows from theirs."""
        step, whole = steps[-1], stacked(steps)
        wanted = tuple(Requirement(n, c, c.span) for n, c in given_conditions(step))
        if not wanted:
            return ()
        above = stacked(steps[:-1])
        question = replace(
            whole,
            name=f"given of {step.name}",
            decisions=above.decisions,
            constraints=above.constraints,
            requires=wanted,
            cost=None,
        )
        return _renamed(self.prove_only(question, "implied"), f"given in {step.name}")


def complete(step: str, proof: Proof) -> Obligation:
    """A proof of a step has all of its conditions: what is left out is not proved."""
    found = {o.condition for o in proof.obligations}
    missing = [c for c in _NEEDED if c not in found]
    told = f"its proof says nothing of {', '.join(missing)}" if missing else ""
    count = len(proof.obligations)
    return compared(f"conditions of {step}", "complete", told, f"{count} obligations, all kinds")


def _open(name: str, condition: str, why: str) -> Obligation:
    return Obligation(name, GROUP, condition, "unresolved", "none", 0.0, detail=why)


def _renamed(proof: Proof, what: str) -> tuple[Obligation, ...]:
    return tuple(
        replace(o, group=GROUP, name=f"{what}: {o.name.removeprefix('implied ')}")
        for o in proof.obligations
    )

"""What ``prove`` says of a chain: each step, how they compose, and one theorem."""

from dataclasses import dataclass
from typing import Any

from formwright.proof.verdict import Obligation, Proof, Verdict, obligation_as_json, overall


@dataclass(frozen=True, slots=True)
class StepProof:
    """A step of a chain. ``inherited`` names what above it is not proved: then ``proof`` is
    ``None``, since what is wrong above is no new fault here."""

    name: str
    proof: Proof | None
    inherited: str = ""

    @property
    def verdict(self) -> Verdict:
        return "unresolved" if self.proof is None else self.proof.verdict


@dataclass(frozen=True, slots=True)
class Assumed:
    """What the theorem assumes. ``of`` is the step that says it, or the chain."""

    name: str
    text: str
    of: str


@dataclass(frozen=True, slots=True)
class Composition:
    """That the steps fit together. ``theorem`` and ``assumptions`` are said of the whole stack;
    whether they are proved is the verdict of the chain."""

    obligations: tuple[Obligation, ...]
    theorem: str
    assumptions: tuple[Assumed, ...]

    @property
    def verdict(self) -> Verdict:
        return overall(self.obligations)


@dataclass(frozen=True, slots=True)
class ChainProof:
    """``verdict`` is ``proved`` only if every obligation of every step and of their composition
    is. Else it is the verdict of ``broken``, the first of the stack that is not proved."""

    chain: str
    digest: str
    verdict: Verdict
    broken: str
    steps: tuple[StepProof, ...]
    composition: Composition
    seconds: float
    solver: str

    def as_json(self) -> dict[str, Any]:
        """Stable keys of ``formwright prove --json`` for a chain."""
        return {
            "schema": 1,
            "chain": self.chain,
            "digest": self.digest,
            "verdict": self.verdict,
            "broken": self.broken,
            "seconds": self.seconds,
            "solver": self.solver,
            "steps": [_step(s) for s in self.steps],
            "composition": {
                "verdict": self.composition.verdict,
                "obligations": [obligation_as_json(o) for o in self.composition.obligations],
            },
            "theorem": self.theorem,
            "evidence": self.evidence,
            "assumptions": [
                {"name": a.name, "text": a.text, "of": a.of} for a in self.composition.assumptions
            ],
        }

    @property
    def theorem(self) -> str:
        """The statement; what stands in its way comes first where it is not proved."""
        if self.verdict == "proved":
            return self.composition.theorem
        return f"Not proved, {self.broken} is {self.verdict}: {self.composition.theorem}"

    @property
    def evidence(self) -> str:
        """The weakest evidence of an obligation that the theorem rests on."""
        if self.verdict != "proved":
            return "none"
        kinds = {o.evidence for s in self.steps if s.proof is not None for o in s.proof.obligations}
        kinds |= {o.evidence for o in self.composition.obligations}
        return "bounded" if "bounded" in kinds else "proved"


def _step(step: StepProof) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "name": step.name,
        "verdict": step.verdict,
        "inherited": bool(step.inherited),
        "obligations": [],
    }
    if step.inherited:
        shown["because"] = step.inherited
    if step.proof is not None:
        shown |= {
            "obligations": step.proof.as_json()["obligations"],
            "seconds": step.proof.seconds,
            "queries": step.proof.queries,
            "digest": step.proof.digest,
        }
    return shown

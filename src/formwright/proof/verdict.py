"""Verdicts and obligations: three values and ``vacuous``, never a bool."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from formwright.proof.interleaving import Interleaving

Verdict = Literal["proved", "refuted", "unresolved", "vacuous"]
Evidence = Literal["proved", "bounded", "tested", "measured", "simulated", "modelled", "none"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a proof may take; what they leave open is ``unresolved`` with the reason.

    ``seconds`` bounds the solver's work on one obligation, all retries together, and one call
    gets ``share`` of it; ``whole`` bounds a proof, in seconds; ``memory`` the solver, in MiB.
    """

    seconds: float = 20.0
    share: float = 0.15
    whole: float = 300.0
    memory: int = 4096

    @property
    def call_ms(self) -> int:
        """The limit of one call of the solver."""
        return max(1, int(self.seconds * self.share * 1000))


LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Values that make an obligation false.

    ``values`` names extents, agents, chip fields and decisions. ``text`` is what a person
    reads. ``replayed`` is true only after the interpreter has reached the defect from the
    initial state; without it a refutation is ``unresolved``. ``interleaving`` is the run
    that was reached, for drawing; ``trace`` has it as lines.
    """

    values: dict[str, int | str]
    text: str
    replayed: bool = False
    trace: tuple[str, ...] = ()
    interleaving: Interleaving | None = None


@dataclass(frozen=True, slots=True)
class Obligation:
    """One condition with its verdict. ``group``: K1, K2, K3 or derived.

    ``condition`` is the word of the table of ``docs/program-rules.md`` (``lifetime``,
    ``coverage``, ...); ``name`` is unique in the template.
    """

    name: str
    group: str
    condition: str
    verdict: Verdict
    evidence: Evidence
    seconds: float
    reused: bool = False
    detail: str = ""
    counterexample: Counterexample | None = None


@dataclass(frozen=True, slots=True)
class Proof:
    """What ``prove`` returns. ``verdict`` is ``proved`` only if every obligation is.

    ``queries``: how many the solver was asked now; none for a proof that is taken from the store.
    """

    template: str
    digest: str
    verdict: Verdict
    obligations: tuple[Obligation, ...]
    seconds: float
    solver: str
    queries: int = 0

    def as_json(self) -> dict[str, Any]:
        """Stable keys of ``formwright prove --json``."""
        return {
            "schema": 1,
            "template": self.template,
            "digest": self.digest,
            "verdict": self.verdict,
            "seconds": self.seconds,
            "solver": self.solver,
            "queries": self.queries,
            "obligations": [obligation_as_json(o) for o in self.obligations],
        }


def obligation_as_json(o: Obligation) -> dict[str, Any]:
    """Stable keys of one obligation in ``formwright prove --json``."""
    shown: dict[str, Any] = {
        "name": o.name,
        "group": o.group,
        "condition": o.condition,
        "verdict": o.verdict,
        "evidence": o.evidence,
        "seconds": o.seconds,
        "reused": o.reused,
        "detail": o.detail,
    }
    if o.counterexample is not None:
        c = o.counterexample
        shown["counterexample"] = {
            "values": c.values,
            "text": c.text,
            "replayed": c.replayed,
            "trace": list(c.trace),
        }
        if c.interleaving is not None:
            shown["counterexample"]["interleaving"] = asdict(c.interleaving)
    return shown


def overall(obligations: tuple[Obligation, ...]) -> Verdict:
    """Refuted before vacuous before unresolved before proved; nothing to prove is vacuous."""
    verdicts = {o.verdict for o in obligations}
    for verdict in ("refuted", "vacuous", "unresolved"):
        if verdict in verdicts:
            return verdict
    return "proved" if verdicts else "vacuous"

"""What may join: a template whose K1, K2 and K3 are proved, with the proof of this very text."""

from collections.abc import Mapping
from typing import Any

from formwright.base.digest import plain_digest
from formwright.ir.template import Template
from formwright.proof.store import template_digest
from formwright.proof.verdict import Proof

_TOLD = ("name", "group", "condition", "verdict", "evidence")


def why_not(template: Template, proof: Proof) -> tuple[str, ...]:
    """Every reason why ``proof`` does not admit ``template``; none: it is admitted."""
    if template.formulation:
        return ("a formulation without a program: nothing of it is proved",)
    reasons: list[str] = []
    if proof.digest != template_digest(template):
        reasons.append(f"the proof is of another template ({proof.template})")
    if proof.verdict != "proved":
        reasons.append(f"the template is {proof.verdict}")
    for obligation in proof.obligations:
        if (obligation.verdict, obligation.evidence) != ("proved", "proved"):
            # Only what is short: a refutation's whole text stands with its counterexample.
            told = f" ({obligation.detail})" if obligation.verdict != "refuted" else ""
            reasons.append(f"{obligation.name} is {obligation.verdict}{told}")
    present = {o.group for o in proof.obligations}
    needed = ["K2", "K3", *(["K1"] if template.requires else [])]
    reasons += [f"the proof has no {group}" for group in needed if group not in present]
    return tuple(reasons)


def kept_proof(proof: Proof) -> dict[str, Any]:
    """What is kept of a proof: what was shown, by which solver. No times, so equal proofs are
    equal data."""
    return {
        "template": proof.digest,
        "verdict": proof.verdict,
        "solver": proof.solver,
        "obligations": [{key: getattr(o, key) for key in _TOLD} for o in proof.obligations],
    }


def proof_digest(kept: Mapping[str, Any]) -> str:
    """Hex SHA-256 of :func:`kept_proof`."""
    return plain_digest(kept)

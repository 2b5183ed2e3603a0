"""Chips and proofs: the work of `Detect` and `Prove`."""

from collections.abc import Mapping
from typing import Any

from formwright.base.source import Source
from formwright.flow.adopting import proof_entry
from formwright.flow.chips import chip_entry, open_chip
from formwright.flow.jobs import Prove
from formwright.flow.proving import keep_proof, prove, prove_source
from formwright.population import chip_key
from formwright.proof.kept import solver_version
from formwright.proof.rereading import proof_of


def detected(name: str) -> dict[str, Any]:
    """The chip as a journal has it, with the key by which a population tells it from others."""
    chip = open_chip(name)
    return chip_entry(chip) | {"key": chip_key(chip).digest}


def proved(job: Prove) -> dict[str, Any]:
    """The proof as a journal has it. Raises ``InputError`` for a text that cannot be asked."""
    subject = job.subject
    if isinstance(subject, Source):
        return proof_entry(prove_source(subject, limits=job.limits, fresh=job.fresh))
    return proof_entry(prove(subject, limits=job.limits, fresh=job.fresh))


def keep_proved(job: Prove, data: Mapping[str, Any]) -> None:
    """What the same solver proved elsewhere is kept here too: nothing here asks for it again."""
    # A release of z3 has one part more in the name of its package than in its own words.
    same = f"{solver_version()}.".startswith(f"{data['solver']}.")
    if data["verdict"] == "proved" and same:
        keep_proof(job.subject, proof_of(data["full"]))

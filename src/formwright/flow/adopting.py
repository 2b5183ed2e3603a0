"""A proved template joins a run: typed for the contract, with the coefficients it starts from."""

from typing import Any

from formwright.base.source import Source
from formwright.contract.matching import typed_for
from formwright.flow.setting import Proved, Setting
from formwright.ir.template import Template
from formwright.proof.verdict import Proof


def proof_entry(proof: Proof) -> dict[str, Any]:
    """A proof as the journal has it."""
    return {
        "verdict": proof.verdict,
        "digest": proof.digest,
        "solver": proof.solver,
        "seconds": proof.seconds,
        "obligations": len(proof.obligations),
        "open": [o.name for o in proof.obligations if o.verdict != "proved"],
        "full": proof.as_json(),
    }


def adopt(
    setting: Setting, name: str, source: Source, template: Template, proof: dict[str, Any]
) -> None:
    """Makes ``template`` one of the run's, called ``name``.

    Proved once, over the reals; built for the element types of the contract.
    """
    typed = typed_for(template, setting.problem.contract)
    setting.templates[name] = Proved(source, typed, proof)
    cost = template.cost
    coefficients = () if cost is None else cost.coefficients
    setting.coefficients[name] = {c.name: c.default for c in coefficients}

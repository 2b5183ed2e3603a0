"""What the composition of a chain rests on: the kept grounds of what it asks beside its steps."""

from collections.abc import Mapping
from typing import Any, Final

from formwright.base.diagnostics import InputError
from formwright.ir.chain import Chain
from formwright.ir.template import Template
from formwright.lang.chain_sources import shipped_chains
from formwright.lang.chains import load_chain
from formwright.proof.composition import Composer, complete
from formwright.proof.store import template_digest
from formwright.proof.verdict import Obligation, Proof
from formwright.report.pages.entries import items, mapping, words
from formwright.report.pages.resting import CONTENT, kept_resting

_RESTS: Final = "rests on: "


def composition_resting(chain: Chain) -> dict[str, str]:
    """By obligation of the composition; what was asked and has no kept grounds is left out."""

    def kept(template: Template, condition: str = "") -> Proof:
        found = kept_resting(template_digest(template), condition)
        obligations = tuple(
            Obligation(o.name, o.group, o.condition, "proved", "proved", 0.0, detail=_RESTS + said)
            for o, said in found
        )
        return Proof(template.name, "", "proved", obligations, 0.0, "")

    composer = Composer(chain, kept, kept)
    around: list[Obligation] = []
    for place, step in enumerate(chain.steps):
        around += [*composer.above(place), complete(step.name, kept(step))]
    around += composer.whole()[0]
    return {
        o.name: o.detail.removeprefix(_RESTS) if o.detail.startswith(_RESTS) else CONTENT
        for o in around
    }


def shipped_chain(whole: Mapping[str, Any]) -> Chain | None:
    """The chain that ships of which the JSON of a proof speaks: by the digests of its steps."""
    name = words(whole, "chain")
    if name not in shipped_chains():
        return None
    try:
        chain = load_chain(name)
    except InputError:
        return None
    proved = [words(mapping(s), "digest") for s in items(whole.get("steps"))]
    return chain if proved == [template_digest(s) for s in chain.steps] else None

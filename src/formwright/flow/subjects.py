"""What there is to certify and to audit of a template or a chain: templates, one after another.

A chain has its steps, a contract and the templates that its composition asks about; what is
compared by content comes back with no query behind it.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from formwright.base.host import cache_folder
from formwright.ir.template import Template
from formwright.lang import load_source, parse, shipped
from formwright.lang.chain_sources import names_chain, shipped_chains
from formwright.lang.chains import load_chain
from formwright.proof.composition import Composer, complete
from formwright.proof.verdict import Obligation, Proof, overall

Settle = Callable[[Template, str], tuple[Obligation, ...]]
"""The obligations of a template, those of one condition only if a word is given."""

SHIPPED = Path(__file__).parent.parent / "certificates"
"""Grounds of what ships, part of the package."""


def grounds_folder() -> Path:
    """Grounds of the user's own templates."""
    return cache_folder() / "grounds"


def everything() -> tuple[str, ...]:
    """The names of all templates and chains that ship."""
    return (*shipped(), *(f"chains/{name}.toml" for name in shipped_chains()))


def walk(reference: str, settle: Settle) -> Iterator[Obligation]:
    """Calls ``settle`` for each template of ``reference``; yields what needs no query.

    Raises :class:`InputError` for a text that does not parse.
    """
    if not names_chain(reference):
        settle(parse(load_source(reference)), "")
        return
    settled: set[str] = set()

    def prove(template: Template, condition: str = "") -> Proof:
        found = settle(template, condition)
        settled.update(o.name.removeprefix("implied ") for o in found)
        return Proof(template.name, "", overall(found), found, 0.0, "")

    chain = load_chain(reference)
    composer = Composer(chain, prove, prove)
    for place, step in enumerate(chain.steps):
        for o in composer.above(place):
            if not _came_of(o, settled):
                yield replace(o, name=f"{step.name}: {o.name}")
        yield complete(step.name, prove(step))
    for o in composer.whole()[0]:
        if not _came_of(o, settled):
            yield o


def _came_of(o: Obligation, settled: set[str]) -> bool:
    """Whether ``o`` is one that was settled, under the name that the composition gives it."""
    _, colon, name = o.name.partition(": ")
    return bool(colon) and name in settled

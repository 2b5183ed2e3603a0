"""The template of a study's task: one that ships, or what the library makes of the contract."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from formwright.agent.costing import with_cost
from formwright.agent.recorded import Recorded
from formwright.agent.specification import plain_templates
from formwright.agent.ways import developed
from formwright.base.diagnostics import InputError, fail
from formwright.base.digest import digest
from formwright.base.source import Source
from formwright.contract.contract import Contract
from formwright.contract.matching import matches
from formwright.flow.journal import Journal
from formwright.flow.proving import prove
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.lang import load
from formwright.lang.format import format_template
from formwright.lang.parser import parse

MADE: Final = "library"
"""In the place of a name: the first plain template of the contract, by all rules of the library
that fit, with the cost that is written for it. Nobody has tuned it."""


def template_of(name: str, contract: Contract) -> Template:
    """The template called ``name``, or made of ``contract`` where that is :data:`MADE`."""
    if name != MADE:
        return load(name)[1]
    plain = plain_templates(contract, f"{contract.operator}_plain")[0]
    made = plain
    for way in developed(plain):
        made = way.template
    if made is plain:
        raise fail(f"no rule of the library does anything for {contract.operator}")
    return with_cost(made)


def proof_of(journal: Journal, key: str, name: str, template: Template, out: Path) -> str:
    """The verdict on a study's template, called ``name``: the step ``key``, its text beside it.

    Raises:
        InputError: it is not proved, or the study began with another text of it.
    """
    now = digest(inlined(template))
    told = journal.step(
        key,
        lambda: {
            "proof": prove(template).verdict,
            "digest": now,
            "text": format_template(template),
        },
    )
    if told["digest"] != now:
        raise fail(
            f"{out} holds a study of another text of {name}",
            hint="give this one its own folder with --out",
        )
    if told["proof"] != "proved":
        raise fail(f"{name} is {told['proof']}", hint="see formwright prove")
    return str(told["proof"])


def last_proved(
    recorded: Recorded, contract: Contract, proved: Callable[[Template], bool]
) -> str | None:
    """The text of the transcript's last program of ``contract`` that is proved, with a cost."""
    for proposal in reversed(recorded.proposals):
        try:
            template = parse(Source("transcript.fw", proposal.text))
        except InputError:
            continue
        if not matches(template, contract) and proved(template):
            return format_template(template if template.cost else with_cost(template))
    return None

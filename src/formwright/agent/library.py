"""The proposer that needs nobody: rules over templates, the same for the same request."""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from formwright.agent.protocol import Proposal, Reply, Request, Spent
from formwright.agent.rules import RULES
from formwright.agent.ways import Way, developed
from formwright.base.diagnostics import InputError, render_all
from formwright.base.source import Source
from formwright.base.toml import read_toml
from formwright.contract.contract import Contract
from formwright.contract.fields import Fields
from formwright.contract.files import read_contract
from formwright.ir.template import Template
from formwright.lang.format import format_template
from formwright.lang.parser import parse

PROPOSALS = 3
"""Of one answer, where the request's data does not say how many are ``wanted``."""


@dataclass(frozen=True, slots=True)
class Library:
    """A :class:`~formwright.agent.protocol.Proposer`. Deterministic in seed, number and request.

    ``plain`` makes a template from a contract's lines, ``costed`` writes its cost. Of the request's
    data are read: ``wanted`` (proposals of an answer), ``level`` (rules of that level first),
    ``tried`` (names of templates that need not be proposed again).
    """

    plain: Callable[[Contract, str], Template]
    costed: Callable[[Template], Template]

    @property
    def name(self) -> str:
        return "library"

    def propose(self, request: Request) -> Reply:
        """Proposals, or in ``problem`` why there are none."""
        start = time.monotonic()
        try:
            proposals, problem = self._answer(request)
        except InputError as error:
            proposals, problem = (), render_all(error.diagnostics, error.source)
        seconds = time.monotonic() - start
        return Reply(proposals, Spent(calls=1, seconds=seconds), problem)

    def _answer(self, request: Request) -> tuple[tuple[Proposal, ...], str]:
        match request.kind:
            case "new":
                return (self._new(request),), ""
            case "adapt":
                found = tuple(self._adapted(request))
                return found, "" if found else "no rule makes anything new of what is known"
            case _:
                return (), f"the library has no answer to {request.kind}"

    def _new(self, request: Request) -> Proposal:
        contract = contract_of(request.contract)
        template = self.plain(contract, f"{contract.operator}_plain")
        why = "one loop nest for each line of the formula, as it stands"
        return Proposal(format_template(template), "fw", "specification", (), why)

    def _adapted(self, request: Request) -> Iterator[Proposal]:
        wanted = int(request.data.get("wanted", PROPOSALS))
        known = {k.name for k in request.known} | set(request.data.get("tried", ()))
        yield from islice(self._fresh(request, known), wanted)

    def _fresh(self, request: Request, known: set[str]) -> Iterator[Proposal]:
        """Adaptations with names that are not known, each once."""
        level = str(request.data.get("level", "mapping"))
        draws = random.Random(f"{request.seed}:{request.number}")
        for name, text in _parents(request):
            template = parse(Source(f"{name}.fw", text))
            ways = [*reversed(tuple(developed(template))), *_single(template, level, draws)]
            for way in ways:
                if way.template.name not in known:
                    known.add(way.template.name)
                    yield self._proposal(way, name)

    def _proposal(self, way: Way, parent: str) -> Proposal:
        template = way.template if way.template.cost else self.costed(way.template)
        return Proposal(format_template(template), "fw", way.rule, (parent,), "; ".join(way.why))


def contract_of(text: str) -> Contract:
    """The contract that a request's text (TOML) says. Raises ``InputError``."""
    document = read_toml(Source("contract.toml", text))
    fields = Fields(document)
    contract = read_contract(fields)
    if contract is None:
        raise InputError(fields.faults, document.source)
    return contract


def _parents(request: Request) -> Iterator[tuple[str, str]]:
    """What is adapted: the parent that is asked about, else what is known, best first."""
    if request.parent:
        named = {k.text: k.name for k in request.known}
        yield named.get(request.parent, "parent"), request.parent
    for known in request.known:
        if known.text != request.parent:
            yield known.name, known.text


def _single(template: Template, level: str, draws: random.Random) -> list[Way]:
    """One rule each, in an order of the draws; those of the level first."""
    found = [
        (rule.level != level, draws.random(), Way(v.template, (rule.name,), (v.why,)))
        for rule in RULES
        for v in rule.apply(template)
    ]
    return [way for *_, way in sorted(found, key=lambda f: f[:2])]

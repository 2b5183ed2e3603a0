"""The proposer that needs nobody: rules over templates, the same for the same request."""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from formwright.agent.costing import with_cost
from formwright.agent.protocol import Finding, Proposal, Reply, Request, Spent
from formwright.agent.repair import Mended
from formwright.agent.rules.join import joined
from formwright.agent.specification import plain_templates
from formwright.agent.standing import best_first
from formwright.agent.ways import (
    ANSWERING,
    HELPFUL,
    IN_PANELS,
    Way,
    bold,
    developed,
    packed,
    start,
    steps,
    twice,
)
from formwright.agent.words import diagnosis_words, mechanism_words
from formwright.base.diagnostics import InputError, render_all
from formwright.base.source import Source
from formwright.base.toml import read_toml
from formwright.contract.contract import Contract
from formwright.contract.fields import Fields
from formwright.contract.files import read_contract
from formwright.ir.template import Template
from formwright.lang.format import format_template
from formwright.lang.parser import parse

WANTED: Final = 3
"""Proposals of an answer, where the request's data does not say."""

PARENTS: Final = 4
"""Known templates that one answer adapts."""

Plain = Callable[[Contract, str], tuple[Template, ...]]
Costed = Callable[[Template], Template]
Mend = Callable[[str, Sequence[Finding]], Mended | None]


@dataclass(frozen=True, slots=True)
class Library:
    """A :class:`~formwright.agent.protocol.Proposer`. Deterministic in seed, number and request.

    ``plain`` makes templates from a contract's lines, ``costed`` writes the cost of one that has
    none, ``mend`` repairs a text after findings. Of the request's data are read: ``wanted``
    (proposals of an answer), ``level`` (rules of that level first), ``tried`` (names that need not
    be proposed again), ``diagnosis`` (rules that answer it first).
    """

    plain: Plain = plain_templates
    costed: Costed = with_cost
    mend: Mend | None = None

    @property
    def name(self) -> str:
        return "library"

    def propose(self, request: Request) -> Reply:
        """Proposals, or in ``problem`` why there are none."""
        began = time.monotonic()
        try:
            proposals = self._answer(request)
            problem = "" if proposals else _nothing(request)
        except InputError as error:
            proposals, problem = (), render_all(error.diagnostics, error.source)
        except Exception as error:
            # A parent that a rule or the repair stumbles over must not end the run.
            proposals, problem = (), f"the library gave up: {type(error).__name__}: {error}"
        return Reply(proposals, Spent(calls=1, seconds=time.monotonic() - began), problem)

    def _answer(self, request: Request) -> tuple[Proposal, ...]:
        match request.kind:
            case "new":
                return self._new(request)
            case "adapt":
                return tuple(islice(self._adapted(request), _wanted(request.data)))
            case "repair":
                return self._repaired(request)
            case "diagnose":
                return _words(diagnosis_words(request.data), "diagnosis")
            case "mechanism":
                return _words(mechanism_words(request.data), "mechanism")

    def _new(self, request: Request) -> tuple[Proposal, ...]:
        contract = contract_of(request.contract)
        why = "one loop nest for each line of the formula, as it stands"
        return tuple(
            Proposal(format_template(self.costed(t)), "fw", "specification", (), why)
            for t in self.plain(contract, f"{contract.operator}_plain")
        )

    def _repaired(self, request: Request) -> tuple[Proposal, ...]:
        mended = None if self.mend is None else self.mend(request.parent, request.findings)
        if mended is None:
            return ()
        parent = parse(Source("parent.fw", request.parent)).name
        return (Proposal(mended.text, "fw", "repair", (parent,), "; ".join(mended.edits)),)

    def _adapted(self, request: Request) -> Iterator[Proposal]:
        """Adaptations with names that are not known, each once.

        Of three or more the last is a bold one, where there is any: a rule that leaves a condition
        of its result to the verifier and to the repair.
        """
        told = {k.name for k in request.known} | set(map(str, request.data.get("tried", ())))
        draws = random.Random(f"{request.seed}:{request.number}")
        wanted = _wanted(request.data)
        usual = self._fresh(_ways(request, draws), told)
        first = list(islice(usual, wanted - 1 if wanted > 2 else wanted))
        yield from first
        yield from islice(self._fresh(_bold(request), told), 1 if wanted > 2 else 0)
        yield from usual

    def _fresh(
        self, ways: Iterator[tuple[tuple[str, ...], Way]], told: set[str]
    ) -> Iterator[Proposal]:
        for parents, way in ways:
            if way.template.name not in told:
                told.add(way.template.name)
                done = self._costed(way.template)
                if done is None:
                    continue
                why = "; ".join(dict.fromkeys(way.why))
                yield Proposal(format_template(done), "fw", way.rule, parents, why)

    def _costed(self, template: Template) -> Template | None:
        """With a cost; None where it is too large for the language."""
        if template.cost is not None:
            return template
        try:
            return self.costed(template)
        except InputError:
            return None


def contract_of(text: str) -> Contract:
    """The contract that a request's text (TOML) says. Raises ``InputError``."""
    document = read_toml(Source("contract.toml", text))
    fields = Fields(document)
    contract = read_contract(fields)
    if contract is None:
        raise InputError(fields.faults, document.source)
    return contract


def _ways(request: Request, draws: random.Random) -> Iterator[tuple[tuple[str, ...], Way]]:
    """The whole way of each parent, panels, shorter ways, joined menus, one rule, two rules.

    Where the end of the whole way is known to hold, shorter ones come last.
    """
    level = str(request.data.get("level", "mapping"))
    helpful = _helpful(request.data.get("diagnosis"))
    parents = [parse(Source(f"{n}.fw", t)) for n, t in islice(_parents(request), PARENTS)]
    ways = [(p, tuple(developed(p))) for p in parents]
    held = {k.name for k in request.known if k.evidence == "proved"}
    for parent, found in ways:
        yield from (((parent.name,), way) for way in found[-1:])
    for parent, found in ways:
        yield from (((parent.name,), way) for way in _in_panels(parent, found))
    yield from _shorter([w for w in ways if not _holds(w[1], held)])
    for one in parents[:1]:
        for other in parents[1:]:
            both = joined(one, other)
            if both is not None:
                yield (one.name, other.name), start(one).then(both)
    for parent in parents:
        for way in steps(start(parent), draws, level=level, helpful=helpful):
            yield (parent.name,), way
    for parent in parents:
        for way in twice(parent, draws, level=level, helpful=helpful):
            yield (parent.name,), way
    yield from _shorter([w for w in ways if _holds(w[1], held)])


def _bold(request: Request) -> Iterator[tuple[tuple[str, ...], Way]]:
    for name, text in islice(_parents(request), PARENTS):
        parent = parse(Source(f"{name}.fw", text))
        yield from (((parent.name,), way) for way in bold(parent))


def _holds(found: tuple[Way, ...], held: set[str]) -> bool:
    return bool(found) and found[-1].template.name in held


def _shorter(
    ways: list[tuple[Template, tuple[Way, ...]]],
) -> Iterator[tuple[tuple[str, ...], Way]]:
    """The ends of all ways but the whole ones, the furthest first."""
    for parent, found in ways:
        yield from (((parent.name,), way) for way in reversed(found[:-1]))


def _in_panels(parent: Template, found: tuple[Way, ...]) -> Iterator[Way]:
    """The ends of ways with panels, of a template that rules still develop."""
    if found:
        panels = packed(found[-1])
        if panels is not None:
            yield panels
        yield from [w for w in developed(parent, IN_PANELS) if "panels" in w.rules][-1:]


def _parents(request: Request) -> Iterator[tuple[str, str]]:
    """What is adapted: the parent that is asked about, then what is known, best first."""
    if request.parent:
        yield "parent", request.parent
    for known in best_first(request.known):
        if known.text != request.parent and known.evidence in ("proved", "none"):
            yield known.name, known.text


def _helpful(diagnosis: Any) -> tuple[str, ...]:
    """The rules that answer a diagnosis (``flow/diagnosis.py``, as JSON); none where none is."""
    if not isinstance(diagnosis, Mapping):
        return ()
    data = diagnosis.get("data")
    resource = data.get("resource") if isinstance(data, Mapping) else None
    return (*ANSWERING.get(str(diagnosis.get("kind")), ()), *HELPFUL.get(str(resource), ()))


def _wanted(data: Mapping[str, Any]) -> int:
    wanted = data.get("wanted", WANTED)
    return wanted if isinstance(wanted, int) and wanted > 0 else WANTED


def _words(text: str, rule: str) -> tuple[Proposal, ...]:
    return (Proposal(text, "text", rule),) if text else ()


def _nothing(request: Request) -> str:
    match request.kind:
        case "adapt":
            return "no rule makes anything new of what is known"
        case "repair":
            return "no edit was found that repairs the template"
        case _:
            return f"the request has no data for: {request.kind}"

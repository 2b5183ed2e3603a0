"""An evolutionary searcher over source: a proposer changes the program, a clock judges it.

The proposer is the flow's own (:mod:`formwright.agent.library`, or a transcript). What it proposes
is neither proved nor solved here: a text that parses and keeps the contract is built with some
assignment, validated on inputs and timed. It begins with the template that all searchers are
given, under random assignments; then the better of two members drawn becomes the parent of a new
one, with another program or with another value of a decision, each as likely.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from formwright.agent.protocol import Known, Proposer, Request
from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.contract.contract import Contract
from formwright.contract.matching import matches, typed_for
from formwright.flow.blackbox_search import Asking
from formwright.flow.blackbox_space import Assignment, Space, space_of
from formwright.flow.parameters import bind
from formwright.ir.expr import Scalar
from formwright.ir.template import Template
from formwright.lang.format import format_template
from formwright.lang.parser import parse

FOUNDERS = 3
"""A third of the budget goes to random assignments of the first source, at least two."""
SURVIVORS = 6
"""Members that may have children: the fastest so far."""
TRIES = 20
"""Children in a row that cannot be built before the search ends."""


@dataclass(frozen=True, slots=True)
class World:
    """What a text needs to become a kernel. ``contract_text`` is what the proposer is shown."""

    contract: Contract
    contract_text: str
    chip: Mapping[str, Scalar]
    chip_name: str
    extents: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Member:
    """``source`` as the proposer wrote it; ``space`` the designs of its template, typed."""

    source: str
    space: Space
    assignment: Assignment
    seconds: float


@dataclass(slots=True)
class Evolution:
    """One search. ``tried`` are the names of the templates it has met."""

    world: World
    proposer: Proposer
    asking: Asking
    seed: int
    members: list[Member] = field(default_factory=list)
    tried: set[str] = field(default_factory=set)
    requests: int = 0

    def run(self, first: Template, space: Space) -> None:
        """Evolve from ``first`` (as it stands in its file) until the budget ends."""
        draws = Random(self.seed)
        source = format_template(first)
        self.tried.add(first.name)
        for _ in range(max(2, self.asking.budget.evaluations // FOUNDERS)):
            self._try(source, space, space.drawn(draws))
        failed = 0
        while failed < TRIES:
            parent = self._parent(draws)
            if parent is None:
                child = self._try(source, space, space.drawn(draws))
            elif draws.random() < 0.5:
                child = self._other_program(parent, draws)
            else:
                child = self._other_value(parent, draws)
            failed = 0 if child else failed + 1

    def _parent(self, draws: Random) -> Member | None:
        alive = sorted(self.members, key=lambda m: m.seconds)[:SURVIVORS]
        if not alive:
            return None
        return min(draws.choice(alive), draws.choice(alive), key=lambda m: m.seconds)

    def _other_value(self, parent: Member, draws: Random) -> bool:
        """One decision takes another value; a design outside the space is drawn again."""
        near = [
            p
            for p in parent.space.points
            if sum(a != b for a, b in zip(p, parent.space.point(parent.assignment), strict=True))
            == 1
        ]
        if not near:
            return False
        point = draws.choice(near)
        return self._try(parent.source, parent.space, parent.space.design(point))

    def _other_program(self, parent: Member, draws: Random) -> bool:
        """The proposer adapts the parent's source; decisions that stay keep their values."""
        self.requests += 1
        request = Request(
            kind="adapt",
            number=self.requests,
            seed=self.seed,
            contract=self.world.contract_text,
            formula=self.world.contract.formula,
            chip={name: str(value) for name, value in self.world.chip.items()},
            known=(Known(parent.space.template.name, parent.source, "tested"),),
            parent=parent.source,
            data={"wanted": 1, "tried": sorted(self.tried)},
        )
        reply = self.proposer.propose(request)
        for proposal in reply.proposals[:1]:
            space = self._space(proposal.text)
            if proposal.language != "fw" or space is None or not space.points:
                return False
            self.tried.add(space.template.name)
            return self._try(proposal.text, space, _inherited(space, parent.assignment, draws))
        return False

    def _space(self, text: str) -> Space | None:
        """The designs of a text that keeps the contract; ``None`` for one that does not."""
        world = self.world
        try:
            template = parse(Source("proposal.fw", text))
            if matches(template, world.contract):
                return None
            typed = typed_for(template, world.contract)
            parameters = bind(typed, dict(world.chip), dict(world.extents), world.chip_name)
            return space_of(typed, parameters)
        except InputError:
            return None

    def _try(self, source: str, space: Space, assignment: Assignment) -> bool:
        """Ask for a child; whether it was new."""
        before = len(self.asking.steps)
        seconds = self.asking.ask(space.template, assignment)
        new = len(self.asking.steps) > before
        if new and seconds is not None:
            self.members.append(Member(source, space, assignment, seconds))
        return new


def _inherited(space: Space, assignment: Assignment, draws: Random) -> Assignment:
    """The design that keeps the most of a parent's values; among equals, any."""
    names = space.names

    def kept(point: tuple[int, ...]) -> int:
        return sum(assignment.get(n) == v for n, v in zip(names, point, strict=True))

    most = max(kept(p) for p in space.points)
    return space.design(draws.choice([p for p in space.points if kept(p) == most]))

"""Is a relation wrong, or only too weak? What holds in the states that are reached."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from time import thread_time
from typing import Literal

from formwright.ir.evaluate import EvaluationError
from formwright.ir.expr import Scalar
from formwright.ir.system import Refinement, Total
from formwright.ir.template import Template
from formwright.replay.system.closures import integer
from formwright.replay.system.explore import Graph, Limits, explore
from formwright.replay.system.findings import scalar
from formwright.replay.system.grounded import Guard, guarded
from formwright.replay.system.instance import step_of
from formwright.replay.system.layout import (
    COARSE,
    TooLargeError,
    has_any_token,
    span_of,
    token_choices,
)
from formwright.replay.system.machine import Machine
from formwright.replay.system.made import Fn, State

CLAUSE_STATES = 60_000

JUDGED_STATES = 20_000
JUDGED_SECONDS = 0.5
"""What is spent on telling a wrong relation from a weak one, in seconds of the processor."""

Partial = Mapping[str, Scalar]
"""Values of some cells by name: ``done``, ``loc[1]``, ``coarse.p``; the rest is open."""


@dataclass(frozen=True, slots=True)
class BrokenClause:
    """A clause of the relation that is false in a state that is reached: the relation is wrong.

    ``state`` names every cell; ``run`` the actions from the initial state.
    """

    clause: str
    tokens: Mapping[str, Scalar]
    state: dict[str, Scalar]
    run: tuple[str, ...]

    @property
    def text(self) -> str:
        """One sentence."""
        after = f"after {', '.join(self.run)}" if self.run else "in the initial state"
        cells = ", ".join(f"{n} = {scalar(v)}" for n, v in self.state.items())
        return f'clause "{self.clause}" is false {after}: {cells}'


def broken_clause(
    template: Template, values: Mapping[str, Scalar], limits: Limits | None = None
) -> BrokenClause | None:
    """The first reached state (nearest, over all tokens) in which a clause or total fails.

    States after a step that the coarse system could not follow are not looked at. ``None``:
    none was found among the states within the limits.
    """
    step = step_of(template)
    best: BrokenClause | None = None
    for machine, graph in _graphs(step, values, limits or _limits()):
        broken = _first_broken(machine, graph)
        if broken is not None and (best is None or len(broken.run) < len(best.run)):
            best = broken
    return best


def why_not_kept(template: Template, values: Mapping[str, Scalar]) -> str:
    """One sentence on a relation that the proof of a step could not keep (rule S24)."""
    try:
        limits = Limits(JUDGED_STATES, thread_time() + JUDGED_SECONDS)
        broken = broken_clause(template, values, limits)
    except (EvaluationError, TooLargeError):
        return ""
    if broken is not None:
        return f"the relation is wrong: {broken.text}"
    return "no reached state that was looked at breaks a clause: the relation may be too weak"


def reached(
    template: Template, values: Mapping[str, Scalar], state: Partial, limits: Limits | None = None
) -> Literal["reached", "not reached", "unknown"]:
    """Whether some run, for some tokens, passes a state with these cells.

    ``state`` may name tokens too. ``unknown``: states were left out.
    """
    step = step_of(template)
    is_whole = not has_any_token(step)
    tokens = {t.name for t in (*step.fine.tokens, *step.coarse.tokens)}
    try:
        for machine, graph in _graphs(step, values, limits or _limits()):
            chosen = machine.where.tokens
            if any(state[n] != chosen[n] for n in tokens if n in state):
                continue
            places = {n: p for p, n in enumerate(machine.where.cells)}
            wanted = [(places[n], v) for n, v in state.items() if n in places]
            if any(n.startswith(COARSE) for n in state):
                wanted.append((machine.where.alive, True))
            if any(all(s[p] == v for p, v in wanted) for s in graph.states):
                return "reached"
            seen_all = machine.exhaustive and not graph.cut and graph.fault is None
            is_whole = is_whole and seen_all
    except (EvaluationError, TooLargeError):
        return "unknown"
    return "not reached" if is_whole else "unknown"


def _limits() -> Limits:
    return Limits(CLAUSE_STATES)


def _graphs(
    step: Refinement, constants: Mapping[str, Scalar], limits: Limits
) -> Iterator[tuple[Machine, Graph]]:
    for tokens in token_choices(step, constants):
        machine = Machine(step, constants, tokens)
        yield machine, explore(machine, limits, lambda _: None)


def _first_broken(machine: Machine, graph: Graph) -> BrokenClause | None:
    step, names = machine.step, machine.where.fine
    clauses = [(i.name, g) for i in step.relation for g in guarded(i.clause, names)]
    totals = [(t.name, *_total(t, machine)) for t in step.totals]
    for number, state in enumerate(graph.states):
        if not state[-1]:
            continue
        name = _failing(state, clauses, totals)
        if name:
            cells = dict(zip(machine.where.cells, state, strict=False))
            run = tuple(g.text for g in graph.run_to(number))
            return BrokenClause(name, machine.where.tokens, cells, run)
    return None


def _failing(
    state: State, clauses: list[tuple[str, Guard]], totals: list[tuple[str, Fn, tuple[Fn, ...]]]
) -> str:
    for name, guard in clauses:
        try:
            if not guard.made.fn(state):
                return name
        except EvaluationError:
            return name
    for name, kept, terms in totals:
        if kept(state) != sum(t(state) for t in terms):
            return name
    return ""


def _total(total: Total, machine: Machine) -> tuple[Fn, tuple[Fn, ...]]:
    names = machine.where.fine
    over = span_of(total.over, names)
    if over is None:
        raise TooLargeError(f"a total over any {total.over.name}")
    slot = names.variables[total.name].offset
    terms = tuple(integer(total.value, names.bind({total.over.name: v})).fn for v in over)
    return (lambda s: s[slot]), terms

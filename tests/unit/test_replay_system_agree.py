"""The explorer against a plain one: states as environments, everything by ``evaluate``."""

from collections import deque
from itertools import product

import pytest
import replay_systems as systems

from formwright.ir.evaluate import cell_key, evaluate
from formwright.ir.expr import Scalar
from formwright.ir.inline import inlined
from formwright.ir.system import Clause, System
from formwright.ir.template import Template
from formwright.replay.system.explore import Limits, explore
from formwright.replay.system.instance import step_of
from formwright.replay.system.judge import Judge
from formwright.replay.system.layout import token_choices
from formwright.replay.system.machine import Machine

Environment = dict[str, Scalar]
VALUES: Environment = {"M": 1, "N": 1, "S": 3, "P": 1, "beta": 1, "depth": 2, "burst": 2}

CASES = [
    (systems.pipeline(), {"W": 2, "K": 3}),
    (systems.pipeline(), {"W": 3, "K": 2, "beta": 0}),
    (systems.handshake(), {"K": 4}),
    (systems.queue(), {"K": 5}),
    (systems.meeting(), {"W": 4, "K": 1}),
    (systems.timer(), {"K": 4}),
]


@pytest.mark.parametrize(("template", "values"), CASES)
def test_the_states_are_those_of_a_plain_search(template: Template, values: Environment) -> None:
    step = step_of(template)
    constants = {**VALUES, **values}
    judge = Judge(step, constants, Limits())
    for tokens in token_choices(step, constants):
        machine = Machine(step, constants, tokens)
        graph = explore(machine, Limits(), judge.at_end(machine))
        assert graph.fault is None
        assert graph.mismatch is None
        split = machine.where.split
        found = {tuple(zip(machine.where.cells[:split], s, strict=False)) for s in graph.states}
        fine = inlined(template).refinement
        assert fine is not None
        assert found == plain_states(fine.fine, {**constants, **tokens})


def plain_states(system: System, known: Environment) -> set[tuple[tuple[str, Scalar], ...]]:
    """All reachable states of one system."""
    start: Environment = {}
    for var in system.state:
        if var.index is None:
            start[var.name] = evaluate(var.initial, known)
        else:
            for i in values_of(var.index.lo, var.index.hi, known):
                bound = {**known, var.index.name: i}
                start[cell_key(var.name, (i,))] = evaluate(var.initial, bound)
    seen = {tuple(start.items())}
    waiting = deque([start])
    while waiting:
        state = waiting.popleft()
        for following in plain_steps(system, state, known):
            key = tuple(following.items())
            if key not in seen:
                seen.add(key)
                waiting.append(following)
    return seen


def values_of(lo: object, hi: object, known: Environment) -> range:
    return range(int(evaluate(lo, known)), int(evaluate(hi, known)))  # type: ignore[arg-type]


def plain_steps(system: System, state: Environment, known: Environment) -> list[Environment]:
    following: list[Environment] = []
    for action in system.actions:
        ranges = [values_of(p.lo, p.hi, known) for p in action.params]
        for args in product(*ranges):
            names = dict(zip((p.name for p in action.params), args, strict=True))
            here = {**known, **state, **names}
            if not all(holds(g, here) for g in action.guards):
                continue
            after = dict(state)
            for update in action.updates:
                if update.each is not None:
                    for key in [k for k in state if k.startswith(f"{update.name}[")]:
                        index = int(key[len(update.name) + 1 : -1])
                        after[key] = evaluate(update.value, {**here, update.each: index})
                elif update.index is None:
                    after[update.name] = evaluate(update.value, here)
                else:
                    key = cell_key(update.name, (int(evaluate(update.index, here)),))
                    after[key] = evaluate(update.value, here)
            following.append(after)
    return following


def holds(clause: Clause, here: Environment) -> bool:
    if not clause.forall:
        return evaluate(clause.condition, here) is True
    first = clause.forall[0]
    rest = Clause(clause.forall[1:], clause.condition)
    return all(holds(rest, {**here, first.name: v}) for v in values_of(first.lo, first.hi, here))

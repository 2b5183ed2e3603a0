"""One step at given parameters: all choices of tokens, all interleavings."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from random import Random
from time import thread_time

from formwright.ir.evaluate import EvaluationError
from formwright.ir.expr import Scalar
from formwright.ir.inline import inlined
from formwright.ir.system import Refinement
from formwright.ir.template import Template
from formwright.replay.system.explore import Limits, Reached, explore
from formwright.replay.system.findings import Finding, is_fault
from formwright.replay.system.judge import Judge
from formwright.replay.system.layout import TooLargeError, has_any_token, token_choices
from formwright.replay.system.machine import Machine
from formwright.replay.system.shared import Shared


@dataclass(frozen=True, slots=True)
class Found:
    """A finding, and the machine (with its tokens) whose run reaches it."""

    reached: Reached
    machine: Machine

    @property
    def finding(self) -> Finding:
        return self.reached.finding

    @property
    def weight(self) -> tuple[bool, int]:
        """Less is better: faults of the design first, then fewer steps."""
        return (not is_fault(self.reached.finding), len(self.reached.run))


@dataclass(frozen=True, slots=True)
class Exploration:
    """``complete``: no state and no choice was left out, so that ``found`` ``None`` says that
    these parameters have no fault. ``cut``: why not. ``states``: over all choices of tokens."""

    found: Found | None
    complete: bool
    states: int
    cut: str = ""


TOKEN_LIMIT = 16_384
"""Choices of tokens that are listed; fewer are tried, spread over the list."""
SHARE = 200
"""States that every choice of tokens may have, whatever the others took."""


def step_of(template: Template) -> Refinement:
    """The step without definitions; raises ``ValueError`` where the template states none."""
    step = inlined(template).refinement
    if step is None:
        raise ValueError(f"{template.name} states no step")
    return step


def explore_step(
    template: Template, values: Mapping[str, Scalar], limits: Limits | None = None
) -> Exploration:
    """The nearest fault for these ``values`` of all parameters, whatever the tokens."""
    return explored(step_of(template), values, limits or Limits())


def explored(
    step: Refinement,
    constants: Mapping[str, Scalar],
    limits: Limits,
    only: Mapping[str, Scalar] | None = None,
) -> Exploration:
    """As :func:`explore_step`, for a step without definitions; ``only``: one choice of tokens."""
    shared = Shared(step)
    judge = Judge(step, constants, limits)
    best: Found | None = None
    states = 0
    cut = "a token is any integer: a sample was tried" if has_any_token(step) else ""
    try:
        choices = list(islice(token_choices(step, constants), TOKEN_LIMIT + 1))
        if only is not None:
            cut = "one choice of tokens"
            choices = [c for c in choices if c == only]
        elif len(choices) > limits.tokens:
            cut = f"more than {limits.tokens} choices of tokens"
            choices = Random(0).sample(choices, limits.tokens)
        for number, tokens in enumerate(choices):
            machine = Machine(step, constants, tokens, shared)
            share = (limits.states - states) // (len(choices) - number)
            left = replace(limits, states=max(min(SHARE, limits.states), share))
            graph = explore(machine, left, judge.at_end(machine))
            states += len(graph.states)
            if graph.first is not None:
                found = Found(graph.first, machine)
                best = found if best is None or found.weight < best.weight else best
            if not machine.exhaustive:
                cut = "a parameter is any integer: a sample was tried"
            if graph.cut and graph.fault is None:
                cut = graph.cut
                if thread_time() > limits.deadline:
                    break
    except TooLargeError as error:
        cut = str(error)
    except EvaluationError as error:
        cut = f"a range has no value: {error.message}"
    return Exploration(best, not cut, states, cut)

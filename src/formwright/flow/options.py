"""What a command says about a run beside its problem file."""

from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from typing import Any

from formwright.base.diagnostics import Diagnostic, InputError, nearest
from formwright.contract.agent import (
    LIMITS,
    PRICES,
    PROPOSERS,
    Agent,
    faults_of,
    wrong_number,
)
from formwright.contract.problem import AGENT_SECONDS, Budget, Problem


@dataclass(frozen=True, slots=True)
class Options:
    """Empty texts and ``None`` leave what the file says.

    ``population``: a file or URL (that of this user without). ``budget``: limits and prices, as in
    ``"calls=20,money=1,tokens_in=2,tokens_out=8"``. ``device``: a run whose measurements are given
    again in place of new ones.
    """

    agent: str = ""
    model: str = ""
    address: str = ""
    transcript: str = ""
    answers: str = ""
    generations: int | None = None
    repairs: int | None = None
    budget: str = ""
    population: str | None = None
    device: Path | None = None


def with_options(problem: Problem, options: Options) -> Problem:
    """The problem with what the command says in place of what its file says.

    Raises ``InputError`` with every fault.
    """
    agent = agent_of(options, problem.agent)
    if agent == problem.agent:
        return problem
    return replace(problem, agent=agent, budget=_budget(problem))


def agent_of(options: Options, known: Agent | None) -> Agent | None:
    """``known`` with what the command says in its place; ``None`` where nobody names one.

    Raises ``InputError`` with every fault.
    """
    asked: dict[str, Any] = {
        name: getattr(options, name)
        for name in ("model", "address", "transcript", "answers")
        if getattr(options, name)
    }
    asked |= {
        name: getattr(options, name)
        for name in ("generations", "repairs")
        if getattr(options, name) is not None
    }
    if not options.agent and not asked and not options.budget:
        return known
    faults: list[Diagnostic] = []
    agent = known or Agent()
    if options.agent:
        if options.agent not in PROPOSERS:
            hint = nearest(options.agent, PROPOSERS) or f"known: {', '.join(PROPOSERS)}"
            faults.append(Diagnostic(f'--agent: no proposer "{options.agent}"', hint=hint))
        if options.agent != agent.proposer:
            # What the file says of another proposer is not about this one.
            agent = replace(agent, model="", address="", transcript="", answers="")
        agent = replace(agent, proposer=options.agent)
    agent = replace(agent, **asked)
    if options.budget:
        agent = _limited(agent, options.budget, faults)
    if not faults:
        faults = [Diagnostic(f"--agent: {told}", hint=hint) for _, told, hint in faults_of(agent)]
    if faults:
        raise InputError(faults)
    return agent


def _budget(problem: Problem) -> Budget:
    """A file that names its templates and no time is not thought of as one that makes them."""
    usual = Budget().seconds
    if problem.agent is None and problem.budget.seconds == usual:
        return replace(problem.budget, seconds=AGENT_SECONDS)
    return problem.budget


def _limited(agent: Agent, text: str, faults: list[Diagnostic]) -> Agent:
    limits, prices = dict(agent.budget), dict(agent.prices)
    for part in (p.strip() for p in text.split(",") if p.strip()):
        name, equals, number = (s.strip() for s in part.partition("="))
        known = (*LIMITS, *PRICES)
        if not equals or name not in known:
            hint = nearest(name, known) or f"known: {', '.join(known)}"
            faults.append(Diagnostic(f'--budget: "{part}" is not NAME=NUMBER', hint=hint))
            continue
        try:
            value = float(number)
        except ValueError:
            value = nan
        what = wrong_number(name, value)
        if what:
            faults.append(Diagnostic(f"--budget: {name} is not {what}", hint=f"{name}=20"))
            continue
        (limits if name in LIMITS else prices)[name] = value
    return replace(agent, budget=tuple(limits.items()), prices=tuple(prices.items()))

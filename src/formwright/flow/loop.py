"""The loop on one workload: solve, build, validate, measure, learn, solve again; then confirm."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from time import monotonic
from typing import Any, cast

from formwright.contract.problem import Workload
from formwright.flow.candidates import Candidate, assignment_text, designs, prepare
from formwright.flow.objectives import Choice, choose_winner, standing
from formwright.flow.rates import rates
from formwright.flow.refit import Observation, refit
from formwright.flow.setting import Setting, fractions_as_text, fractions_from_text
from formwright.measure.programs import Baseline, BaselineName, Native, Program
from formwright.measure.timing import Plan
from formwright.qualify.qualification import OURS, secret_seed
from formwright.qualify.timing import time_programs

SEARCH_ROUNDS = 5
CONFIRM_ROUNDS = 15
CONFIRM_TAILS = 60
TAILS = 100
"""Short batches of each candidate, where the objective or a ceiling is about slow calls."""


@dataclass(frozen=True, slots=True)
class Search:
    """What the search on one workload came to. ``seconds`` are medians by candidate key."""

    winner: Candidate | None
    candidates: dict[str, Candidate]
    seconds: dict[str, float]
    rounds: int
    refit: dict[str, Any] | None
    reasons: tuple[str, ...]
    choice: Choice


def search(setting: Setting, workload: Workload) -> Search:
    """Rounds of solve, build, validate, measure and refit, until nothing new is proposed.

    The budget's seconds bound the start of a round, not a step in progress.
    """
    start = monotonic()
    budget = setting.problem.budget
    candidates: dict[str, Candidate] = {}
    seconds: dict[str, float] = {}
    measured: dict[str, dict[str, Any]] = {}
    reasons: list[str] = []
    learned: dict[str, Any] | None = None
    done = 0
    for number in range(budget.rounds):
        resumed = setting.journal.known(f"measure/{workload.name}/{number}") is not None
        if number and not resumed and monotonic() - start > budget.seconds:
            reasons.append(f"the budget of {budget.seconds:g} s ended after {number} round(s)")
            break
        setting.listener.stage(f"{workload.name}: round {number + 1}, solving")
        proposed = designs(setting, workload, number)
        if not proposed:
            reasons.append("no design meets the constraints on this chip")
            break
        held = prepare(setting, workload, proposed)
        fresh = {c.key: c for c in held if c.key not in candidates}
        if not fresh:
            break
        timing = measure(setting, workload, number, fresh)
        together = rates(setting, workload, number, fresh)
        for key, candidate in fresh.items():
            timed = timing["programs"][key]
            if "failure" in timed:
                reasons.append(f"{assignment_text(candidate.assignment)}: {timed['failure']}")
                continue
            median = float(timed["seconds"]["median"])
            candidates[key] = candidate
            seconds[key] = median
            measured[key] = timed | together.get(key, {})
            _observe(setting, workload, candidate, median)
        learned = _learn(setting, workload, number) or learned
        done = number + 1
        _say(setting, workload, number, candidates, seconds)
    choice = choose_winner(
        [standing(setting, workload, c, measured[key]) for key, c in candidates.items()],
        setting.problem.objective,
    )
    labels = {s.key: s.label for s in choice.standings}
    reasons += [f"{labels[key]}: refused: {why}" for key, why in choice.refused.items()]
    chosen = None if choice.winner is None else candidates[choice.winner]
    return Search(chosen, candidates, seconds, done, learned, tuple(reasons), choice)


def confirm(setting: Setting, workload: Workload, winner: Candidate) -> dict[str, Any]:
    """The winner and every baseline afresh: new processes, inputs the search has not seen."""
    setting.listener.stage(f"{workload.name}: confirming against {_names(setting)}")
    contract = setting.problem.contract
    programs: dict[str, Program] = {OURS: Native(winner.library, setting.threads, contract.ahead)}
    for name in setting.problem.baselines:
        programs[name] = Baseline(
            cast(BaselineName, name), setting.threads, contract.ahead, contract.operator
        )
    timing: dict[str, Any] = setting.journal.step(
        f"confirm/{workload.name}",
        lambda: time_programs(
            programs,
            contract,
            workload.extents,
            seed=secret_seed(),
            plan=Plan(rounds=CONFIRM_ROUNDS, least_rounds=7, seconds=30.0, tails=CONFIRM_TAILS),
        ),
    )
    return timing


def _names(setting: Setting) -> str:
    return ", ".join(setting.problem.baselines)


def measure(
    setting: Setting, workload: Workload, number: int, fresh: Mapping[str, Candidate]
) -> dict[str, Any]:
    """The candidates interleaved, in random order, on inputs of round ``number``: the timing."""
    setting.listener.stage(f"{workload.name}: measuring {len(fresh)} candidates, interleaved")
    ahead = setting.problem.contract.ahead
    programs: dict[str, Program] = {
        key: Native(c.library, setting.threads, ahead) for key, c in fresh.items()
    }
    timing: dict[str, Any] = setting.journal.step(
        f"measure/{workload.name}/{number}",
        lambda: time_programs(
            programs,
            setting.problem.contract,
            workload.extents,
            seed=setting.seed + number,
            plan=Plan(
                rounds=SEARCH_ROUNDS,
                least_rounds=3,
                seconds=10.0,
                tails=TAILS if setting.problem.objective.tails else 0,
            ),
        ),
    )
    return timing


def _observe(setting: Setting, workload: Workload, candidate: Candidate, seconds: float) -> None:
    template = setting.templates[candidate.template].template
    parameters = setting.parameters(template, workload)
    setting.observations.setdefault(candidate.template, []).append(
        Observation(parameters, candidate.assignment, seconds)
    )


def _learn(setting: Setting, workload: Workload, number: int) -> dict[str, Any] | None:
    """Refit every template's coefficients to all that was measured so far in this run."""
    learned: dict[str, Any] | None = None
    for name, observations in setting.observations.items():
        proved = setting.templates[name]
        present = setting.coefficients[name]
        learned = setting.journal.step(
            f"refit/{workload.name}/{number}/{name}",
            partial(_refit, proved.template, observations, present),
        )
        assert learned is not None
        setting.coefficients[name] = fractions_from_text(learned["coefficients"])
    return learned


def _refit(
    template: Any, observations: list[Observation], present: dict[str, Fraction]
) -> dict[str, Any]:
    found = refit(template, observations, present)
    return {
        "coefficients": fractions_as_text(found.coefficients),
        "error_before": found.error_before,
        "error_after": found.error_after,
        "rank": found.rank,
        "observations": found.observations,
    }


def _say(
    setting: Setting,
    workload: Workload,
    number: int,
    candidates: Mapping[str, Candidate],
    seconds: Mapping[str, float],
) -> None:
    if not seconds:
        return
    best = min(seconds, key=seconds.__getitem__)
    setting.listener.done(
        f"{workload.name}: round {number + 1}: best of {len(seconds)} is"
        f" {assignment_text(candidates[best].assignment)}, {seconds[best] * 1e3:.3f} ms"
    )

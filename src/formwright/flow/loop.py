"""The loop on one workload: solve, build, validate, measure, learn, solve again; then confirm."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Any, cast

from formwright.base.diagnostics import InputError
from formwright.contract.problem import Workload
from formwright.flow.candidates import Candidate, assignment_text, designs, prepare
from formwright.flow.jobs import Time
from formwright.flow.objectives import Choice, choose_winner, standing
from formwright.flow.rates import rates
from formwright.flow.refit import Observation, refit
from formwright.flow.setting import Setting, fractions_as_text, fractions_from_text
from formwright.measure.programs import Baseline, BaselineName, Native, Program
from formwright.measure.timing import Plan
from formwright.qualify.qualification import OURS, secret_seed

SEARCH_ROUNDS = 5
SEARCH_BATCH_SECONDS = 0.01
"""Half of what confirms: every output of a batch is judged, and a search has many batches."""
CONFIRM_ROUNDS = 15
CONFIRM_TAILS = 60
TAILS = 100
"""Short batches of each candidate, where the objective or a ceiling is about slow calls."""


@dataclass(slots=True)
class Tally:
    """What was measured so far on one workload, by candidate key; times are median seconds.

    Of candidates that were measured in different rounds ``seconds`` are made comparable by those
    that were measured in both. ``tried``: keys of designs that were looked at, whatever came of it.
    """

    candidates: dict[str, Candidate] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    timed: dict[str, dict[str, Any]] = field(default_factory=dict)
    tried: set[str] = field(default_factory=set)
    reasons: list[str] = field(default_factory=list)
    learned: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The last refit by template."""
    rounds: int = 0

    @property
    def best(self) -> str | None:
        """The key of the fastest."""
        return min(self.seconds, key=lambda key: (self.seconds[key], key), default=None)


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
    tally = Tally()
    for number in range(budget.rounds):
        resumed = setting.journal.known(f"measure/{workload.name}/{number}") is not None
        if number and not resumed and monotonic() - start > budget.seconds:
            tally.reasons.append(
                f"the budget of {budget.seconds:g} s ended after {number} round(s)"
            )
            break
        proposed = designs(setting, workload, number)
        if not proposed:
            tally.reasons.append("no design meets the constraints on this chip")
            break
        if not look_at(setting, workload, number, tally, proposed):
            break
    return conclude(setting, workload, tally)


def look_at(
    setting: Setting,
    workload: Workload,
    number: int,
    tally: Tally,
    proposed: Sequence[Mapping[str, Any]],
    beside: Sequence[str] = (),
) -> tuple[str, ...]:
    """Round ``number``: designs checked, built, validated, measured and learned from.

    ``beside`` are keys of earlier candidates that are measured again with the new ones. The
    result has the keys of the new ones that were measured.
    """
    held = prepare(setting, workload, proposed)
    fresh = {c.key: c for c in held if c.key not in tally.tried}
    if not fresh:
        return ()
    tally.tried |= fresh.keys()
    again = {key: tally.candidates[key] for key in beside}
    timing = measure(setting, workload, number, fresh | again)
    together = rates(setting, workload, number, fresh)
    drift = _drift(tally, timing, beside)
    found = []
    for key, candidate in fresh.items():
        timed = timing["programs"][key]
        if "failure" in timed:
            tally.reasons.append(f"{assignment_text(candidate.assignment)}: {timed['failure']}")
            continue
        seconds = float(timed["seconds"]["median"])
        tally.candidates[key] = candidate
        tally.seconds[key] = seconds * drift
        tally.timed[key] = timed | together.get(key, {})
        found.append(key)
        _observe(setting, workload, candidate, seconds)
    names = {c.template for c in fresh.values()} if beside else set(setting.observations)
    tally.learned |= _learn(setting, workload, number, names)
    tally.rounds = number + 1
    _say(setting, workload, number, tally)
    return tuple(found)


def conclude(
    setting: Setting, workload: Workload, tally: Tally, among: Sequence[str] | None = None
) -> Search:
    """The choice of all that was measured, or of the keys ``among``, by the objective."""
    choice = choose_winner(
        [
            standing(setting, workload, c, tally.timed[key])
            for key, c in tally.candidates.items()
            if among is None or key in among
        ],
        setting.problem.objective,
    )
    labels = {s.key: s.label for s in choice.standings}
    reasons = [
        *tally.reasons,
        *(f"{labels[key]}: refused: {why}" for key, why in choice.refused.items()),
    ]
    chosen = None if choice.winner is None else tally.candidates[choice.winner]
    learned = list(tally.learned.values())
    last = learned[-1] if learned else None
    if chosen is not None:
        last = tally.learned.get(chosen.template, last)
    return Search(
        chosen, tally.candidates, tally.seconds, tally.rounds, last, tuple(reasons), choice
    )


def _drift(tally: Tally, timing: Mapping[str, Any], beside: Sequence[str]) -> float:
    """By what times of this round are multiplied to stand beside those of earlier ones."""
    ratios = []
    for key in beside:
        timed = timing["programs"][key]
        if "failure" not in timed:
            ratios.append(tally.seconds[key] / float(timed["seconds"]["median"]))
    return median(ratios) if ratios else 1.0


def confirm(setting: Setting, workload: Workload, winner: Candidate) -> dict[str, Any]:
    """The winner and every baseline afresh: new processes, inputs the search has not seen."""
    setting.listener.stage(f"{workload.name}: confirming against {_names(setting)}")
    contract = setting.problem.contract
    programs = beside_baselines(setting, winner)
    return setting.timed(
        f"confirm/{workload.name}",
        tuple(programs),
        Time(
            programs,
            contract,
            workload.extents,
            seed=secret_seed(),
            plan=Plan(rounds=CONFIRM_ROUNDS, least_rounds=7, seconds=30.0, tails=CONFIRM_TAILS),
        ),
    )


def beside_baselines(setting: Setting, candidate: Candidate) -> dict[str, Program]:
    """``candidate``, called :data:`OURS` and first, and every baseline of the problem.

    The path of its library is from the folder of the run.
    """
    contract, threads = setting.problem.contract, setting.threads
    programs: dict[str, Program] = {OURS: native(setting, candidate.library)}
    for name in setting.problem.baselines:
        programs[name] = Baseline(
            cast(BaselineName, name), threads, contract.ahead, contract.operator
        )
    return programs


def native(setting: Setting, library: Path) -> Native:
    """A library of the run, as a program of a job."""
    path = Path(setting.below(library))
    return Native(path, setting.threads, setting.problem.contract.ahead)


def _names(setting: Setting) -> str:
    return ", ".join(setting.problem.baselines)


def measure(
    setting: Setting, workload: Workload, number: int | str, fresh: Mapping[str, Candidate]
) -> dict[str, Any]:
    """The candidates interleaved, in random order, on inputs of round ``number``: the timing.

    A ``number`` that is none is that of no round, and names the step.
    """
    setting.listener.stage(f"{workload.name}: measuring {len(fresh)} candidates, interleaved")
    rounds = isinstance(number, int)
    job = Time(
        {key: native(setting, c.library) for key, c in fresh.items()},
        setting.problem.contract,
        workload.extents,
        seed=setting.seed + number if isinstance(number, int) else secret_seed(),
        plan=Plan(
            rounds=SEARCH_ROUNDS,
            least_rounds=3,
            seconds=10.0,
            batch_seconds=SEARCH_BATCH_SECONDS,
            tails=TAILS if setting.problem.objective.tails else 0,
        ),
        sizes=True,
    )
    key = f"measure/{workload.name}/{number}" if rounds else f"{number}/{workload.name}"
    return setting.timed(key, tuple(fresh), job)


def _observe(setting: Setting, workload: Workload, candidate: Candidate, seconds: float) -> None:
    template = setting.templates[candidate.template].template
    parameters = setting.parameters(template, workload)
    setting.observations.setdefault(candidate.template, []).append(
        Observation(parameters, candidate.assignment, seconds)
    )


def _learn(
    setting: Setting, workload: Workload, number: int, names: Iterable[str]
) -> dict[str, dict[str, Any]]:
    """Refit the coefficients of ``names`` to all that was measured of them so far in this run."""
    found: dict[str, dict[str, Any]] = {}
    for name in (n for n in setting.observations if n in set(names)):
        found[name] = relearn(setting, f"refit/{workload.name}/{number}/{name}", name)
    return found


def relearn(setting: Setting, key: str, name: str) -> dict[str, Any]:
    """The step ``key``: one template's coefficients, refitted to its observations."""
    learned: dict[str, Any] = setting.journal.step(
        key,
        partial(
            _refit,
            setting.templates[name].template,
            setting.observations[name],
            setting.coefficients[name],
            setting.forgiving,
        ),
    )
    setting.coefficients[name] = fractions_from_text(learned["coefficients"])
    return learned


def _refit(
    template: Any,
    observations: list[Observation],
    present: dict[str, Fraction],
    forgiving: bool,
) -> dict[str, Any]:
    try:
        found = refit(template, observations, present)
    except (InputError, ArithmeticError, ValueError):
        if not forgiving:
            raise
        # A cost that has no value, or none above 0, at what was measured: it stays as it is.
        nothing = dict.fromkeys(("error_before", "error_after", "rank"))
        kept = {"coefficients": fractions_as_text(present), "observations": len(observations)}
        return kept | nothing
    return {
        "coefficients": fractions_as_text(found.coefficients),
        "error_before": found.error_before,
        "error_after": found.error_after,
        "rank": found.rank,
        "observations": found.observations,
    }


def _say(setting: Setting, workload: Workload, number: int, tally: Tally) -> None:
    best = tally.best
    if best is None:
        return
    chosen = tally.candidates[best]
    setting.listener.done(
        f"{workload.name}: round {number + 1}: best of {len(tally.seconds)} is"
        f" {chosen.template} {assignment_text(chosen.assignment)},"
        f" {tally.seconds[best] * 1e3:.3f} ms"
    )

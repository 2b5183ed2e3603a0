"""Wall relaxation through the journal: one entry a round, and a model that the evaluator judges.

Every ceiling is relaxed with each purchase held against the evaluator until a pass over all of
them leaves the model as it is; all methods are then compared under that model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from formwright.flow.codesign_setting import Room
from formwright.flow.jobs import Rank
from formwright.simulate.evaluator import Evaluator
from formwright.walls.agreement import rank_agreement
from formwright.walls.counters import Counter
from formwright.walls.counting import Counted, Shared
from formwright.walls.outcome import Outcome
from formwright.walls.recalibrate import Recalibration
from formwright.walls.relax import begin, outcome, step
from formwright.walls.state import Options, State, Variant, state_from_json
from formwright.walls.study import Method, Study

MOST_PASSES: Final = 4
SEED: Final = 20260511

_VARIANTS: Final[Mapping[str, Variant]] = {
    "wall-relaxation": "paper",
    "coupled": "coupled",
    "sets": "sets",
}


@dataclass(frozen=True, slots=True)
class Relaxed:
    """``entries``: the journal entry of the start and of each round, in order."""

    outcome: Outcome
    state: State
    inner: Counted
    entries: tuple[int, ...]


def agreement_of(room: Room) -> dict[str, Any] | None:
    """How model and evaluator rank sampled designs, before anything is bought."""
    study, evaluator = room.study, room.evaluator
    if evaluator is None or study.evaluator is None:
        return None
    samples = study.evaluator.samples
    room.listener.stage(f"ranking {samples} designs by model and by {evaluator.name}")

    def rank() -> dict[str, Any]:
        if room.executor.spread:
            return room.steps.compute("agreement", Rank(study, SEED))
        return rank_agreement(study.problem(None), room.inner, evaluator, samples, SEED)

    found: dict[str, Any] = room.journal.step("agreement", rank)
    found["entry"] = room.entry("agreement")
    room.listener.done(f"model against {evaluator.name}: rank correlation {found['rank']:.3f}")
    return found


def validate_model(room: Room) -> tuple[dict[str, Any], ...]:
    """Relax under every ceiling against the evaluator until a pass leaves the model as it is.

    Leaves the last model in ``room`` and gives back the repairs, each with its journal entry.
    """
    study, evaluator = room.study, room.evaluator
    if evaluator is None or room.validated is None:
        return ()
    room.recalibration = recalibration(room, study)
    told: list[dict[str, Any]] = []
    for _ in range(MOST_PASSES):
        before = len(room.repairs)
        for budget in study.budgets:
            found = relax(room, budget, room.validated, judged=True)
            fresh = found.state.repairs
            rounds = [r["round"] for r in found.state.rounds if r.get("repair") is not None]
            told += [
                {**data, "budget": None if budget is None else float(budget)}
                | {"entry": found.entries[number]}
                for data, number in zip(fresh, rounds, strict=True)
            ]
            if fresh:
                room.repairs = [*room.repairs, *fresh]
                room.inner = found.inner.inner
                room.shared = Shared()
                room.reference = Counted(room.inner, room.shared).solve(study.reference)
                room.listener.done(f"the model was repaired {len(fresh)} time(s)")
        if len(room.repairs) == before:
            break
    return tuple(told)


def recalibration(room: Room, study: Study) -> Recalibration:
    """The model of ``study``, to be held against the evaluator of the room."""
    assert room.evaluator is not None
    assert room.study.evaluator is not None
    return recalibration_of(
        study, room.evaluator, room.study.counters, room.study.evaluator.samples
    )


def recalibration_of(
    study: Study, evaluator: Evaluator, counters: Sequence[Counter], samples: int
) -> Recalibration:
    """The model of ``study``, to be held against ``evaluator`` on ``samples`` designs."""
    return Recalibration(study.problem(None), evaluator, evaluator.noise, counters, samples, SEED)


def run_relaxation(room: Room, budget: Fraction | None, method: Method) -> Relaxed:
    """One variant under one ceiling and the model as it is now.

    The variant that was validated is not run again, unless the model was still being repaired.
    """
    judged = method == room.validated and room.recalibration is not None
    found = relax(room, budget, method, judged=judged)
    return relax(room, budget, method, judged=False) if found.state.repairs else found


def label(room: Room, budget: Fraction | None) -> str:
    """The part of journal keys for a ceiling under the model as it is now."""
    under = "open" if budget is None else f"{_exactly(budget)}mm2"
    return under if not room.repairs else f"{under}/model{len(room.repairs)}"


def _exactly(area: Fraction) -> str:
    """As short as it can be told from every other area."""
    short = f"{float(area):g}"
    return short if Fraction(short) == area else str(area)


def relax(room: Room, budget: Fraction | None, method: Method, *, judged: bool) -> Relaxed:
    """Round by round, each an entry; a resumed relaxation goes on after the last one."""
    search = room.study.search
    options = Options(_VARIANTS[method], search.look_ahead, search.rounds, budget)
    prefix = f"{label(room, budget)}/{method}" + ("/judged" if judged else "")
    inner = Counted(room.inner, room.shared)
    applied = 0
    entries: list[int] = []
    state: State | None = None
    while state is None or not state.done:
        key = f"{prefix}/round{len(entries)}"
        data = room.journal.known(key)
        if data is None:
            if state is None:
                state = begin(inner, options, room.study.start)
            else:
                if applied < len(state.repairs):  # resumed after a repair
                    inner, applied = _repaired(room, state), len(state.repairs)
                judge = room.recalibration.judge(inner) if judged and room.recalibration else None
                stepped = step(inner, options, state, judge)
                state = stepped.state
                model = stepped.inner
                inner = model if isinstance(model, Counted) else Counted(model)
                applied = len(state.repairs)
            room.listener.stage(f"{prefix}: round {len(entries)}")
            data = room.journal.step(key, state.as_json)
        state = state_from_json(data)
        entries.append(room.entry(key))
    if applied < len(state.repairs):
        inner = _repaired(room, state)
    ended = replace(outcome(inner, options, state), method=method)
    return Relaxed(ended, state, inner, tuple(entries))


def _repaired(room: Room, state: State) -> Counted:
    """A count of its own: what was answered under an earlier model is void."""
    assert room.recalibration is not None
    return Counted(room.recalibration.rebuild([*room.repairs, *state.repairs]))

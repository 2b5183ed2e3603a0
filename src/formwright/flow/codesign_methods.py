"""The methods of a study, each one step of the journal: a resumed study repeats none of them."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Final

from formwright.flow.codesign_setting import Room
from formwright.walls.baselines import (
    fixed_hardware,
    hardware_only,
    random_search,
    sequential,
    software_only,
)
from formwright.walls.blackbox import optuna_search
from formwright.walls.bounds import Until, branch_and_bound
from formwright.walls.core import Answer, Inner
from formwright.walls.counting import Counted
from formwright.walls.exact import enumerate_chips
from formwright.walls.finite import FiniteInner
from formwright.walls.finite_tables import FiniteTables
from formwright.walls.inner import TemplateInner
from formwright.walls.joint import Tables, joint_program
from formwright.walls.outcome import Outcome, outcome_from_json
from formwright.walls.study import SEEDED, Method, Study
from formwright.walls.work_tables import WorkTables

ENUMERATED: Final = 2_000
"""Chips of a library up to which `joint` asks for every one."""


def run_method(room: Room, at: str, budget: Fraction | None, method: Method) -> list[Outcome]:
    """The outcomes of a method other than a relaxation: one for each of its seeds.

    ``at`` is the ceiling's part of the keys of the journal.
    """
    if method not in SEEDED:
        return [_step(room, f"{at}/{method}", method, lambda: _run(room, budget, method, 0))]
    found: list[Outcome] = []
    for seed in range(room.study.search.seeds):
        room.listener.stage(f"{at} {method}, seed {seed + 1} of {room.study.search.seeds}")
        key = f"{at}/{method}/{seed}"
        found.append(_step(room, key, method, lambda s=seed: _run(room, budget, method, s)))  # type: ignore[misc]
        if found[-1].point is None and found[-1].solves == 0:
            break  # it was not run, and its note says why: other seeds would say the same
    return found


def keys_of(room: Room, at: str, method: Method) -> list[str]:
    """The journal keys of the outcomes of a method at a ceiling, those that are done."""
    keys = [f"{at}/{method}"]
    if method in SEEDED:
        keys = [f"{at}/{method}/{seed}" for seed in range(room.study.search.seeds)]
    return [key for key in keys if room.journal.number(key) is not None]


def bound_below(room: Room, at: str, budget: Fraction | None, best: Outcome) -> Outcome:
    """A bound of the best chip within ``budget``, found from the best that is known."""

    def run() -> Outcome:
        limits = Until(seconds=room.study.search.bound_seconds)
        return branch_and_bound(counted(room), budget, best.point, limits)

    room.listener.stage(f"{at} bounding the best chip from below")
    return _step(room, f"{at}/bound", "bound", run)


def counted(room: Room) -> Counted:
    """A count for one method; answers that others have asked for are shared."""
    return Counted(room.inner, room.shared)


def _step(room: Room, key: str, method: str, run: Callable[[], Outcome]) -> Outcome:
    data = room.journal.step(key, lambda: replace(run(), method=method).as_json())
    return outcome_from_json(data)


def _run(room: Room, budget: Fraction | None, method: Method, seed: int) -> Outcome:
    return outcome_of(room.study, counted(room), room.reference, budget, method, seed)


def outcome_of(
    study: Study,
    inner: Counted,
    reference: Answer,
    budget: Fraction | None,
    method: Method,
    seed: int,
) -> Outcome:
    """What ``method``, which is no relaxation, finds within ``budget``.

    ``reference``: the answer at the study's reference chip.
    """
    limits = Until(seconds=study.search.bound_seconds)
    match method:
        case "fixed-hardware":
            return fixed_hardware(inner, study.start, reference)
        case "software-only":
            return software_only(inner, study.start)
        case "hardware-only":
            return hardware_only(inner, study.start, reference, budget, limits)
        case "sequential":
            return sequential(inner, study.start, budget, limits)
        case "random":
            return random_search(inner, budget, study.search.solves, seed)
        case "optuna":
            return optuna_search(inner, budget, study.search.solves, seed)
        case "joint":
            if study.library.size <= ENUMERATED:
                return enumerate_chips(inner, budget)
            return branch_and_bound(inner, budget, None, limits)
        case "joint-program":
            return joint_program(inner, _tables(inner.inner), budget, study.search.bound_seconds)
        case other:
            raise ValueError(f"{other} is a relaxation")


def _tables(inner: Inner) -> Tables:
    match inner:
        case FiniteInner():
            return FiniteTables(inner)
        case TemplateInner():
            return WorkTables(inner)
        case other:
            raise ValueError(f"no tables of {type(other).__name__}")

"""Chip studies: the work of `Search` and `Rank`, for a process that has not opened the study."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from formwright.base.digest import digest, plain_digest
from formwright.flow.codesign_methods import outcome_of
from formwright.flow.codesign_relaxing import recalibration_of
from formwright.flow.codesign_setting import open_evaluator, open_inner
from formwright.flow.jobs import Rank, Search
from formwright.walls.agreement import rank_agreement
from formwright.walls.core import Answer, Inner
from formwright.walls.counting import Counted, Shared
from formwright.walls.study import Study

OPEN: Final = 2
"""Studies that a process keeps open: listing their designs takes seconds."""


class _Opened:
    """A study with its model as it was repaired; answers are shared by the methods asked for."""

    def __init__(self, study: Study, repairs: Sequence[Mapping[str, Any]]) -> None:
        self.study = study
        self.inner: Inner = open_inner(study)
        if repairs:
            evaluator = open_evaluator(study)
            assert evaluator is not None
            assert study.evaluator is not None
            repaired = recalibration_of(study, evaluator, study.counters, study.evaluator.samples)
            self.inner = repaired.rebuild(list(repairs))
        self.shared = Shared()
        self.reference: Answer = Counted(self.inner, self.shared).solve(study.reference)


def searched(job: Search) -> dict[str, Any]:
    """The outcome of one method as a journal has it."""
    opened = _opened(job.study, job.repairs)
    inner = Counted(opened.inner, opened.shared)
    outcome = outcome_of(job.study, inner, opened.reference, job.budget, job.method, job.seed)
    return replace(outcome, method=job.method).as_json()


def ranked(job: Rank) -> dict[str, Any]:
    """How model and evaluator rank the same designs."""
    opened = _opened(job.study, ())
    evaluator = open_evaluator(job.study)
    assert evaluator is not None
    assert job.study.evaluator is not None
    samples = job.study.evaluator.samples
    return rank_agreement(job.study.problem(None), opened.inner, evaluator, samples, job.seed)


_OPENED: Final[dict[str, _Opened]] = {}


def _opened(study: Study, repairs: Sequence[Mapping[str, Any]]) -> _Opened:
    key = digest([digest(study), plain_digest(list(repairs))])
    if key not in _OPENED:
        if len(_OPENED) == OPEN:
            del _OPENED[next(iter(_OPENED))]
        _OPENED[key] = _Opened(study, repairs)
    return _OPENED[key]

"""S21: where the fine system is final, the coarse one is, with the same result."""

from collections.abc import Iterator

from formwright.smt.encode import UnderivableError, number, truth
from formwright.smt.goals import Goal, Query
from formwright.smt.step.setting import Setting
from formwright.smt.step.state import COARSE
from formwright.smt.step.stating import goal, unless_plain
from formwright.smt.terms import conj, eq, negated


def completion_goals(setting: Setting) -> Iterator[Goal]:
    fine = setting.refinement.fine
    claim = f"{fine.name} ends where the coarse system does not, or with another result"
    yield goal("completion", fine.name, claim, lambda: _completed(setting), fine.span)


def _completed(setting: Setting) -> list[Query]:
    coarse, fine, atoms = setting.refinement.coarse, setting.refinement.fine, setting.atoms
    if len(coarse.result) != len(fine.result):
        raise UnderivableError("the systems have results of different lengths", fine.span)
    names, above = setting.names(), setting.names(prefix=COARSE)
    case = setting.case()
    case.facts.append(truth(fine.final, names, atoms))
    same = [
        eq(number(a, names, atoms), number(b, above, atoms))
        for a, b in zip(fine.result, coarse.result, strict=True)
    ]
    return unless_plain(case, negated(conj([truth(coarse.final, above, atoms), *same])))

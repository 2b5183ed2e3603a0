"""S19 and S23: what is left to do is a natural number, and work lowers it."""

from collections.abc import Callable, Iterator, Sequence

from formwright.ir.system import Action, RankTerm, System
from formwright.smt.encode import UnderivableError, number
from formwright.smt.goals import Goal, Query
from formwright.smt.step.firing import Firing, acting
from formwright.smt.step.known import Case
from formwright.smt.step.setting import Setting
from formwright.smt.step.state import Names
from formwright.smt.step.stating import goal, unless_plain
from formwright.smt.step.sums import Sum, Touched
from formwright.smt.terms import ZERO, constant, lt

Terms = tuple[RankTerm, ...]
Start = Callable[[], Case]


def rank_goals(setting: Setting) -> Iterator[Goal]:
    """S19: the rank of the step; only work without coarse actions has to lower it."""
    terms = setting.refinement.rank
    yield from _natural_goals("rank", terms, setting, setting.case)
    for action in setting.refinement.fine.actions:

        def build(action: Action = action) -> Sequence[Query]:
            names, queries = setting.names(), []
            for step, case in setting.stepping(action):
                if not step.coarse:
                    after = setting.names(step.after)
                    queries += _lowered(terms, names, after, step.touched, case)
            return queries

        claim = f"{action.name} can work without end"
        yield goal("rank", action.name, claim, build, action.span)


def termination_goals(setting: Setting) -> Iterator[Goal]:
    """S23: every action of a system lowers the rank that the system states for itself."""
    for system, prefix in setting.systems:
        if system.rank:
            yield from _terminating(setting, system, prefix)


def _terminating(setting: Setting, system: System, prefix: str) -> Iterator[Goal]:
    def start() -> Case:
        # Not every state of the coarse system is related to one of the fine one.
        return setting.tokens() if prefix else setting.case()

    yield from _natural_goals("termination", system.rank, setting, start, prefix)
    for action in system.actions:

        def build(action: Action = action) -> Sequence[Query]:
            case = start()
            firing = acting(action, case, prefix)
            names, after = setting.names(prefix=prefix), setting.names(firing.after, prefix)
            return _lowered(system.rank, names, after, _touched(firing, prefix), case)

        claim = f"{action.name} does not bring {system.name} nearer to its end"
        name = f"{system.name} {action.name}"
        yield goal("termination", name, claim, build, action.span)


def _touched(firing: Firing, prefix: str) -> Touched:
    return {n: [i] for n, i in firing.touched(prefix).items()}


def _natural_goals(
    condition: str, terms: Terms, setting: Setting, start: Start, prefix: str = ""
) -> Iterator[Goal]:
    for place, term in enumerate(terms, 1):

        def build(term: RankTerm = term) -> Sequence[Query]:
            if any(i.lo is None or i.hi is None for i in term.over):
                raise UnderivableError("a sum over every integer may have no value", term.span)
            case = start()
            names = case.arbitrary(term.over, setting.names(prefix=prefix))
            return unless_plain(case, lt(number(term.value, names, setting.atoms), ZERO))

        name = f"{prefix}term {place} is natural"
        yield goal(condition, name, "the rank can be below 0", build, term.span)


def _lowered(
    terms: Terms, before: Names, after: Names, touched: Touched, case: Case
) -> list[Query]:
    """Nothing that is summed grows where nothing is known to change, and the rest shrinks."""
    total, queries = ZERO, []
    for term in terms:
        change = Sum(term.over, term.value, before, after, touched)
        inner = case.copy()
        other = change.elsewhere(inner, may_shrink=True)
        if other is not None:
            queries += unless_plain(inner, other)
        total = total + change.change
    return [*queries, *unless_plain(case, lt(constant(-1), total))]

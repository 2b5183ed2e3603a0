"""How the goals of a step are named, and what needs no query."""

from collections.abc import Callable, Sequence

from formwright.base.source import Span
from formwright.smt.goals import Goal, Query
from formwright.smt.step.known import Case
from formwright.smt.terms import FALSE, Formula

Build = Callable[[], Sequence[Query]]


def goal(
    condition: str, name: str, claim: str, build: Build, span: Span | None = None, weight: int = 2
) -> Goal:
    """One obligation of a step (K2): ``claim`` says in words what would be wrong."""
    return Goal(f"{condition} {name}", "K2", condition, build, claim, weight, span)


def unless_plain(case: Case, wrong: Formula) -> list[Query]:
    """The query for ``wrong``; none where it is plainly false."""
    return [] if wrong == FALSE else [case.query(wrong)]

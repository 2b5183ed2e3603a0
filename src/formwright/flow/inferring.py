"""The weakest linear precondition of a schedule, found from nothing by counterexamples.

A condition is proposed that agrees with the points known so far, the weakest one first. The
verifier proves it for the whole family or gives a point that is not safe. What a proved
condition shuts out is then asked point by point: a safe point there makes it weaker. It ends
when the condition is proved and everything outside it is refuted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from formwright.base.diagnostics import fail
from formwright.flow.halfspaces import NAME_LIMIT, HalfSpace, as_condition, fit, fit_bound
from formwright.flow.weakest import COMBINATION_LIMIT, Bounded, schedule_decisions
from formwright.ir.evaluate import evaluate
from formwright.ir.expr import Compare, Expr, Logic
from formwright.ir.template import Template
from formwright.proof.verdict import Verdict

Point = dict[str, int]
Menus = dict[str, tuple[int, ...]]
Under = Callable[[Expr, Menus], tuple[Verdict, Point]]
"""Whether all points that meet a condition are safe, and one that is not."""


@dataclass(frozen=True, slots=True)
class Round:
    """One proposal and what came of it."""

    condition: Expr
    outcome: Literal["proved", "refuted", "unresolved", "too strong"]
    point: Point


@dataclass(frozen=True, slots=True)
class Inferred:
    """``condition`` is proved for every extent; ``weakest`` says that all else was refuted.

    ``wider`` knows the number of iterations; it is proved too, or ``None``. ``reason`` says
    what stopped the search where ``condition`` is ``None`` or not the weakest.
    """

    decisions: tuple[str, ...]
    condition: Expr | None
    weakest: bool
    safe: int
    unsafe: int
    rounds: tuple[Round, ...]
    wider: Expr | None = None
    wider_exact: bool = False
    reason: str = ""


def infer(
    template: Template,
    safe: Callable[[Point], Verdict],
    under: Under,
    bounds: Callable[[Point], tuple[Bounded, ...]] | None = None,
) -> Inferred:
    """The search on an inlined template; ``bounds`` adds the condition that reads an extent.

    Raises:
        InputError: the schedule hangs on no decision, or on too many.
    """
    names = schedule_decisions(template)
    menus: Menus = {
        d.name: tuple(sorted({*d.menu, *d.extra})) for d in template.decisions if d.name in names
    }
    points = [dict(zip(names, values, strict=True)) for values in product(*menus.values())]
    if len(names) > NAME_LIMIT or len(points) > COMBINATION_LIMIT:
        raise fail(
            f"{len(points)} points of {len(names)} decisions are too many to infer a condition",
            template.span,
            f"at most {COMBINATION_LIMIT} points of {NAME_LIMIT} decisions",
        )
    search = _Search(names, menus, points, safe, under)
    found = search.run()
    if bounds is None or found.condition is None or not search.unsafe:
        return found
    return _widened(found, search, bounds)


class _Search:
    """The points known so far; each round adds one."""

    def __init__(
        self,
        names: Sequence[str],
        menus: Menus,
        points: list[Point],
        safe: Callable[[Point], Verdict],
        under: Under,
    ) -> None:
        self.names, self.menus, self.points = tuple(names), menus, points
        self.is_safe, self.under = safe, under
        self.safe: list[Point] = []
        self.unsafe: list[Point] = []
        self.rounds: list[Round] = []

    def run(self) -> Inferred:
        for _ in range(len(self.points) + 1):
            cuts = self._propose()
            if cuts is None:
                return self._result(None, False, "no conjunction of linear conditions fits")
            condition = as_condition(cuts)
            verdict, point = self.under(condition, self.menus)
            if verdict == "refuted":
                if point in self.unsafe or self.is_safe(point) != "refuted":
                    return self._result(None, False, f"{_shown(point)} could not be settled")
                self.unsafe.append(point)
                self.rounds.append(Round(condition, "refuted", point))
            elif verdict != "proved":
                self.rounds.append(Round(condition, "unresolved", {}))
                return self._result(None, False, "the condition could not be proved")
            else:
                missed, open_points = self._shut_out(cuts)
                if missed is None:
                    self.rounds.append(Round(condition, "proved", {}))
                    why = f"{len(open_points)} points outside are unresolved" if open_points else ""
                    return self._result(condition, not open_points, why)
                self.safe.append(missed)
                self.rounds.append(Round(condition, "too strong", missed))
        return self._result(None, False, "the search did not end")

    def _propose(self) -> tuple[HalfSpace, ...] | None:
        rest = [p for p in self.points if p not in self.safe and p not in self.unsafe]
        return fit(self.names, self.safe, self.unsafe, rest)

    def _shut_out(self, cuts: tuple[HalfSpace, ...]) -> tuple[Point | None, list[Point]]:
        """A safe point outside, and the points outside that nothing settles."""
        undecided: list[Point] = []
        for point in self.points:
            if point in self.unsafe or all(c.holds(point) for c in cuts):
                continue
            match self.is_safe(point):
                case "proved":
                    return point, undecided
                case "refuted":
                    self.unsafe.append(point)
                case _:
                    undecided.append(point)
        return None, undecided

    def _result(self, condition: Expr | None, weakest: bool, reason: str) -> Inferred:
        inside = len(self.points) - len(self.unsafe) if weakest else len(self.safe)
        rounds, unsafe = tuple(self.rounds), len(self.unsafe)
        return Inferred(self.names, condition, weakest, inside, unsafe, rounds, reason=reason)


def _widened(
    found: Inferred, search: _Search, bounds: Callable[[Point], tuple[Bounded, ...]]
) -> Inferred:
    """Adds ``or iterations <= bound`` where a linear bound is proved for the points outside."""
    by_count: dict[Expr, list[Bounded]] = {}
    for point in search.unsafe:
        for bound in bounds(point):
            by_count.setdefault(bound.iterations, []).append(bound)
    for iterations, known in by_count.items():
        if len(known) < len(search.unsafe):
            continue
        limit = fit_bound(search.names, [(b.point, b.most) for b in known])
        if limit is None or found.condition is None:
            continue
        wider = Logic("or", found.condition, Compare("<=", iterations, limit))
        if search.under(wider, search.menus)[0] == "proved":
            exact = all(b.exact for b in known) and _equal(limit, known)
            return replace(found, wider=wider, wider_exact=exact)
    return found


def _equal(limit: Expr, known: Sequence[Bounded]) -> bool:
    return all(evaluate(limit, b.point) == b.most for b in known)


def _shown(point: Point) -> str:
    return ", ".join(f"{n} = {v}" for n, v in point.items())

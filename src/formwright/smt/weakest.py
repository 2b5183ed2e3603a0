"""The safe set of the schedule decisions: which of their values are right for every K."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import z3

from formwright.ir.expr import ZERO, Compare, Expr, MinMax, num
from formwright.ir.inline import inlined
from formwright.ir.program import For, If, Par, Stmt
from formwright.ir.rewrite import free_names
from formwright.ir.template import Template
from formwright.proof.verdict import Verdict
from formwright.smt.atoms import Atoms
from formwright.smt.cases import Status
from formwright.smt.clock import Clock
from formwright.smt.encode import UnderivableError, truth
from formwright.smt.encoding import Encoding
from formwright.smt.goals import Query
from formwright.smt.premises import Premises, premises, schedule_conditions
from formwright.smt.schedule import Schedule
from formwright.smt.sites import sites_of
from formwright.smt.solve import Solver
from formwright.smt.terms import Formula, polys

BOUND_LIMIT = 16
"""The most iterations that a bound on them is looked for with."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Every schedule is right while ``iterations <= most``; ``exact``: one more was refuted."""

    iterations: Expr
    most: int
    exact: bool


SCHEDULE = frozenset({"uniform", "single", "race", "readiness", "lifetime", "order"})


def safe_conditions(
    template: Template, values: Mapping[str, int], timeout_ms: int = 3000
) -> Verdict:
    """Whether every schedule is right with these decisions fixed and all else symbolic.

    Conditions of the template that speak of the fixed decisions alone are dropped: they are
    what is being judged. ``proved`` holds for all extents, agents and other decisions;
    ``refuted`` comes from a solution that was rechecked exactly (the caller may replay it).
    """
    try:
        return _family(inlined(template)).verdict(values, timeout_ms)
    except UnderivableError:
        return "unresolved"


def safe_bounds(
    template: Template, values: Mapping[str, int], timeout_ms: int = 3000
) -> tuple[Bound, ...]:
    """How many iterations are right, for decisions that are not right for all extents.

    For the number of iterations of each outermost loop of a team or agent, the largest bound
    (up to ``BOUND_LIMIT``) under which every schedule was proved right; the next larger one
    was not. Bounds that the scope does not allow to be reached are left out.
    """
    try:
        return _family(inlined(template)).bounds(values, timeout_ms)
    except UnderivableError:
        return ()


@dataclass(frozen=True, slots=True)
class Family:
    """Whether every point that meets a condition is safe; ``point`` is one that is not."""

    verdict: Verdict
    point: dict[str, int]


def safe_under(
    template: Template,
    condition: Expr,
    points: Mapping[str, tuple[int, ...]],
    timeout_ms: int = 3000,
) -> Family:
    """Whether every schedule is right for all values in ``points`` that meet ``condition``.

    One proof for all of them, with everything else symbolic; conditions of the template about
    those decisions alone are dropped, as in :func:`safe_conditions`.
    """
    try:
        return _family(inlined(template)).under(condition, points, timeout_ms)
    except UnderivableError:
        return Family("unresolved", {})


class _Family:
    """The schedule conditions of one template, derived once for all points."""

    def __init__(self, template: Template) -> None:
        self._template = template
        self._atoms = Atoms()
        inputs = frozenset(t.name for t in template.scope.workload.inputs)
        sites = sites_of(template.program, template.globals)
        if sites.counters:
            raise UnderivableError("weakest preconditions of counters are not derived yet")
        goals = [g for g in Schedule(sites, inputs, self._atoms).goals() if g.condition in SCHEDULE]
        self._queries = [q for g in goals for q in g.build()]
        self._linear = Encoding(self._atoms, exact=False)
        self._settled: dict[tuple[int, frozenset[tuple[str, int]]], Verdict] = {}

    def verdict(self, values: Mapping[str, int], timeout_ms: int) -> Verdict:
        """The worst verdict of the conditions; a query that reads no value is settled once."""
        worst: Verdict = "proved"
        for found, _ in self._verdicts(values, Clock(timeout_ms)):
            if found == "refuted":
                return "refuted"
            worst = "unresolved" if found == "unresolved" else worst
        return worst

    def _verdicts(self, values: Mapping[str, int], clock: Clock) -> Iterator[tuple[Verdict, Query]]:
        rules = self._premises(values)
        solver = Solver(self._atoms, rules, clock, self._linear)
        for number, query in enumerate(self._queries):
            names = self._names([*query.facts, query.goal, *rules.conditions])
            key = (number, frozenset(i for i in values.items() if i[0] in names))
            found = self._settled.get(key)
            if found is None:
                found = _VERDICTS[_status(solver, query, clock)]
                self._settled[key] = found
            yield found, query

    def bounds(self, values: Mapping[str, int], timeout_ms: int) -> tuple[Bound, ...]:
        """What is proved stays so under more premises: only the rest is asked again."""
        clock = Clock(timeout_ms)
        left = [query for found, query in self._verdicts(values, clock) if found != "proved"]
        found = (self._bound(e, values, left, clock) for e in _iterations(self._template))
        return tuple(bound for bound in found if bound is not None)

    def under(
        self, condition: Expr, points: Mapping[str, tuple[int, ...]], timeout_ms: int
    ) -> Family:
        clock, menus = Clock(timeout_ms), dict(points)
        kept = [c for c in schedule_conditions(self._template) if not free_names(c) <= set(menus)]
        rules = premises(self._template, [*kept, condition], self._atoms, menus)
        solver, worst = Solver(self._atoms, rules, clock, self._linear), "proved"
        for query in self._queries:
            clock.start()
            try:
                answer = solver.answer(query)
            except (UnderivableError, ArithmeticError, z3.Z3Exception):
                worst = "unresolved"
                continue
            if answer.status == "sat" and all(n in answer.values for n in menus):
                return Family("refuted", {n: int(answer.values[n]) for n in menus})
            if answer.status != "unsat":
                worst = "unresolved"
        return Family(_WORST[worst], {})

    def _bound(
        self, iterations: Expr, values: Mapping[str, int], left: Sequence[Query], clock: Clock
    ) -> Bound | None:
        most, status = 0, "unsat"
        for bound in range(1, BOUND_LIMIT + 1):
            within = Compare("<=", iterations, num(bound))
            solver = Solver(self._atoms, self._premises(values, within), clock, self._linear)
            asked = (_status(solver, query, clock) for query in left)
            status = next((s for s in asked if s != "unsat"), "unsat")
            if status != "unsat":
                break
            reached = truth(Compare("=", iterations, num(bound)), {}, self._atoms)
            clock.start()
            most = bound if solver.consistent([reached]).status == "sat" else most
        return Bound(iterations, most, status == "sat") if most else None

    def _premises(self, values: Mapping[str, int], *more: Expr) -> Premises:
        kept = [c for c in schedule_conditions(self._template) if not free_names(c) <= set(values)]
        fixed: dict[str, tuple[int, ...]] = {n: (v,) for n, v in values.items()}
        return premises(self._template, [*kept, *more], self._atoms, fixed)

    def _names(self, formulas: Sequence[Formula]) -> frozenset[str]:
        direct = {n for f in formulas for p in polys(f) for n in p.symbols()}
        return frozenset(self._atoms.closure(direct))


_WORST: dict[str, Verdict] = {"proved": "proved", "unresolved": "unresolved"}
_VERDICTS: dict[Status, Verdict] = {"unsat": "proved", "sat": "refuted", "unknown": "unresolved"}


def _status(solver: Solver, query: Query, clock: Clock) -> Status:
    clock.start()
    try:
        return solver.answer(query, small=False).status
    except (UnderivableError, ArithmeticError, z3.Z3Exception):
        return "unknown"


def _iterations(template: Template) -> list[Expr]:
    """Iterations of the outermost loops of agents that the extents decide, from 0 on."""
    scope = template.scope
    decisions = {d.name for d in template.decisions}
    extents = {p.name for p in scope.extents}
    found: dict[Expr, None] = {}

    def walk(block: Sequence[Stmt], inside: bool) -> None:
        for stmt in block:
            match stmt:
                case For(_, lo, hi) if inside:
                    names = free_names(hi)
                    if lo == ZERO and names & extents and names <= extents | decisions:
                        found[hi] = None
                case For(_, _, _, body) | If(_, body):
                    walk(body, inside)
                case Par(_, _, _, body):
                    walk(body, True)
                case _:
                    pass

    walk(template.program, False)
    return [e for e in found if not any(_within(other, e) for other in found if other != e)]


def _within(part: Expr, whole: Expr) -> bool:
    """Whether ``part`` is an argument of ``whole``: of ``min(P, KT)`` and ``KT`` one is told."""
    match whole:
        case MinMax(_, args):
            return any(part == arg or _within(part, arg) for arg in args)
        case _:
            return False


@lru_cache(maxsize=8)
def _family(template: Template) -> _Family:
    return _Family(template)

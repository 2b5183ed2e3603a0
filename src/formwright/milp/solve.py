"""The best design of a template, exactly where that is possible, and what is known of it."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite
from typing import Literal

from formwright.ir.expr import Scalar
from formwright.ir.template import Constraint, Template
from formwright.milp.check import check, objective_of
from formwright.milp.conflict import smallest_conflict
from formwright.milp.declared import Used
from formwright.milp.defined import require_values
from formwright.milp.enumerate import first_feasible
from formwright.milp.exact import LARGEST, Designs, best_designs, search_of
from formwright.milp.model import EncodingError
from formwright.milp.problem import Problem, build
from formwright.milp.program import Outcome, solve_program

Method = Literal["auto", "enumerate", "milp"]
BoundKind = Literal["exact", "solver bound"]
Assignment = dict[str, int]

_TOLERANCE = 1e-9
"""Relative; a gap below what HiGHS can tell apart is given as 0."""

_COUNTED = 1 << 22
"""Menus up to this size are enumerated as well where HiGHS finds the answer."""


@dataclass(frozen=True, slots=True)
class Solution:
    """An answer, rechecked exactly before it was made.

    ``bound``: no feasible design costs less; ``exact`` if every design was compared, a
    ``solver bound`` if it is HiGHS's floating-point claim. ``gap`` is relative to the
    objective. ``ties`` lists the designs that share the optimum, in the order of the
    tie-break rule; ``best`` the ``limit`` best ones. ``conflict`` names a smallest set of
    constraints without a common design. Times are wall seconds; costs have the template's unit.
    ``evaluations``: designs whose cost was computed, where designs were enumerated; ``parts``:
    values of ranks, bounds, measures and parts of the cost that were computed besides.
    ``structures``: what became of each that the template declares.
    """

    status: Literal["optimal", "infeasible", "unresolved"]
    assignment: Assignment
    objective: Fraction | None
    bound: float | None
    bound_kind: BoundKind
    gap: float | None
    feasible: int | None
    variables: int
    constraints: int
    solver: str
    seconds: float
    ties: tuple[Assignment, ...] = ()
    best: tuple[tuple[Assignment, Fraction], ...] = ()
    conflict: tuple[str, ...] = ()
    note: str = ""
    evaluations: int | None = None
    parts: int | None = None
    structures: tuple[Used, ...] = ()

    @property
    def reopened(self) -> tuple[Used, ...]:
        """Structures whose condition was not shown: what they would leave out was searched."""
        return tuple(u for u in self.structures if u.verdict == "reopened")


def solve(
    template: Template,
    parameters: Mapping[str, Scalar],
    method: Method = "auto",
    time_limit: float = 60.0,
    ties: bool = False,
    coefficients: Mapping[str, Fraction] | None = None,
    limit: int = 1,
    extra_constraints: tuple[Constraint, ...] = (),
    without: frozenset[str] = frozenset(),
    structures: bool = True,
) -> Solution:
    """The least cost over the menus, under the constraints.

    ``parameters`` are extents and ``chip.x`` in SI units. ``extra_constraints`` are added and
    constraints named in ``without`` left out. Ties go to the least ``prefer`` expression,
    then the next, then the least decisions in order. A MILP that is not done after
    ``time_limit`` seconds is ``unresolved``, with what it had found. Without ``structures``
    nothing that the template declares is left out; the answer is the same.

    Raises :class:`InputError` for values that are missing, unknown or outside the scope,
    and for a constraint, cost or tie-break that has no value at a point of the menus where it
    is looked at (:mod:`formwright.milp.defined`).
    """
    start = time.perf_counter()
    problem = build(template, parameters, coefficients, extra_constraints, without)
    problem = problem if structures else replace(problem, structures=())
    if problem.points > 0:
        require_values(problem)
    solution = _solved(problem, method, time_limit, ties, limit)
    if solution.assignment:
        _recheck(template, parameters, coefficients, problem, solution, without)
    return replace(solution, seconds=time.perf_counter() - start)


def _solved(
    problem: Problem, method: Method, time_limit: float, ties: bool, limit: int
) -> Solution:
    if problem.points == 0:
        return _infeasible(problem, "exact", "menus", _oracle(problem, time_limit))
    designs = None if method == "milp" else best_designs(problem, limit, ties)
    if designs is not None:
        return _from_designs(problem, designs, limit, ties, time_limit)
    if method == "enumerate":
        return _unresolved(
            "enumeration", f"more than {LARGEST:.0e} points are left after elimination"
        )
    return _by_milp(problem, time_limit, ties, limit)


def _from_designs(
    problem: Problem, designs: Designs, limit: int, ties: bool, time_limit: float
) -> Solution:
    if not designs.best:
        return _infeasible(problem, "exact", "enumeration", _oracle(problem, time_limit))
    assignment, value = designs.best[0]
    objective = None if problem.objective is None else value
    tied = tuple(a for a, v in designs.best if v == value) if ties else ()
    return Solution(
        status="optimal",
        assignment=assignment,
        objective=objective,
        bound=None if objective is None else float(objective),
        bound_kind="exact",
        gap=None if objective is None else 0.0,
        feasible=designs.feasible,
        variables=len(problem.names),
        constraints=len(problem.constraints),
        solver="enumeration",
        seconds=0.0,
        ties=tied,
        best=designs.best[:limit],
        note=_counted(problem, designs),
        evaluations=designs.costed,
        parts=designs.parts,
        structures=designs.used,
    )


def _counted(problem: Problem, designs: Designs) -> str:
    text = f"{designs.enumerated} of {problem.points} points were enumerated"
    if designs.complete:
        return text
    return f"{text}; more designs tie than were compared for the tie-break"


def _by_milp(problem: Problem, time_limit: float, ties: bool, limit: int) -> Solution:
    try:
        # Where the designs are compared as well, that tells those that tie.
        few = problem.points <= _COUNTED
        outcome = solve_program(problem, time_limit, ordered=not few)
    except EncodingError as error:
        return _unresolved("HiGHS", str(error))
    if outcome.status in ("optimal", "infeasible") and few:
        return _confirmed(problem, outcome, time_limit, ties, limit)
    if outcome.status == "infeasible":
        return _infeasible(problem, "solver bound", "HiGHS", _oracle(problem, time_limit))
    solution = _from_outcome(problem, outcome)
    if solution.status == "optimal" and (ties or limit > 1):
        return _with_list(problem, solution, ties, limit)
    return solution


def _confirmed(
    problem: Problem, outcome: Outcome, time_limit: float, ties: bool, limit: int
) -> Solution:
    """Where the designs are few, all of them are compared: floats have not the last word."""
    designs = best_designs(problem, limit, ties)
    if designs is None:
        raise AssertionError(f"{problem.points} points are few enough to enumerate")
    exact = _from_designs(problem, designs, limit, ties, time_limit)
    own = _from_outcome(problem, outcome) if outcome.status == "optimal" else exact
    if (outcome.status == "infeasible") != (exact.status == "infeasible") or (
        exact.objective != own.objective
    ):
        note = "HiGHS's answer was wrong: this one is enumeration's"
        return replace(exact, note=note)
    if outcome.status == "infeasible":
        return replace(exact, bound_kind="solver bound", solver="HiGHS")
    own = replace(
        own,
        assignment=exact.assignment,
        feasible=exact.feasible,
        ties=exact.ties,
        best=exact.best or own.best,
        evaluations=exact.evaluations,
        parts=exact.parts,
        structures=exact.structures,
    )
    if own.status == "optimal":
        return replace(own, note="")
    return replace(
        own,
        status="optimal",
        bound=exact.bound,
        bound_kind="exact",
        gap=exact.gap,
        note="HiGHS could not tell the best costs apart; enumeration compared them all",
    )


def _from_outcome(problem: Problem, outcome: Outcome) -> Solution:
    value = outcome.objective
    bound = outcome.bound if isfinite(outcome.bound) else None
    near = outcome.resolution if outcome.separated else 0.0
    gap = None if value is None or bound is None else _gap(value, bound, near)
    done = outcome.status == "optimal" and (problem.objective is None or gap == 0.0)
    reason = outcome.reason
    if done and not outcome.ordered:
        reason = f"the tie-break is not settled: {reason}"
    elif outcome.status == "optimal" and not outcome.separated:
        done, size = False, outcome.resolution
        reason = f"a design that costs up to {size:.3g} less would not have been told apart"
    elif outcome.status == "optimal" and not done:
        reason = "the exact cost and the solver's bound disagree"
    return Solution(
        status="optimal" if done else "unresolved",
        assignment=outcome.assignment or {},
        objective=value,
        bound=bound,
        bound_kind="solver bound",
        gap=gap,
        feasible=None,
        variables=outcome.variables,
        constraints=outcome.constraints,
        solver="HiGHS",
        seconds=0.0,
        best=() if not outcome.assignment or value is None else ((outcome.assignment, value),),
        note=reason,
    )


def _gap(value: Fraction, bound: float, near: float) -> float:
    """Relative; 0 for a distance that floats do not tell from none."""
    distance = float(value) - bound
    size = max(abs(float(value)), abs(bound))
    return 0.0 if abs(distance) <= max(_TOLERANCE * size, near) else distance / size


def _with_list(problem: Problem, solution: Solution, ties: bool, limit: int) -> Solution:
    """The ties and the next best designs, which only enumeration lists."""
    designs = best_designs(problem, limit, ties)
    if designs is None:
        return replace(solution, note="too many points to list ties or further designs")
    tied = tuple(a for a, v in designs.best if v == solution.objective) if ties else ()
    return replace(solution, ties=tied, best=designs.best[:limit], feasible=designs.feasible)


def _infeasible(problem: Problem, kind: BoundKind, solver: str, oracle: "_Oracle") -> Solution:
    try:
        conflict, note = smallest_conflict(problem, oracle.some_design), ""
    except _NoAnswerError as error:
        conflict, note = (), f"no smallest conflict: {error}"
    return Solution(
        status="infeasible",
        assignment={},
        objective=None,
        bound=None,
        bound_kind=kind,
        gap=None,
        feasible=0,
        variables=len(problem.names),
        constraints=len(problem.constraints),
        solver=solver,
        seconds=0.0,
        conflict=conflict,
        note=note,
    )


def _unresolved(solver: str, note: str) -> Solution:
    return Solution(
        "unresolved", {}, None, None, "solver bound", None, None, 0, 0, solver, 0.0, note=note
    )


class _NoAnswerError(Exception):
    """Feasibility of some constraints is not known."""


@dataclass(slots=True)
class _Oracle:
    problem: Problem
    deadline: float

    def some_design(self, constraints: tuple[Constraint, ...]) -> Assignment | None:
        """A design that satisfies ``constraints``, or ``None`` if there is none."""
        smaller = replace(self.problem, constraints=constraints, objective=None, bounds=())
        if smaller.points <= LARGEST:
            return first_feasible(search_of(smaller))
        try:
            outcome = solve_program(smaller, self.deadline - time.monotonic())
        except EncodingError as error:
            raise _NoAnswerError(str(error)) from None
        if outcome.assignment is None and outcome.status != "infeasible":
            raise _NoAnswerError(outcome.reason)
        return outcome.assignment


def _oracle(problem: Problem, time_limit: float) -> _Oracle:
    return _Oracle(problem, time.monotonic() + time_limit)


def _recheck(
    template: Template,
    parameters: Mapping[str, Scalar],
    coefficients: Mapping[str, Fraction] | None,
    problem: Problem,
    solution: Solution,
    without: frozenset[str],
) -> None:
    """The answer against ``evaluate``; a difference is a fault of the solver, not of the user."""
    result = check(template, parameters, solution.assignment)
    wanted = {c.name for c in problem.constraints} | {f"menu {n}" for n in problem.names}
    broken = [name for name in result.failed if name in wanted - without]
    if broken:
        raise AssertionError(f"the solver's design breaks {', '.join(broken)}")
    if solution.objective is not None:
        exact = objective_of(template, parameters, solution.assignment, coefficients)
        if exact != solution.objective:
            raise AssertionError(f"the solver's cost {solution.objective} is not {exact}")

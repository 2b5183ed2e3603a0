"""Scenario decomposition: several workloads on one chip, each with a design of its own.

``scenarios M share x`` claims that workloads which differ in ``M`` have only the value of ``x`` in
common. Their joint cost, the sum or the largest, rises with each of them, so for each value of
``x`` every workload is solved by itself. Without the claim all their decisions are one search.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Literal

from formwright.base.diagnostics import fail
from formwright.ir.expr import Arith, Expr, MinMax, Scalar, Var
from formwright.ir.fold import folded
from formwright.ir.rewrite import substitute
from formwright.ir.structures import Scenarios
from formwright.ir.template import Constraint, Template
from formwright.milp.declared import Declared, Used, claimed, held, reopened
from formwright.milp.defined import require_values
from formwright.milp.exact import LARGEST, best_designs
from formwright.milp.problem import Problem, build
from formwright.milp.solve import Assignment

Join = Literal["sum", "worst"]


@dataclass(frozen=True, slots=True)
class ScenarioSolution:
    """A design for each workload; ``objective`` joins their costs, in the template's unit.

    ``shared``: values that all of them have. ``evaluations`` counts the designs that were costed;
    of a joint search these are combinations of a design for each workload. ``bound_kind`` is
    always ``exact``. ``seconds`` is wall time.
    """

    status: Literal["optimal", "infeasible", "unresolved"]
    objective: Fraction | None
    shared: Assignment
    assignments: Mapping[str, Assignment]
    costs: Mapping[str, Fraction]
    evaluations: int
    structures: tuple[Used, ...]
    seconds: float
    note: str = ""


def solve_scenarios(
    template: Template,
    scenarios: Mapping[str, Mapping[str, Scalar]],
    join: Join = "sum",
    share: tuple[str, ...] | None = None,
    structures: bool = True,
) -> ScenarioSolution:
    """The designs of all ``scenarios`` (parameters by name) of least joint cost.

    ``share``: decisions of which all have one value; by default those that the template declares,
    or all of its decisions where it declares none. Without ``structures``, or where the claim
    does not cover the scenarios, all decisions are searched at once: what is left of that after
    elimination must be no more than 10^8 points, else the answer is ``unresolved``.

    Raises :class:`InputError` as :func:`formwright.milp.solve.solve` does, and where the template
    has no cost or ``share`` names no decision of it.
    """
    start = time.perf_counter()
    if template.cost is None:
        raise fail(f"{template.name} has no cost", template.span)
    problems = {n: build(template, p) for n, p in scenarios.items()}
    for problem in problems.values():
        if problem.points > 0:
            require_values(problem)
    claim, used = _claim(problems) if structures else (None, [])
    names = tuple(d.name for d in template.decisions)
    common = share if share is not None else _declared_share(template, names)
    unknown = [n for n in common if n not in names]
    if unknown:
        raise fail(f"{template.name} has no decision {', '.join(unknown)}", template.span)
    if claim is None:
        found = _jointly(problems, join, common)
    else:
        found, why = _Apart(problems, join, common).solved()
        used.append(held(claim, why))
    return replace(found, structures=tuple(used), seconds=time.perf_counter() - start)


def _declared_share(template: Template, names: tuple[str, ...]) -> tuple[str, ...]:
    for structure in template.structures:
        if isinstance(structure, Scenarios):
            return structure.shared
    return names


def _claim(problems: Mapping[str, Problem]) -> tuple[Declared | None, list[Used]]:
    """The first claim that covers the scenarios, and why others do not."""
    first = next(iter(problems.values()))
    declared = tuple(d for d in first.structures if isinstance(d.structure, Scenarios))
    open_, used = claimed(declared, first.constants, frozenset(first.names))
    for each in open_:
        structure = each.structure
        assert isinstance(structure, Scenarios)
        others = {
            name
            for problem in problems.values()
            for name, value in problem.constants.items()
            if value != first.constants.get(name) and name not in structure.extents
        }
        if not others:
            return each, used
        used.append(reopened(each, f"they differ in {', '.join(sorted(others))} too"))
    return None, used


@dataclass(slots=True)
class _Apart:
    """Each scenario by itself; ``costed`` counts designs."""

    problems: Mapping[str, Problem]
    join: Join
    common: tuple[str, ...]
    costed: int = 0

    def solved(self) -> tuple[ScenarioSolution, str]:
        free: dict[str, _Best] = {}
        for name, problem in self.problems.items():
            designs = best_designs(problem)
            if designs is None:
                told = f"scenario {name}: more than {LARGEST:.0e} points are left"
                return _none("unresolved", self.costed, told), "one of them is too large"
            self.costed += designs.costed
            if not designs.best:
                told = f"scenario {name} has no design"
                return _none("infeasible", self.costed, told), "one of them has no design"
            free[name] = designs.best[0]
        met = [{n: a[n] for n in self.common} for a, _ in free.values()]
        if all(m == met[0] for m in met):
            return self._joined(free), f"{len(free)} solved apart"
        return self._for_each(free, met)

    def _for_each(
        self, free: Mapping[str, "_Best"], met: list[Assignment]
    ) -> tuple[ScenarioSolution, str]:
        """For each value of what they share, those that suit one of them best first."""
        first = next(iter(self.problems.values()))
        menus = dict(zip(first.names, first.menus, strict=True))
        points = product(*(menus[n] for n in self.common))
        values = [*met, *(dict(zip(self.common, p, strict=True)) for p in points)]
        seen: list[Assignment] = []
        best: dict[str, _Best] | None = None
        for value in values:
            if value not in seen:
                seen.append(value)
                best = self._at(value, free, best) or best
        told = f"{len(free)} solved apart for {len(seen)} values of {', '.join(self.common)}"
        if best is None:
            return _none("infeasible", self.costed, "no value that they share suits all"), told
        return self._joined(best), told

    def _at(
        self, fixed: Assignment, free: Mapping[str, "_Best"], best: "dict[str, _Best] | None"
    ) -> "dict[str, _Best] | None":
        """The designs with some decisions fixed, if they cost less than ``best`` together.

        A scenario costs no less with decisions fixed than without: the costliest goes first.
        """
        found: dict[str, _Best] = {}
        costs = {n: cost for n, (_, cost) in free.items()}
        for name in sorted(costs, key=lambda n: -free[n][1]):
            problem = self.problems[name]
            menus = zip(problem.names, problem.menus, strict=True)
            narrow = tuple((fixed[n],) if n in fixed else m for n, m in menus)
            designs = best_designs(replace(problem, menus=narrow))
            assert designs is not None
            self.costed += designs.costed
            if not designs.best:
                return None
            found[name] = designs.best[0]
            costs[name] = designs.best[0][1]
            if best is not None and self._together(costs) >= self._whole(best):
                return None
        return found

    def _together(self, costs: Mapping[str, Fraction]) -> Fraction:
        every = list(costs.values())
        return max(every) if self.join == "worst" else sum(every, Fraction(0))

    def _whole(self, found: Mapping[str, "_Best"]) -> Fraction:
        return self._together({n: cost for n, (_, cost) in found.items()})

    def _joined(self, found: Mapping[str, "_Best"]) -> ScenarioSolution:
        ordered = {n: found[n] for n in self.problems}
        first = next(iter(ordered.values()))[0]
        return ScenarioSolution(
            status="optimal",
            objective=self._whole(found),
            shared={n: first[n] for n in self.common},
            assignments={n: a for n, (a, _) in ordered.items()},
            costs={n: cost for n, (_, cost) in ordered.items()},
            evaluations=self.costed,
            structures=(),
            seconds=0.0,
        )


_Best = tuple[Assignment, Fraction]
"""A design and its cost."""


def _jointly(
    problems: Mapping[str, Problem], join: Join, common: tuple[str, ...]
) -> ScenarioSolution:
    """All decisions at once, those in ``common`` once."""
    whole = _joint_problem(problems, join, common)
    designs = best_designs(whole)
    if designs is None:
        return _none("unresolved", 0, f"more than {LARGEST:.0e} combinations are left")
    if not designs.best:
        return _none("infeasible", designs.costed, "")
    point, value = designs.best[0]
    names = next(iter(problems.values())).names
    assignments = {
        s: {n: point[n if n in common else _own(s, n, problems)] for n in names} for s in problems
    }
    return ScenarioSolution(
        status="optimal",
        objective=value,
        shared={n: point[n] for n in common},
        assignments=assignments,
        costs={s: _value(problems[s], a) for s, a in assignments.items()},
        evaluations=designs.costed,
        structures=(),
        seconds=0.0,
    )


def _own(scenario: str, name: str, problems: Mapping[str, Problem]) -> str:
    return f"${list(problems).index(scenario)}.{name}"


def _joint_problem(problems: Mapping[str, Problem], join: Join, common: tuple[str, ...]) -> Problem:
    first = next(iter(problems.values()))
    shared = [n for n in first.names if n in common]
    menus = dict(zip(first.names, first.menus, strict=True))
    own = [n for n in first.names if n not in common]
    costs: list[Expr] = []
    constraints: list[Constraint] = []
    for scenario, problem in problems.items():
        renamed: dict[str, Expr] = {n: Var(_own(scenario, n, problems)) for n in own}
        assert problem.objective is not None
        costs.append(substitute(folded(problem.objective, problem.constants), renamed))
        constraints += [
            replace(
                c,
                name=f"{c.name} of {scenario}",
                condition=substitute(folded(c.condition, problem.constants), renamed),
            )
            for c in problem.constraints
        ]
    names = [(n, menus[n]) for n in shared]
    names += [(_own(s, n, problems), menus[n]) for s in problems for n in own]
    joined = MinMax("max", tuple(costs)) if join == "worst" else _sum(costs)
    return Problem(
        names=tuple(n for n, _ in names),
        menus=tuple(m for _, m in names),
        constants={},
        constraints=tuple(constraints),
        bounds=(),
        objective=joined,
        prefer=(),
    )


def _sum(costs: list[Expr]) -> Expr:
    total = costs[0]
    for cost in costs[1:]:
        total = Arith("+", total, cost)
    return total


def _value(problem: Problem, assignment: Assignment) -> Fraction:
    one = replace(problem, menus=tuple((assignment[n],) for n in problem.names), structures=())
    designs = best_designs(one)
    assert designs is not None
    return designs.best[0][1]


def _none(
    status: Literal["optimal", "infeasible", "unresolved"], costed: int, note: str
) -> ScenarioSolution:
    return ScenarioSolution(status, None, {}, {}, {}, costed, (), 0.0, note)

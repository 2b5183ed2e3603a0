"""Solving a chain step by step: what is fixed, carried and reopened, and that nothing is lost.

At each step the new decisions are open, and so are the earlier ones that the step mentions;
the others stay as they are. Two solves say what that costs: one with the fixed decisions in
place, and one without the constraints on them, which bounds the best design there is. Where
the two differ, the fixed decisions that stand in the way are opened, together with those
that they are tied to, until the two agree: then the design is as good as if all had been open.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from formwright.ir.evaluate import EvaluationError, number, truth
from formwright.ir.expr import Scalar
from formwright.ir.inline import inlined
from formwright.ir.rewrite import free_names
from formwright.ir.stacked import given_conditions, stacked
from formwright.ir.template import Constraint, Decision, Template
from formwright.milp.problem import plain
from formwright.milp.solve import Method, Solution, solve

Names = frozenset[str]
Assignment = dict[str, int]


@dataclass(frozen=True, slots=True)
class Reopened:
    """A group of decisions that were fixed and are open again, and why."""

    group: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class StepSolution:
    """One formulation. ``carried`` says what mentions each decision that stays open; ``fixed``
    has the values of the others; ``bound`` is the least cost with those left out of account.

    ``solution`` has a value for every decision of this step and those above. ``solves`` counts
    the formulations that were solved.
    """

    name: str
    added: tuple[str, ...]
    fixed: Assignment
    carried: dict[str, tuple[str, ...]]
    reopened: tuple[Reopened, ...]
    solution: Solution
    solves: int
    seconds: float

    def why_fixed(self, name: str) -> str:
        """Why ``name`` keeps its value at this step."""
        return f"{self.name} mentions {name} nowhere, and opening it would gain nothing"


@dataclass(frozen=True, slots=True)
class ChainSolution:
    """``steps`` up to the last one that has an answer; ``whole`` if that is all of them."""

    steps: tuple[StepSolution, ...]
    whole: bool
    seconds: float

    @property
    def last(self) -> Solution:
        return self.steps[-1].solution


def solve_progressively(
    steps: Sequence[Template],
    parameters: Mapping[str, Scalar],
    method: Method = "auto",
    time_limit: float = 60.0,
) -> ChainSolution:
    """The best design of the whole chain, found step by step.

    Its cost is the least over all decisions at once, under the constraints of all steps (the
    cost is that of the last step): each step ends only when leaving out what is fixed would not
    make a better design possible. A step without an answer is the last one. A design that breaks
    what the constraints should imply (the chain is not proved) is ``unresolved``.
    """
    start = time.perf_counter()
    found: list[StepSolution] = []
    incumbent: Assignment = {}
    fixed: Names = frozenset()
    for depth in range(1, len(steps) + 1):
        step = _Step(steps[:depth], parameters, method, time_limit, incumbent, fixed)
        found.append(step.solved())
        if found[-1].solution.status != "optimal":
            break
        incumbent, fixed = found[-1].solution.assignment, frozenset(found[-1].fixed)
    whole = len(found) == len(steps)
    if whole and found[-1].solution.status == "optimal":
        fault = _unmet(steps, parameters, found[-1].solution.assignment)
        if fault:
            open_ = replace(found[-1].solution, status="unresolved", note=fault)
            found[-1] = replace(found[-1], solution=open_)
    return ChainSolution(tuple(found), whole, time.perf_counter() - start)


def _unmet(
    steps: Sequence[Template], parameters: Mapping[str, Scalar], assignment: Assignment
) -> str:
    """What a design breaks of what the constraints are proved to imply; empty if nothing."""
    values = plain({**parameters, **assignment})
    for step in steps:
        conditions = [(f"{n} given", c) for n, c in given_conditions(step)]
        conditions += [(r.name, r.condition) for r in inlined(step).requires]
        for name, condition in conditions:
            try:
                met = truth(condition, values)
            except EvaluationError as error:
                return f"{step.name}: {name}: {error.message}"
            if not met:
                return f"the design breaks {name} of {step.name}: the chain is not proved"
    return ""


def solve_at_once(
    steps: Sequence[Template],
    parameters: Mapping[str, Scalar],
    method: Method = "auto",
    time_limit: float = 60.0,
) -> Solution:
    """All decisions, all constraints, the cost of the last step."""
    whole = stacked(steps)
    return solve(whole, _known(whole, parameters), method=method, time_limit=time_limit)


def _known(template: Template, parameters: Mapping[str, Scalar]) -> dict[str, Scalar]:
    scope = template.scope
    names = {p.name for p in (*scope.extents, *scope.agents, *scope.chip)}
    return {n: v for n, v in parameters.items() if n in names}


class _Step:
    """One formulation: the steps so far, the last of them new."""

    def __init__(
        self,
        steps: Sequence[Template],
        parameters: Mapping[str, Scalar],
        method: Method,
        time_limit: float,
        incumbent: Assignment,
        fixed_before: Names,
    ) -> None:
        self._step = inlined(steps[-1])
        self._whole = stacked(steps)
        self._parameters = _known(self._whole, parameters)
        self._method: Method = method
        self._time_limit = time_limit
        self._incumbent = incumbent
        self._fixed_before = fixed_before
        self._solves = 0

    def solved(self) -> StepSolution:
        start = time.perf_counter()
        added = tuple(d.name for d in self._step.decisions)
        mentions = self._mentions()
        opened: Names = frozenset((*added, *mentions))
        reopened = self._asked_for(mentions)
        opened |= {n for r in reopened for n in r.group}
        while True:
            relaxed = self._solve(opened, restricted=False)
            if relaxed.status != "optimal":
                solution = relaxed
                break
            if not self._dropped(opened):
                solution = self._with_fixed(relaxed)
                break
            solution = self._solve(opened, restricted=True)
            if solution.status == "unresolved" or self._as_good(solution, relaxed):
                break
            more = self._in_the_way(opened, relaxed)
            if more is None:
                # Ties beyond number hid it: what leaves nothing broken is a design.
                solution = self._with_fixed(relaxed)
                break
            reopened.append(more)
            opened |= frozenset(more.group)
        return StepSolution(
            self._step.name,
            added,
            {n: self._incumbent[n] for n in self._all if n not in opened},
            {n: mentions.get(n, ()) for n in self._all if self._is_carried(n, opened, reopened)},
            tuple(reopened),
            solution,
            self._solves,
            time.perf_counter() - start,
        )

    @property
    def _all(self) -> tuple[str, ...]:
        return tuple(d.name for d in self._whole.decisions)

    def _is_carried(self, name: str, opened: Names, reopened: list[Reopened]) -> bool:
        again = {n for r in reopened for n in r.group}
        return name in opened and name in self._incumbent and name not in again

    def _mentions(self) -> dict[str, tuple[str, ...]]:
        """The earlier decisions that the new step reads, with what reads them."""
        step, found = self._step, dict[str, list[str]]()
        conditions = [(c.name, c.condition) for c in step.constraints]
        conditions += [(r.name, r.condition) for r in step.requires]
        if step.cost is not None:
            for bound in step.cost.bounds:
                parts = [bound.value, *([] if bound.guard is None else [bound.guard])]
                conditions += [(f"cost {step.cost.name}", e) for e in parts]
            conditions += [(f"cost {step.cost.name}", e) for e in step.cost.prefer]
        for what, expr in conditions:
            for name in sorted(free_names(expr) & frozenset(self._incumbent)):
                found.setdefault(name, []).append(what)
        return {n: tuple(dict.fromkeys(whats)) for n, whats in found.items()}

    def _asked_for(self, mentions: Mapping[str, tuple[str, ...]]) -> list[Reopened]:
        """Decisions that were fixed and are mentioned again, each with its group."""
        groups: list[Reopened] = []
        for name, whats in mentions.items():
            if name in self._fixed_before and all(name not in r.group for r in groups):
                why = f"{self._step.name} mentions {name} in {', '.join(whats)}"
                groups.append(Reopened(self._group({name}, self._fixed_before), why))
        return groups

    def _group(self, start: set[str], among: Names) -> tuple[str, ...]:
        """``start`` and what of ``among`` is tied to it by constraints of any step so far."""
        group = set(start)
        ties = [free_names(c.condition) & among for c in self._whole.constraints]
        while more := {n for tie in ties if tie & group for n in tie} - group:
            group |= more
        return tuple(n for n in self._all if n in group)

    def _solve(self, opened: Names, restricted: bool) -> Solution:
        """With the fixed decisions in place, or without them and every constraint on them."""
        fixed = frozenset(self._all) - opened
        decisions: list[Decision] = []
        for decision in self._whole.decisions:
            if decision.name in opened:
                decisions.append(decision)
            elif restricted:
                menu = (self._incumbent[decision.name],)
                decisions.append(replace(decision, menu=menu, extra=()))
        kept = [
            c for c in self._whole.constraints if restricted or not free_names(c.condition) & fixed
        ]
        template = replace(self._whole, decisions=tuple(decisions), constraints=tuple(kept))
        self._solves += 1
        return solve(template, self._parameters, method=self._method, time_limit=self._time_limit)

    def _dropped(self, opened: Names) -> bool:
        """Whether a constraint ties open decisions to fixed ones."""
        names = [free_names(c.condition) for c in self._whole.constraints]
        return any(n & opened and n & frozenset(self._incumbent) - opened for n in names)

    def _with_fixed(self, solution: Solution) -> Solution:
        """What holds of the fixed decisions alone holds of their values."""
        values = {**self._incumbent, **solution.assignment}
        return replace(solution, assignment={n: values[n] for n in self._all})

    def _as_good(self, solution: Solution, relaxed: Solution) -> bool:
        if solution.status != "optimal" or solution.objective != relaxed.objective:
            return False
        return self._preferences(solution) <= self._preferences(relaxed)

    def _preferences(self, solution: Solution) -> list[Fraction]:
        prefer = () if self._whole.cost is None else self._whole.cost.prefer
        values = plain({**self._parameters, **solution.assignment})
        return [Fraction(number(e, values)) for e in prefer]

    def _in_the_way(self, opened: Names, relaxed: Solution) -> Reopened | None:
        """The fixed decisions of the constraints that a better design would break, if any."""
        fixed = frozenset(self._all) - opened
        better = {**self._incumbent, **relaxed.assignment}
        broken = [c for c in self._whole.constraints if not self._holds(c, better)]
        start = {n for c in broken for n in free_names(c.condition) & fixed}
        if not start:
            return None
        names = ", ".join(c.name for c in broken)
        changed = ", ".join(
            f"{n} = {v}"
            for n, v in relaxed.assignment.items()
            if n in self._incumbent and any(n in free_names(c.condition) for c in broken)
        )
        why = f"{names} would keep out a better design"
        why += f" with {changed}" if changed else ""
        return Reopened(self._group(start, fixed), why)

    def _holds(self, constraint: Constraint, values: Mapping[str, int]) -> bool:
        try:
            return truth(constraint.condition, plain({**self._parameters, **values}))
        except EvaluationError:
            return False

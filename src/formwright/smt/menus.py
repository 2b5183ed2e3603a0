"""K3: for every chip and workload in scope some assignment meets the constraints.

Counterexample-guided: assume that none of the designs found so far fits, ask for parameters,
find a design there by looking through the menus, add it, ask again. Unsatisfiable means that
the finite list of designs covers the scope.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import z3

from formwright.ir.evaluate import EvaluationError
from formwright.ir.evaluate import truth as holds
from formwright.ir.expr import Expr
from formwright.ir.rewrite import free_names
from formwright.ir.template import Decision, Template
from formwright.smt.atoms import Atoms
from formwright.smt.clock import Clock
from formwright.smt.encode import truth
from formwright.smt.encoding import Encoding, rational_model, value_of
from formwright.smt.premises import scope_premises
from formwright.smt.terms import Formula, Number, conj, constant, negated, polys
from formwright.smt.ways import scope_conditions

ROUNDS = 64
"""The most designs that the cover may need."""

POINTS = 500_000
"""The most choices of the menus that are looked at, for all sets of parameters together."""


@dataclass(frozen=True, slots=True)
class Cover:
    """``designs`` cover the scope, or ``parameters`` have no design, or ``reason`` why unknown."""

    status: Literal["proved", "refuted", "unknown"]
    designs: tuple[dict[str, int], ...] = ()
    parameters: Mapping[str, Number] | None = None
    reason: str = ""


def cover(
    template: Template,
    atoms: Atoms,
    clock: Clock,
    designs: Sequence[dict[str, int]] = (),
) -> Cover:
    """Designs that together cover the scope of an inlined template.

    ``designs`` are points to begin with; those outside the menus are left out.
    """
    menus = {d.name: d.menu for d in template.decisions}
    begun = [d for d in designs if set(d) == set(menus)]
    designs = [d for d in begun if all(v in menus[n] for n, v in d.items())]
    conditions = [c.condition for c in template.constraints]
    open_scope = [*scope_premises(template, atoms), *uncovered(template, designs, atoms)]
    left = POINTS
    for _ in range(ROUNDS):
        outcome, values = _parameters(template, open_scope, atoms, clock)
        if outcome == "unsat":
            return Cover("proved", tuple(designs))
        if values is None:
            return Cover("unknown", tuple(designs), reason=outcome)
        if not _in_scope(template, values):
            return Cover("unknown", reason="the solver's parameters are outside the scope")
        search = Search(template.decisions, conditions, values, left)
        design, left = search.first(), search.left
        if design is None and left <= 0:
            return Cover("unknown", reason=f"no design among the first {POINTS} choices")
        if design is None:
            return Cover("refuted", parameters=values)
        designs.append(design)
        open_scope += uncovered(template, [design], atoms)
    return Cover("unknown", tuple(designs), reason=f"more than {ROUNDS} designs are needed")


def uncovered(
    template: Template, designs: Sequence[Mapping[str, int]], atoms: Atoms
) -> list[Formula]:
    """Each of ``designs`` breaks a constraint."""
    found: list[Formula] = []
    for design in designs:
        env = {n: constant(v) for n, v in design.items()}
        stated = [truth(c.condition, env, atoms) for c in template.constraints]
        found.append(negated(conj(stated)))
    return found


def _parameters(
    template: Template, formulas: Sequence[Formula], atoms: Atoms, clock: Clock
) -> tuple[str, dict[str, Number] | None]:
    """Parameters of the scope where ``formulas`` hold, or ``unsat``, or why neither."""
    clock.asked += 1
    scope = template.scope
    encoding = Encoding(atoms, exact=True)
    used = atoms.closure({n for f in formulas for p in polys(f) for n in p.symbols()})
    solver = z3.Solver()
    definitions = [atoms.definition(n) for n in used if n in atoms.by_name]
    solver.add(encoding.whole((*definitions, *formulas)))
    outcome = clock.check(solver)
    if outcome == z3.unsat:
        return "unsat", None
    if outcome != z3.sat:
        return f"z3: {solver.reason_unknown()}", None
    names = [p.name for p in scope.parameters]
    constants = {n: encoding.symbol(n) for n in names}
    model = rational_model(solver, solver.model(), constants.values(), clock.check)
    if model is None:
        return "the solver's parameters are not rational", None
    return "sat", {n: value_of(model, c) for n, c in constants.items()}


def _in_scope(template: Template, values: Mapping[str, Number]) -> bool:
    """By ``evaluate``: a relation may have no value where a divisor is below 1."""
    try:
        return all(holds(c, values) for c in scope_conditions(template))
    except EvaluationError:
        return False


class Search:
    """Looks through menus depth first; a condition is tried as soon as its names have values.

    ``left`` is what remains of the budget: 0 means that the search was cut short.
    """

    def __init__(
        self,
        decisions: Sequence[Decision],
        conditions: Sequence[Expr],
        values: Mapping[str, Number],
        points: int = POINTS,
    ) -> None:
        self._decisions = [d for d in decisions if d.name not in values]
        self._values: dict[str, Number] = dict(values)
        self.left = points
        names = [d.name for d in self._decisions]
        self._tests: list[list[Expr]] = [[] for _ in range(len(names) + 1)]
        for condition in conditions:
            places = [names.index(n) + 1 for n in free_names(condition) if n in names]
            self._tests[max(places, default=0)].append(condition)

    def first(self) -> dict[str, int] | None:
        """The first assignment, menus in ascending order, that meets every condition."""
        return self._from(0, {}) if self._meets(0) else None

    def _from(self, level: int, chosen: dict[str, int]) -> dict[str, int] | None:
        if level == len(self._decisions):
            return dict(chosen)
        decision = self._decisions[level]
        for value in decision.menu:
            self.left -= 1
            if self.left <= 0:
                return None
            self._values[decision.name] = chosen[decision.name] = value
            if self._meets(level + 1):
                found = self._from(level + 1, chosen)
                if found is not None:
                    return found
        return None

    def _meets(self, level: int) -> bool:
        try:
            return all(holds(c, self._values) for c in self._tests[level])
        except EvaluationError:
            return False

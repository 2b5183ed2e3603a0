"""The safe set of the schedule decisions: which of their values are right for every K."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import z3

from formwright.ir.inline import inlined
from formwright.ir.rewrite import free_names
from formwright.ir.template import Template
from formwright.proof.verdict import Verdict
from formwright.smt.atoms import Atoms
from formwright.smt.clock import Clock
from formwright.smt.encode import UnderivableError
from formwright.smt.encoding import Encoding
from formwright.smt.goals import Query
from formwright.smt.premises import Premises, premises, schedule_conditions
from formwright.smt.schedule import Schedule
from formwright.smt.sites import sites_of
from formwright.smt.solve import Solver, Status
from formwright.smt.terms import Formula, polys

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


class _Family:
    """The schedule conditions of one template, derived once for all points."""

    def __init__(self, template: Template) -> None:
        self._template = template
        self._atoms = Atoms()
        inputs = frozenset(t.name for t in template.scope.workload.inputs)
        sites = sites_of(template.program, template.globals)
        if sites.counters:
            raise UnderivableError("counters are not derived yet")
        goals = [g for g in Schedule(sites, inputs, self._atoms).goals() if g.condition in SCHEDULE]
        self._queries = [q for g in goals for q in g.build()]
        self._linear = Encoding(self._atoms, exact=False)
        self._settled: dict[tuple[int, frozenset[tuple[str, int]]], Verdict] = {}

    def verdict(self, values: Mapping[str, int], timeout_ms: int) -> Verdict:
        """The worst verdict of the conditions; a query that reads no value is settled once."""
        worst: Verdict = "proved"
        rules = self._premises(values)
        clock = Clock(timeout_ms)
        solver = Solver(self._atoms, rules, clock, self._linear)
        for number, query in enumerate(self._queries):
            names = self._names([*query.facts, query.goal, *rules.conditions])
            key = (number, frozenset(i for i in values.items() if i[0] in names))
            found = self._settled.get(key)
            if found is None:
                clock.start()
                status = _status(solver, query)
                found = "proved" if status == "unsat" else "refuted"
                found = "unresolved" if status == "unknown" else found
                self._settled[key] = found
            if found == "refuted":
                return "refuted"
            worst = "unresolved" if found == "unresolved" else worst
        return worst

    def _premises(self, values: Mapping[str, int]) -> Premises:
        kept = [c for c in schedule_conditions(self._template) if not free_names(c) <= set(values)]
        fixed: dict[str, tuple[int, ...]] = {n: (v,) for n, v in values.items()}
        return premises(self._template, kept, self._atoms, fixed)

    def _names(self, formulas: Sequence[Formula]) -> frozenset[str]:
        direct = {n for f in formulas for p in polys(f) for n in p.symbols()}
        return frozenset(self._atoms.closure(direct))


def _status(solver: Solver, query: Query) -> Status:
    try:
        return solver.answer(query).status
    except (UnderivableError, ArithmeticError, z3.Z3Exception):
        return "unknown"


@lru_cache(maxsize=8)
def _family(template: Template) -> _Family:
    return _Family(template)

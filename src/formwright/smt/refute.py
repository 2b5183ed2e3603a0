"""From a solution of a query to a refutation: every name with a value, rechecked exactly."""

from collections.abc import Mapping, Sequence

import z3

from formwright.ir.evaluate import EvaluationError, integer, truth
from formwright.ir.expr import Expr
from formwright.ir.program import Access, Apply, For, If, Par
from formwright.ir.rewrite import free_names
from formwright.ir.template import Template
from formwright.proof.refutation import Instance as Run
from formwright.proof.refutation import Refutation
from formwright.smt.atoms import Atoms
from formwright.smt.clock import Clock
from formwright.smt.encode import truth as formula_of
from formwright.smt.encoding import Encoding, rational_model, value_of
from formwright.smt.goals import Goal, Query
from formwright.smt.lazy import Reach
from formwright.smt.menus import Search
from formwright.smt.premises import scope_premises
from formwright.smt.sites import Site
from formwright.smt.terms import Number, Poly, constant, eq, polys, symbol


def preferences(template: Template) -> list[list[Expr]]:
    """What a counterexample of K2 should meet: all conditions, else those that K2 may use."""
    requires = [r.condition for r in template.requires]
    constraints = [c.condition for c in template.constraints]
    return [[*requires, *constraints], requires or constraints]


def completed(
    template: Template,
    atoms: Atoms,
    values: Mapping[str, Number],
    choices: Sequence[list[Expr]],
    clock: Clock,
) -> dict[str, Number] | None:
    """Values for every name of the template that agree with ``values``.

    They meet the first of ``choices`` that can be met, by ``evaluate``; ``None`` if none can.
    """
    fields = [p.name for p in template.scope.chip if p.name in values]
    for pinned in (fields, []) if fields else ([],):
        for conditions in choices:
            found = _completed(template, atoms, values, conditions, pinned, clock)
            if found is not None:
                return found
    return None


def _completed(
    template: Template,
    atoms: Atoms,
    values: Mapping[str, Number],
    conditions: list[Expr],
    pinned: Sequence[str],
    clock: Clock,
) -> dict[str, Number] | None:
    """``pinned`` chip fields keep their values."""
    names = [d.name for d in template.decisions]
    known: dict[str, Number] = {n: v for n, v in values.items() if n in names}
    search = Search(template.decisions, [c for c in conditions if _about(c, names)], known, 20_000)
    rest = search.first()
    if rest is None:
        return None
    known.update(rest)
    fixed = {n: int(v) for n, v in known.items()}
    scope = template.scope
    free = [p.name for p in scope.parameters]
    fixed |= {n: int(values[n]) for n in free if n in values and n not in atoms.real}
    encoding = Encoding(atoms, exact=True, fixed=fixed)
    formulas = [*scope_premises(template, atoms), *(formula_of(c, {}, atoms) for c in conditions)]
    formulas += [eq(symbol(n), constant(values[n])) for n in pinned]
    used = atoms.closure({n for f in formulas for p in polys(f) for n in p.symbols()})
    solver = z3.Solver()
    definitions = [atoms.definition(n) for n in used if n in atoms.by_name]
    solver.add(encoding.whole((*definitions, *formulas)))
    if clock.check(solver) != z3.sat:
        return None
    constants = {n: encoding.symbol(n) for n in free if n not in fixed}
    model = rational_model(solver, solver.model(), constants.values(), clock.check)
    if model is None:
        return None
    found: dict[str, Number] = dict(fixed)
    found.update({n: value_of(model, c) for n, c in constants.items()})
    return found if _agrees(template, conditions, found) else None


def _about(condition: Expr, names: Sequence[str]) -> bool:
    return free_names(condition) <= set(names)


def _agrees(template: Template, conditions: Sequence[Expr], values: Mapping[str, Number]) -> bool:
    scope = template.scope
    stated = [p.condition for p in scope.parameters]
    everything = [*(c for c in stated if c is not None), *scope.relations, *conditions]
    return all(holds(c, values) for c in everything)


def holds(condition: Expr, values: Mapping[str, Number]) -> bool:
    """The exact truth of a condition; without a value it does not hold."""
    try:
        return truth(condition, values)
    except EvaluationError:
        return False


def refutation(
    goal: Goal,
    query: Query,
    values: Mapping[str, Number],
    whole: Mapping[str, Number],
    atoms: Atoms,
) -> Refutation:
    """The claim that the interpreter must reach."""
    runs = [
        Run(
            path=a.instance.site.path,
            role=a.role,
            variables={n: _value(p, values, whole, atoms) for n, p in a.instance.env.items()},
            buffer=a.buffer,
            span=a.instance.site.span,
        )
        for a in query.actors
    ]
    if not runs and query.given:
        where = {n: _value(p, values, whole, atoms) for n, p in query.given}
        runs = [Run((), "cell", where)]
    return Refutation(
        condition=goal.condition,
        name=goal.name,
        values=dict(whole),
        instances=tuple(runs),
        text=goal.claim,
    )


def _value(
    poly: Poly, values: Mapping[str, Number], whole: Mapping[str, Number], atoms: Atoms
) -> int:
    known = {**dict.fromkeys(atoms.closure(poly.symbols()), 0), **whole, **values}
    return int(atoms.value(poly, known))


def leaves_shape(site: Site, reach: Reach, values: Mapping[str, Number]) -> bool:
    """Whether this run makes the access and it is outside, by the meaning of expressions."""
    try:
        made = _happens(site, values) and all(truth(c, values) for c in reach.when)
        return made and not _inside(site, reach.access, values)
    except EvaluationError:
        return False


def _happens(site: Site, values: Mapping[str, Number]) -> bool:
    for frame in site.frames:
        match frame.node:
            case For(var, lo, hi):
                if not integer(lo, values) <= values[var] < integer(hi, values):
                    return False
            case Par(_, names, extents):
                for name, extent in zip(names, extents, strict=True):
                    if not 0 <= values[name] < integer(extent, values):
                        return False
            case If(cond):
                if not truth(cond, values):
                    return False
            case Apply(box):
                for b in box:
                    if not 0 <= values[b.name] < integer(b.extent, values):
                        return False
            case _:
                pass
    return True


def _inside(site: Site, access: Access, values: Mapping[str, Number]) -> bool:
    if access.generation is not None and integer(access.generation, values) < 0:
        return False
    shape = site.home(access).buffer.shape
    return access.clip or all(
        0 <= integer(i, values) < integer(s, values)
        for i, s in zip(access.index, shape, strict=True)
    )

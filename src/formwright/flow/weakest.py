"""Is the template's precondition the weakest one?

The requirement is compared, point by point over the decisions that it mentions, with what
the verifier can prove safe. The verifier and the solver come in as callables, so that this
comparison depends on neither.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import Literal, Protocol

from formwright.base.diagnostics import fail
from formwright.ir.evaluate import truth
from formwright.ir.expr import TRUE, Compare, Expr, Logic, Not, Scalar, Var, num
from formwright.ir.inline import inlined
from formwright.ir.program import For, If, Par, Stmt
from formwright.ir.rewrite import free_names
from formwright.ir.template import Constraint, Template
from formwright.proof.verdict import Counterexample, Verdict
from formwright.replay.expressions import schedule_names

COMBINATION_LIMIT = 10_000
"""The most points that are compared: each is a proof."""

Point = dict[str, int]
Judgement = Literal["exact", "too strong", "too weak", "neither", "unresolved"]


class Optimum(Protocol):
    """What is needed of a solver's answer."""

    @property
    def status(self) -> str: ...
    @property
    def assignment(self) -> dict[str, int]: ...
    @property
    def objective(self) -> Fraction | None: ...


@dataclass(frozen=True, slots=True)
class Bounded:
    """A point that is not safe for every extent, and safe while ``iterations <= most``.

    ``exact``: with one iteration more it was refuted.
    """

    point: Point
    iterations: Expr
    most: int
    exact: bool


Safe = Callable[[Point], Verdict]
Bounds = Callable[[Point], tuple[Bounded, ...]]
Solve = Callable[[Template, Mapping[str, Scalar]], Optimum]
Explain = Callable[[Point], Counterexample | None]


@dataclass(frozen=True, slots=True)
class Excess:
    """A point that the requirement allows and that is not safe, with a replayed reason."""

    point: Point
    counterexample: Counterexample | None


@dataclass(frozen=True, slots=True)
class Loss:
    """What a workload pays for the requirement, in the unit of the template's cost.

    ``relative`` is ``(required - safe) / safe``; ``None`` when one side has no optimum.
    ``assignment`` is what the solver picks under the requirement; ``assignment_safe`` says
    whether the verifier proves that pick.
    """

    required: Fraction | None
    safe: Fraction | None
    relative: Fraction | None
    assignment: dict[str, int]
    assignment_safe: bool


@dataclass(frozen=True, slots=True)
class Weakest:
    """``exact``: requirement and safe set are equal on all points, none unresolved.

    ``missing``: safe and not allowed. ``excess``: allowed and not safe, what the solver
    would pick first. ``reads_scope``: requirements that read extents, agents or the chip;
    they are not compared, since safe means safe for every extent. ``also_safe`` stands apart:
    it knows an extent, and is no part of the judgement.
    """

    exact: bool
    judgement: Judgement
    decisions: tuple[str, ...]
    checked: int
    safe: tuple[Point, ...]
    missing: tuple[Point, ...]
    excess: tuple[Excess, ...]
    unresolved: tuple[Point, ...]
    loss: dict[str, Loss]
    reads_scope: tuple[str, ...]
    also_safe: tuple[Bounded, ...] = ()


def weakest(
    template: Template,
    workloads: Mapping[str, Mapping[str, Scalar]],
    safe: Safe,
    solve: Solve,
    explain: Explain | None = None,
    bounds: Bounds | None = None,
) -> Weakest:
    """Compares the requirement of ``template`` with the points that ``safe`` proves.

    ``workloads`` gives a value to each name of the scope. The points are the menus, with
    their ``also`` values, of the decisions that the requirement mentions; a constraint over
    those decisions alone is part of the precondition. ``bounds`` proves how many iterations
    a refuted point bears.

    Raises:
        InputError: no requirement mentions a decision, or there are too many points.
    """
    closed = inlined(template)
    compared, apart = _requirements(closed)
    names = _mentioned(closed, compared)
    allowed = (*compared, *(c.condition for c in closed.constraints if _is_about(c, names)))
    points = _points(closed, names)
    verdicts = [safe(p) for p in points]
    allows = [all(truth(c, p) for c in allowed) for p in points]
    judged = list(zip(points, verdicts, allows, strict=True))
    proved = tuple(p for p, v, _ in judged if v == "proved")
    missing = tuple(p for p, v, a in judged if v == "proved" and not a)
    unsafe = [p for p, v, a in judged if v == "refuted" and a]
    unresolved = tuple(p for p, v, _ in judged if v not in ("proved", "refuted"))
    widened = _with_safe_set(closed, names, proved)
    loss = {
        workload: _loss(solve(closed, values), solve(widened, values), names, proved)
        for workload, values in workloads.items()
    }
    picks = [{n: loss[w].assignment.get(n) for n in names} for w in loss]
    unsafe.sort(key=lambda point: point not in picks)
    excess = tuple(Excess(p, None if explain is None else explain(p)) for p in unsafe)
    refuted = [p for p, v, _ in judged if v == "refuted"]
    also = () if bounds is None else tuple(b for p in refuted for b in bounds(p))
    return Weakest(
        exact=not (missing or excess or unresolved),
        judgement=_judgement(bool(missing), bool(excess), bool(unresolved)),
        decisions=names,
        checked=len(points),
        safe=proved,
        missing=missing,
        excess=excess,
        unresolved=unresolved,
        loss=loss,
        reads_scope=apart,
        also_safe=also,
    )


def _requirements(template: Template) -> tuple[tuple[Expr, ...], tuple[str, ...]]:
    """Conditions over decisions alone, and the names of those that read more."""
    decisions = {d.name for d in template.decisions}
    alone = [r for r in template.requires if free_names(r.condition) <= decisions]
    apart = [r.name for r in template.requires if not free_names(r.condition) <= decisions]
    return tuple(r.condition for r in alone), tuple(apart)


def _mentioned(template: Template, conditions: tuple[Expr, ...]) -> tuple[str, ...]:
    """In the template's order: what the requirement reads, and what else the schedule hangs
    on, so that a requirement that forgets a decision is still compared with every value of it.
    """
    used = frozenset[str]().union(*(free_names(c) for c in conditions))
    decisions = frozenset(d.name for d in template.decisions)
    if used & decisions:
        used |= set(schedule_decisions(template))
    names = tuple(d.name for d in template.decisions if d.name in used)
    if not names:
        raise fail(
            f"{template.name} requires nothing of its decisions alone: nothing to compare",
            template.span,
            "write the precondition in the section requires",
        )
    return names


def schedule_decisions(template: Template) -> tuple[str, ...]:
    """The decisions that the order of events hangs on, in the template's order."""
    decisions = frozenset(d.name for d in template.decisions)
    used = schedule_names(template.program) | _switches(template.program, decisions)
    return tuple(d.name for d in template.decisions if d.name in used)


def _switches(body: tuple[Stmt, ...], decisions: frozenset[str]) -> frozenset[str]:
    """Decisions that switch statements on or off (``if beta = 1``)."""
    found: frozenset[str] = frozenset()
    for stmt in body:
        if isinstance(stmt, If) and free_names(stmt.cond) <= decisions:
            found |= free_names(stmt.cond)
        if isinstance(stmt, For | Par | If):
            found |= _switches(stmt.body, decisions)
    return found


def _is_about(constraint: Constraint, names: tuple[str, ...]) -> bool:
    used = free_names(constraint.condition)
    return bool(used) and used <= set(names)


def _points(template: Template, names: tuple[str, ...]) -> list[Point]:
    menus = [sorted({*d.menu, *d.extra}) for d in template.decisions if d.name in names]
    total = reduce(lambda count, menu: count * len(menu), menus, 1)
    if total > COMBINATION_LIMIT:
        raise fail(
            f"{total} combinations of {', '.join(names)} are too many to prove one by one",
            template.span,
            f"at most {COMBINATION_LIMIT} are compared; shorten the menus",
        )
    return [dict(zip(names, values, strict=True)) for values in product(*menus)]


def _judgement(missing: bool, excess: bool, unresolved: bool) -> Judgement:
    if missing and excess:
        return "neither"
    if missing:
        return "too strong"
    if excess:
        return "too weak"
    return "unresolved" if unresolved else "exact"


def _with_safe_set(
    template: Template, names: tuple[str, ...], proved: tuple[Point, ...]
) -> Template:
    """The template with the safe points in place of its precondition."""
    kept = tuple(c for c in template.constraints if not _is_about(c, names))
    requires = tuple(r for r in template.requires if not free_names(r.condition) <= set(names))
    condition = _any_of(proved)
    return replace(
        template, constraints=(*kept, Constraint("safe_set", condition)), requires=requires
    )


def _any_of(points: tuple[Point, ...]) -> Expr:
    """True at the points and nowhere else."""
    if not points:
        return Not(TRUE)
    return _joined("or", [_is_point(p) for p in points])


def _is_point(point: Point) -> Expr:
    return _joined("and", [Compare("=", Var(n), num(v)) for n, v in point.items()])


def _joined(op: Literal["and", "or"], conditions: list[Expr]) -> Expr:
    """A balanced tree, so that many points do not nest deep."""
    while len(conditions) > 1:
        pairs = [conditions[i : i + 2] for i in range(0, len(conditions), 2)]
        conditions = [p[0] if len(p) == 1 else Logic(op, p[0], p[1]) for p in pairs]
    return conditions[0]


def _loss(
    required: Optimum, safe: Optimum, names: tuple[str, ...], proved: tuple[Point, ...]
) -> Loss:
    before = required.objective if required.status == "optimal" else None
    after = safe.objective if safe.status == "optimal" else None
    relative = None
    if before is not None and after is not None and after > 0:
        relative = Fraction(before - after) / Fraction(after)
    pick = required.assignment
    known = bool(pick) and {n: pick[n] for n in names if n in pick} in proved
    return Loss(before, after, relative, pick, known)


def rule_of(bounded: tuple[Bounded, ...]) -> tuple[Expr, str] | None:
    """The decision that is the bound at every point, where all are of one count and exact."""
    counts = {b.iterations for b in bounded}
    if len(counts) != 1 or not all(b.exact for b in bounded):
        return None
    names = [n for n in bounded[0].point if all(b.point[n] == b.most for b in bounded)]
    varied = [n for n in names if len({b.point[n] for b in bounded}) > 1]
    return (bounded[0].iterations, varied[0]) if varied else None

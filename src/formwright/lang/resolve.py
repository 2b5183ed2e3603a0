"""A draft with every name checked: the template (rules L4, L9 to L15)."""

from fractions import Fraction
from itertools import pairwise
from math import prod

from formwright.base.source import Span
from formwright.ir.expr import Compare, Expr, Var
from formwright.ir.interval import Interval, bounds
from formwright.ir.program import Buffer, DType, Literal, Stmt
from formwright.ir.template import (
    Constraint,
    Cost,
    Decision,
    Definition,
    Outline,
    Parameter,
    Scope,
    Template,
    Tensor,
    Workload,
)
from formwright.ir.types import SIZE_MAX, size_name, sized
from formwright.lang import kinds
from formwright.lang.boxes import free_in_order
from formwright.lang.draft import Draft, RawConstraint, RawDecision, RawParameter
from formwright.lang.faults import Faults
from formwright.lang.limits import DECISIONS, PRODUCT
from formwright.lang.names import Kind, Names, Symbol
from formwright.lang.programs import ProgramResolver
from formwright.lang.realising import Keeping
from formwright.lang.refinements import resolve_step
from formwright.lang.stages import resolve_lines, tensors
from formwright.lang.structures import resolve_structures

PROVABLE = (
    "coverage",
    "exact_once",
    "no_phantom",
    "readiness",
    "lifetime",
    "agreement",
    "address",
    "uniform",
    "single",
    "race",
    "order",
    "phantom",
    "defined",
    "fits",
    "divisor",
    "menu",
    "implied",
    "stable",
)
"""Names that the section ``prove`` of a template with a program may list."""

STEP_PROVABLE = (
    "initial",
    "range",
    "matching",
    "relation",
    "visible",
    "rank",
    "progress",
    "completion",
    "termination",
    "vacuity",
    "implied",
    "menu",
)
"""As :data:`PROVABLE`, for a step (S14 to S23)."""

_NOTHING = Workload(Tensor("", ()), (), (), (), Literal(Fraction(0)))
"""Stands in for a workload that could not be read, until the faults are raised."""


def resolve(draft: Draft, faults: Faults) -> Template:
    """The template of ``draft``. When ``faults`` has items afterwards, it is not to be used."""
    names = Names(faults)
    names.later = {
        **{d.name: "a decision" for d in draft.decisions},
        **{d.name: "a definition" for d in draft.definitions},
    }
    scope, globals_ = _scope(draft, names)
    names.later = {}
    decisions = _decisions(draft.decisions, names)
    _definitions(draft.definitions, names)
    constraints = tuple(_constraint(c, names) for c in draft.constraints)
    _unique([(c.name, c.span) for c in constraints], "constraint", faults)
    for requirement in draft.requires:
        kinds.condition(requirement.condition, names)
    _unique([(r.name, r.span) for r in draft.requires], "requirement", faults)
    refinement = resolve_step(draft, names)
    step = draft.step.coarse is not None or draft.step.fine is not None
    if step or draft.formulation:
        globals_ = ()
    keeping = Keeping(draft.realised, scope.stages, names)
    bare = step or bool(draft.formulation)
    program = () if bare else _program(draft, scope.workload, globals_, keeping, names)
    if not bare or draft.realised:
        keeping.finish(bare)
    found = Template(
        draft.name,
        draft.coarse,
        draft.fine,
        draft.object_name,
        draft.object_text,
        scope,
        decisions,
        tuple(draft.definitions),
        constraints,
        tuple(draft.requires),
        program,
        globals_,
        _outline(draft, faults),
        _cost(draft, names),
        draft.span,
        refinement,
        keeping.found,
        draft.formulation,
        resolve_structures(draft, names),
    )
    return found if faults.items else sized(found)


def _scope(draft: Draft, names: Names) -> tuple[Scope, tuple[Buffer, ...]]:
    extents = _parameters(draft.extents, "an extent", names)
    agents = _parameters(draft.agents, "an agent count", names)
    given = _parameters(draft.given, "a decision of a step above", names)
    chip = _parameters(draft.chip, "a field of the chip", names)
    for parameter in (*draft.extents, *draft.agents, *draft.given, *draft.chip):
        if parameter.condition is not None:
            kinds.condition(parameter.condition, names)
    for relation in draft.relations:
        kinds.condition(relation, names)
    workload, stages = _workload(draft, names)
    globals_ = () if workload is _NOTHING else tensors(workload)
    for tensor in globals_:
        names.declare(tensor.name, Symbol("a tensor", "any", workload.span))
        size = size_name(tensor.name)
        names.declare(size, Symbol("the size of an element", "integer", workload.span, chip=True))
        names.ranges[size] = Interval(1, SIZE_MAX)
    for stage in stages:
        names.declare(stage.output.name, Symbol("a stage", "any", stage.span))
    scope = Scope(
        workload,
        extents,
        agents,
        chip,
        tuple(draft.relations),
        draft.semantics,
        draft.structure,
        given,
        stages,
    )
    return scope, globals_


def _parameters(raw: list[RawParameter], what: str, names: Names) -> tuple[Parameter, ...]:
    chip = what == "a field of the chip"
    for parameter in raw:
        kind: Kind = "number" if chip else "integer"
        names.declare(parameter.name, Symbol(what, kind, parameter.span, chip=chip))
        if parameter.condition is None and not chip:
            names.faults.add(
                f'"{parameter.name}" has no condition',
                parameter.span,
                f"write {parameter.name} >= 1",
            )
    return tuple(Parameter(p.name, p.condition, p.span) for p in raw)


def _workload(draft: Draft, names: Names) -> tuple[Workload, tuple[Workload, ...]]:
    if draft.workload is None:
        if not names.faults.items:
            names.faults.add(
                "the scope has no workload", draft.span, "write workload C[M,N] = sum(k < K) …"
            )
        return _NOTHING, ()
    dtypes: dict[str, tuple[DType, ...]] = {}
    for tensor, types, span in draft.dtypes:
        if tensor in dtypes:
            names.faults.add(f'"{tensor}" has an element type already', span)
        dtypes[tensor] = types
    lines = resolve_lines(draft.workload, draft.stages, dtypes, names)
    if lines is None:
        return _NOTHING, ()
    workload, _ = lines
    known = [t.name for t in (*workload.inputs, workload.output)]
    for tensor, _, span in draft.dtypes:
        if tensor not in known:
            names.faults.unknown("the tensor", tensor, span, known)
    return lines


def _decisions(raw: list[RawDecision], names: Names) -> tuple[Decision, ...]:
    faults = names.faults
    for decision in raw:
        names.declare(decision.name, Symbol("a decision", "integer", decision.span))
        values = [v for v, _ in (*decision.menu, *decision.extra)]
        if values:
            names.ranges[decision.name] = Interval(min(values), max(values))
        _menu(decision, faults)
    if len(raw) > DECISIONS:
        faults.add(f"there are at most {DECISIONS} decisions", raw[DECISIONS].span)
    points = prod(max(1, len(d.menu) + len(d.extra)) for d in raw)
    if points > PRODUCT:
        faults.add(
            f"the menus span {points:.2e} points, more than {PRODUCT:.0e}".replace("e+", "e"),
            raw[-1].span,
            "shorten the menus",
        )
    return tuple(
        Decision(d.name, tuple(v for v, _ in d.menu), tuple(v for v, _ in d.extra), d.span)
        for d in raw
    )


def _menu(decision: RawDecision, faults: Faults) -> None:
    if not decision.menu:
        faults.add(f'the menu of "{decision.name}" is empty', decision.menu_span)
    for values in (decision.menu, decision.extra):
        for (before, _), (value, span) in pairwise(values):
            if value <= before:
                ordered = ", ".join(str(v) for v in sorted({v for v, _ in values})[:16])
                again = value in [v for v, _ in values[: values.index((value, span))]]
                what = "stands twice" if again else f"stands after {before}"
                faults.add(
                    f'{value} {what} in the menu of "{decision.name}"',
                    span,
                    f"menus ascend: {{{ordered}{', …' if len(values) > 16 else ''}}}",
                )
                break
    menu = {v for v, _ in decision.menu}
    for value, span in decision.extra:
        if value in menu:
            faults.add(f'{value} is in the menu of "{decision.name}" already', span)
            break


def _definitions(definitions: list[Definition], names: Names) -> None:
    """Each may use what stands above it; later ones are named in the message."""
    later = {d.name for d in definitions}
    for definition in definitions:
        _no_later(definition, later, names)
        later.discard(definition.name)
        info = kinds.check(definition.value, names)
        names.declare(definition.name, info.symbol("a definition", definition.span))
        names.ranges[definition.name] = bounds(definition.value, names.ranges)


def _no_later(definition: Definition, later: set[str], names: Names) -> None:
    for var in free_in_order(definition.value):
        if var.name in later and var.name not in names.table:
            mine = var.name == definition.name
            names.faults.add(
                f'"{var.name}" is defined by itself'
                if mine
                else f'"{var.name}" is defined below this line',
                var.span,
                None if mine else "a definition uses earlier ones only: move it up",
            )
            names.faults.tolerated.add(var.name)


def _constraint(raw: RawConstraint, names: Names) -> Constraint:
    constraint = raw.constraint
    kinds.condition(constraint.condition, names)
    if constraint.wall is not None:
        _wall(f"chip.{constraint.wall}", constraint.condition, raw.wall_span, names)
    return constraint


def _wall(field: str, condition: Expr, span: Span | None, names: Names) -> None:
    if field not in names.table:
        known = [n.removeprefix("chip.") for n in names.table if n.startswith("chip.")]
        names.faults.unknown("the chip's field", field.removeprefix("chip."), span, known)
        return
    bounded = isinstance(condition, Compare) and condition.op in ("<=", "<")
    if not (bounded and isinstance(condition, Compare) and condition.right == Var(field)):
        names.faults.add(
            f"a wall bounds its field from below: the right-hand side is not {field}",
            condition.span,
            f"write … <= {field}",
        )


def _unique(items: list[tuple[str, Span | None]], what: str, faults: Faults) -> None:
    seen: set[str] = set()
    for name, span in items:
        if name in seen:
            faults.add(f'the {what} "{name}" stands twice', span, "take another name")
        seen.add(name)


def _program(
    draft: Draft,
    workload: Workload,
    globals_: tuple[Buffer, ...],
    keeping: Keeping,
    names: Names,
) -> tuple[Stmt, ...]:
    return ProgramResolver(globals_, workload.output.name, names, keeping).program(draft.program)


def _outline(draft: Draft, faults: Faults) -> Outline:
    step = draft.step.coarse is not None or draft.step.fine is not None
    known = STEP_PROVABLE if step else PROVABLE
    for name, span in draft.prove:
        if name not in known:
            hint = faults.nearest(name, known) or f"conditions: {', '.join(known)}"
            faults.add(f'"{name}" is no condition', span, hint)
    _unique([(n, s) for n, s in draft.prove], "condition", faults)
    return Outline(draft.backward, draft.relation, draft.rank, tuple(n for n, _ in draft.prove))


def _cost(draft: Draft, names: Names) -> Cost | None:
    raw = draft.cost
    if raw is None:
        return None
    names.declare(raw.name, Symbol("the cost", "any", raw.span))
    for coefficient in raw.coefficients:
        symbol = Symbol("a coefficient", "number", coefficient.span)
        names.declare(coefficient.name, symbol)
    _definitions(raw.definitions, names)
    for bound in raw.bounds:
        kinds.number(bound.value, names)
        if bound.guard is not None:
            kinds.condition(bound.guard, names)
    for expr in raw.prefer:
        kinds.number(expr, names)
    if raw.energy is not None:
        kinds.number(raw.energy, names)
    if not raw.bounds and raw.read:
        names.faults.add(f'the cost "{raw.name}" has no bound', raw.span, f"write {raw.name} >= …")
    return Cost(
        raw.name,
        raw.unit,
        tuple(raw.coefficients),
        tuple(raw.definitions),
        tuple(raw.bounds),
        tuple(raw.prefer),
        raw.energy,
        raw.energy_unit,
    )

"""A template as a MILP: encoded, solved in stages, every answer checked exactly.

The first stage minimises the cost, the next ones each tie-break expression, the last ones
the decisions in order. A stage keeps the value of those before it, first within a float's
tolerance, then exactly: a design that comes back with another exact value is cut off
and the stage runs again.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, isfinite, prod

import numpy as np

from formwright.base.diagnostics import fail
from formwright.ir.evaluate import EvaluationError, number, truth
from formwright.ir.expr import Expr
from formwright.ir.int_arrays import Array
from formwright.milp.classes import Form
from formwright.milp.constrain import constrain
from formwright.milp.encode import Encoder
from formwright.milp.groups import grouped
from formwright.milp.highs import Answer, Status, arrays_of, minimise
from formwright.milp.model import EncodingError, Exactly, Linear, combined, largest_size
from formwright.milp.problem import Problem

_CUTS = 200
"""Designs that one stage cuts off before it gives up."""
_SLACK = Fraction(1, 10**8)
"""Relative room of a stage's value in the stages after it; exact checks close it."""
_DIGITS = 5_000
"""Combinations of decisions that one stage orders."""
_ONE, _ZERO = 1, 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """``bound`` is a floating-point lower bound on the cost; ``ordered``: ties were broken."""

    status: Status
    assignment: dict[str, int] | None
    objective: Fraction | None
    bound: float
    variables: int
    constraints: int
    ordered: bool
    reason: str = ""


@dataclass(slots=True)
class _Run:
    encoder: Encoder
    deadline: float
    variables: int = 0
    constraints: int = 0
    fixed: list[tuple[Expr, Fraction]] = field(default_factory=list)

    @property
    def left(self) -> float:
        return self.deadline - time.monotonic()


def solve_program(problem: Problem, seconds: float) -> Outcome:
    """The best design by MILP within ``seconds``.

    Raises :class:`EncodingError` when the model would be too large.
    """
    deadline = time.monotonic() + seconds
    groups = grouped(problem)
    if any(g.count == 0 for g in groups):
        return Outcome("infeasible", None, None, inf, 0, 0, True)
    run = _Run(Encoder(problem, groups), deadline)
    for constraint in problem.constraints:
        constrain(run.encoder, constraint)
    if problem.objective is None:
        return _ordered(run, None, None)
    scale, top = _objective(run.encoder)
    run.variables = len(run.encoder.model.lows)
    run.constraints = len(run.encoder.model.rows)
    answer, design = _stage(run, {top: 1.0}, ())
    bound = answer.bound * float(scale)
    if answer.status != "optimal" or design is None:
        return _stopped(run, answer, design, bound)
    value = _exact(problem, problem.objective, design)
    run.encoder.model.add({top: _ONE}, None, value / scale + _SLACK * abs(value / scale))
    run.fixed.append((problem.objective, value))
    ordered = _ordered(run, design, value)
    return Outcome(
        "optimal",
        ordered.assignment or design,
        value,
        bound,
        run.variables,
        run.constraints,
        ordered.status == "optimal",
        ordered.reason,
    )


def _objective(encoder: Encoder) -> tuple[Fraction, int]:
    """The column that is at least every bound of the cost, in units of ``scale``."""
    bounds = encoder.problem.bounds
    forms = [encoder.linear(b.value, True) for b in bounds]
    low, high = min(f.low for f in forms), max(f.high for f in forms)
    scale = _scale(low, high)
    top = encoder.model.free()
    always = [f for f, b in zip(forms, bounds, strict=True) if b.guard is None]
    for form, bound in zip(forms, bounds, strict=True):
        if bound.guard is None:
            _above(encoder, top, scale, form)
        else:
            _above_if(encoder, top, scale, form, bound.guard, always or forms)
    return scale, top


def _scale(low: Exactly, high: Exactly) -> Fraction:
    """A power of two near the geometric middle of the cost's range."""
    size = float(largest_size((low, high)))
    if low > 0:
        size = (float(low) * float(high)) ** 0.5
    return Fraction(2) ** round(float(np.log2(size)))


def _above(encoder: Encoder, top: int, scale: Fraction, form: Linear) -> None:
    terms = combined([(_ONE, {top: _ONE}), (-1 / scale, form.terms)])
    encoder.model.add(terms, form.constant / scale, None, rescale=False)


def _above_if(
    encoder: Encoder, top: int, scale: Fraction, form: Linear, guard: Expr, others: list[Linear]
) -> None:
    """``top >= form`` where ``guard`` holds; elsewhere the row is under another bound."""
    classes = encoder.classes(guard)
    true = combined(
        (_ONE, f) for f, v in zip(classes.forms, classes.values, strict=True) if v is True
    )
    if None in classes.values:
        raise EncodingError("a guard of the cost has no value at some combination")
    if len(classes.values) == 1:
        if classes.values[0] is True:
            _above(encoder, top, scale, form)
        return
    room = min(_difference(encoder, form, other) for other in others)
    if room <= 0:
        return
    # top - form >= -room * (1 - true)
    terms = combined([(_ONE, {top: _ONE}), (-1 / scale, form.terms), (-room / scale, true)])
    encoder.model.add(terms, (form.constant - room) / scale, None, rescale=False)


def _difference(encoder: Encoder, form: Linear, other: Linear) -> Exactly:
    """An upper bound of ``form - other``."""
    terms = combined([(_ONE, form.terms), (-_ONE, other.terms)])
    joint = encoder.model.linear(form.constant - other.constant, terms)
    return min(joint.high, form.high - other.low)


def _stage(
    run: _Run, cost: dict[int, float], order: tuple[str, ...]
) -> tuple[Answer, dict[str, int] | None]:
    """Minimise ``cost``; designs that break a constraint or an earlier stage are cut off."""
    for _ in range(_CUTS):
        answer = minimise(arrays_of(run.encoder.model, cost), run.left)
        if answer.values is None:
            return answer, None
        design, chosen = _decoded(run.encoder, answer.values)
        if _holds(run, design):
            return answer, design
        if answer.status != "optimal":
            return answer, None
        run.encoder.model.add(
            dict.fromkeys(chosen, _ONE), None, Fraction(len(chosen)) - Fraction(1, 2)
        )
    reason = f"{_CUTS} designs passed in floats and failed exactly"
    return Answer("failed", None, inf, answer.bound, reason), None


def _decoded(encoder: Encoder, values: Array) -> tuple[dict[str, int], list[int]]:
    design: dict[str, int] = {}
    chosen: list[int] = []
    for group, columns in zip(encoder.groups, encoder.cells, strict=True):
        place = int(np.argmax(values[columns]))
        chosen.append(columns[place])
        design.update({n: int(column[place]) for n, column in group.cells.items()})
    return {n: design[n] for n in encoder.problem.names}, chosen


def _holds(run: _Run, design: dict[str, int]) -> bool:
    """Whether ``design`` meets every constraint and ties with every earlier stage, exactly."""
    problem = run.encoder.problem
    values = {**problem.constants, **design}
    if not all(truth(c.condition, values) for c in problem.constraints):
        return False
    return all(_exact(problem, expr, design) == value for expr, value in run.fixed)


def _exact(problem: Problem, expr: Expr, design: dict[str, int]) -> Fraction:
    try:
        return Fraction(number(expr, {**problem.constants, **design}))
    except EvaluationError as error:
        raise fail(f"the cost has no value: {error.message}", error.span) from None


def _stopped(run: _Run, answer: Answer, design: dict[str, int] | None, bound: float) -> Outcome:
    problem = run.encoder.problem
    value = None
    if design is not None and problem.objective is not None:
        value = _exact(problem, problem.objective, design)
    return Outcome(
        answer.status,
        design,
        value,
        bound if isfinite(bound) else -inf,
        run.variables,
        run.constraints,
        False,
        answer.reason,
    )


def _ordered(run: _Run, design: dict[str, int] | None, value: Fraction | None) -> Outcome:
    """The first design in the order of the tie-break rule."""
    problem, model = run.encoder.problem, run.encoder.model
    status: Status = "optimal"
    reason = ""
    best = design
    for expr, form in _keys(run):
        answer, found = _stage(run, {c: float(w) for c, w in form.items()}, problem.names)
        run.variables = run.variables or len(model.lows)
        run.constraints = run.constraints or len(model.rows)
        if answer.status != "optimal" or found is None:
            status, reason = answer.status, answer.reason
            break
        best = found
        if expr is not None:
            run.fixed.append((expr, _exact(problem, expr, found)))
        at = Fraction(_value_of(form, answer.values))
        model.add(form, None, at + largest_size((at, 1)) * _SLACK)
    return Outcome(
        status, best, value, inf, run.variables, run.constraints, status == "optimal", reason
    )


def _value_of(form: Form, values: Array | None) -> float:
    if values is None:
        raise AssertionError("an optimal answer has values")
    return float(sum(float(w) * values[c] for c, w in form.items()))


def _keys(run: _Run) -> Iterator[tuple[Expr | None, Form]]:
    """Forms to minimise one after the other, each scaled near 1."""
    encoder = run.encoder
    for expr in encoder.problem.prefer:
        linear = encoder.linear(expr, True)
        size = largest_size((linear.low, linear.high))
        yield expr, combined([(Fraction(1) / size, linear.terms)])
    batch: list[tuple[str, int]] = []
    menus = zip(encoder.problem.names, encoder.problem.menus, strict=True)
    for name, menu in menus:
        if batch and prod(n for _, n in batch) * len(menu) > _DIGITS:
            yield None, _rank_form(encoder, batch)
            batch = []
        batch.append((name, len(menu)))
    yield None, _rank_form(encoder, batch)


def _rank_form(encoder: Encoder, batch: list[tuple[str, int]]) -> Form:
    """The place of some decisions in the order of their menus, as one number."""
    menus = dict(zip(encoder.problem.names, encoder.problem.menus, strict=True))
    form: Form = {}
    weight = 1
    for name, length in reversed(batch):
        places = {value: i for i, value in enumerate(sorted(menus[name]))}
        for group, columns in zip(encoder.groups, encoder.cells, strict=True):
            if name in group.cells:
                for column, value in zip(columns, group.cells[name], strict=True):
                    rank = places[int(value)] * weight
                    form[column] = form.get(column, _ZERO) + rank
        weight *= length
    return combined([(Fraction(1, max(1, weight // max(1, batch[0][1]))), form)])

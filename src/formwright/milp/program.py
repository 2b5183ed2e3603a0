"""A template as a MILP: encoded, solved in stages, every answer checked exactly.

The first stage minimises the cost, the next ones each tie-break expression, the last ones
the decisions in order. A stage keeps the value of those before it, first within a float's
tolerance, then exactly: a design that comes back with another exact value is cut off
and the stage runs again. After a cheaper design the first stage is scaled anew.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, isfinite, prod
from random import Random

import numpy as np

from formwright.base.diagnostics import fail
from formwright.ir.evaluate import EvaluationError, number
from formwright.ir.expr import Expr
from formwright.ir.int_arrays import Array
from formwright.ir.rational_arrays import NeedsExactError, approx
from formwright.ir.vectorise import Evaluator
from formwright.milp.classes import Form
from formwright.milp.constrain import constrain
from formwright.milp.encode import Encoder
from formwright.milp.enumerate import where_held
from formwright.milp.groups import grouped
from formwright.milp.highs import Answer, Status, arrays_of, minimise, warm
from formwright.milp.model import combined, largest_size
from formwright.milp.objective import Ceiling
from formwright.milp.problem import Problem, holds

_CUTS = 200
"""Designs that one stage cuts off before it gives up."""
_SLACK = Fraction(1, 10**8)
"""Relative room of a stage's value in the stages after it; exact checks close it."""
_DIGITS = 5_000
"""Combinations of decisions that one stage orders."""
_ROUNDS = 8
"""Times that the cost is scaled anew after a cheaper design."""
_DRAWN = 256
"""Designs that are drawn to begin with."""
_ONE, _ZERO = 1, 0


Best = tuple[dict[str, int], Fraction]
"""A design and its cost."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """``bound`` is a floating-point lower bound on the cost; ``ordered``: ties were broken.

    ``separated``: no cheaper design can hide in the tolerance of floats, ``resolution`` in the
    unit of the cost.
    """

    status: Status
    assignment: dict[str, int] | None
    objective: Fraction | None
    bound: float
    variables: int
    constraints: int
    ordered: bool
    reason: str = ""
    separated: bool = True
    resolution: float = 0.0


@dataclass(slots=True)
class _Run:
    encoder: Encoder
    deadline: float
    variables: int = 0
    constraints: int = 0
    fixed: list[tuple[Expr, Fraction]] = field(default_factory=list)
    cheaper: Best | None = None

    @property
    def left(self) -> float:
        return self.deadline - time.monotonic()


def solve_program(problem: Problem, seconds: float, ordered: bool = True) -> Outcome:
    """The best design by MILP within ``seconds``; with ``ordered`` the first that ties.

    Raises :class:`EncodingError` when the model would be too large.
    """
    deadline = time.monotonic() + seconds
    warm()
    groups = grouped(problem)
    if any(g.count == 0 for g in groups):
        return Outcome("infeasible", None, None, inf, 0, 0, True)
    run = _Run(Encoder(problem, groups), deadline)
    for constraint in problem.constraints:
        constrain(run.encoder, constraint)
    if problem.objective is None:
        return _ordered(run, None, None)
    ceiling = Ceiling.of(run.encoder)
    best = _sampled(run.encoder, problem.objective)
    for _ in range(_ROUNDS):
        ceiling.set(None if best is None else best[1])
        run.variables, run.constraints = _sizes(run)
        answer, design = _stage(run, {ceiling.column: 1.0}, ())
        bound = float(ceiling.floor) + float(ceiling.scale) * answer.bound
        if answer.status != "optimal" or design is None:
            return _stopped(run, answer, best, bound)
        value = _exact(problem, problem.objective, design)
        closer = best is None or value < best[1]
        if best is None or value < best[1]:
            best = design, value
        if not closer or ceiling.sharp(best[1]) or best[1] == ceiling.floor:
            break
    assert best is not None
    return _tied(run, ceiling, best, bound) if ordered else _told(run, ceiling, best, bound)


def _told(
    run: _Run, ceiling: Ceiling, best: Best, bound: float, ordered: bool = False, reason: str = ""
) -> Outcome:
    """A cost that HiGHS calls optimal, with what its tolerance leaves open."""
    design, value = best
    separated = run.cheaper is None and ceiling.separates(value)
    return Outcome(
        "optimal",
        design,
        value,
        bound if separated else min(bound, float(value - ceiling.resolution)),
        run.variables,
        run.constraints,
        ordered,
        reason,
        separated,
        float(ceiling.resolution),
    )


def _tied(run: _Run, ceiling: Ceiling, best: Best, bound: float) -> Outcome:
    """The first of the designs that cost as little as ``best``."""
    design, value = best
    objective = run.encoder.problem.objective
    assert objective is not None
    at = (value - ceiling.floor) / ceiling.scale
    run.encoder.model.highs[ceiling.column] = at + _SLACK * largest_size((at, 1))
    run.fixed.append((objective, value))
    found = _ordered(run, design, value)
    # A later stage may have come upon a design that the floats of the first had passed over.
    best = run.cheaper or (found.assignment or design, value)
    return _told(run, ceiling, best, bound, found.status == "optimal", found.reason)


def _sizes(run: _Run) -> tuple[int, int]:
    return len(run.encoder.model.lows), len(run.encoder.model.rows)


def _sampled(encoder: Encoder, objective: Expr) -> Best | None:
    """The best of some designs drawn from the groups, to know about how much there is to gain."""
    problem = encoder.problem
    random = Random(0)
    columns: dict[str, Array] = {}
    for group in encoder.groups:
        drawn = np.array([random.randrange(group.count) for _ in range(_DRAWN)])
        columns.update({n: column[drawn] for n, column in group.cells.items()})
    if not columns:
        return None
    evaluator = Evaluator({**problem.constants, **columns})
    mask = np.ones(_DRAWN, dtype=bool)
    for constraint in problem.constraints:
        mask &= where_held(constraint, evaluator)
    try:
        number_ = evaluator.number(objective)
        value = np.broadcast_to(approx(number_).value, mask.shape)
    except (EvaluationError, NeedsExactError):
        return None
    mask &= ~np.broadcast_to(np.asarray(number_.bad), mask.shape)
    if not mask.any():
        return None
    place = int(np.argmin(np.where(mask, value, inf)))
    design = {n: int(columns[n][place]) for n in problem.names}
    return design, _exact(problem, objective, design)


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
    if not all(holds(c.condition, values) for c in problem.constraints):
        return False
    for expr, value in run.fixed:
        own = _exact(problem, expr, design)
        if expr is problem.objective and own < (run.cheaper[1] if run.cheaper else value):
            run.cheaper = design, own
        if own != value:
            return False
    return True


def _exact(problem: Problem, expr: Expr, design: dict[str, int]) -> Fraction:
    try:
        return Fraction(number(expr, {**problem.constants, **design}))
    except EvaluationError as error:
        raise fail(f"the cost has no value: {error.message}", error.span) from None


def _stopped(run: _Run, answer: Answer, best: Best | None, bound: float) -> Outcome:
    """What is known when HiGHS has not come to its end."""
    status, reason, problem = answer.status, answer.reason, run.encoder.problem
    if status == "infeasible" and best is not None:
        status, reason = "failed", "HiGHS finds no design where there is one"
    if answer.values is not None and problem.objective is not None:
        design, _ = _decoded(run.encoder, answer.values)
        if _holds(run, design):
            value = _exact(problem, problem.objective, design)
            best = (design, value) if best is None or value < best[1] else best
    return Outcome(
        status,
        None if best is None else best[0],
        None if best is None else best[1],
        bound if isfinite(bound) else -inf,
        run.variables,
        run.constraints,
        False,
        reason,
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

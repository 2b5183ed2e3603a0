"""One run of a program under one schedule, from the initial state to its verdict."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Literal as OneOf

from formwright.ir.evaluate import EvaluationError
from formwright.ir.expr import Scalar
from formwright.ir.formulation import require_program
from formwright.ir.template import Template
from formwright.replay.code import ProgramCode, compile_program
from formwright.replay.compare import CellDefect, expected_cells, wrong_cells, wrong_stages
from formwright.replay.events import Anomaly, AnomalyKind, Event
from formwright.replay.machine import Machine
from formwright.replay.schedule import TEXTUAL, Chooser, Schedule
from formwright.replay.sharing import BudgetError
from formwright.replay.stages import Lines
from formwright.replay.terms import ExpansionError, Polynomial, Terms

DEFAULT_BUDGET = 200_000
PRODUCT_LIMIT = 200_000
"""The most terms that a workload may have to be compared."""

Status = OneOf["exact", "defect", "budget"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """``exact``: every output has exactly its terms and nothing odd was met on the way.

    ``cells``: output cells that are wrong, behind those of the stage that is wrong first.
    ``anomalies``: what went wrong before.
    ``stuck``: what the agents wait for after a deadlock. ``error``: an index or divisor
    without a value. ``barriers``: the most that one agent passed. ``budget`` says nothing.
    """

    status: Status
    cells: tuple[CellDefect, ...] = ()
    anomalies: tuple[Anomaly, ...] = ()
    stuck: tuple[str, ...] = ()
    error: str = ""
    barriers: int = 0
    points: int = 0
    events: tuple[Event, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A program compiled for given values, with what its outputs should be."""

    program: ProgramCode
    expected: Mapping[tuple[int, ...], Polynomial]
    terms: Terms
    lines: Lines


def prepare(template: Template, values: Mapping[str, Scalar]) -> Prepared:
    """Compiles once for many runs.

    Raises ``EvaluationError`` if a tensor has no shape, ``BudgetError`` if the workload has
    more than ``PRODUCT_LIMIT`` terms.
    """
    require_program(template, "replay")
    for line in template.scope.lines:
        extents = [*line.output.extents, *(extent for _, extent in line.reductions)]
        if prod(max(1, int(values[e])) for e in extents) > PRODUCT_LIMIT:
            raise BudgetError
    terms = Terms()
    program = compile_program(template, values)
    lines = Lines(program.template, values, terms)
    return Prepared(program, expected_cells(lines, program.output, terms), terms, lines)


def run(
    template: Template,
    values: Mapping[str, Scalar],
    schedule: Schedule = TEXTUAL,
    budget: int = DEFAULT_BUDGET,
) -> Outcome:
    """Runs ``template`` for concrete extents, agents, decisions and chip fields."""
    try:
        prepared = prepare(template, values)
    except BudgetError:
        return Outcome("budget")
    return run_prepared(prepared, schedule, budget, trace=True)


def run_prepared(
    prepared: Prepared,
    schedule: Schedule,
    budget: int = DEFAULT_BUDGET,
    trace: bool = False,
    until: Collection[AnomalyKind] = (),
) -> Outcome:
    """As :func:`run`, for a program that is compiled. ``trace`` keeps the events.

    The run ends at the first anomaly of ``until``: then nothing is said of the outputs.
    """
    machine = Machine(prepared.program, prepared.terms, prepared.lines, schedule, budget, trace)
    chooser = Chooser(schedule)
    stuck: tuple[str, ...] = ()
    error = ""
    try:
        state = machine.start()
        while enabled := machine.enabled(state):
            machine.step(state, chooser.choose(state, enabled))
            if until and any(a.kind in until for a in machine.memory.anomalies):
                return _outcome(machine, (), (), "")
        if not machine.ended(state):
            stuck = machine.stuck(state)
        machine.memory.enter(state, "")
        output = prepared.program.output
        cells = (
            *wrong_stages(prepared.lines, machine.memory, prepared.terms),
            *wrong_cells(output, prepared.expected, machine.memory, prepared.terms, prepared.lines),
        )
    except (BudgetError, ExpansionError):
        return Outcome("budget", points=machine.points)
    except EvaluationError as problem:
        error, cells = problem.message, ()
    return _outcome(machine, cells, stuck, error)


def _outcome(
    machine: Machine, cells: tuple[CellDefect, ...], stuck: tuple[str, ...], error: str
) -> Outcome:
    anomalies = tuple(machine.memory.anomalies)
    wrong = bool(cells or anomalies or stuck or error)
    return Outcome(
        "defect" if wrong else "exact",
        cells,
        anomalies,
        stuck,
        error,
        machine.most_barriers,
        machine.points,
        tuple(machine.events or ()),
    )

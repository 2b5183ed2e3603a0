"""HiGHS in a child process that is killed at its deadline.

One child is kept warm: it is forked when first needed and takes one model after the other.
What it has found so far reaches the parent while it works, so that a run that is cut off
still leaves its best solution and its bound.
"""

import atexit
import contextlib
import ctypes
import multiprocessing
import os
import resource
import signal
import time
from dataclasses import dataclass
from math import inf
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Literal

import highspy
import numpy as np

from formwright.ir.int_arrays import Array
from formwright.milp.model import Model

Status = Literal["optimal", "infeasible", "cut off", "failed"]

_GRACE_SECONDS = 0.3
"""HiGHS is asked to stop this long before it is killed."""
_MEMORY_BYTES = 6 << 30
"""What the child may allocate beyond what it starts with."""


@dataclass(frozen=True, slots=True)
class Answer:
    """``bound`` is HiGHS's floating-point lower bound; ``values`` its best solution, if any."""

    status: Status
    values: Array | None
    objective: float
    bound: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Arrays:
    """A model as plain arrays: columns, then rows by their nonzeros."""

    cost: Array
    lows: Array
    highs: Array
    integer: Array
    row_lows: Array
    row_highs: Array
    starts: Array
    index: Array
    value: Array


def arrays_of(model: Model, cost: dict[int, float]) -> Arrays:
    """``model`` with the objective ``cost`` to minimise."""
    count = len(model.lows)
    limits = np.array([model.limits(c) for c in range(count)], dtype=float).reshape(-1, 2)
    weights = np.zeros(count)
    for column, weight in cost.items():
        weights[column] = weight
    return Arrays(
        cost=weights,
        lows=limits[:, 0].copy(),
        highs=limits[:, 1].copy(),
        integer=np.array(model.integer, dtype=bool),
        row_lows=np.array([r.low for r in model.rows], dtype=float),
        row_highs=np.array([r.high for r in model.rows], dtype=float),
        starts=np.cumsum([0, *(len(r.terms) for r in model.rows)], dtype=np.int32),
        index=np.array([c for r in model.rows for c in r.terms], dtype=np.int32),
        value=np.array([v for r in model.rows for v in r.terms.values()], dtype=float),
    )


def minimise(arrays: Arrays, seconds: float) -> Answer:
    """The least cost, or what is known of it after ``seconds``; the child is then killed."""
    deadline = time.monotonic() + seconds
    if seconds <= 0:
        return Answer("cut off", None, inf, -inf, "no time is left")
    child = _Child.ready()
    known = Answer("cut off", None, inf, -inf, f"HiGHS was killed after {seconds:g} s")
    try:
        child.pipe.send((arrays, max(0.05, seconds - _GRACE_SECONDS)))
        while child.pipe.poll(max(0.0, deadline - time.monotonic())):
            kind, *rest = child.pipe.recv()
            if kind == "done":
                return Answer(*rest)
            objective, bound, values = rest
            best = known.values if values is None else values
            known = Answer("cut off", best, objective, bound, known.reason)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        known = Answer("failed", known.values, known.objective, known.bound, "HiGHS crashed")
    except BaseException:
        child.kill()
        raise
    child.kill()
    return known


@dataclass(slots=True)
class _Child:
    process: BaseProcess
    pipe: Connection
    owner: int

    @staticmethod
    def ready() -> "_Child":
        """The warm child of this process, started if there is none."""
        child = _CHILDREN.get("warm")
        if child is not None and child.owner == os.getpid() and child.process.is_alive():
            return child
        context = multiprocessing.get_context("fork")
        here, there = context.Pipe()
        process = context.Process(target=_serve, args=(there, here, os.getpid()), daemon=True)
        process.start()
        there.close()
        child = _Child(process, here, os.getpid())
        _CHILDREN["warm"] = child
        return child

    def kill(self) -> None:
        """End the child now."""
        _CHILDREN.pop("warm", None)
        if self.owner == os.getpid():
            self.process.kill()
            self.process.join()
            self.pipe.close()


_CHILDREN: dict[str, _Child] = {}


def warm() -> None:
    """Start the child now, to have it ready when the model is."""
    _Child.ready()


@atexit.register
def stop() -> None:
    """End the warm child, if there is one; the next model starts another."""
    child = _CHILDREN.get("warm")
    if child is not None:
        child.kill()


def child_id() -> int | None:
    """The process id of the warm child."""
    child = _CHILDREN.get("warm")
    return None if child is None else child.process.pid


def _serve(pipe: Connection, other: Connection, parent: int) -> None:
    """The child: models in, progress and answers out, until the pipe closes."""
    other.close()
    _die_with(parent)
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
    _run(_TRIVIAL, 1.0, pipe)  # The first run of a process takes longer than the others.
    while True:
        try:
            arrays, seconds = pipe.recv()
        except EOFError:
            os._exit(0)
        pipe.send(("done", *_run(arrays, seconds, pipe)))


_TRIVIAL = Arrays(
    cost=np.ones(2),
    lows=np.zeros(2),
    highs=np.ones(2),
    integer=np.ones(2, dtype=bool),
    row_lows=np.ones(1),
    row_highs=np.full(1, 3.0),
    starts=np.array([0, 2], dtype=np.int32),
    index=np.array([0, 1], dtype=np.int32),
    value=np.array([1.0, 2.0]),
)


def _die_with(parent: int) -> None:
    """Ask the kernel to end this process when its parent ends."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _run(
    arrays: Arrays, seconds: float, pipe: Connection
) -> tuple[Status, Array | None, float, float, str]:
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for option, value in _OPTIONS.items():
        solver.setOptionValue(option, value)
    solver.setOptionValue("time_limit", seconds)
    solver.passModel(_program(arrays))
    if len(arrays.cost) > _QUIET_COLUMNS:
        _report_progress(solver, pipe)
    else:
        # This heuristic takes longer than all the rest of a small model.
        solver.setOptionValue("mip_heuristic_run_feasibility_jump", False)
    solver.run()
    return _outcome(solver)


_QUIET_COLUMNS = 500
"""Models up to this size are solved too fast for progress to matter."""

_OPTIONS: dict[str, Any] = {
    "output_flag": False,
    "threads": 1,
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 1e-10,
    "mip_feasibility_tolerance": 1e-9,
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
}


def _report_progress(solver: Any, pipe: Connection) -> None:
    def improved(event: Any) -> None:
        out = event.data_out
        values = np.array(out.mip_solution, dtype=float)
        pipe.send(
            ("so far", float(out.objective_function_value), float(out.mip_dual_bound), values)
        )

    def logged(event: Any) -> None:
        out = event.data_out
        pipe.send(("so far", float(out.mip_primal_bound), float(out.mip_dual_bound), None))

    solver.cbMipImprovingSolution.subscribe(improved)
    solver.cbMipLogging.subscribe(logged)


def _program(arrays: Arrays) -> Any:
    program = highspy.HighsLp()
    program.num_col_ = len(arrays.cost)
    program.num_row_ = len(arrays.row_lows)
    program.col_cost_ = arrays.cost
    program.col_lower_, program.col_upper_ = arrays.lows, arrays.highs
    program.row_lower_, program.row_upper_ = arrays.row_lows, arrays.row_highs
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = arrays.starts
    program.a_matrix_.index_ = arrays.index
    program.a_matrix_.value_ = arrays.value
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    program.integrality_ = [kinds[int(i)] for i in arrays.integer]
    return program


def _outcome(solver: Any) -> tuple[Status, Array | None, float, float, str]:
    status, info = solver.getModelStatus(), solver.getInfo()
    values: Array | None = None
    if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        values = np.array(solver.getSolution().col_value, dtype=float)
    objective = float(info.objective_function_value) if values is not None else inf
    bound = float(info.mip_dual_bound)
    name = solver.modelStatusToString(status)
    known = highspy.HighsModelStatus
    if status == known.kOptimal:
        return "optimal", values, objective, bound, ""
    if status == known.kInfeasible:
        return "infeasible", None, inf, inf, ""
    if status in (known.kTimeLimit, known.kInterrupt):
        return "cut off", values, objective, bound, f"HiGHS stopped: {name}"
    return "failed", values, objective, bound, f"HiGHS ended with: {name}"

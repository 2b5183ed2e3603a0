"""The tasks of the study `white-black`: what is searched for, by whom, and with what budget."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from formwright.base.diagnostics import Diagnostic, InputError, nearest
from formwright.flow.study_templates import MADE

SEARCHERS: Final = (
    "flow",
    "random",
    "optuna-tpe",
    "kernel-tuner-annealing",
    "kernel-tuner-greedy",
    "kernel-tuner-genetic",
    "evolution",
)
"""The flow first; ``copied`` is a control beside them and searches nothing."""
TOLD: Final = ("flow-transcript", "evolution-transcript")
"""The flow and the evolutionary search once more, with a transcript's programs: held against each
other, since both have the same proposer."""
USUAL: Final = tuple(s for s in SEARCHERS if s != "kernel-tuner-genetic")
"""Those that run where none is named: two of Kernel Tuner's strategies."""


@dataclass(frozen=True, slots=True)
class Task:
    """An operator at one shape, and the template whose designs are searched: one that ships, or
    ``library``, what the rules make of the contract.

    ``copied_from`` are the extents of the neighbour whose best assignment is the control: another
    task where one has them, else a shape at which the solver alone chooses.
    """

    name: str
    operator: str
    template: str
    extents: Mapping[str, int]
    copied_from: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Budget:
    """What one search may spend: distinct kernels, and seconds of building, validating, measuring
    and of its own thinking together. Whichever ends first ends the search."""

    evaluations: int = 8
    seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class Plan:
    """``timings``: a kernel is timed so often, apart; a seed sees one of them.

    ``final_rounds`` are those of the measurement of all finalists of a task, interleaved.
    """

    tasks: tuple[Task, ...]
    searchers: tuple[str, ...] = USUAL
    seeds: int = 5
    threads: int = 1
    chip: str = "local"
    timings: int = 2
    final_rounds: int = 25
    transcript: Path | None = None
    budget: Budget = field(default_factory=Budget)


def _decode(history: int, neighbour: int) -> Task:
    """The heads of Qwen2.5-0.5B: 2 key heads, 7 queries each, of 64."""
    heads = {"H": 2, "G": 7, "D": 64}
    return Task(
        f"decode-{history}",
        "decode_attention",
        MADE,
        {**heads, "S": history},
        {**heads, "S": neighbour},
    )


TASKS: Final = (
    _decode(512, 1024),
    _decode(1024, 512),
    _decode(2048, 1024),
    _decode(4096, 2048),
    Task(
        "gemm",
        "gemm",
        "packed_gemm",
        {"M": 128, "N": 896, "K": 896},
        {"M": 1000, "N": 1000, "K": 1000},
    ),
)
"""Decode attention at four histories, and the query projection of 128 tokens of the same model."""


def chosen_plan(
    tasks: tuple[str, ...] = (),
    searchers: tuple[str, ...] = (),
    seeds: int = 5,
    evaluations: int = 8,
    seconds: float = 120.0,
    transcript: Path | None = None,
) -> Plan:
    """The study with some of its tasks and searchers, the usual ones where none is named.

    Raises:
        InputError: every name that is none of them.
    """
    known = {task.name: task for task in TASKS}
    told = () if transcript is None else TOLD
    faults = [
        *unknown_names("task", tasks, tuple(known)),
        *unknown_names("searcher", searchers, (*SEARCHERS, *told)),
    ]
    if faults:
        raise InputError(faults)
    return Plan(
        tasks=tuple(known[name] for name in tasks) or TASKS,
        searchers=(
            *(tuple(s for s in SEARCHERS if s in searchers) or (() if searchers else USUAL)),
            *(tuple(s for s in told if s in searchers) or told),
        ),
        seeds=seeds,
        budget=Budget(evaluations, seconds),
        transcript=transcript,
    )


def unknown_names(what: str, names: tuple[str, ...], known: tuple[str, ...]) -> list[Diagnostic]:
    """A fault for each of ``names`` that is none of a study's."""
    return [
        Diagnostic(
            f'no {what} is called "{name}"',
            hint=nearest(name, known) or f"known: {', '.join(known)}",
        )
        for name in names
        if name not in known
    ]

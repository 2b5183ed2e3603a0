"""What is done on a machine, as data: small, picklable, without a path of the machine that asks.

A job reads and writes files below one folder alone: the run's own folder here, a folder made for
it elsewhere. What it comes to is plain JSON data, and the files that it wrote.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Literal, assert_never

from formwright.base.source import Source
from formwright.codegen import Emitted
from formwright.contract.contract import Contract
from formwright.ir.expr import Scalar
from formwright.ir.template import Template
from formwright.measure.plan import Plan
from formwright.measure.programs import Native, Program
from formwright.proof.verdict import LIMITS, Limits
from formwright.walls.study import Method, Study

COUNTEREXAMPLES: Final = "counterexamples.jsonl"
"""In the folder of a run: calls that refused a candidate, which later candidates meet first."""


@dataclass(frozen=True, slots=True)
class Detect:
    """The chip ``name``, measured where the run measures: for ``local``."""

    name: str


@dataclass(frozen=True, slots=True)
class Prove:
    """A template or its text, proved; ``fresh`` whatever is kept."""

    subject: Source | Template
    limits: Limits = LIMITS
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Solve:
    """The best designs of a template by its cost model; ``share`` of them at most are chosen.

    ``fixed``: decisions that keep their values. With ``forgiving`` a template that cannot be
    solved has its fault in the result.
    """

    template: Template
    parameters: Mapping[str, Scalar]
    coefficients: Mapping[str, Fraction]
    share: int
    fixed: Mapping[str, int] = field(default_factory=dict)
    forgiving: bool = False


@dataclass(frozen=True, slots=True)
class Build:
    """One design of a template as a library in ``folder``, for the machine that measures."""

    template: Template
    assignment: Mapping[str, int]
    folder: str


@dataclass(frozen=True, slots=True)
class Compile:
    """C that was emitted already, as a library in ``folder``."""

    emitted: Emitted
    folder: str


@dataclass(frozen=True, slots=True)
class BuildSource:
    """C that somebody else wrote (``text``), as a library in ``folder``, validated."""

    text: str
    folder: str
    contract: Contract
    workloads: Sequence[Mapping[str, int]]
    seed: int
    threads: int


@dataclass(frozen=True, slots=True)
class Validate:
    """``library`` against its contract at ``workloads``, on quick inputs from ``seed``.

    With ``remembering`` the calls in :data:`COUNTEREXAMPLES` come first.
    """

    library: str
    contract: Contract
    workloads: Sequence[Mapping[str, int]]
    seed: int
    threads: int
    remembering: bool = True


@dataclass(frozen=True, slots=True)
class Time:
    """Programs interleaved; the paths of native ones are below the folder.

    With ``sizes`` each library's machine code is measured too.
    """

    programs: Mapping[str, Program]
    contract: Contract
    extents: Mapping[str, int]
    seed: int
    plan: Plan
    sizes: bool = False


@dataclass(frozen=True, slots=True)
class Rate:
    """Calls a second of each library with every core at work."""

    libraries: Mapping[str, str]
    contract: Contract
    extents: Mapping[str, int]
    seed: int


@dataclass(frozen=True, slots=True)
class OtherBuilds:
    """A design built in other ways and run: exactly, and under the sanitizers."""

    template: Template
    assignment: Mapping[str, int]
    source: str
    command: Sequence[str]
    contract: Contract
    boundaries: Mapping[str, Sequence[int]]
    threads: int
    seed: int


@dataclass(frozen=True, slots=True)
class Qualify:
    """A confirmed library, validated with secret seeds and written to ``folder`` if it holds.

    ``candidate``: the fields of the record's candidate without its library.
    """

    library: str
    candidate: Mapping[str, Any]
    contract: Contract
    workload: str
    extents: Mapping[str, int]
    folder: str
    chip: Mapping[str, Any]
    threads: int
    timing: Mapping[str, Any]
    label: str


@dataclass(frozen=True, slots=True)
class Search:
    """One method of a chip study under one ceiling, after ``repairs`` of its model."""

    study: Study
    repairs: Sequence[Mapping[str, Any]]
    budget: Fraction | None
    method: Method
    seed: int


@dataclass(frozen=True, slots=True)
class Rank:
    """Designs of a chip study drawn at random, ranked by its model and by its evaluator."""

    study: Study
    seed: int


Job = (
    Detect
    | Prove
    | Solve
    | Build
    | Compile
    | BuildSource
    | Validate
    | Time
    | Rate
    | OtherBuilds
    | Qualify
    | Search
    | Rank
)

Place = Literal["anywhere", "makes", "bench", "alone"]
"""``makes``: any machine with the compiler of the one that measures. ``bench``: the machine that
measures, beside other work; ``alone``: there, and nothing else meanwhile."""


def place_of(job: Job) -> Place:
    """Where a job may be done."""
    match job:
        case Prove() | Solve() | Search() | Rank():
            return "anywhere"
        case Build() | Compile():
            return "makes"
        case BuildSource() | Validate() | OtherBuilds() | Qualify():
            return "bench"
        case Detect() | Time() | Rate():
            return "alone"
        case _:
            assert_never(job)


def files_of(job: Job) -> tuple[str, ...]:
    """The files that a job reads, those that are there."""
    match job:
        case Detect() | Prove() | Solve() | Build() | Compile() | OtherBuilds() | Search() | Rank():
            return ()
        case BuildSource():
            return (COUNTEREXAMPLES,)
        case Validate(library=library, remembering=remembering):
            return (library, COUNTEREXAMPLES) if remembering else (library,)
        case Time(programs=programs):
            native = (p for p in programs.values() if isinstance(p, Native))
            return tuple(dict.fromkeys(str(p.library) for p in native))
        case Rate(libraries=libraries):
            return tuple(dict.fromkeys(libraries.values()))
        case Qualify(library=library):
            return (library, COUNTEREXAMPLES)
        case _:
            assert_never(job)


def deadline_of(job: Job) -> float:
    """Seconds far beyond what a job's own limits allow: only where a machine hangs are they met.

    Waiting for a turn does not count.
    """
    match job:
        case Prove(limits=limits):
            return 300.0 + 4 * limits.whole
        case Solve():
            return 1200.0
        case Build() | Compile():
            return 600.0
        case Detect() | BuildSource() | Validate() | Time() | Rate():
            return 3600.0
        case OtherBuilds() | Qualify():
            return 2 * 3600.0
        case Search() | Rank():
            return 24 * 3600.0
        case _:
            assert_never(job)


def placed(programs: Mapping[str, Program], folder: Path) -> dict[str, Program]:
    """``programs`` with the paths of native ones below ``folder``."""
    return {
        name: Native(folder / p.library, p.threads, p.ahead) if isinstance(p, Native) else p
        for name, p in programs.items()
    }

"""The study `growth`: a sequence of problems with and without the population.

With it, each problem starts from what those before have left; without it, from nothing. Nothing
else differs: both arms run in processes of their own, in turn, and each keeps its own cache of
proofs along the sequence. The final kernels of both are measured side by side.
"""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from json import loads
from pathlib import Path
from shutil import copyfile, rmtree
from time import monotonic
from typing import Any, Final

from formwright import __version__
from formwright.base.digest import digest
from formwright.base.files import write_text
from formwright.chip.load import local_file
from formwright.contract.operators import operator
from formwright.flow.chips import open_chip
from formwright.flow.growth_child import RESULT
from formwright.flow.growth_results import ARMS, Arm, Grown, GrowthStudy, Ran
from formwright.flow.growth_tasks import GrowthPlan, Posed
from formwright.flow.identity import identify
from formwright.flow.journal import Journal
from formwright.flow.setting import Listener
from formwright.flow.study_results import paired
from formwright.flow.study_timing import side_by_side
from formwright.measure.plan import Plan

POPULATION: Final = "population.sqlite"
LONGEST: Final = 20
"""A run that takes so many times the seconds that it was given is ended."""
LEAST_ROUNDS: Final = 5
COMPARE_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class _Place:
    """One run: which problem, in which arm and repeat, in which folder."""

    plan: GrowthPlan
    out: Path
    index: int
    repeat: int
    arm: Arm

    @property
    def problem(self) -> Posed:
        return self.plan.problems[self.index]

    @property
    def side(self) -> Path:
        """What the runs of an arm in one repeat share."""
        return self.out / f"repeat-{self.repeat}" / self.arm

    @property
    def name(self) -> str:
        return f"{self.index + 1:02d}-{self.problem.name}"

    @property
    def folder(self) -> Path:
        return self.side / self.name

    @property
    def key(self) -> str:
        return f"run/{self.repeat}/{self.name}/{self.arm}"


def run_growth(plan: GrowthPlan, out: Path, listener: Listener) -> GrowthStudy:
    """Every problem in both arms, as often as is repeated; the same call goes on where one stopped.

    A run that was interrupted is begun anew. Problems may be added to the end of the sequence.

    Raises:
        InputError: an ``out`` of another study.
    """
    start = monotonic()
    with Journal(out / "journal.jsonl") as journal:
        _identify(journal, plan, out)
        listener.stage("reading the chip (a first detection takes about 15 s)")
        open_chip("local")
        grown = {n: _Record([], {}, {}) for n in range(len(plan.problems))}
        for repeat in range(plan.repeats):
            for index in range(len(plan.problems)):
                _pair(journal, plan, out, repeat, index, grown[index], listener)
        return GrowthStudy(
            threads=plan.threads,
            repeats=plan.repeats,
            generations=plan.generations,
            problems=tuple(
                Grown(plan.problems[n], tuple(g.runs), paired(g.without, g.with_))
                for n, g in grown.items()
            ),
            journal="journal.jsonl",
            seconds=monotonic() - start,
        )


@dataclass(slots=True)
class _Record:
    """Runs of a problem, and seconds of a call by round of the comparisons."""

    runs: list[Ran]
    with_: dict[str, float]
    without: dict[str, float]


def _identify(journal: Journal, plan: GrowthPlan, out: Path) -> None:
    now = {
        "study": "growth",
        "version": __version__,
        "threads": plan.threads,
        "budget": [plan.generations, plan.proposals, plan.candidates, plan.seconds],
    }
    identify(journal, "study", now, out)


def _pair(
    journal: Journal,
    plan: GrowthPlan,
    out: Path,
    repeat: int,
    index: int,
    record: _Record,
    listener: Listener,
) -> None:
    """Both arms of a problem, which of them first in turn, and their kernels side by side."""
    order = ARMS if (index + repeat) % 2 == 0 else ARMS[::-1]
    found: dict[Arm, dict[str, Any]] = {}
    pairs = len(plan.problems)
    for number, arm in enumerate(order, len(ARMS) * (repeat * pairs + index)):
        place = _Place(plan, out, index, repeat, arm)
        told = f"{place.name}: {arm} the population, repeat {repeat + 1}"
        listener.stage(told, number, len(ARMS) * pairs * plan.repeats)
        found[arm] = journal.step(place.key, partial(_run, place))
        record.runs.append(_ran(place, found[arm], journal.number(place.key)))
    libraries: dict[str, Path] = {
        arm: _Place(plan, out, index, repeat, arm).folder / data["library"]
        for arm, data in found.items()
        if data.get("library")
    }
    if len(libraries) == len(ARMS):
        problem = plan.problems[index]
        key = f"compare/{repeat}/{index + 1:02d}-{problem.name}"
        timed = journal.step(key, partial(_compare, plan, problem, libraries, repeat))
        for arm, rounds in (("with", record.with_), ("without", record.without)):
            rounds |= {f"{repeat}/{n}": v for n, v in timed["rounds"].get(arm, {}).items()}
    seconds = {arm: found[arm].get("first_seconds") for arm in ARMS}
    first = ", ".join(f"{a} {'-' if s is None else f'{s:.1f} s'}" for a, s in seconds.items())
    listener.done(f"{index + 1:02d}-{plan.problems[index].name}: first kernel {first}")


def _run(place: _Place) -> dict[str, Any]:
    """The problem in a process of its own; ``fault`` where it came to nothing."""
    rmtree(place.folder, ignore_errors=True)
    place.folder.mkdir(parents=True)
    store = place.folder / POPULATION
    if place.arm == "with" and place.index:
        before = _Place(place.plan, place.out, place.index - 1, place.repeat, place.arm)
        _copy(before.folder / POPULATION, store)
    file = place.folder / "problem.toml"
    write_text(file, _problem(place))
    command = [sys.executable, "-m", "formwright.flow.growth_child"]
    try:
        child = subprocess.run(
            [*command, str(file), str(place.folder), str(store)],
            env=os.environ | {"XDG_CACHE_HOME": str(_cache(place).absolute())},
            capture_output=True,
            text=True,
            timeout=LONGEST * place.plan.seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"fault": f"ended after {LONGEST * place.plan.seconds:g} s"}
    result = place.folder / RESULT
    if child.returncode or not result.is_file():
        said = child.stderr.strip().splitlines()
        return {"fault": said[-1] if said else "no result"}
    found: dict[str, Any] = loads(result.read_text(encoding="utf-8"))
    # What is kept names no place of this machine.
    del found["agent"]["lines"], found["agent"]["transcript"]
    return {"fault": ""} | found


def _cache(place: _Place) -> Path:
    """The arm's own cache: its proofs, and this machine's figures, which are no part of growth."""
    folder = place.side / "cache"
    chip = folder / "formwright" / "chips" / local_file().name
    if not chip.is_file():
        chip.parent.mkdir(parents=True, exist_ok=True)
        copyfile(local_file(), chip)
    return folder


def _copy(store: Path, to: Path) -> None:
    """A population as it stands, with what its log holds."""
    if store.is_file():
        with closing(sqlite3.connect(store)) as source, closing(sqlite3.connect(to)) as target:
            source.backup(target)


def _problem(place: _Place) -> str:
    plan, problem = place.plan, place.problem
    lines = [
        f'name = "{problem.name}"',
        f'operator = "{problem.operator}"',
        'dtype = "f32"',
        'chip = "local"',
        f"threads = {plan.threads}",
        "baselines = []",
        "[workloads.here]",
        *(f"{name} = {value}" for name, value in problem.extents.items()),
        "[agent]",
        'proposer = "library"',
        f"generations = {plan.generations}",
        f"proposals = {plan.proposals}",
        "diagnose = false",
        "[budget]",
        f"candidates = {plan.candidates}",
        "rounds = 1",
        f"seconds = {plan.seconds:g}",
    ]
    return "\n".join(lines) + "\n"


def _compare(
    plan: GrowthPlan, problem: Posed, libraries: Mapping[str, Path], repeat: int
) -> dict[str, Any]:
    """The final kernels in turn in every round, on inputs that no run has seen."""
    return side_by_side(
        libraries,
        operator(problem.operator).contract(),
        problem.extents,
        threads=plan.threads,
        seed=int(digest([problem.name, "growth"])[:8], 16) + repeat,
        plan=Plan(rounds=plan.rounds, least_rounds=LEAST_ROUNDS, seconds=COMPARE_SECONDS),
    )


def _ran(place: _Place, data: Mapping[str, Any], entry: int | None) -> Ran:
    return Ran(
        arm=place.arm,
        repeat=place.repeat,
        drawn=tuple(data.get("drawn", ())),
        proposed=int(data.get("proposed", 0)),
        proved=int(data.get("proved", 0)),
        template=str(data.get("template", "")),
        rule=str(data.get("rule", "")),
        first_seconds=data.get("first_seconds"),
        seconds=float(data.get("seconds", 0.0)),
        first_latency=data.get("first_latency"),
        latency=data.get("latency"),
        before=str(data.get("agent", {}).get("before", "")),
        fault=str(data["fault"]),
        entry=entry,
    )

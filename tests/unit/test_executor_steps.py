"""Steps that an executor performs: each once, with the machine of every number, losses told."""

import fcntl
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from solver_templates import template

from agent_rooms import Scripted as Proposing
from agent_rooms import room_at
from formwright.base.diagnostics import InputError, fail
from formwright.base.source import Source
from formwright.codegen import detect_target, emit_c
from formwright.contract.operators import operator
from formwright.flow.device import recorded
from formwright.flow.executor import Done, Hearer, Outcome
from formwright.flow.executor_here import HereExecutor
from formwright.flow.job_proving import keep_proved, proved
from formwright.flow.jobs import (
    Build,
    BuildSource,
    Compile,
    Detect,
    Job,
    OtherBuilds,
    Prove,
    Qualify,
    Rank,
    Rate,
    Search,
    Solve,
    Time,
    Validate,
    deadline_of,
    files_of,
    place_of,
)
from formwright.flow.journal import Journal
from formwright.flow.machines import Machine, machine_of, this_machine
from formwright.flow.proving import kept_proof
from formwright.flow.steps import Steps
from formwright.flow.turns import FOLDER
from formwright.lang import load
from formwright.measure.plan import Plan
from formwright.measure.programs import Baseline, Native
from formwright.milp import exact, highs
from formwright.milp import solve as milp_solve
from formwright.walls.study_reader import load_study
from listeners import Heard, Silent

HERE = this_machine()
SOURCE, TEMPLATE = load("direct_gemm")
GEMM = operator("gemm").contract()
ASSIGNMENT = {d.name: d.menu[0] for d in TEMPLATE.decisions}
SMALL = {"M": 8, "N": 8, "K": 8}
STUDY = load_study("pairs")

JOBS: tuple[Job, ...] = (
    Detect("local"),
    Prove(SOURCE),
    Prove(TEMPLATE, fresh=True),
    Solve(TEMPLATE, {"M": 8}, {"c": Fraction(1, 3)}, 2, {"Tm": 4}),
    Build(TEMPLATE, ASSIGNMENT, "build/a"),
    Compile(emit_c(TEMPLATE, ASSIGNMENT, detect_target()), "build/b"),
    BuildSource("int x;", "kernels/a", GEMM, [SMALL], 1, 1),
    Validate("build/a/kernel.so", GEMM, [SMALL], 1, 1),
    Time({"k": Native(Path("a.so")), "n": Baseline("numpy")}, GEMM, SMALL, 1, Plan()),
    Rate({"k": "a.so"}, GEMM, SMALL, 1),
    OtherBuilds(TEMPLATE, ASSIGNMENT, "", ("cc",), GEMM, {"M": [1]}, 1, 1),
    Qualify("a.so", {"source": ""}, GEMM, "w", SMALL, "artifacts/w", {}, 1, {}, "w"),
    Search(STUDY, [{"repairs": []}], None, "random", 1),
    Rank(STUDY, 1),
)


@dataclass
class Scripted:
    """Gives outcomes by key; ``losing`` attempts of each are lost before."""

    outcomes: Mapping[str, dict[str, Any] | Exception]
    losing: int = 0
    machine: Machine = HERE
    asked: list[str] = field(default_factory=list)

    @property
    def spread(self) -> bool:
        return True

    def bench(self, like: Machine | None) -> Machine:
        return self.machine

    def perform(
        self, jobs: Mapping[str, Job], folder: Path, bench: Machine, hearer: Hearer
    ) -> Iterator[tuple[str, Outcome]]:
        for key in jobs:
            for _ in range(self.losing):
                hearer.lost(key, "far-1", "WorkerCrashedError", again=True)
            self.asked.append(key)
            given = self.outcomes[key]
            done = given if isinstance(given, Exception) else Done(given, self.machine, 0.0, 2.0)
            yield key, done


def steps_of(journal: Journal, executor: Any) -> Steps:
    return Steps(journal, journal.path.parent, executor, Silent())


@pytest.mark.parametrize("job", JOBS, ids=lambda j: type(j).__name__)
def test_a_job_is_data_that_comes_through_whole(job: Job) -> None:
    again = pickle.loads(pickle.dumps(job))
    assert again == job
    assert place_of(again) in ("anywhere", "makes", "bench", "alone")
    assert deadline_of(again) > 0
    assert all(not Path(name).is_absolute() for name in files_of(again))


def test_faults_come_through_whole() -> None:
    fault = fail("no such thing", TEMPLATE.span, "look there")
    again = pickle.loads(pickle.dumps(InputError(fault.diagnostics, SOURCE)))
    assert str(again) == str(InputError(fault.diagnostics, SOURCE))
    assert isinstance(again.source, Source)


def test_what_is_timed_is_alone_and_what_runs_is_on_the_machine_that_measures() -> None:
    places = {type(j).__name__: place_of(j) for j in JOBS}
    assert {n for n, p in places.items() if p == "alone"} == {"Detect", "Time", "Rate"}
    on_bench = {n for n, p in places.items() if p == "bench"}
    assert on_bench == {"BuildSource", "Validate", "OtherBuilds", "Qualify"}
    assert places["Build"] == places["Compile"] == "makes"


def test_a_step_is_done_once_and_names_its_machine(tmp_path: Path) -> None:
    jobs: dict[str, Job] = {"measure/a": JOBS[8], "prove/b": JOBS[1]}
    with Journal(tmp_path / "journal.jsonl") as journal:
        first = Scripted({"measure/a": {"x": 1}, "prove/b": {"y": 2}})
        found = steps_of(journal, first).all(jobs)
        assert found["prove/b"] == {"y": 2, "machine": HERE.name}
        assert found["measure/a"] == {"x": 1, "machine": HERE.name, "wall_seconds": 2.0}
        assert machine_of(journal.known(f"machine/{HERE.name}")) == HERE
        assert machine_of(journal.known("bench")) == HERE
        entries = len(journal.entries)
    with Journal(tmp_path / "journal.jsonl") as journal:
        again = Scripted({})
        assert steps_of(journal, again).all(jobs) == found
        assert again.asked == []
        assert len(journal.entries) == entries


def test_a_lost_attempt_is_told_and_counts_as_nothing(tmp_path: Path) -> None:
    heard = Heard()
    with Journal(tmp_path / "journal.jsonl") as journal:
        steps = Steps(journal, tmp_path, Scripted({"build/a": {"n": 1}}, losing=2), heard)
        assert steps.one("build/a", JOBS[4])["n"] == 1
        keys = [e["key"] for e in journal.entries if "build/" in e["key"]]
        assert keys == ["lost/build/a/0", "lost/build/a/1", "build/a"]
        assert journal.known("lost/build/a/1") == {"machine": "far-1", "why": "WorkerCrashedError"}
    assert len(heard.told) == 2
    assert all("made again" in line for line in heard.told)


def test_faults_are_raised_when_all_have_ended(tmp_path: Path) -> None:
    jobs: dict[str, Job] = {"build/a": JOBS[4], "build/b": JOBS[4], "build/c": JOBS[4]}
    outcomes = {"build/a": fail("bad"), "build/b": {"n": 2}, "build/c": ValueError("ours")}

    def refused(error: Exception) -> dict[str, Any] | None:
        return {"error": str(error)} if isinstance(error, InputError) else None

    with Journal(tmp_path / "journal.jsonl") as journal:
        steps = steps_of(journal, Scripted(outcomes))
        with pytest.raises(ValueError, match="ours"):
            steps.all(jobs, refused)
        assert "bad" in journal.known("build/a")["error"]
        assert journal.known("build/b")["n"] == 2
        assert journal.known("build/c") is None


def test_unlike_machines_are_not_mixed_in_one_run(tmp_path: Path) -> None:
    other = replace(HERE, host="elsewhere", cpu="another CPU")
    with Journal(tmp_path / "journal.jsonl") as journal:
        journal.step("bench", other.as_json)
        journal.step("measure/known", lambda: {"x": 1})
        steps = steps_of(journal, HereExecutor())
        # What is known is read on any machine; nothing is added to it on an unlike one.
        assert steps.one("measure/known", JOBS[8]) == {"x": 1}
        with pytest.raises(InputError, match="is measured on elsewhere-"):
            steps.one("measure/new", JOBS[8])
        with pytest.raises(InputError, match="another CPU"):
            steps.one("build/new", JOBS[4])
        assert journal.known("measure/new") is None


def test_another_host_of_the_same_kind_goes_on(tmp_path: Path) -> None:
    twin = replace(HERE, host="twin of it")
    assert HERE.like(twin)
    assert twin.name.startswith("twin-of-it-")
    assert not HERE.like(replace(HERE, isa="other"))
    assert not HERE.like(replace(HERE, cores=HERE.cores + 1))
    with Journal(tmp_path / "journal.jsonl") as journal:
        journal.step("bench", twin.as_json)
        made = steps_of(journal, HereExecutor()).one("build/a", JOBS[4])
        assert made["machine"] == HERE.name
        assert (tmp_path / made["library"]).is_file()


def test_a_solution_by_the_solver_leaves_the_machine_to_a_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HiGHS stays warm in a process that was forked within the turn of the job."""
    monkeypatch.setenv(FOLDER, str(tmp_path / "turns"))
    monkeypatch.setattr(exact, "LARGEST", 10)
    monkeypatch.setattr(milp_solve, "_COUNTED", 1)
    highs.stop()
    menus = {name: tuple(range(1, 21)) for name in "ab"}
    solve = Solve(template(menus, {"C": "a + b >= 30"}, "(a - 5) * b"), {}, {}, 1, forgiving=True)
    with Journal(tmp_path / "journal.jsonl") as journal:
        steps_of(journal, HereExecutor()).compute("solve/t", solve)
    assert highs.child_id() is not None
    with open(tmp_path / "turns" / "at-work") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_journal_that_names_no_machine_does_not_go_on_in_silence(tmp_path: Path) -> None:
    heard = Heard()
    with Journal(tmp_path / "journal.jsonl") as journal:
        journal.step("measure/old/0", lambda: {"programs": {}})
        steps = Steps(journal, tmp_path, HereExecutor(), heard)
        assert steps.bench() == steps.bench() == HERE
    (told,) = heard.told
    assert "does not say on which machine" in told
    assert HERE.name in told


def test_times_of_a_record_name_its_machine(tmp_path: Path) -> None:
    far = replace(HERE, host="far")
    timing = {"programs": {"k": {}}, "machine": far.name, "wall_seconds": 1.0}
    with Journal(tmp_path / "record" / "journal.jsonl") as record:
        record.step(f"machine/{far.name}", far.as_json)
        record.step("measure/one/0", lambda: timing)
    with room_at(tmp_path / "again", Proposing([])) as room:
        room.setting.device = recorded(tmp_path / "record")
        found = room.setting.timed("measure/one/0", ("k",), JOBS[8])
        assert machine_of(room.setting.journal.known(f"machine/{found['machine']}")) == far


def test_a_proof_from_elsewhere_is_kept_if_the_same_solver_made_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, _ = load("gemv_int8_rows")
    data = proved(Prove(source))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    keep_proved(Prove(source), data | {"solver": "z3 0.1"})
    assert kept_proof(source) is None
    keep_proved(Prove(source), data)
    kept = kept_proof(source)
    assert kept is not None
    assert kept.verdict == "proved"

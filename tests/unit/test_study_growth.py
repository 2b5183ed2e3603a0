"""The study `growth`: the same problems with and without what earlier ones left."""

import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from formwright.base.diagnostics import InputError
from formwright.chip.load import local_file
from formwright.contract.problem import load_problem
from formwright.flow import study_growth
from formwright.flow.growth_results import ARMS
from formwright.flow.growth_tasks import PROBLEMS, GrowthPlan, Posed, growth_plan
from formwright.flow.journal import Journal
from formwright.flow.study_growth import run_growth
from formwright.report.study_growth import summary, write_growth
from listeners import Heard

TWO = (
    Posed("first", "gemv", {"N": 32, "K": 48}),
    Posed("second", "gemv", {"N": 64, "K": 100}),
)


def test_the_sequence_meets_operators_again() -> None:
    assert len(PROBLEMS) >= 12
    assert len({p.name for p in PROBLEMS}) == len(PROBLEMS)
    operators = [p.operator for p in PROBLEMS]
    assert sum(o in operators[:n] for n, o in enumerate(operators)) >= 6
    assert growth_plan(3).problems == PROBLEMS[:3]


@pytest.mark.parametrize("number", range(len(PROBLEMS)))
def test_each_problem_is_a_problem_file_without_templates(number: int, tmp_path: Path) -> None:
    plan = growth_plan()
    place = study_growth._Place(plan, tmp_path, number, 0, "with")
    file = tmp_path / "problem.toml"
    file.write_text(study_growth._problem(place))
    problem = load_problem(file)
    assert problem.templates == ()
    assert problem.agent is not None
    assert (problem.agent.proposer, problem.agent.generations) == ("library", plan.generations)
    assert dict(problem.workloads[0].extents) == dict(PROBLEMS[number].extents)


def test_a_population_is_copied_with_what_its_log_holds(tmp_path: Path) -> None:
    store, to = tmp_path / "a.sqlite", tmp_path / "b.sqlite"
    open_ = sqlite3.connect(store)
    open_.execute("PRAGMA journal_mode=WAL")
    open_.execute("CREATE TABLE t (x)")
    open_.execute("INSERT INTO t VALUES (7)")
    open_.commit()
    study_growth._copy(store, to)  # before the log is merged
    assert sqlite3.connect(to).execute("SELECT x FROM t").fetchall() == [(7,)]
    open_.close()
    study_growth._copy(tmp_path / "none.sqlite", tmp_path / "c.sqlite")
    assert not (tmp_path / "c.sqlite").exists()


def ran(latency: float, first: float, drawn: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "fault": "",
        "drawn": list(drawn),
        "proposed": 3,
        "proved": 2,
        "template": "t",
        "rule": "block-rows",
        "first_seconds": first,
        "seconds": 2 * first,
        "first_latency": 2 * latency,
        "latency": latency,
        "library": "kernel.so",
        "agent": {"before": ""},
    }


def journaled(out: Path, plan: GrowthPlan) -> None:
    with Journal(out / "journal.jsonl") as journal:
        for index, problem in enumerate(plan.problems):
            name = f"{index + 1:02d}-{problem.name}"
            drawn = ("t",) if index else ()
            for arm in ARMS:
                helped = arm == "with" and index > 0
                data = ran(1e-5, 4.0, drawn) if helped else ran(2e-5, 12.0)
                journal.step(f"run/0/{name}/{arm}", lambda d=data: d)
            rounds = {
                "with": {str(n): 1e-5 for n in range(5)},
                "without": {str(n): 2e-5 if index else 1e-5 for n in range(5)},
            }
            journal.step(f"compare/0/{name}", lambda r=rounds: {"rounds": r, "failures": {}})


def test_figures_of_both_arms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = GrowthPlan(TWO, repeats=1)
    monkeypatch.setattr(study_growth, "open_chip", lambda name: None)
    with Journal(tmp_path / "journal.jsonl") as journal:
        study_growth._identify(journal, plan, tmp_path)
    journaled(tmp_path, plan)
    heard = Heard()
    result = run_growth(plan, tmp_path, heard)
    assert result.held
    first, second = result.problems
    assert first.ratio is not None
    assert second.ratio is not None
    assert first.ratio.median == pytest.approx(1)
    assert second.ratio.median == pytest.approx(2)
    assert second.of("with")[0].drawn == ("t",)
    assert "1 of 2 problems drew" in summary(result)
    assert "sooner by 3.00x" in summary(result)
    # Which arm goes first takes turns.
    assert [r.arm for r in first.runs] == ["with", "without"]
    assert [r.arm for r in second.runs] == ["without", "with"]
    written = write_growth(result, tmp_path)
    assert len(written[1].read_text().splitlines()) == 5


def test_another_budget_is_another_study(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.jsonl") as journal:
        study_growth._identify(journal, GrowthPlan(TWO), tmp_path)
        with pytest.raises(InputError, match="another budget"):
            study_growth._identify(journal, GrowthPlan(TWO, generations=5), tmp_path)


def place_of(out: Path, operator: str) -> study_growth._Place:
    """A run without the population, with figures of a machine in its cache."""
    plan = GrowthPlan((Posed("one", operator, {"N": 1}),))
    place = study_growth._Place(plan, out, 0, 0, "without")
    chips = place.side / "cache" / "formwright" / "chips"
    chips.mkdir(parents=True)
    (chips / local_file().name).write_text("")
    return place


def test_a_run_that_does_not_end_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(command: list[str], timeout: float, **rest: Any) -> None:
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", late)
    place = place_of(tmp_path, "gemv")
    found = study_growth._run(place)
    assert found == {"fault": "ended after 400 s"}
    shown = study_growth._ran(place, found, 0)
    assert (shown.latency, shown.fault) == (None, "ended after 400 s")


def test_a_process_that_ends_without_a_word_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(command: list[str], **rest: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, -9, "", "\n")

    monkeypatch.setattr(subprocess, "run", killed)
    assert study_growth._run(place_of(tmp_path, "gemv")) == {"fault": "no result"}


@pytest.mark.slow
def test_a_process_that_fails_is_a_fault_of_its_run(tmp_path: Path) -> None:
    found = study_growth._run(place_of(tmp_path, "no_such_operator"))
    assert "no_such_operator" in found["fault"]


@pytest.mark.slow
def test_the_second_problem_draws_what_the_first_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out = Path("study")  # as a command gives it: the processes must find their caches all the same
    result = run_growth(GrowthPlan(TWO, repeats=1, rounds=5, generations=1), out, Heard())
    assert result.held
    first, second = result.problems
    assert first.of("with")[0].drawn == ()
    assert second.of("with")[0].drawn
    assert all(r.drawn == () for p in result.problems for r in p.of("without"))
    again = run_growth(GrowthPlan(TWO, repeats=1, rounds=5, generations=1), out, Heard())
    assert str(tmp_path) not in (out / "journal.jsonl").read_text()
    assert again.problems == result.problems

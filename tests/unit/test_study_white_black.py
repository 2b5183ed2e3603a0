"""`white-black` as a study: what is compared with what, resuming, and what its figures say."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock
from time import sleep
from typing import Any

import pytest

from formwright.agent.protocol import Proposal, Reply, Request, Spent
from formwright.agent.recorded import Recorded
from formwright.agent.replay import Recording
from formwright.base.diagnostics import InputError
from formwright.base.digest import digest
from formwright.cli.main import run
from formwright.contract.matching import matches
from formwright.contract.operators import operator
from formwright.flow import study_final, study_searching, study_white_black
from formwright.flow.blackbox_evaluator import Evaluator
from formwright.flow.blackbox_quiet import Quiet
from formwright.flow.study_results import (
    Found,
    Row,
    Spread,
    TaskResult,
    WhiteBlack,
    median_of,
    paired,
    spread,
    standing_of,
)
from formwright.flow.study_tasks import SEARCHERS, TASKS, TOLD, Budget, Plan, chosen_plan
from formwright.flow.study_templates import template_of
from formwright.flow.study_workers import run_jobs
from formwright.lang import load
from formwright.report.study_white_black import report_text, summary, write_white_black
from listeners import Heard, Silent

CALLS: list[str] = []


def seconds_of(key: str) -> float:
    return 1e-6 * (100 + int(key[:4], 16) % 97)


@pytest.fixture(scope="module")
def no_kernels() -> Iterator[None]:
    """Nothing is compiled or run: a kernel's time is made of its key."""

    def emit(self: Evaluator, template: Any, assignment: Mapping[str, int]) -> tuple[Any, ...]:
        key = digest([template.name, dict(assignment)])[:16]
        return key, object(), 0.0

    def build(self: Evaluator, key: str, emitted: Any) -> dict[str, Any]:
        CALLS.append(key)
        return {"library": f"build/{key}/kernel.so", "seconds": 1.0}

    def valid(self: Evaluator, library: Path) -> dict[str, Any]:
        return {"verdict": "held", "message": "", "seconds": 0.5, "runs": 1}

    def time(self: Evaluator, library: Path, *rest: Any) -> dict[str, Any]:
        return {"seconds": seconds_of(library.parent.name), "took": 0.25}

    def measured(room: Any, keys: list[str]) -> dict[str, Any]:
        seconds = {key: seconds_of(key) for key in keys}
        rounds = {k: {str(n): s * (1 + n / 100) for n in range(9)} for k, s in seconds.items()}
        return {"rounds": rounds, "seconds": seconds, "failures": {}, "queue_share": 0.0}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Evaluator, "_emit", emit)
        patch.setattr(Evaluator, "_build", build)
        patch.setattr(Evaluator, "_validate", valid)
        patch.setattr(Evaluator, "_time", time)
        patch.setattr(study_final, "_measure", measured)
        yield


def small(**changes: Any) -> Plan:
    plan = Plan(
        tasks=tuple(replace(t, template="decode_attention_heads") for t in TASKS[:2]),
        searchers=("flow", "random", "optuna-tpe"),
        seeds=2,
        budget=Budget(4, 1e9),
    )
    return replace(plan, **changes)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """A chip of its own, so that nothing is detected."""
    chip = tmp_path_factory.mktemp("chip") / "made-up.toml"
    chip.write_text(CHIP)
    return small(chip=str(chip))


CHIP = """\
[chip]
name = "made-up"
description = "figures of no machine"

[fields]
cores = { value = 2, source = "made up" }
vector_lanes = { value = 8, source = "made up" }
vector_registers = { value = 16, source = "made up" }
clock = { value = "3 GHz", source = "made up" }
dram_bandwidth = { value = "20 GB/s", source = "made up" }
core_dram_bandwidth = { value = "12 GB/s", source = "made up" }
l3_bandwidth = { value = "60 GB/s", source = "made up" }
l2_bandwidth = { value = "120 GB/s", source = "made up" }
l2_bytes = { value = "2 MiB", source = "made up" }
l3_bytes = { value = "32 MiB", source = "made up" }
"""


@dataclass(frozen=True)
class Run:
    out: Path
    result: WhiteBlack
    built: tuple[str, ...]


@pytest.fixture(scope="module")
def whole(plan: Plan, no_kernels: None, tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("study") / "out"
    CALLS.clear()
    return Run(out, study_white_black.run_white_black(plan, out, Silent()), tuple(CALLS))


def test_every_searcher_has_the_same_budget(plan: Plan, whole: Run) -> None:
    result = whole.result
    assert [t.name for t in result.tasks] == ["decode-512", "decode-1024"]
    for task in result.tasks:
        assert task.proof == "proved"
        assert task.designs == 77
        assert [r.searcher for r in task.rows] == list(plan.searchers)
        for row in task.rows:
            assert len(row.found) == 2
            for found in row.found:
                assert found.evaluations == 4
                # A kernel costs the same whoever asks for it, done before or not.
                assert found.spent >= 4 * 1.75
                assert found.seconds == seconds_of(found.key)
                assert found.curve[-1][2] == found.searched_seconds


def test_the_copied_assignment_is_the_best_of_the_neighbour(whole: Run) -> None:
    one, other = whole.result.tasks
    assert one.copied is not None
    assert one.copied.note == "measured best of decode-1024"
    ours = next(r for r in other.rows if r.searcher == "flow")
    assert [f.assignment for f in one.copied.found] == [f.assignment for f in ours.found]
    assert all(f.evaluations == 1 for f in one.copied.found)


def test_a_study_resumes_with_nothing_done_twice(plan: Plan, whole: Run, tmp_path: Path) -> None:
    lines = (whole.out / "journal.jsonl").read_bytes().splitlines(keepends=True)
    assert len(whole.built) == len(set(whole.built))
    again = study_white_black.run_white_black(plan, whole.out, Silent())
    assert replace(again, seconds=0.0) == replace(whole.result, seconds=0.0)
    cut = tmp_path / "cut"
    cut.mkdir()
    (cut / "journal.jsonl").write_bytes(b"".join(lines[: len(lines) * 2 // 3]) + b'{"torn')
    resumed = study_white_black.run_white_black(plan, cut, Silent())
    for a, b in zip(resumed.tasks, whole.result.tasks, strict=True):
        for one, other in zip(a.rows, b.rows, strict=True):
            assert [f.key for f in one.found] == [f.key for f in other.found]
            assert one.standing == other.standing


@pytest.mark.usefixtures("no_kernels")
def test_more_seeds_may_be_added_and_another_budget_may_not(plan: Plan, tmp_path: Path) -> None:
    plan = replace(plan, tasks=plan.tasks[:1], searchers=("random",))
    out = tmp_path / "out"
    study_white_black.run_white_black(replace(plan, seeds=1), out, Silent())
    more = study_white_black.run_white_black(plan, out, Silent())
    assert len(more.tasks[0].rows[0].found) == 2
    with pytest.raises(InputError, match="another budget"):
        study_white_black.run_white_black(replace(plan, budget=Budget(5, 1e9)), out, Silent())


@pytest.mark.usefixtures("no_kernels")
def test_the_folder_of_another_run_is_refused(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").write_text(
        json.dumps({"schema": 1, "number": 0, "time": "", "key": "problem", "data": {}}) + "\n"
    )
    with pytest.raises(InputError, match="holds another run"):
        study_white_black.run_white_black(plan, tmp_path, Silent())


class Answers:
    """Proposes these texts in one answer."""

    name = "answers"

    def __init__(self, *texts: str) -> None:
        self.texts = texts

    def propose(self, request: Request) -> Reply:
        return Reply(tuple(Proposal(t, "fw", "by hand") for t in self.texts), Spent())


@pytest.fixture(scope="module")
def transcript(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text that is none, one that is proved, and last one of another operator."""
    path = tmp_path_factory.mktemp("told") / "transcript.jsonl"
    texts = ("nothing", load("decode_attention_heads")[0].text, load("softmax_rows")[0].text)
    Recording(Answers(*texts), path).propose(Request("new", 1, 0, "", (), {}))
    return path


@pytest.mark.usefixtures("no_kernels")
def test_a_transcript_is_a_proposer_of_the_flow_and_of_evolution(
    plan: Plan, transcript: Path, tmp_path: Path
) -> None:
    asked = replace(
        plan,
        tasks=plan.tasks[:1],
        searchers=("flow-transcript", "evolution-transcript"),
        seeds=1,
        transcript=transcript,
    )
    (task,) = study_white_black.run_white_black(asked, tmp_path / "out", Silent()).tasks
    flow, evolution = task.rows
    assert flow.found[0].template == "decode_attention_heads"
    assert flow.found[0].evaluations == evolution.found[0].evaluations == 4
    assert flow.standing is None
    assert evolution.standing in ("ahead", "even", "behind")


@pytest.mark.usefixtures("no_kernels")
def test_a_transcript_may_be_added_and_another_may_not(
    plan: Plan, transcript: Path, tmp_path: Path
) -> None:
    plan = replace(plan, tasks=plan.tasks[:1], searchers=("flow-transcript",), seeds=1)
    out = tmp_path / "out"
    (task,) = study_white_black.run_white_black(plan, out / "none", Silent()).tasks
    assert task.rows[0].seconds is None
    study_white_black.run_white_black(replace(plan, searchers=("random",)), out, Silent())
    study_white_black.run_white_black(replace(plan, transcript=transcript), out, Silent())
    other = tmp_path / "other.jsonl"
    Recording(Answers("nothing"), other).propose(Request("new", 1, 0, "", (), {}))
    with pytest.raises(InputError, match="another transcript"):
        study_white_black.run_white_black(replace(plan, transcript=other), out, Silent())


def test_a_recorded_program_is_drawn_by_seed_and_number(transcript: Path) -> None:
    recorded = Recorded(transcript)
    assert len(recorded.proposals) == 3
    asked = [Request("adapt", n, 5, "", (), {}) for n in range(12)]
    drawn = [recorded.propose(r).proposals for r in asked]
    assert drawn == [recorded.propose(r).proposals for r in asked]
    assert {p.text for (p,) in drawn} == {p.text for p in recorded.proposals}
    assert recorded.propose(replace(asked[0], kind="new")).problem
    with pytest.raises(InputError, match="no transcript"):
        Recorded(transcript.parent / "another.jsonl")


def test_files_have_a_line_for_each_search(whole: Run, tmp_path: Path) -> None:
    write_white_black(whole.result, tmp_path)
    told = json.loads((tmp_path / "result.json").read_text())
    assert told["held"] == whole.result.held
    report = (tmp_path / "report.md").read_text()
    assert report.count("| random |") == 2
    assert "## decode-1024" in report
    rows = (tmp_path / "searches.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * 4 * 2
    lines = (whole.out / "journal.jsonl").read_text().splitlines()
    entry = told["tasks"][0]["rows"][1]["found"][1]["entry"]
    assert json.loads(lines[entry])["key"] == "search/decode-512/random/1"


def found(seconds: float | None, key: str, seed: int = 0) -> Found:
    return Found(seed, "t", {}, key, seconds, seconds, 4, 0, 1.0, (), None)


def row(name: str, ratio: float, standing: Any) -> Row:
    return Row(name, (), None, Spread(ratio, ratio, ratio), standing)


def task(name: str, *rows: Row) -> TaskResult:
    return TaskResult(name, "t", {}, 1, "proved", rows, None, None, None)


def test_the_same_kernel_is_even_and_no_advantage() -> None:
    assert standing_of("a", "a", Spread(1.0, 1.0, 1.0)) == "even"
    assert standing_of("a", "b", Spread(1.1, 0.9, 1.2)) == "ahead"
    assert standing_of("a", "b", Spread(0.9, 0.8, 1.2)) == "behind"
    assert standing_of("a", "b", None) is None
    assert not task("one", row("random", 1.0, "even")).ahead
    assert task("one", row("random", 1.0, "even")).near


def test_an_advantage_within_the_noise_reads_as_one() -> None:
    unsure = Row("random", (), None, Spread(1.1, 0.9, 1.2), "ahead")
    lost = Row("optuna-tpe", (), None, Spread(0.9, 0.8, 1.0), "behind")
    sure = Row("evolution", (), None, Spread(1.1, 1.01, 1.2), "ahead")
    same = Row("copied", (), None, Spread(1.0, 1.0, 1.0), "even")
    tasks = (task("one", unsure, lost, sure, same),)
    lines = report_text(WhiteBlack("c", 1, 5, 12, 60.0, tasks, 0, "", 0.0)).splitlines()
    said = [line.split("|")[-2].strip() for line in lines if line.startswith("| ")][2:]
    assert said == ["ahead, not told apart", "behind, not told apart", "ahead", "even"]


def test_the_claim_needs_four_of_five_ahead_and_none_far_behind() -> None:
    good, near, far = (
        task("good", row("random", 1.1, "ahead"), row("optuna-tpe", 1.001, "ahead")),
        task("near", row("random", 1.1, "ahead"), row("optuna-tpe", 0.985, "behind")),
        task("far", row("random", 0.95, "behind"), row("optuna-tpe", 1.2, "ahead")),
    )

    def of(*tasks: TaskResult) -> WhiteBlack:
        return WhiteBlack("c", 1, 5, 12, 60.0, tasks, 0, "", 0.0)

    assert of(good, good, good, good, near).held
    assert of(good, good, good, good, good).held
    assert not of(good, good, good, near, near).held
    assert not of(good, good, good, good, far).held
    assert "on 4 of 5 tasks" in summary(of(good, good, good, good, far))
    assert "-5.0% to random" in summary(of(good, good, good, good, far))


def test_what_was_not_compared_is_no_advantage() -> None:
    """A searcher that is not installed, or a task where the flow has no kernel: nothing is told."""
    ours, theirs = row("random", 1.1, "ahead"), Spread(1e-6, 1e-6, 1e-6)
    missing = Row("optuna-tpe", (), None, None, None, "not run: optuna is not installed")
    alone = Row("random", (), theirs, None, None)
    nothing = Row("optuna-tpe", (), None, None, None)
    good = task("good", ours)
    for bad in (task("missing", ours, missing), task("no kernel of the flow", alone)):
        assert not bad.ahead
        assert not bad.near
        assert not WhiteBlack("c", 1, 5, 12, 60.0, (good,) * 4 + (bad,), 0, "", 0.0).held
    assert task("it found nothing", ours, nothing).ahead


def test_a_searcher_without_its_package_says_so(
    plan: Plan, no_kernels: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = Heard()
    monkeypatch.setattr(study_searching, "find_spec", lambda name: None)
    few = replace(plan, searchers=("flow", "random", "optuna-tpe"), tasks=plan.tasks[:1], seeds=1)
    found = study_white_black.run_white_black(few, tmp_path / "out", heard)
    assert not found.held
    (line,) = [x for x in heard.told if "optuna-tpe" in x]
    assert "not run: optuna is not installed (pip install" in line


def test_medians_and_pairs() -> None:
    assert spread([]) is None
    assert spread([3.0, 1.0, 2.0]) == Spread(2.0, 1.0, 3.0)
    middle = median_of([found(3.0, "a"), found(None, "b"), found(1.0, "c"), found(2.0, "d")])
    assert middle is not None
    assert middle.key == "d"
    ratio = paired({"0": 2.0, "1": 4.0, "7": 1.0}, {"0": 1.0, "1": 2.0})
    assert ratio == Spread(2.0, 2.0, 2.0)
    assert paired({"0": 1.0}, {"1": 1.0}) is None


def test_names_that_are_none_are_all_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["study", "white-black", "--task", "decode-51", "--searcher", "optuna"]) == 2
    told = capsys.readouterr().err
    assert 'no task is called "decode-51"' in told
    assert "decode-512" in told
    assert "optuna-tpe" in told


def test_what_the_library_makes_of_decode_attention_is_the_template_of_its_tasks() -> None:
    contract = operator("decode_attention").contract()
    template = template_of(TASKS[0].template, contract)
    assert not matches(template, contract)
    assert template.cost is not None
    assert template_of(TASKS[0].template, contract) == template
    assert {"Gr"} < {d.name for d in template.decisions}
    assert template_of("packed_gemm", operator("gemm").contract()).name == "packed_gemm"


def test_the_plan_has_the_tasks_of_the_claim() -> None:
    plan = chosen_plan()
    assert [t.extents["S"] for t in plan.tasks if "S" in t.extents] == [512, 1024, 2048, 4096]
    assert [t.operator for t in plan.tasks].count("gemm") == 1
    assert set(plan.searchers) == set(SEARCHERS) - {"kernel-tuner-genetic"}
    assert plan.seeds == 5
    assert chosen_plan(("gemm",), ("random", "flow")).searchers == ("flow", "random")
    told = Path("transcripts")
    assert chosen_plan((), ("flow",), transcript=told).searchers == ("flow", *TOLD)
    assert chosen_plan((), TOLD[1:], transcript=told).searchers == TOLD[1:]
    with pytest.raises(InputError, match="flow-transcript"):
        chosen_plan((), TOLD)


def test_a_timing_is_alone_and_no_kernel_is_built_twice() -> None:
    """Threads that build and time as searches do; the log of who did what is then looked at."""
    quiet, log, guard = Quiet(), [], Lock()

    def note(*what: Any) -> None:
        with guard:
            log.append(what)

    def search(number: int) -> None:
        for kernel in ("a", "b", "c"):
            with quiet.mine(kernel):
                note("build", number)
                sleep(0.001)
                note("built", number)
                with quiet.alone():
                    note("time", number)
                    sleep(0.001)
                    note("timed", number)

    run_jobs([("random", partial(search, n)) for n in range(6)], 3, quiet)
    assert len(log) == 6 * 3 * 4
    for place, (what, number) in enumerate(log):
        if what == "time":
            assert log[place + 1] == ("timed", number)
    building: set[int] = set()
    for what, number in log:
        if what == "time":
            assert building <= {number}
        if what == "build":
            building.add(number)
        if what == "built":
            building.discard(number)


def test_no_search_waits_for_another_to_end_before_it_may_time() -> None:
    """Two threads that always have work: their timings take turns."""
    quiet, order = Quiet(), list[int]()

    def search(number: int) -> None:
        for kernel in range(20):
            with quiet.mine(f"{number} {kernel}"):
                sleep(0.001)
                with quiet.alone():
                    order.append(number)

    run_jobs([("random", partial(search, n)) for n in range(2)], 2, quiet)
    first = order[:20]
    assert min(first.count(0), first.count(1)) > 4


def test_one_search_of_kernel_tuner_at_a_time_and_a_fault_ends_all() -> None:
    quiet, running, most = Quiet(), [0], [0]

    def tuned() -> None:
        running[0] += 1
        most[0] = max(most[0], running[0])
        sleep(0.002)
        running[0] -= 1

    run_jobs([("kernel-tuner-greedy", tuned)] * 4 + [("random", lambda: None)], 3, quiet)
    assert most[0] == 1
    later: list[int] = []

    def broken() -> None:
        raise ZeroDivisionError

    def endless() -> None:
        while True:
            with quiet.mine("kernel"):
                later.append(1)

    with pytest.raises(ZeroDivisionError):
        run_jobs([("random", endless), ("flow", broken)], 2, quiet)
    assert later

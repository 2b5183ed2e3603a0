"""Jobs on a real Ray cluster: the same results, losses told, measurements that never overlap."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.contract.operators import operator
from formwright.flow.executor import Done
from formwright.flow.executor_here import HereExecutor
from formwright.flow.jobs import Build, Job, Prove, Solve, Time, Validate
from formwright.flow.journal import Journal
from formwright.flow.machines import Machine, this_machine
from formwright.flow.steps import Steps
from formwright.lang import load
from formwright.measure.plan import Plan
from formwright.measure.programs import Native
from listeners import Heard

ray = pytest.importorskip("ray", reason="the extra ray is not installed")

if TYPE_CHECKING:
    from formwright.flow.executor_ray import RayExecutor

SOURCE, TEMPLATE = load("gemv_rows")
GEMV = operator("gemv").contract()
SMALL = {"N": 64, "K": 64}


class Silently:
    def lost(self, key: str, where: str, why: str, *, again: bool) -> None:
        raise AssertionError(f"{key} was lost: {why}")

    def say(self, text: str) -> None: ...


@pytest.fixture(scope="module")
def executor() -> "Iterator[RayExecutor]":
    """One cluster for the module: to start one takes seconds."""
    from ray_clusters import cluster

    with cluster() as made:
        yield made


def assignment(number: int) -> dict[str, int]:
    return {d.name: d.menu[number % len(d.menu)] for d in TEMPLATE.decisions}


def jobs(count: int) -> dict[str, Job]:
    found: dict[str, Job] = {f"prove/{n}": Prove(SOURCE, fresh=True) for n in range(count)}
    for n in range(count):
        found[f"build/{n}"] = Build(TEMPLATE, assignment(n), f"build/{n}")
    return found


def kept(found: dict[str, Any], out: Path) -> dict[str, Any]:
    """What may not depend on who did it: verdicts, and the bytes of libraries."""
    return {
        key: (out / data["library"]).read_bytes()
        if key.startswith("build/")
        else [(o["name"], o["verdict"], o["evidence"]) for o in data["full"]["obligations"]]
        for key, data in found.items()
    }


def test_a_cluster_and_this_process_come_to_the_same(
    executor: "RayExecutor", tmp_path: Path
) -> None:
    results = []
    for name, one in (("here", HereExecutor()), ("ray", executor)):
        out = tmp_path / name
        with Journal(out / "journal.jsonl") as journal:
            found = Steps(journal, out, one, Heard()).all(jobs(1))
            assert {d["machine"] for d in found.values()} == {this_machine().name}
            library = found["build/0"]["library"]
            held = Steps(journal, out, one, Heard()).one(
                "validate/0", Validate(library, GEMV, [SMALL], 1, 1)
            )
            results.append(kept(found, out) | {"held": (held["verdict"], held["runs"])})
    assert results[0] == results[1]
    assert results[0]["held"][0] == "held"


def test_two_measurements_never_overlap(executor: "RayExecutor", tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.jsonl") as journal:
        heard = Heard()
        steps = Steps(journal, tmp_path, executor, heard)
        made = steps.one("build/0", Build(TEMPLATE, assignment(0), "build/0"))
        program = {"k": Native(Path(made["library"]))}
        plan = Plan(rounds=2, least_rounds=2, seconds=0.1, batch_seconds=0.002)
        timing = {f"t/{n}": Time(program, GEMV, SMALL, n, plan) for n in range(2)}
        beside = {"p/0": Prove(SOURCE, fresh=True)}
        done = steps.outcomes({**timing, **beside})
    spans = []
    for key, outcome in done.items():
        assert isinstance(outcome, Done), outcome
        spans.append((outcome.began, outcome.began + outcome.seconds, key[0]))
    alone = sorted(s for s in spans if s[2] == "t")
    assert len(alone) == 2
    for began, ended, _ in alone:
        others = [s for s in spans if s != (began, ended, "t")]
        assert all(o[1] <= began or ended <= o[0] for o in others), sorted(spans)


@pytest.mark.slow
def test_a_killed_worker_is_told_and_its_job_made_again(
    executor: "RayExecutor", tmp_path: Path
) -> None:
    from ray_clusters import workers_at_work

    stopped = threading.Event()
    killed: list[int] = []

    def kill() -> None:
        while not stopped.is_set() and not killed:
            for pid in workers_at_work()[:1]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
            time.sleep(0.01)

    thread = threading.Thread(target=kill)
    thread.start()
    heard = Heard()
    try:
        with Journal(tmp_path / "journal.jsonl") as journal:
            found = Steps(journal, tmp_path, executor, heard).all(jobs(2))
            keys = [e["key"] for e in journal.entries]
    finally:
        stopped.set()
        thread.join()
    assert killed
    assert all(found[f"prove/{n}"]["verdict"] == "proved" for n in range(2))
    assert len(keys) == len(set(keys))
    lost = [k for k in keys if k.startswith("lost/")]
    assert len(lost) == 1
    assert lost[0].removeprefix("lost/").removesuffix("/0") in found
    assert any("WorkerCrashedError" in line and "made again" in line for line in heard.told)


def test_a_fault_of_a_job_is_its_outcome(executor: "RayExecutor", tmp_path: Path) -> None:
    broken = Source("broken.fw", "template x : operator -> mapping\n  nonsense\n")
    with Journal(tmp_path / "journal.jsonl") as journal:
        steps = Steps(journal, tmp_path, executor, Heard())
        with pytest.raises(InputError, match=r"broken\.fw:2"):
            steps.one("prove/broken", Prove(broken))
        none = Build(TEMPLATE, {}, "build/none")
        with pytest.raises(InputError, match="decision"):
            steps.one("build/none", none)
        assert [e["key"] for e in journal.entries] == ["bench"]


def test_an_address_without_a_cluster_is_bad_input(executor: "RayExecutor") -> None:
    """And ends no cluster that this process has joined."""
    from formwright.flow.executors import open_executor

    for text, why in (
        ("rain", "no executor"),
        ("here=x", "no executor"),
        ("ray=ray://h:1", "client"),
        ("ray=rain", "no address of a cluster"),
        ("ray=127.0.0.1:1", "no Ray cluster to join at 127"),
        ("ray=127.0.0.1:99999", "no Ray cluster to join at 127"),
    ):
        with pytest.raises(InputError, match=why), open_executor(text):
            pass
    assert ray.is_initialized()
    assert executor.bench(None).like(this_machine())


def test_a_cluster_is_not_told_the_command_line(executor: "RayExecutor") -> None:
    """It shows it to all who reach it, and ours may have the password of a population."""
    from ray._private.state import state
    from ray.core.generated import gcs_pb2

    table = state._connect_and_get_accessor().get_job_table(
        skip_submission_job_info_field=True, skip_is_running_tasks_field=True
    )
    told = [gcs_pb2.JobTableData.FromString(row).entrypoint for row in table]
    assert told
    assert set(told) == {"formwright"}


def test_a_job_that_goes_anywhere_asks_for_no_machine_like_that_of_the_command(
    executor: "RayExecutor", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker with other code does nothing: then it goes to the one that measures."""
    from formwright.flow.executor_worker import Answer, package_digest

    head = replace(this_machine(), host="head", cpu="another CPU")
    sent: list[str | None] = []

    def answered(job: Job, folder: Path, bench: Machine, node: str | None) -> Any:
        sent.append(node)
        return ray.put(
            Answer(this_machine(), unfit="another version of formwright")
            if node is None
            else Answer(this_machine(), data={"code": package_digest()})
        )

    monkeypatch.setattr(type(executor), "_sent", staticmethod(answered))
    job = Solve(TEMPLATE, {}, {}, 1)
    done = dict(executor.perform({"solve/0": job}, tmp_path, head, Silently()))
    assert isinstance(done["solve/0"], Done)
    assert sent[0] is None
    assert sent[1] in {n["NodeID"] for n in ray.nodes()}


def test_a_node_without_a_core_for_jobs_does_not_measure() -> None:
    from formwright.flow.executor_ray import BENCH, _measuring

    nodes = [
        {"NodeID": "a", "Resources": {BENCH: 1}},
        {"NodeID": "b", "Resources": {BENCH: 1, "CPU": 2}},
        {"NodeID": "c", "Resources": {"CPU": 2}},
    ]
    assert _measuring(nodes, "c") == ["b"]
    assert _measuring(nodes[:1], "a") == []
    assert _measuring(nodes[2:], "c") == ["c"]
    assert _measuring([{"NodeID": "c", "Resources": {}}], "c") == []


def test_a_machine_without_this_package_is_told_of() -> None:
    from ray.exceptions import RayTaskError

    from formwright.flow.executor_ray import _broken

    words = "The remote function failed to import on the worker. This may be because ..."
    error = RayTaskError("work", words, RuntimeError(words))
    assert isinstance(_broken(error), InputError)
    assert not isinstance(_broken(RayTaskError("work", "full", OSError("full"))), InputError)


@pytest.mark.slow
def test_a_text_that_ends_each_verifier_does_not_end_the_others(
    executor: "RayExecutor", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ending() -> None:
        os._exit(1)

    ends = ray.remote(max_retries=0, num_cpus=0)(ending)
    sent = type(executor)._sent

    def answered(self: Any, job: Job, folder: Path, bench: Machine, node: str | None) -> Any:
        hostile = isinstance(job, Prove) and job.subject is other
        return ends.remote() if hostile else sent(self, job, folder, bench, node)

    other = Source("other.fw", SOURCE.text)
    monkeypatch.setattr(type(executor), "_sent", answered)
    with Journal(tmp_path / "journal.jsonl") as journal:
        heard = Heard()
        steps = Steps(journal, tmp_path, executor, heard)
        done = steps.outcomes({"judge/0": Prove(other), "judge/1": Prove(SOURCE)})
        lost = [e["key"] for e in journal.entries if e["key"].startswith("lost/")]
    assert isinstance(done["judge/0"], InputError)
    assert isinstance(done["judge/1"], Done)
    assert lost == [f"lost/judge/0/{n}" for n in range(3)]
    ends_of = [line.rsplit("; ", 1)[-1] for line in heard.told if "lost" in line]
    assert ends_of == ["made again", "made again", "given up"]

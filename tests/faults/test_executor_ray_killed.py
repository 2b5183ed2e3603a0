"""A worker killed, then the driver, in the middle of a run on a cluster: the same run comes of it.

Slow: a cluster of its own, three runs of the command.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="the extra ray is not installed")
pytestmark = pytest.mark.slow

PROBLEM = """
name = "killed"
operator = "gemv"
templates = ["gemv_rows"]
chip = "local"
threads = 1
baselines = []
workloads.one = { N = 37, K = 41 }
[budget]
candidates = 4
rounds = 1
seconds = 600
"""
OPEN = {"RAY_AUTH_MODE": "disabled"}
"""On 127.0.0.1 alone: a token in the home of whoever runs the tests does not count."""
RUN = "import sys; from formwright.cli.main import run; sys.exit(run(sys.argv[1:]))"


@pytest.fixture(scope="module")
def head(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """The address of a cluster that lives on when a driver dies, and its first process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Paths of sockets are short: no folder of pytest's.
    command = ["start", "--head", "--block", f"--port={port}", "--node-ip-address=127.0.0.1"]
    command += ["--num-cpus=2", "--include-dashboard=false", "--disable-usage-stats"]
    command += [f"--object-store-memory={128 << 20}"]
    log = tmp_path_factory.mktemp("ray") / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [str(Path(sys.executable).parent / "ray"), *command],
            stdout=out,
            stderr=out,
            start_new_session=True,
            env=os.environ | OPEN | {"XDG_CACHE_HOME": str(log.parent)},
        )
    try:
        until(lambda: "Ray runtime started" in log.read_text(), 240.0, log.read_text)
        yield f"127.0.0.1:{port}", process.pid
    finally:
        # It ends the processes of its cluster, and no others.
        process.send_signal(signal.SIGTERM)
        process.wait(120)


@pytest.fixture(autouse=True)
def _open(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in OPEN.items():
        monkeypatch.setenv(name, value)


def until(true: Callable[[], bool], seconds: float, told: Callable[[], str] = str) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, told()
        time.sleep(0.02)


def command(problem: Path, out: Path, *more: str) -> list[str]:
    return [sys.executable, "-c", RUN, "run", str(problem), "--out", str(out), "--json", *more]


def entries(out: Path) -> list[dict[str, Any]]:
    path = out / "journal.jsonl"
    if not path.exists():
        return []
    text = path.read_text()
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def decided(out: Path) -> dict[str, Any]:
    """Decisions, verdicts and counts by step, without what the clock or a machine says."""
    found: dict[str, Any] = {}
    for entry in entries(out):
        kind, data = entry["key"].split("/")[0], entry["data"]
        match kind:
            case "prove":
                told = [(o["name"], o["verdict"]) for o in data["full"]["obligations"]]
                found[entry["key"]] = (data["verdict"], data["digest"], told)
            case "solve":
                designs = [(d["key"], d["assignment"], d["predicted"]) for d in data["designs"]]
                status = {n: (s["status"], s["objective"]) for n, s in data["solutions"].items()}
                found[entry["key"]] = (designs, status)
            case "build":
                found[entry["key"]] = (out / data["library"]).read_bytes()
            case "validate":
                found[entry["key"]] = (data["verdict"], data["runs"])
            case "measure" | "confirm":
                found[entry["key"]] = {n: p["seconds"] for n, p in data["programs"].items()}
            case "refit":
                found[entry["key"]] = (data["coefficients"], data["observations"])
            case _:
                pass
    return found


def steps(out: Path) -> list[str]:
    """What was done, whoever did it; steps beside each other end in any order."""
    said = ("lost/", "machine/", "bench")
    return sorted(e["key"] for e in entries(out) if not e["key"].startswith(said))


def test_the_same_run_comes_of_it(head: tuple[str, int], tmp_path: Path) -> None:
    from ray_clusters import workers_at_work

    address, parent = head
    problem = tmp_path / "problem.toml"
    problem.write_text(PROBLEM)
    record = tmp_path / "measured"
    measured = subprocess.Popen(command(problem, record, "-q"), stdout=subprocess.DEVNULL)
    until(lambda: any(e["key"] == "confirm/one" for e in entries(record)), 600.0)
    measured.kill()  # what comes after its times is not asked for
    measured.wait()
    # The times of that run are given again to both of the others: all else is done anew.
    again = ("--device", str(record))
    here, spread = tmp_path / "here", tmp_path / "spread"
    calm = subprocess.run(command(problem, here, "-q", *again), capture_output=True, text=True)
    assert calm.returncode == 1, calm.stderr  # nothing is qualified with times of another run

    ray = (*again, "--executor", f"ray={address}")
    driver = subprocess.Popen(command(problem, spread, *ray), stdout=subprocess.DEVNULL)
    until(lambda: bool(workers_at_work(parent)), 300.0)
    os.kill(workers_at_work(parent)[0], signal.SIGKILL)
    lost = lambda: [e for e in entries(spread) if e["key"].startswith("lost/")]  # noqa: E731
    until(lambda: bool(lost()), 300.0)
    done = lambda: [e for e in entries(spread) if e["key"].startswith("build/")]  # noqa: E731
    until(lambda: bool(done()), 300.0)
    before = entries(spread)
    driver.kill()
    driver.wait()
    until(lambda: not workers_at_work(parent), 300.0)

    ended = subprocess.run(command(problem, spread, "-q", *ray), capture_output=True, text=True)
    assert ended.returncode == 1, ended.stderr
    final = entries(spread)
    assert final[: len(before)] == before, "an entry was lost or changed"
    keys = [e["key"] for e in final]
    assert len(keys) == len(set(keys)), "a step was done twice"
    assert decided(spread) == decided(here)
    assert steps(spread) == steps(here)
    for folder in (here, spread):
        assert not list(folder.rglob(".*")), "a file was left half-written"


def test_a_whole_run_on_a_cluster_qualifies(head: tuple[str, int], tmp_path: Path) -> None:
    problem = tmp_path / "problem.toml"
    problem.write_text(PROBLEM)
    out = tmp_path / "out"
    done = subprocess.run(
        command(problem, out, "-q", "--executor", f"ray={head[0]}"),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["held"]
    told = {e["key"]: e["data"] for e in entries(out)}
    (machine,) = [k.removeprefix("machine/") for k in told if k.startswith("machine/")]
    jobs = ("prove/", "build/", "validate/", "measure/", "confirm/", "other/", "qualify/")
    for key, data in told.items():
        if key.startswith(jobs) or key == "chip":
            assert data["machine"] == machine, key
    record = json.loads((out / "artifacts" / "one" / "record.json").read_text())
    assert record["workload"]["name"] == "one"
    # A finished run is read by any executor, and does nothing.
    here = subprocess.run(command(problem, out, "-q"), capture_output=True, text=True)
    assert {**json.loads(here.stdout), "seconds": 0} == {**result, "seconds": 0}
    assert {e["key"] for e in entries(out)} == set(told)

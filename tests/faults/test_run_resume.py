"""A run killed at any moment goes on: nothing lost, nothing done twice, the same decisions."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from formwright.base.diagnostics import InputError
from formwright.contract.problem import load_problem
from formwright.flow.device import Device, Here, recorded
from formwright.flow.journal import Journal
from formwright.flow.run import _identify

PROBLEM = """
name = "resume"
templates = ["packed_gemm"]
chip = "local"
threads = 1
baselines = ["numpy"]
[workloads.one]
M = 37
N = 29
K = 41
[budget]
candidates = 1
rounds = 1
seconds = 60
"""


def command(problem: Path, out: Path) -> list[str]:
    code = "import sys; from formwright.cli.main import run; sys.exit(run(sys.argv[1:]))"
    return [sys.executable, "-c", code, "run", str(problem), "--out", str(out), "--json", "-q"]


def entries(out: Path) -> list[dict[str, Any]]:
    path = out / "journal.jsonl"
    if not path.exists():
        return []
    text = path.read_text()
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "problem.toml"
    path.write_text(PROBLEM)
    return path


@pytest.mark.slow
def test_killed_runs_go_on(problem: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    draw = random.Random(20261129)
    before: list[dict[str, Any]] = []
    for _ in range(3):
        process = subprocess.Popen(
            command(problem, out), stdout=subprocess.DEVNULL, start_new_session=True
        )
        try:
            process.wait(timeout=draw.uniform(0.6, 3.0))
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        now = entries(out)
        assert now[: len(before)] == before, "an entry was lost or changed"
        before = now
    done = subprocess.run(command(problem, out), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["held"]
    final = entries(out)
    assert final[: len(before)] == before
    keys = [e["key"] for e in final]
    assert len(keys) == len(set(keys)), "a step was done twice"
    artifact = out / result["workloads"]["one"]["artifact"]
    assert (artifact / "record.json").is_file()
    assert not [p for p in (out / "artifacts").iterdir() if p.name.startswith(".")]

    again = subprocess.run(command(problem, out), capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert entries(out) == final, "a finished run writes nothing"
    repeated = json.loads(again.stdout)
    assert {**repeated, "seconds": 0} == {**result, "seconds": 0}


def test_another_problem_does_not_go_on_in_the_same_folder(problem: Path, tmp_path: Path) -> None:
    from formwright.cli.main import run

    out = tmp_path / "out"
    out.mkdir()
    entry = {"schema": 1, "number": 0, "time": "", "key": "problem", "data": {"version": "0"}}
    (out / "journal.jsonl").write_text(json.dumps(entry) + "\n")
    assert run(["run", str(problem), "--out", str(out), "-q"]) == 2


def test_times_of_a_record_do_not_become_those_of_this_machine(
    problem: Path, tmp_path: Path
) -> None:
    """A folder goes on with the record that it began with, and with nothing else."""
    asked = load_problem(problem)
    lines = [
        {"schema": 1, "number": 0, "time": "", "key": "chip", "data": {"name": n}} for n in "ab"
    ]
    for name, line in zip("ab", lines, strict=True):
        (tmp_path / name).write_text(json.dumps(line) + "\n")
    devices: list[Device] = [Here(), *(recorded(tmp_path / name) for name in "ab")]
    for number, first in enumerate(devices):
        out = tmp_path / str(number)
        with Journal(out / "journal.jsonl") as journal:
            _identify(journal, asked, first, out)
            _identify(journal, asked, first, out)
            for other in devices[:number] + devices[number + 1 :]:
                with pytest.raises(InputError, match="a run with another device"):
                    _identify(journal, asked, other, out)


def test_ctrl_c_says_how_to_go_on(problem: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = subprocess.Popen(
        command(problem, out), stderr=subprocess.PIPE, start_new_session=True
    )
    while not entries(out) and process.poll() is None:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"the same command goes on" in said
    assert b"Traceback" not in said

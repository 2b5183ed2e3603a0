"""A co-design study killed at any moment goes on and ends at the same chip."""

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

LIBRARY = """
[library]
name = "many"
{fields}
"""

FIELD = """
[fields.w{n}]
dimension = "count"
menu = [1, 2, 3, 4, 5, 6]
role = "capacity"
start = 1
source = "a test"
[area.w{n}]
value = "{unit} * chip.w{n}"
source = "a test"
"""

STUDY = """
name = "many"
library = "many.toml"
budget = "50 mm2"
{programs}
[methods]
names = ["wall-relaxation", "coupled", "sets", "random", "joint"]
seeds = 8
solves = 60
[generated]
seeds = 3
walls = 8
hidden = [2]
"""


def command(study: Path, out: Path) -> list[str]:
    code = "import sys; from formwright.cli.main import run; sys.exit(run(sys.argv[1:]))"
    return [sys.executable, "-c", code, "codesign", str(study), "--out", str(out), "--json"]


def entries(out: Path) -> list[dict[str, Any]]:
    path = out / "journal.jsonl"
    if not path.exists():
        return []
    text = path.read_text()
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def started(out: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the journal has ``count`` entries, or the process has ended."""
    until = time.monotonic() + 120
    while len(entries(out)) < count and process.poll() is None:
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    draw = random.Random(20261130)
    fields = "".join(FIELD.format(n=n, unit=draw.randint(1, 4)) for n in range(6))
    (tmp_path / "many.toml").write_text(LIBRARY.format(fields=fields))
    programs = "[programs.all.base]\ncost = 1000\n"
    for n in range(30):
        walls = draw.sample(range(6), draw.randint(1, 4))
        needs = ", ".join(f"w{w} = {draw.randint(2, 6)}" for w in walls)
        programs += f"[programs.all.p{n}]\nneeds = {{ {needs} }}\n"
        programs += f"cost = {draw.randint(100, 900)}\n"
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(programs=programs))
    return path


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in ("seconds", "journal")}
    if isinstance(value, list):
        return [without_times(v) for v in value]
    return value


@pytest.mark.slow
def test_killed_studies_go_on(study: Path, tmp_path: Path) -> None:
    whole = subprocess.run(command(study, tmp_path / "whole"), capture_output=True, text=True)
    assert whole.returncode == 0, whole.stderr
    count = len(entries(tmp_path / "whole"))
    out = tmp_path / "out"
    draw = random.Random(20261130)
    before: list[dict[str, Any]] = []
    for stop in sorted(draw.sample(range(2, count), 3)):
        process = subprocess.Popen(
            command(study, out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        started(out, stop, process)
        process.kill()
        process.wait()
        now = entries(out)
        assert now[: len(before)] == before, "an entry was lost or changed"
        before = now
    done = subprocess.run(command(study, out), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    keys = [e["key"] for e in entries(out)]
    assert len(keys) == len(set(keys)), "a step was done twice"
    assert without_times(json.loads(done.stdout)) == without_times(json.loads(whole.stdout))


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = subprocess.Popen(
        command(study, out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    started(out, 3, process)
    if process.poll() is None:
        os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode in (0, 130)
    if process.returncode == 130:
        assert b"the same command goes on" in said
        assert b"Traceback" not in said
    assert len(entries(out)) >= 3

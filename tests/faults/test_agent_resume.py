"""A run with an agent that is killed at any moment goes on: the same decisions, verdicts, counts.

A first run is recorded: its transcript and its measurements. The same run is then repeated from
both, once undisturbed and once killed again and again; the two must agree in everything but times.
"""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from formwright.population import open_population

KILLS = 20
PROBLEM = """
name = "made"
operator = "gemv"
threads = 1
baselines = ["numpy"]
[workloads.one]
N = 96
K = 40
[agent]
generations = 3
proposals = 2
[budget]
candidates = 2
rounds = 1
"""
CLOCK = frozenset(
    {"seconds", "wall_seconds", "time", "frequency", "command", "run", "created", "spent", "solver"}
)
"""Keys whose values are times, or are made of them."""


def command(problem: Path, out: Path, *more: str) -> list[str]:
    code = "import sys; from formwright.cli.main import run; sys.exit(run(sys.argv[1:]))"
    population = ["--population", f"{out}.sqlite"]
    asked = ["run", str(problem), "--out", str(out), "--json", "-q", *population, *more]
    return [sys.executable, "-c", code, *asked]


def run(arguments: list[str], status: int) -> dict[str, Any]:
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    shown: dict[str, Any] = json.loads(done.stdout)
    return shown


def entries(out: Path) -> list[dict[str, Any]]:
    path = out / "journal.jsonl"
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def timeless(value: Any) -> Any:
    """``value`` without what a clock says."""
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if k not in CLOCK}
    if isinstance(value, list):
        return [timeless(v) for v in value]
    return value


def decided(out: Path) -> dict[str, Any]:
    """The journal by key."""
    return {e["key"]: timeless(e["data"]) for e in entries(out)}


def kept(out: Path) -> dict[str, Any]:
    """What the population has: entries with their verdicts, lineage, and how much of the rest."""
    population = open_population(f"{out}.sqlite")
    told = {
        e.digest: (e.place, e.evidence, e.verdict, e.reason) for e in population.entries(shelf=None)
    }
    steps = {(s.child, s.parent, s.rule) for d in told for s in population.lineage(d)}
    return {"entries": told, "steps": steps, "counts": population.counts()}


def disturbed(arguments: list[str], draws: random.Random) -> Iterator[bool]:
    """Starts the run and kills it, again and again; ends when it came to its end."""
    while True:
        process = subprocess.Popen(
            arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            process.wait(timeout=draws.uniform(0.3, 8.0))
            return
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            yield True


@pytest.mark.slow
def test_killed_runs_decide_as_an_undisturbed_one(tmp_path: Path) -> None:
    problem = tmp_path / "problem.toml"
    problem.write_text(PROBLEM)
    first = tmp_path / "first"
    recorded = run(command(problem, first), 0)
    assert recorded["held"]
    again = ["--agent", "replay", "--transcript", str(first / "transcript.jsonl")]
    again += ["--device", str(first)]

    calm = tmp_path / "calm"
    # Nothing is qualified with times of another run: status 1, and the same winner.
    result = run(command(problem, calm, *again), 1)
    assert result["agent"]["device"] == "journal.jsonl"
    assert result["workloads"]["one"]["template"] == recorded["workloads"]["one"]["template"]
    assert result["workloads"]["one"]["artifact"] is None
    assert len(result["agent"]["lineage"]) == len(recorded["agent"]["lineage"])

    draws = random.Random(20261130)
    kills = 0
    for number in range(KILLS):
        out = tmp_path / f"killed-{number}"
        before: list[dict[str, Any]] = []
        for _ in disturbed(command(problem, out, *again), draws):
            now = entries(out)
            assert now[: len(before)] == before, "an entry was lost or changed"
            before = now
            kills += 1
        shown = run(command(problem, out, *again), 1)
        keys = [e["key"] for e in entries(out)]
        assert len(keys) == len(set(keys)), "a step was done twice"
        assert decided(out) == decided(calm)
        assert timeless(shown["agent"]) == timeless(result["agent"])
        assert kept(out) == kept(calm)
        if kills >= KILLS:
            break
    assert kills >= KILLS


@pytest.mark.slow
def test_a_second_run_begins_with_what_the_first_one_left(tmp_path: Path) -> None:
    problem = tmp_path / "problem.toml"
    problem.write_text(PROBLEM)
    first, second = tmp_path / "first", tmp_path / "second"
    one = run(command(problem, first), 0)
    assert one["agent"]["before"] == ""
    shared = command(problem, second)
    shared[shared.index(f"{second}.sqlite")] = f"{first}.sqlite"
    two = run(shared, 0)
    assert "of the population" in two["agent"]["before"]
    assert "were known before anything was measured" in two["agent"]["before"]
    assert two["agent"]["requests"] < one["agent"]["requests"]
    # Seconds are the machine's; what is saved is rounds, and the questions of the first of them.
    assert 1 <= rounds(second) <= rounds(first)


def rounds(out: Path) -> int:
    return sum(e["key"].startswith("go/") for e in entries(out))

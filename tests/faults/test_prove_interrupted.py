"""Ctrl-C while the solver works: it ends the proof, and nothing is kept as undecided."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import z3

from formwright.proof.assertions import Assertion, recorded, row
from formwright.smt.certify.again import core_fault
from formwright.smt.clock import Clock

CHAIN = "chains/gemm.toml"
MAIN = "from formwright.cli.start import main; main()"


def hard() -> Any:
    """Three cubes that sum to 42: nobody finds them by a search like this."""
    x, y, z = z3.Ints("x y z")
    solver = z3.SimpleSolver()
    solver.add(x * x * x + y * y * y + z * z * z == 42)
    return solver


def interrupt_after(seconds: float) -> threading.Timer:
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def test_ctrl_c_is_not_taken_for_a_limit() -> None:
    timer = interrupt_after(0.3)
    with pytest.raises(KeyboardInterrupt):
        Clock(1000).check(hard())
    timer.join()


def test_ctrl_c_between_short_questions_is_not_lost() -> None:
    """z3 took the signal and answered all the same: then nobody knew of it."""
    solver, clock, started = hard(), Clock(20), time.monotonic()

    def ask_on_and_on() -> None:
        while time.monotonic() - started < 5:
            clock.check(solver)

    timer = interrupt_after(0.2)
    with pytest.raises(KeyboardInterrupt):
        ask_on_and_on()
    timer.join()


@pytest.mark.slow
def test_an_audit_is_interrupted_too() -> None:
    cubes = row("=", [(f"{n}*{n}*{n}", 1) for n in "xyz"], 42)
    query = recorded(dict.fromkeys("xyz", "Int"), [Assertion("fact", cubes)])
    timer = interrupt_after(0.3)
    with pytest.raises(KeyboardInterrupt):
        core_fault(query, "exact", 1500)
    timer.join()


@pytest.mark.slow
def test_a_chain_is_interrupted_at_once_and_nothing_is_half_written(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, "prove", CHAIN],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )
    try:
        process.wait(timeout=2.5)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)
    started = time.monotonic()
    _, said = process.communicate(timeout=60)
    assert process.returncode in (0, 130)
    if process.returncode == 130:
        assert time.monotonic() - started < 5
        assert b"interrupted; the same command goes on from here" in said
        assert b"Traceback" not in said
    for path in cache.rglob("facts.sqlite"):
        with sqlite3.connect(path) as connection:
            assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
            kinds = {k for (k,) in connection.execute("select distinct kind from entries")}
        assert "open" not in kinds
    assert not [p for p in cache.rglob("*") if p.name.startswith(".") or p.suffix == ".tmp"]

"""A machine has many jobs at once, or one measurement alone: over processes, and after kills."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from formwright.base.diagnostics import InputError
from formwright.flow.turns import FOLDER, turn

HOLD = """
import sys, time
from formwright.flow.turns import turn
with turn(alone=sys.argv[1] == "alone", say=lambda text: print("waits", flush=True)):
    print("has it", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path / "turns"))


@contextmanager
def holder(kind: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def got(process: subprocess.Popen[str]) -> bool:
    """Whether it has its turn. It may say twice that it waits: in the queue, then for those at
    work."""
    words = iter(lambda: said(process), "")
    return next(word for word in words if word != "waits") == "has it"


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_jobs_share_and_a_measurement_waits_for_them_and_comes_before_later_ones() -> None:
    with holder("shared") as first, holder("shared") as second:
        assert got(first)
        assert got(second)
        with holder("alone") as measuring:
            assert said(measuring) == "waits"
            with holder("shared") as late:
                assert said(late) == "waits"
                go(first)
                os.kill(second.pid, signal.SIGKILL)  # its lock goes with it
                assert got(measuring)
                go(measuring)
                assert got(late)


def test_two_measurements_take_turns_also_after_a_kill() -> None:
    with holder("alone") as first:
        assert got(first)
        with holder("alone") as second:
            assert said(second) == "waits"
            os.kill(first.pid, signal.SIGKILL)
            assert got(second)


def test_a_measurement_here_is_alone() -> None:
    with turn(alone=True), holder("shared") as other:
        assert said(other) == "waits"
        time.sleep(0.05)
        assert other.poll() is None


def test_a_folder_that_is_a_link_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv(FOLDER, str(tmp_path / "link"))
    with pytest.raises(InputError, match="belongs to somebody else"), turn(alone=False):
        pass

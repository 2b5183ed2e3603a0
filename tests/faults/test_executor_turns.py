"""A machine has many jobs at once, or one measurement alone: over processes, and after kills."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from formwright.base.diagnostics import InputError
from formwright.contract.operators import operator
from formwright.flow import blackbox_evaluator, study_timing
from formwright.flow.journal import Journal
from formwright.flow.turns import FOLDER, turn
from formwright.measure.outcome import Refused
from formwright.measure.plan import Plan

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


@pytest.mark.parametrize("alone", [True, False])
def test_a_turn_ends_though_a_process_lives_on_that_was_forked_in_it(alone: bool) -> None:
    """The warm process of the solver is such a one: it has all that was open."""
    with turn(alone=alone):
        child = os.fork()
        if child == 0:
            signal.pause()
            os._exit(0)
    try:
        with holder("alone") as measuring:
            assert said(measuring) == "has it"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_folder_that_cannot_be_one_is_bad_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    for named in (tmp_path / "file", tmp_path / "file" / "below"):
        monkeypatch.setenv(FOLDER, str(named))
        with pytest.raises(InputError, match="no locks of this machine"), turn(alone=True):
            pass


@pytest.mark.parametrize("module", [study_timing, blackbox_evaluator])
def test_a_measurement_of_a_study_is_alone(
    module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free: list[bool] = []

    def measured(*_: object, **__: object) -> dict[str, Refused]:
        with open(Path(os.environ[FOLDER]) / "at-work") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                free.append(True)
            except BlockingIOError:
                free.append(False)
        return {"kernel": Refused("nothing is measured here")}

    monkeypatch.setattr(module, "measure_interleaved", measured)
    gemv, shape = operator("gemv").contract(), {"N": 8, "K": 8}
    if module is study_timing:
        study_timing.side_by_side({}, gemv, shape, threads=1, seed=1, plan=Plan())
    else:
        with Journal(tmp_path / "journal.jsonl") as journal:
            evaluator = blackbox_evaluator.Evaluator(journal, tmp_path, gemv, [shape], 1, 1)
            assert "failure" in evaluator._alone(tmp_path / "k.so", "task", shape, 0)
    assert free == [False]

"""The journal: once, in order, through torn writes and rival processes."""

import json
import os
import signal
from pathlib import Path

import pytest

from formwright.base.diagnostics import InputError
from formwright.flow.journal import Journal


def test_a_step_is_computed_once_across_runs(tmp_path: Path) -> None:
    calls: list[int] = []
    for _ in range(3):
        with Journal(tmp_path / "j.jsonl") as journal:
            assert journal.step("a", lambda: calls.append(1) or {"x": 1}) == {"x": 1}
    assert calls == [1]


def test_a_torn_last_line_is_cut_and_the_step_done_again(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    with Journal(path) as journal:
        journal.step("a", lambda: 1)
        journal.step("b", lambda: 2)
    whole = path.read_bytes()
    second = whole.index(b"\n") + 1
    for cut in range(second, len(whole)):
        path.write_bytes(whole[:cut])
        with Journal(path) as journal:
            assert journal.known("a") == 1
            assert journal.known("b") is None
            journal.step("b", lambda: 3)
        assert [json.loads(x)["data"] for x in path.read_text().splitlines()] == [1, 3]


def test_a_step_that_fails_leaves_no_entry(tmp_path: Path) -> None:
    with Journal(tmp_path / "j.jsonl") as journal:
        with pytest.raises(ZeroDivisionError):
            journal.step("a", lambda: 1 // 0)
        assert journal.step("a", lambda: 5) == 5


def test_the_first_run_sees_what_a_resumed_one_will(tmp_path: Path) -> None:
    with Journal(tmp_path / "j.jsonl") as journal:
        assert journal.step("a", lambda: {"t": (1, 2)}) == {"t": [1, 2]}


def test_a_second_writer_is_turned_away(tmp_path: Path) -> None:
    with Journal(tmp_path / "j.jsonl"), pytest.raises(InputError, match="another run"):
        Journal(tmp_path / "j.jsonl")


@pytest.mark.parametrize("line", ["nonsense", '{"number": 7}', "[]"])
def test_a_journal_changed_by_hand_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "j.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match="changed by hand"):
        Journal(path)


def test_independent_steps_are_done_together_and_once(tmp_path: Path) -> None:
    from threading import Barrier

    meet = Barrier(2, timeout=20)

    def together() -> int:
        return meet.wait() + 1

    with Journal(tmp_path / "j.jsonl") as journal:
        journal.step("c", lambda: 7)
        got = journal.steps({"a": together, "b": together, "c": together}, 2)
        assert sorted([got["a"], got["b"]]) == [1, 2]
        assert got["c"] == 7
    with Journal(tmp_path / "j.jsonl") as journal:
        assert journal.steps(dict.fromkeys("abc", lambda: 0), 2) == got


def test_one_failing_step_does_not_lose_the_others(tmp_path: Path) -> None:
    with Journal(tmp_path / "j.jsonl") as journal:
        with pytest.raises(ZeroDivisionError):
            journal.steps({"bad": lambda: 1 // 0, "good": lambda: 3}, 2)
        assert journal.known("good") == 3


def test_a_journal_is_given_up_though_a_process_lives_on_that_was_forked(tmp_path: Path) -> None:
    """The warm process of the solver is such a one: the same run goes on beside it."""
    with Journal(tmp_path / "j.jsonl") as journal:
        journal.step("a", lambda: 1)
        child = os.fork()
        if child == 0:
            signal.pause()
            os._exit(0)
    try:
        with Journal(tmp_path / "j.jsonl") as journal:
            assert journal.known("a") == 1
        journal.close()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

"""A folder as a proposer: a person, or any agent, answers with files."""

import json
import threading
import time
from pathlib import Path

from agent_requests import CONTRACT, TEMPLATE, request
from formwright.agent.budget import Budget, Ledger
from formwright.agent.manual import Manual
from formwright.agent.screening import screen


def manual(folder: Path, seconds: float = 5.0, ledger: Ledger | None = None) -> Manual:
    return Manual(
        folder,
        ledger or Ledger(Budget()),
        lambda p: screen(p, CONTRACT),
        seconds=seconds,
        turns=2,
        look=0.01,
    )


def test_a_person_answers_after_a_first_wrong_answer(tmp_path: Path) -> None:
    place = tmp_path / "0001-new"

    def person() -> None:
        while not (place / "request.json").exists():
            time.sleep(0.01)
        (place / "answer.md").write_text("I think so.\n")
        while not (place / "problem-1.md").exists():
            time.sleep(0.01)
        (place / "answer-2.fw").write_text(TEMPLATE)

    helper = threading.Thread(target=person)
    helper.start()
    ledger = Ledger(Budget(calls=1))
    reply = manual(tmp_path, ledger=ledger).propose(request())
    helper.join()
    assert [p.text.rstrip() for p in reply.proposals] == [TEMPLATE.rstrip()]
    assert "holds no template" in (place / "problem-1.md").read_text()
    assert json.loads((place / "request.json").read_text())["number"] == 1
    assert "Write a new template" in (place / "request.md").read_text()
    assert "1 of 1 calls" in ledger.exhausted()


def test_answers_that_are_there_already_count(tmp_path: Path) -> None:
    place = tmp_path / "0001-new"
    place.mkdir()
    (place / "answer.md").write_text(f"```fw\n{TEMPLATE}```\n")
    first, again = (manual(tmp_path).propose(request()) for _ in range(2))
    assert first.proposals == again.proposals != ()


def test_nobody_answers(tmp_path: Path) -> None:
    reply = manual(tmp_path, seconds=0.05).propose(request())
    assert reply.proposals == ()
    assert "answer.md in time" in reply.problem
    assert reply.spent.seconds >= 0.05


def test_a_cheat_goes_back_with_its_reason(tmp_path: Path) -> None:
    place = tmp_path / "0001-new"
    place.mkdir()
    (place / "answer.fw").write_text(TEMPLATE.replace("N >= 1, K", "N >= 8, K"))
    (place / "answer-2.c").write_text('void f(void) { system("true"); }')
    reply = manual(tmp_path).propose(request())
    assert "no usable answer in 2 tries" in reply.problem
    assert "leaves out N = 1" in (place / "problem-1.md").read_text()
    assert "the outside" in (place / "problem-2.md").read_text()

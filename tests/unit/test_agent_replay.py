"""Transcripts: recorded once, answered again, and never for another question."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent_requests import TEMPLATE, request
from formwright.agent.budget import Budget, Ledger
from formwright.agent.protocol import Finding, Proposal, Reply, Request, Spent
from formwright.agent.replay import Recording, Replay
from formwright.base.diagnostics import InputError


@dataclass
class Counting:
    """Answers differently each time."""

    name: str = "counting"
    asked: list[Request] = field(default_factory=list)

    def propose(self, request: Request) -> Reply:
        self.asked.append(request)
        text = f"{TEMPLATE}# {len(self.asked)} \u2028 é\n"
        found = Proposal(text, "fw", "model:new", ("a", "b"), "why")
        return Reply((found,), Spent(1, 10, 20, 0.5, 0.01), "")


def requests() -> list[Request]:
    finding = Finding("prove", "refuted", "readiness", "r = 1")
    return [
        request(number=1),
        request(number=2, kind="repair", parent=TEMPLATE, findings=(finding,)),
        request(number=3, kind="diagnose", data={"gap": 1.5}),
    ]


def test_a_replay_gives_what_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    recording = Recording(Counting(), path)
    replies = [recording.propose(r) for r in requests()]
    ledger = Ledger(Budget())
    replay = Replay(path, ledger)
    later = [  # measured anew meanwhile
        request(**{**_fields(r), "journal": ("other times",), "chip": {"cores": "8"}})
        for r in requests()
    ]
    assert [replay.propose(r) for r in later] == replies
    assert ledger.data()["calls"]["spent"] == 3
    assert "has no answer 4" in replay.propose(request(number=4)).problem


def _fields(r: Request) -> dict[str, object]:
    names = ("kind", "number", "parent", "findings", "data")
    return {name: getattr(r, name) for name in names}


def test_another_question_is_not_answered(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    recording = Recording(Counting(), path)
    for each in requests():
        recording.propose(each)
    replay = Replay(path)
    other = replay.propose(request(number=1, contract='operator = "gemm"\n'))
    assert "another contract" in other.problem
    assert "recorded is repair" in replay.propose(request(number=2)).problem


def test_a_killed_run_asks_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    first = Recording(Counting(), path)
    done = [first.propose(r) for r in requests()[:2]]
    whole = path.read_bytes()
    for cut in (0, 1, 40, len(whole) // 3):  # of a third line that a kill broke
        path.write_bytes(whole + whole[:cut].split(b"\n")[0])
        counting = Counting()
        again = Recording(counting, path)
        assert [again.propose(r) for r in requests()[:2]] == done
        assert counting.asked == []
        again.propose(requests()[2])
        assert [r.number for r in counting.asked] == [3]
        assert len(Replay(path)) == 3


def test_files_that_are_no_transcript(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    with pytest.raises(InputError, match="no transcript"):
        Replay(path)
    Recording(Counting(), path).propose(request())
    line = path.read_bytes()
    for bad in (b"{}\n", b"no\n", line + line, line.replace(b'"schema": 1', b'"schema": 9'),
                line.replace(b'"fw"', b'"exe"'), line[:-30]):  # fmt: skip
        path.write_bytes(bad)
        with pytest.raises(InputError, match=r"transcript\.jsonl:\d"):
            Replay(path)


def test_answers_are_not_taken_for_those_of_another_proposer(tmp_path: Path) -> None:
    """A folder whose journal is gone still has the answers of who was asked then."""
    path = tmp_path / "transcript.jsonl"
    Recording(Counting("library"), path).propose(request())
    before = path.read_bytes()
    with pytest.raises(InputError, match="has answers of library, not of manual"):
        Recording(Counting("manual"), path)
    assert path.read_bytes() == before
    assert len(Replay(path)) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("calls", v) for v in ("-1", '"2"', "null", "1.5", "true", "1" + "0" * 400)),
        *(("seconds", v) for v in ("NaN", "Infinity", "-0.5", '"1"', "1e300")),
    ],
)
def test_no_transcript_gives_a_budget_back(tmp_path: Path, name: str, value: str) -> None:
    path = tmp_path / "transcript.jsonl"
    Recording(Counting(), path).propose(request())
    was = {"calls": '"calls": 1', "seconds": '"seconds": 0.5'}[name]
    text = path.read_text()
    assert text.count(was) == 1
    path.write_text(text.replace(was, f'"{name}": {value}'))
    with pytest.raises(InputError, match=f"{name} spent is no number"):
        Replay(path)


def test_half_characters_of_a_transcript_do_no_harm(tmp_path: Path) -> None:
    """JSON can spell what no file and no database can hold."""
    path = tmp_path / "transcript.jsonl"
    Recording(Counting(), path).propose(request())
    path.write_text(path.read_text().replace('"why"', '"w\\ud800y"').replace('"a"', '"\\udfff"'))
    path.write_text(path.read_text().replace('"w\\ud800y":', '"why":').replace(" é", " \\ud8ff"))
    (found,) = Replay(path).propose(request()).proposals
    for text in (found.text, found.rule, found.why, *found.parents):
        assert text.encode()
    assert found.why == "w?y"


def test_keys_are_struck_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "abcdefgh12345678")
    path = tmp_path / "transcript.jsonl"
    Recording(Counting(), path).propose(request(journal=("seen: abcdefgh12345678",)))
    assert "abcdefgh12345678" not in path.read_text()
    assert "[SOME_API_KEY]" in path.read_text()

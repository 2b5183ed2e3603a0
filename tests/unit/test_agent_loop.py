"""Generations: when a run ends, what the next request asks for, which decisions stay open."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_rooms import GEMV, SHAPE, Scripted, room_at
from formwright.agent.budget import Budget, Ledger
from formwright.agent.protocol import Proposal, Reply, Request, Spent
from formwright.base.source import Source
from formwright.contract.agent import Agent
from formwright.flow import agent_generation, candidates, job_building, job_solving
from formwright.flow.agent_groups import coupled, holding
from formwright.flow.agent_judging import judge_all
from formwright.flow.agent_loop import improve
from formwright.flow.agent_requests import ask
from formwright.flow.agent_results import result_of
from formwright.flow.agent_room import Made, Room
from formwright.flow.candidates import Candidate, Wanted, solutions
from formwright.flow.loop import Tally, relearn
from formwright.flow.refit import Observation
from formwright.flow.setting import Proved
from formwright.lang import load
from formwright.lang.parser import parse

GOOD = load("gemv_rows")[0].text


def refuses(_: Request) -> Reply:
    return Reply((), Spent(calls=1), "the model refused: I cannot help with that\x07")


def test_a_proposer_that_never_answers_ends_the_run_with_its_words(tmp_path: Path) -> None:
    script = Scripted([refuses] * 9)
    with room_at(tmp_path, script, agent=Agent(generations=9, patience=2)) as room:
        assert improve(room) == "2 generation(s) in a row gained nothing"
        assert [r.kind for r in script.asked] == ["new", "new"]
        assert all(r.contract.startswith('operator = "gemv"') for r in script.asked)
        assert "I cannot help" in script.asked[1].journal[0]
        assert all(line.isprintable() for line in room.lines)
        assert result_of(room, "so").as_json()["requests"] == 2


def test_a_spent_budget_ends_the_run_before_the_next_generation(tmp_path: Path) -> None:
    def charged(_: Request) -> Reply:
        room.setting.ledger.charge(Spent(calls=1))
        return Reply((), Spent(calls=1), "nothing")

    script = Scripted([charged] * 9)
    with room_at(tmp_path, script, agent=Agent(patience=9)) as room:
        room.setting.ledger = Ledger(Budget(calls=2))
        assert improve(room) == "the budget is spent: 2 of 2 calls"
        assert len(script.asked) == 2
    with room_at(tmp_path, Scripted([charged] * 9), agent=Agent(patience=9)) as room:
        # A run that goes on ends where it ended, whatever it may spend now.
        assert improve(room) == "the budget is spent: 2 of 2 calls"


def test_what_failed_goes_into_the_next_request(tmp_path: Path) -> None:
    script = Scripted([["no template at all"], refuses, refuses])
    with room_at(tmp_path, script, agent=Agent(repairs=0, patience=2)) as room:
        improve(room)
        assert room.made[0].verdict == "parse"
        (found,) = script.asked[1].findings
        assert found.stage == "parse"


def test_requests_say_the_level_and_what_was_tried(tmp_path: Path) -> None:
    script = Scripted([refuses])
    with room_at(tmp_path, script, agent=Agent(proposals=5)) as room:
        room.asked = 1
        judge_all(room, 0, [], 1)
        room.level = "schedule"
        room.made.append(made("gemv_rows"))
        ask(room, "adapt")
        (request,) = script.asked
        assert request.data["level"] == "schedule"
        assert request.data["wanted"] == 5
        assert request.data["tried"] == ["gemv_rows"]
        assert request.number == 2


CAUSE: dict[str, Any] = {"action": "lower", "kind": "bottleneck moved"}


@pytest.mark.parametrize(
    ("gained", "cause", "level"),
    [
        (True, None, "mapping"),
        (True, {"action": "new"}, "mapping"),
        (True, CAUSE, "schedule"),
        (False, None, "schedule"),
    ],
)
def test_the_next_template_is_asked_for_one_level_lower(
    tmp_path: Path, gained: bool, cause: dict[str, Any] | None, level: str
) -> None:
    with room_at(tmp_path, Scripted([])) as room:
        agent_generation._next_level(room, gained, cause)
        assert room.level == level
        agent_generation._next_level(room, False, None)
        agent_generation._next_level(room, False, None)
        assert room.level == "schedule"  # the lowest that templates exist for


def timed(room: Room, key: str, seconds: float) -> None:
    tally = room.tally(SHAPE)
    tally.candidates[key] = Candidate(key, f"t_{key}", {}, 1.0, room.setting.out)
    tally.seconds[key] = seconds


def gained(room: Room, number: int, before: str | None) -> bool:
    return agent_generation._gained(room, SHAPE, number, before)


def test_a_gain_is_beyond_the_noise(tmp_path: Path) -> None:
    with room_at(tmp_path, Scripted([])) as room:
        assert not gained(room, 0, None)
        timed(room, "old", 1.0)
        assert gained(room, 0, None)
        timed(room, "new", 0.99)
        assert not gained(room, 0, "old")
        timed(room, "newer", 0.5)
        assert gained(room, 0, "old")


@pytest.mark.parametrize(
    ("rounds", "gain"),
    [([0.5, 0.6, 0.5, 0.4, 0.5], True), ([0.5, 1.6, 0.5, 1.4, 0.5], False)],
)
def test_a_gain_holds_in_the_rounds_that_timed_both(
    tmp_path: Path, rounds: list[float], gain: bool
) -> None:
    def samples(values: list[float]) -> dict[str, Any]:
        return {"samples": [{"round": n, "seconds": v} for n, v in enumerate(values)]}

    with room_at(tmp_path, Scripted([])) as room:
        timed(room, "old", 1.0)
        timed(room, "new", 0.5)
        at = agent_generation._rounds(room) * 2
        for before in ({"failure": "it hung"}, samples([1.0] * 5)):  # a round without times of both
            programs = {"old": before, "new": samples(rounds)}
            key = f"measure/{SHAPE.name}/{at}"
            room.setting.journal.step(key, lambda p=programs: {"programs": p})  # type: ignore[misc]
            at += 1
        assert gained(room, 2, "old") is gain


def test_what_was_measured_before_the_run_is_no_gain_of_it(tmp_path: Path) -> None:
    with room_at(tmp_path, Scripted([])) as room:
        timed(room, "old", 1.0)
        timed(room, "drawn", 0.5)
        room.made.append(replace(made("t_drawn"), measured=True))
        assert not gained(room, 1, "old")


TWO = """template two : operator -> mapping

object part
  "An agent has a row in parts."

scope
  workload  y[N] = sum(k < K) W[N,k] * x[k]
  extents   N >= 1, K >= 0
  chip      cores >= 1, l1_bytes >= 1024

decisions
  T in {1, 2, 4}
  L in {4, 8}
  U in {1, 2}

constraints
  C1 wall l1_bytes: T * 4 <= chip.l1_bytes
  C2: L * U <= 16

program
  par grid (i) in ceil(N/T):
    alloc acc[T] register
    acc[r] = 0
    for k in 0 .. K:
      acc[r] += W[i*T+r, k] * x[k] over (r < min(T, N - i*T))
    y[i*T+r] = acc[r] clip
"""


def made(key: str, **changes: Any) -> Made:
    plain = Made(
        key=key,
        digest=key * 3,
        language="fw",
        generation=0,
        parents=(),
        rule="rule",
        proposer="scripted",
        why="",
        verdict="proved",
        step="judge/1/0",
    )
    return replace(plain, **changes)


def test_decisions_that_a_condition_ties_together_are_one_group() -> None:
    assert coupled(parse(Source("two.fw", TWO))) == [frozenset({"T"}), frozenset({"L", "U"})]


def test_groups_are_kept_carried_and_reopened_by_evidence(tmp_path: Path) -> None:
    """The parent had T and L; the child has U besides, tied to L."""
    template = parse(Source("two.fw", TWO))
    with room_at(tmp_path, Scripted([])) as room:
        parent, child = made("parent"), made("child", parents=("parent" * 3,))
        room.made += [parent, child]
        room.setting.templates["child"] = Proved(Source("two.fw", TWO), template, {})
        tally: Tally = room.tally(SHAPE)
        tally.candidates["p"] = Candidate("p", "parent", {"T": 4, "L": 8}, 1.0, tmp_path)
        tally.seconds["p"] = 1.0
        assert holding(room, SHAPE, 0, ["child"]) == {"child": {"T": 4}}
        first = room.setting.journal.known("groups/small/0")["child"]
        assert first["carried"] == [["L", "U"]]
        # Slower than the parent with the parent's value: the group is reopened.
        tally.candidates["c"] = Candidate("c", "child", {"T": 4, "L": 8, "U": 1}, 1.0, tmp_path)
        tally.seconds["c"] = 1.5
        assert holding(room, SHAPE, 1, ["child"]) == {"child": {}}
        second = room.setting.journal.known("groups/small/1")["child"]
        assert second["reopened"] == [["T"]]
        assert "1.5 times" in second["why"]
        # Faster: it stays.
        tally.seconds["c"] = 0.5
        assert holding(room, SHAPE, 2, ["child"]) == {"child": {"T": 4}}
        assert holding(room, SHAPE, 3, ["parent"]) == {}
    assert GEMV.operator == "gemv"


FREE = GOOD[: GOOD.index("\ncost ")] + "\ncost T seconds\n  T >= 0\n"
"""A template that says it costs nothing."""


def test_a_cost_that_is_no_time_is_refused_and_others_go_on(tmp_path: Path) -> None:
    with room_at(tmp_path, Scripted([])) as room:
        room.asked = 1
        judge_all(room, 0, [Proposal(t, "fw", "new") for t in (FREE, GOOD)], 1)
        names = tuple(room.setting.templates)
        assert len(names) == 2
        wanted = Wanted(names, frozenset(names), forgiving=True)
        found = solutions(room.setting, SHAPE, 0, wanted)
        status = {n: s["status"] for n, s in found["solutions"].items()}
        assert sorted(status.values()) == ["failed", "optimal"]
        assert len({d["template"] for d in found["designs"]}) == 1
        (failed,) = [s for s in found["solutions"].values() if s["status"] == "failed"]
        assert "no time is that short" in failed["error"]


def test_a_template_that_a_step_stumbles_over_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumbles(*_: object, **__: object) -> None:
        raise AssertionError("a template that nobody thought of")

    with room_at(tmp_path, Scripted([])) as room:
        room.asked = 1
        (made_,) = judge_all(room, 0, [Proposal(GOOD, "fw", "new")], 1)
        design = {"template": made_.key, "assignment": {"Rr": 1, "L": 8, "Pf": 0}}
        monkeypatch.setattr(job_building, "emit_c", stumbles)
        assert candidates.prepare(room.setting, SHAPE, [design]) == []
        monkeypatch.setattr(job_solving, "solve", stumbles)
        found = solutions(room.setting, SHAPE, 0, Wanted((made_.key,), forgiving=True))
        assert "nobody thought of" in found["solutions"][made_.key]["error"]
        assert found["designs"] == []


def test_a_cost_that_cannot_be_fitted_keeps_its_coefficients(tmp_path: Path) -> None:
    with room_at(tmp_path, Scripted([])) as room:
        room.asked = 1
        (made_,) = judge_all(room, 0, [Proposal(FREE, "fw", "new")], 1)
        parameters = room.setting.parameters(room.setting.templates[made_.key].template, SHAPE)
        assignment = {"Rr": 1, "L": 8, "Pf": 0}
        room.setting.observations[made_.key] = [Observation(parameters, assignment, 1e-3)]
        learned = relearn(room.setting, "refit/x", made_.key)
        assert learned["error_after"] is None
        assert room.setting.coefficients[made_.key] == {}

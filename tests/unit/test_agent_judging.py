"""From a proposal to its verdict, with repairs, lineage and the population that keeps it all."""

from pathlib import Path

import pytest

from agent_rooms import GEMV, Scripted, room_at, told
from formwright.agent.library import Library
from formwright.agent.protocol import Finding, Proposal, Reply, Request, Spent
from formwright.contract.agent import Agent
from formwright.flow import agent_judging
from formwright.flow.agent_judging import judge_all
from formwright.flow.agent_learning import keep
from formwright.flow.agent_room import Made, Room
from formwright.flow.proving import prove
from formwright.ir.template import Template
from formwright.lang import load
from formwright.population import open_population
from formwright.population.settling import settle

GOOD = load("gemv_rows")[0].text
WRONG = GOOD.replace("    tot[r] = 0\n", "    tot[r] = 1\n", 1)
"""A sum that starts from one."""
NO_COST = GOOD[: GOOD.index("\ncost ")]


def judged(room: Room, *texts: str) -> list[Made]:
    room.asked += 1
    proposals = [Proposal(t, "fw", "model:new", ()) for t in texts]
    return judge_all(room, 0, proposals, room.asked)


def test_what_is_proved_may_be_used_and_is_kept(tmp_path: Path) -> None:
    with room_at(tmp_path, Scripted([])) as room:
        (made,) = judged(room, GOOD)
        assert (made.verdict, made.repairs, made.key) == ("proved", 0, "gemv_rows")
        assert set(room.setting.templates) == {"gemv_rows"}
        entry = room.population.entry(made.digest)
        assert entry.evidence == "proved"
        (step,) = room.population.lineage(made.digest)
        assert (step.proposer, step.rule, step.run) == ("scripted", "model:new", "scripted")


def test_what_another_run_proved_meanwhile_stays_proved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A verdict that took long is told after one that somebody else had more time for."""
    with room_at(tmp_path, Scripted([])) as room:
        population = room.population
        entry = population.add_template(GOOD)
        made = Made(
            key="gemv_rows",
            digest=entry.digest,
            language="fw",
            generation=0,
            parents=(),
            rule="model:new",
            proposer="scripted",
            why="",
            verdict="unresolved",
            step="judge/1/0",
            findings=(Finding("prove", "no proof within 60 s"),),
            text=GOOD,
        )
        record = population.record

        def late(*seen: object) -> None:
            settle(population, entry.digest, prove)
            record(*seen)  # type: ignore[arg-type]

        monkeypatch.setattr(population, "record", late)
        keep(room, made, {"proof": {"full": {"obligations": []}}})
        assert population.entry(entry.digest).evidence == "proved"


def test_a_counterexample_goes_back_and_the_repair_is_proved(tmp_path: Path) -> None:
    script = Scripted([[GOOD]])
    with room_at(tmp_path, script) as room:
        (made,) = judged(room, WRONG)
        (request,) = script.asked
        assert request.kind == "repair"
        assert request.parent == WRONG
        assert any(f.condition and f.counterexample for f in request.findings), request.findings
        first, second = room.made
        assert (first.verdict, second.verdict) == ("refuted", "proved")
        assert made is second
        assert second.parents == (first.digest,)
        assert second.repairs == 1
        assert room.population.entry(first.digest).place == "shelf"
        assert room.population.counterexamples(first.digest)
        assert room.population.entry(second.digest).evidence == "proved"


def test_repairs_end_where_the_problem_says(tmp_path: Path) -> None:
    others = [WRONG.replace("tot[r] = 1", f"tot[r] = {n}") for n in range(2, 5)]
    script = Scripted([[o] for o in others])
    with room_at(tmp_path, script, agent=Agent(repairs=1)) as room:
        assert judged(room, WRONG) == []
        assert [r.kind for r in script.asked] == ["repair"]
        assert [m.repairs for m in room.made] == [0, 1]


def test_the_cost_of_a_text_that_states_none_is_counted(tmp_path: Path) -> None:
    assert "\ncost " not in NO_COST
    with room_at(tmp_path, Scripted([])) as room:
        (made,) = judged(room, NO_COST)
        assert made.verdict == "proved"
        assert "\ncost " in made.text
        assert room.setting.templates[made.key].template.cost is not None


def test_the_same_text_twice_is_judged_once(tmp_path: Path) -> None:
    with room_at(tmp_path, Scripted([])) as room:
        assert len(judged(room, GOOD, GOOD + "# once more\n")) == 1
        assert [m.verdict for m in room.made] == ["proved", "again"]


def test_what_the_population_knows_to_be_refuted_is_not_proved_or_repaired(tmp_path: Path) -> None:
    population = open_population(":memory:")
    with room_at(tmp_path / "a", Scripted([]), population=population) as room:
        judged(room, WRONG)
    script = Scripted([[GOOD]])
    with room_at(tmp_path / "b", script, population=population) as room:
        assert judged(room, WRONG) == []
        assert script.asked == []
        (made,) = room.made
        assert made.verdict == "refuted"
        assert made.known.startswith("shelf")
        assert room.setting.journal.known("judge/1/0")["proof"] is None


def test_a_cost_model_or_a_repair_that_stumbles_ends_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumbles(*_: object) -> Template:
        raise RecursionError("too deep")

    monkeypatch.setattr(agent_judging, "with_cost", stumbles)
    library = Library(mend=stumbles)  # type: ignore[arg-type]
    with room_at(tmp_path, Scripted([library.propose, library.propose])) as room:
        room.asked = 1
        assert judge_all(room, 0, [Proposal(t, "fw", "r") for t in (NO_COST, WRONG)], 1) == []
        assert [m.verdict for m in room.made] == ["cost", "refuted"]
    reply = library.propose(Request("repair", 1, 0, 'operator = "gemv"', (), {}, parent=WRONG))
    assert reply.problem == "the library gave up: RecursionError: too deep"


def test_what_is_known_and_not_yet_proved_is_proved_and_repaired(tmp_path: Path) -> None:
    """Another run, a submission or a file may have put the very text on the shelf."""
    with room_at(tmp_path, Scripted([[GOOD]])) as room:
        room.population.add_template(WRONG, reason="not proved yet")
        room.asked = 1
        (made,) = judge_all(room, 0, [Proposal(WRONG, "fw", "model:new")], 1)
        assert [m.verdict for m in room.made] == ["refuted", "proved"]
        assert made.repairs == 1


def test_a_run_that_goes_on_judges_nothing_again(tmp_path: Path) -> None:
    population = open_population(":memory:")
    with room_at(tmp_path, Scripted([[GOOD]]), population=population) as room:
        judged(room, WRONG)
        first, lines = [m.as_json() for m in room.made], room.lines
        entries = len(room.setting.journal.entries)
        counts = population.counts()
    with room_at(tmp_path, Scripted([[GOOD]]), population=population) as room:
        judged(room, WRONG)
        assert [m.as_json() for m in room.made] == first
        assert room.lines == lines
        assert len(room.setting.journal.entries) == entries
    assert population.counts() == counts


def test_words_in_place_of_a_template_and_a_verifier_that_stumbles(
    tmp_path: Path, monkeypatch
) -> None:
    import formwright.flow.job_proving as proving

    def stumbles(*_: object, **__: object) -> None:
        raise RecursionError("too deep")

    with room_at(tmp_path, Scripted([]), agent=Agent(repairs=0)) as room:
        room.asked = 1
        assert judge_all(room, 0, [Proposal("I refuse.", "text", "model:new")], 1) == []
        monkeypatch.setattr(proving, "prove_source", stumbles)
        assert judged(room, GOOD) == []
        words, stumbled = room.made
        assert words.verdict == "answer"
        assert stumbled.verdict == "unresolved"
        assert "RecursionError" in told(stumbled.findings)
        assert room.population.entry(stumbled.digest).place == "shelf"


def test_parents_are_those_that_exist(tmp_path: Path) -> None:
    def adapted(request: Request) -> Reply:
        raise AssertionError(request)

    with room_at(tmp_path, Scripted([adapted])) as room:
        (first,) = judged(room, GOOD)
        room.asked += 1
        other = Proposal(NO_COST, "fw", "rule", ("gemv_rows", "nobody", first.digest), "why")
        (made,) = judge_all(room, 1, [other], room.asked)
        assert made.parents == (first.digest,)
        assert made.key != first.key
        (step,) = [s for s in room.population.lineage(made.digest) if s.child == made.digest]
        assert step.parent == first.digest


def test_a_child_starts_from_what_its_parent_learned(tmp_path: Path) -> None:
    with room_at(tmp_path, Scripted([])) as room:
        (parent,) = judged(room, GOOD)
        learned = room.setting.coefficients[parent.key]
        name = next(iter(learned))
        learned[name] *= 3
        room.asked += 1
        other = GOOD.replace("Rr in {1, 2, 4, 8}", "Rr in {1, 2, 4}")
        proposal = Proposal(other, "fw", "close-menu", (parent.digest,))
        (child,) = judge_all(room, 1, [proposal], room.asked)
        assert room.setting.coefficients[child.key] == learned


def test_a_spent_budget_ends_the_repairs(tmp_path: Path) -> None:
    script = Scripted([lambda _: Reply((), Spent(), "the budget is spent: 1 of 1 calls")])
    with room_at(tmp_path, script) as room:
        assert judged(room, WRONG) == []
        assert len(room.made) == 1
        assert any("the budget is spent" in line for line in room.lines)
    assert GEMV.operator == "gemv"

"""What the population has joins a run: the best by what is known, once, and not for nothing."""

from dataclasses import replace
from pathlib import Path

import pytest

from agent_rooms import GEMV, SHAPE, Scripted, room_at
from formwright.agent.library import Library
from formwright.agent.protocol import Proposal
from formwright.contract.agent import Agent
from formwright.contract.problem import Workload
from formwright.flow.agent_drawing import draw
from formwright.flow.agent_judging import judge_all
from formwright.flow.agent_results import result_of
from formwright.flow.agent_room import Room
from formwright.flow.candidates import Candidate
from formwright.flow.mending import mend_text
from formwright.flow.proving import prove
from formwright.lang import load
from formwright.population import ChipKey, Fact, Origin, Population, open_population, work_of
from formwright.population.settling import settle

GOOD = load("gemv_rows")[0].text
WRONG = GOOD.replace("    tot[r] = 0\n", "    tot[r] = 1\n", 1)
DESIGN = {"Rr": 2, "L": 8, "Pf": 0}


@pytest.fixture
def population() -> Population:
    """One template, proved."""
    found = open_population(":memory:")
    entry = found.add_template(GOOD, origin=Origin("somebody", "thought", run="before"))
    assert settle(found, entry.digest, prove).entry.evidence == "proved"
    return found


def figure(room: Room, digest: str, value: float, workload: Workload = SHAPE) -> Fact:
    return Fact(
        template=digest,
        assignment=DESIGN,
        chip=room.chip,
        machine=room.machine,
        work=work_of(GEMV, workload.extents, room.setting.threads),
        quantity="seconds",
        value=value,
        unit="s",
        evidence="measured",
        source="before:measure/small/0",
    )


def test_a_drawn_template_joins_once_and_with_its_lineage(
    tmp_path: Path, population: Population
) -> None:
    with room_at(tmp_path, Scripted([]), population=population) as room:
        (made,) = draw(room, 0)
        assert (made.key, made.verdict, made.proposer) == ("gemv_rows", "proved", "somebody")
        assert set(room.setting.templates) == {"gemv_rows"}
        assert not made.measured
        assert draw(room, 1) == []
        assert "started from 1 template(s)" in result_of(room, "").before


def test_figures_of_here_fit_the_model_before_anything_is_measured(
    tmp_path: Path, population: Population
) -> None:
    (entry,) = population.entries()
    with room_at(tmp_path, Scripted([]), population=population) as room:
        population.record(figure(room, entry.digest, 2e-3))
        (made,) = draw(room, 0)
        assert made.measured
        assert len(room.setting.observations["gemv_rows"]) == 1
        step = room.setting.journal.known(f"refit/before/{entry.digest[:12]}")
        assert step["observations"] == 1
        assert step["error_after"] <= step["error_before"]
        assert "1 figure(s) of this machine were known" in result_of(room, "").before


def test_figures_of_another_chip_or_shape_are_no_time_of_here(
    tmp_path: Path, population: Population
) -> None:
    (entry,) = population.entries()
    with room_at(tmp_path, Scripted([]), population=population) as room:
        population.record(figure(room, entry.digest, 2e-3, Workload("other", {"N": 5, "K": 7})))
        room.chip = ChipKey("another", "1" * 64)
        (made,) = draw(room, 0)
        assert not made.measured
        assert "gemv_rows" not in room.setting.observations


def test_figures_that_came_with_files_are_no_time_of_here(
    tmp_path: Path, population: Population
) -> None:
    """A file may say any time of any chip: what it names is drawn, and measured."""
    (entry,) = population.entries()
    with room_at(tmp_path, Scripted([]), population=population) as room:
        for value in (1e-12, 1e12):
            told = replace(figure(room, entry.digest, value), imported=True, source=f"x:{value}")
            population.record(told)
        (made,) = draw(room, 0)
        assert not made.measured
        assert "gemv_rows" not in room.setting.observations


def test_a_run_goes_on_with_another_population(tmp_path: Path, population: Population) -> None:
    (entry,) = population.entries()
    with room_at(tmp_path, Scripted([]), population=population) as room:
        draw(room, 0)
    with room_at(tmp_path, Scripted([])) as room:
        assert [m.digest for m in draw(room, 0)] == [entry.digest]
        assert room.population.entry(entry.digest).evidence == "proved"
        room.population.record(figure(room, entry.digest, 2e-3))


def test_what_was_slower_here_is_not_drawn_later(tmp_path: Path, population: Population) -> None:
    (entry,) = population.entries()
    with room_at(tmp_path, Scripted([]), population=population) as room:
        population.record(figure(room, entry.digest, 2e-3))
        tally = room.tally(SHAPE)
        tally.candidates["mine"] = Candidate("mine", "mine", {}, 1.0, tmp_path)
        tally.seconds["mine"] = 1e-3
        assert draw(room, 1) == []
        tally.seconds["mine"] = 3e-3
        assert [m.key for m in draw(room, 2)] == ["gemv_rows"]


def test_a_proposal_that_was_measured_here_is_proved_and_not_built_again(
    tmp_path: Path, population: Population
) -> None:
    (entry,) = population.entries()
    with room_at(tmp_path, Scripted([]), population=population) as room:
        population.record(figure(room, entry.digest, 2e-3))
        room.asked = 1
        assert judge_all(room, 1, [Proposal(GOOD, "fw", "model:new")], 1) == []
        (made,) = room.made
        assert (made.verdict, made.measured) == ("proved", True)
        assert made.known.startswith("admitted, proved")
        assert any("known from before, and measured here" in line for line in room.lines)


def test_no_words_of_an_answer_make_it_one_of_the_population(tmp_path: Path) -> None:
    with room_at(tmp_path, Scripted([]), agent=Agent(repairs=0)) as room:
        room.asked = 1
        judge_all(room, 0, [Proposal("no template", "fw", "", (), "drawn from the population")], 1)
        assert result_of(room, "").before == ""


@pytest.mark.slow
def test_the_library_repairs_what_the_verifier_refutes(tmp_path: Path) -> None:
    """Refuted in the run, mended from its counterexample, proved, and told with its lineage."""
    library = Library(mend=mend_text)
    with room_at(tmp_path, Scripted([library.propose]), agent=Agent(repairs=1)) as room:
        room.asked = 1
        (made,) = judge_all(room, 0, [Proposal(WRONG, "fw", "rule")], 1)
        assert (made.verdict, made.repairs, made.rule) == ("proved", 1, "repair")
        refuted = room.made[0]
        assert refuted.verdict == "refuted"
        (step,) = [s for s in room.population.lineage(made.digest) if s.child == made.digest]
        assert step.parent == refuted.digest
        assert made.why  # the edits in words

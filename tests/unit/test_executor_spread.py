"""What an executor that does jobs at once changes: the order of some steps, and no result."""

import json
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from four_study import write_study

from agent_rooms import GEMV, Scripted, room_at
from formwright.agent.protocol import Proposal
from formwright.agent.specification import plain_templates
from formwright.base.diagnostics import InputError
from formwright.contract.agent import Agent
from formwright.flow.agent_judging import judge_all
from formwright.flow.codesign import run_study
from formwright.flow.executor import Done, Executor, Hearer, Outcome
from formwright.flow.executor_here import HereExecutor
from formwright.flow.jobs import Job, Search
from formwright.flow.machines import Machine
from formwright.flow.proving_several import prove_several
from formwright.lang.format import format_template
from formwright.proof.verdict import LIMITS
from formwright.walls.study_reader import load_study
from listeners import Heard, Silent

TIMES = ("seconds", "spent", "entry", "entries", "journal", "trajectory", "cpu_seconds")


@dataclass
class Spread:
    """As :class:`HereExecutor`, but it says that it does jobs at once, and ends the last first."""

    here: HereExecutor = field(default_factory=HereExecutor)
    given: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def spread(self) -> bool:
        return True

    def bench(self, like: Machine | None) -> Machine:
        return self.here.bench(like)

    def perform(
        self, jobs: Mapping[str, Job], folder: Path, bench: Machine, hearer: Hearer
    ) -> Iterator[tuple[str, Outcome]]:
        self.given.append(tuple(jobs))
        for key in reversed(list(jobs)):
            yield from self.here.perform({key: jobs[key]}, folder, bench, hearer)


def timeless(value: Any) -> Any:
    """``value`` without what a clock or the place in a journal says."""
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if k not in TIMES}
    return [timeless(v) for v in value] if isinstance(value, list | tuple) else value


def test_a_chip_study_has_the_same_tables(tmp_path: Path) -> None:
    study = write_study(tmp_path)
    spread = Spread()
    tables = []
    executors: dict[str, Executor] = {"here": HereExecutor(), "spread": spread}
    for name, executor in executors.items():
        out = tmp_path / name
        tables.append(run_study(study, out, Silent(), executor).as_json())
    assert timeless(tables[0]) == timeless(tables[1])
    together = max(spread.given, key=len)
    assert len(together) > 3, "searches were not given together"
    journal = (tmp_path / "spread" / "journal.jsonl").read_text().splitlines()
    keys = [json.loads(line)["key"] for line in journal]
    assert set(together) <= set(keys)
    here = (tmp_path / "here" / "journal.jsonl").read_text().splitlines()
    said = ("machine/", "bench")
    assert sorted(k for k in keys if not k.startswith(said)) == sorted(
        k for k in (json.loads(line)["key"] for line in here) if not k.startswith(said)
    )


def test_proposals_of_one_answer_are_proved_together(tmp_path: Path) -> None:
    texts = [format_template(t) for t in plain_templates(GEMV, "plain")[:1]]
    wrong = texts[0].replace("plain", "other", 1)
    proposals = [Proposal(t, "fw", "new") for t in (texts[0], wrong, "no template")]
    told = []
    executors: tuple[Executor, ...] = (HereExecutor(), spread := Spread())
    for number, executor in enumerate(executors):
        agent = Agent(repairs=0, proposals=3)
        with room_at(tmp_path / str(number), Scripted([]), agent=agent) as room:
            room.setting.executor = executor
            room.asked = 1
            judge_all(room, 0, proposals, 1)
            told.append([(m.key, m.verdict, m.digest) for m in room.made])
            assert room.ahead == {}
    assert told[0] == told[1]
    assert spread.given == [("judge/1/0", "judge/1/1")]


def test_several_templates_are_proved_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    spread, names = Spread(), ["gemv_rows", "gemv_int8_rows"]
    first = prove_several(names, spread, heard := Heard(), LIMITS)
    assert first.held
    assert [*first.as_json()["proofs"]] == names
    assert spread.given == [tuple(names)]
    assert len(heard.told) == 2
    again = prove_several(names, spread, Silent(), LIMITS)
    assert spread.given[1] == ()
    assert all(o.reused for p in again.proofs.values() for o in p.obligations)


def test_every_text_that_cannot_be_proved_is_told_of(tmp_path: Path) -> None:
    broken = tmp_path / "broken.fw"
    broken.write_text("template x : operator -> mapping\n  nonsense\n")
    other = tmp_path / "other.fw"
    other.write_text("nothing\n")
    with pytest.raises(InputError) as caught:
        prove_several([str(broken), str(other)], Spread(), Silent(), LIMITS)
    faulty = {d.span.file for d in caught.value.diagnostics if d.span}
    assert faulty == {str(broken), str(other)}
    with pytest.raises(InputError, match="is a chain"):
        prove_several(["chains/gemm.toml", "nobody"], Spread(), Silent(), LIMITS)


def test_a_job_of_a_study_is_small() -> None:
    study = load_study("gemmini-bert")
    assert len(pickle.dumps(Search(study, (), None, "random", 0))) < 200_000


@dataclass
class Unlike(Spread):
    """Whose random searches are done by a machine of another kind."""

    def perform(
        self, jobs: Mapping[str, Job], folder: Path, bench: Machine, hearer: Hearer
    ) -> Iterator[tuple[str, Outcome]]:
        for key, outcome in super().perform(jobs, folder, bench, hearer):
            if isinstance(outcome, Done) and "/random/" in key:
                far = replace(outcome.machine, host="far", cpu="another CPU")
                outcome = replace(outcome, machine=far)
            yield key, outcome


def test_seconds_of_unlike_machines_are_told_apart(tmp_path: Path) -> None:
    told = {}
    for name, executor in (("like", Spread()), ("unlike", Unlike())):
        study = write_study(tmp_path)
        result = run_study(study, tmp_path / name, Silent(), executor)
        told[name] = {m.method: m.note for m in result.ceilings[0].methods}
    assert not any("unlike machine" in note for note in told["like"].values())
    assert "seconds of far-" in told["unlike"]["random"]
    assert all("unlike machine" in note for note in told["unlike"].values())

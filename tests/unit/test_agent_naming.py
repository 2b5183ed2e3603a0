"""A proposer names the purchases of a study: beside what is read off the solutions, once."""

import json
from pathlib import Path

import pytest
from test_codesign_flow import LIBRARY, STUDY

from formwright.base.diagnostics import InputError
from formwright.contract.agent import Agent
from formwright.flow.codesign import run_study
from formwright.flow.codesign_agent import name_purchases
from formwright.flow.options import Options, agent_of
from listeners import Silent


def test_each_purchase_gets_a_name_and_none_is_asked_twice(tmp_path: Path) -> None:
    (tmp_path / "four.toml").write_text(LIBRARY)
    (tmp_path / "study.toml").write_text(STUDY)
    out = tmp_path / "out"
    result = run_study(str(tmp_path / "study.toml"), out, Silent())
    found = name_purchases(result, Agent(), out, Silent())
    bought = [p for c in result.ceilings for p in c.purchases]
    assert len(found["mechanisms"]) == len(bought) > 0
    for told, purchase in zip(found["mechanisms"], bought, strict=True):
        assert told["mechanism"] == list(purchase.mechanism)
        assert all(field in told["name"] for field in purchase.fields)
    asked = (out / "transcript.jsonl").read_text().splitlines()
    assert len(asked) == len(bought)
    assert {json.loads(line)["kind"] for line in asked} == {"mechanism"}
    again = name_purchases(result, Agent(), out, Silent())
    assert again["mechanisms"] == found["mechanisms"]
    assert (out / "transcript.jsonl").read_text().splitlines() == asked


def test_a_refusal_is_told_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "four.toml").write_text(LIBRARY)
    (tmp_path / "study.toml").write_text(STUDY)
    out = tmp_path / "out"
    result = run_study(str(tmp_path / "study.toml"), out, Silent())
    (tmp_path / "none.jsonl").write_text("")
    replay = Agent(proposer="replay", transcript=str(tmp_path / "none.jsonl"))
    found = name_purchases(result, replay, out, Silent())
    assert all(not told["name"] and told["problem"] for told in found["mechanisms"])
    assert run_study(str(tmp_path / "study.toml"), out, Silent()).ceilings == result.ceilings


def test_no_proposer_is_asked_unless_one_is_named() -> None:
    assert agent_of(Options(), None) is None
    assert agent_of(Options(agent="library"), None) == Agent()
    with pytest.raises(InputError, match="needs a model"):
        agent_of(Options(agent="openai"), None)

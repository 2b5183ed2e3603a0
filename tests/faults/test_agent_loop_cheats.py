"""Proposals that try to cheat, through the loop itself: nothing of them is used or admitted.

``test_agent_cheats.py`` holds the texts against the first door. Here each goes the way of a run:
judged, journalled, told to the population; and those that a screen lets through meet the verifier,
the compiler, the sandbox and the clock.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from test_agent_cheats import CHEATS

from agent_rooms import GEMV, SHAPE, Scripted, room_at, told
from effort import thinned
from formwright.agent.protocol import Proposal
from formwright.base.diagnostics import InputError
from formwright.contract.agent import Agent
from formwright.contract.contract import contract_digest
from formwright.flow.agent_judging import judge_all
from formwright.flow.agent_kernels import try_kernels
from formwright.lang import load

HONEST = load("gemv_rows")[0].text
NO_REPAIRS = Agent(repairs=0, proposals=64)


def changed(old: str, new: str) -> str:
    assert old in HONEST
    return HONEST.replace(old, new, 1)


DEEPER = {
    # Texts that no screen refuses: what is wrong with them only a proof shows.
    "leaves the tail out": changed("+= W[i", "+= W[0*i"),
    "sums some columns only": changed("in 0 .. ceil(K/L)", "in 0 .. min(1, ceil(K/L))"),
    "starts from what was there": changed("    tot[r] = 0\n", ""),
    "adds what was not asked": changed("    tot[r] = 0\n", "    tot[r] = 1\n"),
}


def test_no_cheat_of_the_screen_gets_anywhere(tmp_path: Path) -> None:
    """All at once, as one answer: each has a reason, none a template, and the record is whole."""
    before = contract_digest(GEMV)
    with room_at(tmp_path, Scripted([]), agent=NO_REPAIRS) as room:
        proposals = [
            Proposal(text, "c" if language == "c" else "fw", "model:new")
            for text, language, _, _ in CHEATS.values()
        ]
        assert len(proposals) >= 20
        room.asked = 1
        assert judge_all(room, 0, proposals, 1) == []
        try_kernels(room, 0, proposals, 1)
        assert len(room.made) == len(proposals)
        for name, made in zip(CHEATS, room.made, strict=True):
            stage, words = CHEATS[name][2:]
            assert made.verdict != "proved"
            assert stage == "*" or stage in {f.stage for f in made.findings}, name
            assert words in told(made.findings), (name, told(made.findings)[:300])
        assert room.setting.templates == {}
        assert room.population.entries(shelf=False) == ()
        assert room.population.counts()["facts"] == 0
        assert contract_digest(room.setting.problem.contract) == before
        keys = [e["key"] for e in room.setting.journal.entries]
        assert len(keys) == len(set(keys))
        assert {k.split("/")[0] for k in keys} == {"known", "judge"}
        assert not (tmp_path / "kernels").exists()


@pytest.mark.parametrize("name", thinned(list(DEEPER), 4))
def test_what_the_screen_lets_through_is_refuted(tmp_path: Path, name: str) -> None:
    with room_at(tmp_path, Scripted([]), agent=NO_REPAIRS) as room:
        room.asked = 1
        assert judge_all(room, 0, [Proposal(DEEPER[name], "fw", "model:new")], 1) == []
        (made,) = room.made
        assert made.verdict in ("refuted", "unresolved")
        assert made.findings
        assert room.setting.templates == {}
        assert room.population.entry(made.digest).place == "shelf"


def test_the_words_of_a_proposal_name_no_rule_no_parent_and_no_evidence(tmp_path: Path) -> None:
    """What an answer says of itself is shown, and decides nothing."""
    said = "evidence: proved; parents: 0000; please admit\x1b[31m"
    proposal = Proposal(changed("tot[r] = 0", "tot[r] = 2"), "fw", "proved", ("f" * 64,), said)
    with room_at(tmp_path, Scripted([]), agent=NO_REPAIRS) as room:
        room.asked = 1
        judge_all(room, 0, [proposal], 1)
        (made,) = room.made
        entry = room.population.entry(made.digest)
        assert (entry.place, entry.evidence) == ("shelf", "none")
        assert made.parents == ()
        assert not any("\x1b" in line for line in room.lines)
        with pytest.raises(InputError):
            room.population.admit(made.digest, _proof_of_another())


def _proof_of_another() -> Any:
    from formwright.flow.proving import prove

    return prove(load("softmax_rows")[1])


ZEROS = """
#include <stdint.h>
void kernel(const float *W, const float *x, float *y, int64_t N, int64_t K) {
  for (int64_t i = 0; i < N; i++) y[i] = 0.0f;
}
"""
PLAIN = ZEROS.replace(
    "y[i] = 0.0f;",
    "{ float s = 0; for (int64_t k = 0; k < K; k++) s += W[i*K+k] * x[k]; y[i] = s; }",
)
REMEMBERS = ZEROS.replace("void kernel", "static int64_t calls;\nvoid kernel").replace(
    "for (int64_t i = 0; i < N; i++) y[i] = 0.0f;",
    "if (calls++ > 3) return;\n  for (int64_t i = 0; i < N; i++) { float s = 0;"
    " for (int64_t k = 0; k < K; k++) s += W[i*K+k] * x[k]; y[i] = s; }",
)
BEYOND = PLAIN.replace("i < N; i++) {", "i < N + 4096; i++) {")


@pytest.mark.slow
def test_kernel_source_is_tested_and_stays_on_the_shelf(tmp_path: Path) -> None:
    sources = [ZEROS, REMEMBERS, BEYOND, "int kernel(void) { return 1; }\n", PLAIN]
    with room_at(tmp_path, Scripted([]), agent=NO_REPAIRS) as room:
        room.asked = 1
        proposals = [Proposal(text, "c", "model:new") for text in sources]
        assert judge_all(room, 0, proposals, 1) == []
        try_kernels(room, 0, proposals, 1)
        *bad, good = room.made
        assert [m.verdict for m in bad] == ["refuted", "refuted", "refuted", "build"]
        assert good.verdict == "tested"
        entry = room.population.entry(good.digest)
        assert (entry.place, entry.evidence, entry.language) == ("shelf", "tested", "c")
        assert room.setting.templates == {}
        assert room.population.covering(GEMV, shelf=True) == ()
        with pytest.raises(InputError, match="tested and never proved"):
            room.population.admit(good.digest, _proof_of_another())
        (line,) = [x for x in room.lines if re.search(rf"at {SHAPE.name}: .* s; tested", x)]
        assert "times the best" not in line

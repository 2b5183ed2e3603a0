"""``formwright prove`` lets the interpreter of systems bear out what it refutes of a step."""

from pathlib import Path

import pytest
import replay_systems as systems

from formwright.base.source import Source
from formwright.flow.proving import prove
from formwright.lang import load_source, parse
from formwright.replay.system import why_not_kept
from formwright.smt import prove as prove_conditions


def test_a_fault_of_a_step_is_refuted_by_a_run(tmp_path: Path) -> None:
    proof = prove(systems.handshake(ready="true"), store=tmp_path)
    assert proof.verdict == "refuted"
    found = [o.counterexample for o in proof.obligations if o.counterexample is not None]
    reached = [c for c in found if c.replayed]
    assert reached
    assert all(c.interleaving is not None for c in reached)


@pytest.mark.slow
def test_a_failed_certificate_says_whether_the_relation_is_wrong_or_weak() -> None:
    source = load_source("src/formwright/chains/gemm/1_reduction_partition.fw")
    weak = source.text.replace(" and part = (if qa", " and part <= (if qa")
    wrong = source.text.replace("  ended: done => g = KT", "  ended: done => g < KT")
    for text, words in ((weak, "may be too weak"), (wrong, "the relation is wrong: clause ")):
        assert text != source.text
        proof = prove_conditions(parse(Source("x.fw", text)), clause_judge=why_not_kept)
        assert proof.verdict == "unresolved"
        opened = [o.detail for o in proof.obligations if o.verdict != "proved"]
        assert any("failed certificate" in d and words in d for d in opened), opened

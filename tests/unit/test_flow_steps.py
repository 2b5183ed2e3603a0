"""``formwright prove`` lets the interpreter of systems bear out what it refutes of a step."""

from pathlib import Path

import replay_systems as systems

from formwright.base.source import Source
from formwright.flow.proving import prove
from formwright.lang import load, parse


def test_a_fault_of_a_step_is_refuted_by_a_run(tmp_path: Path) -> None:
    proof = prove(systems.handshake(ready="true"), store=tmp_path)
    assert proof.verdict == "refuted"
    found = [o.counterexample for o in proof.obligations if o.counterexample is not None]
    reached = [c for c in found if c.replayed]
    assert reached
    assert all(c.interleaving is not None for c in reached)


def test_a_failed_certificate_says_whether_the_relation_is_wrong_or_weak() -> None:
    source, _ = load("src/formwright/chains/gemm/2_physical_storage.fw")
    weak = source.text.replace("  ordered: used => loaded\n", "")
    wrong = source.text.replace("  between: g = KT => not loaded", "  between: g = KT => loaded")
    for text, words in ((weak, "may be too weak"), (wrong, "the relation is wrong: clause ")):
        assert text != source.text
        proof = prove(parse(Source("x.fw", text)), fresh=True)
        assert proof.verdict == "unresolved"
        opened = [o.detail for o in proof.obligations if o.verdict != "proved"]
        assert any("failed certificate" in d and words in d for d in opened), opened

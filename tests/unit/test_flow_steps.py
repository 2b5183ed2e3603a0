"""``formwright prove`` lets the interpreter of systems bear out what it refutes of a step."""

from pathlib import Path

import replay_systems as systems

from formwright.flow.proving import prove


def test_a_fault_of_a_step_is_refuted_by_a_run(tmp_path: Path) -> None:
    proof = prove(systems.handshake(ready="true"), store=tmp_path)
    assert proof.verdict == "refuted"
    found = [o.counterexample for o in proof.obligations if o.counterexample is not None]
    reached = [c for c in found if c.replayed]
    assert reached
    assert all(c.interleaving is not None for c in reached)

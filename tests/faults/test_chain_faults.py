"""A fault in one step of the chain: refuted at that very step by a run, inherited below it."""

from pathlib import Path

import pytest

from chain_texts import edited
from formwright.flow.chain_proving import prove_chain
from formwright.proof.chains import ChainProof

STEPS = (
    "reduction_partition",
    "physical_storage",
    "asynchronous_transfer",
    "double_buffering",
    "shared_resources",
)

FAULTS = {
    # A last group that is not full is left out.
    1: {"KT = ceil(K/Tk)": "KT = K // Tk"},
    # Partial results are written over operands that are read later.
    2: {
        "  lifetime: share = 0 or lX + 1 <= tY\n": "",
        "  order_xy             : share = 1 => lX + tau <= tY + (H + tau)*(1 - z)\n": "",
    },
    # Operands are read while they are in flight.
    3: {
        "  readiness: waits = 1 or tI + latency < lX and tI + latency < tY\n": "",
        "  ready        : waits = 1 or tI + latency < lX and tI + latency < tY\n": "",
    },
    # A slot is overwritten while another warp still reads it.
    4: {"P <= S - 2 + beta": "P <= S - 1"},
    # Requests are gathered for which the queue has no place.
    5: {"burst <= depth": "burst <= 2*depth"},
}

SAID = {
    1: ("relation", "wrong result"),
    2: ("relation", "wrong result"),
    3: ("matching", "wrong result"),
    4: ("relation", "should see"),
    5: ("progress", "stuck"),
}
"""A condition that fails, and what the run shows."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Proofs of the steps above a fault are made once."""
    return tmp_path_factory.mktemp("proofs")


@pytest.mark.parametrize(
    "place",
    [1, 2, 3, pytest.param(4, marks=pytest.mark.slow), pytest.param(5, marks=pytest.mark.slow)],
)
def test_a_fault_is_refuted_where_it_is(place: int, store: Path, tmp_path: Path) -> None:
    proof = prove_chain(str(edited(tmp_path, {str(place): FAULTS[place]})), store=store)
    assert (proof.verdict, proof.broken, proof.evidence) == ("refuted", STEPS[place - 1], "none")
    assert [s.verdict for s in proof.steps[: place - 1]] == ["proved"] * (place - 1)
    _is_refuted(proof, place)
    for below in proof.steps[place:]:
        assert (below.verdict, below.inherited, below.proof) == ("unresolved", proof.broken, None)
    assert proof.theorem.startswith(f"Not proved, {proof.broken} is refuted")
    _is_told(proof, place)


def _is_refuted(proof: ChainProof, place: int) -> None:
    step = proof.steps[place - 1]
    assert step.proof is not None
    refuted = [o for o in step.proof.obligations if o.verdict == "refuted"]
    reached = [o.counterexample for o in refuted if o.counterexample and o.counterexample.replayed]
    assert reached
    condition, said = SAID[place]
    assert condition in {o.condition for o in refuted}
    assert any(said in c.text for c in reached)
    assert all(o.verdict in ("proved", "refuted") for o in step.proof.obligations)


def _is_told(proof: ChainProof, place: int) -> None:
    """What is not looked at is one obligation of the composition, and no fault."""
    shown = proof.as_json()
    assert [s["inherited"] for s in shown["steps"]] == [n > place for n in range(1, 6)]
    composition = proof.composition.obligations
    assert all(o.verdict == "proved" for o in composition if o.condition != "inherited")
    assert [o.name for o in composition if o.condition == "inherited"] == [f"below {proof.broken}"]


def test_steps_that_do_not_meet_are_no_fault_of_either(store: Path, tmp_path: Path) -> None:
    path = edited(tmp_path, {"2": {"    y := y + part\n": "    y := part\n"}}, last=3)
    proof = prove_chain(str(path), store=store)
    assert (proof.verdict, proof.broken) == ("refuted", "system partitioned")
    assert [s.verdict for s in proof.steps] == ["proved", "unresolved", "unresolved"]
    assert [s.inherited for s in proof.steps] == ["", "system partitioned", "system partitioned"]

"""What the composition of a chain rests on is read from the grounds that are kept for it."""

from collections import Counter

from formwright.lang.chains import load_chain
from formwright.proof.composition import Composer
from formwright.proof.store import template_digest
from formwright.proof.verdict import Proof
from formwright.report.pages.chain_grounds import composition_resting, shipped_chain
from formwright.report.pages.conditions import conditions_of

CHAIN = load_chain("gemm")


def test_all_between_the_steps_of_the_chain_that_ships_has_its_ground() -> None:
    rests = composition_resting(CHAIN)
    assert set(rests.values()) == {"a certificate", "a comparison of content"}
    assert rests["system partitioned"] == "a comparison of content"
    assert rests["given in double_buffering: waits"] == "a certificate"
    assert rests["a design of the whole chain: premises"] == "a certificate"


def test_names_are_those_of_the_composition() -> None:
    def nothing(*_: object) -> Proof:
        return Proof("", "", "proved", (), 0.0, "")

    composer = Composer(CHAIN, nothing, nothing)
    around = [o for place in range(len(CHAIN.steps)) for o in composer.above(place)]
    compared = {o.name for o in around if o.verdict == "proved"}
    assert len(compared) > 10
    assert compared < set(composition_resting(CHAIN))


def test_another_chain_has_not_the_grounds_of_this_one() -> None:
    steps = [{"name": s.name, "digest": template_digest(s)} for s in CHAIN.steps]
    assert shipped_chain({"chain": "gemm", "steps": steps}) is not None
    assert shipped_chain({"chain": "other", "steps": steps}) is None
    steps[2]["digest"] = "0" * 64
    assert shipped_chain({"chain": "gemm", "steps": steps}) is None


def test_without_grounds_a_part_rests_on_the_solver_alone() -> None:
    obligations = [{"name": "a", "verdict": "proved", "evidence": "proved"}]
    found = conditions_of({"solver": "z3 1", "obligations": obligations}, {"b": "a certificate"})
    assert Counter(c.rests for c in found) == {"z3 1 alone": 1}

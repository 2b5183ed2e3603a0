"""What a chain owes beside the proofs of its steps, and what it says in the end."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from chain_texts import edited
from formwright.flow.chain_proving import prove_chain, prove_parsed
from formwright.ir.chain import Chain
from formwright.ir.expr import TRUE
from formwright.lang.chains import load_chain
from formwright.proof.chain_environment import environment
from formwright.proof.chain_links import names as links_names
from formwright.proof.chain_theorem import theorem
from formwright.proof.composition import Composer, complete
from formwright.proof.verdict import Limits, Obligation, Proof
from formwright.smt import prove

Edits = dict[str, dict[str, str]]


def chain_of(folder: Path, edits: Edits, last: int = 5) -> Chain:
    return load_chain(str(edited(folder, edits, last)))


def composer(chain: Chain) -> Composer:
    return Composer(chain, prove, lambda t, word: prove(t, only=lambda w: w == word))


def above(folder: Path, edits: Edits, place: int) -> dict[str, Obligation]:
    found = composer(chain_of(folder, edits)).above(place)
    return {o.name: o for o in found}


def failed(found: dict[str, Obligation]) -> dict[str, Obligation]:
    return {n: o for n, o in found.items() if o.verdict != "proved"}


@pytest.mark.parametrize("place", range(5))
def test_the_steps_that_ship_fit_together(place: int) -> None:
    found = {o.name: o for o in composer(load_chain("gemm")).above(place)}
    assert not failed(found)
    conditions = {o.condition for o in found.values()}
    assert {"workload", "names"} < conditions
    assert conditions >= ({"system", "implied"} if place else {"completion", "termination"})
    assert all(o.group == "chain" and o.evidence == "proved" for o in found.values())


def test_the_first_line_that_differs_is_told(tmp_path: Path) -> None:
    found = failed(above(tmp_path, {"2": {"    y := y + part\n": "    y := part\n"}}, 1))
    assert list(found) == ["system partitioned"]
    assert found["system partitioned"].verdict == "refuted"
    assert found["system partitioned"].detail == (
        'reduction_partition has "action combine: y := y + part", '
        'physical_storage has "action combine: y := part"'
    )


def test_what_is_given_follows_from_the_steps_above(tmp_path: Path) -> None:
    edits = {"1": {"Tk     in {16, 32, 64}": "Tk     in {16, 32, 128}"}}
    found = failed(above(tmp_path, edits, 1))
    assert [o.condition for o in found.values()] == ["implied"]
    (given,) = found.values()
    assert given.verdict == "refuted"
    assert given.counterexample is not None
    assert given.counterexample.values["Tk"] == 128


def test_a_constraint_above_may_be_what_implies_it(tmp_path: Path) -> None:
    edits = {
        "1": {"Tk     in {16, 32, 64}": "Tk     in {16, 32, 128}", "C1 : Tk >= 1": "C1 : Tk <= 64"}
    }
    assert not failed(above(tmp_path, edits, 1))


def test_a_decision_is_made_once() -> None:
    chain = load_chain("gemm")
    step = chain.steps[2]
    twice = replace(step, decisions=(replace(step.decisions[0], name="share"),))
    steps = (*chain.steps[:2], twice, *chain.steps[3:])
    (names,) = (o for o in composer(replace(chain, steps=steps)).above(2) if o.condition == "names")
    assert names.verdict == "refuted"
    assert "share is decided in physical_storage already" in names.detail


def test_what_is_given_is_decided_above() -> None:
    chain = load_chain("gemm")
    step = chain.steps[1]
    given = (*step.scope.given, replace(step.scope.given[0], name="P"))
    steps = (chain.steps[0], replace(step, scope=replace(step.scope, given=given)))
    (names,) = (o for o in links_names(steps) if o.name == "names of physical_storage")
    assert names.verdict == "refuted"
    assert "no step above decides P" in names.detail


def test_the_contract_is_read_off_the_workload_alone(tmp_path: Path) -> None:
    edits = {
        "1": {
            "emits if ka = kb then 1 else 0": "emits if ka <= kb then 1 else 0",
            "y := if ka = kb then 1 else 0": "y := if ka <= kb then 1 else 0",
        }
    }
    found = failed(above(tmp_path, edits, 0))
    assert {o.condition for o in found.values()} >= {"relation", "visible"}
    assert "proved" not in {o.verdict for o in found.values()}


def test_the_top_states_that_its_runs_end(tmp_path: Path) -> None:
    found = failed(above(tmp_path, {"1": {"  rank (if done then 0 else 1)\n": ""}}, 0))
    assert [(o.condition, o.verdict) for o in found.values()] == [("termination", "unresolved")]


@pytest.mark.parametrize(
    ("contract", "told"),
    [
        ("C[M,N] = sum(k < K) A[M,k] * B[k,N] + A[M,k]", "no products of input cells"),
        ("C[M,N] = sum(k < K, l < L) A[M,k] * B[l,N]", "needs token ka in K, lb in L"),
        ("C[M,N] = sum(k < K, l < L) A[M,k] * B[k,N]", "no input of the contract has the index l"),
    ],
)
def test_other_contracts_are_not_met(contract: str, told: str, tmp_path: Path) -> None:
    path = edited(tmp_path, {"chain": {"C[M,N] = sum(k < K) A[M,k] * B[k,N]": contract}})
    found = {o.name: o for o in composer(load_chain(str(path))).above(0)}
    assert found["workload of reduction_partition"].verdict == "refuted"
    assert told in found["contract"].detail


def test_assumptions_are_discharged_below_or_stated_of_the_whole() -> None:
    chain = load_chain("gemm")
    around = environment(chain.steps)
    assert [a.name for a in around.carried] == ["completion", "arbitration"]
    details = {o.name: o.detail for o in around.obligations}
    assert (
        "double_buffering discharges it"
        in details["environment latency of asynchronous_transfer in double_buffering"]
    )
    assert (
        "it is assumed" in details["environment completion of double_buffering in shared_resources"]
    )


def test_surroundings_of_which_nothing_is_assumed_are_no_premise(tmp_path: Path) -> None:
    chain = chain_of(tmp_path, {}, last=3)
    *most, last = chain.steps
    assert last.refinement is not None
    fine = replace(last.refinement.fine, assumptions=())
    steps = (*most, replace(last, refinement=replace(last.refinement, fine=fine)))
    (obligation,) = environment(steps).obligations
    assert obligation.verdict == "refuted"
    assert "complete" in obligation.detail


def test_a_proof_that_leaves_a_condition_out_is_none() -> None:
    part = Obligation("x", "K2", "initial", "proved", "proved", 0.0)
    proof = Proof("step", "d", "proved", (part,), 0.0, "z3")
    assert complete("step", proof).verdict == "refuted"
    assert "vacuity, rank, progress, completion" in complete("step", proof).detail


def test_the_theorem_names_scope_menus_and_contract() -> None:
    said = theorem(load_chain("gemm"))
    for part in (
        "every M >= 1, N >= 1, K >= 1 and W >= 1",
        "chip.area",
        "all 5 steps",
        "Tk, cyclic",
    ):
        assert part in said
    assert said.endswith("computed C[M,N] = sum(k < K) A[M,k] * B[k,N], each product exactly once.")


def test_two_steps_are_proved_and_found_again(tmp_path: Path) -> None:
    path, store = edited(tmp_path, {}, last=2), tmp_path / "store"
    first = prove_chain(str(path), store=store)
    assert (first.verdict, first.evidence, first.broken) == ("proved", "proved", "")
    again = prove_chain(str(path), store=store)
    assert again.composition.theorem == first.composition.theorem
    assert again.composition.assumptions == first.composition.assumptions
    obligations = [o for s in again.steps if s.proof is not None for o in s.proof.obligations]
    assert obligations
    assert all(o.reused for o in (*obligations, *again.composition.obligations))
    shown = again.as_json()
    assert {"verdict", "steps", "composition", "theorem", "assumptions"} <= set(shown)
    assert [s["inherited"] for s in shown["steps"]] == [False, False]


def test_a_kept_chain_whose_file_was_changed_is_not_believed(tmp_path: Path) -> None:
    path, store = edited(tmp_path, {}, last=1), tmp_path / "store"
    first = prove_chain(str(path), store=store)
    kept = [f for f in store.glob("*.json") if '"theorem"' in f.read_text()]
    assert len(kept) == 1
    kept[0].write_text(kept[0].read_text().replace("each product", "no product"))
    again = prove_chain(str(path), store=store)
    assert again.composition.theorem == first.composition.theorem


def test_contradictory_constraints_leave_the_chain_vacuous(tmp_path: Path) -> None:
    chain = chain_of(tmp_path, {}, last=1)
    step = chain.steps[0]
    never = replace(step.constraints[0], condition=TRUE.__class__(False))
    together = replace(chain, steps=(replace(step, constraints=(never,)),))
    proof = prove_parsed(together, store=tmp_path / "store")
    assert proof.verdict in ("vacuous", "refuted")
    assert proof.theorem.startswith("Not proved")


@pytest.mark.slow
def test_a_limit_leaves_the_chain_unresolved_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    path, store = str(edited(tmp_path, {}, last=1)), tmp_path / "store"
    hurried = prove_chain(path, store=store, limits=Limits(seconds=0.001))
    assert hurried.verdict == "unresolved"
    assert "time" in " ".join(o.detail for o in hurried.composition.obligations)
    assert prove_chain(path, store=store).verdict == "proved"


def test_without_a_solver_nothing_of_a_chain_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [n for n in sys.modules if n.startswith("formwright.smt")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "z3", None)
    found = prove_chain(str(edited(tmp_path, {}, last=1)), store=tmp_path / "store")
    assert found.verdict == "unresolved"
    assert found.evidence == "none"
    assert "z3 is not installed" in " ".join(o.detail for o in found.composition.obligations)


def test_relations_of_extents_stand_with_the_extents(tmp_path: Path) -> None:
    line = "  extents   M >= 1, N >= 1, K >= 1\n"
    bound = {line: f"{line}  where     K <= 9*N\n"}
    chain = load_chain(str(edited(tmp_path, {str(n): bound for n in range(1, 6)})))
    said = theorem(chain)
    before, _, behind = said.partition("every chip with")
    assert "K <= 9*N" in before
    assert "K <= 9*N" not in behind

"""``prove``: verdicts of the shipped templates, of K1, K2, K3 and of vacuous premises."""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from formwright.base.source import Source
from formwright.ir.expr import Arith, Expr, Var
from formwright.ir.show import show_expr
from formwright.ir.template import Template
from formwright.lang import load, parse
from formwright.proof.refutation import Refutation
from formwright.proof.verdict import Counterexample, Obligation, Proof
from formwright.replay import replay
from formwright.smt import prove
from formwright.smt.atoms import Atoms
from formwright.smt.encode import UnderivableError, number

Edit = tuple[str, str]
TILING = Path(__file__).parents[1] / "language" / "prove" / "tiling.fw"


def edited(*edits: Edit) -> Template:
    """Listing 1 with replacements in its text, each of which must apply."""
    text = TILING.read_text()
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return parse(Source("tiling.fw", text))


def proof_of(*edits: Edit, only: Callable[[str], bool] | None = None) -> Proof:
    return prove(edited(*edits), replayer=replay, only=only)


def one(proof: Proof, name: str) -> Obligation:
    return next(o for o in proof.obligations if o.name.startswith(name))


SLOW = pytest.mark.skipif("FORMWRIGHT_SLOW" not in os.environ, reason="set FORMWRIGHT_SLOW")
SHIPPED = ["shared_memory_tiling", "packed_gemm", "direct_gemm"]


@cache
def shipped(name: str) -> Proof:
    """The proof of a shipped template, made once for all tests here."""
    return prove(load(name)[1])


@pytest.mark.parametrize(
    "name",
    [*SHIPPED[:2], *(pytest.param(n, marks=SLOW) for n in ("direct_gemm", "packed_gemm_ahead"))],
)
def test_shipped_templates_are_proved_for_every_extent(name: str) -> None:
    proof = shipped(name)
    assert [f"{o.name}: {o.detail}" for o in proof.obligations if o.verdict != "proved"] == []
    assert proof.verdict == "proved"
    assert {o.evidence for o in proof.obligations} == {"proved"}
    assert len({o.name for o in proof.obligations}) == len(proof.obligations)
    words = {o.condition for o in proof.obligations}
    assert words >= {"address", "single", "race", "readiness", "order", "phantom"}
    assert words >= {"exact_once", "coverage", "defined", "fits", "divisor", "menu", "vacuity"}
    assert proof.seconds < 20


def test_no_case_split_over_the_menus_is_needed() -> None:
    """Every condition of the shipped templates holds for symbolic decisions."""
    for name in SHIPPED[:2]:
        schedule = [o for o in shipped(name).obligations if o.group == "K2"]
        assert len(schedule) > 20
        assert not [o.name for o in schedule if "cases" in o.detail]


def test_k1_refuted_by_values_that_evaluate_agrees_with() -> None:
    edit = ("C3                  : P <= S - 2 + beta", "C3                  : P <= S - 1 + beta")
    found = one(proof_of(edit, only=lambda c: c == "implied"), "implied")
    assert found.verdict == "refuted"
    assert found.counterexample is not None
    values = found.counterexample.values
    assert int(values["P"]) > int(values["S"]) - 2 + int(values["beta"])
    assert int(values["P"]) <= int(values["S"]) - 1 + int(values["beta"])


def test_k3_refuted_where_the_smallest_design_does_not_fit() -> None:
    edit = ("shared_bytes >= 2048", "shared_bytes >= 512")
    found = one(proof_of(edit, only=lambda c: c == "menu"), "designs")
    assert found.verdict == "refuted"
    assert found.counterexample is not None
    assert int(found.counterexample.values["chip.shared_bytes"]) < 1024


def test_footprints_need_the_wall() -> None:
    wall = "S * 4 * (Tm*Tk + Tk*Tn) <= chip.shared_bytes"
    half = (
        "C1 wall shared_bytes: " + wall,
        "C1 wall shared_bytes: 2 * (Tm*Tk) <= chip.shared_bytes",
    )
    proof = proof_of(half, only=lambda c: c == "fits")
    assert one(proof, "fits shared").verdict == "refuted"
    assert one(proof, "fits register").verdict == "proved"


def test_shared_storage_without_room_in_the_scope_is_unresolved() -> None:
    edits = (
        ("shared_bytes >= 2048, ", ""),
        ("  C1 wall shared_bytes: S * 4 * (Tm*Tk + Tk*Tn) <= chip.shared_bytes\n", ""),
    )
    found = one(proof_of(*edits, only=lambda c: c == "fits"), "fits shared")
    assert found.verdict == "unresolved"
    assert "chip.shared_bytes is not in the scope" in found.detail


def test_a_divisor_that_may_be_zero() -> None:
    edit = ("Tk   in {8, 16}", "Tk   in {0, 8, 16}")
    proof = proof_of(edit, only=lambda c: c == "divisor")
    assert one(proof, "divisor Tk in program").verdict == "refuted"
    assert one(proof, "divisor Tm in program").verdict == "proved"


def test_contradictory_premises_are_vacuous() -> None:
    edits = (
        ("C3                  : P <= S - 2 + beta", "C3                  : P <= S - 5"),
        ("lifetime: P <= S - 2 + beta", "lifetime: P <= S - 5"),
    )
    proof = proof_of(*edits, only=lambda c: c in ("vacuity", "lifetime"))
    assert proof.verdict == "vacuous"
    assert one(proof, "premises").verdict == "vacuous"
    assert "contradict" in one(proof, "premises").detail


def test_a_statement_that_never_runs_is_vacuous() -> None:
    edit = ("if beta = 1:", "if beta = 2:")
    proof = proof_of(edit, only=lambda c: c == "vacuity")
    assert proof.verdict == "vacuous"
    assert "can never run" in proof.obligations[0].detail


@pytest.mark.parametrize("panel", ["Nr", pytest.param("Mr", marks=SLOW)])
@pytest.mark.slow
def test_the_packed_product_needs_its_divisibility(panel: str) -> None:
    """A panel that does not divide its block writes some cells twice: 100 and 8, say."""
    packed = load("packed_gemm")[1]
    (needed,) = (
        t for c in packed.constraints if (t := show_expr(c.condition)).endswith(f"mod {panel} = 0")
    )
    block = needed.split()[0]
    kept = [c for c in packed.constraints if show_expr(c.condition) != needed]
    menus = [replace(d, menu=(100,)) if d.name == block else d for d in packed.decisions]
    weaker = replace(packed, constraints=tuple(kept), decisions=tuple(menus))
    proof = prove(weaker, replayer=replay, only=lambda c: c == "exact_once")
    assert proof.verdict == "refuted"
    assert proof.obligations[0].counterexample is not None
    assert proof.obligations[0].counterexample.replayed
    assert prove(weaker, only=lambda c: c == "single").verdict == "unresolved"


WEAK = (
    ("C3                  : P <= S - 2 + beta", "C3                  : P <= S - 1"),
    ("lifetime: P <= S - 2 + beta", "lifetime: P <= S - 1"),
)


def test_the_race_of_figure_7() -> None:
    proof = proof_of(*WEAK, only=lambda c: c == "lifetime")
    texts = [o.counterexample.text for o in proof.obligations if o.counterexample]
    assert proof.verdict == "refuted"
    assert any("C[0,1] accumulates A[0,2]*B[4,1] instead of A[0,2]*B[2,1]" in t for t in texts)


def test_a_solution_that_nothing_replays_is_unresolved() -> None:
    template = edited(*WEAK)
    seen: list[Refutation] = []

    def blind(_: object, claim: Refutation) -> Counterexample | None:
        seen.append(claim)
        return None

    for replayer, why in ((None, "no interpreter was given"), (blind, "it did not replay")):
        proof = prove(template, replayer=replayer, only=lambda c: c == "lifetime")
        assert proof.verdict == "unresolved"
        assert any(why in o.detail for o in proof.obligations)
    claim = seen[0]
    assert claim.condition == "lifetime"
    assert set(claim.values) >= {"M", "N", "K", "W", "S", "P", "beta", "chip.shared_bytes"}
    reader, writer = claim.instances
    assert reader.role == "read"
    assert writer.role == "write"
    slots, distance = int(claim.values["S"]), int(claim.values["P"])
    ahead = writer.variables["p"] + distance - reader.variables["p"]
    assert ahead != 0
    assert ahead % slots == 0


def test_progress_is_told_and_work_can_be_chosen() -> None:
    told: list[str] = []
    proof = prove(
        load("packed_gemm")[1], progress=told.append, only=lambda c: c in ("address", "menu")
    )
    assert {o.condition for o in proof.obligations} == {"address", "menu"}
    assert len(told) == len(proof.obligations)
    assert told[0].startswith(f"1/{len(told)} ")


def test_a_fork_inside_a_team_is_unresolved_and_says_so() -> None:
    edit = ("acc[r,s] = 0", "par grid q in 2: acc[r,s] = 0")
    proof = proof_of(edit, only=lambda c: c != "menu")
    assert proof.verdict == "unresolved"
    assert "a fork inside a team" in one(proof, "program").detail


def test_a_barrier_that_names_its_agent_is_refuted() -> None:
    edit = ("if beta = 1:", "if w = 0:")
    proof = proof_of(edit, only=lambda c: c == "uniform")
    assert {o.verdict for o in proof.obligations} >= {"proved"}
    assert proof.verdict == "refuted"


TWICE = ("sA<p>[r,k] * sB<p>[k,s]", "sA<p>[r,k] * sB<p>[k,s] + sA<p>[r,k] * sB<p>[k,s]")


def test_two_sides_of_a_sum_are_two_terms() -> None:
    proof = prove(edited(TWICE), only=lambda c: c == "exact_once")
    assert proof.verdict == "unresolved"
    assert "a term reaches C twice: counterexample found" in proof.obligations[0].detail


def test_a_factor_that_the_workload_does_not_have() -> None:
    edit = ("sA<p>[r,k] * sB<p>[k,s]", "2 * sA<p>[r,k] * sB<p>[k,s]")
    proof = prove(edited(edit), only=lambda c: c == "phantom")
    assert proof.verdict == "unresolved"
    assert "a term of C that the workload does not have" in proof.obligations[0].detail


def test_what_time_does_not_allow_is_unresolved() -> None:
    proof = prove(edited(), only=lambda c: c == "address", seconds=0.0)
    assert proof.verdict == "unresolved"
    assert {o.detail for o in proof.obligations} == {"not within 0 s"}


def test_a_product_that_would_not_end_is_not_derived() -> None:
    total: Expr = Var("x0")
    for n in range(1, 9):
        total = Arith("+", total, Var(f"x{n}"))
    power: Expr = total
    for _ in range(8):
        power = Arith("*", power, total)
    with pytest.raises(UnderivableError, match="a product of more than"):
        number(power, {}, Atoms())

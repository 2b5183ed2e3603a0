"""Roles (rule P14), masked workloads (P13 in a workload) and what counters leave unresolved."""

from pathlib import Path

import pytest

from formwright.base.source import Source
from formwright.ir.template import Template
from formwright.lang import parse
from formwright.proof.verdict import Proof
from formwright.replay import replay, run
from formwright.smt import prove

FOLDER = Path(__file__).parents[1] / "structures"


def edited(name: str, *edits: tuple[str, str]) -> Template:
    text = (FOLDER / f"{name}.fw").read_text()
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return parse(Source("t.fw", text))


def details(proof: Proof) -> str:
    return "; ".join(f"{o.condition}: {o.detail}" for o in proof.obligations)


def test_a_buffer_with_dist_is_used_in_one_role() -> None:
    """Its owner is one agent: the store by another role would be of another agent's registers."""
    template = edited(
        "producer_consumer/one_consumer",
        ("        C[i*T+r] = acc[r] clip\n", "      if w = 0:\n        C[i*T+r] = acc[r] clip\n"),
    )
    proof = prove(template, only=lambda c: c == "readiness")
    assert proof.verdict == "unresolved"
    assert "acc has dist and is used in two roles" in details(proof)
    outcome = run(template, {"M": 1, "K": 1, "T": 1, "S": 1, "W": 2})
    assert "used in two roles" in outcome.error


def test_a_role_without_agents_does_nothing() -> None:
    template = edited("producer_consumer/one_consumer", ("W = 2", "W >= 1"))
    proof = prove(template, replayer=replay, only=lambda c: c == "defined")
    assert proof.verdict == "refuted"
    shown = proof.obligations[0].counterexample
    assert shown is not None
    assert shown.values["W"] == 1


def test_a_loop_that_names_the_agent_is_not_derived() -> None:
    template = edited("producer_consumer/one_consumer", ("for q in 0 .. K:", "for q in w-1 .. K:"))
    assert prove(template, only=lambda c: c == "readiness").verdict == "unresolved"


def test_two_roles_at_one_counter_are_not_derived() -> None:
    template = edited(
        "producer_consumer/one_consumer",
        (
            "          s<p>[r] = A[i*T+r, p] clip\n",
            "          arrive empty[p mod S]\n          s<p>[r] = A[i*T+r, p] clip\n",
        ),
    )
    proof = prove(template, only=lambda c: c == "lifetime")
    assert proof.verdict == "unresolved"
    assert "two roles arrive at empty" in details(proof)


@pytest.mark.parametrize(
    ("mask", "verdicts"),
    [
        ("k <= n", {"proved"}),
        ("k < n", {"proved", "unresolved"}),  # the program computes more than is asked for
        ("k <= n + 1", {"proved", "unresolved"}),  # and here less
    ],
)
def test_a_mask_of_the_workload_is_kept(mask: str, verdicts: set[str]) -> None:
    template = edited("causal_attention/tiles", ("select(k <= n,", f"select({mask},"))
    proof = prove(template, only=lambda c: c in ("phantom", "coverage"))
    assert {o.verdict for o in proof.obligations} == verdicts
    wrong = {o.condition for o in proof.obligations if o.verdict != "proved"}
    assert wrong == {"k <= n": set(), "k < n": {"phantom"}, "k <= n + 1": {"coverage"}}[mask]


def test_counters_of_each_run_of_a_team_begin_at_zero() -> None:
    text = """template twice : operator -> mapping

scope
  workload  C[M] = sum(k < K) A[M,k]
  extents   M >= 1, K = 1
  agents    W = 2

decisions
  T in {1}

program
  for i in 0 .. M:
    alloc s[T] shared
    par team w in W:
      if w = 0:
        s[r] = A[i+r, 0]
        arrive done
      if w = 1:
        await done, 1
        C[i+r] = s[r] over (r < T)
"""
    template = parse(Source("t.fw", text))
    assert run(template, {"M": 3, "K": 1, "T": 1, "W": 2}).status == "exact"
    assert prove(template, only=lambda c: c in ("readiness", "progress")).verdict == "proved"
    early = parse(Source("t.fw", text.replace("await done, 1", "await done, i + 1")))
    assert run(early, {"M": 3, "K": 1, "T": 1, "W": 2}).stuck
    assert prove(early, replayer=replay, only=lambda c: c == "progress").verdict == "refuted"


@pytest.mark.parametrize(
    ("arrives", "place", "awaited", "ends"),
    [
        ("w = 0", "", "", True),
        ("w = 5", "", "", False),  # no agent has this number
        ("w >= 1", "[w]", "[1]", True),
        ("w >= 1", "[w]", "[0]", False),  # agent 0 does not arrive at its place
        ("w = 0 and K >= 2", "", "", False),
    ],
)
def test_where_nobody_arrives_no_await_is_shown_to_end(
    arrives: str, place: str, awaited: str, ends: bool
) -> None:
    text = f"""template nobody : operator -> mapping

scope
  workload  C[M] = sum(k < K) A[M,k]
  extents   M = 1, K >= 1
  agents    W = 2

decisions
  T in {{1}}

program
  par team w in W:
    if {arrives}:
      for p in 0 .. K:
        arrive done{place}
    if w = {0 if arrives == "w >= 1" else 1}:
      for q in 0 .. K:
        await done{awaited}, q + 1
"""
    proof = prove(parse(Source("t.fw", text)), replayer=replay, only=lambda c: c == "progress")
    assert (proof.verdict == "proved") == ends

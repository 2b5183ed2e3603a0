"""Conditions of refinement steps (S14 to S23): what is proved, and every fault that is not."""

from functools import cache
from pathlib import Path

import pytest

from effort import thinned
from formwright.base.source import Source
from formwright.ir.template import Template
from formwright.lang import parse
from formwright.proof.verdict import Counterexample, Obligation, Proof
from formwright.replay.system import refute_step
from formwright.smt import prove

FOLDER = Path(__file__).parents[1] / "steps"
Edit = tuple[str, str]


def edited(name: str, *edits: Edit) -> Template:
    text = (FOLDER / f"{name}.fw").read_text()
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    return parse(Source(f"{name}.fw", text))


def still_open(name: str, *edits: Edit) -> dict[str, Obligation]:
    proof = prove(edited(name, *edits))
    return {o.name: o for o in proof.obligations if o.verdict != "proved"}


@cache
def whole(name: str) -> Proof:
    return prove(edited(name))


WORDS = ["completion", "initial", "matching", "progress", "range", "rank", "relation", "visible"]


@pytest.mark.parametrize("name", ["handshake", "double_buffer", "meeting", "aliases"])
def test_steps_are_proved_for_every_parameter(name: str) -> None:
    proof = whole(name)
    assert [f"{o.name}: {o.detail}" for o in proof.obligations if o.verdict != "proved"] == []
    assert proof.verdict == "proved"
    assert set(WORDS) <= {o.condition for o in proof.obligations if o.group == "K2"}
    assert len({o.name for o in proof.obligations}) == len(proof.obligations)


HANDSHAKE: list[tuple[str, Edit, set[str]]] = [
    ("wrong relation", ("fill = wr - rd", "fill = wr - rd + 1"), {"initial filled"}),
    ("wrong start", ("fill  : 0 .. D + 1 = 0", "fill  : 0 .. D + 1 = 1"), {"initial filled"}),
    ("start outside", ("fill  : 0 .. D + 1 = 0", "fill  : 0 .. D + 1 = -1"), {"initial fill"}),
    ("racy guard", ("and fill < D:", "and fill <= D:"), {"matching accept"}),
    ("range", ("and fill < D:", "and fill <= D:"), {"range fill after accept"}),
    ("endless", ("(if valid then 0 else 1)", "(if valid then 1 else 1)"), {"rank offer"}),
    (
        "below 0",
        ("(if valid then 0 else 1)", "(if valid then -1 else 0)"),
        {"rank term 1 is natural"},
    ),
    ("stuck", ("action read when fill > 0", "action read when fill > 1"), {"progress wires"}),
    ("wrong value seen", ("fill > 0 emits rd", "fill > 0 emits wr"), {"visible read"}),
    ("nothing seen", ("fill > 0 emits rd", "fill > 0"), {"visible read"}),
    ("seen too soon", ("and wr < K:", "and wr < K emits wr:"), {"visible offer"}),
    ("wrong result", ("result rd", "result wr + 1"), {"completion wires"}),
    ("ends too soon", ("final rd = K", "final wr = K"), {"completion wires"}),
    ("wrong action", ("accept : put", "accept : take"), {"matching accept"}),
    ("no action", ("  read   : take\n", ""), {"relation reads after read", "visible read"}),
    ("out of the room", ("and wr < K:\n", "and wr <= K:\n"), {"relation room after offer"}),
]


@pytest.mark.parametrize(
    ("edit", "names"), thinned([c[1:] for c in HANDSHAKE]), ids=[c[0] for c in HANDSHAKE]
)
def test_a_fault_of_the_handshake_stays_open(edit: Edit, names: set[str]) -> None:
    found = still_open("handshake", edit)
    assert names <= set(found)
    assert {o.verdict for o in found.values()} == {"unresolved"}
    for obligation in found.values():
        assert obligation.detail.startswith("failed certificate: ")
        assert obligation.counterexample is not None


def test_a_failed_certificate_names_clause_action_and_state() -> None:
    found = still_open("handshake", ("fill := fill + 1", "fill := fill + 2"))
    shown = found["relation filled after accept"]
    assert shown.detail == "failed certificate: clause filled is not kept by accept"
    assert shown.counterexample is not None
    assert not shown.counterexample.replayed
    assert {"K", "D", "wr", "rd", "fill", "valid", "coarse.sent"} <= set(
        shown.counterexample.values
    )


def test_a_run_that_was_reached_refutes_and_is_looked_for_once() -> None:
    asked: list[dict[str, object]] = []

    def replayer(template: Template, values: dict[str, object]) -> Counterexample:
        asked.append(values)
        return Counterexample({"K": 1}, "stuck", True)

    template = edited("handshake", ("action read when fill > 0", "action read when fill > 1"))
    proof = prove(template, step_replayer=replayer)  # type: ignore[arg-type]
    stuck = [o for o in proof.obligations if o.verdict == "refuted"]
    assert [o.condition for o in stuck] == ["progress"]
    assert len(asked) == 1
    assert {"M", "N", "K", "D"} <= set(asked[0])


BARRIERS: list[tuple[str, Edit, set[str]]] = [
    ("lifetime", ("R1 : P <= S - 2 + beta", "R1 : P <= S - 1"), {"matching comp"}),
    ("argument", ("use(w, p[w])", "use(w, p[w] + 1)"), {"matching comp"}),
    (
        "no barrier",
        ("l[w] = 1 and forall v in W: n[v] >= n[w]:", "l[w] = 1:"),
        {"relation near after pass"},
    ),
    (
        "half a barrier",
        ("n[v] >= n[w]:\n    l[w] := 2", "v = w or n[v] + 1 >= n[w]:\n    l[w] := 2"),
        {"relation near after pass"},
    ),
    ("read outside", ("l[w] = 4:\n    done", "l[w + 1] = 4:\n    done"), {"range cells of finish"}),
    ("write outside", ("    l[w] := 2", "    l[w + 1] := 2"), {"range cells of pass"}),
    ("wrong pick", ("2 * n[w] + (if l[w] = 4 then 1 else 0)", "n[w]"), {"progress barriers"}),
    ("rank", ("5 - l[w]", "5 + l[w]"), {"rank pass"}),
    (
        "another's rank",
        ("- l[w] + (if u[w] then 0 else 1)", "- l[w] + (if u[w] then 0 else 1) + 9 * acc"),
        {"rank term 1 is natural"},
    ),
]


@pytest.mark.parametrize(
    ("edit", "names"), thinned([c[1:] for c in BARRIERS]), ids=[c[0] for c in BARRIERS]
)
def test_a_fault_of_the_barriers_stays_open(edit: Edit, names: set[str]) -> None:
    found = still_open("double_buffer", edit)
    assert names <= set(found)
    assert {o.verdict for o in found.values()} == {"unresolved"}


MEETING: list[tuple[str, list[Edit], set[str]]] = [
    ("lost arrival", [("    count := count + 1\n", "")], {"relation total count after come"}),
    (
        "two at once",
        [("count := count + 1", "count := count + 2")],
        {"relation total count after come"},
    ),
    ("not reset", [("    count := 0\n", "")], {"relation total count after release"}),
    (
        "half reset",
        [("todo[v for all] := 2", "todo[v for all] := 1")],
        {"relation total left after release"},
    ),
    ("wrong start", [("= 2 * W\n  action", "= W\n  action")], {"initial total left"}),
    ("goes early", [("and count = W", "and count >= W - 1")], set()),
    (
        "never goes",
        [("and count = W", "and count > W")],
        {"premises and actions", "progress arrivals"},
    ),
    (
        "no total",
        [("  total left = sum(w in W) todo[w]\n", "")],
        {"rank term 1 is natural", "progress arrivals"},
    ),
    (
        "comes twice",
        [(" and not here[w] and", " and")],
        {"rank come", "relation total count after come"},
    ),
    (
        "below 0",
        [("sum(w in W) todo[w]", "sum(w in W) (todo[w] - 1)")],
        {"relation total left is natural"},
    ),
    ("endless", [("  rank T - phase", "  rank T - 0 * phase")], {"termination phases advance"}),
    (
        "rank below 0",
        [("  rank T - phase", "  rank 0 - phase")],
        {"termination coarse.term 1 is natural"},
    ),
]


@pytest.mark.parametrize(
    ("edits", "names"), thinned([c[1:] for c in MEETING], 2), ids=[c[0] for c in MEETING]
)
def test_a_fault_of_the_meeting_stays_open(edits: list[Edit], names: set[str]) -> None:
    found = still_open("meeting", *edits)
    assert names <= set(found)


def test_an_action_that_can_never_act_is_vacuous() -> None:
    found = still_open("meeting", ("and count = W", "and count > W"))
    assert found["premises and actions"].verdict == "vacuous"


def test_two_tokens_may_be_one_cell() -> None:
    found = still_open("aliases", ("  bump(w) when w = i and w = j : both\n", ""))
    assert set(found) == {"relation there after bump"}


def test_cells_of_unequal_tokens_are_not_taken_for_equal() -> None:
    found = still_open("aliases", ("x[w] := x[w] + 1", "x[w] := x[i] + 1"))
    assert {"relation there after bump"} <= set(found)


def test_the_first_line_of_match_that_holds_counts() -> None:
    lines = "  bump(w) when w = i and w = j : both\n  bump(w) when w = i : first\n"
    swapped = "  bump(w) when w = i : first\n  bump(w) when w = i and w = j : both\n"
    assert "relation there after bump" in still_open("aliases", (lines, swapped))


def test_a_token_without_values_stands_for_nothing() -> None:
    edits = [("agents    W >= 1", "agents    W >= 0"), ("counts\n  token i in W, j in W", "counts")]
    assert "initial tokens" in still_open("aliases", *edits)


SMALL = """template small : one -> two

scope
  workload  C[M,N] = sum(k < T) A[M,k] * B[k,N]
  extents   M >= 1, N >= 1, T >= 1
  agents    Z >= 0

coarse one
  var a : 0 .. 2 = 0
  action go when a = 0:
    a := 1
  final a = 1
  result a

fine two
  var x        : 0 .. 2 = 0
  var y[z in Z] : 0 .. 5 = 0
  action go when x = 0 and GUARD:
    x := 1
    MORE
  final x = 1
  result x

relation
  same : x = coarse.a
  CLAUSE

match
  go : go

progress
  pick z in Z least y[z]

rank
  0
"""


def small(
    guard: str = "true", x: str = "1", more: str = "", clause: str = "t : true"
) -> dict[str, str]:
    text = SMALL.replace("GUARD", guard).replace("CLAUSE", clause)
    text = text.replace(
        "    x := 1\n    MORE\n", f"    x := {x}\n{f'    {more}' if more else ''}\n"
    )
    proof = prove(parse(Source("small.fw", text)))
    return {o.name: o.detail for o in proof.obligations if o.verdict != "proved"}


def test_the_small_step_is_proved() -> None:
    assert small() == {}


def test_a_guard_over_an_empty_range_says_nothing() -> None:
    """With Z = 0 the action acts, and breaks what is claimed."""
    found = small("forall z in Z: false", x="0")
    assert "relation same after go" in found
    assert "progress two" in small("forall z in Z: y[z] > 0")


def test_a_least_member_of_an_empty_range_is_no_witness() -> None:
    assert set(small("Z > 0")) == {"progress two"}
    assert set(small("(Z = 0 or y[0] >= 0)")) == set()


def test_a_division_whose_divisor_may_be_0_is_out_of_range() -> None:
    found = small(more="y[0] := T // Z")
    assert "range cells of go" in found


def test_a_cell_outside_an_empty_range_is_found() -> None:
    assert "range cells of go" in small(more="y[0] := 0")
    assert "range cells of go" not in small("Z > 0", more="y[0] := 0")
    assert "range cells of go" not in small("Z > 0 and y[0] = 0", more="y[0] := 0")
    assert "range cells of go" in small("y[0] = 0 and Z > 0", more="y[0] := 0")


def test_a_cell_of_an_expression_is_read_only_where_it_is_chosen() -> None:
    assert "range cells of go" not in small(x="if Z > 0 and y[0] > 0 then 1 else 1")
    assert "range cells of go" in small(x="if Z >= 0 and y[0] > 0 then 1 else 1")


def test_known_ranges_of_cells_hold_inside_only() -> None:
    assert "relation t after go" in small(
        "y[T] < 5", clause="t : forall z in Z: y[z] = 0", more="y[z for all] := y[T]"
    )


def test_every_cell_can_change_at_once() -> None:
    assert small(more="y[z for all] := y[z]", clause="t : forall z in Z: y[z] = 0") == {}
    found = small(more="y[z for all] := z", clause="t : forall z in Z: y[z] = 0")
    assert {"relation t after go", "range y after go"} == set(found)


def test_updates_read_the_state_before() -> None:
    assert small(more="y[z for all] := x", clause="t : forall z in Z: y[z] = 0") == {}


REACHED: list[tuple[str, str, list[Edit], str, str]] = [
    ("race", "double_buffer", [("R1 : P <= S - 2 + beta", "R1 : P <= S - 1")], "matching", "use("),
    ("stuck", "handshake", [("read when fill > 0", "read when fill > 1")], "progress", "stuck"),
    ("result", "handshake", [("result rd", "result rd + 1")], "completion", ""),
]


@pytest.mark.parametrize(
    ("name", "edits", "word", "text"),
    thinned([c[1:] for c in REACHED[::-1]]),
    ids=[c[0] for c in REACHED[::-1]],
)
def test_a_fault_that_the_interpreter_reaches_is_refuted(
    name: str, edits: list[Edit], word: str, text: str
) -> None:
    proof = prove(edited(name, *edits), step_replayer=refute_step)
    assert proof.verdict == "refuted"
    refuted = [o for o in proof.obligations if o.verdict == "refuted"]
    assert [o.condition for o in refuted] == [word]
    for obligation in refuted:
        assert obligation.counterexample is not None
        assert obligation.counterexample.replayed
        assert text in obligation.counterexample.text


@pytest.mark.slow
def test_a_relation_that_is_too_weak_refutes_nothing() -> None:
    weak = ("  trailing : forall w in W: l[w] = 3 => beta = 1\n", "")
    proof = prove(edited("double_buffer", weak), step_replayer=refute_step)
    assert proof.verdict == "unresolved"

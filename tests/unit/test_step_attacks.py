"""Steps made to be proved wrongly: each claims more than its systems do, and must stay open."""

import pytest

from effort import thinned
from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.lang import parse
from formwright.replay.system import refute_step
from formwright.smt import prove

HEAD = """template attack : one -> two

scope
  workload C[M,N] = sum(k < K) A[M,k] * B[k,N]
  extents  M >= 1, N >= 1, K >= 1

decisions
  S in {1, 2}

coarse one
"""
COARSE = """  token y any
  var done : bool = false
  action finish when not done:
    done := true
  final done
  result y
"""
FINE = COARSE.replace(
    "  action finish when not done", "  MORE\n  action finish when not done GUARD"
)
RELATED = "relation\n  same: done = coarse.done\n"


def left_open(fine: str, rest: str, coarse: str = COARSE) -> dict[str, str]:
    text = f"{HEAD}{coarse}\nfine two\n{fine}\n{rest}"
    proof = prove(parse(Source("attack.fw", text)), step_replayer=refute_step)
    return {o.name: o.verdict for o in proof.obligations if o.verdict != "proved"}


def fine(more: str, guard: str = "") -> str:
    return FINE.replace("MORE", more).replace("GUARD", guard)


def test_a_half_is_no_value_of_a_parameter() -> None:
    """With ``y = 1`` no integer is ``y/2``: the fine system is stuck."""
    coarse = COARSE.replace("finish when not done", "finish(v any) when not done and 2*v = y")
    halves = COARSE.replace("finish when not done", "finish(v any) when not done and v = y/2")
    found = left_open(halves, f"{RELATED}match\n  finish(v): finish(v)\n", coarse)
    assert found == {"progress two": "refuted"}


def test_a_coarse_variable_is_no_token_of_the_fine_system() -> None:
    """Both are called ``x``; read as the token, the coarse system has ended."""
    coarse = """  token y any
  var x : 0 .. 3 = 0
  action finish when x = 0:
    x := 2
  final x = 1
  result y + x
"""
    shadow = COARSE.replace("y any", "y any, x in 1 .. 2").replace("result y", "result y + 1")
    with pytest.raises(InputError, match='"x" is called like a variable of the coarse system'):
        left_open(shadow, "rank\n  if done then 0 else 1\n", coarse)


@pytest.mark.slow
def test_the_coarse_system_stays_in_its_ranges_between_two_calls() -> None:
    """As the interpreter has it: ``up`` a second time leaves the range, whatever follows."""
    coarse = """  token y any
  var c : 0 .. 2 = 0
  action up:
    c := c + 1
  action down:
    c := c - 1
  final c = 1
  result y
"""
    rest = "relation\n  same: done = (coarse.c = 1)\nmatch\n  finish: "
    assert left_open(fine("", ""), f"{rest}up; down; up\n", coarse) == {}
    found = left_open(fine("", ""), f"{rest}up; up; down\n", coarse)
    assert set(found) == {"range coarse.c after finish"}


def test_a_sum_over_every_integer_bounds_nothing() -> None:
    eaten = (
        "var x[i any] : 0 .. 2 = 1\n  action eat(i any) when x[i] = 1 and not done:\n    x[i] := 0"
    )
    found = left_open(fine(eaten), f"{RELATED}match\n  finish: finish\nrank\n  sum(i any) x[i]\n")
    assert set(found) == {"rank term 1 is natural"}


@pytest.mark.parametrize(
    ("more", "guard", "name"),
    thinned(
        [
            ("var z : int = 5 // (S - 1)", "", "cells of the start"),
            ("var z[i in 2] : int = i // (S - 1)", "", "cells of the start"),
            ("var z : 0 .. 5 mod (S - 1) + 9 = 0", "", "cells of the start"),
            ("token t in 2 + 1 // (S - 1)", "", "cells of the start"),
            ("action go(v in 1 // (S - 1)) when not done:\n    done := done", "", "cells of go"),
            ("", "and forall v in 1 // (S - 1): v < S", "cells of finish"),
        ],
        2,
    ),
)
def test_ranges_and_initial_values_divide_by_1_at_least(more: str, guard: str, name: str) -> None:
    rest = f"{RELATED}match\n  finish: finish\nrank\n  0\n"
    assert f"range {name}" in left_open(fine(more, guard), rest)


def test_parts_of_a_total_are_not_natural_because_the_total_is() -> None:
    """At ``n = -1`` nothing can act."""
    more = """var x[w in 1] : int = 0
  var n : int = 0
  action down(w in 1) when not done and n > -1:
    n := n - 1
    x[w] := x[w] - 1"""
    rest = f"""{RELATED}  only: forall i in 1: n = x[i]
  total n = sum(i in 1) x[i]
match
  finish: finish
rank
  n + 1
"""
    found = left_open(fine(more, "and n >= 0"), rest)
    assert found == {"relation total n is natural": "refuted"}


def test_an_index_is_no_definition() -> None:
    """``x[i] = i`` at the start, whatever else is called ``i``."""
    for more in ("let i = 0", "var i : int = 0"):
        with pytest.raises(InputError, match='"i" is a '):
            left_open(fine(f"var x[i in 3] : int = i\n  {more}"), RELATED)


def test_where_no_token_exists_nothing_is_shown() -> None:
    """With ``K = 1`` the fine system is stuck, and there is no token to see it."""
    coarse = COARSE.replace("y any", "t in K - 1").replace("result y", "result 0")
    stuck = coarse.replace("not done", "not done and K > 1")
    found = left_open(stuck, f"{RELATED}match\n  finish: finish\n", coarse)
    assert set(found) == {"initial tokens"}


def test_new_names_of_two_guards_are_two_names() -> None:
    """The first guard reads cells 0 and 1 of 5, the second one 9 of them."""
    more = "var x[w in 5] : int = 0"
    guard = "and forall u in 2: x[u] >= 0:\n    when forall u in 9: x[u] >= 0 or u < 9"
    text = fine(more, guard).replace("u < 9:", "u < 9")
    found = left_open(text, f"{RELATED}match\n  finish: finish\n")
    assert "range cells of finish" in found

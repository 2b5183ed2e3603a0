"""What is proved of a random step holds in every state of its small instances."""

import os
import random

import pytest
from step_states import violated

from effort import thinned
from formwright.base.source import Source
from formwright.ir.evaluate import EvaluationError
from formwright.ir.inline import inlined
from formwright.lang import parse
from formwright.smt import prove

SEEDS = 400 if "FORMWRIGHT_SLOW" in os.environ else 8

TEXT = """template random : above -> below

scope
  workload  C[M,N] = sum(k < M) A[M,k] * B[k,N]
  extents   M >= 1, N >= 1
  agents    W >= 0

coarse above
  var y         : 0 .. 3 = 0
  var c[w in W] : 0 .. 2 = {first}
  action up when {above}:
    y := y + 1
  action mark(w in W) when {mark}:
    c[w] := 1 - c[w]
  final y = 2
  result y

fine below
  token o in W
  var x         : 0 .. 3 = 0
  var a[w in W] : 0 .. 3 = {first}
  var b         : bool = false
  var n         : int = {start}
  action go(w in W) when {guard}:
    {update}
  action on(v in W, u in W) when {other}:
    {second}
  action end when {last}:
    x := x + 1
  final x = 2
  result {result}

relation
  one : {one}
  two : {two}
{total}
match
  go(w) when {when} : {call}
  on(v, u) : {both}
  end : {ended}

progress
  pick p in W least a[p]

rank
  {rank}
"""

CONDITIONS = [
    "a[w] = 0",
    "a[w] < 2",
    "x < 2",
    "not b",
    "b",
    "w = o",
    "a[o] = 0 and a[w] > 0",
    "x < 2 and forall r in W: a[r] >= a[w]",
    "forall r in W: r = w or a[r] = 0",
    "n < 2 and a[w] = 1",
]
UPDATES = [
    "a[w] := a[w] + 1",
    "a[w] := 1",
    "a[w] := 1 - a[w]",
    "a[o] := a[w]",
    "b := not b",
    "b := a[w] = 0",
    "x := x + 1",
    "a[z for all] := a[w]",
    "a[z for all] := if z = w then 1 else 0",
    "n := n + 1",
    "n := n + 1 - a[w]",
]
CLAUSES = [
    "true",
    "coarse.y = x",
    "coarse.y <= x",
    "forall w in W: a[w] <= 1",
    "forall w in W: a[w] = coarse.c[w]",
    "forall v in W, w in W: a[v] <= a[w] + 1",
    "forall v in W, w in W: v = w or a[v] + a[w] <= 1",
    "b => a[o] = 1",
    "forall w in W: b or a[w] = 0",
    "a[o] <= x",
    "n <= 2",
]


PLAIN = [c for c in CONDITIONS if "forall" not in c]
TOTALS = [
    "",
    "  total n = sum(w in W) a[w]\n",
    "  total n = sum(w in W) (if a[w] = 0 then 0 else 1)\n",
]
RANKS = [
    "0",
    "2 - x",
    "sum(w in W) a[w]",
    "sum(w in W) (2 - a[w]) + (if b then 0 else 1)",
    "sum(w in W) (if b then a[w] else 2 - a[w])",
]
ENDS = ["x < 2", "b and x < 2", "x < 2 and forall r in W: a[r] = 0", "x < 2 and n = 0"]


def random_step(seed: int) -> str:
    """A step of a few lines, most of which are wrong."""
    rng = random.Random(seed)

    def updates() -> str:
        chosen = rng.sample(UPDATES, rng.randint(1, 3))
        return "\n    ".join({u.split(" := ")[0].split("[")[0]: u for u in chosen}.values())

    def of_u(text: str) -> str:
        return text.replace("[w]", "[u]").replace("w = o", "u = v").replace("= w", "= u")

    return TEXT.format(
        first=rng.choice(["0", "0", "1", "if w = 0 then 1 else 0"]),
        start=rng.choice(["0", "0", "W"]),
        above=rng.choice(["y < 2", "true", "y < 2 and forall w in W: c[w] = 0"]),
        mark=rng.choice(["true", "c[w] = 0", "y = 0"]),
        guard=rng.choice(CONDITIONS),
        other=of_u(rng.choice(CONDITIONS)),
        last=rng.choice(ENDS),
        update=updates(),
        second=of_u(updates()),
        result=rng.choice(["x", "x", "x + n"]),
        one=rng.choice(CLAUSES),
        two=rng.choice(CLAUSES),
        total=rng.choice(TOTALS),
        when=rng.choice([*PLAIN, "true"]),
        call=rng.choice(["none", "mark(w)", "mark(o)", "up", "mark(w); mark(w)"]),
        both=rng.choice(["none", "none", "mark(u)", "mark(u); mark(v)"]),
        ended=rng.choice(["up", "up", "none"]),
        rank=rng.choice(RANKS),
    )


@pytest.mark.parametrize("seed", thinned(range(SEEDS), 3))
def test_what_is_proved_of_a_step_holds_in_every_state(seed: int) -> None:
    template = inlined(parse(Source("random.fw", random_step(seed))))
    assert template.refinement is not None
    proof = prove(template, only=lambda word: word not in ("vacuity", "menu"))
    names = {o.name for o in proof.obligations}
    shown = {o.name for o in proof.obligations if o.verdict == "proved"}
    for agents in (0, 1, 2):
        try:
            wrong = set(violated(template.refinement, {"M": 1, "N": 1, "W": agents}))
        except EvaluationError:
            assert not {n for n in names if n.startswith("range cells")} <= shown
            continue
        assert not shown & wrong
        assert wrong - {"rank term"} <= names
        if "rank term" in wrong:
            assert not {n for n in names if n.startswith("rank term")} <= shown

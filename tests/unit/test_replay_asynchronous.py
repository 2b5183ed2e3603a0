"""Rule P9: asynchronous applies read and write at any time; groups end with agents and storage."""

from itertools import product

import pytest

from formwright.base.source import Source
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.lang import parse
from formwright.replay import Schedule, explore, run

HEAD = """template probe : operator -> mapping

scope
  workload  C[M,N] = sum(k < K) A[M,k] * B[k,N]
  extents   M >= 1, N >= 1, K >= 1
  agents    W >= 1

program
"""
POINT = {"M": 1, "N": 2, "K": 3, "W": 2}
TIMES = ("early", "late", "split")
ADD = "acc[r,s] += A[r,k] * B[k,s]"


def probe(body: str) -> Template:
    rows = ["  " + row for row in body.strip("\n").splitlines()]
    return inlined(parse(Source("probe.fw", HEAD + "\n".join(rows) + "\n")))


LOOP = """
alloc acc[M,N] register
acc[r,s] = 0
for k in 0 .. K:
  {body}
wait 0
C[r,s] = acc[r,s]
"""


@pytest.mark.parametrize(
    ("body", "safe"),
    [
        (f"{ADD} async; commit", False),
        (f"{ADD} async; commit; wait 1", False),
        (f"{ADD} async; commit; wait 0", True),
        (f"if k mod 2 = 0: {ADD} async; commit\n  if k mod 2 = 1: {ADD}", False),
        (f"if k mod 2 = 0: {ADD} async; commit; wait 0\n  if k mod 2 = 1: {ADD}", True),
        (f"{ADD}", True),
    ],
)
def test_accumulations_in_flight_lose_one_another(body: str, safe: bool) -> None:
    """Both read the old value, both write: one is lost, though one agent does both."""
    template = probe(LOOP.format(body=body))
    found = explore(template, POINT)
    assert found.safe == safe
    assert ("misses" in found.defect) != safe
    exact = [run(template, POINT, Schedule(asynchronous=t)).status for t in TIMES]  # type: ignore[arg-type]
    assert (exact == ["exact"] * 3) == safe


def test_a_read_in_flight_meets_a_later_write() -> None:
    """The value that is read changes between issue and completion."""
    body = """
alloc x[M] ring 1 scratch
alloc acc[M,N] register
acc[r,s] = 0
for k in 0 .. K:
  x<k>[r] = A[r,k]
  acc[r,s] += x<k>[r] * B[k,s] async
  commit
  wait {pending}
wait 0
C[r,s] = acc[r,s]
"""
    assert explore(probe(body.format(pending=0)), POINT).safe
    assert not explore(probe(body.format(pending=1)), POINT).safe


STORAGE = """
alloc acc[M,N] register
acc[r,s] = 0
{outside}for k in 0 .. K:
  {inside}x[r] = A[r,k]
  acc[r,s] += x[r] * B[k,s] async
  {commit}
wait 0
C[r,s] = acc[r,s]
"""


@pytest.mark.parametrize("commit", ["commit", "hint unroll 1"])
def test_groups_are_complete_before_the_storage_that_they_touch_ends(commit: str) -> None:
    """A block that allocates waits at its end, committed or not; without, nothing waits."""
    inside = probe(STORAGE.format(outside="", inside="alloc x[M] scratch; ", commit=commit))
    assert explore(inside, POINT).safe
    for time in TIMES:
        assert run(inside, POINT, Schedule(asynchronous=time)).status == "exact"  # type: ignore[arg-type]
    outside = probe(
        STORAGE.format(outside="alloc x[M] ring 4 scratch\n", inside="", commit=commit).replace(
            "x[r]", "x<k>[r]"
        )
    )
    assert not explore(outside, POINT).safe


def test_the_whole_group_is_complete_where_one_of_it_touches_the_storage() -> None:
    body = """
alloc acc[M,N] register
acc[r,s] = 0
for k in 0 .. K:
  alloc x[M] scratch
  acc[r,s] += A[r,k] * B[k,s] async
  {group}x[r] = A[r,k] async
  commit
wait 0
C[r,s] = acc[r,s]
"""
    assert explore(probe(body.format(group="")), POINT).safe
    assert not explore(probe(body.format(group="commit\n  ")), POINT).safe


def test_an_agent_completes_its_groups_when_it_ends() -> None:
    body = """
alloc x[M,N] scratch
par {par}:
  {add} async
for z in 0 .. 1: C[r,s] = x[r,s]
"""
    grid = body.format(par="grid (i, j) in M, N", add="x[i,j] = 0")
    for text in (grid, body.format(par="team w in W", add="x[r,s] = 0")):
        template = probe(text)
        point = {**POINT, "K": 0}
        assert explore(template, point).safe
        for time in TIMES:
            assert run(template, point, Schedule(asynchronous=time)).status == "exact"  # type: ignore[arg-type]


def test_the_last_store_may_be_asynchronous() -> None:
    body = "par grid (i, j) in M, N:\n  alloc a[1] register\n  a[0] = 0\n" + (
        "  for k in 0 .. K: a[0] += A[i,k] * B[k,j]\n  C[i,j] = a[0] async\n"
    )
    assert explore(probe(body), POINT).safe
    for time, order in product(TIMES, ("textual", "reversed", "lockstep")):
        schedule = Schedule(asynchronous=time, order=order)  # type: ignore[arg-type]
        assert run(probe(body), POINT, schedule).status == "exact"

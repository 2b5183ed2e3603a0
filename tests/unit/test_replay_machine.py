"""The rules of the program IR as the machine plays them, on small programs of their own."""

import re
from dataclasses import replace
from itertools import product

import pytest

from effort import thinned
from formwright.base.source import Source
from formwright.ir.inline import inlined
from formwright.ir.program import Apply, Par, Read
from formwright.ir.template import Template
from formwright.lang import load, parse
from formwright.replay import Delay, Outcome, Schedule, explore, run

HEAD = """template probe : operator -> mapping

object probe
  "A probe of one rule."

scope
  workload  C[M,N] = sum(k < K) A[M,k] * B[k,N]
  extents   M >= 1, N >= 1, K >= 0
  agents    W >= 1
  semantics "real arithmetic"

decisions
  T in {1, 2, 4}

program
"""
POINT = {"M": 2, "N": 2, "K": 2, "W": 2, "T": 1}


def probe(body: str) -> Template:
    """A template with this program; ``body`` is indented by two."""
    rows = ["  " + row for row in body.strip("\n").splitlines()]
    return inlined(parse(Source("probe.fw", HEAD + "\n".join(rows) + "\n")))


def kinds(outcome: Outcome) -> set[str]:
    return {a.kind for a in outcome.anomalies}


DIRECT = """
par team w in W:
  C[r,s] = 0 over (r < M, s < N)
  barrier
  C[r,s] += A[r,k] * B[k,s] over (r < M, s < N, k < K)
"""


def test_p4_each_point_runs_on_exactly_one_agent() -> None:
    for owners, agents in product(("natural", "swapped", "columns", "apart", "random"), (1, 2, 3)):
        schedule = Schedule(owners=owners, seed=5)  # type: ignore[arg-type]
        outcome = run(probe(DIRECT), {**POINT, "W": agents}, schedule)
        assert outcome.status == "exact"
        total = sum(len(e.points) for e in outcome.events)
        assert total == 4 + 8


def test_p4_accesses_that_name_two_owners_are_a_defect() -> None:
    """The text is refused; a tree that is built otherwise is refused where it is run."""
    body = """
alloc acc[M,M] register dist 1
par team w in W:
  acc[r,q] = 0
  acc[r,q] += acc[r,q]
  C[r,s] = 0 over (r < M, s < N)
"""
    template = probe(body)
    point = {**POINT, "K": 0}
    assert run(template, point).status == "exact"
    team = template.program[1]
    assert isinstance(team, Par)
    apply = team.body[1]
    assert isinstance(apply, Apply)
    assert isinstance(apply.value, Read)
    access = apply.value.access
    swapped = replace(access, index=access.index[::-1])
    torn = replace(apply, value=replace(apply.value, access=swapped))
    body_ = (team.body[0], torn, *team.body[2:])
    broken = replace(template, program=(template.program[0], replace(team, body=body_)))
    outcome = run(broken, point)
    assert outcome.status == "defect"
    assert "acc[r,q] and acc[q,r] decide differently (rule P4)" in outcome.error
    assert "rule P4" in explore(broken, point).defect
    assert run(broken, {**point, "W": 1}).status == "exact"


def test_l32_only_the_chosen_side_of_a_select_is_read() -> None:
    body = """
alloc x[K] scratch
x[k] = A[0,k]
C[r,s] = select(r < M, 0, A[r+M,s+K]) over (r < M, s < N)
for k in 0 .. K:
  C[r,s] += select({cond}, A[r,k], A[r,k+K]) * B[k,s] over (r < M, s < N)
"""
    assert run(probe(body.format(cond="k < K")), POINT).status == "exact"
    wrong = run(probe(body.format(cond="k < K - 1")), POINT)
    assert kinds(wrong) == {"address"}


def test_max_accumulates_a_value_once() -> None:
    body = """
C[r,s] = 0 over (r < M, s < N)
for k in 0 .. K: C[r,s] += A[r,k] * B[k,s] over (r < M, s < N)
alloc copy[M,N] scratch
copy[r,s] = C[r,s]
for t in 0 .. 3: C[r,s] max= copy[r,s]
"""
    assert run(probe(body), POINT).status == "exact"
    wrong = body.replace("max= copy[r,s]", "max= 2*copy[r,s]")
    assert run(probe(wrong), POINT).status == "defect"


def test_p3_a_second_assignment_is_seen() -> None:
    outcome = run(probe("C[r,s] = 0 over (r < M, s < N)\n" + DIRECT), POINT)
    assert "single" in kinds(outcome)


def test_p6_accumulations_of_two_agents_without_barrier_lose_terms() -> None:
    """Each point of ``k`` may run on another agent: read, then write, is not one step."""
    torn = Schedule(order="lockstep", torn=True)
    outcome = run(probe(DIRECT), {**POINT, "M": 1, "N": 1}, torn)
    assert [c.kind for c in outcome.cells] == ["missing"]


def test_p1_storage_is_fresh_each_time() -> None:
    body = """
for i in 0 .. M:
  alloc t[N] register
  if i = 0:
    t[s] = 0
  C[i,s] = t[s]
"""
    outcome = run(probe(body), {**POINT, "K": 0})
    assert kinds(outcome) == {"undefined"}
    assert {c.index[0] for c in outcome.cells} == {1}


def test_p8_clip_is_needed_at_the_edge() -> None:
    body = "C[r,s] = 0 over (r < M+1, s < N){clip}"
    clipped = run(probe(body.format(clip=" clip")), {**POINT, "K": 0})
    bare = run(probe(body.format(clip="")), {**POINT, "K": 0})
    assert clipped.status == "exact"
    assert kinds(bare) == {"outside"}
    assert bare.anomalies[0].text == "writes C[2,0], outside C[2,2]"


def test_p7_a_barrier_under_the_agents_name_blocks() -> None:
    body = """
par team w in W:
  if w = 0:
    barrier
  C[r,s] = 0 over (r < M, s < N)
"""
    outcome = run(probe(body), {**POINT, "K": 0})
    assert outcome.status == "defect"
    assert "waits at barrier" in outcome.stuck[0]
    assert not explore(probe(body), {**POINT, "K": 0}).safe


def test_p5_different_barriers_do_not_count_as_one() -> None:
    body = """
par team w in W:
  if w = 0:
    barrier
  if w > 0:
    barrier
  C[r,s] = 0 over (r < M, s < N)
"""
    assert "uniform" in kinds(run(probe(body), {**POINT, "K": 0}))


def test_p10_counters_block_until_they_are_reached() -> None:
    """An agent that waits for more than anybody arrives never ends (Vitis, Triton)."""
    body = """
par team w in W:
  if w = 0:
    C[r,s] = 0 over (r < M, s < N)
    arrive done
  if w = 1:
    await done, {count}
"""
    point = {**POINT, "K": 0}
    good = run(probe(body.format(count=1)), point, Schedule(delay=Delay(0)))
    late = run(probe(body.format(count=2)), point)
    assert good.status == "exact"
    assert late.stuck == ("w1 waits at await (line 21)",)


ASYNC = """
      for u in 0 .. P:
        if u < KT:
          sA<u>[r,k] = A[i*Tm+r, u*Tk+k] clip async
          sB<u>[k,s] = B[u*Tk+k, j*Tn+s] clip async
        commit
      for p in 0 .. KT:
{head}        if p+P < KT:
          sA<p+P>[r,k] = A[i*Tm+r, (p+P)*Tk+k] clip async
          sB<p+P>[k,s] = B[(p+P)*Tk+k, j*Tn+s] clip async
        commit
{tail}"""
WAIT = "        wait G\n        barrier\n"


def asynchronous(wait_first: bool) -> Template:
    text = load("shared_memory_tiling")[0].text
    text, menus = re.subn(r"S +in \{1, 2, 3\}", "G in {0, 1, 2}\n  S in {2, 3, 4}", text)
    loads = ASYNC.format(head=WAIT if wait_first else "", tail="" if wait_first else WAIT)
    pattern = re.compile(r"^ *for u in 0 .*?(?=^ *acc\[r,s\] \+=)", re.DOTALL | re.MULTILINE)
    text, places = pattern.subn(lambda _: loads[1:], text)
    assert (menus, places) == (1, 1)
    return inlined(parse(Source("async.fw", text)))


@pytest.mark.parametrize("wait_first", thinned([False, True], 2))
@pytest.mark.slow
def test_p9_groups_in_flight(wait_first: bool) -> None:
    """``wait G`` with G <= P (load, wait, barrier) and G <= P-1 (wait, barrier, load)."""
    template = asynchronous(wait_first)
    times = ("early", "late", "split")
    delays = [None, *(Delay(rank, after) for rank in (0, 1) for after in (0, 1, 2, 3))]
    schedules = [Schedule(asynchronous=t, delay=d) for t in times for d in delays]  # type: ignore[arg-type]
    for slots, pending in product((2, 3), (0, 1, 2)):
        for ahead in range(slots):
            point = {"M": 2, "N": 2, "K": 4, "W": 2, "Tm": 2, "Tn": 2, "Tk": 1}
            point |= {"S": slots, "P": ahead, "G": pending, "beta": 0 if wait_first else 1}
            exact = all(run(template, point, s).status == "exact" for s in schedules)
            assert exact == (pending <= (ahead - 1 if wait_first else ahead)), point


def test_p9_an_accumulation_in_flight_is_not_yet_there() -> None:
    """Reading the accumulator before its group is complete loses terms in some order."""
    body = """
alloc acc[M,N] register dist 2
par team w in W:
  acc[r,s] = 0
  acc[r,s] += A[r,k] * B[k,s] over (r < M, s < N, k < K) async
  commit
  wait {pending}
  C[r,s] = acc[r,s] over (r < M, s < N)
"""
    assert explore(probe(body.format(pending=0)), POINT).safe
    assert not explore(probe(body.format(pending=1)), POINT).safe
    late = Schedule(asynchronous="late")
    assert run(probe(body.format(pending=0)), POINT, late).status == "exact"
    assert {c.kind for c in run(probe(body.format(pending=1)), POINT, late).cells} == {"missing"}

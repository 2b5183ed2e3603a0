"""Exact rules of pipelined loops: the derived conditions against the closed forms.

Each family is one program text with its decisions fixed in turn; everything else (K, the
tile, the team) stays symbolic. The rules are those of the literature on software pipelines:
with ``c`` barriers an iteration, ``lam`` before the load and ``kap`` before the computation, a
ring of S slots and a prefetch of P is safe iff ``c*(S-P) >= kap - lam + 1`` and ``P <= S-1``
(and ``P >= 1`` where the load comes after the only barrier before the computation).
"""

from itertools import product

import pytest

from formwright.base.source import Source
from formwright.ir.show import show_expr
from formwright.ir.template import Template
from formwright.lang import load, parse
from formwright.smt import safe_bounds, safe_conditions

HEAD = """template family : operator -> mapping

object slot
  "one column of a tile in each slot"

scope
  workload  C[M] = sum(k < K) A[M,k]
  extents   M >= 1, K >= 1
  agents    W >= 1
  chip      shared_bytes >= 256

decisions
  T    in {1, 2, 4}
  S    in {1, 2, 3}
  P    in {0, 1, 2}
  beta in {0, 1}
  G    in {0, 1, 2}

program
  par grid i in ceil(M/T):
    alloc s[T] ring S shared
    alloc acc[T] register dist 1
    alloc y[T,K] scratch dist 1
    par team w in W:
      acc[r] = 0
"""
LOAD = "if p+P < K: s<p+P>[r] = A[i*T+r, p+P] clip"
LOAD_ASYNC = "if p+P < K: s<p+P>[r] = A[i*T+r, p+P] clip async"
COMPUTE = "acc[r] += s<p>[r]"
TRAIL = "if beta = 1: barrier"


def family(*loop: str, prologue: tuple[str, ...] = (), after: tuple[str, ...] = ()) -> Template:
    first = prologue or ("for u in 0 .. min(P, K): s<u>[r] = A[i*T+r, u] clip",)
    rows = [*first, "for p in 0 .. K:", *(f"  {row}" for row in loop), *after]
    text = HEAD + "".join(f"      {row}\n" for row in (*rows, "C[i*T+r] = acc[r] clip"))
    return parse(Source("family.fw", text))


def verdicts(template: Template, names: str, *menus: range) -> dict[tuple[int, ...], str]:
    keys = names.split()
    return {
        point: safe_conditions(template, dict(zip(keys, point, strict=True)))
        for point in product(*menus)
    }


def words(safe: dict[tuple[int, ...], bool]) -> dict[tuple[int, ...], str]:
    return {point: "proved" if good else "refuted" for point, good in safe.items()}


def test_the_24_combinations_of_listing_1() -> None:
    _, template = load("shared_memory_tiling")
    found = verdicts(template, "S P beta", range(1, 4), range(4), range(2))
    assert found == words({(s, p, b): p <= s - 2 + b for s, p, b in found})


def test_few_iterations_are_safe_with_any_prefetch() -> None:
    """Knowing K: ``P <= S-2+beta or KT <= S``; one iteration more is refuted."""
    _, template = load("shared_memory_tiling")
    for s, p, b in ((2, 1, 0), (3, 3, 1)):
        (bound,) = safe_bounds(template, {"S": s, "P": p, "beta": b})
        assert (show_expr(bound.iterations), bound.most, bound.exact) == ("ceil(K/Tk)", s, True)


def test_without_the_barrier_one_iteration_is_too_many() -> None:
    """A ring is not what is wrong there; no bound on the iterations is found."""
    assert safe_bounds(family(LOAD, COMPUTE), {"S": 3, "P": 0, "beta": 0}) == ()


def test_load_before_the_barrier() -> None:
    found = verdicts(
        family(LOAD, "barrier", COMPUTE, TRAIL), "S P beta", range(2, 4), range(3), range(2)
    )
    assert found == words({(s, p, b): p <= s - 2 + b for s, p, b in found})


def test_load_after_the_barrier() -> None:
    """The order of CUTLASS needs no trailing barrier."""
    found = verdicts(family("barrier", LOAD, COMPUTE), "S P", range(1, 4), range(3))
    assert found == words({(s, p): 1 <= p <= s - 1 for s, p in found})


def test_two_barriers_before_the_computation() -> None:
    """c = 2, lam = 1, kap = 2: 2*(S-P) >= 2 and P <= S-1."""
    found = verdicts(family("barrier", LOAD, "barrier", COMPUTE), "S P", range(1, 4), range(3))
    assert found == words({(s, p): p <= s - 1 for s, p in found})


COPIES = ("for u in 0 .. P:", "  if u < K: s<u>[r] = A[i*T+r, u] clip async", "  commit")


def test_wait_group_after_the_load() -> None:
    """load, commit, wait G, barrier: the copy of tile p is done iff G <= P."""
    template = family(
        LOAD_ASYNC, "commit", "wait G", "barrier", COMPUTE, "barrier", prologue=COPIES
    )
    found = verdicts(template, "S P G", range(3, 4), range(3), range(3))
    assert found == words({(s, p, g): g <= p for s, p, g in found})


def test_wait_group_before_the_load() -> None:
    """wait G, barrier, load: one group fewer is closed, so G <= P - 1."""
    template = family("wait G", "barrier", LOAD_ASYNC, "commit", COMPUTE, prologue=COPIES)
    found = verdicts(template, "S P G", range(3, 4), range(1, 3), range(3))
    assert found == words({(s, p, g): g <= p - 1 for s, p, g in found})


def test_guarded_groups_are_counted_too() -> None:
    """A commit under the guard of its load: near the end fewer groups are closed."""
    template = family(
        "if p+P < K:",
        "  s<p+P>[r] = A[i*T+r, p+P] clip async",
        "  commit",
        "wait 0",
        "barrier",
        COMPUTE,
        "barrier",
        prologue=("for u in 0 .. min(P, K):", "  s<u>[r] = A[i*T+r, u] clip async", "  commit"),
    )
    found = verdicts(template, "S P", range(3, 4), range(3))
    assert found == words(dict.fromkeys(found, True))


@pytest.mark.parametrize("depth", [0, 1])
def test_reads_in_flight(depth: int) -> None:
    """Asynchronous reads of depth D keep a slot D iterations longer.

    Each writes a cell of its own: two accumulations in flight together would be a race.
    """
    template = family(
        LOAD,
        "barrier",
        "y[r,p] = s<p>[r] over (r < T) async",
        "commit",
        f"wait {depth}",
        TRAIL,
        after=("wait 0", "for q in 0 .. K: acc[r] += y[r,q]"),
    )
    found = verdicts(template, "S P beta", range(2, 4), range(2), range(2))
    assert found == words({(s, p, b): p <= s - 2 + b - depth for s, p, b in found})


@pytest.mark.parametrize(("pending", "verdict"), [(0, "proved"), (1, "refuted")])
def test_accumulations_in_flight_together_race(pending: int, verdict: str) -> None:
    template = family(
        LOAD,
        "barrier",
        f"{COMPUTE} async",
        "commit",
        f"wait {pending}",
        "barrier",
        after=("wait 0",),
    )
    assert safe_conditions(template, {"S": 3, "P": 0, "beta": 0}) == verdict


def test_a_count_that_varies_is_unresolved() -> None:
    template = family(LOAD, "if p * p <= 9: barrier", COMPUTE)
    assert safe_conditions(template, {"S": 3, "P": 0}) == "unresolved"


@pytest.mark.parametrize(
    ("S", "P", "verdict"),
    [(3, 0, "refuted"), (3, 1, "refuted"), (4, 1, "proved"), (4, 2, "refuted"), (5, 2, "proved")],
)
def test_a_barrier_in_every_second_iteration(S: int, P: int, verdict: str) -> None:
    """Safe iff an even iteration lies between a computation and the load into its slot."""
    template = family(LOAD, "if p mod 2 = 0: barrier", COMPUTE)
    assert safe_conditions(template, {"S": S, "P": P}) == verdict

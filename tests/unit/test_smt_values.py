"""Conditions on values alone, texts that are not derived, and what time allows."""

import time
from dataclasses import replace

import pytest

from formwright.base.source import Source
from formwright.ir.expr import Arith, Compare, Var, num
from formwright.ir.inline import inlined
from formwright.ir.program import Apply, Await, For, If, Par, Stmt
from formwright.ir.rewrite import map_access
from formwright.ir.template import Template
from formwright.lang import parse
from formwright.smt import prove
from formwright.smt.clock import Clock, OutOfTimeError
from formwright.smt.encode import UnderivableError
from formwright.smt.lazy import divisors
from formwright.smt.sites import sites_of

TEXT = """template product : operator -> mapping

scope
  workload  C[M,N] = sum(k < K) A[M,k] * B[k,N]
  extents   M >= 1, N >= 1, K >= 1
  {scope}

decisions
  T in {{2, 4}}   Z in {{0, 1}}

constraints
  C1 : {constraint}

program
  par grid (i, j) in ceil(M/T), ceil(N/T):
    alloc acc[T,T] register dist 2
    par team w in 2:
      acc[r,s] = 0
      for k in 0 .. K:
        acc[r,s] += A[i*T+r, k] * B[k, j*T+s] clip
      C[i*T+r, j*T+s] = acc[r,s] clip
"""


def product(scope: str = "", constraint: str = "true") -> Template:
    return inlined(parse(Source("product.fw", TEXT.format(scope=scope, constraint=constraint))))


def divisor_verdicts(template: Template) -> dict[str, str]:
    found = prove(template, only=lambda c: c == "divisor").obligations
    return {o.name: o.verdict for o in found}


@pytest.mark.parametrize(
    ("relation", "verdict"),
    [
        ("where N >= M // (M-1)", "refuted"),
        ("where N // (M-1) >= 0 and N >= 1", "refuted"),
        ("where M > 1 => N >= M // (M-1)", "proved"),
        ("where M = 1 or N >= M // (M-1)", "proved"),
        ("where N >= if M > 1 then M // (M-1) else 1", "proved"),
        ("where M >= 2, N >= M // (M-1)", "proved"),
    ],
)
def test_divisors_of_the_scope(relation: str, verdict: str) -> None:
    if "," in relation:
        relation = relation.replace(",", " and")
    assert divisor_verdicts(product(relation))["divisor M - 1 in scope"] == verdict


@pytest.mark.parametrize(
    ("constraint", "verdict"),
    [
        ("T mod Z = 0", "refuted"),
        ("Z > 0 => T mod Z = 0", "proved"),
        ("Z = 0 or T mod Z = 0", "proved"),
        ("Z > 0 and T mod Z = 0", "proved"),
        ("T mod Z = 0 and Z > 0", "refuted"),
        ("(if Z = 0 then 0 else T mod Z) = 0", "proved"),
        ("(if Z = 1 then 0 else T mod Z) = 0", "refuted"),
    ],
)
def test_divisors_of_a_constraint_are_lazy(constraint: str, verdict: str) -> None:
    assert divisor_verdicts(product(constraint=constraint))["divisor Z in constraints"] == verdict


def test_the_way_to_a_divisor_is_in_the_order_of_evaluation() -> None:
    guarded = Compare("=", Arith("mod", num(8), Var("d")), num(0))
    (found,) = divisors(guarded, (Compare(">", Var("d"), num(0)),))
    assert found.expr == Var("d")
    assert found.way == (Compare(">", Var("d"), num(0)),)


def applies(block: tuple[Stmt, ...]) -> list[Apply]:
    found: list[Apply] = []
    for stmt in block:
        if isinstance(stmt, Apply):
            found.append(stmt)
        if isinstance(stmt, For | Par | If):
            found += applies(stmt.body)
    return found


def swapped(block: tuple[Stmt, ...], old: Apply, new: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    rows: list[Stmt] = []
    for stmt in block:
        if stmt is old:
            rows += new
        elif isinstance(stmt, For | Par | If):
            rows.append(replace(stmt, body=swapped(stmt.body, old, new)))
        else:
            rows.append(stmt)
    return tuple(rows)


def test_two_owners_of_one_point_are_not_derived() -> None:
    """The language refuses it; a program from elsewhere may have it."""
    template = product()
    store = applies(template.program)[-1]
    (read,) = [store.value]
    shifted = replace(read, access=map_access(read.access, lambda e: Arith("+", e, num(1))))  # type: ignore[union-attr]
    both = replace(store, destination=store.value.access, value=shifted)  # type: ignore[union-attr]
    program = swapped(template.program, store, (both,))
    with pytest.raises(UnderivableError, match="two owners"):
        sites_of(program, template.globals)
    proof = prove(replace(template, program=program), only=lambda c: c != "menu")
    assert proof.verdict == "unresolved"


def test_divisors_of_a_count_are_conditions() -> None:
    template = product()
    store = applies(template.program)[-1]
    waiting = (Await("done", Arith("//", num(4), Var("Z"))), store)
    mutant = replace(template, program=swapped(template.program, store, waiting))
    assert divisor_verdicts(mutant)["divisor Z in program"] == "refuted"


def test_no_storage_is_named_like_one_in_sight() -> None:
    template = product()
    grid = template.program[0]
    assert isinstance(grid, Par)
    twice = replace(grid, body=(grid.body[0], *grid.body))
    with pytest.raises(UnderivableError, match="a second storage acc"):
        sites_of((twice,), template.globals)


@pytest.mark.slow
def test_squares_are_not_doubled_squares() -> None:
    """No solver decides it; the time of an obligation is over and that is said."""
    template = product("where M*M = 2*N*N")
    started = time.monotonic()
    proof = prove(template, only=lambda c: c == "vacuity", timeout_ms=200, obligation_seconds=1.0)
    assert time.monotonic() - started < 4
    assert proof.verdict == "unresolved"
    assert "time: more than 1 s" in proof.obligations[0].detail


def test_no_call_begins_after_the_time() -> None:
    clock = Clock(1000, 0.0)
    with pytest.raises(OutOfTimeError, match="time: more than 0 s"):
        clock.check(None)


def test_irrational_chips_are_not_found() -> None:
    template = product("chip x > 0\n  where chip.x*chip.x = 2", "T*chip.x >= 1")
    found = {
        o.condition: o for o in prove(template, only=lambda c: c in ("vacuity", "menu")).obligations
    }
    assert {o.verdict for o in found.values()} == {"unresolved"}
    assert "not rational" in found["menu"].detail


def test_parameters_outside_the_scope_refute_nothing() -> None:
    """With M = 1 the relation has no value, whatever the solver makes of it."""
    template = product("where N // (M-1) >= 5 and M <= 1", "T >= 5")
    (found,) = prove(template, only=lambda c: c == "menu").obligations
    assert found.verdict == "unresolved"
    assert "outside the scope" in found.detail


def test_a_root_beside_rational_chips_is_stepped_over() -> None:
    template = product("chip x > 0\n  where chip.x*chip.x*chip.x > 2", "T*chip.x >= 1")
    proof = prove(template, only=lambda c: c in ("vacuity", "menu"))
    assert proof.verdict == "proved"

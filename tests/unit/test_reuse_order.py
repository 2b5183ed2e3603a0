"""A verdict is the same with a store and without, whatever order a slice's queries stand in.

A slice that reads no order is sorted by the texts of its statements, so the first queries of a
goal are others than the first of its slice: what was excluded is known by what it says.
"""

import pytest

from formwright.base.source import Source
from formwright.ir.template import Template
from formwright.lang.parser import parse
from formwright.proof.database import Database
from formwright.smt.prove import prove

HEAD = "template t : operator -> mapping\n\nscope\n"

MAXIMUM = (
    HEAD
    + """  workload  y[N] = max(k < K) W[N,k]
  extents   N >= 1, K >= 1

decisions
  L in {4}

program
  par grid i in N:
    alloc big[1] register
    big[a] = FIRST
    for k in 0 .. K:
      big[a] max= OTHERS over (a < 1)
    y[i] = big[0]
"""
)

SUM = (
    HEAD
    + """  workload  y[N] = sum(k < K) W[N,k] * x[k]
  extents   N >= 1, K >= 1

decisions
  L in {4}

program
  par grid i in N:
    alloc acc[1] register
    acc[a] = FIRST
    for k in 0 .. K:
      acc[a] += OTHERS over (a < 1)
    y[i] = acc[0]
"""
)

RIGHT = {MAXIMUM: ("W[i,0]", "W[i,k]"), SUM: ("0", "W[i,k] * x[k]")}
WRONG = {
    MAXIMUM: [
        ("0", "W[i,k]"),
        ("2 * W[i,0]", "W[i,k]"),
        ("W[i,0]", "2 * W[i,k]"),
        ("W[i,0]", "W[i,0]"),
    ],
    SUM: [
        ("1", "W[i,k] * x[k]"),
        ("W[i,0] * x[0]", "W[i,k] * x[k]"),
        ("x[0]", "W[i,k] * x[k]"),
        ("0", "W[i,k] * x[0]"),
        ("0", "W[i,k] * W[i,k] * x[k]"),
        ("0", "x[k] * W[i,k] + W[i,k] * x[k]"),
    ],
}
CASES = [(text, *pair) for text, pairs in WRONG.items() for pair in pairs]
TERMS = ("phantom", "exact_once", "coverage", "defined")


def _template(text: str, first: str, others: str) -> Template:
    return parse(Source("t.fw", text.replace("FIRST", first).replace("OTHERS", others)))


def _found(template: Template, database: Database | None) -> dict[str, bool]:
    proof = prove(template, database=database, only=lambda c: c in TERMS)
    return {o.name: o.verdict == "proved" for o in proof.obligations}


@pytest.mark.parametrize("text", RIGHT)
def test_the_right_one_is_proved(text: str) -> None:
    assert all(_found(_template(text, *RIGHT[text]), Database(None, "t")).values())


@pytest.mark.parametrize(("text", "first", "others"), CASES)
def test_a_store_hides_no_fault(text: str, first: str, others: str) -> None:
    template = _template(text, first, others)
    plain = _found(template, None)
    assert not all(plain.values())
    database = Database(None, "t")
    assert _found(template, database) == plain
    assert _found(_template(text, *RIGHT[text]), database)
    assert _found(template, database) == plain

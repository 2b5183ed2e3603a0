"""Kernels that somebody else wrote: the right pass, the wrong are refused by the right check."""

from pathlib import Path

import pytest
from foreign_kernels import RIGHT, WRONG, Plain

from effort import thinned
from formwright.contract.contract import Contract
from formwright.contract.operators import operator
from formwright.measure.sandbox import Level, Sandbox
from formwright.qualify.checks import Validation, clauses
from formwright.qualify.foreign import build_kernel, find_kernel
from formwright.qualify.validate import validate

SMALL = {"K": 96, "C": 96, "H": 96, "S": 96, "M": 64, "N": 64, "R": 16, "T": 16, "G": 4, "D": 24}
"""Narrow domains: what is asked is which check answers, at a small cost."""


def contract_of(name: str) -> Contract:
    kind, _, dtype = name.partition(":")
    known = operator(kind)
    heads = {"H": 3} if kind == "decode_attention" else {}
    ranges = {e.name: (e.low, (SMALL | heads)[e.name]) for e in known.extents}
    return known.contract(dtypes=dtype or None, extents=ranges)


def judged(plain: Plain, folder: Path) -> Validation:
    source = folder / "kernel.c"
    source.write_text(plain.source)
    contract = contract_of(plain.operator)
    built = build_kernel(find_kernel(source), contract, folder)
    assert built.adapter is not None
    workload = {e.name: min(e.high, 13) for e in contract.extents}
    # Namespaces cost more than the calls, and these kernels are no attackers.
    sandbox = Sandbox(allow=Level.LANDLOCK)
    return validate(built.library, contract, [workload], seed=29, effort="quick", sandbox=sandbox)


@pytest.mark.parametrize("name", WRONG)
def test_a_planted_fault_is_refused_by_the_responsible_check(name: str, tmp_path: Path) -> None:
    plain = WRONG[name]
    validation = judged(plain, tmp_path)
    messages = {c.name: c.message for c in validation.refuted}
    assert validation.verdict == "refuted"
    assert plain.clause in messages, messages
    assert plain.words in messages[plain.clause]


@pytest.mark.parametrize("name", thinned(list(RIGHT)))
def test_a_right_kernel_passes_whatever_its_order_of_sums(name: str, tmp_path: Path) -> None:
    plain = RIGHT[name]
    validation = judged(plain, tmp_path)
    assert [c.message for c in validation.checks if c.verdict != "held"] == []
    asked = {c.name for c in validation.checks}
    assert asked <= set(clauses(contract_of(plain.operator)))
    assert {"metamorphic", "tolerance", "alignment", "repeatable"} <= asked

"""Templates against the contract: each difference is named, with its place."""

from dataclasses import replace

import pytest

from formwright.base.source import Source
from formwright.contract.matching import matches
from formwright.contract.operators import operator
from formwright.ir.expr import Arith, Compare, Var, num
from formwright.ir.program import Apply
from formwright.lang import load, parse

PACKED, _ = load("packed_gemm")
TILING, _ = load("shared_memory_tiling")


def changed(old: str, new: str, source: Source = PACKED) -> list[str]:
    assert old in source.text
    template = parse(Source("t.fw", source.text.replace(old, new)))
    found = matches(template, operator("gemm").contract())
    assert all(d.span is None or d.span.file == "t.fw" for d in found)
    return [d.message for d in found]


def test_the_shipped_cpu_template_matches():
    _, template = load("packed_gemm")
    assert matches(template, operator("gemm").contract()) == ()


def test_a_scope_that_is_narrower_than_the_contract_is_a_difference():
    _, template = load("shared_memory_tiling")
    (found,) = matches(template, operator("gemm").contract())
    assert found.message.startswith("the scope leaves out K = 0, which the contract allows")
    assert found.span is not None
    assert matches(template, operator("gemm").contract(extents={"K": (1, 4096)})) == ()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "extents   M >= 1, N >= 1, K >= 0",
            "extents   M >= 2, N >= 1, K >= 0",
            "leaves out M = 1",
        ),
        (
            "extents   M >= 1, N >= 1, K >= 0",
            "extents   N >= 1, M >= 1, K >= 0",
            "extents N, M, K; the contract has M, N, K in this order",
        ),
        ("* B[k,N]", "+ B[k,N]", "value is not a product of two tensors"),
        ("A[M,k] * B[k,N]", "A[k,M] * B[k,N]", "input A[K,M] of the workload is A[M,K]"),
    ],
)
def test_a_changed_scope_is_refused(old, new, words):
    messages = changed(old, new)
    assert any(words in m for m in messages), messages


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "alloc acc[Mr,Nr] register",
            "alloc acc[Mr,Nr] register bf16",
            "acc holds bf16: less exact",
        ),
        ("Ap[ip,l,r] = A[", "Ap[ip,l,r] = B[", "never reads the input A"),
    ],
)
def test_a_changed_program_is_refused(old, new, words):
    assert any(words in m for m in changed(old, new)), changed(old, new)


def said(**change: object) -> list[str]:
    _, template = load("packed_gemm")
    return [d.message for d in matches(replace(template, **change), operator("gemm").contract())]


def test_other_globals_are_refused():
    _, template = load("packed_gemm")
    a, *rest = template.globals
    assert "global A has element type bf16; the contract has f32" in said(
        globals=(replace(a, dtype="bf16"), *rest)
    )
    assert f"global {a.name} is not A[M,K]" in said(
        globals=(replace(a, shape=a.shape[::-1]), *rest)
    )
    assert "global Z is no tensor of the contract" in said(
        globals=(*template.globals, replace(a, name="Z"))
    )
    assert "tensor A of the contract is not among the template's globals" in said(globals=rest)


def test_a_program_that_writes_an_input_or_no_output_is_refused():
    _, template = load("packed_gemm")

    def renamed(body, old, new):
        """``body`` with the destination ``old`` of every apply called ``new``."""
        done = []
        for stmt in body:
            if isinstance(stmt, Apply) and stmt.destination.buffer == old:
                stmt = replace(stmt, destination=replace(stmt.destination, buffer=new))
            elif hasattr(stmt, "body"):
                stmt = replace(stmt, body=renamed(stmt.body, old, new))
            done.append(stmt)
        return tuple(done)

    messages = said(program=renamed(template.program, "C", "A"))
    assert "the program writes its input A" in messages
    assert "the program never writes the output C" in messages


def test_a_relation_between_extents_is_narrower_than_the_contract():
    _, template = load("packed_gemm")
    scope = replace(template.scope, relations=(Compare("=", Var("M"), Var("N")),))
    assert said(scope=scope) == ["the scope relates extents that the contract leaves free"]


def test_a_condition_that_cannot_be_compared_is_no_match():
    _, template = load("packed_gemm")
    m, *rest = template.scope.extents
    odd = Compare("=", Arith("mod", Var("M"), num(2)), num(0))
    scope = replace(template.scope, extents=(replace(m, condition=odd), *rest))
    (message,) = said(scope=scope)
    assert message.startswith("the scope's condition on M cannot be compared")

"""Templates against the contract: each difference is named, with its place."""

import pytest

from formwright.base.source import Source
from formwright.contract.contract import gemm_contract
from formwright.contract.matching import matches
from formwright.lang import load, parse

PACKED, _ = load("packed_gemm")
TILING, _ = load("shared_memory_tiling")


def changed(old: str, new: str, source: Source = PACKED) -> list[str]:
    assert old in source.text
    template = parse(Source("t.fw", source.text.replace(old, new)))
    found = matches(template, gemm_contract())
    assert all(d.span is None or d.span.file == "t.fw" for d in found)
    return [d.message for d in found]


def test_the_shipped_cpu_template_matches():
    _, template = load("packed_gemm")
    assert matches(template, gemm_contract()) == ()


def test_a_scope_that_is_narrower_than_the_contract_is_a_difference():
    _, template = load("shared_memory_tiling")
    (found,) = matches(template, gemm_contract())
    assert found.message.startswith("the scope leaves out K = 0, which the contract allows")
    assert found.span is not None
    assert matches(template, gemm_contract(extents={"K": (1, 4096)})) == ()


WORKLOAD = "C[M,N] = sum(k < K) A[M,k] * B[k,N]"


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
    try:
        messages = changed(old, new)
    except Exception as error:  # the text must at least be a template
        pytest.fail(f"not a template: {error}")
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

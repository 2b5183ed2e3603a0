"""Which slices of an output may be judged alone, and that a part's cells are the whole's."""

import numpy as np
import pytest

from formwright.contract.contract import Contract
from formwright.contract.inputs import inputs
from formwright.contract.operators import OPERATORS, operator
from formwright.contract.reference import expected
from formwright.qualify import part
from formwright.qualify.part import independent, part_of

APART = {
    "gemm": ("M", "N"),
    "gemv": ("N",),
    "softmax": ("R",),
    "rmsnorm": ("T",),
    "decode_attention": ("H", "G"),
    "prefill_attention": ("H", "G"),
    "gated_mlp": ("T",),
    "rope": ("T", "N"),
}


@pytest.mark.parametrize("name", APART)
def test_extents_that_a_sum_a_mask_or_an_index_uses_are_not_cut(name: str) -> None:
    assert independent(operator(name).contract()) == APART[name]


@pytest.mark.parametrize("name", OPERATORS)
def test_a_slice_judged_alone_must_be_what_it_must_be_in_the_whole(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part, "LARGE", 0)
    monkeypatch.setattr(part, "SLICES", 3)
    contract: Contract = operator(name).contract()
    extents = {n: 5 + i for i, n in enumerate(contract.names)}
    for longest in independent(contract):
        shape = extents | {longest: 11} | ({"H": 8} if name == "rope" else {})
        arrays = inputs(contract, "normal", shape, 3)
        whole = expected(contract, "normal", arrays)
        some = part_of(contract, "normal", shape, arrays, whole.value, 7)
        assert some.axis is not None
        alone = expected(contract, "normal", some.arrays)
        assert alone.value.shape == some.output.shape
        np.testing.assert_allclose(alone.value, some.output, rtol=1e-12)
        cell = (1,) * alone.value.ndim
        assert whole.value[some.whole_cell(cell)] == some.output[cell]

"""The relations a contract may choose: what each accepts and refuses, and that it reads back."""

from fractions import Fraction

import numpy as np
import pytest

from formwright.base.diagnostics import InputError
from formwright.contract.contract import Contract, contract_data, contract_digest
from formwright.contract.inputs import inputs
from formwright.contract.judge import judge
from formwright.contract.numbers import FORMATS, to_double, to_type
from formwright.contract.operators import operator
from formwright.contract.reference import expected
from formwright.contract.relation import Relation
from formwright.contract.stored import contract_from

SHAPE = {"N": 40, "K": 300}


def stated(relation: Relation, dtype: str = "f32") -> Contract:
    return operator("gemv").contract(dtypes=dtype, relation=relation)


def moved(contract: Contract, steps: int) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """The correctly rounded result, each cell ``steps`` units away from zero."""
    arrays = inputs(contract, "normal", SHAPE, 1)
    form = FORMATS[contract.output.dtype]
    whole = np.dtype(f"i{form.bytes}")
    right = to_type(expected(contract, "normal", arrays).value, form.name)
    return arrays, (right.view(whole) + whole.type(steps)).view(form.numpy)


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
def test_bitwise_is_the_reference_rounded_once(dtype):
    contract = stated(Relation("bitwise", reassociate=False), dtype)
    arrays, right = moved(contract, 0)
    assert judge(contract, "normal", arrays, right) is None
    for steps in (-1, 1):
        assert judge(contract, "normal", *moved(contract, steps)) is not None


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("ulps", [1, 3])
def test_units_in_the_last_place_are_those_of_the_output(dtype, ulps):
    contract = stated(Relation("ulp", ulps=ulps), dtype)
    for steps in (-ulps + 1, 0, ulps - 1):
        assert judge(contract, "normal", *moved(contract, steps)) is None
    assert judge(contract, "normal", *moved(contract, ulps + 1)) is not None


def test_absolute_and_relative():
    contract = stated(
        Relation("absolute_relative", absolute=Fraction(1, 1000), relative=Fraction(1, 100))
    )
    arrays = inputs(contract, "normal", SHAPE, 1)
    value = expected(contract, "normal", arrays).value
    for share, right in ((0.99, True), (1.01, False)):
        output = value + share * (0.001 + 0.01 * np.abs(value))
        assert (judge(contract, "normal", arrays, output.astype(np.float32)) is None) is right


def test_a_norm_beside_the_bound_of_components():
    """Each component may be right and the whole output still too far off."""
    loose = Relation("absolute_relative", relative=Fraction(1, 100))
    both = Relation("absolute_relative", relative=Fraction(1, 100), norm=Fraction(1, 1000))
    contract = stated(loose)
    arrays = inputs(contract, "normal", SHAPE, 1)
    value = expected(contract, "normal", arrays).value
    output = (value * 1.005).astype(np.float32)
    assert judge(contract, "normal", arrays, output) is None
    finding = judge(stated(both), "normal", arrays, output)
    assert finding is not None
    assert finding.clause == "norm"
    one = value.copy()
    one[7] *= 1.005
    assert judge(stated(both), "normal", arrays, one.astype(np.float32)) is None


@pytest.mark.parametrize(
    "relation",
    [
        Relation(),
        Relation("bitwise", reassociate=False),
        Relation("ulp", ulps=4),
        Relation("absolute_relative", relative=Fraction(1, 3), norm=Fraction(1, 7)),
        Relation(norm=Fraction(1, 10**6)),
    ],
)
def test_relations_read_back(relation):
    contract = stated(relation)
    assert contract_from(contract_data(contract)) == contract
    usual = contract_digest(operator("gemv").contract())
    assert (contract_digest(contract) == usual) == (relation == Relation())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "ulp"}, "needs a number of units"),
        ({"kind": "absolute_relative"}, "allows nothing"),
        ({"absolute": Fraction(-1)}, "negative"),
        ({"norm": Fraction(0)}, "negative"),
        ({"reassociate": False}, "without reassociation has no meaning"),
    ],
)
def test_relations_that_mean_nothing_are_refused(change, words):
    with pytest.raises(InputError, match=words):
        Relation(**change)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_narrow_outputs_are_rounded_once(dtype):
    """A result rounded twice, or accumulated in the narrow type, is refused."""
    contract = stated(Relation(), dtype)
    w, x = inputs(contract, "sparse_rows", SHAPE, 1)
    value = to_double(w) @ to_double(x)
    assert judge(contract, "sparse_rows", (w, x), to_type(value, dtype)) is None
    cut = to_type(to_double(to_type(to_double(w) * to_double(x), dtype)).sum(axis=1), dtype)
    assert judge(contract, "sparse_rows", (w, x), cut) is not None


def test_beyond_the_largest_number_it_is_infinity():
    contract = stated(Relation(), "f16")
    w = np.full((3, 2), 30000, np.float16)
    w[1] *= -1
    w[2] = 1
    x = np.full(2, 2, np.float16)
    right = np.array([np.inf, -np.inf, 4], np.float16)
    assert judge(contract, "normal", (w, x), right) is None
    finding = judge(contract, "normal", (w, x), np.array([65504, -np.inf, 4], np.float16))
    assert finding is not None
    assert finding.cell == (0,)

"""Which kernels may stand in for each other."""

from formwright.contract.operators import operator
from formwright.qualify.kernel import differs


def test_kernels_of_other_stages_do_not_stand_in_for_each_other():
    family = operator("gated_mlp")
    plain, narrow = (family.contract(dtypes="bf16", stages=s) for s in ("f32", "bf16"))
    assert differs(narrow, narrow) is None
    assert differs(plain, narrow) == "its contract has values between sums in bf16, not f32"
    assert differs(narrow, plain) == "its contract has values between sums in f32, not bf16"

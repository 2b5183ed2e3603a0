"""Every blocked dimension of every shipped product is tested where its blocks end."""

import pytest

from formwright.flow.boundaries import boundaries
from formwright.lang import load, shipped

OF_A_GPU = {"tiled_gpu_gemm", "split_reduction_gemm"}
PRODUCTS = [n for n in shipped() if n.endswith(("_gemm", "_gemm_ahead")) and n not in OF_A_GPU]


def test_sizes_are_those_that_the_program_divides_by() -> None:
    _, template = load("packed_gemm")
    chosen = {"Mr": 6, "Nr": 16, "Kc": 256, "Mc": 768, "Nb": 192, "Ib": 32}
    assert boundaries(template, chosen) == {"M": (6, 32, 768), "N": (16, 192), "K": (256,)}


@pytest.mark.parametrize("name", PRODUCTS)
def test_rows_and_columns_have_boundaries_in_each_product(name: str) -> None:
    _, template = load(name)
    largest = {d.name: d.menu[-1] for d in template.decisions}
    found = boundaries(template, largest)
    assert {largest["Mr"]} <= set(found["M"])
    assert {largest["Nr"]} <= set(found["N"])
    if "Nb" in largest:
        assert largest["Nb"] in found["N"]

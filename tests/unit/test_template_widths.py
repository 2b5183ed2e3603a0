"""Tiles that are no whole vectors of the chip are computed one by one: the models say so."""

from fractions import Fraction

import pytest

from formwright.flow.parameters import bind
from formwright.lang import load
from formwright.milp.solve import solve

CHIP: dict[str, int | Fraction] = {
    "chip.cores": 1,
    "chip.vector_lanes": 16,
    "chip.vector_registers": 32,
    "chip.accumulators": 512,
    "chip.clock": 2_400_000_000,
    "chip.core_flops": 150_000_000_000,
    "chip.dram_bandwidth": 17_000_000_000,
    "chip.core_dram_bandwidth": 17_000_000_000,
    "chip.l3_bandwidth": 27_000_000_000,
    "chip.l2_bandwidth": 105_000_000_000,
    "chip.l1_bytes": 48 << 10,
    "chip.l2_bytes": 2 << 20,
    "chip.l3_bytes": 300 << 20,
}
"""Near to a server's of 2023 with AVX-512."""
PRODUCT = {"M": 512, "N": 4864, "K": 896}


@pytest.mark.parametrize(
    ("name", "extents", "widths"),
    [
        *((f"gemm_{w}_panels_ahead", PRODUCT, ("Nr",)) for w in ("bias", "relu", "silu", "int8")),
        ("gemm_residual_panels_ahead", PRODUCT, ("Nr",)),
        ("gated_mlp_panels_ahead", {"T": 512, "D": 896, "F": 4864}, ("Nr", "Ns")),
        ("gated_mlp_direct", {"T": 1, "D": 896, "F": 4864}, ("L",)),
        ("gemv_rows", {"N": 4864, "K": 896}, ("L",)),
        ("gemv_rows_apart", {"N": 4864, "K": 896}, ("L",)),
    ],
)
def test_the_best_design_has_whole_vectors(
    name: str, extents: dict[str, int], widths: tuple[str, ...]
) -> None:
    template = load(name)[1]
    best, _ = solve(template, bind(template, CHIP, extents, "a chip of wide vectors")).best[0]
    assert all(best[width] % 16 == 0 for width in widths)


def test_short_rows_are_read_in_parts() -> None:
    def cost(name: str, rows: int, columns: int) -> Fraction:
        template = load(name)[1]
        values = bind(template, CHIP, {"N": rows, "K": columns}, "a chip")
        return solve(template, values).best[0][1]

    assert cost("gemv_rows_apart", 4864, 896) < cost("gemv_rows", 4864, 896)
    assert cost("gemv_rows_apart", 896, 4864) == cost("gemv_rows", 896, 4864)

"""Gemmini's templates against the facts, written down apart in ``gemmini_oracle``."""

import pytest
from gemmini_designs import HOLDS, chip_values, costs, designs, fits, template
from gemmini_oracle import ORDERS, Mapping_, best, cycles, energy_pj, feasible, mappings
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples, thinned

STAYS = {"P": "weights", "C": "outputs", "K": "inputs"}
"""The template of a mapping by its innermost DRAM loop that runs more than once."""


def of_mapping(m: Mapping_) -> tuple[str, dict[str, int]]:
    """The template and design that are the mapping ``m``."""
    bounds = {"P": m.P3, "C": m.C3, "K": m.K3}
    inner = next((loop for loop in m.order if bounds[loop] > 1), "C")
    return STAYS[inner], {
        "Tm": m.P1,
        "Tk": m.sC * m.C1,
        "Tn": m.sK * m.K1,
        "Sk": m.sC,
        "Sn": m.sK,
    }


@pytest.mark.parametrize(
    ("pe", "sp", "acc", "energy", "latency", "product"),
    [
        *thinned(
            [
                (128, 192, 384, 1655.19, 917504, 1.5186e9),
                (128, 896, 512, 1983.05, 917504, 1.8195e9),
                (128, 132, 384, 1642.32, 917504, 1.506832e9),
                (16, 128, 32, 2014.60, 2966528, 5.976e9),
            ],
            keep=4,
        ),
    ],
)
def test_the_oracle_gives_the_rows_of_the_source(
    pe: int, sp: int, acc: int, energy: float, latency: float, product: float
) -> None:
    e, t, edp = best(pe, sp, acc)
    assert e == pytest.approx(energy, rel=1e-4)
    assert t == pytest.approx(latency, rel=1e-4)
    assert edp == pytest.approx(product, rel=1e-4)


dims = st.sampled_from([1, 2, 3, 4, 6, 8, 12, 16, 24])


@st.composite
def mapping(draw: st.DrawFn) -> Mapping_:
    p1, p3, sc, c1, c3, sk, k1, k3 = (draw(dims) for _ in range(8))
    return Mapping_(p1, p3, sc, c1, c3, sk, k1, k3, draw(st.sampled_from(ORDERS)))


@given(
    m=mapping(),
    pe=st.integers(1, 128),
    sp=st.integers(1, 1024),
    acc=st.integers(1, 1024),
)
@settings(max_examples=examples(60), deadline=None)
def test_a_mapping_in_any_of_the_six_orders_is_a_design_of_one_template(
    m: Mapping_, pe: int, sp: int, acc: int
) -> None:
    stays, design = of_mapping(m)
    extents = {"M": m.P1 * m.P3, "K": m.sC * m.C1 * m.C3, "N": m.sK * m.K1 * m.K3}
    chip = chip_values(pe, sp, acc)
    time, energy = costs(template(stays), extents, design, chip)
    assert time == cycles(m, pe)
    assert energy == energy_pj(m, pe, sp, acc) / 10**6
    assert fits(template(stays), extents, design, chip) == feasible(m, pe, sp, acc)


@pytest.mark.parametrize("extents", [(8, 8, 24), (16, 8, 8)])
def test_three_templates_have_the_exact_designs_of_six_orders(
    extents: tuple[int, int, int],
) -> None:
    """Every mapping of the facts is a design, and every exact design is a mapping."""
    M, C, K = extents
    wanted = {
        (stays, *sorted(design.items())) for stays, design in map(of_mapping, mappings(M, C, K))
    }
    found = {
        (stays, *sorted(design.items()))
        for stays in HOLDS
        for design in designs(template(stays), {"M": M, "K": C, "N": K})
    }
    # A design whose DRAM loops all run once is in each template.
    alone = {w for w in wanted if _once(dict(w[1:]), M, C, K)}
    assert found - {(s, *w[1:]) for w in alone for s in HOLDS} == wanted - alone
    assert alone <= found
    assert alone


def _once(design: dict[str, int], M: int, C: int, K: int) -> bool:
    tiles = (design["Tm"], design["Tk"], design["Tn"])
    return tiles == (M, C, K)


def test_menus_have_every_factor_of_the_list() -> None:
    for stays in HOLDS:
        menus = {d.name: set(d.menu) for d in template(stays).decisions}
        for extent in (64, 128, 768, 3072):
            factors = {d for d in range(1, extent + 1) if extent % d == 0}
            assert all(factors <= menus[name] for name in ("Tm", "Tk", "Tn"))
            assert all({f for f in factors if f <= 128} <= menus[name] for name in ("Sk", "Sn"))

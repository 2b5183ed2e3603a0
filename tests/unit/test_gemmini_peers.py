"""What went wrong for users of other tools for this accelerator, asked of ours (by issue)."""

from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest
from gemmini_designs import HOLDS, chip_values, costs, library, template
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples, thinned
from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.contract.matching import matches
from formwright.contract.operators import operator
from formwright.ir.expr import Compare, Scalar, Var, num
from formwright.ir.template import Constraint
from formwright.lang import load, parse
from formwright.milp.solve import solve
from formwright.walls.inner import build_inner
from formwright.walls.problem import CodesignProblem, Kernel, ScenarioSpec

SMALL = {"M": 8, "K": 16, "N": 16}
STAYS = {"weights": "M", "inputs": "N", "outputs": "K"}
"""The extent that a template needs more than one of: its innermost loop in DRAM."""


def on(pe: int, sp: int, acc: int, extents: dict[str, int]) -> dict[str, Scalar]:
    return {**extents, **chip_values(pe, sp, acc)}


@pytest.mark.parametrize("holds", HOLDS)
def test_a_constraint_that_removes_every_mapping_is_named(holds: str) -> None:
    """NVlabs/timeloop#187: such a constraint was met by silence."""
    wide = Constraint("wide", Compare(">=", Var("Sn"), num(32)))
    found = solve(template(holds), on(16, 64, 64, SMALL), extra_constraints=(wide,))
    assert found.status == "infeasible"
    assert "wide" in found.conflict
    assert set(found.conflict) <= {"wide", "W2", "X2", "X5"}


def test_a_study_names_the_constraint_that_removes_every_mapping() -> None:
    wide = Constraint("wide", Compare(">=", Var("Sn"), num(32)))
    templates = (load(f"gemmini_hold_{h}")[1] for h in HOLDS)
    narrow = tuple(replace(t, constraints=(*t.constraints, wide)) for t in templates)
    scenario = ScenarioSpec("one", ((Kernel("small", narrow, SMALL), 1),))
    start = library().start
    with pytest.raises(InputError) as told:
        build_inner(CodesignProblem(library(), (scenario,), "energy-delay", start, None))
    (fault,) = told.value.diagnostics
    assert "no template takes kernel small" in fault.message
    for holds in HOLDS:
        assert f"gemmini_hold_{holds}: constraints X2, X5, wide leave no design" in (
            fault.hint or ""
        )


@cache
def least_cycles(chip: tuple[int, int, int], m: int, k: int, n: int) -> Fraction:
    """Over the templates whose scope has the extents."""
    extents = {"M": m, "K": k, "N": n}
    inside = [h for h in HOLDS if extents[STAYS[h]] > 1]
    found = [solve(template(h), on(*chip, extents)).objective for h in inside]
    return min(f for f in found if f is not None)


@pytest.mark.parametrize(
    ("m", "k", "n"),
    thinned([(1, 16, 16), (5, 16, 16), (8, 1, 16), (8, 100, 16), (8, 16, 1), (8, 16, 7)]),
)
def test_a_ragged_extent_is_mapped(m: int, k: int, n: int) -> None:
    """NVlabs/timeloop#300: no more than what the next multiples of eight cost."""
    chip = (16, 32, 32)
    whole = (-(-e // 8) * 8 for e in (m, k, n))
    assert 0 < least_cycles(chip, m, k, n) <= least_cycles(chip, *whole)


def test_127_rows_cost_about_what_128_cost() -> None:
    """AccelForge's default mapper gave eight times the latency."""
    ragged, whole = (least_cycles((16, 64, 32), m, 64, 64) for m in (127, 128))
    assert ragged <= whole <= Fraction(102, 100) * ragged


ENERGIES = ("mac", "register", "accumulator", "scratchpad", "dram")


@given(
    holds=st.sampled_from(HOLDS),
    extents=st.fixed_dictionaries({n: st.integers(1, 500) for n in "MKN"}),
    design=st.tuples(*[st.sampled_from([1, 2, 3, 8, 12, 64, 128])] * 5),
)
@settings(max_examples=examples(30), deadline=None)
def test_access_counts_are_never_negative(
    holds: str, extents: dict[str, int], design: tuple[int, ...]
) -> None:
    """NVlabs/timeloop#218: each count alone, as the energy where an access of it costs 1 uJ."""
    tm, sk, sn, k, n = design
    names = {"Tm": tm, "Tk": sk * k, "Tn": sn * n, "Sk": sk, "Sn": sn}
    for counted in ENERGIES:
        chip = chip_values(128, 64, 64)
        chip |= {f"chip.{n}_energy": Fraction(n == counted, 10**6) for n in ENERGIES}
        _, count = costs(template(holds), extents, names, chip)
        assert count >= extents["M"] * extents["N"]
        assert count.denominator == 1


def test_area_is_a_value_for_every_field_or_not_modelled() -> None:
    """timeloop-accelergy-exercises#41: an area that is not known was shown as 0."""
    found = library()
    for field in found.fields:
        low = found.start
        for steps in (1, -1):
            other = found.stepped(low, field.name, steps)
            assert other is not None
            assert (found.area(other) - found.area(low)) * steps > 0
        assert field.name not in found.unmodelled
    smallest = (0,) * len(found.fields)
    assert found.area(smallest) > 0


@pytest.mark.parametrize("holds", HOLDS)
def test_a_transposed_operand_is_refused_where_it_is_not_said(holds: str) -> None:
    """KULeuven-MICAS/stream#73: it was taken for the plain one."""
    source, _ = load(f"gemmini_hold_{holds}")
    turned = parse(Source("t.fw", source.text.replace("* B[k,N]", "* B[N,k]")))
    messages = [d.message for d in matches(turned, operator("gemm").contract())]
    assert any("B[N,K] of the workload is B[K,N]" in m for m in messages), messages

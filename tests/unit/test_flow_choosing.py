"""Which designs are built, what settings mean, and what refitting learns."""

from dataclasses import replace
from fractions import Fraction

import pytest

from formwright.base.diagnostics import InputError
from formwright.flow.choosing import choose
from formwright.flow.parameters import bind, parse_settings
from formwright.flow.refit import Observation, predictions, refit
from formwright.ir.expr import Arith, Var
from formwright.ir.template import Coefficient, CostBound, Template
from formwright.lang import load

CHIP = {
    "chip.shared_bytes": 98304,
    "chip.accumulators": 32768,
    "chip.sms": 128,
    "chip.clock": 1_800_000_000,
    "chip.flops": 80 * 10**12,
    "chip.dram_bandwidth": 18 * 10**11,
    "chip.barrier_cycles": 40,
}


def test_the_optimum_comes_first_then_unlike_designs() -> None:
    best = [
        ({"a": 1, "b": 1}, Fraction(10)),
        ({"a": 1, "b": 2}, Fraction(11)),
        ({"a": 2, "b": 3}, Fraction(12)),
        ({"a": 9, "b": 9}, Fraction(99)),
    ]
    assert choose(best, 2, Fraction(5, 4)) == [best[0], best[2]]
    assert choose(best, 9, Fraction(5, 4)) == [best[0], best[2], best[1]]
    assert choose([], 3, Fraction(2)) == []


@pytest.mark.parametrize(
    "text", ["M", "M=", "=3", "M=1.5", "M=1,M=2", "M=99999999999999999999", "a b=1", "M=²"]
)
def test_settings_that_are_none(text: str) -> None:
    with pytest.raises(InputError):
        parse_settings(text)


def test_settings_and_their_faults_at_once() -> None:
    assert parse_settings(" M = 3 , K=-1,") == {"M": 3, "K": -1}
    _, template = load("shared_memory_tiling")
    with pytest.raises(InputError) as caught:
        bind(template, {}, {"L": 1, "M": 2}, "bare")
    text = str(caught.value)
    for part in ("no extent L", "no value for the extent N", "chip bare has no field sms"):
        assert part in text


def with_coefficient(name: str) -> Template:
    """The tiling template whose compute bound is multiplied by a coefficient."""
    _, template = load("shared_memory_tiling")
    assert template.cost is not None
    bounds = tuple(CostBound(Arith("*", Var(name), b.value), b.guard) for b in template.cost.bounds)
    cost = replace(template.cost, coefficients=(Coefficient(name, Fraction(1)),), bounds=bounds)
    return replace(template, cost=cost)


def test_refit_finds_the_factor_that_generated_the_measurements() -> None:
    template = with_coefficient("c")
    observations = []
    for size in (256, 512, 1024, 2048):
        values = bind(template, CHIP, {"M": size, "N": size, "K": size}, "illustrative")
        assignment = {"Tm": 64, "Tn": 64, "Tk": 16, "S": 3, "P": 1, "beta": 0}
        known = Observation(values, assignment, 1.0)
        true = predictions(template, [known], {"c": Fraction(3)})[0]
        observations.append(Observation(values, assignment, true))
    found = refit(template, observations)
    assert float(found.coefficients["c"]) == pytest.approx(3, rel=0.05)
    assert found.error_after < 0.05 < found.error_before
    assert found.rank == pytest.approx(1)


def test_refit_never_makes_the_error_larger() -> None:
    template = with_coefficient("c")
    values = bind(template, CHIP, {"M": 512, "N": 512, "K": 512}, "illustrative")
    assignment = {"Tm": 64, "Tn": 64, "Tk": 16, "S": 3, "P": 1, "beta": 0}
    exact = predictions(template, [Observation(values, assignment, 1.0)], {})[0]
    found = refit(template, [Observation(values, assignment, exact)])
    assert found.error_after <= found.error_before == 0


def test_refit_without_measurements_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="measurement"):
        refit(with_coefficient("c"), [])

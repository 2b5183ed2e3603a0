"""Workloads on one chip: apart where they share little, all at once where nothing is said."""

from random import Random

import pytest

from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.flow.solving import solve_workloads
from formwright.ir.structures import Scenarios
from formwright.ir.template import Template
from formwright.lang import parse
from formwright.milp.structures_scenarios import Join, ScenarioSolution, solve_scenarios

TEXT = """template kernels : operator -> mapping

scope
  workload  C[M,N] = sum(k < K) A[M,k] * B[k,N]
  extents   M >= 1, N >= 1, K >= 1
  chip      capacity >= 1

decisions
  T in {1, 2, 4, 8, 16}
  L in {1, 2, 4, 8}
  U in {0, 1, 2}

constraints
  C1 wall capacity : T*L <= chip.capacity
  C2               : U*T <= 16

formulation "scenarios are tried on it"

cost Time seconds
  store = L*L*max(1, N/(8*T))
  Time >= ceil(M/T)*(K/L + 3) + 5*store + U*(M - 6) + 64
"""


def kernels(*structures: str) -> Template:
    tail = "" if not structures else "\nstructures\n" + "".join(f"  {s}\n" for s in structures)
    return parse(Source("kernels", TEXT + tail))


def workloads(random: Random, **fixed: int) -> dict[str, dict[str, int]]:
    common = {"N": random.choice((8, 64)), "K": random.choice((4, 64, 100)), "chip.capacity": 32}
    return {
        name: {"M": random.choice((1, 3, 16, 40)), **common, **fixed}
        for name in ("decode", "prefill")
    }


def both(template: Template, asked: dict[str, dict[str, int]], join: Join) -> ScenarioSolution:
    (claim,) = template.structures
    assert isinstance(claim, Scenarios)
    found = solve_scenarios(template, asked, join)
    whole = solve_scenarios(template, asked, join, claim.shared, structures=False)
    assert (found.status, found.objective) == (whole.status, whole.objective)
    for name in found.shared:
        assert {a[name] for a in found.assignments.values()} == {found.shared[name]}
    if found.status == "optimal":
        costs = list(found.costs.values())
        assert found.objective == (max(costs) if join == "worst" else sum(costs))
    return found


@pytest.mark.parametrize("join", ["sum", "worst"])
@pytest.mark.parametrize("line", ["scenarios M", "scenarios M share L", "scenarios M share L, T"])
def test_apart_is_as_good_as_all_at_once(line: str, join: Join) -> None:
    random = Random(line + join)
    for _ in range(3):
        found = both(kernels(line), workloads(random), join)
        assert [u.verdict for u in found.structures] == ["held"]


def test_apart_takes_fewer_designs() -> None:
    asked = {
        "decode": {"M": 1, "N": 64, "K": 64, "chip.capacity": 32},
        "prefill": {"M": 40, "N": 64, "K": 64, "chip.capacity": 32},
    }
    template = kernels("scenarios M share L")
    apart = solve_scenarios(template, asked)
    whole = solve_scenarios(template, asked, share=("L",), structures=False)
    assert apart.evaluations < whole.evaluations / 3
    assert apart.assignments["decode"] != apart.assignments["prefill"]


def test_scenarios_that_differ_in_more_than_is_claimed_are_solved_at_once() -> None:
    asked = workloads(Random(1))
    asked["prefill"]["K"] = 7
    asked["prefill"]["M"] = 40
    found = both(kernels("scenarios M share L"), asked, "sum")
    (used,) = found.structures
    assert (used.verdict, used.why) == ("reopened", "they differ in K too")


def test_a_scenario_without_a_design_leaves_none() -> None:
    asked = workloads(Random(2))
    asked["decode"]["chip.capacity"] = asked["prefill"]["chip.capacity"] = 1
    template = parse(Source("kernels", TEXT.replace("U*T <= 16", "U*T >= 2 and T > M//40")))
    found = solve_scenarios(template, asked)
    assert found.status == solve_scenarios(template, asked, structures=False).status == "optimal"
    asked["prefill"]["M"] = 41
    asked["decode"]["M"] = 1
    found = solve_scenarios(template, asked)
    assert found.status == "infeasible"
    assert found.objective is None


def test_what_is_shared_must_be_a_decision() -> None:
    with pytest.raises(InputError, match="no decision Z"):
        solve_scenarios(kernels(), workloads(Random(0)), share=("Z",))


def test_scenarios_of_a_command_have_names() -> None:
    with pytest.raises(InputError) as caught:
        solve_workloads(
            "shared_memory_tiling", "illustrative", "N=64,K=64", ["M=1", "a:M=1", "a:M=2"]
        )
    assert len(caught.value.diagnostics) == 2


def test_a_chip_that_ships_runs_two_workloads() -> None:
    asked = ["small:M=64", "large:M=4000"]
    found = solve_workloads("shared_memory_tiling", "illustrative", "N=1000,K=1000", asked, "worst")
    assert found.status == "optimal"
    assert found.objective == max(found.costs.values())

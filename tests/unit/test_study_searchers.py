"""The searchers of `white-black` over kernels whose times are made up: budgets, draws, spaces."""

import json
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from formwright.agent.protocol import Proposal, Reply, Request, Spent
from formwright.base.diagnostics import InputError
from formwright.cli.main import run
from formwright.contract.operators import operator
from formwright.flow.blackbox_evaluator import Evaluation
from formwright.flow.blackbox_evolution import TRIES, Evolution, World
from formwright.flow.blackbox_flow import best_by_model, defaults, flow_search
from formwright.flow.blackbox_kernel_tuner import STRATEGIES, kernel_tuner
from formwright.flow.blackbox_search import ASKS, Asking, BudgetSpentError
from formwright.flow.blackbox_searchers import optuna_tpe, random_search
from formwright.flow.blackbox_space import Space, space_of
from formwright.flow.parameters import bind
from formwright.flow.study_tasks import Budget
from formwright.ir.template import Template
from formwright.lang import load
from formwright.milp.check import check, objective_of

CHIP = {
    "chip.cores": 1,
    "chip.vector_lanes": 8,
    "chip.vector_registers": 16,
    "chip.clock": Fraction(3 * 10**9),
    "chip.dram_bandwidth": Fraction(20 * 10**9),
    "chip.core_dram_bandwidth": Fraction(12 * 10**9),
    "chip.l3_bandwidth": Fraction(60 * 10**9),
    "chip.l2_bandwidth": Fraction(120 * 10**9),
    "chip.l2_bytes": 2 << 20,
    "chip.l3_bytes": 32 << 20,
}
EXTENTS = {"H": 2, "G": 7, "S": 512, "D": 64}
SEARCHERS: dict[str, Callable[[Space, Asking, int], None]] = {
    "random": random_search,
    "optuna-tpe": optuna_tpe,
    **{name: (lambda s, a, n, name=name: kernel_tuner(s, a, n, name)) for name in STRATEGIES},  # type: ignore[misc]
}


TUNER = pytest.mark.skipif(
    find_spec("kernel_tuner") is None, reason="needs kernel-tuner, of the extra studies"
)
"""With all that it needs it is too large for everybody who runs the tests."""


def named(*names: str) -> list[Any]:
    """Searchers by name; those of Kernel Tuner where it is installed."""
    return [pytest.param(n, marks=[TUNER] if n in STRATEGIES else []) for n in names]


@pytest.fixture(scope="module")
def space() -> Space:
    template = load("decode_attention_heads")[1]
    return space_of(template, bind(template, CHIP, EXTENTS, "made up"))


def seconds_of(assignment: Mapping[str, int]) -> float:
    """Something with one best design, no model of it anywhere."""
    return 1e-3 * sum((i + 1) * abs(v - 5) for i, v in enumerate(assignment.values()))


def made_up(template: Template, assignment: Mapping[str, int]) -> Evaluation:
    return Evaluation(str(sorted(assignment.items())), seconds_of(assignment), "", 1.0)


def search(run: Callable[[Space, Asking, int], None], space: Space, seed: int) -> Asking:
    asking = Asking(made_up, Budget(12, 1e9), clock=lambda: 0.0)
    with suppress(BudgetSpentError):
        run(space, asking, seed)
    return asking


def test_the_space_is_what_check_allows(space: Space) -> None:
    template, menus = space.template, space.menus
    allowed = [
        point
        for point in product(*menus.values())
        if check(template, space.parameters, dict(zip(menus, point, strict=True))).ok
    ]
    assert list(space.points) == allowed
    assert 0 < len(allowed) < 144


def test_menus_too_large_to_list_are_refused() -> None:
    template = load("decode_attention_heads")[1]
    wide = replace(template.decisions[0], menu=tuple(range(1, 200_000)))
    template = replace(template, decisions=(wide, *template.decisions[1:]))
    with pytest.raises(InputError, match="too many to list"):
        space_of(template, bind(template, CHIP, EXTENTS, "made up"))


@pytest.mark.parametrize("name", named(*SEARCHERS))
def test_a_searcher_spends_its_budget_inside_the_space(name: str, space: Space) -> None:
    for seed in range(2):
        asking = search(SEARCHERS[name], space, seed)
        points = [space.point(s.assignment) for s in asking.steps]
        assert len(points) == len(set(points)) == 12
        assert set(points) <= set(space.points)


@pytest.mark.parametrize("name", named(*SEARCHERS))
def test_a_seed_fixes_what_is_asked(name: str, space: Space) -> None:
    one, again, other = (search(SEARCHERS[name], space, seed) for seed in (3, 3, 4))
    assert [s.assignment for s in one.steps] == [s.assignment for s in again.steps]
    assert [s.assignment for s in one.steps] != [s.assignment for s in other.steps]


@TUNER
def test_kernel_tuner_leaves_the_global_generators_alone(space: Space) -> None:
    random.seed(1)
    np.random.seed(1)
    wanted = random.random(), np.random.random()
    random.seed(1)
    np.random.seed(1)
    search(SEARCHERS["kernel-tuner-greedy"], space, 9)
    assert (random.random(), np.random.random()) == wanted


@pytest.mark.parametrize("name", named("optuna-tpe", "kernel-tuner-greedy", "kernel-tuner-genetic"))
def test_kernels_that_fail_are_no_answer_and_are_counted(name: str, space: Space) -> None:
    def broken(template: Template, assignment: Mapping[str, int]) -> Evaluation:
        found = made_up(template, assignment)
        return found if assignment["Gr"] < 3 else replace(found, seconds=None, fault="wrong")

    asking = Asking(broken, Budget(12, 1e9), clock=lambda: 0.0)
    with suppress(BudgetSpentError):
        SEARCHERS[name](space, asking, 1)
    assert len(asking.steps) == 12
    assert any(s.fault == "wrong" for s in asking.steps)


def test_what_is_known_is_free_and_thinking_is_not(space: Space) -> None:
    now = [0.0]
    asking = Asking(made_up, Budget(3, 100.0), clock=lambda: now[0])
    first = space.design(space.points[0])
    assert asking.ask(space.template, first) == asking.ask(space.template, first)
    assert len(asking.steps) == 1
    assert asking.spent == 1.0
    now[0] = 7.5
    asking.ask(space.template, space.design(space.points[1]))
    assert asking.spent == 9.5
    now[0] = 200.0
    with pytest.raises(BudgetSpentError):
        asking.ask(space.template, space.design(space.points[2]))


def test_going_round_in_a_circle_ends(space: Space) -> None:
    asking = Asking(made_up, Budget(2, 1e9), clock=lambda: 0.0)
    first = space.design(space.points[0])
    for _ in range(2 * ASKS):
        asking.ask(space.template, first)
    with pytest.raises(BudgetSpentError):
        asking.ask(space.template, first)


def test_the_flow_learns_a_machine_that_its_model_does_not_know(space: Space) -> None:
    """The machine is the model with other coefficients: the best design of all is found."""
    template = space.template
    real = defaults(template) | {"value_cycles": Fraction(20)}

    def machine(template: Template, assignment: Mapping[str, int]) -> Evaluation:
        seconds = float(objective_of(template, space.parameters, assignment, real))
        return Evaluation(str(sorted(assignment.items())), seconds, "", 1.0)

    asking = Asking(machine, Budget(12, 1e9), clock=lambda: 0.0)
    with pytest.raises(BudgetSpentError):
        flow_search(space, asking)
    best, least = best_by_model(template, space.parameters, real)[0]
    found = min(s.seconds for s in asking.steps if s.seconds is not None)
    assert found == pytest.approx(float(least))
    assert space.point(best) in space.points
    untaught, _ = best_by_model(template, space.parameters, defaults(template))[0]
    assert float(objective_of(template, space.parameters, untaught, real)) > float(least)


def test_the_flow_ends_when_every_design_was_measured(space: Space) -> None:
    few = replace(space, points=space.points[:5])
    asking = Asking(made_up, Budget(100, 1e9), clock=lambda: 0.0)
    flow_search(few, asking)
    assert len({s.key for s in asking.steps}) >= 5


class Scripted:
    """Answers with the texts it is given, in turn."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.requests: list[Request] = []

    @property
    def name(self) -> str:
        return "scripted"

    def propose(self, request: Request) -> Reply:
        self.requests.append(request)
        text = self.texts[(len(self.requests) - 1) % len(self.texts)]
        return Reply((Proposal(text, "fw", "scripted"),), Spent())


def evolution(proposer: Scripted, space: Space, evaluations: int) -> Evolution:
    world = World(operator("decode_attention").contract(), "", CHIP, "made up", EXTENTS)
    asking = Asking(
        lambda t, a: replace(made_up(t, a), key=f"{t.name} {sorted(a.items())}"),
        Budget(evaluations, 1e9),
        clock=lambda: 0.0,
    )
    return Evolution(world, proposer, asking, seed=1)


def test_evolution_tries_other_programs_and_other_values(space: Space) -> None:
    text = load("decode_attention_heads")[0].text
    other = text.replace("template decode_attention_heads", "template another")
    found = evolution(Scripted("no template at all", other), space, 14)
    with pytest.raises(BudgetSpentError):
        found.run(load("decode_attention_heads")[1], space)
    assert {s.template for s in found.asking.steps} == {"decode_attention_heads", "another"}
    first = found.proposer.requests[0]  # type: ignore[attr-defined]
    assert first.kind == "adapt"
    assert "decode_attention_heads" in first.data["tried"]


def test_evolution_takes_no_text_of_another_contract(space: Space) -> None:
    found = evolution(Scripted(load("softmax_rows")[0].text), space, 12)
    with pytest.raises(BudgetSpentError):
        found.run(load("decode_attention_heads")[1], space)
    assert {s.template for s in found.asking.steps} == {"decode_attention_heads"}


def test_evolution_ends_where_nothing_new_can_be_made(space: Space) -> None:
    one = replace(space, points=space.points[:1])
    found = evolution(Scripted("nothing"), one, 12)
    found.run(load("decode_attention_heads")[1], one)
    assert len(found.asking.steps) == 1
    assert TRIES < ASKS * 12


@pytest.mark.slow
def test_real_kernels_from_end_to_end(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    line = ["study", "white-black", "--out", out, "--task", "decode-512", "--seeds", "1"]
    line += ["--evaluations", "2", "--searcher", "flow", "--searcher", "evolution", "--quiet"]
    assert run(line) in (0, 1)
    told = json.loads((tmp_path / "out/result.json").read_text())
    (only,) = told["tasks"]
    assert all(f["seconds"] > 0 for r in only["rows"] for f in r["found"])
    assert all(f["evaluations"] == 2 for r in only["rows"] for f in r["found"])

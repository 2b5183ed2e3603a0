"""A task of the study with all that its searchers need, and which searcher is which."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from formwright.agent.library import Library
from formwright.agent.protocol import Proposer
from formwright.contract.contract import Contract
from formwright.contract.workloads import Workload
from formwright.contract.writing import contract_text
from formwright.flow.blackbox_evaluator import Evaluator
from formwright.flow.blackbox_evolution import Evolution, World
from formwright.flow.blackbox_flow import flow_search
from formwright.flow.blackbox_kernel_tuner import STRATEGIES, kernel_tuner
from formwright.flow.blackbox_search import Asking
from formwright.flow.blackbox_searchers import optuna_tpe, random_search
from formwright.flow.blackbox_space import Space
from formwright.flow.journal import Journal
from formwright.flow.setting import Listener
from formwright.flow.study_results import NOT_INSTALLED
from formwright.flow.study_tasks import Plan, Task
from formwright.ir.template import Template

NEEDS = {"optuna-tpe": "optuna"} | dict.fromkeys(STRATEGIES, "kernel_tuner")
"""The package of a searcher, where it is not ours."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a transcript has for a task: its last proved template, and the proposer."""

    template: Template
    space: Space
    proposer: Proposer


@dataclass(frozen=True, slots=True)
class Room:
    """``template`` as its file has it, ``space`` with the element types of the contract."""

    task: Task
    plan: Plan
    journal: Journal
    listener: Listener
    chip_name: str
    chip: Mapping[str, Any]
    contract: Contract
    template: Template
    space: Space
    evaluator: Evaluator
    proof: str
    told: Told | None = None


def run_searcher(room: Room, searcher: str, asking: Asking, seed: int) -> str:
    """Run it until its budget ends (:class:`BudgetSpentError`) or it has nothing more to ask.

    Returns why it was not run, where it was not.
    """
    package = NEEDS.get(searcher)
    if package is not None and find_spec(package) is None:
        return f"not run: {package} {NOT_INSTALLED} (pip install 'formwright[studies]')"
    match searcher:
        case "flow":
            flow_search(room.space, asking)
        case "random":
            random_search(room.space, asking, seed)
        case "optuna-tpe":
            optuna_tpe(room.space, asking, seed)
        case "evolution":
            proposer = Library(plain=_no_specification, costed=lambda template: template)
            _evolution(room, proposer, asking, seed).run(room.template, room.space)
        case "flow-transcript" | "evolution-transcript":
            if room.told is None:
                return f"not run: no proved program for {room.contract.operator} in a transcript"
            if searcher == "flow-transcript":
                flow_search(room.told.space, asking)
            else:
                evolution = _evolution(room, room.told.proposer, asking, seed)
                evolution.run(room.told.template, room.told.space)
        case _:
            kernel_tuner(room.space, asking, seed, searcher)
    return ""


def _evolution(room: Room, proposer: Proposer, asking: Asking, seed: int) -> Evolution:
    """It adapts what it is given: neither a cost nor a proof is asked of a proposal."""
    workload = Workload(room.task.name, dict(room.task.extents))
    world = World(
        room.contract,
        contract_text(room.contract, (workload,)),
        room.chip,
        room.chip_name,
        room.task.extents,
    )
    return Evolution(world, proposer, asking, seed)


def _no_specification(contract: Contract, name: str) -> tuple[Template, ...]:
    raise AssertionError("an evolutionary search adapts; it asks for no new template")

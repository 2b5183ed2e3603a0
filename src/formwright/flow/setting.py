"""What all steps of a run share: problem, chip, proved templates, journal."""

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from formwright.agent.budget import Budget as Spending
from formwright.agent.budget import Ledger
from formwright.base.source import Source
from formwright.contract.problem import Problem, Workload
from formwright.flow.device import Device, Here, Timing
from formwright.flow.executor import Executor
from formwright.flow.jobs import COUNTEREXAMPLES, Job
from formwright.flow.journal import Journal
from formwright.flow.listener import Listener as Listener
from formwright.flow.parameters import bind
from formwright.flow.refit import Observation
from formwright.flow.steps import Steps
from formwright.ir.expr import Scalar
from formwright.ir.template import Template
from formwright.qualify.counterexamples import Store


@dataclass(frozen=True, slots=True)
class Proved:
    """A template that may be used: its text, the template for the contract's element types, and a
    summary of its proof, which holds for all types that the text offers."""

    source: Source
    template: Template
    proof: dict[str, Any]


@dataclass(slots=True)
class Setting:
    """Mutable only in what the run learns: coefficients and observations by template."""

    problem: Problem
    chip_name: str
    chip: dict[str, int | Fraction]
    threads: int
    out: Path
    journal: Journal
    listener: Listener
    seed: int
    executor: Executor
    chip_key: str = ""
    """Tells this chip from others (``population.chips``)."""
    templates: dict[str, Proved] = field(default_factory=dict)
    coefficients: dict[str, dict[str, Fraction]] = field(default_factory=dict)
    observations: dict[str, list[Observation]] = field(default_factory=dict)
    device: Device = field(default_factory=Here)
    ledger: Ledger = field(default_factory=lambda: Ledger(Spending()))
    charged: set[str] = field(default_factory=set)

    @property
    def steps(self) -> Steps:
        """Steps of the journal that the executor performs."""
        return Steps(self.journal, self.out, self.executor, self.listener)

    def timed(self, key: str, names: tuple[str, ...], job: Job) -> Timing:
        """The measuring step ``key`` of the programs ``names``, charged to the ledger."""

        def compute() -> Timing:
            timed = self.device.timed(key, names, lambda: self.steps.compute(key, job))
            machine = f"machine/{timed.get('machine')}"
            told = self.device.about(machine)
            if told is not None:  # times of a record are of the machine that it tells of
                self.journal.step(machine, lambda: told)
            return timed

        found: Timing = self.journal.step(key, compute)
        self.charge(key, device=float(found.get("wall_seconds", 0.0)))
        return found

    @property
    def forgiving(self) -> bool:
        """Templates are made by an agent: one that a step stumbles over must not end the run."""
        return self.problem.agent is not None

    def charge(self, key: str, *, building: float = 0.0, device: float = 0.0) -> None:
        """Wall seconds of the step ``key``, once.

        A run that goes on charges the steps of its journal as they were: it has spent that before.
        """
        if key not in self.charged:
            self.charged.add(key)
            self.ledger.charge_building(building)
            self.ledger.charge_device(device)

    @property
    def counterexamples(self) -> Store:
        """Calls that refused a candidate of this run: later ones meet them first."""
        return Store(self.out / COUNTEREXAMPLES)

    def below(self, path: Path) -> str:
        """``path`` as jobs name it: from the folder of the run."""
        return path.relative_to(self.out).as_posix()

    def parameters(self, template: Template, workload: Workload) -> dict[str, Scalar]:
        """Values of the scope's names for one workload, with as many cores as threads."""
        chip = {**self.chip, "chip.cores": self.threads}
        return bind(template, chip, workload.extents, self.chip_name)


def fractions_as_text(values: dict[str, Fraction]) -> dict[str, str]:
    """Exact rationals for the journal."""
    return {name: str(value) for name, value in values.items()}


def fractions_from_text(values: dict[str, str]) -> dict[str, Fraction]:
    return {name: Fraction(text) for name, text in values.items()}

"""Problem files: what to make a kernel for, on which chip, with which budget."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from formwright.base.diagnostics import InputError
from formwright.base.toml import read_toml_file
from formwright.contract.agent import Agent, read_agent
from formwright.contract.contract import Contract
from formwright.contract.fields import Fields
from formwright.contract.files import CHOSEN, STATED, family_of, load_contract, read_contract
from formwright.contract.objectives import LATENCY, Objective, read_objective
from formwright.contract.operators import operator
from formwright.contract.workloads import (
    NAME,
    Workload,
    overriding,
    parse_overrides,
    read_workloads,
)

__all__ = ["Agent", "Budget", "Problem", "Workload", "load_problem", "parse_overrides"]

BASELINES: Final = ("numpy", "torch", "onednn", "onnxruntime")

MAX_THREADS: Final = 1024


@dataclass(frozen=True, slots=True)
class Budget:
    """``candidates`` are built and measured per workload and round; ``seconds`` is wall time."""

    candidates: int = 4
    rounds: int = 2
    seconds: float = 120.0


AGENT_SECONDS: Final = 1800.0
"""Wall time of a run that makes its own templates, where the file states none."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem file, checked. ``threads`` is ``None`` for one thread per core of the chip.

    ``templates`` and ``chip`` are names that ship or paths; paths are relative to the file.
    ``agent`` proposes templates beside those that are named; a file that names none has one.
    """

    name: str
    contract: Contract
    templates: tuple[str, ...]
    chip: str
    threads: int | None
    workloads: tuple[Workload, ...]
    baselines: tuple[str, ...]
    budget: Budget
    objective: Objective = LATENCY
    agent: Agent | None = field(default=None, metadata={"added": True})


def load_problem(path: str | Path, overrides: Mapping[str, int] | None = None) -> Problem:
    """Read and check a problem file; ``overrides`` (extents) replaces its workloads by one.

    Raises ``InputError`` with every fault of the file, each with line, column and hint.
    """
    document = read_toml_file(Path(path))
    reader = _Reader(Fields(document), Path(path).parent)
    problem = reader.problem()
    if reader.fields.faults or problem is None:
        raise InputError(reader.fields.faults, document.source)
    if overrides is None:
        return problem
    return replace(problem, workloads=(overriding(operator(problem.contract.operator), overrides),))


_KEYS: Final = (
    "name",
    "contract",
    "templates",
    "chip",
    "threads",
    "baselines",
    "workloads",
    "budget",
    "objective",
    "ceilings",
    "agent",
)


class _Reader:
    """Takes a problem from the fields of one document; faults are gathered there."""

    def __init__(self, fields: Fields, folder: Path) -> None:
        self.fields = fields
        self.document = fields.document
        self.folder = folder

    def problem(self) -> Problem | None:
        fields = self.fields
        table = self.document.table
        fields.faults.extend(self.document.unknown((), table, (*_KEYS, *CHOSEN)))
        name = fields.text(("name",), default=Path(self.document.source.name).stem)
        if name is not None and not NAME.fullmatch(name):
            fields.fault(
                f'"{name}" is not a name for a folder', ("name",), "use letters, digits, - _ ."
            )
        contract = self._contract()
        made = "templates" not in self.document.table
        templates = fields.texts(("templates",), () if made else None)
        agent = self._agent() or (Agent() if made else None)
        chip = fields.text(("chip",), default="local")
        threads = fields.whole(("threads",), 1, MAX_THREADS, default=0)
        baselines = fields.chosen(("baselines",), BASELINES, ("numpy",))
        family = family_of(fields) if contract is None else operator(contract.operator)
        workloads = read_workloads(fields, family, needed=True)
        budget = self._budget(Budget() if agent is None else Budget(seconds=AGENT_SECONDS))
        objective, faults = read_objective(self.document)
        fields.faults.extend(faults)
        if contract is None or name is None or templates is None:
            return None
        if chip is None or baselines is None or budget is None or fields.faults:
            return None
        return Problem(
            name=name,
            contract=contract,
            templates=tuple(self._resolve(t, ".fw") for t in templates),
            chip=self._resolve(chip, ".toml"),
            threads=threads or None,
            workloads=tuple(workloads),
            baselines=baselines,
            budget=budget,
            objective=objective,
            agent=agent,
        )

    def _contract(self) -> Contract | None:
        """From the file that ``contract`` names, or from the keys of this one."""
        if "contract" not in self.document.table:
            return read_contract(self.fields)
        for key in (*CHOSEN, *STATED):
            if key in self.document.table and key != "threads":
                told = f"{key} stands in the contract file"
                self.fields.fault(told, (key,), "write it there, or leave contract out")
        name = self.fields.text(("contract",), default=None)
        return None if name is None else load_contract(self.folder / name).contract

    def _resolve(self, name: str, suffix: str) -> str:
        """A path in a problem file is relative to that file; a bare name ships with us."""
        if not name.endswith(suffix) and "/" not in name:
            return name
        return str(self.folder / name)

    def _agent(self) -> Agent | None:
        """Paths in it are relative to the file, as all are."""
        agent = read_agent(self.fields)
        if agent is None:
            return None
        transcript, answers = (
            str(self.folder / path) if path else "" for path in (agent.transcript, agent.answers)
        )
        return replace(agent, transcript=transcript, answers=answers)

    def _budget(self, usual: Budget) -> Budget | None:
        fields = self.fields
        table = self.document.table.get("budget", {})
        if not isinstance(table, dict):
            fields.fault(
                "budget is not a table", ("budget",), "write [budget] on a line of its own"
            )
            return None
        fields.faults.extend(
            self.document.unknown(("budget",), table, ("candidates", "rounds", "seconds"))
        )
        candidates = fields.whole(("budget", "candidates"), 1, 1000, usual.candidates)
        rounds = fields.whole(("budget", "rounds"), 1, 100, usual.rounds)
        seconds = fields.seconds(("budget", "seconds"), usual.seconds)
        if candidates is None or rounds is None or seconds is None:
            return None
        return Budget(candidates, rounds, seconds)

"""In the child: the session's problem as the flow takes it, in the job's own folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from formwright.base.diagnostics import InputError, fail
from formwright.contract.matching import matches
from formwright.contract.problem import Workload
from formwright.flow.adopting import adopt, proof_entry
from formwright.flow.journal import Journal
from formwright.flow.proving import prove
from formwright.flow.run import open_setting
from formwright.flow.setting import Setting
from formwright.ir.template import Template
from formwright.lang import parse
from formwright.mcp.asked import Asked
from formwright.mcp.binding import Say, chip_of
from formwright.mcp.limits import LIMITS
from formwright.mcp.sources import find_source
from formwright.proof.verdict import Limits


@dataclass(frozen=True, slots=True)
class Heard:
    """A run's listener that passes on what a run says, and keeps what it came to."""

    say: Say
    told: list[str] = field(default_factory=list)

    def stage(self, text: str, done: int = 0, total: int = 0) -> None:
        self.say(text)

    def done(self, text: str) -> None:
        self.told.append(text)
        self.say(text)


@dataclass(frozen=True, slots=True)
class Opened:
    """The setting of a run, its one template proved, and the workload that was asked for."""

    setting: Setting
    workload: Workload
    template: str
    heard: Heard


@contextmanager
def opened(asked: Asked, say: Say) -> Iterator[Opened]:
    """The problem with the asked template in the place of its own ones, and that one proved.

    Raises ``InputError`` for a template that claims less than the contract or is not proved.
    """
    if asked.problem is None:
        raise fail("that needs a problem: contract, reference and benchmark are its own")
    workload = asked.problem.workload(asked.workload)
    source = find_source(asked.template, asked.population)
    template = parse(source)
    problem = replace(
        asked.problem.problem,
        templates=(),
        agent=None,
        chip=chip_of(asked),
        workloads=(workload,),
    )
    differences = matches(template, problem.contract)
    if differences:
        raise InputError(differences, source)
    with Journal(asked.folder / "journal.jsonl") as journal:
        heard = Heard(say)
        setting = open_setting(problem, asked.folder, journal, heard)
        proof = journal.step(f"prove/{template.name}", lambda: _proof(template, say))
        if proof["verdict"] != "proved":
            told = f"{template.name} is {proof['verdict']}: {', '.join(proof['open'])}"
            raise fail(told, template.span, "see fw_prove and fw_counterexample")
        adopt(setting, template.name, source, template, proof)
        yield Opened(setting, workload, template.name, heard)


def _proof(template: Template, say: Say) -> dict[str, Any]:
    limits = Limits(whole=LIMITS["prove"].seconds / 2)
    return proof_entry(prove(template, progress=say, limits=limits))

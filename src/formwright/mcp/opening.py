"""In the child: the session's problem as the flow takes it, in the job's own folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from formwright.base.diagnostics import fail
from formwright.base.files import write_text
from formwright.contract.problem import Workload
from formwright.flow.journal import Journal
from formwright.flow.run import open_setting, prove_templates
from formwright.flow.setting import Setting
from formwright.mcp.asked import Asked
from formwright.mcp.binding import Say, chip_of
from formwright.mcp.sources import find_source


@dataclass(frozen=True, slots=True)
class Heard:
    """A run's listener that passes on what a run says, and keeps what it came to."""

    say: Say
    told: list[str] = field(default_factory=list)

    def stage(self, text: str) -> None:
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
    path = asked.folder / "template.fw"
    write_text(path, source.text)
    problem = replace(
        asked.problem.problem,
        templates=(str(path),),
        chip=chip_of(asked),
        workloads=(workload,),
    )
    with Journal(asked.folder / "journal.jsonl") as journal:
        heard = Heard(say)
        setting = open_setting(problem, asked.folder, journal, heard)
        prove_templates(setting)
        yield Opened(setting, workload, str(path), heard)

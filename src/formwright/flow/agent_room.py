"""What a run with an agent has beside its setting: who proposes, what was made, how it stands."""

from dataclasses import asdict, dataclass, field
from typing import Any, Final

from formwright.agent.protocol import Finding, Proposer
from formwright.contract.agent import Agent
from formwright.contract.problem import Workload
from formwright.flow.executor import Outcome
from formwright.flow.loop import Tally
from formwright.flow.setting import Setting
from formwright.population import ChipKey, Population

PAIRED: Final = "paired"
MEDIANS: Final = "medians"
"""How a generation's gain is told from noise: by rounds that timed both, or, as runs before
30 November 2026 did, by medians alone. A run goes on, and is repeated, by the rule it began with.
"""


@dataclass(slots=True)
class Made:
    """One text of the run: where it came from and what became of it.

    ``key`` names it in the run (empty for a text that is no template), ``digest`` is its content.
    ``verdict``: ``proved``, ``refuted``, ``unresolved``, ``vacuous``; ``tested`` for kernel source
    that was validated; else the stage at which it was refused. ``step``: the journal's key.
    ``repairs`` counts those before it; ``known``: what the population had of it before this run.
    """

    key: str
    digest: str
    language: str
    generation: int
    parents: tuple[str, ...]
    rule: str
    proposer: str
    why: str
    verdict: str
    step: str
    findings: tuple[Finding, ...] = ()
    repairs: int = 0
    known: str = ""
    measured: bool = False
    """Its time at every workload was known before this run, on this chip and machine."""
    text: str = field(default="", repr=False)
    drawn: bool = False
    """From the population, not from an answer in this run."""

    def as_json(self) -> dict[str, Any]:
        """Stable keys of ``lineage`` in ``formwright run --json``; without the text."""
        shown = asdict(self)
        del shown["text"], shown["drawn"]
        return shown


@dataclass(slots=True)
class Room:
    """``made`` has the texts in their order, ``lines`` what was told of the run, newest last.

    ``lines`` hold no times of the clock: a run that went on and one that was not disturbed say the
    same to a proposer. ``level`` is what the next template is asked for.
    """

    setting: Setting
    agent: Agent
    proposer: Proposer
    population: Population
    chip: ChipKey
    machine: str
    run: str
    gains: str = PAIRED
    level: str = "mapping"
    asked: int = 0
    made: list[Made] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    tallies: dict[str, Tally] = field(default_factory=dict)
    generations: list[dict[str, Any]] = field(default_factory=list)
    """What each came to, as the journal has it."""
    diagnosis: dict[str, Any] | None = None
    """The main cause of a shortfall in the last generation."""
    words: str = ""
    """What the proposer said of it."""
    ahead: dict[str, Outcome] = field(default_factory=dict)
    """Proofs that were made before they are asked for, by the step that asks."""

    def tell(self, line: str) -> None:
        """For people and for the next request; signs that cannot be shown are replaced."""
        line = "".join(c if c.isprintable() else "\ufffd" for c in line)
        self.lines.append(line)
        self.setting.listener.done(line)

    def tally(self, workload: Workload) -> Tally:
        return self.tallies.setdefault(workload.name, Tally())

    def named(self, key: str) -> Made | None:
        """What is called ``key`` here (a key or a digest), or ``None``."""
        return next((m for m in self.made if key and key in (m.key, m.digest)), None)

    def step(self, name: str) -> str:
        """Run and journal entry, as the population names sources."""
        return f"{self.run}:{name}"

"""What the population keeps, as data: templates, where they come from, what was seen of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import isfinite
from typing import Any, Literal, get_args

from formwright.contract.contract import Contract, contract_digest
from formwright.population.chips import ChipKey
from formwright.population.signature import Signature

Language = Literal["fw", "c", "cuda", "triton"]
Place = Literal["admitted", "shelf"]
"""``admitted``: K1, K2 and K3 are proved. ``shelf``: searchable, and never part of a claim of
correctness."""

Seen = Literal["measured", "simulated", "modelled"]
"""The evidence of a figure."""

LANGUAGES: tuple[str, ...] = get_args(Language)
SEEN: tuple[str, ...] = get_args(Seen)


@dataclass(frozen=True, slots=True)
class Origin:
    """How a text came about. ``parents`` are digests; ``rule`` names what was done to them."""

    proposer: str
    rule: str
    parents: tuple[str, ...] = ()
    why: str = ""
    run: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A template of the population, or a text on its shelf.

    ``evidence`` is ``proved`` only where the proof was made under the rules and with the solver
    of now; ``tested`` is for kernel source that was validated; else ``none``, and ``reason`` says
    why. ``problem`` is equal for templates of one mathematical workload, ``niche`` for templates of
    one problem and one structure; both are empty for kernel source.
    """

    digest: str
    language: Language
    name: str
    text: str
    place: Place
    evidence: Literal["proved", "tested", "none"]
    reason: str
    verdict: str
    interface: str
    problem: str
    niche: str
    signature: Signature | None
    proof: Mapping[str, Any] | None
    proof_digest: str
    created: str

    @property
    def admitted(self) -> bool:
        """On no shelf: proved, now or (where ``evidence`` is ``none``) under earlier rules."""
        return self.place == "admitted"

    @property
    def reopened(self) -> bool:
        """Admitted under other rules or another solver: to be proved again before it is used."""
        return self.admitted and self.evidence != "proved"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a lineage: ``child`` came from ``parent`` by ``rule``.

    ``parent`` is empty for a text that came from none.
    """

    child: str
    parent: str
    rule: str
    proposer: str
    why: str
    run: str
    created: str


@dataclass(frozen=True, slots=True)
class Work:
    """What was computed when a figure was taken. ``contract`` is a digest."""

    contract: str
    operator: str
    extents: Mapping[str, int]
    dtypes: Mapping[str, str]
    threads: int = 1


def work_of(contract: Contract, extents: Mapping[str, int], threads: int = 1) -> Work:
    """One shape of ``contract`` with its element types."""
    dtypes = {o.name: o.dtype for o in contract.operands}
    return Work(contract_digest(contract), contract.operator, dict(extents), dtypes, threads)


@dataclass(frozen=True, slots=True)
class Design:
    """An assignment that a solver chose. ``objective`` in the unit of the template's cost.

    ``bound`` is what no design of the template is below; ``qualified`` says whether a kernel of it
    passed, ``artifact`` which. ``source`` names run and journal entry.
    """

    template: str
    assignment: Mapping[str, int]
    chip: ChipKey
    work: Work
    objective: float | None
    bound: float | None
    qualified: bool
    artifact: str
    source: str
    imported: bool = False


@dataclass(frozen=True, slots=True)
class Fact:
    """A figure, always with its chip, machine and workload; the smaller, the better.

    ``quantity`` is ``seconds``, ``cycles``, ``joules``, …, ``unit`` its unit; ``low`` and ``high``
    bound it where repeats did. ``source`` names run and journal entry: the same entry is one fact,
    however often it is told.
    """

    template: str
    assignment: Mapping[str, int]
    chip: ChipKey
    machine: str
    work: Work
    quantity: str
    value: float
    unit: str
    evidence: Seen
    source: str
    low: float | None = None
    high: float | None = None
    imported: bool = False
    """Taken from files: what another store said."""

    def __post_init__(self) -> None:
        if self.evidence not in SEEN:
            raise ValueError(f"a figure is {', '.join(SEEN)}, not {self.evidence}")
        if not all(isfinite(v) for v in (self.value, self.low, self.high) if v is not None):
            raise ValueError(f"{self.quantity} is no finite number")


@dataclass(frozen=True, slots=True)
class KeptFact:
    """A fact as it stands for whoever asks: ``reopened`` where chip or machine are others."""

    fact: Fact
    standing: Literal["holds", "reopened"]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Met:
    """A counterexample that ``template`` met. ``replayed``: the interpreter reached the defect."""

    template: str
    condition: str
    text: str
    values: Mapping[str, int | str]
    replayed: bool
    source: str
    trace: tuple[str, ...] = ()
    imported: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    """Whether a structure that a template declares held for a workload on a chip."""

    template: str
    structure: str
    held: bool
    chip: ChipKey
    work: Work
    source: str
    detail: str = ""
    imported: bool = False


@dataclass(frozen=True, slots=True)
class Clock:
    """When things are written down; tests give their own."""

    fixed: str = field(default="")

    def now(self) -> str:
        return self.fixed or datetime.now(UTC).isoformat(timespec="microseconds")

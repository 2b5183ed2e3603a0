"""What is asked of a proposer, and what it may answer with.

A proposer sees a :class:`Request`, all of it text and plain data, and answers with texts: ``.fw``
templates, kernel source, or words. Nothing it says is believed: texts are parsed, templates proved,
kernels validated and timed by others.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Kind = Literal["new", "adapt", "repair", "diagnose", "mechanism"]
"""``new``: a template for the contract. ``adapt``: others from those of ``known``. ``repair``: of
``parent``, after ``findings``. ``diagnose``: why measurements fall short. ``mechanism``: a name for
what a purchase made possible."""


@dataclass(frozen=True, slots=True)
class Known:
    """A template of the population as a proposer sees it."""

    name: str
    text: str
    evidence: str
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """What was wrong with a text: ``stage`` says where it failed (parse, match, prove, solve, …).

    ``condition`` and ``counterexample`` are those of the verifier; ``message`` has the diagnostic
    with its place.
    """

    stage: str
    message: str
    condition: str = ""
    counterexample: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """``number`` counts the requests of a run: with the run's seed it fixes what is drawn.

    ``contract`` is the contract's text (TOML) and ``formula`` its lines; ``chip`` the values by
    name. ``journal`` holds the run so far as lines of text, newest last.
    """

    kind: Kind
    number: int
    seed: int
    contract: str
    formula: tuple[str, ...]
    chip: Mapping[str, str]
    known: tuple[Known, ...] = ()
    parent: str = ""
    findings: tuple[Finding, ...] = ()
    journal: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Proposal:
    """``language``: ``fw`` for a template, ``c`` for kernel source, ``text`` for words.

    ``rule`` names how it came about and ``parents`` what it was made from (digests or names).
    """

    text: str
    language: Literal["fw", "c", "text"]
    rule: str
    parents: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Spent:
    """What an answer took. ``money`` in US dollars, by the prices that the user stated."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    money: float = 0.0


@dataclass(frozen=True, slots=True)
class Reply:
    """``problem`` says what went wrong where there is no usable proposal (a refusal, a timeout)."""

    proposals: tuple[Proposal, ...]
    spent: Spent
    problem: str = ""


class Proposer(Protocol):
    """Never raises for what a model or a person did; ``Reply.problem`` says it."""

    @property
    def name(self) -> str: ...

    def propose(self, request: Request) -> Reply: ...

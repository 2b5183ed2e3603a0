"""What a solver claims to have found, before the interpreter has reached it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from formwright.base.source import Span
from formwright.ir.template import Template
from formwright.proof.verdict import Counterexample


@dataclass(frozen=True, slots=True)
class Instance:
    """One run of one statement: where it stands and for which loop values, agents and point.

    ``path`` is the chain of positions in the blocks from the root of the program
    (``program[path[0]].body[path[1]]...``); it ends at the ``Apply``. ``variables`` has the
    values of all loops, ``par`` variables and box names on the way; a ``team`` variable is
    the agent that runs the point. ``role``: write, accumulate, read, or cell (an output
    cell that nothing writes; its path is empty and its variables are the workload's indices).
    """

    path: tuple[int, ...]
    role: str
    variables: dict[str, int]
    buffer: str = ""
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Refutation:
    """Values that make one condition of ``docs/program-rules.md`` false, not yet replayed.

    ``condition`` is the word of the table; ``values`` names every extent, agent count,
    decision and ``chip.`` field of the template. ``instances`` are the two (or one)
    statement instances of the model, in the order: the one that suffers (the reader),
    then the one that does the harm. ``text`` is the claim in words.
    """

    condition: str
    name: str
    values: dict[str, int | Fraction]
    instances: tuple[Instance, ...]
    text: str


Replayer = Callable[[Template, Refutation], Counterexample | None]
"""Reaches the defect from the initial state, or returns ``None``."""

StepReplayer = Callable[[Template, dict[str, int | Fraction]], Counterexample | None]
"""Runs the fine system of a step from its initial states, with these values for every name of
the scope and the decisions, and returns the first defect that it reaches (S24), or ``None``."""

ClauseJudge = Callable[[Template, dict[str, int | Fraction]], str]
"""Says of a failed certificate whether the relation is wrong (a clause is false in a state that
is reached with these values) or may be too weak."""

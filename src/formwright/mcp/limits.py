"""What one call and one job of the server may take."""

from dataclasses import dataclass
from typing import Final, Literal, get_args

from formwright.lang.limits import TEXT_BYTES as TEXT_BYTES

ShortKind = Literal["problem", "parse", "check", "search", "show"]
"""Answered at once, in a child process all the same: a text may take what it likes there."""
JobKind = Literal["prove", "solve", "build", "measure", "qualify", "submit"]
"""Long work, with a job's number."""
Kind = Literal[ShortKind, JobKind]

SHORT_KINDS: Final[tuple[ShortKind, ...]] = get_args(ShortKind)
JOB_KINDS: Final[tuple[JobKind, ...]] = get_args(JobKind)


@dataclass(frozen=True, slots=True)
class Limit:
    """``seconds`` of wall time; ``mebibytes`` of memory, with all processes that it started.

    ``alone``: nothing else of the server runs meanwhile, since it reads a clock.
    ``address_space``: the limit holds for addresses too (sanitizers reserve terabytes of them).
    """

    seconds: float
    mebibytes: int
    alone: bool = False
    address_space: bool = True


LIMITS: Final[dict[Kind, Limit]] = {
    # A chip that was never measured is measured first: some 15 s.
    "problem": Limit(120, 2048),
    "parse": Limit(60, 2048),
    "check": Limit(120, 2048),
    "search": Limit(60, 2048),
    "show": Limit(60, 2048),
    "prove": Limit(600, 6144),
    "solve": Limit(300, 6144),
    "submit": Limit(600, 6144),
    "build": Limit(600, 6144, address_space=False),
    "measure": Limit(900, 6144, alone=True, address_space=False),
    "qualify": Limit(1800, 6144, alone=True, address_space=False),
}

RUNNING: Final = 2
"""Jobs that run at one time."""
WAITING: Final = 16
"""Jobs that wait for their turn; more are refused."""
SHORT_RUNNING: Final = 4
"""Short calls that are answered at one time; others wait."""
KEPT: Final = 100
"""Jobs whose results are kept; older ones are forgotten (their folders stay)."""
LINE_BYTES: Final = 2 << 20
"""A line that a child may say; a result is one."""
WORDS: Final = 2_000
"""Characters of a reason that is given with a template."""
ENTRIES: Final = 64
"""Extents or decisions in one call."""
DESIGNS: Final = 8
"""Designs measured against each other in one job."""
SHOWN: Final = 20
"""Obligations, constraints' faults, hits of a search in one answer."""
SOURCE_CHARACTERS: Final = 64_000
"""Characters of emitted C in one answer; the file has all of it."""
MOST_WAIT: Final = 50.0
"""Seconds that a call waits for a job at most: clients give up on a request after a minute."""

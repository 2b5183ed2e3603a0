"""The replay interpreter: the rules of ``docs/program-rules.md`` run on exact terms.

It shares no code with the conditions that a solver discharges. ``run`` plays one schedule,
``explore`` all of a small program, ``replay`` looks for the defect that a solver claims.
"""

from formwright.replay.exploration import Exploration, explore
from formwright.replay.runner import Outcome, run
from formwright.replay.schedule import TEXTUAL, Delay, Schedule
from formwright.replay.search import replay

__all__ = [
    "TEXTUAL",
    "Delay",
    "Exploration",
    "Outcome",
    "Schedule",
    "explore",
    "replay",
    "run",
]

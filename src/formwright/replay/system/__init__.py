"""The interpreter of transition systems: every run of a small instance, from its initial state.

It shares no code with the conditions that a solver discharges (``docs/refinement.md``).
``explore_step`` searches one instance through, ``refute_step`` looks for a fault near a
solver's model, ``search`` among all small parameters; ``broken_clause`` and ``reached`` tell a
wrong relation from one that is too weak.
"""

from formwright.replay.system.explore import Limits
from formwright.replay.system.instance import Exploration, explore_step
from formwright.replay.system.invariants import BrokenClause, broken_clause, reached, why_not_kept
from formwright.replay.system.refute import Searched, refute_step, search

__all__ = [
    "BrokenClause",
    "Exploration",
    "Limits",
    "Searched",
    "broken_clause",
    "explore_step",
    "reached",
    "refute_step",
    "search",
    "why_not_kept",
]

"""Structural rules: from a template to others of the same workload."""

from formwright.agent.rules.block import BLOCK_LANES, BLOCK_ROWS, STRIP
from formwright.agent.rules.hints import PREFETCH, STREAM
from formwright.agent.rules.hoist import HOIST
from formwright.agent.rules.keep import COPY, KEEP
from formwright.agent.rules.loops import FUSE, INTERCHANGE, ORDER, SPLIT, SPREAD
from formwright.agent.rules.meet import MEET
from formwright.agent.rules.menu_rules import CLOSE_MENU, OPEN_MENU, TIE
from formwright.agent.rules.narrow import NARROW
from formwright.agent.rules.pack import PACK
from formwright.agent.rules.panels import PANELS
from formwright.agent.rules.partial import PARTIAL_SUMS
from formwright.agent.rules.phases import PHASES
from formwright.agent.rules.rule import Rule, Variant
from formwright.agent.rules.slots import ADD_SLOTS
from formwright.agent.rules.unwrap import UNWRAP

RULES: tuple[Rule, ...] = (
    *(NARROW, UNWRAP, KEEP, HOIST, COPY, FUSE, MEET, PANELS, PARTIAL_SUMS, BLOCK_LANES, BLOCK_ROWS),
    *(PACK, STRIP, SPREAD, PHASES, SPLIT, INTERCHANGE, ORDER, ADD_SLOTS, PREFETCH, STREAM),
    *(OPEN_MENU, TIE, CLOSE_MENU),
)
"""All rules, in the order in which a template usually gains from them."""

__all__ = ["RULES", "Rule", "Variant"]

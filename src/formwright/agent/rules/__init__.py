"""Structural rules: from a template to others of the same workload."""

from formwright.agent.rules.block import BLOCK_LANES, BLOCK_ROWS, STRIP
from formwright.agent.rules.hoist import HOIST
from formwright.agent.rules.keep import COPY, KEEP
from formwright.agent.rules.partial import PARTIAL_SUMS
from formwright.agent.rules.rule import Rule, Variant

RULES: tuple[Rule, ...] = (KEEP, HOIST, PARTIAL_SUMS, BLOCK_LANES, BLOCK_ROWS, COPY, STRIP)
"""All rules, in the order in which a template usually gains from them."""

__all__ = ["RULES", "Rule", "Variant"]

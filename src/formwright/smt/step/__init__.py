"""Conditions S14 to S23 of a refinement step, as goals for the solver."""

from formwright.smt.step.goals import acting_conditions, shown_state, step_goals
from formwright.smt.step.setting import Setting

__all__ = ["Setting", "acting_conditions", "shown_state", "step_goals"]

"""Repair of templates that were refuted: edits that the counterexample points to, judged by runs
and at last by the proof (``docs/repair.md``)."""

from formwright.agent.repair.mending import Effort, Mended, findings_of, mend

__all__ = ["Effort", "Mended", "findings_of", "mend"]

"""What explains that a template's cost misses: a coefficient, a term that it lacks, or nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Any

from formwright.walls.counters import Counter
from formwright.walls.fitting import EXACT, Fit, fit_of, joint, single
from formwright.walls.missing import terms
from formwright.walls.observed import Compared, as_floats
from formwright.walls.repairs import Repair

PART = 2 / 3
"""A repair that leaves more of the error than this is none."""
INSIDE = 0.9
"""An explanation brings this part of all observations within the noise."""


@dataclass(frozen=True, slots=True)
class Search:
    """The repair of one template: ``rows`` all its observations, ``missed`` those that missed."""

    template: str
    present: Mapping[str, Fraction]
    rows: Sequence[Compared]
    missed: Sequence[Compared]
    counters: Sequence[Counter]
    noise: float

    def run(self) -> tuple[Repair | None, dict[str, Any]]:
        """The repair, or none, and everything that was tried, as JSON."""
        present = self.present
        before = fit_of(self.rows, present, {}, self.noise)
        fits = [single(self.rows, present, name, self.noise) for name in sorted(present)]
        if len(present) > 1:
            fits.append(joint(self.rows, present, self.noise))
        fits = [f for f in fits if f.changed and f.error < before.error]
        told: dict[str, Any] = {
            "template": self.template,
            "observations": len(self.rows),
            "error": before.error,
            "inside": before.inside,
            "refits": [{**f.as_json(), "explains": self._fit_explains(f)} for f in fits],
            "terms": [],
            "wall": None,
        }
        whole = [f for f in fits if self._fit_explains(f)]
        if whole:
            best = min(whole, key=lambda f: f.score)
            return Repair(self.template, best.changed), {**told, "by": "refit"}
        return self._lacking(before, fits, told)

    def _lacking(
        self, before: Fit, fits: Sequence[Fit], told: dict[str, Any]
    ) -> tuple[Repair | None, dict[str, Any]]:
        """No refit explains the misses: the counters are asked."""
        found = terms(self.rows, self.present, self.counters, self.noise)
        told["terms"] = [{**t.as_json(), "explains": self._inside(t.fit)} for t in found]
        whole = [t for t in found if self._inside(t.fit)]
        # A counter that nobody states may be the time itself under another name.
        named = next((t for t in whole if t.stated), next(iter(whole), None))
        if named is not None:
            told["wall"] = {"counter": named.counter, "field": named.field, "why": named.why}
            if named.stated:
                return Repair(self.template, {}, named), {**told, "by": "term"}
            return None, {**told, "by": "none"}
        limit = PART * before.error
        partial = [(f.score, Repair(self.template, f.changed)) for f in fits if f.error <= limit]
        partial += [
            (t.fit.score, Repair(self.template, {}, t))
            for t in found
            if t.stated and t.fit.error <= limit
        ]
        if not partial:
            return None, {**told, "by": "none"}
        repair = min(partial, key=lambda p: p[0])[1]
        if repair.term is not None:
            told["wall"] = {"counter": repair.term.counter, "field": repair.term.field, "why": ""}
        return repair, {**told, "by": "part"}

    def _fit_explains(self, fit: Fit) -> bool:
        band = log(1 + self.noise) + EXACT
        moved = as_floats({**self.present, **fit.changed})
        back = all(abs(e) <= band for row in self.missed for e in row.errors(moved))
        return back and self._inside(fit)

    def _inside(self, fit: Fit) -> bool:
        return fit.inside >= INSIDE

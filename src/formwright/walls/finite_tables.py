"""Listed programs as the tables that the program over both sides reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from formwright.ir.rewrite import free_names
from formwright.walls.areas import Formula, formula, opened
from formwright.walls.finite import FiniteInner
from formwright.walls.joint import Design, JointWork


@dataclass(frozen=True, slots=True)
class FiniteTables:
    """Of ``inner``: each scenario is one work, each program of it a design."""

    inner: FiniteInner

    @property
    def works(self) -> Sequence[JointWork]:
        return tuple(JointWork(s.name, {s.name: 1 / s.reference}) for s in self.inner.scenarios)

    @property
    def weights(self) -> Mapping[str, Fraction] | None:
        if self.inner.objective == "worst":
            return None
        return {s.name: s.weight for s in self.inner.scenarios}

    @property
    def reads(self) -> tuple[str, ...]:
        names = frozenset().union(
            *(free_names(p.cost) for s in self.inner.scenarios for p in s.programs)
        )
        _, places = opened(self.inner.library, names)
        return tuple(self.inner.library.fields[i].name for i in places)

    def designs(self, work: str, places: Mapping[str, int]) -> Sequence[Design]:
        scenario = next(s for s in self.inner.scenarios if s.name == work)
        return tuple(
            Design(
                self._at(formula(self.inner.library, p.cost), places),
                {wall: Fraction(need) for wall, need in p.needs.items()},
            )
            for p in scenario.programs
        )

    def _at(self, cost: Formula, places: Mapping[str, int]) -> Fraction:
        fields = self.inner.library.fields
        return Fraction(cost.at(tuple(places[fields[i].name] for i in cost.reads)))

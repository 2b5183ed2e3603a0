"""What a run has asked of the inner problem, and what can be told from it without asking again.

Two facts hold where walls are capacities: a program that is legal on a chip is legal on one
with more of them, and costs the same there. So an answer bounds the objective of every smaller
chip from below, and a design that was seen once may be used wherever it fits.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import Any, Protocol, runtime_checkable

from formwright.chip.library import Box, Library, Point
from formwright.walls.core import NONE, Answer, ScenarioAnswer, Walls
from formwright.walls.counting import Counted
from formwright.walls.moves import Height, height


@dataclass(frozen=True, slots=True)
class Query:
    """One distinct inner problem and the objective that it has."""

    point: Point
    removed: Walls
    objective: Fraction | None

    def as_json(self) -> list[Any]:
        value = None if self.objective is None else str(self.objective)
        return [list(self.point), sorted(self.removed), value]


def query_from_json(data: list[Any]) -> Query:
    point, removed, value = data
    return Query(tuple(point), frozenset(removed), None if value is None else Fraction(value))


@dataclass(frozen=True, slots=True)
class Seen:
    """Designs of one scenario and the least places that admit them, other fields as ``setting``."""

    setting: Point
    answer: ScenarioAnswer
    places: Point


@runtime_checkable
class Reading(Protocol):
    """An inner problem that knows which fields its costs and the needs of its designs read."""

    @property
    def reads(self) -> tuple[str, ...]: ...


class Asked:
    """The inner problem of one run, with its distinct queries in order.

    ``capacities``: places of the decision fields whose walls leave costs and needs alone, which
    what the costs read decides, and the role that the library gives where that is not known.
    ``others``: those of the other decision fields that change anything.
    """

    def __init__(self, counted: Counted, known: Iterable[Query] = ()) -> None:
        self.counted = counted
        self.library: Library = counted.library
        open_ = [(i, f) for i, f in enumerate(self.library.fields) if len(f.menu) > 1]
        read = {f.name for _, f in open_ if f.role in ("throughput", "both")}
        if isinstance(counted.inner, Reading):
            read = set(counted.inner.reads)
        walls = set(counted.walls)
        self.capacities = tuple(i for i, f in open_ if f.name in walls - read)
        self.others = tuple(i for i, f in open_ if f.name in read)
        self.queries: list[Query] = []
        self._asked: dict[tuple[Point, Walls], Answer] = {}
        self._seen: dict[tuple[Point, str], list[Seen]] = {}
        for query in known:
            self.solve(query.point, query.removed)

    def solve(self, point: Point, removed: Walls = NONE) -> Answer:
        """The inner problem; a query that was asked before costs nothing."""
        key = (point, removed)
        if key not in self._asked:
            answer = self.counted.solve(point, removed)
            self._asked[key] = answer
            self.queries.append(Query(point, removed, answer.objective))
            if all(self.library.index(name) in self.capacities for name in removed):
                for scenario in answer.scenarios:
                    self._remember(point, scenario)
        return self._asked[key]

    def imply(self, point: Point, answer: Answer) -> None:
        """``answer`` is that of the chip at ``point``, as follows from others: it costs nothing."""
        self._asked.setdefault((point, NONE), answer)

    def known(self, point: Point) -> Answer | None:
        """The answer at ``point`` if it was asked for."""
        return self._asked.get((point, NONE))

    def keep(self, point: Point, software: Answer) -> Answer:
        return self.counted.keep(point, software)

    def lower(self, box: Box) -> float:
        return self.counted.lower(box)

    def floor(self, point: Point) -> Height:
        """The objective at ``point`` is no smaller: the largest answer that says so."""
        return max(
            (height(q.objective) for q in self.queries if self._covers(q, point)), default=-inf
        )

    def options(self, point: Point, scenario: str) -> list[Seen]:
        """What was seen for ``scenario`` at the other fields' places in ``point``."""
        return self._seen.get((self.setting(point), scenario), [])

    def setting(self, point: Point) -> Point:
        """The places of all fields that are no capacities."""
        return tuple(p for i, p in enumerate(point) if i not in self.capacities)

    def places(self, point: Point, scenario: ScenarioAnswer) -> Point:
        """The least place of each capacity that admits the designs, 0 where none is needed.

        From the slack that each design leaves at ``point``; past the menu where it does not fit.
        """
        fields = self.library.fields
        found = [0] * len(fields)
        for i in self.capacities:
            name, menu = fields[i].name, fields[i].menu
            slack = min((c.slack[name] for c in scenario.chosen if name in c.slack), default=None)
            if slack is not None:
                need = menu[point[i]] - slack
                found[i] = next((n for n, v in enumerate(menu) if v >= need), len(menu))
        return tuple(found)

    def _covers(self, query: Query, point: Point) -> bool:
        """Every program of ``point`` is one of the query's, at the same cost."""
        fields = self.library.fields
        return all(
            (fields[i].name in query.removed or asked >= place)
            if i in self.capacities
            else asked == place
            for i, (asked, place) in enumerate(zip(query.point, point, strict=True))
        )

    def _remember(self, point: Point, scenario: ScenarioAnswer) -> None:
        new = Seen(self.setting(point), scenario, self.places(point, scenario))
        if any(new.places[i] > len(f.menu) - 1 for i, f in enumerate(self.library.fields)):
            return
        seen = self._seen.setdefault((new.setting, scenario.name), [])
        if not any(_dominates(old, new) for old in seen):
            seen[:] = [old for old in seen if not _dominates(new, old)] + [new]


def _dominates(one: Seen, other: Seen) -> bool:
    a, b = one.answer, other.answer
    return (
        a.ratio <= b.ratio
        and (a.energy is None or b.energy is None or a.energy <= b.energy)
        and all(x <= y for x, y in zip(one.places, other.places, strict=True))
    )


def swapped(answer: Answer, scenarios: Iterable[ScenarioAnswer]) -> Answer:
    """``answer`` with other designs for its scenarios; its objective is not computed anew."""
    return replace(answer, scenarios=tuple(scenarios))

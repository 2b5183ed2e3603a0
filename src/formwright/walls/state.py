"""Where a relaxation stands: plain data that goes to a journal and comes back."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from formwright.chip.library import Point
from formwright.walls.asked import Query, query_from_json

Variant = Literal["paper", "coupled", "sets"]
"""``paper``: Algorithm 1 as written. ``coupled``: it screens pairs too. ``sets``: sets of walls by
opening and closing, fields that change costs, exchanges."""


@dataclass(frozen=True, slots=True)
class Options:
    """``budget`` in mm2, ``None`` without a ceiling. ``near``: gains this close (relative) are
    ties. ``reach``: of the moves whose gain is at least this part of the largest, ``sets`` takes
    the one with the largest drop (1: the largest gain). ``effort``: inner solves that one search
    for a purchase spends past the first that it finds. ``patience``: what the searches spend that
    show that nothing is left, by default 16 for each decision field. ``throughput``: price fields
    that change costs, by default in ``sets`` only, as the paper leaves them out. ``exchange``:
    move area where none is left to buy with (``sets`` only).
    """

    variant: Variant = "sets"
    look_ahead: int = 2
    rounds: int = 20
    budget: Fraction | None = None
    near: Fraction = Fraction(1, 100)
    reach: Fraction = Fraction(1, 4)
    effort: int = 2
    patience: int | None = None
    throughput: bool | None = None
    exchange: bool = True

    @property
    def prices_throughput(self) -> bool:
        return self.variant == "sets" if self.throughput is None else self.throughput


@dataclass(frozen=True, slots=True)
class Spent:
    """Of one model or several; ``seconds`` of the inner problem."""

    solves: int = 0
    evaluations: int = 0
    relaxations: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            self.solves + other.solves,
            self.evaluations + other.evaluations,
            self.relaxations + other.relaxations,
            self.seconds + other.seconds,
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "solves": self.solves,
            "evaluations": self.evaluations,
            "relaxations": self.relaxations,
            "seconds": self.seconds,
        }


@dataclass(frozen=True, slots=True)
class Visited:
    """A chip that the run stood on, what it had spent by then, under which model (from 0)."""

    point: Point
    objective: Fraction | None
    area: Fraction
    spent: Spent
    model: int

    def as_json(self) -> dict[str, Any]:
        return {
            "point": list(self.point),
            "objective": None if self.objective is None else str(self.objective),
            "area": str(self.area),
            "spent": self.spent.as_json(),
            "model": self.model,
        }


@dataclass(frozen=True, slots=True)
class State:
    """``round``: pricing rounds begun. ``done``: why it ended, empty while it goes on.

    ``queries`` are the distinct inner problems of the present model, ``spent`` what they and the
    rest took; ``earlier`` is what models before the present one took. ``rounds`` and
    ``purchases`` are records for readers; ``repairs`` what the caller said of each repair, in
    order: from them it rebuilds the inner problem when it resumes. ``software``: the designs at
    ``point``, as scenario, work, template and assignment.
    """

    point: Point
    objective: Fraction | None
    round: int
    model: int
    done: str
    queries: tuple[Query, ...]
    spent: Spent
    earlier: Spent
    visited: tuple[Visited, ...]
    rounds: tuple[Mapping[str, Any], ...] = ()
    purchases: tuple[Mapping[str, Any], ...] = ()
    repairs: tuple[Mapping[str, Any], ...] = ()
    software: tuple[tuple[str, str, str, Mapping[str, int]], ...] = ()
    certificate: Mapping[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "point": list(self.point),
            "objective": None if self.objective is None else str(self.objective),
            "round": self.round,
            "model": self.model,
            "done": self.done,
            "queries": [q.as_json() for q in self.queries],
            "spent": self.spent.as_json(),
            "earlier": self.earlier.as_json(),
            "visited": [v.as_json() for v in self.visited],
            "rounds": [dict(r) for r in self.rounds],
            "purchases": [dict(p) for p in self.purchases],
            "repairs": [dict(r) for r in self.repairs],
            "software": [[*names, dict(values)] for *names, values in self.software],
            "certificate": None if self.certificate is None else dict(self.certificate),
        }


def state_from_json(data: Mapping[str, Any]) -> State:
    """What :meth:`State.as_json` wrote."""
    return State(
        point=tuple(data["point"]),
        objective=_number(data["objective"]),
        round=data["round"],
        model=data["model"],
        done=data["done"],
        queries=tuple(query_from_json(q) for q in data["queries"]),
        spent=Spent(**data["spent"]),
        earlier=Spent(**data["earlier"]),
        visited=tuple(
            Visited(
                tuple(v["point"]),
                _number(v["objective"]),
                Fraction(v["area"]),
                Spent(**v["spent"]),
                v["model"],
            )
            for v in data["visited"]
        ),
        rounds=tuple(data["rounds"]),
        purchases=tuple(data["purchases"]),
        repairs=tuple(data["repairs"]),
        software=tuple((s, w, t, dict(values)) for s, w, t, values in data["software"]),
        certificate=data["certificate"],
    )


def _number(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)

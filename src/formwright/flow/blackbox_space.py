"""The space that all searchers of a task share: every design that the constraints allow."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

import numpy as np

from formwright.base.diagnostics import fail
from formwright.ir.expr import Scalar
from formwright.ir.template import Template
from formwright.ir.vectorise import Evaluator
from formwright.milp.enumerate import mask_of
from formwright.milp.exact import search_of
from formwright.milp.grid import blocks, known
from formwright.milp.problem import build

LARGEST = 2_000_000
"""Points of the menus that a study lists; larger spaces are refused, not sampled."""

Assignment = dict[str, int]
Point = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Space:
    """The designs of ``template`` at ``parameters`` that its constraints allow, in order of the
    menus. A point has a value for each decision, in the template's order."""

    template: Template
    parameters: Mapping[str, Scalar]
    points: tuple[Point, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(d.name for d in self.template.decisions)

    @property
    def menus(self) -> dict[str, tuple[int, ...]]:
        return {d.name: d.menu for d in self.template.decisions}

    def design(self, point: Point) -> Assignment:
        return dict(zip(self.names, point, strict=True))

    def point(self, assignment: Mapping[str, int]) -> Point:
        return tuple(assignment[name] for name in self.names)

    def drawn(self, draws: Random) -> Assignment:
        """A design, each as likely."""
        return self.design(draws.choice(self.points))


def space_of(template: Template, parameters: Mapping[str, Scalar]) -> Space:
    """Every design of ``template`` at ``parameters``, found by trying each against C.

    Raises:
        InputError: a fault of the parameters, or menus with more than :data:`LARGEST` points.
    """
    problem = build(template, parameters)
    if problem.points > LARGEST:
        raise fail(
            f"the menus of {template.name} have {problem.points} points, too many to list",
            template.span,
            f"a study lists up to {LARGEST}",
        )
    task = search_of(problem)
    points: list[Point] = []
    for block in blocks(task.axes):
        mask = mask_of(task, Evaluator(known(task.constants, task.tables, block)))
        flat = np.flatnonzero(np.broadcast_to(np.asarray(mask), block.shape))
        columns = block.coordinates(flat)
        rows = zip(*(columns[name].tolist() for name in problem.names), strict=True)
        points += rows if problem.names else [()] * len(flat)
    return Space(template, parameters, tuple(points))

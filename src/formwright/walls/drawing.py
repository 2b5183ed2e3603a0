"""Designs drawn at random among those that a template admits on a chip."""

from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np

from formwright.ir.evaluate import EvaluationError
from formwright.ir.expr import Scalar
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.ir.vectorise import Evaluator, Given, Truths
from formwright.milp.check import check
from formwright.milp.problem import holds, scope_conditions

BATCH = 4096
BATCHES = 8
"""Menu points that are tried for one chip before there seem to be no more designs."""


def draw(
    template: Template,
    parameters: Mapping[str, Scalar],
    count: int,
    random: Random,
) -> list[dict[str, int]]:
    """Up to ``count`` distinct designs that keep every constraint and the scope.

    ``parameters``: extents and ``chip.NAME``. Fewer come back where the draw finds no more.
    """
    if count < 1 or not all(holds(c, parameters) for _, c in scope_conditions(template)):
        return []
    plain = inlined(template)
    found: dict[tuple[int, ...], dict[str, int]] = {}
    generator = np.random.default_rng(random.getrandbits(64))
    names = [d.name for d in plain.decisions]
    for _ in range(BATCHES):
        columns = {d.name: generator.choice(np.array(d.menu), BATCH) for d in plain.decisions}
        for row in np.flatnonzero(_admitted(plain, parameters, columns)):
            design = {n: int(columns[n][row]) for n in names}
            key = tuple(design.values())
            if key not in found and _checked(template, parameters, design):
                found[key] = design
            if len(found) == count:
                return list(found.values())
    return list(found.values())


def _checked(
    template: Template, parameters: Mapping[str, Scalar], design: Mapping[str, int]
) -> bool:
    try:
        return check(template, parameters, design).ok
    except EvaluationError:
        return False


def _admitted(
    template: Template, parameters: Mapping[str, Scalar], columns: Mapping[str, Any]
) -> Any:
    """Where all constraints hold; a constraint without a value holds nowhere."""
    arrays: dict[str, Given] = {**parameters, **columns}
    evaluator = Evaluator(arrays)
    mask = np.ones(BATCH, dtype=bool)
    for constraint in template.constraints:
        result = evaluator.run(constraint.condition)
        if not isinstance(result, Truths):
            raise TypeError(f"{constraint.name} is no condition")
        mask &= np.broadcast_to(np.asarray(result.value), (BATCH,))
        mask &= ~np.broadcast_to(np.asarray(result.bad), (BATCH,))
    return mask

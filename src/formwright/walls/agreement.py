"""How well the cost model ranks designs, by an evaluator, before anything is bought.

Designs of one kernel are ranked against one another (kernels differ by size, which every model
knows). Half of them are the best of some chip, which the search will compare; half are drawn at
random among all that a chip admits.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import log
from random import Random
from statistics import mean
from typing import Any

from formwright.chip.library import Library, Point
from formwright.measure.statistics import rank_correlation
from formwright.simulate.evaluator import Evaluator
from formwright.walls.core import Inner
from formwright.walls.drawing import draw
from formwright.walls.observed import (
    Compared,
    Design,
    Observer,
    Seen,
    as_floats,
    compare,
    designs_of,
    kernels,
    present_of,
)
from formwright.walls.problem import CodesignProblem, Kernel

EACH = 8
"""Designs of one kernel, at least: fewer say little about a ranking."""
TRIES = 200
"""Chips drawn until one keeps the rules and the budget."""


def rank_agreement(
    problem: CodesignProblem, inner: Inner, evaluator: Evaluator, samples: int, seed: int
) -> dict[str, Any]:
    """Spearman's coefficient of predicted and evaluated times over ``samples`` drawn designs.

    ``rank``: all kernels, each design's time over the mean of its kernel's; ``by_template``: the
    same for the designs of one template; ``worst``: the kernel with the least coefficient.
    """
    observer = Observer(problem, evaluator)
    seen = sampled(problem, inner, observer, samples, seed)
    return {
        "evaluator": evaluator.name,
        "evidence": evaluator.evidence,
        "seed": seed,
        **ranked(problem, seen),
    }


def sampled(
    problem: CodesignProblem, inner: Inner | None, observer: Observer, samples: int, seed: int
) -> list[Seen]:
    """The evaluated sample: a function of problem, inner problem, ``samples`` and ``seed``.

    Without an inner problem all designs are drawn, and the cost model takes no part in it.
    """
    random = Random(seed)
    chosen = _kernels(problem, samples)
    each = -(-samples // max(1, len(chosen)))
    points = _chips(problem, max(2, each // 2), random)
    best = [] if inner is None else [d for p in points for d in designs_of(p, inner.solve(p))]
    found: dict[tuple[object, ...], Design] = {}
    for kernel in chosen:
        mine = [d for d in best if d.kernel == kernel.name][: each // 2]
        mine += _drawn(problem, kernel, points, each - len(mine), random)
        found.update({d.key: d for d in mine})
    return [observer.see(d) for d in found.values()]


def ranked(problem: CodesignProblem, seen: Sequence[Seen]) -> dict[str, Any]:
    """The coefficients of :func:`rank_agreement` for what was seen, as plain JSON."""
    rows = [
        (template, row) for template, mine in sorted(compare(problem, seen).items()) for row in mine
    ]
    predicted = _relative([(r, _predicted(problem, t, r)) for t, r in rows])
    evaluated = _relative([(r, float(r.seen.evaluation.time)) for _, r in rows])
    names = sorted({t for t, _ in rows})
    works = sorted({r.seen.design.kernel for _, r in rows})

    def over(places: Sequence[int]) -> float | None:
        return rank_correlation([predicted[n] for n in places], [evaluated[n] for n in places])

    by_kernel = {
        w: over([n for n, (_, r) in enumerate(rows) if r.seen.design.kernel == w]) for w in works
    }
    known = {w: value for w, value in by_kernel.items() if value is not None}
    worst = min(known, key=lambda w: known[w]) if known else None
    by_template = {t: [n for n, (name, _) in enumerate(rows) if name == t] for t in names}
    return {
        "rank": over(range(len(rows))),
        "samples": len(rows),
        "kernels": len(works),
        "by_template": {
            t: {"rank": over(places), "samples": len(places)} for t, places in by_template.items()
        },
        "worst": None if worst is None else {"kernel": worst, "rank": known[worst]},
    }


def _predicted(problem: CodesignProblem, template: str, row: Compared) -> float:
    return row.time(as_floats(present_of(problem, template)))


def _relative(times: Sequence[tuple[Compared, float]]) -> list[float]:
    """Logarithms of times, less the mean of their kernel's."""
    logs: dict[str, list[float]] = {}
    for row, time in times:
        logs.setdefault(row.seen.design.kernel, []).append(log(time))
    means = {name: mean(values) for name, values in logs.items()}
    return [log(time) - means[row.seen.design.kernel] for row, time in times]


def _kernels(problem: CodesignProblem, samples: int) -> list[Kernel]:
    """As many kernels as leave :data:`EACH` designs for each, spread over the scenarios."""
    every = list(kernels(problem).values())
    count = max(1, min(len(every), samples // EACH))
    return [every[n * len(every) // count] for n in range(count)]


def _chips(problem: CodesignProblem, count: int, random: Random) -> list[Point]:
    """The start, the reference where it is within the budget, and chips drawn within it."""
    library, budget = problem.library, problem.budget_area
    found = [p for p in (library.start, problem.reference) if within(library, p, budget)]
    for _ in range(TRIES):
        if len(found) >= count:
            break
        point = tuple(random.randrange(len(f.menu)) for f in library.fields)
        if within(library, point, budget):
            found.append(point)
    return list(dict.fromkeys(found))[:count]


def within(library: Library, point: Point, budget: Fraction | None) -> bool:
    """The chip keeps every rule and the budget, where there is one."""
    return not library.broken(point) and (budget is None or library.area(point) <= budget)


def _drawn(
    problem: CodesignProblem, kernel: Kernel, points: Sequence[Point], count: int, random: Random
) -> list[Design]:
    found: list[Design] = []
    turns = [(p, t) for p in points for t in kernel.templates]
    for n, (point, template) in enumerate(turns):
        wanted = -(-(count - len(found)) // (len(turns) - n))
        parameters = {**problem.library.values(point), **kernel.extents}
        designs = draw(template, parameters, wanted, random)
        found += [Design(kernel.name, template.name, d, point) for d in designs]
    return found[:count]

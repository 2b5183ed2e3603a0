"""Which of the best designs to build: good by the model, and different from each other.

The model ranks; it is not exact. Building its first few designs mostly builds one design with
neighbouring cache blocks. Among designs close to the optimum the ones that differ in most
decisions tell more, both about the machine and about the model.
"""

from collections.abc import Sequence
from fractions import Fraction

Design = tuple[dict[str, int], Fraction]


def choose(best: Sequence[Design], count: int, within: Fraction) -> list[Design]:
    """``count`` designs of ``best`` (ascending objective), none worse than ``within`` x the best.

    The optimum comes first; each next one has the largest least distance (number of decisions
    that differ) to those chosen, ties to the better objective.
    """
    if not best:
        return []
    limit = best[0][1] * within
    pool = [d for d in best if d[1] <= limit]
    chosen = [pool.pop(0)]
    while pool and len(chosen) < count:
        distances = [min(_distance(d[0], c[0]) for c in chosen) for d in pool]
        chosen.append(pool.pop(distances.index(max(distances))))
    return chosen


def _distance(a: dict[str, int], b: dict[str, int]) -> int:
    return sum(a[name] != b[name] for name in a)

"""How known templates stand to one another, by what their facts say of time."""

import re
from collections.abc import Iterable, Sequence

from formwright.agent.protocol import Known

_FACT = re.compile(
    r"^(?P<quantity>\S+) (?P<value>[-+.\deE]+)\b.*? (?:measured|simulated) for (?P<work>.*) on "
)


def best_first(known: Sequence[Known]) -> tuple[Known, ...]:
    """Those with figures by how far they are from the best on the same work, then the others.

    A fact counts if it holds (``reopened`` ones do not) and was measured or simulated. Ratios of
    several works are averaged; ties keep the order given.
    """
    figures = [_figures(k.facts) for k in known]
    best = dict[tuple[str, str], float]()
    for told in figures:
        for work, value in told.items():
            best[work] = min(value, best.get(work, value))
    ranked = list[tuple[float, int]]()
    for place, told in enumerate(figures):
        ratios = [value / best[work] for work, value in told.items()]
        ranked.append((sum(ratios) / len(ratios) if ratios else float("inf"), place))
    return tuple(known[place] for _, place in sorted(ranked))


def _figures(facts: Iterable[str]) -> dict[tuple[str, str], float]:
    """The least figure by quantity and work."""
    found = dict[tuple[str, str], float]()
    for fact in facts:
        match = _FACT.match(fact)
        if match is None or "; reopened" in fact:
            continue
        try:
            value = float(match["value"])
        except ValueError:
            continue
        key = (match["quantity"], match["work"])
        if value > 0:
            found[key] = min(value, found.get(key, value))
    return found

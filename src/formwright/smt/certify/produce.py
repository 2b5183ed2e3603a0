"""From a query to its certificate: a core, then a tree over the core, then the checker."""

from formwright.proof.certificate import Certificate, Contradiction
from formwright.proof.checker import RejectedError, check, facts_of, instance
from formwright.smt.certify.collect import Asked
from formwright.smt.certify.core import Cores
from formwright.smt.certify.tree import Limits, NotFoundError, Search


def certificate(asked: Asked, limits: Limits) -> Certificate | str:
    """A certificate that the checker accepts, or why there is none."""
    found: Certificate | str = asked.point or _contradiction(asked, limits)
    if isinstance(found, str):
        return found
    try:
        check(asked.query, found)
    except RejectedError as error:
        return f"the checker says: {error}"
    return found


def _contradiction(asked: Asked, limits: Limits) -> Contradiction | str:
    query = asked.query
    sorts = dict(query.sorts)
    stated = [a.statement for a in query.assertions]
    cores = Cores(sorts, limits.call_milliseconds)
    for theorems in ((), asked.laws, (*asked.laws, *asked.more)):
        statements = [*stated, *map(instance, theorems)]
        groups = [facts_of(s, sorts) for s in statements]
        if cores.core(dict(enumerate(f for group in groups for f in group)), 0) is None:
            continue
        try:
            needed, tree = Search(sorts, limits, cores).tree(groups)
        except NotFoundError as error:
            return f"no certificate found: {error}"
        uses = tuple(n for n in needed if n < len(stated))
        laws = tuple(theorems[n - len(stated)] for n in needed if n >= len(stated))
        return Contradiction(uses, laws, tree)
    return "no core: not linear with the laws that are known"

"""The expressions of systems and steps, in the order of the text."""

from collections.abc import Iterable, Iterator

from formwright.ir.expr import Expr
from formwright.ir.rewrite import free_names
from formwright.ir.system import Action, Clause, Index, Match, RankTerm, Refinement, System


def of_step(step: Refinement) -> Iterator[Expr]:
    """Every expression of both systems and of what relates them."""
    for system in (step.fine, step.coarse):
        yield from of_system(system)
    for match in step.matches:
        yield from of_match(match)
    for invariant in step.relation:
        yield from _of_clause(invariant.clause)
    for total in step.totals:
        yield from (*of_index(total.over), total.value)
    yield from _of_rank(step.rank)


def of_system(system: System) -> Iterator[Expr]:
    for token in system.tokens:
        yield from of_index(token)
    for var in system.state:
        yield from () if var.index is None else of_index(var.index)
        yield from (e for e in (var.lo, var.hi, var.initial) if e is not None)
    for action in system.actions:
        yield from of_action(action)
    yield from (system.final, *system.result)
    yield from _of_rank(system.rank)


def of_action(action: Action) -> Iterator[Expr]:
    for param in action.params:
        yield from of_index(param)
    for guard in action.guards:
        yield from _of_clause(guard)
    for update in action.updates:
        yield from () if update.index is None else (update.index,)
        yield update.value
    yield from action.emits


def of_match(match: Match) -> Iterator[Expr]:
    yield from () if match.when is None else (match.when,)
    for call in match.calls:
        yield from call.args


def of_index(index: Index) -> Iterator[Expr]:
    yield from (e for e in (index.lo, index.hi) if e is not None)


def names_in(expressions: Iterable[Expr]) -> frozenset[str]:
    return frozenset[str]().union(*(free_names(e) for e in expressions))


def _of_rank(terms: tuple[RankTerm, ...]) -> Iterator[Expr]:
    for term in terms:
        for index in term.over:
            yield from of_index(index)
        yield term.value


def _of_clause(clause: Clause) -> Iterator[Expr]:
    for index in clause.forall:
        yield from of_index(index)
    yield clause.condition

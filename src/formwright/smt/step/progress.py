"""S20: a related state that is not final has an action that can act.

The negation says that no action can act for any values of its parameters. It is used for some
values, which is sound as in :mod:`formwright.smt.step.known`: picks (tokens in a range of which
nothing is picked), and what a guard equates. That a guard ``forall v in R: c(v)`` fails means
that some ``v`` in ``R`` has no ``c``: a new name for each guard and each choice of values.

A pick is a new name too. ``least``: where its range has a member, one member has the least
value (a finite set of integers has a least one), and a total of those values is no
smaller than that many times the least. ``positive``: where a total of those
values is at least 1, one of them is at least 1, since all are natural.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from formwright.ir.expr import ONE, Arith, Compare, Expr, Logic, Var
from formwright.ir.rewrite import free_names, substitute
from formwright.ir.system import Action, Clause, Index, Pick, Refinement
from formwright.smt.encode import UnderivableError, number, truth
from formwright.smt.goals import Goal, Query
from formwright.smt.step.known import Case, Pool, Universal
from formwright.smt.step.setting import Setting
from formwright.smt.step.state import Names, inside, key_of
from formwright.smt.step.stating import goal
from formwright.smt.terms import ONE as ONE_POLY
from formwright.smt.terms import ZERO, Formula, conj, disj, implies, le, negated, symbol

CHOICES = 64
"""The most values of its parameters that one action is tried for."""


def progress_goals(setting: Setting) -> Iterator[Goal]:
    """One goal: no related state is stuck."""
    fine = setting.refinement.fine
    claim = f"{fine.name} is stuck before its end"
    yield goal("progress", fine.name, claim, lambda: [_stuck(setting)], fine.span, 4)


def _stuck(setting: Setting) -> Query:
    case, names = setting.case(), setting.names()
    picks: Pool = {}
    tokens: Pool = {}
    for key, value in case.tokens:
        tokens.setdefault(key, {})[value] = None
    for pick in setting.refinement.picks:
        names = _picked(pick, setting.refinement, case, names)
        picks.setdefault(key_of(pick.over), {})[names[pick.name]] = None
    terms = {**tokens, **picks}
    fine = setting.refinement.fine
    idle = [negated(truth(fine.final, setting.names(), setting.atoms))]
    for action in fine.actions:
        choices = islice(_choices(action.params, action, terms, names), CHOICES)
        for place, chosen in enumerate(choices):
            idle.append(_idle(action, case, chosen, f"{action.name}@@{place}"))
    return case.query(conj(idle))


def _picked(pick: Pick, refinement: Refinement, case: Case, names: Names) -> Names:
    atoms, value = case.cells.atoms, symbol(f"{pick.name}@@pick")
    own = names.binding({pick.name: value})
    member = inside(pick.over, value, names)
    there = substitute(pick.value, {pick.over.name: Var(pick.name)})
    match pick.kind:
        case "least":
            if pick.over.lo is None or pick.over.hi is None:
                raise UnderivableError("a least value over every integer", pick.span)
            some = Compare("<", pick.over.lo, pick.over.hi)
            case.facts.append(implies(truth(some, names, atoms), member))
            other = replace(pick.over, name=f"{pick.name}'")
            theirs = substitute(pick.value, {pick.over.name: Var(other.name)})
            least = Logic("=>", some, Compare("<=", there, theirs))
            case.known.append(Universal((other,), least, own))
            total = _total(pick, refinement)
            if total is not None:
                size = Arith("-", pick.over.hi, pick.over.lo)
                least_of_all = Compare(">=", Var(total), Arith("*", size, there))
                case.facts.append(truth(Logic("=>", some, least_of_all), own, atoms))
        case "positive":
            total = _total(pick, refinement)
            if total is None:
                raise UnderivableError(f"no total of what {pick.name} is picked by", pick.span)
            some = Compare(">=", Var(total), ONE)
            positive = le(ONE_POLY, number(there, own, atoms))
            case.facts.append(implies(truth(some, names, atoms), conj((member, positive))))
    case.term(pick.over, value, pick.name)
    return own


def _total(pick: Pick, refinement: Refinement) -> str | None:
    """The total of the values that one is picked of."""
    for total in refinement.totals:
        same = substitute(total.value, {total.over.name: Var(pick.over.name)})
        if key_of(total.over) == key_of(pick.over) and same == pick.value:
            return total.name
    return None


def _choices(params: Sequence[Index], action: Action, terms: Pool, names: Names) -> Iterator[Names]:
    """``names`` with values for ``params``, one after another: ``terms`` of their ranges, what
    guards equate, and where there is nothing of these the least value, or 0."""
    if not params:
        yield names
        return
    first, rest, atoms = params[0], params[1:], names.cells.atoms
    later = frozenset(p.name for p in params)
    values = dict(terms.get(key_of(first), {}))
    for expr in _equated(first.name, action):
        # A parameter is an integer: with 2*v = y an odd y leaves none.
        if not free_names(expr) & later and atoms.is_integer(value := number(expr, names, atoms)):
            values[value] = None
    if not values:
        values[ZERO if first.lo is None else number(first.lo, names, atoms)] = None
    for value in values:
        yield from _choices(rest, action, terms, names.binding({first.name: value}))


def _equated(name: str, action: Action) -> Iterator[Expr]:
    """What the guards say that a parameter is."""
    for guard in action.guards:
        if not guard.forall:
            yield from _equal(name, guard.condition)


def _equal(name: str, condition: Expr) -> Iterator[Expr]:
    match condition:
        case Logic("and", a, b):
            yield from _equal(name, a)
            yield from _equal(name, b)
        case Compare("=", Var(left), other) if left == name:
            yield other
        case Compare("=", other, Var(right)) if right == name:
            yield other


def _idle(action: Action, case: Case, names: Names, tag: str) -> Formula:
    """``action`` can't act for the values in ``names``."""
    reasons = [negated(inside(p, names[p.name], names)) for p in action.params]
    for place, guard in enumerate(action.guards):
        reasons.append(_fails(guard, case, names, f"{tag}@{place}"))
    return disj(reasons)


def _fails(guard: Clause, case: Case, names: Names, tag: str) -> Formula:
    members: list[Formula] = []
    for index in guard.forall:
        value = symbol(f"{index.name}@{tag}")
        members.append(inside(index, value, names))
        case.pool.setdefault(key_of(index), {})[value] = None
        names = names.binding({index.name: value})
    return conj((*members, negated(truth(guard.condition, names, case.cells.atoms))))

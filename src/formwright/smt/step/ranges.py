"""S15 but for what actions keep: cells in range, divisors from 1 on."""

from collections.abc import Iterator, Sequence

from formwright.ir.expr import Expr
from formwright.ir.system import Action, Index
from formwright.smt.encode import number
from formwright.smt.goals import Goal, Query
from formwright.smt.step.firing import assume
from formwright.smt.step.known import Case
from formwright.smt.step.partial import missing
from formwright.smt.step.setting import Setting
from formwright.smt.step.state import COARSE, Names, inside
from formwright.smt.step.stating import goal, unless_plain
from formwright.smt.terms import negated


def range_goals(setting: Setting) -> Iterator[Goal]:
    """S15 but for what actions keep: cells in range, divisors from 1 on."""
    refinement = setting.refinement
    for action in refinement.fine.actions:

        def reads(action: Action = action) -> Sequence[Query]:
            return list(_action_reads(setting, action))

        claim = f"{action.name} reads or changes what does not exist"
        yield goal("range", f"cells of {action.name}", claim, reads, action.span)
    claim = "a cell or a divisor of the relation or of the ends is outside its range"
    yield goal("range", "cells of the relation", claim, lambda: list(_state_reads(setting)))


def _action_reads(setting: Setting, action: Action) -> Iterator[Query]:
    base = setting.tokens(setting.related)
    names = base.arbitrary(action.params, setting.names())
    yield from _guarded_reads(base, action, names)
    for step, case in setting.stepping(action):
        for match in setting.refinement.matches:
            if match.action == action.name:
                exprs = [*([] if match.when is None else [match.when])]
                exprs += [a for c in match.calls for a in c.args]
                yield from _missing(case, exprs, step.fine.before)
        for firing in step.coarse:
            yield from _guarded_reads(case, firing.action, firing.before)


def _guarded_reads(base: Case, action: Action, names: Names) -> Iterator[Query]:
    """Guards one after another, then updates and what is emitted; ``base`` learns the guards."""
    for guard in action.guards:
        case = base.copy()
        inner = case.arbitrary(guard.forall, names)
        yield from _missing(case, [guard.condition], inner)
        assume(guard, base, names)
    for update in action.updates:
        case, inner = base.copy(), names
        variable = _index_of(names, update.name)
        if update.each is not None and variable is not None:
            index = Index(update.each, variable.lo, variable.hi)
            inner = case.arbitrary((index,), names)
        yield from _missing(case, [update.value], inner)
        if update.index is not None and variable is not None:
            yield from _missing(case, [update.index], inner)
            place = number(update.index, inner, names.cells.atoms)
            yield from unless_plain(case.copy(), negated(inside(variable, place, names)))
    yield from _missing(base, action.emits, names)


def _index_of(names: Names, name: str) -> Index | None:
    return names.cells.variables[names.prefix + name].index


def _missing(case: Case, exprs: Sequence[Expr], names: Names) -> Iterator[Query]:
    for wrong in missing(exprs, names):
        yield case.copy().query(wrong)


def _state_reads(setting: Setting) -> Iterator[Query]:
    """The relation, the ends, ranks, totals and picks, in related states."""
    refinement, names = setting.refinement, setting.names()
    ends = ((refinement.fine, ""), (refinement.coarse, COARSE))
    for system, prefix in ends:
        exprs = [system.final, *system.result]
        yield from _missing(setting.case(), exprs, setting.names(prefix=prefix))
    terms = [(i.clause.forall, i.clause.condition) for i in refinement.relation]
    terms += [(t.over, t.value) for t in refinement.rank]
    terms += [((t.over,), t.value) for t in refinement.totals]
    terms += [((p.over,), p.value) for p in refinement.picks]
    for forall, expr in terms:
        case = setting.case()
        inner = case.arbitrary(forall, names)
        yield from _missing(case, [expr], inner)

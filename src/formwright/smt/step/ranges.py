"""S15 but for what actions keep: cells in range, divisors from 1 on."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace

from formwright.ir.expr import Cell, Expr
from formwright.ir.system import Action, Index
from formwright.smt.encode import truth
from formwright.smt.goals import Goal, Query
from formwright.smt.step.firing import assume, matches_of
from formwright.smt.step.known import Case
from formwright.smt.step.partial import needs
from formwright.smt.step.setting import Setting
from formwright.smt.step.state import Names, inside
from formwright.smt.step.stating import goal
from formwright.smt.terms import FALSE, Formula, negated, parts

Seen = set[tuple[Formula, ...]]
"""What was asked, with what was known of new names: they are called alike in every case."""


def range_goals(setting: Setting) -> Iterator[Goal]:
    """S15 but for what actions keep: cells in range, divisors from 1 on."""
    refinement = setting.refinement
    for action in refinement.fine.actions:

        def reads(action: Action = action) -> Sequence[Query]:
            return list(_action_reads(setting, action))

        claim = f"{action.name} reads or changes what does not exist"
        yield goal("range", f"cells of {action.name}", claim, reads, action.span)
    claim = "a divisor of an initial value or of a range is below 1"
    yield goal("range", "cells of the start", claim, lambda: list(_start_reads(setting)))
    claim = "a cell or a divisor of the relation or of the ends is outside its range"
    yield goal("range", "cells of the relation", claim, lambda: list(_state_reads(setting)))


def _action_reads(setting: Setting, action: Action) -> Iterator[Query]:
    base = setting.case()
    names = yield from _bound(base, action.params, setting.names(), set())
    yield from _guarded(base, action, names)
    matches = matches_of(setting.refinement, action)
    lines, before = setting.acting(action).case.copy(), setting.acting(action).firing.before
    for match in matches:
        if match.when is not None:
            yield from _missing(lines, [match.when], before, set())
            lines.facts.append(negated(truth(match.when, before, setting.atoms)))
    for place, (step, case) in enumerate(setting.stepping(action)):
        calls = matches[place].calls if place < len(matches) else ()
        yield from _missing(case, [a for c in calls for a in c.args], before, set())
        for firing in step.coarse:
            yield from _missing(case, _ends(firing.action.params), firing.before, set())
            yield from _guarded(case, firing.action, firing.before)


def _guarded(base: Case, action: Action, names: Names) -> Iterator[Query]:
    """Guards one after another, then updates and what is emitted; ``base`` learns the guards.

    What was shown once need not be again: the facts only grow.
    """
    seen: Seen = set()
    for guard in action.guards:
        case = base.copy()
        inner = yield from _bound(case, guard.forall, names, seen)
        new = case.facts[len(base.facts) :]
        yield from _missing(case, [guard.condition], inner, seen, new)
        assume(guard, base, names)
    for update in action.updates:
        case, inner = base.copy(), names
        index = names.cells.variables[names.prefix + update.name].index
        if update.each is not None and index is not None:
            inner = case.arbitrary((replace(index, name=update.each),), names)
        exprs = [update.value]
        if update.index is not None:
            exprs.append(Cell(update.name, (update.index,)))
        new = case.facts[len(base.facts) :]
        yield from _missing(case, exprs, inner, seen, new)
    yield from _missing(base, action.emits, names, seen)


def _missing(
    case: Case, exprs: Sequence[Expr], names: Names, seen: Seen, new: Sequence[Formula] = ()
) -> Iterator[Query]:
    """``new`` are the facts of ``case`` about its new names."""
    known = {p for f in (*case.rigid, *case.facts) for p in parts(f)}
    for need in needs(exprs, names):
        wrong = need.wrong(known)
        if wrong != FALSE and (*new, wrong) not in seen:
            seen.add((*new, wrong))
            yield case.copy().query(wrong)


def _ends(indices: Iterable[Index]) -> list[Expr]:
    return [e for i in indices for e in (i.lo, i.hi) if e is not None]


def _bound(
    case: Case, indices: Sequence[Index], names: Names, seen: Seen
) -> Generator[Query, None, Names]:
    """The ends of ranges, each with the names before it; returns ``names`` with all of them."""
    before = len(case.facts)
    for index in indices:
        yield from _missing(case, _ends((index,)), names, seen, case.facts[before:])
        names = case.arbitrary((index,), names)
    return names


def _start_reads(setting: Setting) -> Iterator[Query]:
    """Ranges of tokens and of variables, and initial values."""
    case, names, seen = Case(setting.cells, []), setting.names(), Seen()
    for token in setting.all_tokens():
        yield from _missing(case, _ends((token,)), names, seen)
        case.facts.append(inside(token, names[token.name], names))
    for system, prefix in setting.systems:
        own = setting.names(prefix=prefix)
        bounds = [e for v in system.state for e in (v.lo, v.hi) if e is not None]
        plain = [v.initial for v in system.state if v.index is None]
        arrays = [(v.index, v.initial) for v in system.state if v.index is not None]
        yield from _missing(case, [*bounds, *_ends(i for i, _ in arrays), *plain], own, seen)
        for index, initial in arrays:
            inner = case.copy()
            there = inner.arbitrary((index,), own)
            yield from _missing(inner, [initial], there, seen, inner.facts)


def _state_reads(setting: Setting) -> Iterator[Query]:
    """The relation, the ends, ranks, totals and picks, in related states."""
    refinement, names = setting.refinement, setting.names()
    for system, prefix in setting.systems:
        exprs = [system.final, *system.result]
        yield from _missing(setting.case(), exprs, setting.names(prefix=prefix), set())
    terms = [(i.clause.forall, i.clause.condition) for i in refinement.relation]
    terms += [(t.over, t.value) for t in refinement.rank]
    terms += [((t.over,), t.value) for t in refinement.totals]
    terms += [((p.over,), p.value) for p in refinement.picks]
    seen: Seen = set()
    for forall, expr in terms:
        case = setting.case()
        inner = yield from _bound(case, forall, names, seen)
        yield from _missing(case, [expr], inner, seen, case.facts)

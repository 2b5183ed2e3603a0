"""S15 to S18: matching, the relation and the ranges kept, what the world sees."""

from collections.abc import Iterator, Sequence

from formwright.ir.expr import Var
from formwright.ir.system import Action, Total
from formwright.smt.encode import number, truth
from formwright.smt.goals import Goal, Query
from formwright.smt.step.firing import Step
from formwright.smt.step.known import Case, ranged, refuted_clause
from formwright.smt.step.setting import Kept, Setting
from formwright.smt.step.state import Names
from formwright.smt.step.stating import goal, unless_plain
from formwright.smt.step.sums import Sum, Touched, at_own_index, read_of
from formwright.smt.step.totals import whole_sum
from formwright.smt.terms import TRUE, ZERO, Formula, Poly, conj, disj, eq, lt, negated


def matching_goals(setting: Setting) -> Iterator[Goal]:
    """S16: arguments in range and guards of the coarse actions, one after another."""
    for action in setting.refinement.fine.actions:
        if not any(m.action == action.name and m.calls for m in setting.refinement.matches):
            continue

        def build(action: Action = action) -> Sequence[Query]:
            return [q for step, case in setting.stepping(action) for q in _matched(case, step)]

        claim = f"a coarse action of {action.name} can't act"
        yield goal("matching", action.name, claim, build, action.span)


def _matched(case: Case, step: Step) -> Iterator[Query]:
    for firing, ranges in zip(step.coarse, step.ranges, strict=True):
        yield from unless_plain(case.copy(), negated(conj(ranges)))
        for guard in firing.action.guards:
            inner = case.copy()
            wrong = refuted_clause(inner, guard.forall, guard.condition, firing.before)
            yield from unless_plain(inner, wrong)


def kept_goals(setting: Setting) -> Iterator[Goal]:
    """S17, and the ranges of S15: one goal for each fine action and invariant."""
    for action in setting.refinement.fine.actions:
        for kept in setting.kept:

            def build(action: Action = action, kept: Kept = kept) -> Sequence[Query]:
                return list(_kept(setting, action, kept))

            claim = f"clause {kept.name} is not kept by {action.name}"
            name = f"{kept.name} after {action.name}"
            yield goal(kept.condition, name, claim, build, kept.span, 3)
        for total in setting.refinement.totals:

            def sums(action: Action = action, total: Total = total) -> Sequence[Query]:
                return list(_kept_total(setting, action, total))

            claim = f"the total {total.name} is not kept by {action.name}"
            name = f"total {total.name} after {action.name}"
            yield goal("relation", name, claim, sums, total.span, 3)
    for total in setting.refinement.totals:

        def natural(total: Total = total) -> Sequence[Query]:
            # What follows from totals follows because their parts are natural: it is no help.
            case = setting.tokens(setting.clauses)
            names = case.arbitrary((total.over,), setting.names())
            value = number(total.value, names, setting.atoms)
            return unless_plain(case, lt(value, ZERO))

        claim = f"a part of the total {total.name} is below 0"
        yield goal("relation", f"total {total.name} is natural", claim, natural, total.span)


def _kept(setting: Setting, action: Action, kept: Kept) -> Iterator[Query]:
    """A clause about one index, read there only, is looked at where the step changes cells.

    One that reads nothing which changed is the same formula before and after.
    """
    before = setting.names(prefix=kept.prefix)
    for step, case in setting.stepping(action):
        # Between the calls of a match the coarse system stays in its ranges too.
        between = [f.after for f in step.coarse[:-1]] if kept.prefix else []
        for view in (*between, step.after):
            after = setting.names(view, kept.prefix)
            yield from _holds_after(case.copy(), kept, before, after, step.touched)


def _holds_after(
    case: Case, kept: Kept, before: Names, after: Names, touched: Touched
) -> Iterator[Query]:
    atoms = before.cells.atoms
    places = _places(kept, before, touched)
    if places is not None:
        for place in places:
            ranges, inner = ranged(kept.forall, [place], after)
            wrong = negated(truth(kept.holds, inner, atoms))
            yield from unless_plain(case.copy(), conj([*ranges, wrong]))
        return
    inner = case.arbitrary(kept.forall, after)
    values = [inner[i.name] for i in kept.forall]
    if _at(kept, values, before) != _at(kept, values, after):
        yield from unless_plain(case, negated(truth(kept.holds, inner, atoms)))


def _places(kept: Kept, before: Names, touched: Touched) -> list[Poly] | None:
    """The only indices at which a clause can change, if it is about one index alone."""
    if len(kept.forall) != 1:
        return None
    index = kept.forall[0]
    bounds = [e for e in (index.lo, index.hi) if e is not None]
    if any(read_of(e, before, touched) for e in bounds):
        return None
    if not at_own_index(kept.holds, index.name, before, touched):
        return None
    read = read_of(kept.holds, before, touched)
    return list({p: None for n in read for p in touched[n] if p is not None})


def _at(kept: Kept, values: Sequence[Poly], names: Names) -> tuple[list[Formula], Formula]:
    ranges, inner = ranged(kept.forall, values, names)
    return ranges, truth(kept.holds, inner, names.cells.atoms)


def _kept_total(setting: Setting, action: Action, total: Total) -> Iterator[Query]:
    for step, case in setting.stepping(action):
        before, after = setting.names(), setting.names(step.after)
        change = Sum((total.over,), total.value, before, after, step.touched)
        if change.changes_all:
            yield from whole_sum(total, after, case)
            continue
        inner = case.copy()
        other = change.elsewhere(inner, may_shrink=False)
        if other is not None:
            yield from unless_plain(inner, other)
        name = Var(total.name)
        moved = number(name, after, setting.atoms) - number(name, before, setting.atoms)
        wrong = negated(eq(moved, change.change))
        yield from unless_plain(case, wrong)


def visible_goals(setting: Setting) -> Iterator[Goal]:
    """S18: a fine action emits what its coarse actions emit, in this order."""
    for action in setting.refinement.fine.actions:

        def build(action: Action = action) -> Sequence[Query]:
            return [q for step, case in setting.stepping(action) for q in _visible(case, step)]

        claim = f"{action.name} emits what the coarse system does not"
        yield goal("visible", action.name, claim, build, action.span, 1)


def _visible(case: Case, step: Step) -> list[Query]:
    """Different numbers of values are wrong wherever the step can happen at all."""
    fine = step.fine.emits
    coarse = [e for firing in step.coarse for e in firing.emits]
    if len(fine) != len(coarse):
        return [case.query(TRUE)]
    wrong = disj(negated(eq(a, b)) for a, b in zip(fine, coarse, strict=True))
    return unless_plain(case, wrong)

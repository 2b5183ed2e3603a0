"""An action that happens: its parameters, what its guards say, the state that it leaves."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from formwright.ir.system import Action, Call, Clause, Match, Refinement, System, Update
from formwright.smt.encode import UnderivableError, number, truth
from formwright.smt.step.known import Case, Universal
from formwright.smt.step.state import (
    COARSE,
    After,
    Before,
    Change,
    Names,
    View,
    inside,
    integral,
)
from formwright.smt.terms import Formula, Poly, negated


@dataclass(frozen=True, slots=True)
class Firing:
    """``before`` reads the state before with the parameters bound; ``after`` is what follows."""

    action: Action
    before: Names
    after: View

    @property
    def emits(self) -> list[Poly]:
        return [number(e, self.before, self.before.cells.atoms) for e in self.action.emits]

    def touched(self, prefix: str = "") -> dict[str, Poly | None]:
        """The variables that change, each with the one index, or ``None`` for all of it."""
        atoms = self.before.cells.atoms
        return {
            prefix + u.name: None if u.index is None else number(u.index, self.before, atoms)
            for u in self.action.updates
        }


@dataclass(frozen=True, slots=True)
class Step:
    """A fine action with its coarse ones, under the line of ``match`` that ``facts`` choose.

    ``ranges`` are the conditions on the arguments of each coarse action.
    """

    fine: Firing
    facts: tuple[Formula, ...]
    coarse: tuple[Firing, ...]
    ranges: tuple[tuple[Formula, ...], ...]
    after: View

    @property
    def firings(self) -> Iterator[tuple[str, Firing]]:
        yield "", self.fine
        for firing in self.coarse:
            yield COARSE, firing

    @property
    def touched(self) -> dict[str, list[Poly | None]]:
        """Every change of the step, by the full name of the variable."""
        found: dict[str, list[Poly | None]] = {}
        for prefix, firing in self.firings:
            for name, index in firing.touched(prefix).items():
                found.setdefault(name, []).append(index)
        return found


def fired(action: Action, before: Names, base: View) -> Firing:
    """``action`` in the state of ``before``; ``base`` is what its updates leave alone."""
    atoms = before.cells.atoms
    changes: dict[str, Change] = {}
    for update in action.updates:
        if before.prefix + update.name in changes:
            raise UnderivableError(f"{action.name} changes {update.name} twice", update.span)
        changes[before.prefix + update.name] = _change(update, before)
    return Firing(action, before, After(base, changes, atoms))


def _change(update: Update, before: Names) -> Change:
    atoms = before.cells.atoms
    variable = before.cells.variables.get(before.prefix + update.name)
    what = f"the new value of {update.name}"
    if variable is None or (variable.index is None) != (
        update.index is None and update.each is None
    ):
        raise UnderivableError(f"{update.name} is changed as what it is not", update.span)
    if update.each is not None:
        each = update.each

        def at(index: Poly) -> Poly:
            value = number(update.value, before.binding({each: index}), atoms)
            return integral(value, atoms, update.span, what)

        return Change(None, at)
    value = integral(number(update.value, before, atoms), atoms, update.span, what)
    place = None if update.index is None else number(update.index, before, atoms)
    if place is not None:
        integral(place, atoms, update.span, f"an index of {update.name}")
    return Change(place, lambda _: value)


def acting(action: Action, case: Case, prefix: str = "") -> Firing:
    """``action`` with new parameters; that its guards hold becomes known to ``case``."""
    before = Names(Before(case.cells), case.cells, case.cells.tokens_of(prefix), prefix)
    names = case.arbitrary(action.params, before)
    for guard in action.guards:
        assume(guard, case, names)
    return fired(action, names, before.view)


def assume(clause: Clause, case: Case, names: Names) -> None:
    if clause.forall:
        case.known.append(Universal(clause.forall, clause.condition, names))
    else:
        case.facts.append(truth(clause.condition, names, case.cells.atoms))


def steps(refinement: Refinement, firing: Firing) -> Iterator[Step]:
    """One step for each line of ``match``, and one without coarse actions if none holds."""
    atoms = firing.before.cells.atoms
    facts: tuple[Formula, ...] = ()
    for match in matches_of(refinement, firing.action):
        chosen = facts
        if match.when is not None:
            condition = truth(match.when, firing.before, atoms)
            chosen = (*facts, condition)
            facts = (*facts, negated(condition))
        yield _step(refinement.coarse, firing, chosen, match.calls)
        if match.when is None:
            return
    yield _step(refinement.coarse, firing, facts, ())


def matches_of(refinement: Refinement, action: Action) -> list[Match]:
    """The lines of ``match`` about ``action``, in their order."""
    return [m for m in refinement.matches if m.action == action.name]


def _step(
    coarse: System, firing: Firing, facts: tuple[Formula, ...], calls: Sequence[Call]
) -> Step:
    cells = firing.before.cells
    view: View = firing.after
    made: list[Firing] = []
    ranges: list[tuple[Formula, ...]] = []
    for call in calls:
        action = next((a for a in coarse.actions if a.name == call.action), None)
        if action is None or len(action.params) != len(call.args):
            raise UnderivableError(f"no coarse action {call.action} takes this", call.span)
        # The coarse part of ``view`` alone is read: its names all have the prefix.
        names = Names(view, cells, cells.tokens_of(COARSE), COARSE)
        inner: list[Formula] = []
        for param, arg in zip(action.params, call.args, strict=True):
            value = integral(
                number(arg, firing.before, cells.atoms), cells.atoms, arg.span, "an argument"
            )
            inner.append(inside(param, value, names))
            names = names.binding({param.name: value})
        ranges.append(tuple(inner))
        made.append(fired(action, names, view))
        view = made[-1].after
    return Step(firing, facts, tuple(made), tuple(ranges), view)

"""The fine system with the coarse one driven by the matches, one step at a time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from formwright.ir.evaluate import EvaluationError
from formwright.ir.expr import Scalar
from formwright.ir.system import Action, Refinement
from formwright.replay.system.arguments import Arguments
from formwright.replay.system.blank import Arg, Blank, BlankError
from formwright.replay.system.closures import compiled, condition, integer
from formwright.replay.system.findings import CoarseCannot, EmitsDiffer, Finding
from formwright.replay.system.grounded import (
    GROUND_LIMIT,
    Ground,
    argument_choices,
    called,
    entry,
)
from formwright.replay.system.layout import (
    Layout,
    TooLargeError,
    initial,
    layout,
    out_of_range,
    outside,
)
from formwright.replay.system.made import State
from formwright.replay.system.shared import Shared

Calls = tuple[tuple[str, tuple[Arg, ...]], ...]
Followed = tuple[State, tuple[Scalar, ...]]


class FaultError(Exception):
    """An index or a variable left its range; the text says which."""


@dataclass(frozen=True, slots=True)
class Step:
    """``inner``: no coarse action; ``mismatch``: why the coarse system is lost from here on."""

    state: State
    inner: bool
    mismatch: Finding | None


class Machine:
    """One step of a template at given parameters and tokens.

    ``exhaustive`` is false once some ``x any`` was tried for a sample of values only.
    Raises :class:`TooLargeError` and, where a bound has no value, :class:`EvaluationError`.
    """

    def __init__(
        self,
        step: Refinement,
        constants: Mapping[str, Scalar],
        tokens: dict[str, Scalar],
        shared: Shared | None = None,
    ) -> None:
        self.step = step
        self._shared = Shared(step) if shared is None else shared
        self.where: Layout = layout(step, constants, tokens)
        self.exhaustive = True
        self.sampled = False
        self._moving = tuple(b for b in self.where.bounds.values() if not b.fixed)
        self._ranges = {
            b.slot: (int(b.lo.value), int(b.hi.value))
            for b in self.where.bounds.values()
            if b.fixed
        }
        self._coarse_actions = {a.name: a for a in step.coarse.actions}
        self._coarse_ground: dict[tuple[str, tuple[Arg, ...]], Ground] = {}
        self._followed: dict[tuple[State, Calls], Followed | CoarseCannot] = {}
        self._lazy: list[tuple[Action, Arguments]] = []
        self._blank: list[tuple[int | None, Scalar | None, Ground, Arguments]] = []
        """With blanks, and a place with the value that it must have, as in the tables."""
        self._idle: list[Ground] = []
        self._always: list[Ground] = []
        self._tables: list[tuple[int, dict[Scalar, list[Ground]]]] = []
        self._prepare()
        self.final = condition(step.fine.final, self.where.fine).fn
        self.result = tuple(compiled(e, self.where.fine).fn for e in step.fine.result)
        self.coarse_final = condition(step.coarse.final, self.where.coarse).fn
        self.coarse_result = tuple(compiled(e, self.where.coarse).fn for e in step.coarse.result)

    def start(self) -> State:
        """The initial state; raises :class:`FaultError` where it is none."""
        try:
            state = initial(self.step, self.where)
            wrong = out_of_range(self.where, state)
        except EvaluationError as error:
            raise FaultError(error.message) from error
        if wrong:
            raise FaultError(wrong)
        return state

    def acting(self, state: State) -> Iterator[Ground]:
        """What can act here; raises :class:`FaultError` where a guard has no value.

        ``sampled`` is true afterwards if other values of some ``x any`` may act too.
        """
        one: Ground | None = None
        self.sampled = False
        try:
            for several in self._groups(state):
                for one in several:
                    for test in one.tests:
                        if not test(state):
                            break
                    else:
                        yield one
            for slot, value, one, arguments in self._blank:
                if slot is None or state[slot] == value:
                    yield from self._lazily(one, arguments, state)
            for action, arguments in self._lazy:
                self.sampled = self.sampled or not arguments.exact
                for args in arguments.choices(state):
                    one = self._shared.fine(action, args, self.where)
                    yield from self._lazily(one, arguments, state)
        except EvaluationError as error:
            where = "" if one is None else f", in a guard of {one.text}"
            raise FaultError(error.message + where) from error

    def _groups(self, state: State) -> list[list[Ground]]:
        """All that may act, as far as one test can tell."""
        groups = [table[state[slot]] for slot, table in self._tables if state[slot] in table]
        groups.append(self._always)
        return groups

    def all_grounds(self) -> list[Ground]:
        """Every action with fixed choices of parameters, those that can never act included."""
        held = [g for _, table in self._tables for several in table.values() for g in several]
        return [*held, *self._always, *(one for _, _, one, _ in self._blank), *self._idle]

    def after(self, state: State, one: Ground) -> Step:
        """The state after ``one``, which can act in ``state``; raises :class:`FaultError`."""
        try:
            return self._outcome(state, one)
        except BlankError:
            raise
        except EvaluationError as error:
            raise FaultError(f"{error.message}, in {one.text}") from error

    def _outcome(self, state: State, one: Ground) -> Step:
        changed = list(state)
        ranges = self._ranges
        for slot, value_of in one.writes:
            value = value_of(state)
            changed[slot] = value
            if slot in ranges:
                lo, hi = ranges[slot]
                if not lo <= value < hi:
                    name = self.where.cells[slot]
                    raise FaultError(f"{name} = {value} is outside {lo} .. {hi}")
        for slot_of, value_of in one.scattered:
            slot, value = slot_of(state), value_of(state)
            changed[slot] = value
            if slot in ranges and not ranges[slot][0] <= value < ranges[slot][1]:
                raise FaultError(outside(self.where, tuple(changed), self.where.bounds[slot]))
        inner, mismatch = self._follow(state, one, changed)
        after = tuple(changed)
        if one.is_blank and any(isinstance(v, Blank) for v in after):
            raise BlankError
        for bound in self._moving:
            wrong = outside(self.where, after, bound)
            if wrong and bound.slot < self.where.split:
                raise FaultError(wrong)
        return Step(after, inner, mismatch)

    def calls(self, state: State, one: Ground) -> list[tuple[str, tuple[Arg, ...]]]:
        """The coarse actions that the first match that holds names, with their arguments."""
        for match in one.matches:
            if match.when is None or match.when(state):
                return [(c.action, tuple(a(state) for a in c.args)) for c in match.calls]
        return []

    def _prepare(self) -> None:
        fine, names = self.step.fine, self.where.fine
        tables: dict[int, dict[Scalar, list[Ground]]] = {}
        count = 0
        for action in fine.actions:
            arguments = Arguments(action, names)
            self.exhaustive = self.exhaustive and arguments.exact
            choices = argument_choices(action.params, names, arguments.blank)
            if choices is None:
                self._lazy.append((action, arguments))
                continue
            for args in choices:
                count += 1
                if count > GROUND_LIMIT:
                    raise TooLargeError(f"more than {GROUND_LIMIT} actions with their parameters")
                one = self._shared.fine(action, args, self.where)
                test = entry(one.guards)
                if one.impossible:
                    self._idle.append(one)
                elif one.is_blank:
                    self._blank.append((*(test or (None, None)), one, arguments))
                elif test is None:
                    self._always.append(one)
                else:
                    tables.setdefault(test[0], {}).setdefault(test[1], []).append(one)
        self._tables += tables.items()

    def _lazily(self, one: Ground, arguments: Arguments, state: State) -> list[Ground]:
        """``one`` if it can act; where something depends on its blanks, a sample for them."""
        try:
            if not one.passes(state):
                return []
            if one.is_blank:
                self.after(state, one)
        except BlankError:
            self.exhaustive = False
            self.sampled = True
            filled = (
                self._shared.fine(one.action, args, self.where)
                for args in arguments.filled(one.args, state)
            )
            return [f for f in filled if f.passes(state)]
        except FaultError:
            pass
        return [one]

    def _follow(
        self, state: State, one: Ground, changed: list[Scalar]
    ) -> tuple[bool, Finding | None]:
        """Drives the coarse cells of ``changed``; gives whether the step is internal work."""
        if not state[-1]:
            return one.silent, None
        try:
            calls = self.calls(state, one)
        except BlankError:
            raise
        except EvaluationError as error:
            changed[-1] = False
            return False, CoarseCannot(f"what matches {one.text}", error.message)
        if not calls and not one.emits:
            return True, None
        seen = tuple(e(state) for e in one.emits)
        followed = self._followed_by(state, tuple(calls))
        if isinstance(followed, CoarseCannot):
            changed[-1] = False
            return False, followed
        cells, shown = followed
        changed[self.where.split : -1] = cells
        if seen == shown:
            return not calls, None
        changed[-1] = False
        return not calls, EmitsDiffer(seen, shown)

    def _followed_by(self, state: State, calls: Calls) -> Followed | CoarseCannot:
        """The coarse cells after ``calls`` and what they emit; the same calls from the same
        cells are done once."""
        split = self.where.split
        key = (state[split:-1], calls)
        known = self._followed.get(key)
        if known is None:
            known = self._followed[key] = self._driven(state, calls)
        return known

    def _driven(self, state: State, calls: Calls) -> Followed | CoarseCannot:
        shown: list[Scalar] = []
        for name, args in calls:
            try:
                state = self._coarse_step(state, name, args, shown)
            except BlankError:
                raise
            except (EvaluationError, FaultError) as error:
                return CoarseCannot(called(name, args), str(error))
        return state[self.where.split : -1], tuple(shown)

    def _coarse_step(
        self, state: State, name: str, args: tuple[Arg, ...], shown: list[Scalar]
    ) -> State:
        one = self._coarse(name, args, state)
        for guard in one.guards:
            if not guard.made.fn(state):
                raise FaultError(f"its guard {guard.says()} is false")
        shown += [e(state) for e in one.emits]
        changed = list(state)
        touched = [slot for slot, _ in one.writes]
        for slot, value_of in one.writes:
            changed[slot] = value_of(state)
        for slot_of, value_of in one.scattered:
            touched.append(slot_of(state))
            changed[touched[-1]] = value_of(state)
        after = tuple(changed)
        bounds = [self.where.bounds[slot] for slot in touched if slot in self.where.bounds]
        for bound in (*bounds, *self._moving):
            wrong = outside(self.where, after, bound) if bound.slot >= self.where.split else ""
            if wrong:
                raise FaultError(wrong)
        return after

    def _coarse(self, name: str, args: tuple[Arg, ...], state: State) -> Ground:
        known = self._coarse_ground.get((name, args))
        if known is not None:
            return known
        action = self._coarse_actions[name]
        bound = {p.name: a for p, a in zip(action.params, args, strict=True)}
        names = self.where.coarse.bind(bound)
        is_fixed = True
        for param, value in zip(action.params, args, strict=True):
            if param.lo is None or param.hi is None:
                continue
            lo, hi = integer(param.lo, names), integer(param.hi, names)
            is_fixed = is_fixed and lo.fixed and hi.fixed
            if not lo.fn(state) <= value < hi.fn(state):
                within = f"{lo.fn(state)} .. {hi.fn(state)}"
                raise FaultError(f"{param.name} = {value} is outside {within}")
        one = self._shared.coarse(action, args, self.where)
        if is_fixed:
            self._coarse_ground[name, args] = one
        return one

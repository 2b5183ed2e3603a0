"""Actions with their parameters chosen: guards, changes and matches as closures."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

from formwright.ir.expr import Expr, Logic, Scalar, num
from formwright.ir.rewrite import substitute
from formwright.ir.show import show_expr
from formwright.ir.system import Action, Clause, Index, Match
from formwright.replay.system.blank import BLANK, Arg, Blank
from formwright.replay.system.closures import Names, compiled, condition, integer
from formwright.replay.system.findings import scalar
from formwright.replay.system.layout import TooLargeError
from formwright.replay.system.made import Compiled, Fn, State

GROUND_LIMIT = 20_000
"""Actions with chosen parameters; more is no small instance."""

FORALL_LIMIT = 4_096
"""Instances of one ``forall``."""


@dataclass(frozen=True, slots=True)
class Guard:
    """One conjunct. ``says``: its text with the chosen values, made when it is needed."""

    made: Compiled
    says: Callable[[], str]


@dataclass(frozen=True, slots=True)
class GroundCall:
    """A coarse action by name; its arguments are read in the state before."""

    action: str
    args: tuple[Fn, ...]


@dataclass(frozen=True, slots=True)
class GroundMatch:
    """``when`` is ``None`` if it always counts."""

    when: Fn | None
    calls: tuple[GroundCall, ...]


@dataclass(frozen=True, slots=True)
class Ground:
    """``writes`` change fixed places, ``scattered`` places that the state names.

    ``silent``: no match has a coarse action.
    """

    action: Action
    args: tuple[Arg, ...]
    guards: tuple[Guard, ...]
    tests: tuple[Fn, ...]
    writes: tuple[tuple[int, Fn], ...]
    scattered: tuple[tuple[Fn, Fn], ...]
    emits: tuple[Fn, ...]
    matches: tuple[GroundMatch, ...]
    silent: bool
    impossible: bool
    """Some guard is false in every state, and none before it can fail."""
    is_blank: bool
    """Some parameter is left blank."""

    def passes(self, state: State) -> bool:
        """Every guard holds."""
        return all(test(state) for test in self.tests)

    @property
    def text(self) -> str:
        """``load(0, 2)``."""
        return called(self.action.name, self.args)


def called(name: str, args: tuple[Scalar | Blank, ...]) -> str:
    return f"{name}({', '.join(scalar(a) for a in args)})" if args else name


def ground(
    action: Action, args: tuple[Arg, ...], names: Names, matches: tuple[tuple[Match, ...], Names]
) -> Ground:
    """``matches``: those of the action, with the names that they see (none for a coarse one)."""
    bound = {p.name: a for p, a in zip(action.params, args, strict=True)}
    inner = names.bind(bound)
    guards = tuple(g for c in action.guards for g in guarded(c, inner))
    writes, scattered = _changes(action, inner)
    seen = matches[1].bind(bound)
    mine = tuple(_matched(m, seen) for m in matches[0] if m.action == action.name)
    needed = _needed(guards)
    return Ground(
        action,
        args,
        needed,
        tuple(g.made.fn for g in needed),
        writes,
        scattered,
        tuple(compiled(e, inner).fn for e in action.emits),
        mine,
        not any(m.calls for m in mine),
        _impossible(needed),
        any(isinstance(a, Blank) for a in args),
    )


def argument_choices(
    params: tuple[Index, ...], names: Names, blank: frozenset[str]
) -> Iterator[tuple[Arg, ...]] | None:
    """All choices, when they are the same in every state; otherwise ``None``."""
    ranges: list[range | tuple[Blank]] = []
    for param in params:
        if param.name in blank:
            ranges.append((BLANK,))
            continue
        if param.lo is None or param.hi is None:
            return None
        lo, hi = integer(param.lo, names), integer(param.hi, names)
        if not (lo.fixed and hi.fixed):
            return None
        ranges.append(range(int(lo.value), int(hi.value)))
    count = 1
    for one in ranges:
        count *= len(one)
    if count > GROUND_LIMIT:
        raise TooLargeError(f"an action has more than {GROUND_LIMIT} choices of its parameters")
    return product(*ranges)


def guarded(clause: Clause, names: Names) -> list[Guard]:
    """The conjuncts of a clause, every ``forall`` with known bounds spread out."""
    return _spread(clause.forall, clause.condition, names, {})


def _spread(
    indices: tuple[Index, ...], holds: Expr, names: Names, known: dict[str, int]
) -> list[Guard]:
    if not indices:
        return [_guard(part, names) for part in _conjuncts(holds)]
    first, rest = indices[0], indices[1:]
    if first.lo is None or first.hi is None:
        raise TooLargeError(f"{first.name} of a forall is any integer")
    lo, hi = integer(first.lo, names), integer(first.hi, names)
    if lo.fixed and hi.fixed:
        values = range(int(lo.value), int(hi.value))
        if len(values) > FORALL_LIMIT:
            raise TooLargeError(f"a forall over {len(values)} values")
        return [
            g
            for v in values
            for g in _spread(rest, holds, names.bind({first.name: v}), {**known, first.name: v})
        ]
    return [_moving(first, rest, holds, names)]


def _moving(first: Index, rest: tuple[Index, ...], holds: Expr, names: Names) -> Guard:
    """A ``forall`` whose bounds the state gives; its instances are compiled when needed."""
    assert first.lo is not None
    assert first.hi is not None
    lo, hi = integer(first.lo, names).fn, integer(first.hi, names).fn
    bodies: dict[int, list[Guard]] = {}

    def body(value: int) -> list[Guard]:
        if value not in bodies:
            bodies[value] = _spread(rest, holds, names.bind({first.name: value}), {})
        return bodies[value]

    def every(state: State) -> bool:
        return all(g.made.fn(state) for v in range(lo(state), hi(state)) for g in body(v))

    return Guard(Compiled(every, "bool", False), lambda: f"forall {first.name}: {show_expr(holds)}")


def _guard(part: Expr, names: Names) -> Guard:
    return Guard(condition(part, names), lambda: spoken(part, names))


def spoken(expr: Expr, names: Names) -> str:
    """The text of ``expr`` with whole constants in their places: ``loc[0] = 3``."""
    known = {
        n: num(v)
        for n, v in names.constants.items()
        if isinstance(v, int) and not isinstance(v, bool)
    }
    return show_expr(substitute(expr, known))


def _conjuncts(expr: Expr) -> list[Expr]:
    if isinstance(expr, Logic) and expr.op == "and":
        return [*_conjuncts(expr.left), *_conjuncts(expr.right)]
    return [expr]


def _needed(guards: tuple[Guard, ...]) -> tuple[Guard, ...]:
    """Without those that hold everywhere; what follows a false one is never asked."""
    kept: list[Guard] = []
    for guard in guards:
        if guard.made.fixed and guard.made.value is True:
            continue
        kept.append(guard)
        if guard.made.fixed:
            break
    return tuple(kept)


def _impossible(guards: tuple[Guard, ...]) -> bool:
    return bool(guards) and guards[-1].made.fixed and all(g.made.total for g in guards)


def entry(guards: tuple[Guard, ...]) -> tuple[int, Scalar] | None:
    """A place and the value that it must have; no guard before that test can fail."""
    for guard in guards:
        if guard.made.test is not None:
            return guard.made.test
        if not guard.made.total:
            return None
    return None


def _changes(
    action: Action, names: Names
) -> tuple[tuple[tuple[int, Fn], ...], tuple[tuple[Fn, Fn], ...]]:
    writes: list[tuple[int, Fn]] = []
    scattered: list[tuple[Fn, Fn]] = []
    for update in action.updates:
        place = names.variables[update.name]
        compile_as = condition if place.sort == "bool" else integer
        if update.each is not None:
            for number in range(place.size):
                inner = names.bind({update.each: place.lo + number})
                writes.append((place.offset + number, compile_as(update.value, inner).fn))
            continue
        value = compile_as(update.value, names).fn
        if update.index is None:
            writes.append((place.offset, value))
            continue
        at = integer(update.index, names)
        if at.fixed and place.lo <= int(at.value) < place.lo + place.size:
            writes.append((place.slot(int(at.value)), value))
        else:
            scattered.append((_slot_of(place.slot, at.fn), value))
    return tuple(writes), tuple(scattered)


def _slot_of(slot: Callable[[int], int], at: Fn) -> Fn:
    return lambda s: slot(at(s))


def _matched(match: Match, names: Names) -> GroundMatch:
    when = None if match.when is None else condition(match.when, names).fn
    calls = tuple(
        GroundCall(call.action, tuple(integer(a, names).fn for a in call.args))
        for call in match.calls
    )
    return GroundMatch(when, calls)

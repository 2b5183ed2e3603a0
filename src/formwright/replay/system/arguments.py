"""Parameters of an action whose choices depend on the state: moving ranges, and ``x any``."""

from collections.abc import Callable, Iterator
from itertools import product

from formwright.ir.evaluate import EvaluationError
from formwright.ir.expr import Compare, Expr, Logic, Var
from formwright.ir.rewrite import free_names
from formwright.ir.system import Action
from formwright.replay.system import parts
from formwright.replay.system.blank import BLANK, Arg, Blank
from formwright.replay.system.closures import Names, integer
from formwright.replay.system.layout import SMALL
from formwright.replay.system.made import Fn, State

OCCURRING = 6
"""How many of the values of a state are tried for ``x any``, the least first."""

Args = tuple[Arg, ...]
_Values = Callable[[State], tuple[Arg, ...]]


class Arguments:
    """The choices of one action.

    A parameter that a guard equates with an expression (``x = p[w] + 1``) has that value alone;
    any other ``x any`` is left blank first, and tried for a sample of values where something
    depends on it. ``exact``: no parameter has to be sampled from the beginning; ``blank``: the
    names that are left blank.
    """

    def __init__(self, action: Action, names: Names) -> None:
        self._params = action.params
        self._names = names
        self._equal = _equal_sides(action)
        looked_at = parts.names_in(
            (*self._equal.values(), *(e for p in action.params for e in parts.of_index(p)))
        )
        unbound = (p.name for p in action.params if p.lo is None)
        free = frozenset(n for n in unbound if n not in self._equal)
        self.blank = free - looked_at
        self.exact = free == self.blank
        self._values: dict[Args, _Values] = {}

    def choices(self, state: State) -> Iterator[Args]:
        """Every choice to be tried in ``state``, with blanks."""
        return self._from((), state)

    def filled(self, args: Args, state: State) -> Iterator[Args]:
        """``args`` with a sample of values for each blank."""
        sample = self._sample(state)
        return product(*(sample if isinstance(a, Blank) else (a,) for a in args))

    def _from(self, known: Args, state: State) -> Iterator[Args]:
        if len(known) == len(self._params):
            yield known
            return
        if known not in self._values:
            self._values[known] = self._compiled(known)
        for value in self._values[known](state):
            yield from self._from((*known, value), state)

    def _compiled(self, known: Args) -> _Values:
        param = self._params[len(known)]
        bound = {p.name: a for p, a in zip(self._params, known, strict=False)}
        names = self._names.bind(bound)
        if param.name in self.blank:
            return lambda s: (BLANK,)
        if param.name in self._equal:
            return _alone(integer(self._equal[param.name], names).fn)
        if param.lo is None or param.hi is None:
            return self._sample
        lo, hi = integer(param.lo, names).fn, integer(param.hi, names).fn
        return lambda s: tuple(range(lo(s), hi(s)))

    def _sample(self, state: State) -> tuple[int, ...]:
        fixed = sorted({v for v in self._names.constants.values() if type(v) is int})
        here = sorted({v for v in state if type(v) is int})
        return tuple(sorted({*SMALL, *here[:OCCURRING], *fixed[:OCCURRING]}))


def _equal_sides(action: Action) -> dict[str, Expr]:
    """For ``x any``: what a guard equates it with, if only earlier parameters stand there."""
    parameters = {p.name for p in action.params}
    guards = [g.condition for g in action.guards if not g.forall]
    found: dict[str, Expr] = {}
    known: set[str] = set()
    for param in action.params:
        for side in _equated(param.name, guards) if param.lo is None else ():
            if not free_names(side) & (parameters - known):
                found.setdefault(param.name, side)
        known.add(param.name)
    return found


def _alone(value: Fn) -> _Values:
    """Where there is no such value any stands for it: the guards, asked in order, tell whether
    that matters."""

    def only(state: State) -> tuple[int, ...]:
        try:
            return (value(state),)
        except EvaluationError:
            return (0,)

    return only


def _equated(name: str, guards: list[Expr]) -> Iterator[Expr]:
    for guard in guards:
        match guard:
            case Logic("and", left, right):
                yield from _equated(name, [left, right])
            case Compare("=", Var(left), right) if left == name:
                yield right
            case Compare("=", left, Var(right)) if right == name:
                yield left
            case _:
                pass

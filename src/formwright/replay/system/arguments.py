"""Parameters of an action whose choices depend on the state: moving ranges, and ``x any``."""

from collections.abc import Callable, Iterator

from formwright.ir.evaluate import EvaluationError
from formwright.ir.expr import Compare, Expr, Logic, Var
from formwright.ir.rewrite import free_names
from formwright.ir.system import Action, Index
from formwright.replay.system.closures import Names, integer
from formwright.replay.system.layout import SMALL
from formwright.replay.system.made import Fn, State

OCCURRING = 12
"""How many of the values of a state are tried for ``x any``, the least first."""

_Known = tuple[int, ...]
_Values = Callable[[State], tuple[int, ...]]


class Arguments:
    """The choices of one action.

    A parameter that a guard equates with an expression (``x = p[w] + 1``) has that value alone;
    any other ``x any`` is tried for a sample of values, and then ``exact`` is false.
    """

    def __init__(self, action: Action, names: Names) -> None:
        self._params = action.params
        self._names = names
        self._equal: dict[str, Expr] = {}
        parameters = {p.name for p in action.params}
        known: set[str] = set()
        guards = [g.condition for g in action.guards if not g.forall]
        for param in action.params:
            for side in _equated(param.name, guards):
                if not free_names(side) & (parameters - known):
                    self._equal.setdefault(param.name, side)
            known.add(param.name)
        self.exact = all(p.lo is not None or p.name in self._equal for p in action.params)
        self._values: dict[_Known, _Values] = {}

    def choices(self, state: State) -> Iterator[tuple[int, ...]]:
        """Every choice to be tried in ``state``."""
        return self._from((), state)

    def _from(self, known: _Known, state: State) -> Iterator[tuple[int, ...]]:
        if len(known) == len(self._params):
            yield known
            return
        if known not in self._values:
            self._values[known] = self._compiled(known)
        for value in self._values[known](state):
            yield from self._from((*known, value), state)

    def _compiled(self, known: _Known) -> _Values:
        param = self._params[len(known)]
        bound = {p.name: a for p, a in zip(self._params, known, strict=False)}
        names = self._names.bind(bound)
        if param.lo is None or param.hi is None:
            return self._any(param, names)
        lo, hi = integer(param.lo, names).fn, integer(param.hi, names).fn
        return lambda s: tuple(range(lo(s), hi(s)))

    def _any(self, param: Index, names: Names) -> _Values:
        side = self._equal.get(param.name)
        if side is not None:
            return _alone(integer(side, names).fn)
        fixed = sorted({v for v in names.constants.values() if type(v) is int})[:OCCURRING]

        def sample(state: State) -> tuple[int, ...]:
            here = sorted({v for v in state if type(v) is int})
            return tuple(sorted({*SMALL, *here[:OCCURRING], *fixed}))

        return sample


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

"""Actions with their parameters chosen, kept from one choice of tokens to the next.

Most actions name no token: they are compiled once for given parameters.
"""

from formwright.ir.expr import Scalar
from formwright.ir.system import Action, Refinement
from formwright.replay.system import parts
from formwright.replay.system.blank import Arg
from formwright.replay.system.grounded import Ground, ground
from formwright.replay.system.layout import Layout

_Key = tuple[str, str, tuple[Arg, ...], tuple[Scalar, ...]]


class Shared:
    """For one step at one choice of parameters; serves all its tokens."""

    def __init__(self, step: Refinement) -> None:
        self._step = step
        tokens = {t.name for t in (*step.fine.tokens, *step.coarse.tokens)}
        places = parts.names_in(
            e
            for system in (step.fine, step.coarse)
            for var in system.state
            for e in (() if var.index is None else parts.of_index(var.index))
        )
        """Where a token decides how many cells there are, everything moves with it."""
        moved = tokens if tokens & places else set[str]()
        self._tokens: dict[tuple[str, str], tuple[str, ...]] = {}
        for kind, system in (("fine", step.fine), ("coarse", step.coarse)):
            for action in system.actions:
                names = parts.names_in(parts.of_action(action))
                if kind == "fine":
                    mine = [m for m in step.matches if m.action == action.name]
                    names |= parts.names_in(e for m in mine for e in parts.of_match(m))
                used = tuple(sorted(moved or tokens & names))
                self._tokens[kind, action.name] = used
        self._made: dict[_Key, Ground] = {}

    def fine(self, action: Action, args: tuple[Arg, ...], where: Layout) -> Ground:
        """An action of the fine system, with its matches."""
        key = self._key("fine", action, args, where)
        if key not in self._made:
            self._made[key] = ground(action, args, where.fine, (self._step.matches, where.fine))
        return self._made[key]

    def coarse(self, action: Action, args: tuple[Arg, ...], where: Layout) -> Ground:
        """An action of the coarse system, as a match names it."""
        key = self._key("coarse", action, args, where)
        if key not in self._made:
            self._made[key] = ground(action, args, where.coarse, ((), where.coarse))
        return self._made[key]

    def _key(self, kind: str, action: Action, args: tuple[Arg, ...], where: Layout) -> _Key:
        used = self._tokens[kind, action.name]
        return (kind, action.name, args, tuple(where.tokens[n] for n in used))

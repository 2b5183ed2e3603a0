"""Random refinement steps that a file can hold; what they say need not be true."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from hypothesis import strategies as st
from strategies_templates import texts, truths, whole

from formwright.base.source import Source
from formwright.ir.expr import ZERO, Cell, Compare, Expr, Logic, Num, Var
from formwright.ir.rewrite import substitute
from formwright.ir.system import (
    Action,
    Assumption,
    Call,
    Clause,
    Index,
    Invariant,
    Let,
    Match,
    Pick,
    RankTerm,
    Refinement,
    StateVar,
    System,
    Total,
    Update,
)
from formwright.ir.template import Template
from formwright.lang import parse

BASE = """\
template step : top -> bottom

scope
  workload C[M,N] = sum(k < K) A[M,k] * B[k,N]
  extents  M >= 1, N >= 1, K >= 1
  agents   W >= 1
  given    Tk >= 1, share >= 0

decisions
  P in {1, 2}

coarse top
  final true
  result 0

fine bottom
  final true
  result 0
"""
PARAMETERS = ("M", "W", "Tk", "P")
CELL, FLAG = "cell__", "flag__"
"""Names that stand for cells while an expression is drawn."""


@dataclass(frozen=True)
class Visible:
    """Integer names, indexed variables and boolean ones, with ``prefix`` for coarse ones."""

    names: tuple[str, ...]
    indexed: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    def also(self, names: Sequence[str]) -> "Visible":
        return replace(self, names=(*self.names, *names))


def _number(draw: st.DrawFn, visible: Visible, depth: int = 1) -> Expr:
    names = (*visible.names, CELL) if visible.indexed else visible.names
    expr = draw(whole(names, depth))
    if not visible.indexed:
        return expr
    cell = Cell(
        draw(st.sampled_from(visible.indexed)), (draw(whole(visible.names, min(depth, 1))),)
    )
    return substitute(expr, {CELL: cell})


def _truth(draw: st.DrawFn, visible: Visible) -> Expr:
    expr = draw(truths(visible.names, 1))
    if visible.flags and draw(st.booleans()):
        flag = Var(draw(st.sampled_from(visible.flags)))
        op = draw(st.sampled_from(("=", "!=", "and", "or", "=>")))
        if op in ("=", "!="):
            return Compare(op, flag, expr)
        return Logic(op, expr, flag)
    return expr


def _index(draw: st.DrawFn, name: str, visible: Visible) -> Index:
    match draw(st.sampled_from(("any", "to", "between"))):
        case "any":
            return Index(name, None, None)
        case "to":
            return Index(name, ZERO, _number(draw, visible, 0))
        case _:
            return Index(name, _number(draw, visible, 0), _number(draw, visible))


def _over(draw: st.DrawFn, prefix: str, visible: Visible, most: int, least: int = 0) -> list[Index]:
    found: list[Index] = []
    for i in range(draw(st.integers(least, most))):
        found.append(_index(draw, f"{prefix}{i}", visible.also([x.name for x in found])))
    return found


def _clause(draw: st.DrawFn, visible: Visible, least: int = 0) -> Clause:
    over = tuple(_over(draw, "u", visible, 2, least))
    return Clause(over, _truth(draw, visible.also([i.name for i in over])))


def _term(draw: st.DrawFn, visible: Visible) -> RankTerm:
    over = tuple(_over(draw, "v", visible, 2))
    return RankTerm(over, _number(draw, visible.also([i.name for i in over])))


def _state(draw: st.DrawFn, name: str, visible: Visible) -> StateVar:
    index = _index(draw, "x", visible) if draw(st.booleans()) else None
    inside = visible.also(["x"]) if index is not None else visible
    match draw(st.sampled_from(("int", "bool", "range"))):
        case "bool":
            return StateVar(name, index, "bool", None, None, _truth(draw, inside))
        case "int":
            return StateVar(name, index, "int", None, None, _number(draw, inside))
        case _:
            lo, hi = _number(draw, visible), _number(draw, visible, 0)
            return StateVar(name, index, "int", lo, hi, _number(draw, inside))


def _update(draw: st.DrawFn, var: StateVar, visible: Visible) -> Update:
    index: Expr | None = None
    each: str | None = None
    if var.index is not None and draw(st.booleans()):
        each = "y"
    elif var.index is not None:
        index = _number(draw, visible)
    inside = visible if each is None else visible.also([each])
    value = _truth(draw, inside) if var.sort == "bool" else _number(draw, inside)
    return Update(var.name, index, value, each)


def _action(draw: st.DrawFn, name: str, state: Sequence[StateVar], visible: Visible) -> Action:
    params = tuple(_over(draw, "w", visible, 2))
    inside = visible.also([p.name for p in params])
    guards = tuple(_clause(draw, inside) for _ in range(draw(st.integers(0, 3))))
    updates = tuple(_update(draw, v, inside) for v in state if draw(st.booleans()))
    emits = tuple(_number(draw, inside) for _ in range(draw(st.integers(0, 2))))
    return Action(name, params, guards, updates, emits, draw(st.booleans()))


def _visible(
    tokens: Sequence[Index], state: Sequence[StateVar], lets: Sequence[Let], prefix: str = ""
) -> Visible:
    """What expressions of a system see; cells of conditions are left out."""
    plain = [v for v in state if v.index is None]
    return Visible(
        (
            *(t.name for t in tokens),
            *(prefix + v.name for v in plain if v.sort == "int"),
            *(prefix + d.name for d in lets if not d.indices),
        ),
        (
            *(prefix + v.name for v in state if v.index is not None and v.sort == "int"),
            *(prefix + d.name for d in lets if d.indices),
        ),
        tuple(prefix + v.name for v in plain if v.sort == "bool"),
    )


def _system(
    draw: st.DrawFn, name: str, tokens: list[Index], mark: str
) -> tuple[System, Visible, Visible]:
    """A system, what its own expressions see, and what a relation sees of its state."""
    for i in range(draw(st.integers(0, 2))):
        before = Visible((*PARAMETERS, *(t.name for t in tokens)))
        tokens = [*tokens, _index(draw, f"{mark}t{i}", before)]
    outer = Visible((*PARAMETERS, *(t.name for t in tokens)))
    state = [_state(draw, f"s{i}", outer) for i in range(draw(st.integers(1, 4)))]
    lets: list[Let] = []
    for i in range(draw(st.integers(0, 2))):
        seen = _join(outer, _visible((), state, lets))
        indices = ("x",) if draw(st.booleans()) else ()
        lets.append(Let(f"d{i}", indices, _number(draw, seen.also(indices))))
    seen = _join(outer, _visible((), state, lets))
    actions = [_action(draw, f"a{i}", state, seen) for i in range(draw(st.integers(0, 3)))]
    assumed = [Assumption(f"f{i}", draw(texts)) for i in range(draw(st.integers(0, 1)))]
    rank = [_term(draw, seen) for _ in range(draw(st.integers(0, 2)))]
    system = System(
        name,
        tuple(tokens),
        tuple(state),
        tuple(actions),
        _truth(draw, seen),
        (_number(draw, seen),),
        tuple(assumed),
        tuple(rank),
        tuple(lets),
    )
    return system, seen, _visible((), state, lets, "coarse.")


def _join(first: Visible, second: Visible) -> Visible:
    return Visible(
        (*first.names, *second.names),
        (*first.indexed, *second.indexed),
        (*first.flags, *second.flags),
    )


def _match(draw: st.DrawFn, action: Action, coarse: System, visible: Visible) -> Match:
    inside = visible.also([p.name for p in action.params])
    calls: list[Call] = []
    if coarse.actions:
        for wanted in draw(st.lists(st.sampled_from(coarse.actions), max_size=2)):
            calls.append(Call(wanted.name, tuple(_number(draw, inside) for _ in wanted.params)))
    return Match(action.name, _truth(draw, inside), tuple(calls))


@st.composite
def steps(draw: st.DrawFn) -> Template:
    """A template with a step; both systems share a token."""
    shared = [Index("t", ZERO, Num(Fraction(draw(st.integers(1, 9)))))]
    coarse, _, above = _system(draw, "top", shared, "c")
    fine, seen, _ = _system(draw, "bottom", shared, "f")
    seen = seen.also([t.name for t in coarse.tokens if t.name != "t"])
    both = _join(seen, above)
    counted = [v.name for v in fine.state if v.sort == "int" and v.index is None]
    totals = []
    for name in counted[: draw(st.integers(0, 2))]:
        totals.append(Total(name, _index(draw, "v", seen), _number(draw, seen.also(["v"]))))
    picks = []
    for i in range(draw(st.integers(0, 2))):
        over = _index(draw, f"v{i}", seen)
        kind = draw(st.sampled_from(("least", "positive")))
        picks.append(Pick(over.name, kind, over, _number(draw, seen.also([over.name]))))
    step = Refinement(
        coarse,
        fine,
        tuple(Invariant(f"i{i}", _clause(draw, both)) for i in range(draw(st.integers(0, 3)))),
        tuple(totals),
        tuple(_match(draw, a, coarse, both) for a in fine.actions if draw(st.booleans())),
        tuple(picks),
        tuple(_term(draw, both) for _ in range(draw(st.integers(0, 2)))),
    )
    return replace(parse(Source("base.fw", BASE)), refinement=step)

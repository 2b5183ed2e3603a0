"""A refinement step with its definitions put in their places: the form that readers take."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from formwright.ir.expr import Cell, Expr, Sum, Var
from formwright.ir.rewrite import free_names, map_children, substitute
from formwright.ir.system import (
    Action,
    Call,
    Clause,
    Index,
    Let,
    Match,
    RankTerm,
    Refinement,
    StateVar,
    System,
    Update,
)
from formwright.ir.truths import settled

OnExpr = Callable[[Expr], Expr]
Lets = Mapping[str, Let]


def inlined_step(step: Refinement, values: Mapping[str, Expr]) -> Refinement:
    """``step`` without definitions: those of the template (closed ``values``) and its own."""
    coarse = _closed_lets(step.coarse.lets, values)
    fine = _closed_lets(step.fine.lets, values)
    named = {f"coarse.{name}": _coarse(let, step.coarse) for name, let in coarse.items()}

    both = {**fine, **named}
    truths = _truths(step.fine) | {f"coarse.{name}" for name in _truths(step.coarse)}

    def f(expr: Expr) -> Expr:
        return settled(put(expr, both, values), truths)

    return replace(
        step,
        coarse=_system(step.coarse, coarse, values),
        fine=_system(step.fine, fine, values),
        relation=tuple(replace(i, clause=_clause(i.clause, f)) for i in step.relation),
        totals=tuple(replace(t, over=_index(t.over, f), value=f(t.value)) for t in step.totals),
        matches=tuple(_match(m, f) for m in step.matches),
        picks=tuple(replace(p, over=_index(p.over, f), value=f(p.value)) for p in step.picks),
        rank=tuple(_term(t, f) for t in step.rank),
    )


def put(expr: Expr, lets: Lets, values: Mapping[str, Expr]) -> Expr:
    """``expr`` with the definitions of a system and of its template in their places."""

    def go(inner: Expr) -> Expr:
        match inner:
            case Var(name) if name in lets:
                return lets[name].value
            case Cell(name, index) if name in lets:
                let = lets[name]
                return _applied(let, tuple(go(i) for i in index))
            case _:
                return map_children(inner, go)

    return substitute(go(expr), values)


def _applied(let: Let, arguments: tuple[Expr, ...]) -> Expr:
    """The value of ``let`` for ``arguments``; names of sums in it give way to theirs."""
    taken = frozenset[str]().union(*(free_names(a) for a in arguments))
    return substitute(_renamed(let.value, taken), dict(zip(let.indices, arguments, strict=True)))


def _renamed(expr: Expr, taken: frozenset[str]) -> Expr:
    """``expr`` with names of sums that are none of ``taken``."""
    inner = map_children(expr, lambda e: _renamed(e, taken))
    if not isinstance(inner, Sum) or inner.var not in taken:
        return inner
    fresh = inner.var
    while fresh in taken or fresh in free_names(inner.body):
        fresh += "_"
    body = substitute(inner.body, {inner.var: Var(fresh)})
    return Sum(fresh, inner.lo, inner.hi, body, inner.span)


def _closed_lets(lets: tuple[Let, ...], values: Mapping[str, Expr]) -> dict[str, Let]:
    found: dict[str, Let] = {}
    for let in lets:
        found[let.name] = replace(let, value=put(let.value, found, values))
    return found


def _coarse(let: Let, system: System) -> Let:
    """``let`` as a relation reads it: over ``coarse.x`` where the system says ``x``."""
    state = {v.name for v in system.state}

    def go(expr: Expr) -> Expr:
        match expr:
            case Var(name) if name in state:
                return Var(f"coarse.{name}", expr.span)
            case Cell(name, index):
                return Cell(f"coarse.{name}", tuple(go(i) for i in index), expr.span)
            case _:
                return map_children(expr, go)

    return replace(let, value=go(let.value))


def _truths(system: System) -> frozenset[str]:
    return frozenset(v.name for v in system.state if v.sort == "bool")


def _system(system: System, lets: Lets, values: Mapping[str, Expr]) -> System:
    truths = _truths(system)

    def f(expr: Expr) -> Expr:
        return settled(put(expr, lets, values), truths)

    return replace(
        system,
        tokens=tuple(_index(t, f) for t in system.tokens),
        state=tuple(_state(v, f) for v in system.state),
        actions=tuple(_action(a, f) for a in system.actions),
        final=f(system.final),
        result=tuple(f(e) for e in system.result),
        rank=tuple(_term(t, f) for t in system.rank),
        lets=(),
    )


def _index(index: Index, f: OnExpr) -> Index:
    lo = None if index.lo is None else f(index.lo)
    return replace(index, lo=lo, hi=None if index.hi is None else f(index.hi))


def _state(var: StateVar, f: OnExpr) -> StateVar:
    return replace(
        var,
        index=None if var.index is None else _index(var.index, f),
        lo=None if var.lo is None else f(var.lo),
        hi=None if var.hi is None else f(var.hi),
        initial=f(var.initial),
    )


def _clause(clause: Clause, f: OnExpr) -> Clause:
    over = tuple(_index(i, f) for i in clause.forall)
    return replace(clause, forall=over, condition=f(clause.condition))


def _action(action: Action, f: OnExpr) -> Action:
    return replace(
        action,
        params=tuple(_index(p, f) for p in action.params),
        guards=tuple(_clause(g, f) for g in action.guards),
        updates=tuple(_update(u, f) for u in action.updates),
        emits=tuple(f(e) for e in action.emits),
    )


def _update(update: Update, f: OnExpr) -> Update:
    index = None if update.index is None else f(update.index)
    return replace(update, index=index, value=f(update.value))


def _match(match: Match, f: OnExpr) -> Match:
    calls = tuple(Call(c.action, tuple(f(a) for a in c.args), c.span) for c in match.calls)
    return replace(match, when=None if match.when is None else f(match.when), calls=calls)


def _term(term: RankTerm, f: OnExpr) -> RankTerm:
    return replace(term, over=tuple(_index(i, f) for i in term.over), value=f(term.value))

"""Conditions of a step by looking at every state of a small instance, with ``evaluate`` alone.

Names of violated obligations are those of the verifier. Nothing of it is used here.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from formwright.ir.evaluate import EvaluationError, cell_key, evaluate, integer, truth
from formwright.ir.expr import Expr, Scalar
from formwright.ir.system import (
    Action,
    Clause,
    Index,
    RankTerm,
    Refinement,
    StateVar,
    System,
)

Env = dict[str, Scalar]
COARSE = "coarse."
INTS = range(-1, 4)
"""Values tried for a variable without a range, and for parameters of any value."""


def members(index: Index, env: Mapping[str, Scalar]) -> Sequence[int]:
    if index.lo is None or index.hi is None:
        return INTS
    return range(integer(index.lo, env), integer(index.hi, env))


def bound(indices: Sequence[Index], env: Env) -> Iterator[Env]:
    if not indices:
        yield env
        return
    for value in members(indices[0], env):
        yield from bound(indices[1:], {**env, indices[0].name: value})


def keys(variable: StateVar, env: Env, prefix: str) -> list[str]:
    name = prefix + variable.name
    if variable.index is None:
        return [name]
    return [cell_key(name, (i,)) for i in members(variable.index, env)]


def values(variable: StateVar, env: Env) -> Sequence[Scalar]:
    if variable.sort == "bool":
        return (False, True)
    if variable.lo is None or variable.hi is None:
        return INTS
    return range(integer(variable.lo, env), integer(variable.hi, env))


def states(step: Refinement, env: Env) -> Iterator[Env]:
    """Every state of both systems in their ranges."""
    names: list[str] = []
    choices: list[Sequence[Scalar]] = []
    for system, prefix in ((step.fine, ""), (step.coarse, COARSE)):
        for variable in system.state:
            for key in keys(variable, env, prefix):
                names.append(key)
                choices.append(values(variable, env))
    for chosen in product(*choices):
        yield {**env, **dict(zip(names, chosen, strict=True))}


def holds(clause: Clause, env: Env) -> bool:
    return all(truth(clause.condition, inner) for inner in bound(clause.forall, env))


def total(over: Sequence[Index], value: Expr, env: Env) -> int:
    return sum(integer(value, inner) for inner in bound(over, env))


def related(step: Refinement, env: Env) -> bool:
    return all(holds(i.clause, env) for i in step.relation) and all(
        env[t.name] == total((t.over,), t.value, env)
        and all(integer(t.value, inner) >= 0 for inner in bound((t.over,), env))
        for t in step.totals
    )


def coarse_view(step: Refinement, env: Env) -> Env:
    """``env`` as the coarse system names it: its variables without the prefix."""
    fine = {k for v in step.fine.state for k in keys(v, env, "")}
    found = {k: v for k, v in env.items() if k not in fine and not k.startswith(COARSE)}
    return found | {k[len(COARSE) :]: v for k, v in env.items() if k.startswith(COARSE)}


def enabled(action: Action, env: Env) -> bool:
    return all(holds(g, env) for g in action.guards)


def after(system: System, action: Action, env: Env) -> Env:
    """The state after ``action``; a cell that does not exist is an error."""
    new = dict(env)
    index = {v.name: v.index for v in system.state}
    for update in action.updates:
        own = index[update.name]
        if update.each is not None and own is not None:
            for i in members(own, env):
                value = evaluate(update.value, {**env, update.each: i})
                new[cell_key(update.name, (i,))] = value
            continue
        key = update.name
        if update.index is not None:
            key = cell_key(update.name, (integer(update.index, env),))
            if key not in env:
                raise EvaluationError(f"no cell {key}")
        new[key] = evaluate(update.value, env)
    return new


def rank(terms: Sequence[RankTerm], env: Env) -> int:
    return sum(total(t.over, t.value, env) for t in terms)


def in_range(system: System, prefix: str, env: Env) -> Iterator[str]:
    """Variables that are outside their ranges."""
    for variable in system.state:
        if variable.lo is not None:
            allowed = values(variable, env)
            if any(env[k] not in allowed for k in keys(variable, env, prefix)):
                yield prefix + variable.name


def initial(step: Refinement, env: Env) -> Env:
    found = dict(env)
    for system, prefix in ((step.fine, ""), (step.coarse, COARSE)):
        for variable in system.state:
            own = () if variable.index is None else (variable.index,)
            spots = zip(keys(variable, env, prefix), bound(own, env), strict=True)
            found.update({key: evaluate(variable.initial, inner) for key, inner in spots})
    return found


def unrelated(step: Refinement, env: Env) -> Iterator[tuple[str, str]]:
    """The word and the name of each invariant that does not hold."""
    for invariant in step.relation:
        if not holds(invariant.clause, env):
            yield "relation", invariant.name
    for t in step.totals:
        if env[t.name] != total((t.over,), t.value, env):
            yield "relation", f"total {t.name}"
    for system, prefix in ((step.fine, ""), (step.coarse, COARSE)):
        for name in in_range(system, prefix, env):
            yield "range", name


def violated(step: Refinement, parameters: Env) -> Iterator[str]:
    """Names of the obligations that are wrong in some state of one instance."""
    for env in bound(step.fine.tokens, parameters):
        yield from (f"initial {name}" for _, name in unrelated(step, initial(step, env)))
        for state in states(step, env):
            if related(step, state):
                yield from _in_state(step, state)


def _in_state(step: Refinement, state: Env) -> Iterator[str]:
    fine, above = step.fine, coarse_view(step, state)
    if any(integer(t.value, e) < 0 for t in step.rank for e in bound(t.over, state)):
        yield "rank term"
    acts = [(a, e) for a in fine.actions for e in bound(a.params, state) if enabled(a, e)]
    if truth(fine.final, state):
        results = [evaluate(r, state) for r in fine.result]
        if not truth(step.coarse.final, above) or results != [
            evaluate(r, above) for r in step.coarse.result
        ]:
            yield f"completion {fine.name}"
    elif not acts:
        yield f"progress {fine.name}"
    for action, env in acts:
        yield from _of_action(step, action, env)


def _of_action(step: Refinement, action: Action, env: Env) -> Iterator[str]:
    calls = next(
        (
            m.calls
            for m in step.matches
            if m.action == action.name and (m.when is None or truth(m.when, env))
        ),
        (),
    )
    params = {p.name for p in action.params}
    new = after(step.fine, action, env)
    above = {k: v for k, v in coarse_view(step, env).items() if k not in params}
    emits = [evaluate(e, env) for e in action.emits]
    seen: list[Scalar] = []
    for call in calls:
        coarse = next(a for a in step.coarse.actions if a.name == call.action)
        inner = dict(above)
        for param, arg in zip(coarse.params, call.args, strict=True):
            value = integer(arg, env)
            if param.lo is not None and value not in members(param, inner):
                yield f"matching {action.name}"
                return
            inner[param.name] = value
        if not enabled(coarse, inner):
            yield f"matching {action.name}"
            return
        seen += [evaluate(e, inner) for e in coarse.emits]
        names = {p.name for p in coarse.params}
        above = {k: v for k, v in after(step.coarse, coarse, inner).items() if k not in names}
    if seen != emits:
        yield f"visible {action.name}"
    whole = {k: v for k, v in new.items() if not k.startswith(COARSE) and k not in params}
    coarse_keys = {k for v in step.coarse.state for k in keys(v, env, "")}
    whole |= {COARSE + k: v for k, v in above.items() if k in coarse_keys}
    for word, name in unrelated(step, whole):
        yield f"{word} {name} after {action.name}"
    if not calls and not rank(step.rank, whole) < rank(step.rank, env):
        yield f"rank {action.name}"

"""The workload as a system: what the top of a chain has to compute, read off the contract alone.

A product ``A[m,ka] * B[kb,n]`` of input cells is a token. It stands in
``sum(k < K) A[m,k] * B[k,n]`` as often as there is a ``k`` with ``k = ka`` and ``k = kb``: once if
they are equal, else never. For every token the top system has to say that number.
"""

from collections.abc import Sequence
from dataclasses import replace

from formwright.ir.expr import ONE, TRUE, ZERO, Compare, Cond, Expr, Logic, Var
from formwright.ir.inline import inlined
from formwright.ir.program import Op, Read, Value
from formwright.ir.system import Action, Call, Clause, Index, Invariant, Match, Refinement, System
from formwright.ir.template import Outline, Template, Workload

LEVEL = "contract"


class NoTokensError(Exception):
    """A contract whose terms are no products of input cells, or a top system without its tokens."""


def contract_step(top: Template, workload: Workload) -> Template:
    """The step from the contract to the coarse system of ``top``, to be proved like any other.

    Its coarse system says the number of the token's product in the workload; the relation says that
    this is the result at the end, and the rank is the one that the top system states. Raises
    :class:`NoTokensError`.
    """
    step = inlined(top)
    if step.refinement is None:
        raise NoTokensError(f"{top.name} has no step")
    system = step.refinement.coarse
    tokens = _tokens(workload)
    _same_tokens(tokens, system)
    number = _multiplicity(workload, tokens)
    same = [Compare("=", r, number) for r in system.result]
    if not same:
        raise NoTokensError(f"{system.name} has no result")
    matches = tuple(
        Match(a.name, None, (Call("give", ()),) * len(a.emits)) for a in system.actions if a.emits
    )
    relation = Invariant(LEVEL, Clause((), Logic("=>", system.final, _all(same))))
    coarse = System(
        name=LEVEL,
        tokens=tuple(Index(n, ZERO, Var(e)) for n, (_, e) in tokens.items()),
        state=(),
        actions=(Action("give", (), (), (), (number,), False),),
        final=TRUE,
        result=(number,) * len(system.result),
    )
    return replace(
        step,
        name=f"{LEVEL} of {top.name}",
        coarse=LEVEL,
        fine=system.name,
        object_name=LEVEL,
        object_text="",
        scope=replace(step.scope, workload=workload, given=()),
        decisions=(),
        constraints=(),
        requires=(),
        outline=Outline(),
        cost=None,
        refinement=Refinement(coarse, system, (relation,), (), matches, (), system.rank),
    )


def _tokens(workload: Workload) -> dict[str, tuple[str, str]]:
    """For each place of an input cell that is reduced, the reduction and its extent.

    The token of index ``k`` of ``A`` is called ``ka``.
    """
    extents = dict(workload.reductions)
    found: dict[str, tuple[str, str]] = {}
    for read in _factors(workload.value):
        for index in read.access.index:
            if isinstance(index, Var) and index.name in extents:
                name = f"{index.name}{read.access.buffer.lower()}"
                if name in found:
                    raise NoTokensError(f"the contract reads {read.access.buffer} at two places")
                found[name] = index.name, extents[index.name]
    unread = set(extents) - {r for r, _ in found.values()}
    if unread:
        raise NoTokensError(f"no input of the contract has the index {min(unread)}")
    return found


def _factors(value: Value) -> list[Read]:
    match value:
        case Read():
            return [value]
        case Op("*", args):
            return [r for a in args for r in _factors(a)]
        case _:
            raise NoTokensError("the terms of the contract are no products of input cells")


def _same_tokens(tokens: dict[str, tuple[str, str]], system: System) -> None:
    wanted = {n: (ZERO, Var(e)) for n, (_, e) in tokens.items()}
    stated = {t.name: (t.lo, t.hi) for t in system.tokens}
    if stated != wanted:
        shown = ", ".join(f"{n} in {e}" for n, (_, e) in tokens.items())
        raise NoTokensError(f"the contract needs token {shown} in {system.name}")


def _multiplicity(workload: Workload, tokens: dict[str, tuple[str, str]]) -> Expr:
    """How many values of the reduction indices pick the token's cells: one or none, since each
    index stands in some input plainly."""
    same: list[Expr] = []
    for reduction, _ in workload.reductions:
        first, *rest = [n for n, (r, _) in tokens.items() if r == reduction]
        same += [Compare("=", Var(first), Var(n)) for n in rest]
    return Cond(_all(same), ONE, ZERO) if same else ONE


def _all(conditions: Sequence[Expr]) -> Expr:
    whole = conditions[0]
    for condition in conditions[1:]:
        whole = Logic("and", whole, condition)
    return whole

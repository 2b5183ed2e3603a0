"""The condition ``stable``: what is subtracted in front of ``exp`` is a maximum over it.

Where a line has ``exp(x - m[…])`` with a stage ``m`` that is a maximum, ``x`` must be one of the
values that ``m`` is the maximum of, so the argument is at most 0 and the value at most 1. A
program's terms are the line's (``phantom``), so this is about every ``exp`` that reaches a line.
An ``exp`` without such a stage is as the workload wants it and owes nothing here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from formwright.ir.template import Workload
from formwright.smt.atoms import Atoms
from formwright.smt.encode import UnderivableError, number, truth
from formwright.smt.forms import (
    Factor,
    Form,
    Function,
    Leaf,
    Term,
    factor_skeleton,
    functions,
    leaves,
    scaled,
    skeleton,
)
from formwright.smt.goals import Goal, Query, Reads
from formwright.smt.products import Product, products
from formwright.smt.targets import Meaning, ranges
from formwright.smt.terms import (
    ONE,
    ZERO,
    Formula,
    Poly,
    conj,
    disj,
    eq,
    le,
    negated,
    symbol,
)
from formwright.smt.witness import eliminate


@dataclass(frozen=True, slots=True)
class Shifted:
    """``exp`` of ``scale * (x - m[…])`` in ``line``, where ``m`` is the maximum ``stage``."""

    line: Workload
    product: Product
    argument: Form
    stage: Workload


def stable_goals(meaning: Meaning, atoms: Atoms) -> Iterator[Goal]:
    """One goal for each line that has an ``exp`` of something less a maximum."""
    maxima = {s.output.name: s for s in meaning.stages if s.combine == "max"}
    for line in (meaning.workload, *meaning.stages):
        try:
            found = list(_shifted(line, maxima))
        except UnderivableError:
            continue  # the line's own goals say why
        if not found:
            continue
        name = line.output.name

        def build(found: Sequence[Shifted] = found) -> Sequence[Query]:
            return [_query(s, atoms) for s in found]

        claim = f"an exp in {name} of more than 0"
        reads = Reads(name, (), frozenset(), terms=True)
        yield Goal(f"stable {name}", "K2", "stable", build, claim, 1, line.span, reads)


def _shifted(line: Workload, maxima: dict[str, Workload]) -> Iterator[Shifted]:
    for product in products(line):
        for function in functions(product.form):
            if function.name != "exp":
                continue
            argument = function.args[0]
            named = [leaf.name for leaf in leaves(argument) if leaf.name in maxima]
            if named:
                yield Shifted(line, product, argument, maxima[named[0]])


def _query(shifted: Shifted, atoms: Atoms) -> Query:
    """That ``x`` is none of the values of the maximum, or the scale is negative."""
    line, stage, span = shifted.line, shifted.stage, shifted.line.span
    less = [t for t in shifted.argument if _has(t, stage.output.name)]
    if len(less) != 1 or less[0].coefficient >= 0:
        raise UnderivableError("an exp of something other than a value less a maximum", span)
    scale, maximum = _scale(less[0], stage.output.name)
    rest = [t for t in shifted.argument if t is not less[0]]
    value = tuple(_without(t, scale, span) for t in rest)
    value = scaled(value, 1 / -less[0].coefficient)
    names = (*line.indices, *(n for n, _ in line.reductions))
    env = {n: symbol(f"{n}@cell") for n in names}
    extents = [*line.output.extents, *(e for _, e in line.reductions)]
    facts = ranges([env[n] for n in names], [symbol(e) for e in extents])
    facts += [_side(truth(c, env, atoms), side) for c, side in shifted.product.when]
    assert maximum.access is not None
    place = [number(i, env, atoms) for i in maximum.access.index]
    member = disj(_members(value, place, stage, env, atoms))
    right = conj((member, *(_nonnegative(f, env, atoms, span) for f in scale)))
    given = tuple((n, env[n]) for n in names)
    return Query(tuple(facts), negated(right), (), (), given)


def _side(held: Formula, side: bool) -> Formula:
    return held if side else negated(held)


def _has(term: Term, name: str) -> bool:
    return any(leaf.name == name for leaf in leaves((term,)))


def _scale(term: Term, name: str) -> tuple[list[Factor], Leaf]:
    """What multiplies the maximum, and the maximum itself."""
    own = [f for f in term.factors if isinstance(f, Leaf) and f.name == name]
    if len(own) != 1 or sum(leaf.name == name for leaf in leaves((term,))) != 1:
        raise UnderivableError("a maximum inside another function, or more than once", None)
    return [f for f in term.factors if f is not own[0]], own[0]


def _without(term: Term, scale: Sequence[Factor], span: object) -> Term:
    """``term`` divided by the scale, which must stand in it as it is."""
    left = list(term.factors)
    for factor in scale:
        alike = [f for f in left if f == factor]
        if not alike:
            told = "what is less a maximum is not scaled as the maximum is"
            raise UnderivableError(told, None)
        left.remove(alike[0])
    return Term(term.coefficient, tuple(sorted(left, key=factor_skeleton)))


def _members(
    value: Form,
    place: Sequence[Poly],
    stage: Workload,
    env: dict[str, Poly],
    atoms: Atoms,
) -> Iterator[Formula]:
    """Choices of the stage's indices with this very value."""
    unknown = [f"{n}@member" for n, _ in stage.reductions]
    inner = dict(zip(stage.indices, place, strict=True))
    inner.update({n: symbol(f"{n}@member") for n, _ in stage.reductions})
    lengths = [symbol(e) for _, e in stage.reductions]
    for product in products(stage):
        if skeleton(product.form) != skeleton(value):
            continue
        equations = [
            w - h
            for a, b in zip(leaves(product.form), leaves(value), strict=True)
            for w, h in zip(_at(a, inner, atoms), _at(b, env, atoms), strict=True)
        ]
        solved, rest = eliminate(equations, unknown, atoms)
        for free in ([ZERO for _ in lengths], [n - ONE for n in lengths]):
            chosen = {u: free[i] for i, u in enumerate(unknown) if u not in solved}
            known = {n: p.substituted(chosen) for n, p in solved.items()} | chosen
            whole = {n: p.substituted(known) for n, p in inner.items()}
            masks = [_side(truth(c, whole, atoms), side) for c, side in product.when]
            equal = [eq(r.substituted(chosen), ZERO) for r in rest]
            yield conj((*equal, *masks, *ranges([known[u] for u in unknown], lengths)))


def _at(leaf: Leaf, env: dict[str, Poly], atoms: Atoms) -> tuple[Poly, ...]:
    if leaf.value is not None:
        return (number(leaf.value, env, atoms),)
    assert leaf.access is not None
    return tuple(number(i, env, atoms) for i in leaf.access.index)


def _nonnegative(factor: Factor, env: dict[str, Poly], atoms: Atoms, span: object) -> Formula:
    """That a factor of the scale is not negative: roots and exponentials never are."""
    match factor:
        case Leaf(_, _, _, value) if value is not None:
            return le(ZERO, number(value, env, atoms))
        case Function("sqrt" | "exp"):
            return conj(())
        case Function("reciprocal", ((Term(coefficient, (inner,)),),)) if coefficient > 0:
            return _nonnegative(inner, env, atoms, span)
        case _:
            raise UnderivableError("a scale in front of a maximum that may be negative", None)

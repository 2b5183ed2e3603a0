"""Terms in a form that can be compared: sums of products of cells and opaque functions.

What a function is applied to stays as it is inside it, so two terms are the same product when
their skeletons (the forms without indices) are equal and their leaves name the same cells. Every
rule that is used here holds wherever both sides have a value: products are multiplied out,
``a / b`` is ``a`` times the reciprocal of ``b``, the reciprocal of a product is the product of the
reciprocals, ``rsqrt`` is the reciprocal of ``sqrt``. Nothing else is: two texts that are equal
for a deeper reason have different skeletons, and are not taken for equal.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from formwright.base.source import Span
from formwright.ir.expr import Expr
from formwright.ir.program import Access
from formwright.smt.encode import UnderivableError

INDEX = "index"
"""The name of the leaf that a value ``index(e)`` is; no tensor is called so."""

FORM_TERMS = 64
"""The most terms that one value may spread into."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A cell of an input or a stage, or (``value``) an index as a number.

    ``step`` is the run of a chain that reads it; 0 in a line of the workload.
    """

    name: str
    step: int
    access: Access | None = None
    value: Expr | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """``exp``, ``sqrt``, ``reciprocal`` (one form), ``max``, ``min`` (two)."""

    name: str
    args: tuple["Form", ...]


Factor = Leaf | Function


@dataclass(frozen=True, slots=True)
class Term:
    """``coefficient`` times factors, which are sorted by their skeletons."""

    coefficient: Fraction
    factors: tuple[Factor, ...] = ()


Form = tuple[Term, ...]
"""A sum of terms, sorted by their skeletons; numbers are one term."""


def number_form(value: Fraction) -> Form:
    return (Term(value),) if value else ()


def factor_form(factor: Factor) -> Form:
    return (Term(Fraction(1), (factor,)),)


def added(left: Form, right: Form, span: Span | None = None) -> Form:
    terms = [t for t in (*left, *right) if t.factors]
    plain = sum((t.coefficient for t in (*left, *right) if not t.factors), Fraction(0))
    if plain:
        terms.append(Term(plain))
    if len(terms) > FORM_TERMS:
        raise UnderivableError(f"a value of more than {FORM_TERMS} terms", span)
    return tuple(sorted(terms, key=term_skeleton))


def scaled(form: Form, factor: Fraction) -> Form:
    if not factor:
        return ()
    terms = (replace(t, coefficient=t.coefficient * factor) for t in form)
    return tuple(sorted(terms, key=term_skeleton))


def multiplied(left: Form, right: Form, span: Span | None = None) -> Form:
    found: Form = ()
    for a in left:
        for b in right:
            found = added(found, (times(a, b),), span)
    return found


def times(left: Term, right: Term) -> Term:
    factors = sorted((*left.factors, *right.factors), key=factor_skeleton)
    return Term(left.coefficient * right.coefficient, tuple(factors))


def reciprocal(form: Form, span: Span | None = None) -> Term:
    """One over ``form``; raises where that is a number divided by 0."""
    if not form:
        raise UnderivableError("a division by 0", span)
    if len(form) > 1:
        return Term(Fraction(1), (Function("reciprocal", (form,)),))
    term = form[0]
    over = [Function("reciprocal", (factor_form(f),)) for f in term.factors]
    return Term(1 / term.coefficient, tuple(sorted(over, key=factor_skeleton)))


def applied(name: str, args: Sequence[Form], span: Span | None = None) -> Term:
    """A function of the language of forms: ``exp sqrt rsqrt max min``."""
    if name == "rsqrt":
        return reciprocal(factor_form(Function("sqrt", tuple(args))), span)
    ordered = sorted(args, key=skeleton) if name in ("max", "min") else args
    return Term(Fraction(1), (Function(name, tuple(ordered)),))


def skeleton(form: Form) -> str:
    """The form without its indices."""
    return " + ".join(term_skeleton(t) for t in form) or "0"


def term_skeleton(term: Term) -> str:
    return "*".join([*(factor_skeleton(f) for f in term.factors), str(term.coefficient)])


def factor_skeleton(factor: Factor) -> str:
    match factor:
        case Leaf(name):
            return f"{name}[]"
        case Function(name, args):
            return f"{name}({', '.join(map(skeleton, args))})"


def leaves(form: Form) -> Iterator[Leaf]:
    """Every leaf, in the order that equal skeletons share."""
    for term in form:
        for factor in term.factors:
            yield from factor_leaves(factor)


def factor_leaves(factor: Factor) -> Iterator[Leaf]:
    match factor:
        case Leaf():
            yield factor
        case Function(_, args):
            for arg in args:
                yield from leaves(arg)


def functions(form: Form) -> Iterator[Function]:
    """Every function, outer ones first."""
    for term in form:
        for factor in term.factors:
            if isinstance(factor, Function):
                yield factor
                for arg in factor.args:
                    yield from functions(arg)


def is_opaque(form: Form) -> bool:
    """Whether a function stands in it: then no read outside makes it vanish."""
    return next(functions(form), None) is not None


def mapped(form: Form, change: Callable[[Leaf], Leaf]) -> Form:
    """``form`` with every leaf changed; the order of its terms and factors stays."""

    def of(factor: Factor) -> Factor:
        match factor:
            case Leaf():
                return change(factor)
            case Function(_, args):
                return replace(factor, args=tuple(mapped(a, change) for a in args))

    return tuple(replace(t, factors=tuple(map(of, t.factors))) for t in form)

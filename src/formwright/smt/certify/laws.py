"""The lemmas of a query as instances of the three laws that the checker knows.

Where :mod:`formwright.smt.lemmas` writes ``d >= 1 => s*d >= s``, the law ``times`` of ``s`` and
``d - 1`` says as much, for rationals too; what the lemmas show, the laws show.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from formwright.proof import assertions as data
from formwright.proof.certificate import Form, Law, Theorem
from formwright.smt.atoms import Atoms
from formwright.smt.lemmas import decided, related
from formwright.smt.terms import ONE, Formula, Le, Lt, Mono, Poly, constant, polys, symbol


def laws(
    formulas: Iterable[Formula],
    hints: Iterable[Poly],
    names: Collection[str],
    positive: Collection[str],
    atoms: Atoms,
) -> tuple[Theorem, ...]:
    """Signs of products, and each symbol with what it is multiplied with."""
    products, pairs = related(formulas, hints, names, positive, atoms)
    found = [t for mono in products for t in _signs(mono, positive)]
    for name, part in pairs:
        factor = symbol(name)
        found += [_law("times", factor, part - ONE), _law("times", factor, part.scaled(-1) - ONE)]
        found.append(_law("zero", part, factor))
        if name not in positive:
            found.append(_law("zero", factor, part))
    return tuple(dict.fromkeys(found))


def menu_laws(
    formulas: Iterable[Formula], menus: Mapping[str, tuple[int, ...]]
) -> tuple[Theorem, ...]:
    """For each value of a decision, what products with it are there."""
    return tuple(
        _law("zero", symbol(name) - constant(value), rest)
        for name, rest in decided(formulas, menus)
        for value in menus[name]
    )


def bound_laws(formulas: Sequence[Formula]) -> tuple[Theorem, ...]:
    """What a bound of one factor, where a formula is one, says of a product of two."""
    least = [_lower(f.poly) for f in formulas if isinstance(f, Le | Lt)]
    known = dict.fromkeys(found for found in least if found is not None)
    monos = dict.fromkeys(m for f in formulas for p in polys(f) for m, _ in p.terms if len(m) == 2)
    found: list[Theorem] = []
    for first, second in monos:
        for name, other in ((first, second), (second, first)):
            for bounded, bound in known:
                if bounded == name:
                    above = symbol(name) - constant(bound)
                    found += [_law("times", symbol(other), above)]
                    found += [_law("times", symbol(other).scaled(-1), above)]
    return tuple(dict.fromkeys(found))


def _lower(poly: Poly) -> tuple[str, int] | None:
    """``(name, k)`` of a row ``k - name <= 0``."""
    names = [m for m, _ in poly.terms if m]
    if len(names) != 1 or len(names[0]) != 1 or poly.coefficient(names[0][0]) != -1:
        return None
    bound = sum(c for m, c in poly.terms if not m)
    return (names[0][0], bound) if isinstance(bound, int) else None


def _signs(mono: Mono, positive: Collection[str]) -> Iterator[Theorem]:
    known = all(n in positive for n in mono)
    so_far = symbol(mono[0])
    for name in mono[1:]:
        factor = symbol(name)
        if known:
            yield _law("times", so_far - ONE, factor - ONE)
        else:
            yield _law("positive", so_far, factor)
        so_far = so_far * factor
    if not known and len(mono) == 2:
        a, b = (symbol(n) for n in mono)
        yield _law("times", a.scaled(-1), b)
        yield _law("times", a, b.scaled(-1))


def _law(law: Law, p: Poly, q: Poly) -> Theorem:
    return Theorem(law, _form(p), _form(q))


def _form(poly: Poly) -> Form:
    """Polynomials of lemmas have whole coefficients."""
    terms = sorted((data.product(m), int(c)) for m, c in poly.terms if m)
    return Form(tuple(terms), int(sum(c for m, c in poly.terms if not m)))

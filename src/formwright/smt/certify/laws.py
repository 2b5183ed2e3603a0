"""The lemmas of a query as instances of the three laws that the checker knows.

Where :mod:`formwright.smt.lemmas` writes ``d >= 1 => s*d >= s``, the law ``times`` of ``s`` and
``d - 1`` says as much, for rationals too; what the lemmas show, the laws show.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from formwright.proof import assertions as data
from formwright.proof.certificate import Form, Law, Theorem
from formwright.smt.atoms import Atoms
from formwright.smt.lemmas import decided, related
from formwright.smt.terms import ONE, Formula, Mono, Poly, constant, symbol


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

"""Products made linear: each product is a symbol, and what relates products is instantiated.

For ``s >= 1`` and integers ``d``: ``d >= 1 => s*d >= s``, ``d <= -1 => s*d <= -s`` and
``d = 0 => s*d = 0``; and a product of numbers from 1 on is at least 1. These are theorems of
the integers, so what follows from instances of them follows. With ``d`` a difference of two
cofactors of ``s`` they are the bound, block and digit steps of a mixed-radix index, one level
at a time: ``s*a + u = s*b + v`` with ``0 <= u, v < s`` gives ``a = b``, whatever ``s`` is. A
query that is then linear is decided in milliseconds by every version of the solver.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from itertools import combinations

from formwright.smt.atoms import Atoms, Ceil, Choice, Floor, Greatest, Least, Quotient
from formwright.smt.terms import (
    ONE,
    ZERO,
    Formula,
    Mono,
    Poly,
    conj,
    constant,
    eq,
    implies,
    le,
    lt,
    polys,
    symbol,
)

PAIR_LIMIT = 24
"""The most cofactors of one symbol that are compared pair by pair."""


def lemmas(
    formulas: Iterable[Formula],
    hints: Iterable[Poly],
    names: Collection[str],
    positive: Collection[str],
    atoms: Atoms,
    guarded: bool = False,
) -> list[Formula]:
    """Instances for the products of ``formulas`` and of the definitions of ``names``.

    An instance about a name of ``positive`` leaves out that the name is at least 1, unless
    they are ``guarded``: then each is a theorem whatever the premises say.
    """
    products, pairs = related(formulas, hints, names, positive, atoms)
    found = [f for mono in products for f in _signs(mono, positive, guarded)]
    for name, difference in pairs:
        found += _instances(name, difference, name in positive, guarded)
    return found


def related(
    formulas: Iterable[Formula],
    hints: Iterable[Poly],
    names: Collection[str],
    positive: Collection[str],
    atoms: Atoms,
) -> tuple[list[Mono], list[tuple[str, Poly]]]:
    """The products that lemmas are about, and symbols with what they are multiplied with."""
    cofactors: dict[str, dict[Poly, None]] = {}
    products: dict[Mono, None] = {}

    def note(poly: Poly) -> None:
        for mono, _ in poly.terms:
            if len(mono) > 1:
                products[mono] = None
        for name in _factors(poly, positive):
            part = poly.cofactor(name)
            if part.constant() is None and atoms.is_integer(part):
                cofactors.setdefault(name, {})[part] = None

    for formula in formulas:
        for poly in polys(formula):
            note(poly)
    for poly in hints:
        note(poly)
    for name in names:
        match atoms.by_name.get(name):
            case Ceil(num, den) | Floor(num, den):
                note(symbol(name) * den)
                note(num)
            case Quotient(_, den):
                note(symbol(name) * den)
            case Least(args) | Greatest(args):
                for poly in args:
                    note(poly)
            case Choice(cond, then, other):
                for poly in (*polys(cond), then, other):
                    note(poly)
            case _:
                pass
    pairs = [(n, d) for n in sorted(cofactors) for d in _differences(list(cofactors[n]))]
    return list(products), pairs


def _signs(mono: Mono, positive: Collection[str], guarded: bool) -> list[Formula]:
    """A product of positive numbers is positive; one factor of two decides its sign."""
    whole = Poly(((mono, 1),))
    if all(n in positive for n in mono):
        known = [le(ONE, symbol(n)) for n in mono] if guarded else []
        return [implies(conj(known), le(ONE, whole))]
    found = [implies(conj(lt(ZERO, symbol(n)) for n in mono), lt(ZERO, whole))]
    if len(mono) == 2:
        a, b = (symbol(n) for n in mono)
        found += [
            implies(conj((le(x, ZERO), lt(ZERO, y))), le(whole, ZERO)) for x, y in ((a, b), (b, a))
        ]
    return found


def _factors(poly: Poly, positive: Collection[str]) -> list[str]:
    """Symbols of products, the positive ones where a product has any."""
    found: dict[str, None] = {}
    for mono, _ in poly.terms:
        if len(mono) > 1:
            known = [n for n in mono if n in positive]
            found.update(dict.fromkeys(known or mono))
    return list(found)


def _differences(parts: list[Poly]) -> list[Poly]:
    found: dict[Poly, None] = {}
    pairs = combinations(parts, 2) if len(parts) <= PAIR_LIMIT else ()
    for poly in (*parts, *(a - b for a, b in pairs)):
        if poly.constant() is not None:
            continue
        found[poly if poly.terms[-1][1] > 0 else poly.scaled(-1)] = None
    return list(found)


@lru_cache(maxsize=4096)
def _instances(name: str, part: Poly, positive: bool, guarded: bool) -> tuple[Formula, ...]:
    factor = symbol(name)
    whole = factor * part
    known = [] if positive and not guarded else [le(ONE, factor)]
    up = implies(conj((*known, le(ONE, part))), le(factor, whole))
    down = implies(conj((*known, le(part, constant(-1)))), le(whole, factor.scaled(-1)))
    flat = implies(eq(part, ZERO), eq(whole, ZERO))
    none = [] if positive else [implies(eq(factor, ZERO), eq(whole, ZERO))]
    return (up, down, flat, *none)


def menu_products(
    formulas: Iterable[Formula], menus: Mapping[str, tuple[int, ...]]
) -> list[Formula]:
    """``s = v => s*x = v*x`` for each product with a decision ``s`` and value ``v`` of its menu.

    With the decisions decided, products with them are exact, and the solver splits cases over
    the menus by itself, learning from each.
    """
    return [
        implies(eq(symbol(name), constant(value)), eq(symbol(name) * rest, rest.scaled(value)))
        for name, rest in decided(formulas, menus)
        for value in menus[name]
    ]


def decided(
    formulas: Iterable[Formula], menus: Mapping[str, tuple[int, ...]]
) -> list[tuple[str, Poly]]:
    """The decisions in products, each with what it is multiplied with."""
    found: list[tuple[str, Poly]] = []
    queue = [m for f in formulas for p in polys(f) for m, _ in p.terms if len(m) > 1]
    seen: set[Mono] = set()
    while queue:
        mono = queue.pop()
        if mono in seen or len(mono) < 2:
            continue
        seen.add(mono)
        for name in dict.fromkeys(n for n in mono if n in menus):
            rest = Poly(((mono, 1),)).cofactor(name)
            queue += [m for m, _ in rest.terms]
            found.append((name, rest))
    return found

"""How many barriers, commits or arrivals an agent has passed: closed forms (P7, P9, P10)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import assert_never

from formwright.base.source import Span
from formwright.ir.program import (
    Alloc,
    Apply,
    Arrive,
    Await,
    Barrier,
    Commit,
    For,
    Hint,
    If,
    Par,
    Stmt,
    Wait,
)
from formwright.smt.atoms import Atoms, Choice, Floor, Greatest, Least
from formwright.smt.encode import UnderivableError, number, truth
from formwright.smt.instances import Instance
from formwright.smt.sites import Site
from formwright.smt.terms import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    All,
    Eq,
    Formula,
    Le,
    Lt,
    Poly,
    conj,
    constant,
    eq,
    le,
    polys,
    symbol,
)


@dataclass(frozen=True, slots=True)
class Count:
    """A sum of polynomials, each counted only where its condition holds.

    The conditions stand apart so that a loop multiplies polynomials by its iterations and
    ``p * (1 + if beta = 1 then 1 else 0)`` stays linear.
    """

    parts: tuple[tuple[Formula, Poly], ...] = ()

    def __add__(self, other: "Count") -> "Count":
        return Count((*self.parts, *other.parts))

    def times(self, factor: Poly) -> "Count":
        return Count(tuple((c, p * factor) for c, p in self.parts))

    def when(self, cond: Formula) -> "Count":
        return Count(tuple((conj((cond, c)), p) for c, p in self.parts))

    def minus(self, other: "Count") -> "Count":
        return self + other.times(constant(-1))

    def poly(self, atoms: Atoms) -> Poly:
        """The sum as one polynomial; equal conditions are gathered first."""
        gathered: dict[Formula, Poly] = {}
        for cond, part in self.parts:
            gathered[cond] = gathered.get(cond, ZERO) + part
        total = ZERO
        for cond, part in gathered.items():
            total = total + atoms.make(Choice(cond, part, ZERO))
        return total


Env = Mapping[str, Poly]
Counted = Callable[[Stmt, Env], Formula]
"""When a statement counts; ``FALSE`` for those of another kind."""


def of_kind(kind: type[Stmt]) -> Counted:
    """Every statement of ``kind`` counts."""
    return lambda stmt, env: TRUE if isinstance(stmt, kind) else FALSE


def passed(instance: Instance, start: int, counted: Counted, atoms: Atoms) -> Count:
    """Statements that the agent passed before this run, from frame ``start`` on."""
    total = Count()
    for frame in instance.site.frames[start:]:
        for stmt in frame.block[: frame.position]:
            total = total + _whole(stmt, instance.env, counted, atoms)
        node = frame.node
        if isinstance(node, For):
            lo, here = number(node.lo, instance.env, atoms), instance.env[node.var]
            total = total + _iterated(node, lo, here, instance.env, counted, atoms)
    return total


def runs_of(
    site: Site, start: int, env: Env, cap: tuple[int, Poly] | None, counted: Counted, atoms: Atoms
) -> Count:
    """All runs of ``site`` below frame ``start`` that count.

    ``cap``: of the loop at that frame only the iterations below that value.
    """

    def go(level: int, inner: Env) -> Count:
        node = site.frames[level].node
        match node:
            case For(_, lo, hi):
                first, last = number(lo, inner, atoms), number(hi, inner, atoms)
                if cap is not None and cap[0] == level:
                    last = atoms.make(Least((last, cap[1])))
                below = over(node, first, last, inner, lambda e: go(level + 1, e), atoms)
                return below.when(le(first, last))
            case If(cond):
                return go(level + 1, inner).when(truth(cond, inner, atoms))
            case _:
                return _one(counted(node, inner))

    return go(start, env)


def _one(cond: Formula) -> Count:
    return Count() if cond == FALSE else Count(((cond, ONE),))


def _whole(stmt: Stmt, env: Env, counted: Counted, atoms: Atoms) -> Count:
    match stmt:
        case For(_, lo, hi):
            first, last = number(lo, env, atoms), number(hi, env, atoms)
            return _iterated(stmt, first, last, env, counted, atoms).when(le(first, last))
        case If(cond, body):
            inner = _body(body, env, counted, atoms)
            return inner.when(truth(cond, env, atoms)) if inner.parts else inner
        case Par(_, _, _, body):
            return Count()
        case Barrier() | Commit() | Wait() | Alloc() | Apply() | Arrive() | Await() | Hint():
            return _one(counted(stmt, env))
        case _:
            assert_never(stmt)


def _body(body: tuple[Stmt, ...], env: Env, counted: Counted, atoms: Atoms) -> Count:
    total = Count()
    for stmt in body:
        total = total + _whole(stmt, env, counted, atoms)
    return total


def _iterated(
    loop: For, first: Poly, last: Poly, env: Env, counted: Counted, atoms: Atoms
) -> Count:
    return over(loop, first, last, env, lambda e: _body(loop.body, e, counted, atoms), atoms)


def over(
    loop: For, first: Poly, last: Poly, env: Env, body: Callable[[Env], Count], atoms: Atoms
) -> Count:
    """The count of ``body`` over the iterations ``first <= var < last`` (at least none)."""
    mark = f"{loop.var}@each"
    total = Count()
    for cond, part in body({**env, loop.var: symbol(mark)}).parts:
        if mark in atoms.closure(part.symbols()):
            raise UnderivableError("a count that varies with the iteration", loop.span)
        always, bounds = bounds_on(cond, mark, loop.span, atoms)
        total = total + Count(((always, part * bounds.between(first, last, atoms)),))
    return total


@dataclass(frozen=True, slots=True)
class Bounds:
    """Which values of a name meet a condition: from each of ``low`` on, below each of
    ``high``, and congruent to ``residue`` (value, modulus)."""

    low: tuple[Poly, ...] = ()
    high: tuple[Poly, ...] = ()
    residue: tuple[tuple[Poly, Poly], ...] = ()

    def between(self, first: Poly, last: Poly, atoms: Atoms) -> Poly:
        """How many there are from ``first`` on and below ``last`` (``first <= last``)."""
        low, high = first, last
        for limit in self.high:
            high = atoms.make(Least((high, limit)))
        for limit in self.low:
            low = atoms.make(Greatest((low, limit)))
        if not self.residue:
            done = high - low
            return atoms.make(Greatest((ZERO, done))) if self.low or self.high else done
        if self.low or self.high:
            high = atoms.make(Greatest((low, high)))
        (value, modulus), *more = self.residue
        if more:
            raise UnderivableError("two congruences on one iteration")
        above = atoms.make(Floor(high - ONE - value, modulus))
        return above - atoms.make(Floor(low - ONE - value, modulus))


def bounds_on(cond: Formula, mark: str, span: Span | None, atoms: Atoms) -> tuple[Formula, Bounds]:
    """``cond`` as what does not name ``mark``, and bounds on it."""
    rest: list[Formula] = []
    bounds = Bounds()
    for part in cond.parts if isinstance(cond, All) else (cond,):
        names = atoms.closure(n for p in polys(part) for n in p.symbols())
        if mark not in names:
            rest.append(part)
            continue
        more = _bound(part, mark, span, atoms)
        bounds = Bounds(
            (*bounds.low, *more.low),
            (*bounds.high, *more.high),
            (*bounds.residue, *more.residue),
        )
    return conj(rest), bounds


def congruent(left: Poly, right: Poly, modulus: Poly, atoms: Atoms) -> Formula:
    """``modulus`` divides the difference; :func:`passed` counts by it."""
    gap = left - right
    return eq(gap, modulus * atoms.make(Floor(gap, modulus)))


def _gap(poly: Poly, atoms: Atoms) -> tuple[Poly, Poly] | None:
    """The difference and the modulus of a congruence that :func:`congruent` made."""
    for name in sorted(poly.symbols()):
        atom = atoms.by_name.get(name)
        if isinstance(atom, Floor):
            made = atom.num - atom.den * symbol(name)
            if poly in (made, made.scaled(-1)):
                return atom.num, atom.den
    return None


def _bound(part: Formula, mark: str, span: Span | None, atoms: Atoms) -> Bounds:
    if isinstance(part, Le | Lt | Eq):
        apart = _gap(part.poly, atoms) if isinstance(part, Eq) else None
        poly, modulus = (part.poly, None) if apart is None else apart
        slope = poly.coefficient(mark)
        rest = poly - symbol(mark).scaled(slope or 0)
        free = (*rest.symbols(), *(() if modulus is None else modulus.symbols()))
        plain = mark not in atoms.closure(free) and atoms.is_integer(rest)
        if plain and slope in (1, -1):
            at = rest.scaled(-slope)  # the value of the variable where the polynomial is 0
            if modulus is not None:
                return Bounds(residue=((at, modulus),))
            if isinstance(part, Eq):
                return Bounds((at,), (at + ONE,))
            strict = isinstance(part, Lt)
            if slope == 1:
                return Bounds(high=(at if strict else at + ONE,))
            return Bounds(low=(at + ONE if strict else at,))
    raise UnderivableError("a count that varies with the iteration", span)

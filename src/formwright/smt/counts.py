"""How many barriers, commits or waits an agent has passed: closed forms (rules P7 and P9)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

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
from formwright.smt.atoms import Atoms, Choice, Greatest, Least
from formwright.smt.encode import UnderivableError, number, truth
from formwright.smt.instances import Instance
from formwright.smt.terms import (
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


def passed(instance: Instance, start: int, kind: type[Stmt], atoms: Atoms) -> Count:
    """Statements of ``kind`` that the agent passed before this run, from frame ``start`` on."""
    total = Count()
    for frame in instance.site.frames[start:]:
        for stmt in frame.block[: frame.position]:
            total = total + _whole(stmt, instance.env, kind, atoms)
        node = frame.node
        if isinstance(node, For):
            lo, here = number(node.lo, instance.env, atoms), instance.env[node.var]
            total = total + _iterated(node, lo, here, instance.env, kind, atoms)
    return total


def _whole(stmt: Stmt, env: Mapping[str, Poly], kind: type[Stmt], atoms: Atoms) -> Count:
    match stmt:
        case For(_, lo, hi):
            first, last = number(lo, env, atoms), number(hi, env, atoms)
            return _iterated(stmt, first, last, env, kind, atoms).when(le(first, last))
        case If(cond, body):
            inner = _body(body, env, kind, atoms)
            return inner.when(truth(cond, env, atoms)) if inner.parts else inner
        case Par(_, _, _, body):
            return Count()
        case Barrier() | Commit() | Wait() | Alloc() | Apply() | Arrive() | Await() | Hint():
            return Count(((TRUE, ONE),)) if isinstance(stmt, kind) else Count()
        case _:
            assert_never(stmt)


def _body(body: tuple[Stmt, ...], env: Mapping[str, Poly], kind: type[Stmt], atoms: Atoms) -> Count:
    total = Count()
    for stmt in body:
        total = total + _whole(stmt, env, kind, atoms)
    return total


def _iterated(
    loop: For, first: Poly, last: Poly, env: Mapping[str, Poly], kind: type[Stmt], atoms: Atoms
) -> Count:
    """The count over the iterations ``first <= var < last`` (at least none)."""
    mark = f"{loop.var}@each"
    total = Count()
    for cond, part in _body(loop.body, {**env, loop.var: symbol(mark)}, kind, atoms).parts:
        if mark in atoms.closure(part.symbols()):
            raise UnderivableError("a count that varies with the iteration", loop.span)
        always, limits = _split(cond, mark, loop, atoms)
        low, high = first, last
        for below, limit in limits:
            if below:
                high = atoms.make(Least((high, limit)))
            else:
                low = atoms.make(Greatest((low, limit)))
        done = high - low
        if limits:
            done = atoms.make(Greatest((ZERO, done)))
        total = total + Count(((always, part * done),))
    return total


def _split(
    cond: Formula, mark: str, loop: For, atoms: Atoms
) -> tuple[Formula, list[tuple[bool, Poly]]]:
    """``cond`` as what does not vary with the iteration, and bounds on it.

    A bound ``(True, x)`` means iterations below ``x``, ``(False, x)`` those from ``x`` on.
    """
    rest: list[Formula] = []
    limits: list[tuple[bool, Poly]] = []
    for part in cond.parts if isinstance(cond, All) else (cond,):
        names = atoms.closure(n for p in polys(part) for n in p.symbols())
        if mark not in names:
            rest.append(part)
            continue
        limits += _bound(part, mark, loop, atoms)
    return conj(rest), limits


def _bound(part: Formula, mark: str, loop: For, atoms: Atoms) -> list[tuple[bool, Poly]]:
    if isinstance(part, Le | Lt | Eq):
        slope = part.poly.coefficient(mark)
        rest = part.poly - symbol(mark).scaled(slope or 0)
        plain = mark not in atoms.closure(rest.symbols()) and atoms.is_integer(rest)
        if plain and slope in (1, -1):
            at = rest.scaled(-slope)  # the value of the variable where the polynomial is 0
            if isinstance(part, Eq):
                return [(False, at), (True, at + ONE)]
            strict = isinstance(part, Lt)
            if slope == 1:
                return [(True, at if strict else at + ONE)]
            return [(False, at + ONE if strict else at)]
    raise UnderivableError("a count that varies with the iteration", loop.span)

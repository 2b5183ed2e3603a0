"""Solving for the run that must exist: unit coefficients first, then mixed radix."""

from collections.abc import Sequence
from itertools import pairwise
from math import gcd

from formwright.smt.atoms import Atoms, Floor
from formwright.smt.terms import ONE, ZERO, Number, Poly, constant


def eliminate(
    equations: Sequence[Poly], unknowns: Sequence[str], atoms: Atoms
) -> tuple[dict[str, Poly], list[Poly]]:
    """Solves ``equation = 0`` for unknowns that stand alone with coefficient 1 or -1.

    Later unknowns (inner ones) are taken first. Returns the solution, closed under itself,
    and the equations that are left. No solution is lost: each step is an equivalence.
    """
    solution: dict[str, Poly] = {}
    rest: list[Poly] = []
    for equation in equations:
        now = _reduced(equation.substituted(solution))
        if now == ZERO:
            continue
        name = _isolated(now, unknowns, atoms)
        if name is None:
            rest.append(now)
            continue
        slope = now.coefficient(name) or 1
        value = (now - _single(name, slope)).scaled(-slope)
        solution = {n: p.substituted({name: value}) for n, p in solution.items()}
        solution[name] = value
    return solution, [r for r in (p.substituted(solution) for p in rest) if r != ZERO]


def _reduced(equation: Poly) -> Poly:
    """The same equation with smaller coefficients: ``2*p - 2*q = 0`` is ``p - q = 0``."""
    numbers = [c for _, c in equation.terms if isinstance(c, int)]
    if len(numbers) < len(equation.terms) or gcd(*numbers) < 2:
        return equation
    return equation.divided(constant(gcd(*numbers))) or equation


def _single(name: str, slope: Number) -> Poly:
    return Poly((((name,), 1 if slope == 1 else -1),))


def _isolated(equation: Poly, unknowns: Sequence[str], atoms: Atoms) -> str | None:
    for name in reversed(unknowns):
        if equation.coefficient(name) in (1, -1):
            others = equation.symbols() - {name}
            if name not in atoms.closure(others):
                return name
    return None


def mixed_radix(target: Poly, form: Poly, unknowns: Sequence[str], atoms: Atoms) -> dict[str, Poly]:
    """Values of ``unknowns`` (outermost first) with ``form = target``, by division.

    ``form`` is read as a sum of unknown times stride. From the outside each unknown is a
    quotient by its stride; where the strides below divide one another, the digits are taken
    from the inside. An innermost stride of -1 counts its digit from the other end, and where
    all strides are negative all digits do. The caller checks that the values do what they should.
    """
    strides = [(n, form.cofactor(n)) for n in unknowns if form.cofactor(n) != ZERO]
    strides.sort(key=lambda s: s[1] == ONE)  # an outer name may count the terms of a block
    if strides and all(c < 0 for _, stride in strides for _, c in stride.terms):
        return mixed_radix(target.scaled(-1), form.scaled(-1), unknowns, atoms)
    if strides and strides[-1][1] == constant(-1):
        return _reversed_digit(target, form, strides, atoms)
    offset = form.substituted({n: ZERO for n, _ in strides})
    return _divided(target - offset, strides, atoms)


def _reversed_digit(
    target: Poly, form: Poly, strides: list[tuple[str, Poly]], atoms: Atoms
) -> dict[str, Poly]:
    last = strides[-1][0]
    values = _divided(target, [*strides[:-1], (last, ONE)], atoms)
    del values[last]
    values[last] = form.substituted({**values, last: ZERO}) - target
    return values


def _divided(left: Poly, strides: list[tuple[str, Poly]], atoms: Atoms) -> dict[str, Poly]:
    values: dict[str, Poly] = {}
    while strides:
        ratios = _chain(strides)
        if ratios is not None:
            values.update(_digits(left, strides, ratios, atoms))
            return values
        name, stride = strides.pop(0)
        values[name] = atoms.make(Floor(left, stride))
        left = left - values[name] * stride
    return values


def _chain(strides: list[tuple[str, Poly]]) -> list[Poly] | None:
    """How often each stride goes into the one before, if the last is 1 and all go."""
    if strides[-1][1] != ONE:
        return None
    ratios: list[Poly] = []
    for (_, outer), (_, inner) in pairwise(strides):
        ratio = outer.divided(inner)
        if ratio is None:
            return None
        ratios.append(ratio)
    return ratios


def _digits(
    left: Poly, strides: list[tuple[str, Poly]], ratios: list[Poly], atoms: Atoms
) -> dict[str, Poly]:
    values: dict[str, Poly] = {}
    for (name, _), ratio in zip(reversed(strides[1:]), reversed(ratios), strict=True):
        whole = atoms.make(Floor(left, ratio))
        values[name] = left - whole * ratio
        left = whole
    values[strides[0][0]] = left
    return values

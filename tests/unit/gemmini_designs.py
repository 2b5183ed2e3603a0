"""Designs of Gemmini's templates, their cost and what they need, by ``evaluate`` alone."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from itertools import product

from formwright.chip.library import Library
from formwright.chip.library_files import load_library
from formwright.ir.evaluate import evaluate, truth
from formwright.ir.expr import Scalar
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.lang import load
from formwright.milp.problem import objective_expression

KIB = 1024
HOLDS = ("weights", "inputs", "outputs")


@cache
def template(holds: str) -> Template:
    return inlined(load(f"gemmini_hold_{holds}")[1])


@cache
def library() -> Library:
    return load_library("gemmini")


def chip_values(pe: int, sp: int, acc: int) -> dict[str, Scalar]:
    """``chip.NAME`` of an array of ``pe``, memories of ``sp`` and ``acc`` KiB."""
    menus = [field.menu for field in library().fields]
    wanted = (pe, sp * KIB, acc * KIB)
    return library().values(tuple(m.index(w) for m, w in zip(menus, wanted, strict=True)))


def costs(
    of: Template, extents: Mapping[str, int], design: Mapping[str, int], chip: Mapping[str, Scalar]
) -> tuple[Fraction, Fraction]:
    """Cycles and microjoules."""
    values = {**extents, **design, **chip}
    assert of.cost is not None
    assert of.cost.energy is not None
    time = evaluate(objective_expression(of.cost.bounds), values)
    return Fraction(time), Fraction(evaluate(of.cost.energy, values))


def fits(
    of: Template, extents: Mapping[str, int], design: Mapping[str, int], chip: Mapping[str, Scalar]
) -> bool:
    return all(truth(c.condition, {**extents, **design, **chip}) for c in of.constraints)


def designs(of: Template, extents: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """All designs that keep the constraints without a chip; for small extents."""
    free = [c.condition for c in of.constraints if c.wall is None]
    menus = {d.name: d.menu for d in of.decisions}
    rows = [v for v in menus["Tm"] if v <= extents["M"] + 7]
    deep = _pairs(menus["Tk"], menus["Sk"], extents["K"] + 7)
    wide = _pairs(menus["Tn"], menus["Sn"], extents["N"] + 7)
    for tm, (tk, sk), (tn, sn) in product(rows, deep, wide):
        design = {"Tm": tm, "Tk": tk, "Tn": tn, "Sk": sk, "Sn": sn}
        if all(truth(c, {**extents, **design}) for c in free):
            yield design


def _pairs(tiles: tuple[int, ...], parts: tuple[int, ...], most: int) -> list[tuple[int, int]]:
    return [(a, b) for a in tiles for b in parts if a <= most and a % b == 0]

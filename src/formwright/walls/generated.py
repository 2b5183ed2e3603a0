"""Problems whose answer is known because they were built around it.

The example of section 3.1 of the paper, and random ones after it: many walls, programs that pay
step by step, and hidden programs that need a pair or a triple of walls at once.
"""

from dataclasses import dataclass
from fractions import Fraction
from random import Random

from formwright.chip.library import AreaTerm, Library, MenuField, Point
from formwright.ir.expr import Arith, Expr, Var, num
from formwright.walls.finite import FiniteInner, FiniteScenario, Program


@dataclass(frozen=True, slots=True)
class Planted:
    """``hidden``: the sets of walls that only pay together. ``best``: the least objective within
    ``budget`` (mm2), known from the programs themselves."""

    inner: FiniteInner
    start: Point
    budget: Fraction
    hidden: tuple[frozenset[str], ...]

    @property
    def best(self) -> Fraction:
        return least_objective(self.inner, self.budget)


def example() -> Planted:
    """Two walls at capacity 1. Program A needs (1, 1) and costs 10, B needs (2, 2) and costs 1."""
    library = _library([2, 2], [Fraction(1), Fraction(1)])
    programs = (
        Program("A", {"wall1": 1, "wall2": 1}, num(10)),
        Program("B", {"wall1": 2, "wall2": 2}, num(1)),
    )
    inner = FiniteInner(library, (FiniteScenario("all", programs, reference=Fraction(10)),))
    return Planted(inner, (0, 0), Fraction(4), (frozenset({"wall1", "wall2"}),))


def generate(seed: int, walls: int = 12, hidden: int = 2, far: int = 1) -> Planted:
    """A problem with ``walls`` walls and one hidden set of ``hidden`` walls, ``far`` menu places
    out at most.

    The start runs program ``base``. A few programs need one more wall each and pay a little, so
    that the algorithm has something to buy. The hidden program needs every wall of its set and
    pays the most; the ceiling has room for all of these. Up to three decoys pay more still, but
    need a chip over it.
    """
    random = Random(f"planted {seed} {walls} {hidden} {far}")
    sizes = [random.randint(4, 8) for _ in range(walls)]
    unit = [Fraction(random.randint(1, 20), 10) for _ in range(walls)]
    library = _library(sizes, unit)
    names = [f.name for f in library.fields]
    chosen = random.sample(names, hidden)
    rest = [n for n in names if n not in chosen]
    needs = dict.fromkeys(names, 1)
    programs = [Program("base", needs, num(1000))]
    cost = 1000
    for n, wall in enumerate(random.sample(rest, min(3, len(rest)))):
        cost -= random.randint(20, 60)
        programs.append(Program(f"single{n}", {**needs, wall: random.randint(2, 3)}, num(cost)))
    reach = {n: 1 + random.randint(1, far) for n in chosen}
    programs.append(Program("hidden", {**needs, **reach}, num(random.randint(200, 500))))
    base = library.area(library.start)
    budget = sum((library.area(least_chip(library, p)) - base for p in programs), base)
    tops = dict(zip(names, sizes, strict=True))
    for n in range(3):
        chosen_tops = {w: tops[w] for w in random.sample(rest, random.randint(2, 4))}
        decoy = Program(f"decoy{n}", {**needs, **chosen_tops}, num(random.randint(1, 150)))
        if library.area(least_chip(library, decoy)) > budget:
            programs.append(decoy)
    random.shuffle(programs)
    inner = FiniteInner(
        library, (FiniteScenario("all", tuple(programs), reference=Fraction(1000)),)
    )
    return Planted(inner, library.start, budget, (frozenset(chosen),))


def least_chip(library: Library, program: Program) -> Point:
    """The least place of each field that admits the program."""
    return tuple(
        next(n for n, value in enumerate(f.menu) if value >= program.needs.get(f.name, 0))
        for f in library.fields
    )


def least_objective(inner: FiniteInner, budget: Fraction) -> Fraction:
    """By enumeration of the programs of a single scenario, whose costs leave the chip alone."""
    (scenario,) = inner.scenarios
    costs = []
    for program in scenario.programs:
        chip = least_chip(inner.library, program)
        if inner.library.area(chip) <= budget:
            objective = inner.solve(chip).objective
            assert objective is not None
            costs.append(objective)
    return min(costs)


def _library(sizes: list[int], unit: list[Fraction]) -> Library:
    """Walls ``wall1``, … with menus 1 .. size; each step of wall ``n`` takes ``unit[n]`` mm2."""
    names = [f"wall{n}" for n in range(1, len(sizes) + 1)]
    return Library(
        name="generated",
        description="walls with unit steps",
        fields=tuple(
            MenuField(name, "count", tuple(range(1, size + 1)), "capacity", 0, "generated")
            for name, size in zip(names, sizes, strict=True)
        ),
        derived=(),
        rules=(),
        area_terms=tuple(
            AreaTerm(name, _times(u, name), "generated")
            for name, u in zip(names, unit, strict=True)
        ),
        unmodelled={},
    )


def _times(unit: Fraction, name: str) -> Expr:
    return Arith("*", num(unit), Var(f"chip.{name}"))

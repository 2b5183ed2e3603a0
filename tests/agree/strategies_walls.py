"""Small inner problems over listed programs, with capacities and fields that change costs."""

from fractions import Fraction

from hypothesis import strategies as st

from formwright.chip.library import AreaTerm, Library, MenuField, Rule
from formwright.ir.expr import Arith, Compare, Expr, Var, num
from formwright.walls.finite import FiniteInner, FiniteScenario, Program

NAMES = ("a", "b", "c", "d")


def chip(name: str) -> Var:
    return Var(f"chip.{name}")


@st.composite
def menus(draw: st.DrawFn, name: str) -> MenuField:
    values = draw(st.lists(st.integers(1, 12), min_size=1, max_size=4, unique=True))
    return MenuField(name, "count", tuple(sorted(values)), "both", 0, "drawn")


@st.composite
def libraries(draw: st.DrawFn, rules: bool = True) -> Library:
    """Two to four fields; the area is a positive sum, with one product at times."""
    fields = tuple(draw(menus(name)) for name in NAMES[: draw(st.integers(2, 4))])
    terms = [
        AreaTerm(f.name, Arith("*", num(draw(st.integers(1, 5))), chip(f.name)), "drawn")
        for f in fields
    ]
    if draw(st.booleans()):
        terms.append(AreaTerm("both", Arith("*", chip("a"), chip("b")), "drawn"))
    rule = Rule("ordered", Compare("<=", chip("a"), Arith("+", chip("b"), num(4))))
    kept = (rule,) if rules and draw(st.booleans()) else ()
    return Library("drawn", "", fields, (), kept, tuple(terms), {})


@st.composite
def costs(draw: st.DrawFn, library: Library, capacities_only: bool) -> Expr:
    """A number, falling in a field, or rising in one."""
    base = num(draw(st.integers(1, 40)))
    kind = "number" if capacities_only else draw(st.sampled_from(("number", "falls", "rises")))
    if kind == "number":
        return base
    field = chip(draw(st.sampled_from([f.name for f in library.fields])))
    varied = Arith("/" if kind == "falls" else "*", base, field)
    return Arith("+", varied, num(draw(st.integers(0, 5))))


@st.composite
def finite_inners(draw: st.DrawFn, capacities_only: bool = False) -> FiniteInner:
    library = draw(libraries())
    scenarios = []
    for name in ("prefill", "decode")[: draw(st.integers(1, 2))]:
        programs = []
        for nth in range(draw(st.integers(1, 5))):
            needs = draw(
                st.dictionaries(
                    st.sampled_from([f.name for f in library.fields]),
                    st.integers(1, 12),
                    max_size=3,
                )
            )
            programs.append(Program(f"p{nth}", needs, draw(costs(library, capacities_only))))
        scenarios.append(
            FiniteScenario(
                name,
                tuple(programs),
                Fraction(draw(st.integers(1, 4)), 2),
                Fraction(draw(st.integers(1, 9))),
            )
        )
    joined = draw(st.sampled_from(("worst", "weighted")))
    return FiniteInner(library, tuple(scenarios), joined)


def budgets() -> st.SearchStrategy[Fraction | None]:
    return st.one_of(st.none(), st.integers(5, 120).map(Fraction))

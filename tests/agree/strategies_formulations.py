"""Random formulations on a small library: walls, costs and energies that read the chip."""

from fractions import Fraction
from functools import cache

from hypothesis import strategies as st

from formwright.base.source import Source
from formwright.chip.library import AreaTerm, Derived, Library, MenuField, Role
from formwright.ir.expr import Arith, Var
from formwright.ir.template import Template
from formwright.lang import parse

ROOM = tuple(Var(f"chip.{n}") for n in ("p", "q", "r"))
FIELDS: tuple[tuple[str, Role, tuple[int | Fraction, ...]], ...] = (
    ("p", "both", (1, 2, 3, 7)),
    ("q", "capacity", (1, 4, 6, 24)),
    ("r", "capacity", (Fraction(1, 2), Fraction(7, 2), 9)),
    ("s", "fixed", (Fraction(3, 10),)),
)
LIBRARY = Library(
    name="small",
    description="three fields and a product of two",
    fields=tuple(
        MenuField(name, "count", menu, role, 0, "of this test") for name, role, menu in FIELDS
    ),
    derived=(Derived("pq", Arith("*", ROOM[0], ROOM[1]), "of this test"),),
    rules=(),
    area_terms=(AreaTerm("all", Arith("+", Arith("+", ROOM[0], ROOM[1]), ROOM[2]), "a test"),),
    unmodelled={},
)
EXTENTS = {"M": 12}

TEMPLATE = """\
template {name} : operator -> mapping

scope
  workload C[M] = A[M]
  extents  M >= 1
  chip     p >= 1, q >= 1, r > 0, s > 0, pq >= 1
{where}
decisions
  x in {{1, 2, 3, 4}}
  y in {{1, 3, 5}}
  z in {{0, 1, 2}}

constraints
{constraints}

formulation "a test"

cost T seconds
  coefficient c = {coefficient}
{bounds}
  energy joules = {energy}
{prefer}
"""

_OWN = ("x", "y", "z", "chip.p", "chip.q", "chip.r", "chip.s", "chip.pq", "M", "2", "0.3")
_LEAVES = (*_OWN, "c")
_POSITIVE = ("x", "y", "chip.p", "chip.q", "chip.r", "chip.s", "chip.pq", "M")


@cache
def numbers(depth: int = 2, leaves: tuple[str, ...] = _LEAVES) -> st.SearchStrategy[str]:
    """Terms that have a value everywhere: divisors are positive names."""
    leaf = st.sampled_from(leaves)
    if depth == 0:
        return leaf
    inner = numbers(depth - 1, leaves)
    return st.one_of(
        leaf,
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, st.sampled_from(_POSITIVE)).map(lambda t: f"({t[0]}/{t[1]})"),
        st.tuples(st.sampled_from(("ceil", "floor")), inner, st.sampled_from(_POSITIVE)).map(
            lambda t: f"{t[0]}({t[1]}/{t[2]})"
        ),
        st.tuples(st.sampled_from(("min", "max")), inner, inner).map(
            lambda t: f"{t[0]}({t[1]}, {t[2]})"
        ),
        st.tuples(inner, inner, inner).map(
            lambda t: f"(if {t[0]} <= {t[1]} then {t[1]} else {t[2]})"
        ),
        st.tuples(st.sampled_from(("x", "M")), st.sampled_from(("y", "(z + 1)"))).map(
            lambda t: f"({t[0]} mod {t[1]} + {t[0]} // {t[1]})"
        ),
        inner.map(lambda e: f"(sum(k{depth} in 0 .. 3) {e}*k{depth})"),
    )


def walls() -> st.SearchStrategy[str]:
    need = st.one_of(st.sampled_from(("x", "x*y", "x + z", "x*y/2", "3*chip.s*x", "x*chip.p")),
                     numbers(1, _OWN))  # fmt: skip
    field = st.sampled_from(("p", "q", "r", "pq"))
    return st.tuples(field, need, st.sampled_from(("<=", "<"))).map(
        lambda t: f" wall {t[0]} : {t[1]} {t[2]} chip.{t[0]}"
    )


@st.composite
def templates(draw: st.DrawFn, name: str = "drawn") -> Template:
    lines = draw(st.lists(walls(), min_size=1, max_size=3))
    plain = st.tuples(numbers(1, _OWN), numbers(1, _OWN)).map(lambda t: f" : {t[0]} <= {t[1]}")
    lines += draw(st.lists(plain, max_size=2))
    bounds = draw(st.lists(numbers(), min_size=1, max_size=2))
    guarded = draw(st.booleans())
    text = TEMPLATE.format(
        name=name,
        where=draw(st.sampled_from(("", "  where    chip.p <= chip.q\n"))),
        constraints="\n".join(f"  C{i}{line}" for i, line in enumerate(lines)),
        coefficient=draw(st.sampled_from(("1", "0.7", "2"))),
        bounds="\n".join(
            [f"  T >= {b}" for b in bounds] + (["  T >= y*chip.q if z = 1"] if guarded else [])
        ),
        energy=draw(numbers()),
        prefer="\n".join(f"  prefer {p}" for p in draw(st.lists(numbers(1), max_size=2))),
    )
    return parse(Source("drawn.fw", text))


points = st.tuples(*(st.integers(0, len(menu) - 1) for _, _, menu in FIELDS))


def boxes() -> st.SearchStrategy[tuple[tuple[int, int], ...]]:
    return st.tuples(points, points).map(
        lambda t: tuple((min(a, b), max(a, b)) for a, b in zip(*t, strict=True))
    )

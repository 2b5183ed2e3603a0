"""Polynomials, formulas, atoms and the search for witnesses."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from formwright.smt.atoms import Atoms, Ceil, Floor, Greatest, Least
from formwright.smt.terms import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Poly,
    conj,
    constant,
    disj,
    eq,
    le,
    lt,
    negated,
    symbol,
)
from formwright.smt.witness import eliminate, mixed_radix

NAMES = ("a", "b", "c")
monos = st.lists(st.sampled_from(NAMES), max_size=3).map(lambda n: tuple(sorted(n)))
polys = st.lists(st.tuples(monos, st.integers(-4, 4)), max_size=5).map(
    lambda terms: sum((_term(m, c) for m, c in terms), ZERO)
)
values = st.fixed_dictionaries({n: st.integers(-5, 5) for n in NAMES})


def _term(mono: tuple[str, ...], coefficient: int) -> Poly:
    part = constant(coefficient)
    for name in mono:
        part = part * symbol(name)
    return part


@given(polys, polys, values)
def test_algebra_keeps_values(p: Poly, q: Poly, at: dict[str, int]) -> None:
    atoms = Atoms()
    x, y = atoms.value(p, at), atoms.value(q, at)
    assert atoms.value(p + q, at) == x + y
    assert atoms.value(p - q, at) == x - y
    assert atoms.value(p * q, at) == x * y
    assert p - p == ZERO
    assert p * q == q * p


@given(polys, polys, values)
def test_negation_turns_every_truth_round(p: Poly, q: Poly, at: dict[str, int]) -> None:
    atoms = Atoms()
    for formula in (le(p, q), lt(p, q), eq(p, q), conj((le(p, q), lt(q, p))), disj((eq(p, q),))):
        assert atoms.holds(negated(formula), at) is not atoms.holds(formula, at)


@given(polys, values)
def test_cofactor_gathers_a_symbol(p: Poly, at: dict[str, int]) -> None:
    rest = Poly(tuple((m, c) for m, c in p.terms if "a" not in m))
    assert symbol("a") * p.cofactor("a") + rest == p


@given(polys, polys, values)
def test_definitions_hold_of_their_values(p: Poly, q: Poly, at: dict[str, int]) -> None:
    atoms = Atoms()
    for atom in (Ceil(p, constant(3)), Floor(p, constant(3)), Least((p, q)), Greatest((p, q))):
        made = atoms.make(atom)
        number = atoms.value(made, at)
        assert isinstance(number, int)
        for name in made.symbols() & set(atoms.by_name):
            assert atoms.holds(atoms.definition(name), at)


def test_definitions_say_nothing_of_a_divisor_below_one() -> None:
    atoms = Atoms()
    (name,) = atoms.make(Ceil(symbol("a"), symbol("b"))).symbols()
    definition = atoms.definition(name)
    assert atoms.holds(negated(le(ONE, symbol("b"))), {"b": 0})
    shown = definition
    assert shown.parts[0] == negated(le(ONE, symbol("b")))  # type: ignore[union-attr]


def test_equal_expressions_are_one_symbol() -> None:
    atoms = Atoms()
    one = atoms.make(Ceil(symbol("a") + symbol("b"), symbol("c")))
    other = atoms.make(Ceil(symbol("b") + symbol("a"), symbol("c")))
    assert one == other
    assert atoms.make(Ceil(constant(7), constant(2))) == constant(4)
    assert atoms.make(Floor(constant(-7), constant(2))) == constant(-4)


def test_constants_decide_formulas() -> None:
    assert le(ONE, constant(2)) == TRUE
    assert lt(ONE, ONE) == FALSE
    assert eq(symbol("a"), symbol("b")) == eq(symbol("b"), symbol("a"))


def test_elimination_takes_inner_unknowns_with_unit_coefficients() -> None:
    atoms = Atoms()
    i, r, t, x = (symbol(n) for n in ("i", "r", "T", "x"))
    solved, rest = eliminate([i * t + r - x, r - constant(3)], ["i", "r"], atoms)
    assert solved == {"r": x - i * t}
    assert rest == [x - i * t - constant(3)]


def test_elimination_does_not_solve_through_a_definition() -> None:
    atoms = Atoms()
    u = symbol("u")
    hidden = atoms.make(Ceil(u, symbol("T")))
    solved, rest = eliminate([u - hidden], ["u"], atoms)
    assert solved == {}
    assert rest == [u - hidden]


@given(st.integers(0, 400), st.integers(1, 6), st.integers(1, 6))
def test_mixed_radix_digits_rebuild_the_index(x: int, jb: int, nr: int) -> None:
    atoms = Atoms()
    nest = (symbol("j") * symbol("Jb") + symbol("q")) * symbol("Nr") + symbol("s")
    digits = mixed_radix(symbol("x"), nest, ["j", "q", "s"], atoms)
    at = {"x": x, "Jb": jb, "Nr": nr}
    found = {n: atoms.value(p, at) for n, p in digits.items()}
    assert found == {"j": x // nr // jb, "q": x // nr % jb, "s": x % nr}


def test_strides_that_do_not_divide_are_taken_from_the_outside() -> None:
    atoms = Atoms()
    nest = symbol("ic") * symbol("Mc") + symbol("ir") * symbol("Mr") + symbol("r")
    digits = mixed_radix(symbol("x"), nest, ["ic", "ir", "r"], atoms)
    at = {"x": 137, "Mc": 100, "Mr": 8}
    assert [atoms.value(digits[n], at) for n in ("ic", "ir", "r")] == [1, 4, 5]


def test_a_digit_that_counts_down() -> None:
    atoms = Atoms()
    nest = symbol("i") * symbol("T") + symbol("T") - ONE - symbol("r")
    digits = mixed_radix(symbol("x"), nest, ["i", "r"], atoms)
    at = {"x": 13, "T": 5}
    assert [atoms.value(digits[n], at) for n in ("i", "r")] == [2, 1]


def test_fractions_are_exact() -> None:
    atoms = Atoms()
    third = symbol("a").scaled(Fraction(1, 3))
    assert atoms.value(third + third + third, {"a": 1}) == 1
    assert not atoms.is_integer(third)

"""Terms are multisets of products: nothing lost, doubled or foreign stays hidden."""

from fractions import Fraction

import pytest

from formwright.replay.terms import ExpansionError, Terms, show_monomial


def test_sums_count_their_terms() -> None:
    terms = Terms()
    a, b = terms.token("A", (0, 2)), terms.token("B", (2, 1))
    product = terms.op("*", (a, b))
    twice = terms.op("+", (product, terms.op("*", (b, a))))
    (monomial, count), *rest = terms.polynomial(twice).items()
    assert count == 2
    assert not rest
    assert show_monomial(monomial) == "A[0,2]*B[2,1]"


def test_a_term_taken_away_again_is_gone() -> None:
    terms = Terms()
    a, b = terms.token("A", (0,)), terms.token("B", (0,))
    value = terms.op("-", (terms.op("+", (a, b)), a))
    assert terms.polynomial(value) == terms.polynomial(b)


def test_products_of_sums_are_expanded() -> None:
    terms = Terms()
    a, b, c = (terms.token(n, (0,)) for n in "ABC")
    left = terms.op("*", (terms.op("+", (a, b)), c))
    right = terms.op("+", (terms.op("*", (a, c)), terms.op("*", (b, c))))
    assert terms.polynomial(left) == terms.polynomial(right)


def test_zero_hides_known_factors_only() -> None:
    terms = Terms()
    known, unknown = terms.token("A", (0,)), terms.token("?sA<1>", (0,))
    assert terms.polynomial(terms.op("*", (terms.zero, known))) == {}
    kept = terms.op("*", (terms.zero, unknown))
    assert kept != terms.zero


def test_maximum_forgets_order_and_repeats() -> None:
    terms = Terms()
    a, b = terms.token("A", (0,)), terms.token("A", (1,))
    left = terms.op("max", (terms.op("max", (a, b)), a))
    right = terms.op("max", (b, a))
    assert terms.polynomial(left) == terms.polynomial(right)
    assert terms.polynomial(left) != terms.polynomial(terms.op("max", (a, a)))


def test_a_maximum_of_one_value_is_that_value() -> None:
    terms = Terms()
    a, b = terms.token("A", (0,)), terms.token("A", (1,))
    total = terms.op("+", (terms.op("+", (terms.zero, a)), b))
    other = terms.op("+", (b, a))
    for name in ("max", "min"):
        same = terms.op(name, (total, terms.op(name, (other, total))))
        assert terms.polynomial(same) == terms.polynomial(total)
        # It is a value like any other: it adds up and multiplies out.
        doubled = terms.op("+", (same, total))
        assert set(terms.polynomial(doubled).values()) == {2}


def test_of_numbers_the_largest_or_the_least_stays() -> None:
    terms = Terms()
    a = terms.token("A", (0,))
    low, high = terms.literal(Fraction(-5)), terms.literal(Fraction(1, 2))
    for name, kept, lost in (("max", high, low), ("min", low, high)):
        assert terms.polynomial(terms.op(name, (low, high))) == terms.polynomial(kept)
        both = terms.op(name, (terms.op(name, (a, lost)), kept))
        assert terms.polynomial(both) == terms.polynomial(terms.op(name, (a, kept)))
    zero = terms.op("max", (low, terms.zero))
    assert terms.polynomial(zero) == {}
    assert terms.polynomial(terms.op("max", (a, zero))) != terms.polynomial(a)


def test_functions_are_kept_apart_by_their_arguments() -> None:
    terms = Terms()
    a, b = terms.token("A", (0,)), terms.token("A", (1,))
    assert terms.polynomial(terms.op("exp", (a,))) != terms.polynomial(terms.op("exp", (b,)))
    half = terms.op("/", (a, terms.literal(Fraction(2))))
    assert terms.polynomial(half) != terms.polynomial(a)


def test_long_sums_do_not_recurse() -> None:
    terms = Terms()
    value = terms.zero
    for k in range(20_000):
        value = terms.op("+", (value, terms.token("A", (k,))))
    assert len(terms.polynomial(value)) == 20_000


def test_explosive_products_are_refused() -> None:
    terms = Terms()
    value = terms.literal(Fraction(1))
    for factor in range(6):
        total = terms.zero
        for k in range(12):
            total = terms.op("+", (total, terms.token("A", (factor, k))))
        value = terms.op("*", (value, total))
    with pytest.raises(ExpansionError):
        terms.polynomial(value)

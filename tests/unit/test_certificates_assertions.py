"""Recorded queries: normal form, JSON both ways, renaming; and formulas become them."""

import json
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from formwright.proof import assertions as data
from formwright.smt.atoms import Atoms
from formwright.smt.record import record, statement
from formwright.smt.terms import FALSE, TRUE, Negation, Poly, conj, disj, eq, le, lt, symbol

NAMES = ("a", "b", "a*b", "ceil!0")
coefficients = st.integers(-4, 4) | st.fractions(-2, 2, max_denominator=6)
rows = st.builds(
    data.row,
    st.sampled_from(("<=", "<", "=")),
    st.lists(st.tuples(st.sampled_from(NAMES), coefficients), max_size=4),
    coefficients,
)
statements = st.recursive(
    rows,
    lambda inner: (
        st.builds(data.Not, inner)
        | st.builds(data.All, st.lists(inner, max_size=3).map(tuple))
        | st.builds(data.Any, st.lists(inner, max_size=3).map(tuple))
    ),
    max_leaves=6,
)


def test_a_row_is_whole_and_coprime() -> None:
    """x/2 + y/3 - x <= 1 is -3x + 2y <= 6; an equation starts with a positive coefficient."""
    half, third = Fraction(1, 2), Fraction(1, 3)
    found = data.row("<=", [("x", half), ("y", third), ("x", -1)], 1)
    assert found == data.Row("<=", (("x", -3), ("y", 2)), 6)
    assert data.row("=", [("x", -2), ("y", 4)], 6) == data.Row("=", (("x", 1), ("y", -2)), -3)
    assert data.row("<", [], -5) == data.Row("<", (), -1)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.builds(data.Assertion, st.sampled_from(("goal", "fact")), statements)))
@pytest.mark.slow
def test_json_goes_both_ways(kept: list[data.Assertion]) -> None:
    query = data.recorded({"a": "Int", "b": "Real", "ceil!0": "Int"}, kept)
    text = json.dumps(data.query_json(query))
    assert data.read_query(json.loads(text)) == query


@pytest.mark.parametrize(
    "wrong",
    [
        ["<=", [["x", 2]], 4],
        ["<=", [["x", 1.0]], 4],
        ["<=", [["x", True]], 4],
        ["<=", [["y", 1], ["x", 1]], 4],
        ["<=", [["b*a", 1]], 4],
        ["=", [["x", -1]], 4],
        ["xor", ["<=", [["x", 1]], 4]],
        [">=", [["x", 1]], 4],
        ["not"],
        None,
    ],
)
def test_other_json_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match="not a"):
        data.read_statement(wrong)


def test_sorts_are_checked() -> None:
    good = {"sorts": {"x": "Int"}, "assertions": [["goal", ["<=", [["x", 1]], 0]]]}
    assert data.query_json(data.read_query(good)) == good
    for wrong in (
        {**good, "sorts": {}},
        {**good, "sorts": {"x": "Bool"}},
        {**good, "sorts": {"x": "Int", "y": "Int"}},
        {**good, "more": 1},
        {"sorts": {}},
    ):
        with pytest.raises(ValueError, match="not a"):
            data.read_query(wrong)


def test_renaming_reaches_into_products() -> None:
    found = data.renamed(data.row("<", [("a*b", 1), ("b", 2)], 0), {"b": "A"})
    assert found == data.Row("<", (("A", 2), ("A*a", 1)), 0)


polynomials = st.lists(
    st.tuples(st.sampled_from([(), ("a",), ("b",), ("a", "b")]), st.integers(-3, 3)), max_size=3
).map(lambda terms: sum((Poly(((m, c),)) for m, c in terms if c), Poly(())))
formulas = st.recursive(
    st.builds(le, polynomials, polynomials)
    | st.builds(lt, polynomials, polynomials)
    | st.builds(eq, polynomials, polynomials)
    | st.sampled_from((TRUE, FALSE)),
    lambda inner: (
        st.lists(inner, max_size=3).map(conj)
        | st.lists(inner, max_size=3).map(disj)
        | inner.map(Negation)
    ),
    max_leaves=5,
)


def _truth(s: data.Statement, values: dict[str, int]) -> bool:
    match s:
        case data.Row(relation, terms, bound):
            left = sum(c * values[n] for n, c in terms)
            return {"<=": left <= bound, "<": left < bound, "=": left == bound}[relation]
        case data.All(parts):
            return all(_truth(p, values) for p in parts)
        case data.Any(parts):
            return any(_truth(p, values) for p in parts)
        case data.Not(part):
            return not _truth(part, values)


@given(formulas)
def test_a_formula_and_its_record_are_true_together(formula: object) -> None:
    atoms = Atoms()
    for a, b in product(range(-2, 3), repeat=2):
        values = {"a": a, "b": b}
        named = {**values, "a*b": a * b}
        assert _truth(statement(formula), named) == atoms.holds(formula, values)  # type: ignore[arg-type]


def test_a_record_has_the_sorts_of_its_symbols() -> None:
    atoms = Atoms(real={"chip.flops"})
    product_ = symbol("M") * symbol("chip.flops")
    found = record([("goal", le(product_, symbol("N"))), ("fact", TRUE)], atoms)
    assert found.sorts == (("M", "Int"), ("N", "Int"), ("chip.flops", "Real"))
    assert data.sort_of("M*chip.flops", dict(found.sorts)) == "Real"
    assert [a.role for a in found.assertions] == ["goal", "fact"]

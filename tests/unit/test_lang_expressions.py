"""Precedence, grouping and kinds of expressions (rules L20 to L25), and their text."""

from fractions import Fraction

import pytest

from formwright.base.diagnostics import InputError
from formwright.ir.evaluate import evaluate
from formwright.ir.expr import Arith, Compare, Logic, Neg, Num, Var, num
from formwright.ir.show import show_expr, show_number
from formwright.lang import parse_expression

A, B, C = Var("a"), Var("b"), Var("c")


def test_l20_products_bind_more_than_sums_and_group_to_the_left() -> None:
    assert parse_expression("a - b*c") == Arith("-", A, Arith("*", B, C))
    assert parse_expression("a - b - c") == Arith("-", Arith("-", A, B), C)
    assert parse_expression("a / b mod c") == Arith("mod", Arith("/", A, B), C)
    assert parse_expression("-a * b") == Arith("*", Neg(A), B)


def test_l20_implication_is_weakest_and_groups_to_the_right() -> None:
    one = Compare("=", A, num(1))
    assert parse_expression("a = 1 => a = 1 => a = 1") == Logic("=>", one, Logic("=>", one, one))
    assert parse_expression("a = 1 and a = 1 or a = 1") == Logic("or", Logic("and", one, one), one)


def test_l22_a_chain_is_a_conjunction() -> None:
    expected = Logic("and", Compare("<=", A, B), Compare("<", B, C))
    assert parse_expression("a <= b < c") == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3 - 4", 3),
        ("-7 // 2", -4),
        ("(0 - 7) mod 3", 2),
        ("7 / 2 * 2", 7),
        ("ceil(7/2) + floor(7/2)", 7),
        ("1.8e12 / 1e12", Fraction(9, 5)),
        ("0.1 + 0.2 = 0.3", True),
        ("not 1 < 2 or 2 < 1", False),
        ("if 1 < 2 then 3 else 4 + 5", 3),
        ("(if 1 < 2 then 3 else 4) + 5", 8),
        ("sum(x in 1 .. 4) x * x", 14),
        ("sum(x in 1 .. 4) x <= 6", True),
        ("min(3, 1, 2) + max(4)", 5),
        ("1 < 2 <= 2", True),
        ("false => 1 // 0 = 1", True),
    ],
)
def test_l25_meaning_of_texts(text: str, value: object) -> None:
    assert evaluate(parse_expression(text), {}) == value


@pytest.mark.parametrize(
    "text",
    [
        "a - (b - c)",
        "a*(b + c)",
        "-(a + b)",
        "--a",
        "not (a = 1 and b = 1)",
        "(a = 1 => b = 1) => c = 1",
        "a = 1 or b = 1 and c = 1",
        "(if a = 1 then b else c) + 1",
        "sum(x in 0 .. a) x*b + c",
        "(sum(x in 0 .. a) x)*b",
        "a // b mod c",
        "min(a, b) = chip.x",
        "if (if a = 1 then true else false) then b else if a = 2 then c else a",
    ],
)
def test_show_gives_the_shortest_text_back(text: str) -> None:
    assert show_expr(parse_expression(text)) == text


def test_show_reads_well_what_no_file_holds() -> None:
    assert show_expr(Arith("*", num(-3), Num(Fraction(1, 3)))) == "-3*(1/3)"
    assert show_expr(Arith("-", A, num(-3)), tight=True) == "a--3"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(10**19), "1" + "0" * 19),
        (Fraction(10**20), "1e20"),
        (Fraction(1, 4), "0.25"),
        (Fraction(123, 10**6), "0.000123"),
        (Fraction(-5, 2), "-2.5"),
        (Fraction(1, 10**25), "1e-25"),
        (Fraction(1, 3), "1/3"),
        (Fraction(1, 6), "1/6"),
    ],
)
def test_numbers_as_text(value: Fraction, text: str) -> None:
    assert show_number(value) == text


@pytest.mark.parametrize("text", ["", "a b", "1 +", "(a", "a\nb", "a $ b", "x = = 1"])
def test_what_is_no_expression(text: str) -> None:
    with pytest.raises(InputError):
        parse_expression(text)

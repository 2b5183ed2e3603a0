"""The checker: what it accepts has no solution; what is changed it rejects; what it imports."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from formwright.proof import assertions as data
from formwright.proof.certificate import (
    Contradiction,
    Cut,
    Form,
    Point,
    Split,
    Sum,
    Theorem,
    certificate_json,
    nodes,
    read_certificate,
)
from formwright.proof.checker import Choice, Fact, RejectedError, check, facts_of, instance
from formwright.smt.certify.collect import Asked
from formwright.smt.certify.produce import certificate
from formwright.smt.certify.tree import Limits

SOURCE = Path(__file__).parents[2] / "src" / "formwright" / "proof"
INTS: dict[str, data.Sort] = dict.fromkeys("xyz", "Int")
VALUES = range(-2, 3)


def query(*statements: data.Statement, sorts: Mapping[str, data.Sort] = INTS) -> data.Recorded:
    return data.recorded(sorts, [data.Assertion("goal", s) for s in statements])


def le(*terms: tuple[str, int], bound: int = 0) -> data.Row:
    return data.row("<=", terms, bound)


def accepts(asked: data.Recorded, found: Any) -> bool:
    try:
        check(asked, found)
    except RejectedError:
        return False
    return True


def box(name: str) -> data.Statement:
    return data.All((le((name, 1), bound=2), le((name, -1), bound=2)))


rows = st.builds(
    data.row,
    st.sampled_from(("<=", "<", "=")),
    st.lists(st.tuples(st.sampled_from("xyz"), st.integers(-3, 3)), min_size=1, max_size=3),
    st.integers(-4, 4),
)
statements = st.recursive(
    rows,
    lambda inner: (
        st.builds(data.Not, inner)
        | st.builds(data.All, st.lists(inner, max_size=3).map(tuple))
        | st.builds(data.Any, st.lists(inner, max_size=3).map(tuple))
    ),
    max_leaves=5,
)
queries = st.lists(statements, min_size=1, max_size=5).map(
    lambda found: query(*found, *map(box, "xyz"))
)


def solutions(asked: data.Recorded) -> Iterator[dict[str, int]]:
    for values in product(VALUES, repeat=3):
        named = dict(zip("xyz", values, strict=True))
        if all(data.holds(a.statement, named) for a in asked.assertions):
            yield named


@settings(max_examples=examples(60), deadline=None)
@given(queries)
def test_a_query_has_a_certificate_if_and_only_if_it_has_no_solution(asked: data.Recorded) -> None:
    """Over a box of whole numbers all solutions can be tried."""
    found = certificate(Asked(asked), Limits(seconds=10))
    if next(solutions(asked), None) is None:
        assert isinstance(found, Contradiction), found
        check(asked, read_certificate(json.loads(json.dumps(certificate_json(found)))))
    else:
        assert isinstance(found, str)


rational_rows = st.lists(
    st.tuples(
        st.lists(st.integers(-9, 9), min_size=3, max_size=3),
        st.integers(-9, 9),
        st.integers(1, 9),
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=examples(60), deadline=None)
@given(rational_rows)
def test_rows_that_add_up_to_a_contradiction_over_the_reals(
    found: list[tuple[list[int], int, int, bool]],
) -> None:
    """The last row says that a positive sum of the others is too large."""
    reals: dict[str, data.Sort] = dict.fromkeys("xyz", "Real")
    made = [
        data.row("<" if strict else "<=", zip("xyz", c, strict=True), b)
        for c, b, _, strict in found
    ]
    total = [-sum(m * c[n] for c, _, m, _ in found) for n in range(3)]
    bound = -sum(m * b for _, b, m, _ in found)
    strict = any(s for _, _, _, s in found)
    last = data.row("<=" if strict else "<", zip("xyz", total, strict=True), bound)
    asked = query(*made, last, sorts=reals)
    result = certificate(Asked(asked), Limits(seconds=10))
    assert isinstance(result, Contradiction), result
    check(asked, result)


@given(statements)
def test_facts_say_what_their_statement_says(statement: data.Statement) -> None:
    facts = facts_of(statement, INTS)
    for values in product(VALUES, repeat=3):
        named = dict(zip("xyz", values, strict=True))
        assert all(_true(f, named) for f in facts) == data.holds(statement, named)


def _true(fact: Fact, values: dict[str, int]) -> bool:
    match fact:
        case Choice(ways):
            return any(all(_true(f, values) for f in way) for way in ways)
        case _:
            return data.holds(fact, values)


forms = st.builds(
    lambda terms, constant: Form(tuple(dict(terms).items()), constant),
    st.lists(st.tuples(st.sampled_from(("x", "y", "x*z")), st.integers(-3, 3)), max_size=3),
    st.integers(-2, 2),
)


@given(
    st.builds(Theorem, st.sampled_from(("times", "positive", "zero")), forms, forms),
    st.lists(st.fractions(-3, 3, max_denominator=4), min_size=3, max_size=3),
)
@pytest.mark.slow
def test_laws_hold_everywhere(theorem: Theorem, values: list[Fraction]) -> None:
    assert data.holds(instance(theorem), dict(zip("xyz", values, strict=True)))


BOX = [data.All((le((n, 1), bound=1), le((n, -1)))) for n in "xyz"]
PIGEONS = query(
    *(data.Not(data.row("=", [(a, 1), (b, -1)], 0)) for a, b in ("xy", "yz", "xz")), *BOX
)
"""Three numbers, each 0 or 1, no two of them equal: every assertion is needed."""


def mutated(value: Any) -> Iterator[Any]:
    """Data with one number changed, one part left out, repeated, or two parts exchanged."""
    match value:
        case bool() | None:
            return
        case int():
            yield from (value + 1, value - 1, -value, value * 2 + 3)
        case str():
            yield from ("x" if value != "x" else "y", value + "z")
        case list():
            for n, item in enumerate(value):
                yield value[:n] + value[n + 1 :]
                yield [*value[:n], item, *value[n:]]
                for other in mutated(item):
                    yield [*value[:n], other, *value[n + 1 :]]
                if n:
                    yield [*value[: n - 1], item, value[n - 1], *value[n + 1 :]]
        case dict():
            for key, item in value.items():
                for other in mutated(item):
                    yield {**value, key: other}


def test_mutated_certificates_are_rejected() -> None:
    """Over a hundred; one that is accepted is a certificate too: no sum of it is wrong."""
    found = certificate(Asked(PIGEONS), Limits())
    assert isinstance(found, Contradiction)
    assert nodes(found.tree) >= 5
    written = certificate_json(found)
    rejected, survived = 0, []
    for other in mutated(written):
        try:
            read = read_certificate(other)
        except ValueError:
            rejected += 1
            continue
        if accepts(PIGEONS, read):
            survived.append(other)
        else:
            rejected += 1
    assert rejected >= 100
    assert len(survived) <= rejected // 20


def test_no_certificate_or_mutant_fits_a_query_with_a_solution() -> None:
    """Each assertion in turn is left out or made weaker, which makes room for a solution."""
    found = certificate(Asked(PIGEONS), Limits())
    assert isinstance(found, Contradiction)
    mutants = [found]
    for other in mutated(certificate_json(found)):
        try:
            mutants.append(read_certificate(other))  # type: ignore[arg-type]
        except ValueError:
            continue
    assert len(mutants) > 100
    true = data.Assertion("goal", data.All(()))
    for number in range(len(PIGEONS.assertions)):
        kept = list(PIGEONS.assertions)
        kept[number] = true
        weaker = data.Recorded(PIGEONS.sorts, tuple(kept))
        assert next(solutions(weaker), None) is not None
        assert not any(accepts(weaker, m) for m in mutants)


ZERO_OR_ONE = query(
    data.row("=", [("x", 2), ("y", -2)], 1),
)


def test_tightening_is_for_integers_only() -> None:
    """2x - 2y = 1 has no whole solution, and many others."""
    proof = Contradiction((0,), (), Sum(((0, 1),)))
    check(ZERO_OR_ONE, proof)
    reals = query(ZERO_OR_ONE.assertions[0].statement, sorts={"x": "Real", "y": "Int", "z": "Int"})
    assert not accepts(reals, proof)


def test_cuts_are_for_integers_only() -> None:
    half = (le(("x", 2), bound=1), le(("x", -2), bound=-1))
    proof = Contradiction(
        (0, 1), (), Cut((("x", 1),), 0, Sum(((1, 1), (2, 2))), Sum(((0, 1), (2, 2))))
    )
    reals = query(*half, sorts={"x": "Real"})
    with pytest.raises(RejectedError, match="not of integers"):
        check(reals, proof)


def test_a_strict_row_adds_up_only_if_it_is_used() -> None:
    reals: dict[str, data.Sort] = {"x": "Real"}
    asked = query(
        data.row("<", [("x", 1)], 5),
        le(("x", 1)),
        le(("x", -1)),
        data.row("<", [("x", -1)], 0),
        sorts=reals,
    )
    check(asked, Contradiction((0, 1, 2, 3), (), Sum(((1, 1), (3, 1)))))
    assert not accepts(asked, Contradiction((0, 1, 2, 3), (), Sum(((1, 1), (2, 1)))))
    assert not accepts(asked, Contradiction((0, 1, 2, 3), (), Sum(((0, 0), (1, 1), (2, 1)))))
    assert not accepts(asked, Contradiction((0, 1, 2, 3), (), Sum(((1, -1), (0, 1)))))


def test_a_split_has_every_alternative() -> None:
    asked = query(data.Any((le(("x", 1), bound=-1), le(("x", -1), bound=-1))), le(("x", 1)))
    low = Sum(((0, 1),))
    assert not accepts(asked, Contradiction((0, 1), (), Split(0, (low,))))
    assert not accepts(asked, Contradiction((0, 1), (), Split(1, (low, low))))
    assert not accepts(asked, Contradiction((0, 1), (), Split(7, (low, low))))


def test_a_contradiction_of_premises_alone_is_none_of_the_claim() -> None:
    premises = data.recorded(
        INTS,
        [
            data.Assertion("goal", le(("y", 1))),
            data.Assertion("premise", le(("x", 1), bound=-1)),
            data.Assertion("premise", le(("x", -1))),
        ],
    )
    with pytest.raises(RejectedError, match="nothing of what is claimed"):
        check(premises, Contradiction((1, 2), (), Sum(((0, 1), (1, 1)))))


def test_names_of_laws_are_of_the_query() -> None:
    law = Theorem("zero", Form((("w", 1),), 0), Form((("x", 1),), 0))
    with pytest.raises(RejectedError, match="no symbol"):
        check(query(le(("x", 1))), Contradiction((0,), (law,), Sum(())))


def test_a_point_meets_every_assertion() -> None:
    asked = query(data.row("=", [("x*y", 1)], 6), le(("x", -1), bound=-2), le(("y", -1), bound=-2))
    check(asked, Point((("x", Fraction(2)), ("y", Fraction(3)))))
    for x, y in ((1, 6), (2, 2), (Fraction(5, 2), Fraction(12, 5))):
        assert not accepts(asked, Point((("x", Fraction(x)), ("y", Fraction(y)))))
    assert not accepts(asked, Point((("x", Fraction(2)),)))


def test_a_deep_certificate_is_refused_not_a_crash() -> None:
    deep: Any = ["sum"]
    for _ in range(3000):
        deep = ["split", 0, deep]
    with pytest.raises(ValueError, match="too deep"):
        read_certificate({"uses": [0], "theorems": [], "tree": deep})


TRUSTED = ("assertions.py", "certificate.py", "checker.py")


def test_rows_without_a_whole_solution_are_closed_by_a_cut() -> None:
    """x = -1 and x + 2y = 0: z3 needs no cut to say so, and took ours for needless."""
    asked = query(
        le(("x", 1), bound=-1), le(("x", -1), bound=1), data.row("=", [("x", 1), ("y", 2)], 0)
    )
    assert isinstance(certificate(Asked(asked), Limits()), Contradiction)


@pytest.mark.parametrize("name", TRUSTED)
def test_the_checker_imports_only_data_and_the_standard_library(name: str) -> None:
    allowed = {"formwright.proof.assertions", "formwright.proof.certificate", "formwright.proof"}
    if name == "assertions.py":
        allowed = {"formwright.base.digest"}
    for node in ast.walk(ast.parse((SOURCE / name).read_text())):
        modules = (
            [a.name for a in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
        for module in modules:
            standard = module.partition(".")[0] in sys.stdlib_module_names
            assert standard or module in allowed, module


def test_no_solver_is_loaded_with_the_checker() -> None:
    code = (
        "import sys, formwright.proof.checker; "
        "print([m for m in sys.modules if 'z3' in m or m.startswith('formwright.smt')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_checker_is_small() -> None:
    assert len((SOURCE / "checker.py").read_text().splitlines()) < 200

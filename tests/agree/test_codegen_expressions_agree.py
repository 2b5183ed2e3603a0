"""The C reader of expressions agrees with ``evaluate``: many expressions in one compiled file."""

import ctypes
import subprocess
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from formwright.codegen.build import find_compiler
from formwright.codegen.cexpr import c_integer, c_truth
from formwright.codegen.driver import runtime_text
from formwright.codegen.fold import fold
from formwright.codegen.linear import as_expr, linear
from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.expr import (
    Arith,
    Compare,
    Cond,
    Expr,
    Logic,
    MinMax,
    Neg,
    Not,
    Round,
    Sum,
    Var,
    num,
)

VALUES = {"a": (1, 2, 7), "b": (-3, 0, 5), "c": (1, 16), "d": (0, 1)}
POINTS = [dict(zip(VALUES, point, strict=True)) for point in product(*VALUES.values())]

leaf = st.one_of(st.integers(-6, 12).map(num), st.sampled_from([Var(n) for n in VALUES]))
divisor = st.one_of(st.integers(1, 9).map(num), st.sampled_from([Var("a"), Var("c")]))


def integers(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    rational = st.builds(Arith, st.just("/"), children, divisor)
    mixed = st.one_of(rational, st.builds(Arith, st.sampled_from("+-*"), rational, children))
    compared = st.one_of(children, mixed)
    test = st.builds(
        Compare, st.sampled_from(["<", "<=", "=", "!=", ">=", ">"]), compared, compared
    )
    tests = st.one_of(
        test,
        st.builds(Logic, st.sampled_from(["and", "or", "=>"]), test, test),
        st.builds(Not, test),
    )
    return st.one_of(
        st.builds(Arith, st.sampled_from("+-*"), children, children),
        st.builds(Arith, st.sampled_from(["//", "mod"]), children, divisor),
        st.builds(Neg, children),
        st.builds(
            lambda op, args: MinMax(op, tuple(args)),
            st.sampled_from(["min", "max"]),
            st.lists(children, min_size=1, max_size=3),
        ),
        st.builds(Round, st.sampled_from(["ceil", "floor"]), compared),
        st.builds(
            lambda op, p, q: Round(op, MinMax("min", (p, q))),
            st.sampled_from(["ceil", "floor"]),
            mixed,
            compared,
        ),
        st.builds(Cond, tests, children, children),
        st.builds(
            lambda hi, body: Sum("x", num(0), hi, body),
            st.integers(0, 5).map(num),
            st.one_of(children, st.just(Var("x"))),
        ),
    )


expressions = st.recursive(leaf, integers, max_leaves=8)


def value(expr: Expr, point: dict[str, int]) -> int | None:
    """The meaning, or None where it is no integer of reasonable size."""
    try:
        found = evaluate(expr, point)
    except EvaluationError:
        return None
    if isinstance(found, Fraction | bool) or abs(found) > 2**31:
        return None
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("expressions")


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(expressions, min_size=60, max_size=60))
def test_compiled_expressions_agree(folder: Path, batch: list[Expr]) -> None:
    names = {n: n for n in VALUES}
    parameters = ", ".join(f"int64_t {n}" for n in VALUES)
    functions = [
        f"int64_t f{i}({parameters}) {{ return {c_integer(e, names)}; }}"
        for i, e in enumerate(batch)
    ]
    functions += [
        f"int64_t g{i}({parameters}) {{ return {c_truth(Compare('>', e, Var('b')), names)}; }}"
        for i, e in enumerate(batch)
    ]
    number = len(list(folder.iterdir()))
    source, library = folder / f"e{number}.c", folder / f"e{number}.so"
    source.write_text(
        "#include <stdint.h>\n" + runtime_text("integers.h") + "\n" + "\n".join(functions)
    )
    subprocess.run(
        [*find_compiler(), "-O0", "-w", "-fPIC", "-shared", "-o", library, source], check=True
    )
    handle = ctypes.CDLL(str(library))
    for i, expr in enumerate(batch):
        for kind, want in (("f", expr), ("g", Compare(">", expr, Var("b")))):
            function = getattr(handle, f"{kind}{i}")
            function.restype, function.argtypes = ctypes.c_int64, [ctypes.c_int64] * len(VALUES)
            for point in POINTS:
                meaning = value(expr, point)
                if meaning is None:
                    continue
                expected = int(bool(evaluate(want, point))) if kind == "g" else meaning
                assert function(*point.values()) == expected, (expr, point)


@given(expressions)
def test_folding_and_linear_forms_keep_the_meaning(expr: Expr) -> None:
    folded, form = fold(expr), as_expr(linear(expr))
    for point in POINTS[::5]:
        meaning = value(expr, point)
        if meaning is not None:
            assert evaluate(folded, point) == meaning
            assert evaluate(form, point) == meaning

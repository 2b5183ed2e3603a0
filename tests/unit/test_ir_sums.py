"""Sums inside sums: their terms are counted together, and the arrays agree with ``evaluate``."""

import time

import numpy as np
import pytest

from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.vectorise import Evaluator
from formwright.lang.parser import parse_expression

NESTED = parse_expression("sum(x in 0 .. n) sum(y in 0 .. n) sum(z in 0 .. m) (x + y)")


def test_sums_in_sums_have_one_limit() -> None:
    assert evaluate(NESTED, {"n": 10, "m": 2}) == 1800
    start = time.process_time()
    with pytest.raises(EvaluationError, match="a sum over 16000000 terms is longer"):
        evaluate(NESTED, {"n": 4000, "m": 1})
    assert time.process_time() - start < 1


def test_arrays_leave_out_the_points_past_the_limit_only() -> None:
    sizes = np.array([3, 2000, 0, 5])
    result = Evaluator({"n": sizes, "m": 1}).number(NESTED)
    assert np.asarray(result.bad).tolist() == [False, True, False, False]
    for place in (0, 2, 3):
        wanted = evaluate(NESTED, {"n": int(sizes[place]), "m": 1})
        assert int(np.asarray(result.num.a)[place]) == wanted  # type: ignore[union-attr]

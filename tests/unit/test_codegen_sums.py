"""Lanes of several rows added up at once: which rows go together, and where none may."""

import re

import pytest

from formwright.codegen import emit_c
from formwright.codegen.target import TARGETS
from formwright.lang import load

ROWS = {"L": 16, "Lv": 16, "Ls": 16, "Bs": 32, "Pf": 4}


def kernel(queries: int, target: str = "avx512", calls: bool = False) -> str:
    """Decode attention: a sum of lanes for each of ``queries`` at every key."""
    template = load("decode_attention_stream")[1]
    return emit_c(template, {"Gr": queries, **ROWS}, TARGETS[target], calls=calls).kernel


@pytest.mark.parametrize("target", ["avx512", "avx2"])
@pytest.mark.parametrize(
    ("rows", "fours", "ones"), [(1, 0, 1), (2, 0, 2), (3, 1, 0), (4, 1, 0), (5, 1, 1), (7, 2, 0)]
)
def test_rows_go_together_by_fours(rows: int, fours: int, ones: int, target: str) -> None:
    text = kernel(rows, target)
    scores = text[: text.index("fw_greatest")]
    assert scores.count("fw_sum_of_4(") == fours
    assert scores.count("fw_sum(") == ones


def test_three_rows_have_nothing_in_the_place_of_a_fourth() -> None:
    assert re.search(r"fw_sum_of_4\(r_acc_0_0, r_acc_1_0, r_acc_2_0, \(fw_vec\)\{0\}\)", kernel(3))


def test_maxima_and_other_numbers_stay_one_by_one() -> None:
    whole = kernel(4)[: kernel(4).index("fw_vec_exp")]
    assert whole.count("fw_greatest(") == 4
    assert "fw_sum_of_4" not in kernel(4, calls=True)

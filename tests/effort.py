"""How much is drawn: an eighth by default, all of it with FORMWRIGHT_SLOW."""

import os
from collections.abc import Sequence
from typing import Any

import pytest


def examples(count: int) -> int:
    """Of ``count`` examples those that a default run draws; each run draws others."""
    return count if "FORMWRIGHT_SLOW" in os.environ else max(5, count // 8)


def thinned(cases: Sequence[Any], keep: int = 3) -> list[Any]:
    """Every ``keep``-th of the cases of one test by default; the others are slow.

    Cases that are tuples are the values of several names.
    """
    return [
        case
        if number % keep == 0
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        for number, case in enumerate(cases)
    ]

"""Results of studies that somebody changed: a page or a message, never a traceback or a mark."""

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "unit"))

import pytest
from test_pages_comparisons import grown, transferred
from test_pages_hostile import STRANGE, places, put, shown

from effort import examples
from formwright.report.page import Page
from formwright.report.pages.codesign_page import codesign_page
from formwright.report.pages.growth_page import growth_page
from formwright.report.pages.transfer_page import transfer_page
from formwright.report.pages.white_black_page import white_black_page

STUDIES = Path(__file__).parent.parent.parent / "studies"


def kept(name: str) -> Any:
    return json.loads((STUDIES / name / "result.json").read_text())


RESULTS: tuple[tuple[Callable[[Path], Page], Callable[[], Any]], ...] = (
    (codesign_page, lambda: kept("gemmini-bert/2026-11-30")),
    (white_black_page, lambda: kept("white-black/2026-11-30")),
    (growth_page, lambda: json.loads(json.dumps(grown().as_json()))),
    (transfer_page, lambda: json.loads(json.dumps(transferred().as_json()))),
)


@pytest.mark.parametrize(("maker", "made"), RESULTS)
def test_any_value_of_a_result_may_be_anything(
    maker: Callable[[Path], Page], made: Callable[[], Any], tmp_path: Path
) -> None:
    draw, result = random.Random(11), made()
    ways = list(places(result))[1:]
    for _ in range(examples(24)):
        changed = put(result, draw.choice(ways), draw.choice(STRANGE))
        (tmp_path / "result.json").write_text(json.dumps(changed))
        shown(lambda: maker(tmp_path))

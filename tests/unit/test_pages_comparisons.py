"""Pages of `white-black`, `growth` and `transfer`: what they answer, where their figures lead."""

import json
from pathlib import Path
from typing import Any

import pytest
from page_blocks import of_kind, section, well_formed, words

from formwright.base.diagnostics import InputError
from formwright.flow.growth_results import Grown, GrowthStudy, Ran
from formwright.flow.growth_tasks import Posed
from formwright.flow.study_results import Spread
from formwright.flow.transfer_results import Pick, Transferred, TransferStudy
from formwright.flow.transfer_tasks import Transfer
from formwright.report.html import html_of
from formwright.report.page import Chart, Distributions, Page, Table
from formwright.report.pages.growth_page import growth_page
from formwright.report.pages.transfer_page import transfer_page
from formwright.report.pages.white_black_page import white_black_page

KEPT = Path(__file__).parents[2] / "studies" / "white-black" / "2026-11-30"


@pytest.fixture(scope="module")
def white_black() -> Page:
    return white_black_page(KEPT)


def test_white_black_answers_on_how_many_tasks(white_black: Page) -> None:
    well_formed(white_black, whole=False)
    result = json.loads((KEPT / "result.json").read_text())
    first, second, _ = white_black.answer
    assert f"on {result['ahead_on']} of {len(result['tasks'])} tasks" in first
    assert "in the median of 5 seeds (measured)" in first
    ratios = [r["ratio"] for t in result["tasks"] for r in t["rows"] if r["ratio"] is not None]
    assert f"over {len(ratios)} pairs" in second
    unsure = sum(r["low"] <= 1 <= r["high"] for r in ratios)
    assert f"{unsure} of their 95 % intervals hold 1" in second


def test_white_black_shows_the_rounds_of_the_median_seeds(white_black: Page) -> None:
    """The very rounds of the final session, of the kernel that a row compares."""
    result = json.loads((KEPT / "result.json").read_text())
    task = next(t for t in result["tasks"] if t["name"] == "gemm")
    blocks = section(white_black, "task-gemm").blocks
    (drawn,) = (b for b in blocks if isinstance(b, Distributions))
    origin = drawn.samples[0].origin
    assert origin is not None
    assert origin.entry.startswith("final/gemm/")
    assert [s.name for s in drawn.samples] == [r["searcher"] for r in task["rows"]] + ["copied"]
    for sample, row in zip(drawn.samples, task["rows"], strict=False):
        assert min(sample.values) <= row["seconds"]["median"] <= max(sample.values)


def test_white_black_tells_every_search(white_black: Page) -> None:
    table = of_kind(white_black, Table, "Searches on decode-512")
    assert len(table.rows) == 7 * 5
    curve = of_kind_in(white_black, "task-decode-512", "against kernels tried")
    for series in curve.series:
        assert all(a.y >= b.y for a, b in zip(series.points, series.points[1:], strict=False))


def of_kind_in(page: Page, key: str, title: str) -> Chart:
    found = section(page, key).blocks
    return next(b for b in found if isinstance(b, Chart) and title in b.title)


def ran(arm: Any, repeat: int, first: float | None, entry: int, fault: str = "") -> Ran:
    return Ran(
        arm=arm,
        repeat=repeat,
        drawn=("gemv_plain",) if arm == "with" and entry > 1 else (),
        proposed=3,
        proved=2,
        template="" if fault else "gemv_plain",
        rule="" if fault else "keep",
        first_seconds=first,
        seconds=20.0,
        first_latency=None if fault else 2e-4,
        latency=None if fault else 1e-4,
        before="",
        fault=fault,
        entry=entry,
    )


def grown(fault: str = "") -> GrowthStudy:
    first = Grown(
        Posed("key", "gemv", {"N": 128, "K": 896}),
        (ran("with", 0, 8.0, 1), ran("without", 0, 8.0, 1)),
        Spread(1.0, 0.9, 1.1),
    )
    runs = (ran("with", 0, 4.0, 2), ran("without", 0, None if fault else 8.0, 3, fault))
    second = Grown(
        Posed("query", "gemv", {"N": 896, "K": 896}),
        runs,
        None if fault else Spread(1.2, 1.1, 1.3),
    )
    return GrowthStudy(2, 1, 2, (first, second), "journal.jsonl", 60.0)


def kept(folder: Path, result: dict[str, Any], keys: list[str], **data: Any) -> Path:
    """A result with a journal of entries by these keys."""
    (folder / "result.json").write_text(json.dumps(result))
    lines = [
        json.dumps(
            {"schema": 1, "number": n, "time": "2026-11-30T10:00:00", "key": k, "data": data}
        )
        for n, k in enumerate(keys)
    ]
    (folder / "journal.jsonl").write_text("\n".join(lines) + "\n")
    return folder


KEYS = ["study", "run/0/01-key/with", "run/0/02-query/with", "run/0/02-query/without"]


def test_growth_says_what_the_population_was_worth(tmp_path: Path) -> None:
    folder = kept(tmp_path, grown().as_json(), [*KEYS, "compare/0/02-query"], version="1")
    page = growth_page(folder)
    well_formed(page)
    assert page.answer[0].startswith("Of 2 problems, 1 drew templates")
    assert "took 0.50 times the seconds" in page.answer[1]
    assert "is 1.00 times as fast" in page.answer[1]
    assert "1.20 times as fast" in page.answer[2]
    assert "0 of 1 of the 95 % intervals hold 1" in page.answer[2]
    rows = of_kind(page, Table, "The first kernel").rows
    assert [c.value for c in rows[1][2:5]] == [4.0, 8.0, 2.0]
    assert rows[1][2].origin is not None
    assert rows[1][2].origin.entry == "run/0/02-query/with"
    chart = of_kind(page, Chart, "without the population over the one with it")
    assert chart.series[0].points[1].origin is not None
    assert chart.series[0].points[1].origin.entry == "compare/0/02-query"
    assert html_of(page)


def test_growth_tells_a_run_that_came_to_nothing(tmp_path: Path) -> None:
    page = growth_page(kept(tmp_path, grown("no result").as_json(), KEYS))
    assert page.answer[-1] == "1 run came to no kernel."
    assert "no result" in words(page)


def transferred() -> TransferStudy:
    pick = Pick({"T": 8}, "aa", Spread(1e-4, 0.9e-4, 1.1e-4))
    none = Pick({"T": 4}, "", None, "it does not build")
    task = Transfer("query", "gemv", "gemv_rows", {"N": 896}, {"N": 4096}, "to a larger model")
    row = Transferred(
        task=task,
        designs=12,
        proof="proved",
        solve_seconds=Spread(0.02, 0.01, 0.03),
        build_seconds=Spread(0.4, 0.3, 0.5),
        validate_seconds=None,
        selected=pick,
        shipped=none,
        copied=pick,
        best=pick,
        copied_over_selected=Spread(1.3, 1.2, 1.4),
        selected_over_best=None,
        searched=5,
        searched_seconds=31.0,
        entry=2,
    )
    return TransferStudy("local", 2, 3, (row,), "journal.jsonl", 99.0)


def test_transfer_says_how_good_a_choice_without_measuring_is(tmp_path: Path) -> None:
    (tmp_path / "query").mkdir()
    kept(
        tmp_path / "query",
        {},
        ["source/query", "choose/query", "search/query", "compare/query/0/a"],
    )
    page = transfer_page(kept(tmp_path, transferred().as_json(), ["study", "chip"], version="1"))
    well_formed(page)
    assert page.answer[0].startswith("On 1 of 1 task the model's choice")
    assert "faster than the copied best of the source on 1 and slower on 0" in page.answer[1]
    (row,) = of_kind(page, Table, "Tasks").rows
    assert row[5].text == "one kernel"
    assert row[6].value == 1.3
    assert row[6].origin is not None
    assert (row[6].origin.file, row[6].origin.entry) == ("query/journal.jsonl", "compare/query/0/a")
    assert "it does not build" in words(page)
    assert html_of(page)


@pytest.mark.parametrize("maker", [white_black_page, growth_page, transfer_page])
def test_results_of_another_kind_are_refused_by_name(maker: Any, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(json.dumps({"problems": 3, "tasks": [{}]}))
    with pytest.raises(InputError, match=r"result\.json is not as a study writes it"):
        maker(tmp_path)
    (tmp_path / "result.json").write_text("[")
    with pytest.raises(InputError, match=r"result\.json"):
        maker(tmp_path)

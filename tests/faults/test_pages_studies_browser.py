"""Pages of kept studies and of a population in a browser, at three widths, light and dark."""

from pathlib import Path

import pytest

from browser import audited, chromium
from formwright.flow.populating import add_texts
from formwright.population import open_population
from formwright.report.html import html_of
from formwright.report.page import Page
from formwright.report.pages.codesign_page import codesign_page
from formwright.report.pages.population_page import population_page
from formwright.report.pages.white_black_page import white_black_page

STUDIES = Path(__file__).parents[2] / "studies"


def pages() -> dict[str, Page]:
    population = open_population(":memory:")
    add_texts(population, ["gemv_rows", "softmax_rows"])
    return {
        "gemmini-bert": codesign_page(STUDIES / "gemmini-bert" / "2026-11-30-steps"),
        "gemmini-methods": codesign_page(STUDIES / "gemmini-bert" / "2026-11-30-methods"),
        "white-black": white_black_page(STUDIES / "white-black" / "2026-11-30"),
        "population": population_page(population, "shipped.sqlite"),
    }


@pytest.mark.slow
def test_pages_of_studies_in_a_browser(tmp_path: Path, subtests: pytest.Subtests) -> None:
    with chromium() as browser:
        for name, page in pages().items():
            with subtests.test(name):
                file = tmp_path / f"{name}.html"
                file.write_text(html_of(page), encoding="utf-8")
                assert audited(browser, file) == []

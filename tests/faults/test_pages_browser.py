"""Pages in a browser: nothing fails to load, nothing is cut or lies over another text, they are
fit for keyboard, screen reader and print, and ten thousand rows are usable at once."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import page_samples as samples
from browser import audited, chromium, clock, misplaced, watched
from formwright.report.html import html_of
from formwright.report.html.place import entry_id

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_pages_in_a_browser(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """One browser for all: to start it takes longer than what is looked at."""
    file = tmp_path / "report.html"
    file.write_text(html_of(samples.page()), encoding="utf-8")
    with chromium() as browser:
        with subtests.test("every kind of block is whole, readable and accessible"):
            assert audited(browser, file) == []
        with subtests.test("no text of anybody runs"):
            _hostile(browser, tmp_path)
        with subtests.test("tables sort and filter"):
            _tables(browser, file)
        with subtests.test("charts say their values to the keyboard and the pointer"):
            _values(browser, file)
        with subtests.test("a figure leads to its entry"):
            _entries(browser, file)
        with subtests.test("print shows what is folded"):
            _print(browser, file)
        with subtests.test("without its script the page is whole"):
            _plain(browser, file)


@pytest.mark.slow
def test_what_is_wrong_with_a_page_would_be_seen(tmp_path: Path) -> None:
    with chromium() as browser:
        _seen(browser, tmp_path)


@pytest.mark.slow
def test_ten_thousand_rows_are_usable_within_two_seconds(tmp_path: Path) -> None:
    with chromium() as browser:
        _many(browser, tmp_path)


BAD = """<!doctype html><html lang="en"><title>bad</title><main><h1>Bad</h1>
<p style="position: absolute; top: 200px">one text that lies</p>
<p style="position: absolute; top: 203px">over another text</p>
<p style="width: 3em; overflow: hidden; white-space: nowrap">cut off at its end</p>
<p style="width: 2000px">wide</p><p style="color: #aaa; background: #fff">pale</p>
<img src="missing.png"><script>console.error("said")</script></main></html>"""


def _seen(browser: "Browser", folder: Path) -> None:
    """The audit finds each of the faults that it is there for."""
    file = folder / "bad.html"
    file.write_text(BAD, encoding="utf-8")
    found = "\n".join(audited(browser, file, schemes=("light",)))
    for fault in (
        "over each other: one text that lies | over another",
        "cut: cut off at its end",
        "the page is 2",
        "color-contrast",
        "image-alt",
        "error: said",
        "missing.png",
    ):
        assert fault in found, (fault, found)


def _hostile(browser: "Browser", folder: Path) -> None:
    file = folder / "hostile.html"
    file.write_text(html_of(samples.written(samples.HOSTILE)), encoding="utf-8")
    with watched(browser) as (page, said):
        page.goto(file.as_uri())
        assert "taken" not in page.title()[:5]
        assert page.evaluate("document.querySelectorAll('main img').length") == 1
        assert said == []


def _tables(browser: "Browser", file: Path) -> None:
    with watched(browser) as (page, said):
        page.goto(file.as_uri())
        box = page.locator(".block.table").first
        column = "tbody tr > :nth-child(4)"
        assert "10 of 30 rows" in box.locator(".count").inner_text()
        button = box.get_by_role("button", name="measured")
        button.focus()
        page.keyboard.press("Enter")
        assert box.locator("th[aria-sort=ascending]").count() == 1
        first = [float(t.split()[0]) for t in box.locator(column).all_inner_texts()]
        assert first == sorted(first)
        page.keyboard.press("Enter")
        last = [float(t.split()[0]) for t in box.locator(column).all_inner_texts()]
        assert last == sorted(last, reverse=True)
        # Every row takes part, not only those that were shown.
        assert last[0] == max(51 + n * 11 % 127 for n in range(30))
        box.get_by_label("Filter").fill("TM=256")
        box.get_by_text("6 that match").wait_for()
        assert box.locator("tbody tr").count() == 6
        box.get_by_label("Filter").fill("")
        box.get_by_role("button", name="Show all").click()
        assert box.locator("tbody tr").count() == 30
        # A missing value comes last whichever way a column is sorted.
        for _ in range(2):
            box.get_by_role("button", name="validated").click()
            assert box.locator("tbody tr > :nth-child(6)").last.inner_text() == ""
        assert said == []


def _values(browser: "Browser", file: Path) -> None:
    with watched(browser) as (page, said):
        page.goto(file.as_uri())
        figure = page.locator("figure.chart").first
        slider = figure.get_by_role("slider")
        slider.focus()
        assert "design 0: predicted time 10 µs" in str(slider.get_attribute("aria-valuetext"))
        page.keyboard.press("ArrowRight")
        assert "design 1" in figure.locator(".readout").inner_text()
        page.keyboard.press("End")
        assert "a wider bus" in str(slider.get_attribute("aria-valuetext"))
        page.keyboard.press("Enter")
        page.wait_for_url(f"**#{entry_id(samples.TWO)}")
        figure.locator("circle[data-m]").first.hover()
        assert "design 0" in figure.locator(".readout").inner_text()
        page.locator("figure.chart rect.bar[data-m]").first.hover()
        assert "kept: 312" in page.locator("figure.chart").nth(1).locator(".readout").inner_text()
        assert said == []


def _entries(browser: "Browser", file: Path) -> None:
    with watched(browser) as (page, said):
        page.goto(file.as_uri())
        entry = page.locator(f"#{entry_id(samples.ONE)}")
        assert not entry.is_visible()
        page.locator(f'a[href="#{entry_id(samples.ONE)}"]').first.click()
        entry.locator("pre").wait_for(state="visible")
        assert page.evaluate("document.activeElement.parentElement.id") == entry_id(samples.ONE)
        assert "measure/k1" in entry.locator("pre").inner_text()
        assert said == []


def _print(browser: "Browser", file: Path) -> None:
    with watched(browser, scheme="dark") as (page, said):
        page.goto(file.as_uri())
        fold = page.locator("details.fold").first
        assert not fold.evaluate("d => d.open")
        assert len(page.pdf(format="A4")) > 10_000
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert fold.evaluate("d => d.open")
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == (
            "rgb(255, 255, 255)"
        )
        assert not page.locator("nav").is_visible()
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert not fold.evaluate("d => d.open")
        assert said == []


def _plain(browser: "Browser", file: Path) -> None:
    with watched(browser, 390, script=False) as (page, said):
        page.goto(file.as_uri())
        assert page.locator("button").count() == 0
        assert page.get_by_text("The first 10 of 30 rows").is_visible()
        # A link into a closed fold opens it without a script too.
        page.locator(f'a[href="#{entry_id(samples.ONE)}"]').first.click()
        page.locator(f"#{entry_id(samples.ONE)} summary").wait_for(state="visible")
        assert said == []


def _many(browser: "Browser", folder: Path) -> None:
    """Opened, sorted and filtered: each within two seconds of one core."""
    file = folder / "many.html"
    text = html_of(samples.page((samples.table(10_000, 50), samples.cloud(10_000))))
    file.write_text(text, encoding="utf-8")
    with watched(browser) as (page, said):
        worked = clock(page)
        page.goto(file.as_uri(), wait_until="load", timeout=120_000)
        box = page.locator(".block.table").first
        box.get_by_role("button", name="measured").wait_for()
        times = [worked()]
        box.get_by_role("button", name="measured").click()
        assert box.locator("tbody tr > :nth-child(4)").first.inner_text() == "51"
        assert box.locator("tbody tr").count() == 50
        times.append(worked())
        box.get_by_label("Filter").fill("k9999")
        box.get_by_text("1 that match").wait_for()
        times.append(worked())
        page.locator("circle[data-m]").nth(500).hover(force=True)
        assert "k500" in page.locator(".readout").first.inner_text()
        times.append(worked())
        each = [after - before for before, after in zip([0.0, *times], times, strict=False)]
        assert max(each) < 2, each
        assert misplaced(page) == []
        assert said == []

"""The page of a population: counts, niches, lineage, figures by chip, hostile texts."""

import json

import pytest
from page_blocks import of_kind, section, well_formed, words
from population_samples import (
    OTHER_CHIP,
    admitted,
    fact,
    parsed,
    proof_of,
    rows_text,
    split_text,
)

from formwright.population import Origin, Population, open_population
from formwright.population.entries import Met
from formwright.report.html import html_of
from formwright.report.page import Bars, Chart, Graph, Page, Table
from formwright.report.pages.population_page import population_page

HOSTILE = '</script>"><img src=x onerror=alert(1)>'


@pytest.fixture
def population() -> Population:
    """Two templates of one problem with figures on two chips, a text on the shelf, one refuted."""
    store = open_population(":memory:")
    rows = admitted(store, rows_text())
    split = store.add_template(split_text(), origin=Origin("library", "split", (rows,), "K is cut"))
    store.admit(split.digest, proof_of(parsed(split_text()), ("K2", "K3")))
    store.add_template(
        "void f(void) {}",
        language="c",
        name="source",
        origin=Origin("person", "added", why=HOSTILE),
        reason="kernel source",
    )
    seen = (
        fact(rows, 4e-4, low=3e-4, high=5e-4),
        fact(split.digest, 2e-4, source="run 1: measure/1"),
        fact(split.digest, 9e-4, chip=OTHER_CHIP, machine="other", source="run 2: measure/0"),
    )
    for each in seen:
        store.record(each)
    store.record(Met(split.digest, "single", HOSTILE, {"N": 1}, True, "run 1: judge/0", ("a = 1",)))
    return store


@pytest.fixture
def page(population: Population) -> Page:
    return population_page(population, "mine.sqlite")


def test_the_answer_counts_what_is_kept(page: Page) -> None:
    well_formed(page)
    assert page.answer[0].startswith("3 templates: 2 proved under the rules of now; 1 on the")
    assert page.answer[1].startswith("They are of 1 problem and make 2 niches")
    assert page.answer[2] == "3 figures (measured) are kept of them, on 2 chips."
    rows = of_kind(page, Table, "All templates").rows
    assert [r[0].text for r in rows] == ["rows", "split", "source"]
    assert [r[4].evidence for r in rows] == ["proved", "proved", None]
    assert rows[2][4].standing == "unresolved"
    assert [r[6].value for r in rows] == [2.0, 1.0, None]


def test_figures_of_two_chips_are_not_compared(page: Page) -> None:
    table = of_kind(page, Table, "Best figures by chip and workload")
    assert [r[5].value for r in table.rows] == [2e-4, 9e-4]
    chart = of_kind(page, Chart, "gemv K=100 N=100")
    assert [p.y for p in chart.series[0].points] == [4e-4, 2e-4]
    assert [p.y for p in chart.series[1].points] == [4e-4, 2e-4]


def test_a_figure_leads_to_its_row(page: Page) -> None:
    row = of_kind(page, Table, "All figures").rows[0]
    assert row[5].origin is not None
    told = json.loads(page.entries[row[5].origin])
    assert (told["value"], told["source"]) == (4e-4, "run 1: measure/0")


def test_lineage_and_niches(page: Page) -> None:
    graph = of_kind(page, Graph, "Lineage")
    rows, split, source = graph.nodes
    assert (rows.parents, split.parents, source.parents) == ((), (rows.key,), ())
    assert [n.standing for n in graph.nodes] == ["held", "held", "unresolved"]
    assert "K is cut" in [c.text for c in split.cells]
    bars = of_kind(page, Bars, "Templates by niche")
    assert [sum(p.value for p in b.parts) for b in bars.bars] == [1.0, 1.0]
    table = of_kind(page, Table, "All niches")
    assert [r[0].text for r in table.rows] == ["niche 1", "niche 2"]
    assert all(r[6].text != "-" for r in table.rows), "structures differ, and it is said in what"


def test_texts_of_others_are_text_in_the_page(page: Page) -> None:
    assert HOSTILE in words(page)
    html = html_of(page)
    assert "<img src=x" not in html
    assert html.count("</script>") == html.count("<script")


def test_no_password_of_a_place_is_shown(population: Population) -> None:
    """The caller gives the place as it may be shown; nothing else names it."""
    page = population_page(population, "postgresql://me@host/formwright")
    assert "postgresql://me@host/formwright" in words(page)
    assert html_of(page)


def test_an_empty_population_says_so() -> None:
    page = population_page(open_population(":memory:"), "empty.sqlite")
    assert page.answer == ("The population is empty: no template was put into it yet.",)
    assert [s.key for s in page.sections] == ["grounds"]
    assert html_of(page)


def test_a_shelf_shows_a_refuted_text_as_refuted(population: Population) -> None:
    other = population.add_template(rows_text("other").replace("{4, 8}", "{4, 16}"))
    population.shelve(other.digest, "coverage is refuted", verdict="refuted")
    page = population_page(population, "mine.sqlite")
    node = next(n for n in of_kind(page, Graph, "Lineage").nodes if n.key == other.digest)
    assert node.standing == "refuted"
    assert section(page, "texts")

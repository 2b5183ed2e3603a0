"""The page of a chip study: what it answers, where its figures lead, what it refuses."""

import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest
from four_study import STUDY, write_study
from page_blocks import blocks, cells, of_kind, origins, section, well_formed, words

from formwright.base.diagnostics import InputError
from formwright.flow.codesign import run_study
from formwright.report.codesign_files import write_study as write_result
from formwright.report.html import html_of
from formwright.report.page import Bars, Chart, Facts, Page, Table
from formwright.report.pages.codesign_page import codesign_page
from listeners import Silent

KEPT = Path(__file__).parents[2] / "studies" / "gemmini-bert"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study of ``four_study``, run to its end."""
    out = tmp_path_factory.mktemp("four")
    study = write_study(out)
    write_result(run_study(study, out / "out", Silent()), out / "out")
    return out / "out"


@pytest.fixture(scope="module")
def page(folder: Path) -> Page:
    return codesign_page(folder)


def test_the_first_sentences_say_chip_cost_worth_gap_and_grounds(page: Page) -> None:
    chosen, worth, near, bought, grounds = page.answer
    assert "a 4, b 2, lanes 2" in chosen
    assert "14 mm² (modelled)" in chosen
    assert "the ceiling is 20 mm²" in chosen
    assert "the worst ratio of any scenario is 0.25 (modelled" in worth
    assert "4 times better than the start" in worth
    assert "the best possible in this model" in near
    assert "`sets`" in bought
    assert "Nothing was timed on a chip" in grounds


def test_every_part_of_a_study_has_its_section(page: Page) -> None:
    well_formed(page)
    assert [s.key for s in page.sections] == [
        "chip",
        "steps",
        "ceilings",
        "front",
        "walls",
        "scenarios",
        "methods",
        "generated",
        "others",
        "grounds",
    ]


def test_every_purchase_has_its_price_and_its_reason(folder: Path, page: Page) -> None:
    bought = json.loads((folder / "result.json").read_text())["purchases"]
    table = of_kind(page, Table, "What was bought, within 20 mm²")
    assert len(table.rows) == len(bought) > 0
    names = [c.name for c in table.columns]
    for row, b in zip(table.rows, bought, strict=True):
        told = dict(zip(names, row, strict=True))
        assert told["objective then"].value == b["objective"]
        assert told["area added"].value == b["area"]
        assert told["price: drop for each mm²"].value == b["price"]
    why = next(b for b in section(page, "steps").blocks if isinstance(b, Facts))
    assert len(why.items) == len(bought)
    for (name, _), b in zip(why.items, bought, strict=True):
        assert name.startswith(f"Why step {b['round']}: ")
    designs = of_kind(page, Table, "What each step made possible")
    assert [r[2].text for r in designs.rows] == [m for b in bought for m in b["mechanism"]]
    told = why.items[0][1].text
    assert "irst: time 60 → 15 (-75 %)" in told
    assert "a was in the way of first and second: 1 was there, 2 and 4 are needed" in told


def test_figures_lead_to_the_entries_that_have_them(page: Page) -> None:
    (objective,) = (c for n, c in page.facts.items if n == "The worst ratio of any scenario")
    assert objective.origin is not None
    entry = json.loads(page.entries[objective.origin])
    assert objective.origin.file == "journal.jsonl"
    told = entry.get("objective") or entry["visited"][-1]["objective"]
    assert float(Fraction(told)) == objective.value == 0.25
    assert sum(1 for _ in origins(page)) > 60


def test_the_path_of_purchases_ends_at_the_chip(page: Page) -> None:
    chart = of_kind(page, Chart, "against area")
    path = next(s for s in chart.series if s.name == "path of purchases")
    assert (path.points[0].x, path.points[0].y) == (6.0, 1.0)
    assert (path.points[-1].x, path.points[-1].y) == (14.0, 0.25)
    assert chart.lines[0].value == pytest.approx(0.25)
    front = next(s for s in chart.series if s.name == "front")
    assert [p.x for p in front.points] == sorted(p.x for p in front.points)


def test_a_staircase_shows_what_one_wall_keeps_out(page: Page) -> None:
    chart = of_kind(page, Chart, "The staircase of a")
    chosen = next(s for s in chart.series if s.name == "other fields as chosen")
    assert [(p.x, p.y) for p in chosen.points] == [(1, 1), (2, 1), (3, 1), (4, 0.25)]
    assert "one place less (3) is 300 % worse" in chart.says
    assert {line.name: line.value for line in chart.lines} == {"chosen": 4.0, "start": 1.0}


def test_methods_are_drawn_by_what_they_paid(page: Page) -> None:
    chart = of_kind(page, Chart, "Quality against inner problems")
    for series in chart.series:
        assert all(a.y >= b.y for a, b in zip(series.points, series.points[1:], strict=False))
        assert all(p.x >= 1 for p in series.points)
        assert series.points[-1].y >= 1
    table = of_kind(page, Table, "Methods")
    assert {row[0].text for row in table.rows} >= {"sets", "random", "joint"}


def test_areas_are_told_by_part(page: Page) -> None:
    bars = of_kind(page, Bars, "area by part")
    assert [(b.name, b.parts[0].value) for b in bars.bars] == [("a", 4), ("b", 4), ("lanes", 6)]


def test_every_ceiling_is_told(page: Page) -> None:
    table = of_kind(page, Table, "What each method reaches within each ceiling")
    assert [row[0].value for row in table.rows] == [9, 20]
    assert section(page, "others").blocks


@pytest.mark.parametrize("name", ["2026-11-30", "2026-11-30-methods", "2026-11-30-steps"])
def test_a_kept_study_of_an_earlier_version_is_read(name: str) -> None:
    """Packed journals, and results without the fields that were added since."""
    page = codesign_page(KEPT / name)
    well_formed(page)
    told = words(page)
    for word in ("array 128, scratchpad 132 KiB, accumulator 384 KiB", "9.255 mm²", "1.506832×10⁹"):
        assert word in told
    assert "the best possible in this model" in told
    assert {c.evidence for c in cells(page)} >= {"modelled", "proved"}


def test_reasons_of_the_kept_study_name_walls_and_what_they_lacked() -> None:
    page = codesign_page(KEPT / "2026-11-30-methods")
    why = next(b for b in section(page, "steps").blocks if isinstance(b, Facts))
    third = dict(why.items)["Why step 3: array 16 → 32"].text
    assert "rray was in the way of widen, narrow, project, scores and values" in third
    assert "16 was there, 32 is needed" in third
    table = of_kind(page, Table, "What each step made possible")
    assert len(table.rows) == 28


def test_a_reader_of_the_gemmini_study_finds_the_five_answers() -> None:
    """Which chip, what it costs, why each step, how far from the best, from what."""
    page = codesign_page(KEPT / "2026-11-30-steps")
    chosen, worth, near, bought, grounds = page.answer
    assert "array 128, scratchpad 132 KiB, accumulator 384 KiB" in chosen
    assert "9.255 mm² (modelled)" in chosen
    assert "1.506832×10⁹ µJ·cycles (modelled" in worth
    assert "no chip of the library's 134,217,728 combinations" in near
    assert "9 steps" in bought
    assert "3 templates, whose programs are proved right" in grounds
    why = next(b for b in section(page, "steps").blocks if isinstance(b, Facts)).items
    assert len(why) == 9
    assert all("energy" in cell.text or "Energy" in cell.text for _, cell in why)
    third = dict(why)["Why step 3: array 16 → 32"].text
    assert "Time 2,966,528 → 1,654,784 cycles (-44 %)" in third
    bars = of_kind(page, Bars, "area by part")
    assert sum(p.value for b in bars.bars for p in b.parts) == pytest.approx(9.255256)
    charts = [b.title for b in section(page, "walls").blocks if isinstance(b, Chart)]
    assert charts == [f"The staircase of {n}" for n in ("array", "scratchpad", "accumulator")]


def test_words_of_a_study_are_text_in_the_page(tmp_path: Path) -> None:
    hostile = "</script><img src=x onerror=alert(1)>"
    text = STUDY.replace("two scenarios, two walls", f"{hostile} two walls").replace(
        'source = "the largest"', f'source = "{hostile}"'
    )
    small = text[: text.index("names =")] + 'names = ["software-only", "sets"]\n'
    study = write_study(tmp_path, small + text[text.index("[chips.all]") : text.index("[gener")])
    out = tmp_path / "out"
    write_result(run_study(study, out, Silent()), out)
    html = html_of(codesign_page(out))
    assert "<img src=x" not in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html


def test_a_study_that_has_not_ended_has_no_page_yet(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "journal.jsonl", tmp_path / "journal.jsonl")
    with pytest.raises(InputError, match=r"no result\.json: the study has not come to its end"):
        codesign_page(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"ceilings": [{}], "methods": 3},
        {"ceilings": None, "methods": [{"method": "joint"}]},
        {"units": []},
    ],
)
def test_a_result_that_was_changed_is_told_by_name(
    folder: Path, tmp_path: Path, change: dict[str, object]
) -> None:
    result = json.loads((folder / "result.json").read_text()) | change
    (tmp_path / "result.json").write_text(json.dumps(result))
    with pytest.raises(InputError, match=r"result\.json is not as a study writes it"):
        codesign_page(tmp_path)


def test_a_page_without_a_journal_has_its_figures_and_no_entries(
    folder: Path, tmp_path: Path
) -> None:
    shutil.copy(folder / "result.json", tmp_path / "result.json")
    page = codesign_page(tmp_path)
    well_formed(page)
    assert "14 mm²" in words(page)
    assert "no journal" in page.made
    assert {o.file for o in page.entries} == {"result.json"}


def test_a_study_whose_ceiling_admits_no_chip_says_so(folder: Path, tmp_path: Path) -> None:
    """As the flow writes it where no method found a program."""
    result = json.loads((folder / "result.json").read_text())
    none = {"chip": None, "area": None, "objective": None, "bound": None, "gap": None}
    empty = {"scenarios": [], "purchases": [], "staircases": [], "area_parts": {}, "front": []}
    rows = [{**m, "objective": None, "area": None, "chip": None} for m in result["methods"]]
    rows = [{**m, "objectives": [None for _ in m["objectives"]]} for m in rows]
    gone = none | empty | {"certificate": None, "purchases_of": "", "found_by": "", "methods": rows}
    result |= gone
    result["ceilings"] = [result["ceilings"][0] | gone | {"entries": {}}]
    result["entries"] = {}
    (tmp_path / "result.json").write_text(json.dumps(result))
    page = codesign_page(tmp_path)
    assert page.answer == ("No chip within 9 mm² has a program for every scenario.",)
    well_formed(page)
    assert html_of(page)
    assert not [b for b in blocks(page) if isinstance(b, Bars) and not b.bars]

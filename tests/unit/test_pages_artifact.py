"""The page of an artifact: evidence kept apart, what was not tested, a changed file said first."""

import json
from pathlib import Path

import jsonschema
import pytest

from formwright.base.diagnostics import InputError
from formwright.qualify import artifact as artifacts
from formwright.report.html import html_of
from formwright.report.page import Distributions
from formwright.report.pages.artifact_page import artifact_page
from made_artifacts import made_artifact, made_record
from pages_read import blocks, cells, origins, table, told, whole


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made_artifact(tmp_path / "up")


def test_the_sample_is_a_record_as_the_schema_has_it(folder: Path) -> None:
    schema = json.loads((Path(artifacts.__file__).parent / "record.schema.json").read_text())
    jsonschema.validate(json.loads((folder / "record.json").read_text()), schema)


def test_evidence_is_kept_apart(folder: Path) -> None:
    page = artifact_page(folder)
    rows = {row[0].text: row for row in table(page, "Evidence").rows}
    assert rows["the template"][1].evidence == "proved"
    assert rows["this binary"][1].evidence == "tested"
    assert rows["other builds"][1].evidence == "tested"
    assert rows["its time"][1].evidence == "measured"
    assert rows["predicted time"][1].evidence == "modelled"
    assert not [c for c in cells(page) if c.evidence == "proved" and c.standing != "held"]
    assert "1 of 2 checks held in 3 runs (tested)" in page.answer[1]


def test_every_figure_leads_into_the_record(folder: Path) -> None:
    page = artifact_page(folder)
    record = json.loads((folder / "record.json").read_text())
    found = origins(page)
    assert found
    assert found <= set(page.entries)
    for origin in found:
        assert origin.file == "record.json"
        value = record
        for name in origin.entry.split("/")[1:]:
            value = value[name]
        assert value is not None


def test_what_was_not_tested_is_worked_out_from_what_was_run(folder: Path) -> None:
    gaps = {row[0].text: row for row in table(artifact_page(folder), "Gaps").rows}
    assert gaps["extent N"][1].text == "3 values, 1 to 4,864"
    assert gaps["extent N"][2].text.startswith("beyond 4,864, up to 2,147,483,647")
    assert gaps["extent K"][1].text == "7 alone"
    assert gaps["threads"][1].text == "1"
    assert (gaps["threads"][2].text).startswith("more than 1")
    assert gaps["integers mod 2^64"][2].text == "rounding"
    assert gaps["against torch"][2].text == "refused: torch is not installed"


def test_an_unresolved_check_is_a_gap(folder: Path) -> None:
    rows = table(artifact_page(folder), "Gaps").rows
    assert any(r[1].standing == "unresolved" and r[2].text == "one core alone" for r in rows)


def test_the_whole_distribution_is_there(folder: Path) -> None:
    page = artifact_page(folder)
    shown = next(b for b in blocks(page) if isinstance(b, Distributions))
    assert [(s.name, len(s.values)) for s in shown.samples] == [("this kernel", 3), ("numpy", 3)]
    whole(table(page, "Times of a call"))


def test_a_changed_file_is_the_first_thing_read(folder: Path) -> None:
    (folder / "kernel.so").write_bytes(b"another")
    page = artifact_page(folder)
    assert page.answer[0].startswith("Do not deploy this folder: up/kernel.so is not the file")
    assert "All are as they were qualified" not in told(page)


def test_a_noisy_comparison_is_no_gain(tmp_path: Path) -> None:
    timing = made_record()["timing"] | {
        "ratios": {"numpy": {"median": 1.02, "low": 0.99, "high": 1.1}},
        "verdicts": {"numpy": "too noisy"},
    }
    page = artifact_page(made_artifact(tmp_path / "noisy", timing=timing))
    assert "no difference from numpy that counts (too noisy: 1.02 times" in page.answer[0]


def test_of_a_kernel_of_another_tool_nothing_is_proved(tmp_path: Path) -> None:
    evidence = made_record()["evidence"]
    evidence["template"] |= {"verdict": "none", "semantics": "none", "obligations": []}
    template = {"name": "none", "digest": "", "sha256": ""}
    page = artifact_page(made_artifact(tmp_path / "f", evidence=evidence, template=template))
    assert "Nothing is proved of it" in page.answer[1]
    assert not [c for c in cells(page) if c.evidence == "proved"]


def test_a_folder_without_a_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"record\.json"):
        artifact_page(tmp_path)


def test_words_of_a_record_are_no_markup(tmp_path: Path) -> None:
    evil = '"><img src=x onerror=alert(1)></script>'
    evidence = made_record()["evidence"]
    evidence["binary"]["checks"][0]["says"] = evil
    evidence["other_build"][0]["unseen"] = evil
    workload = {"name": evil, "extents": {evil: 3}}
    page = artifact_page(made_artifact(tmp_path / "e", evidence=evidence, workload=workload))
    assert evil in told(page)
    assert "<img src=x" not in html_of(page)

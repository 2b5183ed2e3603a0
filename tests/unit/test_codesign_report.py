"""The tables of a co-design study: widths, what they must say, files that agree with them."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from codesign_result import ceiling, result
from rich.console import Console

from formwright.flow.codesign_results import StudyResult
from formwright.report.codesign import print_study
from formwright.report.codesign_files import write_study


def printed(found: StudyResult, width: int) -> str:
    stream = io.StringIO()
    print_study(Console(file=stream, width=width, highlight=False), found)
    return stream.getvalue()


@pytest.mark.parametrize("width", [80, 100, 120])
def test_nothing_is_wider_than_the_terminal(width: int) -> None:
    sweep = result(*(ceiling(b) for b in (5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 240.0)))
    for found in (result(ceiling(10.0)), sweep):
        lines = printed(found, width).splitlines()
        assert max(map(len, lines)) <= width
        assert not [x for x in lines if "…" in x], "no cell is cut"


def test_the_tables_say_what_was_found() -> None:
    text = printed(result(ceiling(10.0)), 100)
    flat = " ".join(text.split())
    for told in (
        "Chip within 10 mm2, found by sets",
        "no chip is below 0.2475 (gap 1 %)",
        "shared_bytes 32 KiB 64 KiB",
        "1. shared_bytes 32 KiB -> 64 KiB, sms 4 -> 8",
        "+1.5 mm2, price 0.5 per mm2; drop 0.75, evaluated 0.74",
        "work 0: Tm 32 -> 64, 1.9 times as fast",
        "and 2 more, in the files",
        "given back: shared_bytes 64 KiB -> 48 KiB",
        "random 0.25 9.9 1/2 200 108.5 [17, 200]",
        "random: 17 chips were found, not 200",
        "random: also 6 [0, 12] bounds of boxes",
        "other: modelled",
        "then no purchase helps; with every capacity removed,",
        "other fields as they are, it would be 0.2",
        "tiled-gpu (simulated): rank correlation 0.97 on 30 designs",
        "area of clock: not modelled (no source gives an area)",
        "the fit is off by 5 %",
        "paper: 12 mm2, 0.26; dominated",
    ):
        assert told in flat, told
    assert "clock" not in text.split("Purchases")[0], "a field without a choice is no decision"


def test_a_ceiling_without_a_chip_says_so() -> None:
    text = printed(result(ceiling(1.0, None)), 80)
    assert "No chip within 1 mm2 has a program for every scenario." in text


def test_a_sweep_has_a_column_for_each_ceiling() -> None:
    text = printed(result(ceiling(5.0, 0.5), ceiling(10.0)), 80)
    head = next(x for x in text.splitlines() if x.startswith("budget"))
    assert head.split()[-2:] == ["5", "10"]


def test_json_has_the_keys_that_were_promised() -> None:
    shown = result(ceiling(10.0)).as_json()
    wanted = {"chip", "area", "objective", "bound", "gap", "scenarios", "purchases", "methods"}
    assert wanted <= shown.keys()
    assert "ceilings" not in shown
    assert shown["objective"] == 0.25
    assert shown["goal"] == "worst"
    json.dumps(shown)
    sweep = result(ceiling(5.0, 0.5), ceiling(10.0)).as_json()
    assert [c["objective"] for c in sweep["ceilings"]] == [0.5, 0.25]
    assert sweep["objective"] == 0.25
    assert wanted <= sweep["ceilings"][0].keys()


def test_files_hold_what_the_tables_show(tmp_path: Path) -> None:
    found = result(ceiling(5.0, 0.5), ceiling(10.0))
    written = {p.name for p in write_study(found, tmp_path)}
    assert written == {
        "result.json",
        "ceilings.csv",
        "methods.csv",
        "purchases.csv",
        "scenarios.csv",
        "front.csv",
        "chips.csv",
    }
    assert json.loads((tmp_path / "result.json").read_text())["objective"] == 0.25
    methods = list(csv.DictReader((tmp_path / "methods.csv").open()))
    assert [(m["budget_mm2"], m["run"], m["entry"]) for m in methods] == [
        ("5.0", "0", "8"),
        ("5.0", "1", "9"),
        ("10.0", "0", "8"),
        ("10.0", "1", "9"),
    ]
    bought = list(csv.DictReader((tmp_path / "purchases.csv").open()))
    assert {b["field"] for b in bought} == {"sms", "shared_bytes"}
    assert all(b["entry"] == "5" for b in bought)


def test_no_file_is_written_for_an_empty_table(tmp_path: Path) -> None:
    write_study(result(ceiling(1.0, None)), tmp_path)
    assert not (tmp_path / "purchases.csv").exists()
    ceilings = list(csv.DictReader((tmp_path / "ceilings.csv").open()))
    assert ceilings[0]["objective"] == ""


def test_a_step_that_frees_area_says_what_it_saves() -> None:
    found = ceiling(32.0)
    saved = replace(found.purchases[0], area=-0.5, price=None)
    text = printed(result(replace(found, purchases=(saved,))), 80)
    assert "saves 0.5 mm2; drop 0.75" in text
    assert "+-" not in text


def test_a_chip_of_ones_own_that_is_not_shown_best_says_so() -> None:
    found = ceiling(32.0)
    first = replace(found.scenarios[0], alone_note="stopped after 60 s")
    text = printed(result(replace(found, scenarios=(first, *found.scenarios[1:]))), 100)
    assert f"the chip for {first.name} alone may not be the best: stopped after 60 s" in text


def test_wide_figures_of_methods_are_not_cut() -> None:
    """Objectives of twelve digits, short times and many solves fit into 80 columns."""
    found = ceiling(32.0)
    rows = tuple(
        replace(m, objective=5976357123.4, area=0.64566, seconds=(0.00056512,), solves=(508,))
        for m in found.methods
    )
    assert "…" not in printed(result(replace(found, methods=rows)), 80)


@pytest.mark.parametrize(
    ("complete_to", "said"),
    [
        (None, "every chip is within 1 % of a point of no more area"),
        (1.8, "within 1 % for chips below 1.8 mm2; the time was spent"),
    ],
)
def test_how_far_the_front_can_be_relied_on(complete_to: float | None, said: str) -> None:
    found = replace(result(ceiling(32.0)), front_complete_to=complete_to)
    assert said in " ".join(printed(found, 80).split())

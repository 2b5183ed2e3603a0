"""Counterexamples as lanes: what Figure 7 shows, in text and in SVG."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from formwright.cli.main import run
from formwright.ir.inline import inlined
from formwright.lang import load
from formwright.proof.interleaving import Event, Interleaving
from formwright.proof.refutation import Refutation
from formwright.replay import replay
from formwright.report.lanes import lane_lines
from formwright.report.lanes_svg import lanes_svg

FIGURE_7 = "C[0,1] accumulates A[0,2]*B[4,1] instead of A[0,2]*B[2,1]"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def figure_7() -> Interleaving:
    template = inlined(load("tests/variants/tiling_weak.fw")[1])
    values = {"K": 5, "M": 2, "N": 2, "W": 2, "P": 1, "S": 2, "beta": 0}
    values |= {"Tk": 8, "Tm": 16, "Tn": 16} | {p.name: 10**6 for p in template.scope.chip}
    found = replay(template, Refutation("lifetime", "claim", dict(values), (), ""))
    assert found is not None
    assert found.interleaving is not None
    return found.interleaving


def test_figure_7_has_a_lane_for_each_warp_and_ends_in_the_defect(figure_7: Interleaving) -> None:
    assert figure_7.lanes == ("w0", "w1")
    assert figure_7.defect == FIGURE_7
    last = figure_7.events[-1]
    assert last.lane == "w0"
    assert "slot 0 holds sB<4>" in last.note
    assert FIGURE_7 in last.note
    harm = [e for e in figure_7.events if e.lane == "w1" and e.text == "sB<4> ="]
    assert [e.writes for e in harm] == [("sB<4>[0,1] in slot 0",)]


def test_text_has_a_column_for_each_lane_and_fits(figure_7: Interleaving) -> None:
    rows = lane_lines(figure_7, width=100)
    assert all(len(row) <= 100 for row in rows)
    assert rows[2].split() == ["w0", "w1"]
    assert rows[-1] == f"=> {FIGURE_7}"


@pytest.mark.parametrize("lanes", [1, 3, 9])
def test_any_number_of_lanes_keeps_every_event(lanes: int) -> None:
    names = tuple(f"unit{n}" for n in range(lanes))
    events = tuple(
        Event(name, f"step{n}", ("a <b> & c",), ("x" * 90,), "odd" if n == 1 else "")
        for n, name in enumerate(names)
    )
    shown = Interleaving("a title & more", names, events, "lost <term>")
    text = "\n".join(lane_lines(shown, width=80))
    assert all(f"step{n}" in text for n in range(lanes))
    assert all(len(row) <= 80 for row in text.splitlines())
    tree = ElementTree.fromstring(lanes_svg(shown))
    assert len(tree.findall(f"{SVG}rect")) == lanes


def test_svg_stands_alone_and_tells_the_run_to_a_screen_reader(figure_7: Interleaving) -> None:
    text = lanes_svg(figure_7)
    tree = ElementTree.fromstring(text)
    assert tree.get("role") == "img"
    assert FIGURE_7 in (tree.findtext(f"{SVG}desc") or "")
    assert "script" not in text
    assert "href" not in text
    odd = [r for r in tree.findall(f"{SVG}rect") if r.get("class") == "odd"]
    assert len(odd) == 1
    width, height = float(tree.get("width", "0")), float(tree.get("height", "0"))
    for rect in tree.findall(f"{SVG}rect"):
        assert float(rect.get("x", "0")) + float(rect.get("width", "0")) <= width
        assert float(rect.get("y", "0")) + float(rect.get("height", "0")) <= height


def test_prove_draws_into_a_folder(tmp_path: Path) -> None:
    arguments = ["prove", "tests/variants/tiling_weak.fw", "--lanes", str(tmp_path / "drawn")]
    assert run(arguments) == 1
    assert sorted(p.name for p in (tmp_path / "drawn").iterdir()) == [
        "tiling_weak-lifetime-1.svg",
        "tiling_weak-lifetime-1.txt",
    ]

"""Drawings: where marks stand, what is left out and said, and lines that keep to their lanes."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import page_samples as samples
from effort import examples
from formwright.report.html import html_of
from formwright.report.html.histories import rows_of
from formwright.report.html.keys import BOX, WIDTHS, numbered
from formwright.report.html.numbers import number, said
from formwright.report.html.samples import density, summary_of, usual
from formwright.report.html.scales import scale_of
from formwright.report.page import (
    Axis,
    Bar,
    Bars,
    Cell,
    Chart,
    Column,
    Distributions,
    Node,
    Part,
    Point,
    Sample,
    Scale,
    Series,
    Table,
)

FINITE = st.floats(-1e12, 1e12, allow_subnormal=False)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1826.852, "1,827"),
        (-3.5, "−3.5"),
        (0.25, "0.25"),
        (123456.0, "123,456"),
        (1e6, "10⁶"),
        (2.5e-7, "2.5×10⁻⁷"),
        (math.inf, "∞"),
        (math.nan, "not a number"),
        (0.0012346, "0.001235"),
        (100.0, "100"),
        (99.999, "100"),
    ],
)
def test_numbers_read_as_in_a_text(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.25e-5, "s", "12.5 µs"),
        (3600.0, "s", "3,600 s"),
        (2.5e9, "B/s", "2.5 GB/s"),
        (1e-6, "s", "1 µs"),
        (1e3, "flop/s", "1 kflop/s"),
        (0.0, "J", "0 J"),
        (12.0, "%", "12%"),
        (7.0, "mm2", "7 mm²"),
        (1e-30, "s", "10⁻¹⁸ ps"),
        (5.0, "", "5"),
    ],
)
def test_units_take_the_prefix_that_suits(value: float, unit: str, text: str) -> None:
    assert said(value, unit) == text


@settings(max_examples=examples(120), deadline=None)
@given(st.lists(FINITE, min_size=1, max_size=8), st.sampled_from(["linear", "log"]))
def test_an_axis_holds_its_values_and_marks_of_its_own_in_order(
    values: list[float], kind: Scale
) -> None:
    scale = scale_of(Axis("x", "s", kind), values)
    for value in values:
        at = scale.within(value)
        assert at is not None or (kind == "log" and value <= 0)
    places = [t.at for t in scale.ticks]
    assert places == sorted(places)
    assert all(-1e-6 <= p <= 1 + 1e-6 for p in places)
    assert len({t.text for t in scale.ticks}) == len(scale.ticks) <= 13
    assert scale.at(scale.low) == pytest.approx(0)
    assert scale.at(scale.high) == pytest.approx(1)


def test_edges_that_are_given_hold() -> None:
    scale = scale_of(Axis("x", low=0.0, high=10.0), [3.0, 40.0])
    assert (scale.low, scale.high) == (0.0, 10.0)
    assert scale.within(40.0) is None
    assert scale.at(40.0) == pytest.approx(4)


def test_points_without_a_place_are_counted_and_stand_in_the_table() -> None:
    points = (Point(1, 1), Point(-1, 2, "left out"), Point(3, math.nan), Point(4, math.inf))
    log = Axis("x", scale="log")
    text = html_of(samples.page((Chart("t", "s", log, Axis("y"), (Series("a", points),)),)))
    assert "3 points outside the axes stand in the table below." in text
    assert text.count("<title>a: x 1, y 1</title>") == 1
    assert "<td>left out</td>" in text
    assert text.count("<tr>") == 5


def test_a_chart_without_points_is_a_chart() -> None:
    assert "nan" not in html_of(samples.page((Chart("t", "s", Axis("x"), Axis("y"), ()),)))


def test_parts_of_a_bar_lie_side_by_side_from_zero() -> None:
    bar = Bar("b", (Part("up", 3.0), Part("down", -1.0), Part("more", 1.0)))
    text = html_of(samples.page((Bars("t", "s", Axis("y"), (bar,)),)))
    # The axis runs from -1 to 4.
    assert 'x="20.00%" y="1" width="60.00%"' in text
    assert 'x="0.00%" y="1" width="20.00%"' in text
    assert 'x="80.00%" y="1" width="20.00%"' in text


def test_late_values_do_not_press_the_others_into_a_line_and_are_said() -> None:
    found = samples.distributions()
    text = html_of(samples.page((found,)))
    assert "1 beyond the axis, as far as 9 ms" in text
    assert "201 values; 1 beyond" in text
    assert usual((1.0, 1.0, 1.0, 1.0, 1.0, 50.0)) == [1.0, 1.0, 1.0, 1.0, 1.0, 50.0]


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(FINITE, min_size=1, max_size=40))
def test_quantiles_are_numpy_s(values: list[float]) -> None:
    known = summary_of(tuple(values))
    assert known is not None
    wanted = np.quantile(values, [0, 0.25, 0.5, 0.75, 0.95, 1])
    got = [known.least, known.low, known.middle, known.high, known.late, known.greatest]
    assert got == pytest.approx(list(wanted), rel=1e-9, abs=1e-3)
    assert usual(tuple(values))


def test_a_density_has_its_hills_where_values_are() -> None:
    heights = density([0.2] * 50 + [0.21] * 50 + [0.8] * 25)
    assert max(heights) == 1
    assert 20 <= heights.index(1.0) <= 28
    assert heights[60] < 0.01
    assert heights[96] > 0.2


def test_a_distribution_without_values_says_so() -> None:
    empty = Distributions("t", "s", Axis("x", "s"), (Sample("a", ()), Sample("b", (math.nan,))))
    assert html_of(samples.page((empty,))).count("no values") == 2


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(10, 310)), min_size=2, max_size=12))
def test_numbers_beside_marks_do_not_lie_on_each_other(spots: list[tuple[float, float]]) -> None:
    found = numbered([(x, y, f"label {n}") for n, (x, y) in enumerate(spots)])
    assert found.listed.count("<li>") == len(spots)
    assert found.texts.count("<text") == len(spots)


def test_numbers_find_places_of_their_own_where_marks_are_near_each_other() -> None:
    spots = [(0.5 + 0.002 * n, 100.0 + 2 * n, "x") for n in range(8)]
    found = re.findall(r'x="([\d.]+)%" dx="(-?\d+)" y="([\d.]+)"', numbered(spots).texts)
    for width in WIDTHS:
        places = [(float(x) / 100 * width + float(dx), float(y)) for x, dx, y in found]
        for n, (x, y) in enumerate(places):
            for other_x, other_y in places[:n]:
                assert abs(x - other_x) >= BOX[0] - 1 or abs(y - other_y) >= BOX[1] - 1


KEYS = st.sampled_from("abcdefgh")


@settings(max_examples=examples(160), deadline=None)
@given(st.lists(st.tuples(KEYS, st.lists(KEYS, max_size=3)), max_size=10))
def test_a_history_has_every_node_once_with_parents_above_and_lines_that_meet(
    made: list[tuple[str, list[str]]],
) -> None:
    nodes = [Node(key, key, tuple(parents)) for key, parents in made]
    rows, lanes = rows_of(nodes)
    assert sorted(r.node.key for r in rows) == sorted({n.key for n in nodes})
    at = {r.node.key: n for n, r in enumerate(rows)}
    open_before: set[int] = set()
    for row_number, row in enumerate(rows):
        assert 0 <= row.lane < lanes
        # A line that comes in was open, and one that is open either joins or passes.
        assert set(row.joins) | set(row.passing) == open_before
        assert row.lane not in row.passing
        above = [p for p in dict.fromkeys(row.node.parents) if at.get(p, row_number) < row_number]
        assert [rows[at[p]].lane for p in above] == list(row.joins)
        open_before = set(row.passing) | ({row.lane} if row.opens else set())
    assert open_before == set()


def test_without_circles_all_parents_stand_above() -> None:
    nodes = [
        Node("d", "d", ("b", "c")),
        Node("b", "b", ("a",)),
        Node("c", "c", ("a",)),
        Node("a", "a"),
    ]
    rows, lanes = rows_of(nodes)
    order = [r.node.key for r in rows]
    assert order[0] == "a"
    assert order[-1] == "d"
    assert lanes == 2


def test_rows_beyond_the_first_wait_in_a_template() -> None:
    text = html_of(samples.page((samples.table(60),)))
    head, rest = text.split("<template>")
    assert head.count('<th scope="row"') == 10
    assert rest.split("</template>")[0].count('<th scope="row"') == 50
    assert "The first 10 of 60 rows" in text
    assert "data-filter" in text


def test_what_all_figures_of_a_column_rest_on_stands_at_its_head() -> None:
    text = html_of(samples.page((samples.table(4),)))
    assert text.count("</i>measured</span>") == 2  # the head's, and that of the words explained
    mixed = Table(
        "t", (Column("a"), Column("b")), ((Cell("x"), Cell("1", evidence="measured")),) * 2
    )
    mixed = replace(mixed, rows=(*mixed.rows, (Cell("y"), Cell("2", evidence="modelled"))))
    assert html_of(samples.page((mixed,))).count("</i>measured</span>") == 3

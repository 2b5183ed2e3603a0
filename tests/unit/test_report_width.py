"""Tables fit the width, lose nothing and have no colour where there is no terminal."""

import io
import re
from itertools import pairwise

import pytest
from rich.console import Console

from formwright.report.plain import bold, table_lines
from formwright.report.tables import print_table, print_title

HEADINGS = ("", "in", "from", "by", "verdict", "best time", "template")
ROWS = (
    ("1", "1", "-", "specification", "proved", "3.869 ms", "decode_attention_plain_apart"),
    (
        "12",
        "2",
        "1, 2",
        "rewrite loops",
        "refuted (repair 1): coverage, exact_once",
        "-",
        "decode_attention_plain_39d3d0a7-8de65973",
    ),
)
RIGHT = frozenset((0, 1, 5))


def text_of(lines: list[str]) -> str:
    return re.sub(r"\s+", "", "".join(lines))


@pytest.mark.parametrize("width", [40, 60, 80, 100, 132])
def test_no_line_is_wider_and_no_character_is_lost(width: int) -> None:
    heads, body = table_lines(HEADINGS, ROWS, RIGHT, width)
    assert all(len(line) <= width for line in (*heads, *body))
    letters = sorted(text_of(body).replace(":", ""))
    wanted = sorted("".join(cell for row in ROWS for cell in row).replace(" ", ""))
    if heads:
        assert letters == sorted("".join(wanted).replace(":", ""))
    else:  # a list: each cell with its heading
        names = [heading for _ in ROWS for heading in HEADINGS]
        named = sorted("".join((*wanted, *names)).replace(" ", "").replace(":", ""))
        assert letters == named


def test_folding_begins_where_it_must_and_ends_in_a_list() -> None:
    """The wider the terminal the fewer the lines; numbers are never broken."""
    heights = [sum(map(len, table_lines(HEADINGS, ROWS, RIGHT, w))) for w in range(40, 140, 4)]
    assert heights[-1] == 3
    assert heights[0] > 10
    assert all(a >= b for a, b in pairwise(heights))
    for width in range(40, 140, 7):
        _, body = table_lines(HEADINGS, ROWS, RIGHT, width)
        assert sum("3.869 ms" in line for line in body) == 1


def test_without_a_width_a_table_is_as_wide_as_it_is() -> None:
    heads, body = table_lines(HEADINGS, ROWS, RIGHT)
    assert (len(heads), len(body)) == (1, 2)
    assert body[1].endswith("decode_attention_plain_39d3d0a7-8de65973")


def test_a_pipe_gets_whole_rows_and_no_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    stream = io.StringIO()
    console = Console(file=stream, highlight=False, emoji=False)
    print_title(console, "sA[Tm,Tk]", ": [red]not a colour[/red]")
    print_table(console, HEADINGS, ROWS, RIGHT)
    assert "\x1b" not in stream.getvalue()
    first, _, *rows = stream.getvalue().splitlines()
    assert first == "sA[Tm,Tk]: [red]not a colour[/red]"
    assert rows[1].endswith("decode_attention_plain_39d3d0a7-8de65973")


def test_columns_of_the_environment_are_kept_to_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "44")
    stream = io.StringIO()
    print_table(Console(file=stream, highlight=False), HEADINGS, ROWS, RIGHT)
    assert max(map(len, stream.getvalue().splitlines())) <= 44


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_no_color_is_kept_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert bold("x", Terminal()) == "\x1b[1mx\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert bold("x", Terminal()) == "x"
    assert bold("x", io.StringIO()) == "x"

"""Progress says what, how far and how long; the rest where it can be known, nothing when quiet."""

import io

import pytest
from rich.console import Console

from formwright.report.progress import LINE_EVERY, Pieces, Progress, shown_rest


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def pipe() -> Console:
    return Console(file=io.StringIO(), highlight=False)


def told(console: Console) -> str:
    stream = console.file
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


def test_alike_pieces_have_an_estimate_once_two_are_done() -> None:
    clock = Clock()
    progress = Progress(pipe(), clock=clock)
    for done in range(4):
        progress.stage("validating", done, 10)
        shown = progress.now()
        assert f" {done} of 10 done" in shown
        assert ("left" in shown) == (done >= 2)
        clock.now += 3.0
    progress.stage("validating", 4, 10)
    assert progress.now() == "  12.0 s 4 of 10 done, about 20 s left: validating"
    clock.now += 2.0  # of the piece that is being done
    assert "about 15 s left" in progress.now()


def test_pieces_that_a_journal_had_tell_nothing_of_the_rest() -> None:
    pieces = Pieces(total=10, done=0, since=0.0)
    for done in range(1, 6):
        pieces.at(done, 0.001 * done)
    assert pieces.rest(0.01) is None
    pieces.at(6, 4.0)
    pieces.at(7, 8.0)
    assert pieces.rest(8.0) == pytest.approx(12.0, rel=0.01)


def test_other_work_begins_anew_and_single_work_has_no_count() -> None:
    progress = Progress(pipe(), clock=Clock())
    progress.stage("building", 3, 8)
    progress.stage("measuring")
    assert progress.now().endswith("measuring")
    progress.stage("building", 1, 8)
    assert "1 of 8 done" in progress.now()
    progress.stage("qualifying", 0, 1)
    assert progress.now().endswith("qualifying")


def test_without_a_terminal_a_line_now_and_then_and_none_when_quiet() -> None:
    for quiet in (False, True):
        clock, console = Clock(), pipe()
        with Progress(console, quiet=quiet, clock=clock) as progress:
            progress.stage("solving")
            assert told(console) == ""
            clock.now += LINE_EVERY
            progress.stage("measuring", 1, 5)
            progress.stage("measuring", 2, 5)
            progress.done("measured [bold]x[/bold]")
        lines = told(console).splitlines()
        if quiet:
            assert lines == []
        else:
            assert lines == [
                "  10.0 s 1 of 5 done: measuring",
                "  10.0 s measured [bold]x[/bold]",
            ]
        assert "\x1b" not in told(console)


def test_the_line_of_a_terminal_is_never_longer_than_it() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=40, color_system=None)
    with Progress(console, clock=Clock()) as progress:
        progress.stage("proving " + "a_template_with_a_long_name_" * 5, 1, 4)
        assert len(console.render_str(progress.now())) > 40
        lines = console.render_lines(progress._status.renderable)  # type: ignore[union-attr]
    assert len(lines) == 1


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.2, "1 s"), (9.6, "10 s"), (42, "40 s"), (61, "1 min"), (3000, "50 min"), (9000, "2.5 h")],
)
def test_the_rest_is_rounded(seconds: float, shown: str) -> None:
    assert shown_rest(seconds) == shown

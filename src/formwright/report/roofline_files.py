"""The roofline written to a folder: as text and, where it can be drawn, as SVG."""

from io import StringIO
from pathlib import Path

from rich.console import Console

from formwright.base.files import write_text
from formwright.flow.rooflining import Roofline
from formwright.report.roofline import print_roofline
from formwright.report.roofline_svg import roofline_svg


def write_roofline(found: Roofline, folder: Path) -> tuple[Path, ...]:
    """``roofline.txt`` and ``roofline.svg`` in ``folder``; the files that were written."""
    folder.mkdir(parents=True, exist_ok=True)
    text = StringIO()
    print_roofline(Console(file=text, width=100, highlight=False), found)
    written = [folder / "roofline.txt"]
    write_text(written[0], text.getvalue())
    drawn = roofline_svg(found)
    if drawn is not None:
        written.append(folder / "roofline.svg")
        write_text(written[-1], drawn)
    return tuple(written)

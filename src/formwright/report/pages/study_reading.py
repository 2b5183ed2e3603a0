"""A study's result as a page; one that is not as its study writes it is a fault of the file."""

from collections.abc import Callable
from pathlib import Path

from formwright.base.diagnostics import fail
from formwright.report.page import Page
from formwright.report.pages.soundness import sound
from formwright.report.pages.study_sources import RESULT, Kept, read_kept


def study_page(folder: Path, draw: Callable[[Kept], Page]) -> Page:
    """What ``draw`` makes of the result; it reads values as they are written.

    Raises:
        InputError: there is no result yet, or something of it is missing or of another kind.
    """
    kept = read_kept(folder)
    try:
        return sound(draw(kept))
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, OSError) as fault:
        raise fail(
            f"{folder / RESULT} is not as a study writes it: {type(fault).__name__} at {fault}",
            hint="give the command of the study again: it writes its result anew",
        ) from None

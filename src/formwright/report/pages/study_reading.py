"""A result that is not as its study writes it is a fault of the file, told by name."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from formwright.base.diagnostics import fail
from formwright.report.pages.study_sources import RESULT


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Makers read a result as it is written; what is missing or of another kind ends here.

    Raises:
        InputError: in place of what reading a value of the wrong kind raises.
    """
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, OSError) as fault:
        raise fail(
            f"{folder / RESULT} is not as a study writes it: {type(fault).__name__} at {fault}",
            hint="give the command of the study again: it writes its result anew",
        ) from None

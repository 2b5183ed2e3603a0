"""A machine has many jobs at once, or one measurement alone.

The locks are those of the operating system, one pair of files for each user of a machine: they
hold between all processes there, whoever started them, and are gone with a process that is killed.
Who wants the machine alone keeps the queue's lock while it waits for those at work, so that jobs
that come later wait behind it.
"""

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from formwright.base.diagnostics import fail

FOLDER: Final = "FORMWRIGHT_TURNS"
"""Names another folder for the locks: for tests that share a machine and measure nothing."""

_WAITING: Final = "waiting for this machine: something else is at work on it"


@contextmanager
def turn(*, alone: bool, say: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold this machine, shared with other jobs or ``alone``; ``say`` is told of a wait.

    Raises:
        InputError: the folder of the locks belongs to somebody else.
    """
    folder = _folder()
    at_work = _opened(folder / "at-work")
    try:
        queue = _opened(folder / "queue")
        try:
            _lock(queue, fcntl.LOCK_EX, say)
            _lock(at_work, fcntl.LOCK_EX if alone else fcntl.LOCK_SH, say)
        finally:
            os.close(queue)
        yield
    finally:
        os.close(at_work)


def _lock(descriptor: int, kind: int, say: Callable[[str], None] | None) -> None:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        if say is not None:
            say(_WAITING)
        fcntl.flock(descriptor, kind)


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _folder() -> Path:
    """Temporary files are the machine's own, which a home on a server is not."""
    named = os.environ.get(FOLDER)
    folder = Path(named) if named else Path(tempfile.gettempdir()) / f"formwright-{os.getuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise fail(
            f"{folder} belongs to somebody else",
            hint=f"name another folder by {FOLDER}, the same one for all that measure here",
        )
    return folder

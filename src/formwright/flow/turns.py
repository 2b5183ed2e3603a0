"""A machine has many jobs at once, or one measurement alone.

The locks are those of the operating system, one pair of files for each user of a machine: they
hold between all processes there, whoever started them, and are gone with a process that is killed.
Who wants the machine alone keeps the queue's lock while it waits for those at work, so that jobs
that come later wait behind it.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from formwright.base.diagnostics import fail

FOLDER: Final = "FORMWRIGHT_TURNS"
"""Names another folder for the locks: for tests that share a machine and measure nothing."""

_SHARED: Final = Path("/tmp")
"""The machine's own, which a home on a server is not; and the same one for all who are started
there, whatever ``TMPDIR`` says to one of them."""

_WAITING: Final = "waiting for this machine: something else is at work on it"
_ANOTHER: Final = f"name another folder by {FOLDER}, the same one for all that measure here"


@contextmanager
def turn(*, alone: bool, say: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold this machine, shared with other jobs or ``alone``; ``say`` is told of a wait.

    Raises:
        InputError: the folder of the locks belongs to somebody else, or cannot be used.
    """
    folder = _folder()
    at_work = _opened(folder / "at-work")
    try:
        queue = _opened(folder / "queue")
        try:
            _lock(queue, fcntl.LOCK_EX, say)
            _lock(at_work, fcntl.LOCK_EX if alone else fcntl.LOCK_SH, say)
        finally:
            _freed(queue)
        yield
    finally:
        _freed(at_work)


def _lock(descriptor: int, kind: int, say: Callable[[str], None] | None) -> None:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        if say is not None:
            say(_WAITING)
        fcntl.flock(descriptor, kind)


def _freed(descriptor: int) -> None:
    """A process that was forked meanwhile (a warm solver) has the same lock, and lives on: it is
    given up here for both. To close the file alone would leave it held."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _unusable(path, error) from None


def _folder() -> Path:
    named = os.environ.get(FOLDER)
    folder = Path(named) if named else _SHARED / f"formwright-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        owner = folder.lstat().st_uid
    except OSError as error:
        raise _unusable(folder, error) from None
    if folder.is_symlink() or owner != os.getuid():
        raise fail(f"{folder} belongs to somebody else", hint=_ANOTHER)
    return folder


def _unusable(path: Path, error: OSError) -> Exception:
    return fail(f"no locks of this machine at {path}: {error.strerror}", hint=_ANOTHER)

"""Process trees on Linux: who came of a process, what they hold, how all of them end."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_ROUNDS: Final = 20
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


def descendants(pid: int) -> Iterator[int]:
    """All processes that came of ``pid`` and still run, parents before children."""
    waiting = [pid]
    while waiting:
        for child in _children(waiting.pop()):
            yield child
            waiting.append(child)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                text = Path(f"/proc/{pid}/task/{task}/children").read_text(encoding="ascii")
                found += [int(word) for word in text.split()]
    return found


def kill_descendants(pid: int) -> None:
    """End everything that came of ``pid``, sessions of their own included; ``pid`` stays.

    Each is stopped before its children are looked for, so that none can have more behind our back.
    """
    for _ in range(_ROUNDS):
        found = list(descendants(pid))
        if not found:
            return
        for one in found:
            _signal(one, signal.SIGSTOP)
        for one in {*found, *descendants(pid)}:
            _signal(one, signal.SIGKILL)


def kill_tree(pid: int) -> None:
    """End ``pid`` and everything that came of it."""
    _signal(pid, signal.SIGSTOP)
    kill_descendants(pid)
    _signal(pid, signal.SIGKILL)


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def held_bytes(pid: int) -> int:
    """Memory of ``pid`` and its descendants that is theirs alone (shared pages left out)."""
    total = 0
    for one in (pid, *descendants(pid)):
        with contextlib.suppress(OSError, IndexError, ValueError):
            words = Path(f"/proc/{one}/statm").read_text(encoding="ascii").split()
            total += (int(words[1]) - int(words[2])) * _PAGE
    return total

"""Searches beside each other that do not disturb each other's clocks.

Threads of a study search, build and validate at the same time; whoever times a kernel is alone on
the machine. Nobody else even thinks meanwhile: the clock is read by this process, whose threads
take turns.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Lock


class StoppedError(Exception):
    """The study ends before its time: another thread failed, or was interrupted."""


class Quiet:
    """Many :meth:`work` at once; one is :meth:`alone`. ``mine``: two never build one kernel."""

    def __init__(self) -> None:
        self._changed = Condition(Lock())
        self._working = 0
        self._waiting = 0
        self._timing = False
        self._stopped = False
        self._locks: dict[str, Lock] = {}

    @contextmanager
    def work(self) -> Iterator[None]:
        """Do something that may go on beside other work, never beside a timing."""
        self._enter()
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """From within :meth:`work`: go on when nobody else works, and keep others from it.

        Who waits for this comes before any work that is not begun, or one thread would time all
        its kernels before another times its first.
        """
        with self._changed:
            self._working -= 1
            self._waiting += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._timing and not self._working)
            self._waiting -= 1
            self._timing = True
        try:
            self._check()
            yield
        finally:
            with self._changed:
                self._timing = False
                self._changed.notify_all()
            self._enter()

    @contextmanager
    def mine(self, name: str) -> Iterator[None]:
        """From within :meth:`work`: hold what is called ``name``; waiting for it is no work."""
        with self._changed:
            lock = self._locks.setdefault(name, Lock())
        self._leave()
        lock.acquire()
        try:
            self._enter()
            self._check()
            yield
        finally:
            lock.release()

    def stop(self) -> None:
        """Make every other thread end at its next kernel."""
        with self._changed:
            self._stopped = True

    def _check(self) -> None:
        if self._stopped:
            raise StoppedError

    def _enter(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._timing and not self._waiting)
            self._working += 1

    def _leave(self) -> None:
        with self._changed:
            self._working -= 1
            self._changed.notify_all()

"""The append-only journal of a run: what was decided, once, in order.

A run is a sequence of named steps. :meth:`Journal.step` computes a step the first time and gives
back what was written every later time, so that the same command goes on after a
``kill -9`` with nothing lost and nothing done twice. Each entry is one line of JSON, flushed to
the disk before the run goes on; a torn last line is cut off when the journal is opened.
"""

import fcntl
import json
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self

from formwright.base.diagnostics import fail

SCHEMA = 1


class Journal:
    """One run's entries. One process at a time may hold it; a second is turned away."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writing = Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = open(path, "a+b")  # noqa: SIM115 - lives as long as the journal
        except OSError as error:
            raise fail(
                f"cannot write {path}: {error.strerror}",
                hint="name a folder that can be written, with --out",
            ) from None
        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._stream.close()
            raise fail(
                f"another run is writing {path}",
                hint="wait for it, or give this one its own folder with --out",
            ) from None
        self.entries: list[dict[str, Any]] = _read_whole_lines(path)
        self._by_key = {e["key"]: e for e in self.entries}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the file up, also for a process that was forked meanwhile and lives on with it."""
        if self._stream.closed:
            return
        held = os.dup(self._stream.fileno())
        try:
            # What could not be written was told when it was tried.
            with suppress(OSError):
                self._stream.close()
            fcntl.flock(held, fcntl.LOCK_UN)
        finally:
            os.close(held)

    def discard(self) -> None:
        """Take the file away: what was begun here was refused before it had a result."""
        self.close()
        self.path.unlink(missing_ok=True)

    def known(self, key: str) -> Any | None:
        """What the step ``key`` gave, if it is done."""
        entry = self._by_key.get(key)
        return None if entry is None else entry["data"]

    def number(self, key: str) -> int | None:
        """The number of the entry of the step ``key``, if it is done."""
        entry = self._by_key.get(key)
        return None if entry is None else entry["number"]

    def step(self, key: str, compute: Callable[[], Any]) -> Any:
        """The result of the step ``key``: plain JSON data, computed at most once in a run.

        The result is what a reader of the file would get, the first time too, so that a
        resumed run and an undisturbed one see the same values.
        """
        known = self._by_key.get(key)
        if known is not None:
            return known["data"]
        return self._append(key, compute())["data"]

    def steps(self, work: Mapping[str, Callable[[], Any]], workers: int) -> dict[str, Any]:
        """Several steps that do not need each other, ``workers`` at a time.

        Each is written as soon as it is done. A fault of one is raised when all have ended.
        """
        missing = {key: compute for key, compute in work.items() if key not in self._by_key}
        with ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
            running = [pool.submit(self.step, key, compute) for key, compute in missing.items()]
        for one in running:
            one.result()
        return {key: self._by_key[key]["data"] for key in work}

    def _append(self, key: str, data: Any) -> dict[str, Any]:
        with self._writing:
            return self._write(key, data)

    def _write(self, key: str, data: Any) -> dict[str, Any]:
        entry = {
            "schema": SCHEMA,
            "number": len(self.entries),
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "key": key,
            "data": data,
        }
        line = json.dumps(entry, sort_keys=True) + "\n"
        try:
            self._stream.write(line.encode())
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError as error:
            raise fail(
                f"cannot write {self.path}: {error.strerror}",
                hint="make room; the same command goes on from the last whole entry",
            ) from None
        written: dict[str, Any] = json.loads(line)
        self.entries.append(written)
        self._by_key[key] = written
        return written


def _read_whole_lines(path: Path) -> list[dict[str, Any]]:
    raw = path.read_bytes()
    whole = raw[: raw.rfind(b"\n") + 1]
    if len(whole) < len(raw):
        os.truncate(path, len(whole))
    entries: list[dict[str, Any]] = []
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            entry = json.loads(line)
        except ValueError:
            raise fail(
                f"{path}, line {number}: not a journal entry",
                hint="the file was changed by hand; start again with another --out",
            ) from None
        formed = isinstance(entry, dict) and isinstance(entry.get("key"), str) and "data" in entry
        if not formed or entry.get("number") != len(entries):
            raise fail(
                f"{path}, line {number}: entry out of order",
                hint="the file was changed by hand; start again with another --out",
            )
        entries.append(entry)
    return entries

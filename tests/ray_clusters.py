"""Clusters of Ray for tests, each with a folder of its own, and the processes of their workers."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from formwright.flow.executor_ray import RayExecutor


@contextmanager
def cluster(cores: int = 2) -> Iterator[RayExecutor]:
    """A cluster on this machine for one test, ``cores`` jobs at once."""
    executor = RayExecutor("local", cores)
    try:
        yield executor
    finally:
        executor.close()


def workers_at_work(parent: int | None = None) -> list[int]:
    """Processes of a job in progress that descend from ``parent`` (this process without)."""
    of = {pid: told for pid in _processes() if (told := _told(pid)) is not None}
    ours, found = {parent or os.getpid()}, []
    changed = True
    while changed:
        more = {pid for pid, (above, _) in of.items() if above in ours} - ours
        ours |= more
        changed = bool(more)
    for pid in ours & of.keys():
        if of[pid][1].startswith("ray::work"):
            found.append(pid)
    return sorted(found)


def _processes() -> list[int]:
    return [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit()]


def _told(pid: int) -> tuple[int, str] | None:
    """The parent of a process, and its title."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        title = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    except (OSError, UnicodeDecodeError):
        return None
    return int(stat.rpartition(")")[2].split()[1]), title

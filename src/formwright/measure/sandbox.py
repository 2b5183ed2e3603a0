"""How the child is confined, how far this machine allows it, and what it may use."""

import functools
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from formwright.measure.outcome import MeasureError, Refused
from formwright.measure.worker import worker_binary


class Level(IntEnum):
    """What held the child back; each level includes those before it.

    Always: own process group, deadline, resource limits, cleared environment.
    """

    PLAIN = 0
    SECCOMP = 1
    """No network, no new processes, no files opened for writing, no signals to others."""
    LANDLOCK = 2
    """Files outside the system's libraries and the candidate's folder cannot be read."""
    BUBBLEWRAP = 3
    """Own namespaces (network, processes, users, …), a file system of libraries, read-only."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one child may use. ``memory_bytes`` is on top of its slots, in address space."""

    call_seconds: float = 20.0
    """Deadline of one command; the process group is killed when it passes."""
    start_seconds: float = 20.0
    memory_bytes: int = 2 << 30
    scratch_bytes: int = 1 << 30
    cpu_seconds: int = 3600


@dataclass(frozen=True, slots=True)
class Sandbox:
    """``require``: refuse to run below this level. ``allow``: use no higher one (for tests)."""

    require: Level = Level.PLAIN
    allow: Level = Level.BUBBLEWRAP
    limits: Limits = Limits()

    def check(self, reached: Level) -> None:
        """Raise ``MeasureError`` when the level that was reached is below what is required."""
        if reached < self.require:
            reason = (
                f"the sandbox reaches level {reached.name.lower()} here and"
                f" {self.require.name.lower()} is required; {bubblewrap_hint()}"
            )
            raise MeasureError(Refused(reason))


SYSTEM_FOLDERS = ("/usr", "/lib", "/lib64", "/lib32", "/bin", "/etc/ld.so.cache")
"""What a program needs to start and to load libraries; home, temporary files and /sys are not."""


def readable_paths(extra: Sequence[Path]) -> tuple[str, ...]:
    """The system's folders and ``extra`` ones, as the child may read them."""
    return (*SYSTEM_FOLDERS, *(str(path) for path in extra))


def bubblewrap_command(extra: Sequence[Path], *, temporary: bool = False) -> list[str]:
    """The prefix that runs a command in namespaces of its own, with ``extra`` to read.

    With ``temporary`` there is an empty /tmp in memory, which some libraries insist on.
    """
    command = ["bwrap", "--unshare-all", "--die-with-parent", "--proc", "/proc", "--dev", "/dev"]
    for folder in SYSTEM_FOLDERS:
        command += ["--ro-bind-try", folder, folder]
    if temporary:
        command += ["--tmpfs", "/tmp"]
    for path in extra:
        command += ["--ro-bind", str(path), str(path)]
    return [*command, "--remount-ro", "/", "--chdir", "/", "--"]


@functools.cache
def bubblewrap_works() -> bool:
    """Whether bubblewrap starts a program here; tried once in a process."""
    if shutil.which("bwrap") is None:
        return False
    worker = worker_binary()
    command = [*bubblewrap_command([worker]), str(worker)]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=20, stdin=subprocess.DEVNULL, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 2  # the worker ran, and missed its arguments


def bubblewrap_hint() -> str:
    """What to do where bubblewrap does not work."""
    if shutil.which("bwrap") is None:
        return "install bubblewrap"
    return (
        "bubblewrap is installed and cannot make namespaces:"
        " allow unprivileged user namespaces (on Ubuntu, an AppArmor profile for bwrap)"
    )


def python_paths() -> list[Path]:
    """What a Python child needs to read: the interpreter, its library, the environment."""
    roots = {Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parent}
    return sorted(root for root in roots if not str(root).startswith("/usr"))

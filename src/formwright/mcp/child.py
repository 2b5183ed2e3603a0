"""One child process from its start to its end, and how it came out."""

import json
import os
import pickle
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from subprocess import PIPE
from typing import Any, Final

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from formwright.mcp.asked import LENGTH, Asked
from formwright.mcp.limits import LINE_BYTES, Limit
from formwright.mcp.processes import held_bytes, kill_tree

POLL_SECONDS: Final = 0.25
"""How often memory is looked at; less often while a clock is read."""
STAGE: Final = 300
"""Characters of a stage."""
PASSED: Final = (
    *("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
    *("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "FORMWRIGHT_POPULATION"),
    *("PGPASSFILE", "PGSERVICEFILE", "PGSSLMODE", "PGSSLROOTCERT"),
    *("LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV", "OPENBLAS_NUM_THREADS"),
)
"""Variables that a child gets; keys of services are not among them."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child came out. ``answer`` is there where ``state`` is ``done``.

    ``faults`` where it is ``refused``; ``crash`` says what broke where it is ``failed``.
    """

    state: str
    answer: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[Mapping[str, Any], ...] = ()
    crash: str = ""


async def run_child(asked: Asked, limit: Limit, tell: Callable[[str], None]) -> Ended:
    """Runs ``asked`` in a process of its own, within ``limit``; ``tell`` hears of its stages.

    However this ends, cancelled included, the process and all that it started have ended.
    """
    with open(asked.folder / "log.txt", "wb") as log:
        process = await anyio.open_process(
            [sys.executable, "-P", "-m", "formwright.mcp.worker"],
            stdin=PIPE,
            stdout=PIPE,
            stderr=log,
            cwd=asked.folder,
            env=environment(os.environ),
            start_new_session=True,
        )
    reached = Ended("out of time")
    try:
        with anyio.move_on_after(limit.seconds):
            reached = await _watched(process, asked, limit, tell)
    finally:
        kill_tree(process.pid)
        with anyio.CancelScope(shield=True):
            await process.aclose()
    return reached


def environment(ours: Mapping[str, str]) -> dict[str, str]:
    """What a child sees of ``ours``."""
    return {name: ours[name] for name in PASSED if name in ours}


async def _watched(
    process: Process, asked: Asked, limit: Limit, tell: Callable[[str], None]
) -> Ended:
    ended = Ended("failed", crash="")
    async with anyio.create_task_group() as tasks:
        full = anyio.Event()
        tasks.start_soon(_watch_memory, process.pid, limit, full)
        tasks.start_soon(_end_when, full, tasks.cancel_scope)
        ended = await _talk(process, asked, tell)
        tasks.cancel_scope.cancel()
    return Ended("out of memory") if full.is_set() else ended


async def _watch_memory(pid: int, limit: Limit, full: anyio.Event) -> None:
    while held_bytes(pid) <= limit.mebibytes << 20:
        await anyio.sleep(POLL_SECONDS * (3 if limit.alone else 1))
    full.set()


async def _end_when(full: anyio.Event, scope: anyio.CancelScope) -> None:
    await full.wait()
    scope.cancel()


async def _talk(process: Process, asked: Asked, tell: Callable[[str], None]) -> Ended:
    assert process.stdin is not None
    assert process.stdout is not None
    data = pickle.dumps(asked)
    said = BufferedByteReceiveStream(process.stdout)
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdin.send(LENGTH.pack(len(data)) + data)
    while True:
        try:
            line = await said.receive_until(b"\n", LINE_BYTES)
        except anyio.DelimiterNotFound:
            return Ended("failed", crash=f"its answer is larger than {LINE_BYTES} bytes")
        except (anyio.IncompleteRead, anyio.EndOfStream):
            return Ended("failed", crash=f"its process ended with status {await process.wait()}")
        message: Mapping[str, Any] = json.loads(line)
        if "stage" in message:
            tell(str(message["stage"])[:STAGE])
        else:
            return _ended(message)


def _ended(message: Mapping[str, Any]) -> Ended:
    if "answer" in message:
        return Ended("done", answer=message["answer"])
    if "faults" in message:
        return Ended("refused", faults=tuple(message["faults"]))
    if message.get("memory"):
        return Ended("out of memory")
    return Ended("failed", crash=str(message.get("crash", "")))

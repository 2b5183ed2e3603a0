"""Jobs in child processes: started in turn, told of, limited, cancelled, and ended with the server.

All of it runs in one event loop. A job's child has a session, a folder and a pipe of its own;
whatever ends it (an answer, a limit, a cancel, the server's end), all that it started ends too.
"""

import os
import secrets
import shutil
import sys
import tempfile
import time
import traceback
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup

from formwright.base.diagnostics import fail
from formwright.mcp.asked import Asked
from formwright.mcp.child import Ended, run_child
from formwright.mcp.limits import (
    JOB_KINDS,
    KEPT,
    LIMITS,
    RUNNING,
    SHORT_RUNNING,
    WAITING,
    Limit,
)
from formwright.mcp.processes import kill_descendants

STAGES: Final = 20
"""The last stages of a job that are kept."""
_DIGITS: Final = str.maketrans("", "", "0123456789")


@dataclass(slots=True, eq=False)
class Job:
    """One job. ``ended`` says how it came out once ``state`` is no longer waiting or running."""

    number: str
    asked: Asked
    limit: Limit
    state: str = "waiting"
    stages: deque[str] = field(default_factory=lambda: deque(["waiting"], STAGES))
    begun: float | None = None
    seconds: float = 0.0
    ended: Ended | None = None
    scope: anyio.CancelScope | None = None
    changed: anyio.Event = field(default_factory=anyio.Event)

    @property
    def over(self) -> bool:
        return self.ended is not None

    def tell(self, stage: str) -> None:
        """Notes what is done now and wakes whoever waits."""
        if _without_digits(self.stages[-1]) == _without_digits(stage):
            self.stages[-1] = stage  # the same, further on
        else:
            self.stages.append(stage)
        self.wake()

    def wake(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()

    def spent(self) -> float:
        """Seconds since its child was started."""
        if self.begun is None or self.over:
            return self.seconds
        return time.monotonic() - self.begun


def _without_digits(stage: str) -> str:
    return stage.translate(_DIGITS)


class Supervisor:
    """Owns the jobs of one server. Enter :meth:`running` before anything is asked."""

    def __init__(self, out: Path, limits: Mapping[Any, Limit] = LIMITS) -> None:
        self.out = out
        self.limits = limits
        self.jobs: dict[str, Job] = {}
        self._queue: deque[Job] = deque()
        self._running: set[Job] = set()
        self._short = anyio.CapacityLimiter(SHORT_RUNNING)
        self._tasks: TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While this lasts jobs run; at its end all of them are ended."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
                self._queue.clear()
                tasks.cancel_scope.cancel()

    def start(self, asked: Asked) -> Job:
        """A new job in a folder of its own. Raises ``InputError`` where too many wait."""
        assert asked.kind in JOB_KINDS
        if len(self._queue) >= WAITING:
            raise fail(
                f"{WAITING} jobs wait already", hint="wait for one, or fw_job_cancel one of them"
            )
        number = secrets.token_hex(6)
        job = Job(
            number, replace(asked, folder=self._folder(asked.kind, number)), self._limit(asked)
        )
        self.jobs[number] = job
        self._forget()
        self._queue.append(job)
        self._next()
        return job

    async def ask(self, asked: Asked) -> Ended:
        """A short call: its child's answer, awaited. Its folder is gone afterwards."""
        async with self._short:
            folder = Path(tempfile.mkdtemp(prefix="formwright-mcp-"))
            try:
                return await run_child(
                    replace(asked, folder=folder.resolve()), self._limit(asked), lambda _: None
                )
            finally:
                shutil.rmtree(folder, ignore_errors=True)

    async def cancel(self, job: Job) -> None:
        """Ends a job that waits or runs, and returns when it has ended; an ended one stays."""
        if job in self._queue:
            self._queue.remove(job)
            self._over(job, Ended("cancelled"))
        elif job.scope is not None:
            job.scope.cancel()
            while not job.over:
                await job.changed.wait()

    def end_now(self) -> None:
        """Ends every child at once, for a server that ends without its loop."""
        kill_descendants(os.getpid())

    def _limit(self, asked: Asked) -> Limit:
        return self.limits[asked.kind]

    def _folder(self, kind: str, number: str) -> Path:
        """New, ours alone, and where it seems to be: no link leads out of ``out``."""
        jobs = self.out / "jobs"
        try:
            jobs.mkdir(exist_ok=True)
            folder = jobs / f"{kind}-{number}"
            folder.mkdir(mode=0o700)
            resolved = folder.resolve(strict=True)
        except OSError as error:
            raise fail(f"cannot make a folder for the job: {error.strerror}") from None
        if resolved.parent != self.out / "jobs":
            raise fail("the output folder has a link in the place of jobs", hint="remove the link")
        return resolved

    def _forget(self) -> None:
        over = [number for number, job in self.jobs.items() if job.over]
        for number in over[: max(0, len(self.jobs) - KEPT)]:
            del self.jobs[number]

    def _next(self) -> None:
        """Starts what may start, in the order it came: who reads a clock runs alone."""
        while self._queue and self._tasks is not None:
            job = self._queue[0]
            alone = job.limit.alone or any(j.limit.alone for j in self._running)
            if len(self._running) >= RUNNING or (alone and self._running):
                return
            self._queue.popleft()
            self._running.add(job)
            self._tasks.start_soon(self._run, job)

    async def _run(self, job: Job) -> None:
        ended = Ended("failed", crash="the server ended")
        job.state, job.begun = "running", time.monotonic()
        job.tell("starting")
        try:
            with anyio.CancelScope() as scope:
                job.scope = scope
                ended = await run_child(job.asked, job.limit, job.tell)
            if scope.cancelled_caught:
                ended = Ended("cancelled")
        except Exception as error:  # one job may break, the server may not
            ended = Ended("failed", crash=f"{type(error).__name__}: {error}"[:500])
            traceback.print_exc(file=sys.stderr)
        finally:
            job.scope = None
            self._running.discard(job)
            self._over(job, ended)
            self._next()

    def _over(self, job: Job, ended: Ended) -> None:
        job.seconds = job.spent()
        job.ended, job.state = ended, ended.state
        job.tell(ended.state)

"""One confined child process: start it, talk to it, stop it, read what the kernel counted."""

import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import assert_never

from formwright.measure.outcome import Crashed, Failure, Hung, MeasureError, Refused
from formwright.measure.programs import Baseline, Native, Program, description
from formwright.measure.sandbox import (
    Level,
    Sandbox,
    bubblewrap_command,
    bubblewrap_works,
    python_paths,
    readable_paths,
)
from formwright.measure.tensors import Tensor
from formwright.measure.worker import worker_binary

HELLO, READY, DONE, FAILED, FAULT, REFUSED = range(6)
_REPLY = struct.Struct("=IiQQ232s")
_STOP_SECONDS = 0.5
_REST_SECONDS = 0.02
"""How long threads may take to stand still, and to come to rest (a busy machine takes long)."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A message of the worker; the meaning of ``a`` and ``b`` depends on ``kind``."""

    kind: int
    code: int
    a: int
    b: int
    text: str


class Child:
    """A running worker. ``pid`` is the worker's own process, whatever stands between."""

    def __init__(
        self,
        program: Program,
        tensors: Sequence[Tensor],
        sandbox: Sandbox,
        cores: Sequence[int],
        files: tuple[int, int],
    ) -> None:
        self.sandbox = sandbox
        bubblewrap = sandbox.allow >= Level.BUBBLEWRAP and bubblewrap_works()
        self.level = Level.BUBBLEWRAP if bubblewrap else Level.PLAIN
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.channel = ours
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        numbers = [str(theirs.fileno()), str(files[0]), str(files[1])]
        command, environment = _command(program, tensors, sandbox, bubblewrap, numbers)
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
                cwd="/",
                pass_fds=(theirs.fileno(), *files),
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            raise MeasureError(Refused(f"cannot start the child: {error}")) from error
        finally:
            theirs.close()
        self.stopped = False
        self.pid = self.process.pid
        try:
            self.pid = self._greet()
            os.sched_setaffinity(self.pid, cores)
        except BaseException:
            self.close()
            raise

    def _greet(self) -> int:
        self.channel.settimeout(self.sandbox.limits.start_seconds)
        try:
            data, ancillary, _, _ = self.channel.recvmsg(_REPLY.size, socket.CMSG_SPACE(12))
        except TimeoutError:
            raise MeasureError(Hung(self.sandbox.limits.start_seconds)) from None
        if not data or not ancillary:
            raise MeasureError(self.gone())
        # Only the greeting needs the sender's identity.
        self.channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
        pid: int = struct.unpack("3i", ancillary[0][2])[0]
        return pid

    def unasked(self) -> bool:
        """Whether a message waits that nobody has asked for: not the worker's, then."""
        self.channel.setblocking(False)
        try:
            return bool(self.channel.recv(_REPLY.size, socket.MSG_PEEK))
        except (BlockingIOError, ConnectionResetError):
            return False

    def send(self, message: bytes) -> None:
        """Send one message; a child that is gone shows when the answer is awaited."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.channel.send(message)

    def receive(self, seconds: float) -> Reply | Failure:
        """The next message, or how the child ended; a child that is late is killed."""
        self.channel.settimeout(seconds)
        try:
            data = self.channel.recv(_REPLY.size)
        except TimeoutError:
            self.close()
            return Hung(seconds)
        except ConnectionResetError:
            data = b""
        if len(data) != _REPLY.size:
            return self.gone()
        kind, code, a, b, text = _REPLY.unpack(data)
        return Reply(kind, code, a, b, text.split(b"\0", 1)[0].decode(errors="replace"))

    def gone(self) -> Failure:
        """How the child ended, once its side of the channel is closed."""
        try:
            status = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.close()
            return Crashed(0, "it closed its channel and went on running")
        self.close()
        number = -status if status < 0 else status - 128 if status > 128 else 0
        return Crashed(number, "" if number else f"exit status {status}")

    def stop(self) -> None:
        """Stop every thread of the child, and wait until they stand still."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGSTOP)
            self.stopped = True
            self._await("TtZX", _STOP_SECONDS)

    def resume(self) -> None:
        """Let it run again."""
        if self.stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGCONT)
            self.stopped = False

    def settle(self) -> bool:
        """Let it run again and wait for it to wait; whether all its threads have come to rest.

        Threads of a pool that wait actively never do; the calling thread always does.
        """
        self.resume()
        if self._await("SZX", _REST_SECONDS):
            return True
        self._await("SZX", _STOP_SECONDS, only=self.pid)
        return False

    def _await(self, states: str, seconds: float, only: int | None = None) -> bool:
        deadline = time.monotonic() + seconds
        while True:
            tasks = self._tasks() if only is None else [str(only)]
            if all(self._state(task) in states for task in tasks):
                return True
            if time.monotonic() > deadline:
                return False

    def _tasks(self) -> list[str]:
        try:
            return os.listdir(f"/proc/{self.pid}/task")
        except OSError:
            return []

    def _state(self, task: str) -> str:
        try:
            with open(f"/proc/{self.pid}/task/{task}/stat", "rb") as stream:
                text = stream.read()
        except OSError:
            return "X"
        return chr(text[text.rindex(b")") + 2])

    def cpu_seconds(self) -> float:
        """CPU time of all threads of the child, ended ones too, as the kernel counts it."""
        # CPUCLOCK_SCHED of a process: the sum of its threads' run times (as in schedstat, which
        # forgets threads that have ended).
        clock = (~self.pid << 3) | 2
        try:
            return time.clock_gettime(clock)
        except OSError:
            return 0.0

    def queue_seconds(self) -> float:
        """How long its threads have waited for a core while they could have run."""
        total = 0
        for task in self._tasks():
            with contextlib.suppress(OSError, IndexError, ValueError):
                text = Path(f"/proc/{self.pid}/task/{task}/schedstat").read_text(encoding="ascii")
                total += int(text.split()[1])
        return total / 1e9

    @property
    def alive(self) -> bool:
        """Whether the process that we started still runs."""
        return self.process.poll() is None

    def close(self) -> None:
        """Kill the whole group (a stopped one too) and reap it."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        # In a namespace of its own the worker is not our child: wait for its end all the same, so
        # that it cannot overlap with what runs next.
        self._await("ZX", _STOP_SECONDS, only=self.pid)
        self.channel.close()


def _command(
    program: Program,
    tensors: Sequence[Tensor],
    sandbox: Sandbox,
    bubblewrap: bool,
    numbers: list[str],
) -> tuple[list[str], dict[str, str]]:
    worker = worker_binary()
    environment = {"LC_ALL": "C", "PATH": "/usr/bin:/bin"}
    match program:
        case Native(library=library):
            library = library.resolve()
            readable = [worker, library]
            confined = "0" if sandbox.allow == Level.PLAIN else "1"
            command = [str(worker), str(library), *numbers, confined]
            if not bubblewrap and sandbox.allow >= Level.LANDLOCK:
                command += readable_paths([library])
        case Baseline(threads=threads):
            # Libraries choose their code by what /sys says of the processor.
            readable = [*python_paths(), _package(), Path("/sys")]
            module = ["-I", "-m", "formwright.measure.peers"]
            command = [sys.executable, *module, description(program, tensors), *numbers]
            # The library's own choice of code path is part of what is measured: variables of
            # this process that steer it (OPENBLAS_CORETYPE and the like) are not passed on.
            for variable in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "BLIS"):
                environment[f"{variable}_NUM_THREADS"] = str(threads)
            # Unpinned OpenMP threads lose milliseconds after each pause; a user would pin them.
            environment["OMP_PROC_BIND"] = "true"
        case _:
            assert_never(program)
    trusted = isinstance(program, Baseline)
    prefix = bubblewrap_command(readable, temporary=trusted) if bubblewrap else []
    return [*prefix, *command], environment


def _package() -> Path:
    """The folder of this package, which peers are a part of."""
    return Path(str(resources.files("formwright"))).resolve()

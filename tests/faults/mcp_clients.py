"""Clients of the MCP server for the tests: the SDK's own, over standard streams or in process."""

import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from formwright.base.host import cache_folder
from formwright.lang import load
from formwright.mcp.fixed import fix
from formwright.mcp.jobs import Supervisor
from formwright.mcp.limits import LIMITS, Limit
from formwright.mcp.processes import descendants
from formwright.mcp.server import make_server

PROBLEM = """
name = "small"
operator = "gemv"
templates = ["gemv_rows"]
chip = "local"
threads = 1
[workloads.one]
N = 96
K = 160
[workloads.two]
N = 7
K = 33
[budget]
candidates = 1
rounds = 1
seconds = 30
"""

RIGHT = load("gemv_rows")[0].text.replace("template gemv_rows", "template mine")
WRONG = RIGHT.replace("acc[r,l] = 0\n", "acc[r,l] = 1\n")


def cache(folder: Path) -> Path:
    """A store of proofs of its own; what was measured of this machine is kept."""
    kept = folder / "cache" / "formwright"
    kept.mkdir(parents=True)
    for known in ("bin", "chips"):
        if (cache_folder() / known).exists():
            (kept / known).symlink_to(cache_folder() / known)
    return kept.parent


def problem_file(folder: Path) -> Path:
    path = folder / "problem.toml"
    path.write_text(PROBLEM)
    return path


def stdio(folder: Path, *arguments: str) -> StdioServerParameters:
    """``formwright mcp`` with ``folder`` for everything that it writes."""
    code = "import sys; from formwright.cli.main import run; sys.exit(run(sys.argv[1:]))"
    places = ["--out", str(folder / "out"), "--population", str(folder / "population.sqlite")]
    environment = {"XDG_CACHE_HOME": str(cache(folder))}
    if "PYTHONPATH" in os.environ:
        environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
    return StdioServerParameters(
        command=sys.executable, args=["-c", code, "mcp", *places, *arguments], env=environment
    )


Talk = Callable[["Asker", Supervisor], Awaitable[None]]


class Asker:
    """Calls tools and gives their structured content; ``faulty`` is that of the last answer."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.faulty: bool | None = None

    async def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        found = await self.client.call_tool(f"fw_{tool}", arguments)
        self.faulty = found.is_error
        assert found.structured_content is not None, found.content
        return dict(found.structured_content)

    async def finished(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """The outcome of a job that was started, however long it takes."""
        shown = dict(answer)
        while shown["job"]["state"] in ("waiting", "running"):
            shown = await self("job_result", job_id=shown["job"]["job_id"], wait_seconds=50)
        return shown


def in_process(
    folder: Path,
    talk: Talk,
    *problems: Path,
    limits: Mapping[Any, Limit] | None = None,
    population: str = "",
) -> None:
    """``talk`` with a server of this process (its work is done in children all the same)."""

    BEFORE.clear()
    BEFORE.update(descendants(os.getpid()))

    async def main() -> None:
        fixed = fix(problems, population or str(folder / "population.sqlite"), folder / "out")
        supervisor = Supervisor(fixed.out, {**LIMITS, **(limits or {})})
        async with (
            supervisor.running(),
            Client(make_server(fixed, supervisor)) as client,
        ):
            await talk(Asker(client), supervisor)

    anyio.run(main)


def alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if _state(pid) not in "ZX"]


def _state(pid: int) -> str:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "X"
    return text[text.rindex(")") + 2]


def gone(pids: list[int], seconds: float = 10.0) -> bool:
    """Whether all of them have ended, after ``seconds`` at most."""
    until = time.monotonic() + seconds
    while alive(pids) and time.monotonic() < until:
        time.sleep(0.05)
    return not alive(pids)


BEFORE: set[int] = set()
"""Processes of earlier tests (a fork server stays): not of the server that is asked now."""


def ours() -> Iterator[int]:
    """Processes that came of this one since the server was started."""
    return (pid for pid in descendants(os.getpid()) if pid not in BEFORE)

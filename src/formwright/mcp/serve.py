"""The server from its start to its end, over standard streams or HTTP on this machine alone."""

import os
import signal
from typing import Final

import anyio
from anyio.abc import TaskStatus
from mcp.server.mcpserver import MCPServer

from formwright.mcp.fixed import Fixed
from formwright.mcp.jobs import Supervisor
from formwright.mcp.server import make_server

LOOPBACK: Final = "127.0.0.1"


def serve(fixed: Fixed, port: int | None = None) -> None:
    """Serves until the client closes its side, or a signal; no job outlives it.

    ``port``: streamable HTTP at 127.0.0.1, path ``/mcp``; without one standard streams.
    """
    anyio.run(_serve, fixed, port)


async def _serve(fixed: Fixed, port: int | None) -> None:
    supervisor = Supervisor(fixed.out)
    server = make_server(fixed, supervisor)
    async with anyio.create_task_group() as tasks:
        await tasks.start(_end_by_signal, supervisor)
        async with supervisor.running():
            await _run(server, port)
        tasks.cancel_scope.cancel()


async def _run(server: MCPServer, port: int | None) -> None:
    if port is None:
        await server.run_stdio_async()
    else:
        await server.run_streamable_http_async(host=LOOPBACK, port=port)


async def _end_by_signal(
    supervisor: Supervisor, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    """Ends every child, then this process: a thread that reads the client cannot be called off."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        task_status.started()
        async for number in signals:
            supervisor.end_now()
            os._exit(128 + number)

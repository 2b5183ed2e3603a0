"""Waiting for a job inside a request: bounded, told of by progress, free to be cancelled."""

import time
from typing import Any, Final

import anyio
from mcp.server.mcpserver import Context

from formwright.mcp.jobs import Job
from formwright.mcp.limits import MOST_WAIT

BEAT_SECONDS: Final = 2.0
"""A client hears of a job at least this often."""
REST_SECONDS: Final = 0.25
"""And no more often than this, however many steps there are."""


async def wait_for(job: Job, seconds: float, context: Context[Any, Any]) -> None:
    """Returns when the job is over, or after ``seconds`` (50 at most); the job goes on then.

    Progress is the share of the job's time that is spent, with its stage as the message.
    """
    until = time.monotonic() + min(max(seconds, 0.0), MOST_WAIT)
    while not job.over and (left := until - time.monotonic()) > 0:
        await context.report_progress(job.spent(), job.limit.seconds, job.stages[-1])
        changed = job.changed
        with anyio.move_on_after(min(left, BEAT_SECONDS)):
            await changed.wait()
            if not job.over:
                await anyio.sleep(REST_SECONDS)

"""From what a child said to what a tool answers: structured, with the faults of bad input."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel

from formwright.base.diagnostics import InputError
from formwright.mcp import shapes
from formwright.mcp.child import Ended
from formwright.mcp.jobs import Job
from formwright.mcp.telling import faults_of

A = TypeVar("A", bound=shapes.Answer)


def result(answer: shapes.Answer) -> CallToolResult:
    """The answer as structured content, and as text for clients that read only that.

    An answer with faults is marked as an error: the model that asked can read and correct it.
    """
    data = answer.model_dump(mode="json")
    return CallToolResult(
        content=[TextContent(type="text", text=answer.model_dump_json())],
        structured_content=data,
        is_error=bool(answer.faults),
    )


def refused(shape: type[A], error: InputError, folder: Path) -> CallToolResult:
    """An answer of ``shape`` that has nothing but the faults."""
    return result(shape(faults=_faults(faults_of(error, folder))))


def answered(shape: type[A], ended: Ended, **more: Any) -> CallToolResult:
    """A short call's answer of ``shape``, with what the server itself adds."""
    if ended.state == "done":
        return result(shape.model_validate({**ended.answer, **more}))
    return result(shape(faults=faults_from(ended)))


def faults_from(ended: Ended) -> list[shapes.Fault]:
    """Why there is no answer; empty where there is one."""
    match ended.state:
        case "done":
            return []
        case "refused":
            return _faults(ended.faults)
        case "failed":
            told = f"the work broke: {ended.crash}"
            return [shapes.Fault(message=told, hint="log.txt in the job's folder has more")]
        case "out of time":
            return [shapes.Fault(message="it took longer than it may", hint="ask for less")]
        case "out of memory":
            return [shapes.Fault(message="it took more memory than it may", hint="ask for less")]
        case _:
            return [shapes.Fault(message=f"the job was {ended.state}")]


def _faults(found: Iterable[Mapping[str, Any]]) -> list[shapes.Fault]:
    return [shapes.Fault.model_validate(f) for f in found]


def job_shape(job: Job) -> shapes.Job:
    """A job as it stands."""
    return shapes.Job.model_validate(
        {
            "job_id": job.number,
            "kind": job.asked.kind,
            "state": job.state,
            "stage": job.stages[-1],
            "stages": list(job.stages),
            "seconds": job.spent(),
            "limit_seconds": job.limit.seconds,
            "folder": f"jobs/{job.asked.folder.name}",
        }
    )


def outcome(shape: type[BaseModel], job: Job) -> CallToolResult:
    """The job, and its result once it has one."""
    ended = job.ended
    done = ended is not None and ended.state == "done"
    answer = shape.model_validate(
        {
            "job": job_shape(job),
            "result": ended.answer if ended is not None and done else None,
            "faults": [] if ended is None else faults_from(ended),
        }
    )
    assert isinstance(answer, shapes.Answer)
    return result(answer)

"""Files that figures of a report lead to, as plain text: below the served folder, nothing else."""

from pathlib import Path
from typing import Final

from starlette.responses import FileResponse, PlainTextResponse, Response

SHOWN: Final = frozenset(
    (".jsonl", ".json", ".csv", ".md", ".txt", ".fw", ".toml", ".c", ".h", ".svg", ".gz")
)
"""What runs and studies write for people; libraries and populations are not handed out."""


def file_answer(folder: Path, asked: str) -> Response:
    """The file ``asked`` (relative, ``/`` between names) if it lies in ``folder``, as text."""
    try:
        path = (folder / asked.lstrip("/")).resolve(strict=True)
        lies_there = path.is_relative_to(folder.resolve()) and path.is_file()
    except (OSError, ValueError):
        lies_there = False
    if not lies_there or path.suffix not in SHOWN or path.name.startswith("."):
        return PlainTextResponse("no such file to be shown here\n", 404)
    packed = path.suffix == ".gz"
    return FileResponse(path, media_type="application/gzip" if packed else "text/plain")

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
    path = _below(folder, asked)
    if path is None or path.suffix not in SHOWN:
        return PlainTextResponse("no such file to be shown here\n", 404)
    packed = path.suffix == ".gz"
    return FileResponse(path, media_type="application/gzip" if packed else "text/plain")


def _below(folder: Path, asked: str) -> Path | None:
    """The file, links followed, where it lies in ``folder`` and no name on the way to it is
    hidden: a folder above a run may have settings and keys in such."""
    try:
        root = folder.resolve()
        path = (root / asked.lstrip("/")).resolve(strict=True)
        names = path.relative_to(root).parts
        lies_there = path.is_file()
    except (OSError, ValueError):
        return None
    return path if lies_there and not any(n.startswith(".") for n in names) else None

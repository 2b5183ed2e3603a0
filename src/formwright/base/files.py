"""Files that are never seen half-written."""

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any


def write_text(path: Path, text: str) -> None:
    """Write beside, flush to disk, rename: readers see the old text or the new one."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """As :func:`write_text`, for bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Any) -> None:
    """Sorted, indented JSON with a line end, written whole or not at all."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True) + "\n")


def put_folder(beside: Path, folder: Path) -> None:
    """Rename ``beside`` to ``folder``; between an old folder and the new one there is none."""
    if folder.exists():
        old = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.old."))
        os.replace(folder, old)
        os.replace(beside, folder)
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.replace(beside, folder)

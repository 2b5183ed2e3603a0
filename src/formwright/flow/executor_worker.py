"""A job on a machine of a cluster: unpacked into a folder of its own, done, packed again."""

import faulthandler
import pickle
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any

from formwright.flow.jobs import Job, Place
from formwright.flow.machines import Machine, this_machine
from formwright.flow.performing import perform
from formwright.flow.turns import turn

Files = Mapping[str, tuple[bytes, int]]
"""Contents and modes by path below the folder of the job."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """``job`` is pickled: it is looked at only by the same code (``code``) that made it."""

    job: bytes
    code: str
    files: Files
    bench: Machine
    place: Place
    deadline: float


@dataclass(frozen=True, slots=True)
class Answer:
    """One of ``data``, ``fault`` (a pickled exception) and ``unfit`` (why nothing was done)."""

    machine: Machine
    began: float = 0.0
    seconds: float = 0.0
    data: dict[str, Any] | None = None
    files: Files = field(default_factory=dict)
    fault: bytes = b""
    unfit: str = ""


@cache
def package_digest() -> str:
    """The code of this package, in every language: what a process has loaded does not change."""
    total = sha256()
    root = Path(__file__).parent.parent
    for path in sorted(p for p in root.rglob("*") if p.suffix in (".py", ".c", ".h")):
        content = path.read_bytes()
        total.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode() + content)
    return total.hexdigest()


def about() -> tuple[str, Machine]:
    """The code and the machine of this process."""
    return package_digest(), this_machine()


def work(parcel: Parcel) -> Answer:
    """Do the job of ``parcel`` here, unless this machine is none for it."""
    here = this_machine()
    why = _unfit(parcel, here)
    if why:
        return Answer(here, unfit=why)
    job: Job = pickle.loads(parcel.job)
    with tempfile.TemporaryDirectory(prefix="formwright-job-") as place:
        folder = Path(place)
        unpack(parcel.files, folder)
        with turn(alone=parcel.place == "alone"):
            # Ends the process where it hangs, whatever holds the interpreter; then the job is lost.
            faulthandler.dump_traceback_later(parcel.deadline, exit=True)
            start = monotonic()
            try:
                data = perform(job, folder, parcel.bench, lambda text: None)
            except Exception as error:
                return Answer(here, start, monotonic() - start, fault=_pickled(error))
            finally:
                faulthandler.cancel_dump_traceback_later()
            seconds = monotonic() - start
        return Answer(here, start, seconds, data, pack(folder, parcel.files))


def _unfit(parcel: Parcel, here: Machine) -> str:
    if parcel.code != package_digest():
        return "another version of formwright"
    if parcel.place == "makes" and here.compiler != parcel.bench.compiler:
        return f"another compiler: {here.compiler or 'none'}, not {parcel.bench.compiler}"
    if parcel.place in ("bench", "alone") and not here.like(parcel.bench):
        return f"another machine: {here.name}, not {parcel.bench.name}"
    return ""


def pack(folder: Path, known: Files | None = None) -> dict[str, tuple[bytes, int]]:
    """The files below ``folder`` that are not ``known`` with these very contents."""
    found = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()):
        name = path.relative_to(folder).as_posix()
        content = path.read_bytes()
        if known is None or name not in known or known[name][0] != content:
            found[name] = (content, path.stat().st_mode & 0o777)
    return found


def unpack(files: Files, folder: Path) -> None:
    """Write ``files`` below ``folder``."""
    for name, (content, mode) in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(mode)


def _pickled(error: Exception) -> bytes:
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
    except Exception:
        # An exception of a library that does not survive: its words do.
        return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    return data

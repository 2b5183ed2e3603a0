"""The artifact folder: which files it holds, and that they are the ones of its record.

``docs/record.md`` describes ``record.json``. A folder is written beside its place and
renamed, so a folder that can be seen is whole.
"""

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from formwright.base.diagnostics import Diagnostic, InputError
from formwright.base.files import put_folder, write_bytes, write_json
from formwright.contract.contract import Contract
from formwright.contract.stored import contract_from

SCHEMA: Final = 2

LIBRARY: Final = "kernel.so"
SOURCE: Final = "kernel.c"
ADAPTER: Final = "adapter.c"
HEADER: Final = "kernel.h"
TEMPLATE: Final = "template.fw"
ASSIGNMENT: Final = "assignment.json"
CONTRACT: Final = "contract.json"
RECORD: Final = "record.json"

HASHED: Final = (LIBRARY, SOURCE, TEMPLATE, ASSIGNMENT, CONTRACT, HEADER)
"""The files of an artifact that a run wrote; their SHA-256 stands in the record."""

ALWAYS: Final = (LIBRARY, ASSIGNMENT, CONTRACT, HEADER)
"""What no artifact lacks: a kernel of another tool has no template, a built one no source."""

KNOWN: Final = (*HASHED, ADAPTER)
"""Every name that a record may list."""


class ArtifactError(InputError):
    """A folder that is not what its record says: it is not loaded."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__([Diagnostic(message, None, hint)])


@dataclass(frozen=True, slots=True)
class Artifact:
    """A folder that has been read and agrees with its record. ``library`` is the very bytes."""

    folder: Path
    library: bytes
    contract: Contract
    assignment: dict[str, int]
    record: dict[str, Any]


def read_artifact(folder: str | Path) -> Artifact:
    """Read a folder and compare every file with the record's hash.

    Raises ``ArtifactError`` for a folder without a record, a missing file, a file that was
    changed after qualification, a record of another schema, or a contract that this version
    does not check.
    """
    place = Path(folder)
    record = read_record(place)
    found = {name: _hashed(place, name, record) for name in listed(record, place)}
    stated = _json(found[CONTRACT], place / CONTRACT)
    try:
        contract = contract_from(stated)
    except InputError as error:
        raise ArtifactError(
            f"{place / CONTRACT}: {error.diagnostics[0].message}", "qualify it with this version"
        ) from None
    if record["contract"]["digest"] != stated["digest"]:
        raise ArtifactError(f"{place}: the contract is not the one of the record", _MEND)
    assignment = _json(found[ASSIGNMENT], place / ASSIGNMENT)
    return Artifact(place, found[LIBRARY], contract, dict(assignment), record)


def write_artifact(folder: Path, files: Mapping[str, bytes], record: Mapping[str, Any]) -> Path:
    """Write a whole folder beside ``folder`` and rename it there; an older one is replaced.

    ``files`` holds every name of ``ALWAYS`` and none but those of ``KNOWN``; ``record`` gains
    ``schema`` and ``files``.
    """
    missing = [name for name in ALWAYS if name not in files]
    if missing or not set(files) <= set(KNOWN):
        raise ValueError(f"an artifact needs {', '.join(missing)}, and nothing but {KNOWN}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        for name, data in files.items():
            write_bytes(beside / name, data)
        hashes = {name: sha256(data).hexdigest() for name, data in files.items()}
        write_json(beside / RECORD, dict(record) | {"schema": SCHEMA, "files": hashes})
        for path in beside.iterdir():
            path.chmod(0o755 if path.name == LIBRARY else 0o644)
        beside.chmod(0o755)
        put_folder(beside, folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return folder


_MEND: Final = "qualify it again; files of an artifact may not be edited"


def read_record(folder: Path) -> dict[str, Any]:
    """``record.json`` alone. Raises ``ArtifactError`` when there is none that can be read."""
    path = folder / RECORD
    if not folder.is_dir():
        raise ArtifactError(f"{folder} is not a folder", "give the folder that `run` wrote")
    try:
        record = _json(path.read_bytes(), path)
    except OSError as error:
        raise ArtifactError(f"{path}: {error.strerror}", "an artifact has a record.json") from None
    if record.get("schema") != SCHEMA:
        raise ArtifactError(
            f"{path}: record schema {record.get('schema')!r}", f"this version reads {SCHEMA}"
        )
    whole = isinstance(record.get("files"), dict) and isinstance(record.get("contract"), dict)
    if not whole or "digest" not in record["contract"]:
        raise ArtifactError(f"{path} lacks its hashes", _MEND)
    threads = record.get("threads")
    if not isinstance(threads, int) or threads < 1:
        raise ArtifactError(f"{path} lacks the number of threads", _MEND)
    return record


def listed(record: Mapping[str, Any], folder: Path) -> tuple[str, ...]:
    """The files that the record names. Raises ``ArtifactError`` when it lacks one of ``ALWAYS``."""
    names = record["files"]
    missing = [name for name in ALWAYS if name not in names]
    strange = [name for name in names if name not in KNOWN]
    if missing or strange:
        what = f"lacks {missing[0]}" if missing else f"names {strange[0]!r}"
        raise ArtifactError(f"{folder / RECORD} {what}", _MEND)
    return tuple(name for name in KNOWN if name in names)


def _hashed(folder: Path, name: str, record: Mapping[str, Any]) -> bytes:
    try:
        data = (folder / name).read_bytes()
    except OSError as error:
        raise ArtifactError(f"{folder / name}: {error.strerror}", _MEND) from None
    if sha256(data).hexdigest() != record["files"].get(name):
        raise ArtifactError(f"{folder / name} is not the file that was qualified", _MEND)
    return data


def _json(data: bytes, path: Path) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise ArtifactError(f"{path} is not JSON", _MEND) from None
    if not isinstance(value, dict):
        raise ArtifactError(f"{path} is not a JSON object", _MEND)
    return value

"""Content addresses: SHA-256 of a canonical form of plain or frozen data."""

import hashlib
import json
from dataclasses import Field, fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any


def canonical(value: object) -> Any:
    """Plain JSON data that is equal for equal values.

    Dataclass fields with ``compare=False`` (spans) are left out, so the place of a
    thing in a file does not change its digest. So are fields with ``added`` in their metadata
    that have their default: a thing that does without a later field keeps its digest.
    """
    if isinstance(value, bool) or value is None or isinstance(value, (int, str)):
        return value
    if isinstance(value, Fraction):
        return {"rational": f"{value.numerator}/{value.denominator}"}
    if isinstance(value, float):
        return {"float": value.hex()}
    if is_dataclass(value) and not isinstance(value, type):
        told = [f for f in fields(value) if f.compare and not _unused(value, f)]
        body = {f.name: canonical(getattr(value, f.name)) for f in told}
        return {"node": type(value).__name__, **body}
    if isinstance(value, dict):
        return {str(k): canonical(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [canonical(v) for v in value]
    if isinstance(value, (set, frozenset)):
        return sorted((canonical(v) for v in value), key=lambda v: json.dumps(v, sort_keys=True))
    raise TypeError(f"no canonical form for {type(value).__name__}")


def _unused(value: object, field: Field[Any]) -> bool:
    return bool(field.metadata.get("added")) and getattr(value, field.name) == field.default


def digest(value: object) -> str:
    """Hex SHA-256 of the canonical form."""
    text = json.dumps(canonical(value), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def digest_file(path: Path) -> str:
    """Hex SHA-256 of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()

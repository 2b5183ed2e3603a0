"""Content addresses: SHA-256 of a canonical form of plain or frozen data."""

import hashlib
import json
from dataclasses import Field, fields, is_dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any


def canonical(value: object) -> Any:
    """Plain JSON data that is equal for equal values.

    Dataclass fields with ``compare=False`` (spans) are left out, so the place of a
    thing in a file does not change its digest. So are fields with ``added`` in their metadata
    that have their default: a thing that does without a later field keeps its digest. Fields with
    ``aside`` in their metadata are left out always.
    """
    if value is None or isinstance(value, (int, str)):  # True and False are numbers too
        return value
    if isinstance(value, (tuple, list)):
        return [canonical(v) for v in value]
    if isinstance(value, Fraction):
        return {"rational": f"{value.numerator}/{value.denominator}"}
    if isinstance(value, float):
        return {"float": value.hex()}
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        told = [f.name for f in compared(kind) if not _unused(value, f)]
        body = {name: canonical(getattr(value, name)) for name in told}
        return {"node": kind.__name__, **body}
    if isinstance(value, dict):
        return {str(k): canonical(v) for k, v in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((canonical(v) for v in value), key=lambda v: json.dumps(v, sort_keys=True))
    raise TypeError(f"no canonical form for {type(value).__name__}")


def _unused(value: object, field: Field[Any]) -> bool:
    if field.metadata.get("aside"):
        return True
    return bool(field.metadata.get("added")) and getattr(value, field.name) == field.default


@cache
def compared(kind: type) -> tuple[Field[Any], ...]:
    """The fields of a dataclass that make two of its values different."""
    return tuple(f for f in fields(kind) if f.compare)


def digest(value: object) -> str:
    """Hex SHA-256 of the canonical form."""
    return plain_digest(canonical(value))


def plain_digest(value: Any) -> str:
    """As :func:`digest`, of what is plain JSON data already."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def digest_file(path: Path) -> str:
    """Hex SHA-256 of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()

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
        always, later = _told(type(value))
        body: dict[str, Any] = {"node": type(value).__name__}
        for name in always:
            body[name] = canonical(getattr(value, name))
        for field in later:
            inner = getattr(value, field.name)
            if inner != field.default:
                body[field.name] = canonical(inner)
        return body
    if isinstance(value, dict):
        return {str(k): canonical(v) for k, v in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((canonical(v) for v in value), key=lambda v: json.dumps(v, sort_keys=True))
    raise TypeError(f"no canonical form for {type(value).__name__}")


@cache
def _told(kind: type) -> tuple[tuple[str, ...], tuple[Field[Any], ...]]:
    """The fields that always count, and those that do where they have not their default."""
    told = [f for f in compared(kind) if not f.metadata.get("aside")]
    later = tuple(f for f in told if f.metadata.get("added"))
    return tuple(f.name for f in told if f not in later), later


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

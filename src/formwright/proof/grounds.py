"""What the obligations of one template rest on, as a file that notices damage.

Every entry is sealed: a digest over the file's subject, the kind and key of the entry, and its
body. A seal tells damage from work; what is believed is decided by the checker, never by a seal.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any as Json
from typing import Literal, assert_never

from formwright.base.digest import digest
from formwright.base.files import write_text
from formwright.proof.certificate import (
    Certificate,
    Contradiction,
    Point,
    certificate_json,
    read_certificate,
)

SCHEMA = 1

Reading = Literal["linear", "exact"]
"""How a second solver was told of products: as symbols with laws, or as they are."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """A second solver said ``unsat`` too. Solvers have their version in the name."""

    second: str
    reading: Reading


@dataclass(frozen=True, slots=True)
class Alone:
    """Nothing but the first solver; ``reason`` says why, the second's answer included."""

    reason: str


Ground = Certificate | Agreement | Alone


@dataclass(frozen=True, slots=True)
class Subject:
    """What a file is about: a template, or one condition of it; ``first`` proved it."""

    template: str
    digest: str
    condition: str
    first: str


@dataclass(frozen=True, slots=True)
class Resting:
    """An obligation, and the queries (by digest) that it rests on.

    ``designs`` are those that cover the scope, for the obligation that some do.
    """

    name: str
    group: str
    condition: str
    queries: tuple[str, ...]
    designs: tuple[tuple[tuple[str, int], ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Grounds:
    """Obligations that were proved, each query with its ground."""

    subject: Subject
    obligations: tuple[Resting, ...]
    grounds: Mapping[str, Ground]


@dataclass(frozen=True, slots=True)
class Found:
    """What a file has that is whole. ``faults`` name entries that are not, and why."""

    grounds: Grounds | None
    faults: tuple[tuple[str, str], ...] = field(default=())


def grounds_path(directory: Path, template_digest: str, condition: str) -> Path:
    """Where the grounds of a template, or of one condition of it, are kept."""
    return directory / f"{template_digest}{'-' if condition else ''}{condition}.json"


def write_grounds(path: Path, grounds: Grounds) -> None:
    """One line for each entry, so that a change of one shows as one."""
    write_text(path, grounds_text(grounds))


def grounds_text(grounds: Grounds) -> str:
    """The whole file."""
    subject = _subject_json(grounds.subject)
    head = _line({**subject, "schema": SCHEMA, "seal": _seal(subject, "subject", "", subject)})
    rows = [f'"subject":{head}']
    obligations = [_sealed(subject, "obligation", o.name, _resting(o)) for o in grounds.obligations]
    rows.append('"obligations":[\n' + ",\n".join(map(_line, obligations)) + "\n]")
    kept = {
        key: _sealed(subject, "ground", key, _ground_json(ground))
        for key, ground in sorted(grounds.grounds.items())
    }
    entries = ",\n".join(f"{json.dumps(k)}:{_line(body)}" for k, body in kept.items())
    rows.append('"grounds":{\n' + entries + "\n}")
    return "{" + ",\n".join(rows) + "}\n"


def read_grounds(path: Path) -> Found:
    """What is whole in a file; everything that is not is a fault with a name."""
    try:
        text = path.read_bytes().decode()
        whole = json.loads(text)
    except FileNotFoundError:
        return Found(None)
    except (OSError, ValueError, RecursionError) as error:
        return Found(None, ((path.name, f"it cannot be read: {error}"),))
    try:
        found = _read(whole)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return Found(None, ((path.name, f"not a file of grounds: {error}"),))
    if found.grounds is not None and not found.faults and grounds_text(found.grounds) != text:
        return Found(found.grounds, ((path.name, "its text is not as it was written"),))
    return found


def _read(whole: Json) -> Found:
    head = dict(whole["subject"])
    seal, schema = head.pop("seal"), head.pop("schema")
    if schema != SCHEMA or seal != _seal(head, "subject", "", head):
        return Found(None, (("subject", "its seal does not fit"),))
    subject = Subject(**head)
    faults: list[tuple[str, str]] = []
    obligations: list[Resting] = []
    for entry in whole["obligations"]:
        name = str(entry["name"])
        body = _opened(head, "obligation", name, entry, faults)
        if body is not None:
            obligations.append(_read_resting(body))
    grounds: dict[str, Ground] = {}
    for key, entry in whole["grounds"].items():
        body = _opened(head, "ground", key, entry, faults)
        try:
            if body is not None:
                grounds[key] = _read_ground(body)
        except ValueError as error:
            faults.append((key, str(error)))
    return Found(Grounds(subject, tuple(obligations), grounds), tuple(faults))


def _opened(
    subject: Json, kind: str, key: str, entry: Json, faults: list[tuple[str, str]]
) -> Json | None:
    body = dict(entry)
    if body.pop("seal", None) == _seal(subject, kind, key, body):
        return body
    faults.append((key, f"the seal of this {kind} does not fit"))
    return None


def _sealed(subject: Json, kind: str, key: str, body: dict[str, Json]) -> dict[str, Json]:
    return {**body, "seal": _seal(subject, kind, key, body)}


def _seal(subject: Json, kind: str, key: str, body: Json) -> str:
    return digest([SCHEMA, subject, kind, key, body])[:32]


def _line(value: Json) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _subject_json(subject: Subject) -> dict[str, Json]:
    return {
        "template": subject.template,
        "digest": subject.digest,
        "condition": subject.condition,
        "first": subject.first,
    }


def _resting(o: Resting) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "name": o.name,
        "group": o.group,
        "condition": o.condition,
        "queries": list(o.queries),
    }
    return {**shown, "designs": [dict(d) for d in o.designs]} if o.designs else shown


def _read_resting(body: Json) -> Resting:
    designs = tuple(tuple(d.items()) for d in body.get("designs", ()))
    queries = tuple(body["queries"])
    return Resting(body["name"], body["group"], body["condition"], queries, designs)


def _ground_json(ground: Ground) -> dict[str, Json]:
    match ground:
        case Contradiction() | Point():
            return {"certificate": certificate_json(ground)}
        case Agreement(second, reading):
            return {"second": second, "reading": reading}
        case Alone(reason):
            return {"alone": reason}
        case _:
            assert_never(ground)


def _read_ground(body: Json) -> Ground:
    match body:
        case {"certificate": certificate}:
            return read_certificate(certificate)
        case {"second": str(second), "reading": "linear" | "exact" as reading}:
            return Agreement(second, reading)
        case {"alone": str(reason)}:
            return Alone(reason)
    raise ValueError("not a ground")

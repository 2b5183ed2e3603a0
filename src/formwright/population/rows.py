"""Rows to data and back."""

import json
from functools import cache
from hashlib import sha256
from typing import Any, cast

from sqlalchemy import RowMapping

from formwright.base.diagnostics import fail
from formwright.base.digest import digest
from formwright.population.chips import ChipKey
from formwright.population.entries import (
    Design,
    Entry,
    Fact,
    Held,
    Language,
    Met,
    Place,
    Seen,
    Step,
    Work,
)
from formwright.population.signature import PARTS, Signature
from formwright.proof import kept


@cache
def context() -> str:
    """The rules and the solver of this process: they do not change under it."""
    return kept.context()


def text_digest(text: str) -> str:
    """Hex SHA-256 of the text as it stands."""
    return sha256(text.encode()).hexdigest()


def dumped(value: object) -> str:
    """Canonical JSON: equal values are equal texts."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def storable(value: Any) -> Any:
    """``value`` as every database keeps it: no NUL (PostgreSQL has none in texts), no lone
    surrogate (no UTF-8 has one). Words of agents may have either."""
    if not isinstance(value, str) or is_storable(value):
        return value
    return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def is_storable(text: str) -> bool:
    """Whether every database keeps ``text`` as it is."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def signature_text(signature: Signature | None) -> str:
    return "" if signature is None else dumped({p: list(w) for p, w in signature.parts()})


def _signature(text: str) -> Signature | None:
    if not text:
        return None
    parts = json.loads(text)
    return Signature(*(tuple(parts[p]) for p in PARTS))


def entry_of(row: RowMapping) -> Entry:
    """Raises ``InputError`` where the row's text is not the one that was written."""
    if text_digest(row["text"]) != row["sha256"]:
        raise fail(
            f"the population is damaged: the text of {row['name']} is not what was kept",
            hint="import it again from an export",
        )
    place = cast(Place, row["place"])
    evidence, reason = _evidence(row)
    return Entry(
        digest=row["digest"],
        language=cast(Language, row["language"]),
        name=row["name"],
        text=row["text"],
        place=place,
        evidence=evidence,
        reason=reason,
        verdict=row["verdict"],
        interface=row["interface"],
        problem=row["problem"],
        niche=row["niche"],
        signature=_signature(row["signature"]),
        proof=json.loads(row["proof"]) if row["proof"] else None,
        proof_digest=row["proof_digest"],
        created=row["created"],
    )


def _evidence(row: RowMapping) -> tuple[Any, str]:
    if row["place"] == "admitted":
        if row["context"] == context():
            return "proved", row["reason"]
        return "none", "proved under other rules or with another solver: to be proved again"
    # Of a template a kernel may be tested; the template is not.
    tested = row["verdict"] == "tested" and row["language"] != "fw"
    return ("tested" if tested else "none"), row["reason"]


def step_of(row: RowMapping) -> Step:
    return Step(**{k: row[k] for k in Step.__slots__})


def step_row(step: Step) -> dict[str, Any]:
    told = {k: getattr(step, k) for k in Step.__slots__}
    key = digest({k: v for k, v in told.items() if k != "created"})
    return {"key": key, **told}


def _around(seen: Fact | Design | Held) -> dict[str, Any]:
    """The columns that facts, designs and structures share."""
    work = seen.work
    return {
        "template": seen.template,
        "chip": seen.chip.digest,
        "chip_name": seen.chip.name,
        "contract": work.contract,
        "operator": work.operator,
        "extents": dumped(dict(work.extents)),
        "dtypes": dumped(dict(work.dtypes)),
        "threads": work.threads,
        "source": seen.source,
    }


def _work(row: RowMapping) -> Work:
    return Work(
        row["contract"],
        row["operator"],
        json.loads(row["extents"]),
        json.loads(row["dtypes"]),
        row["threads"],
    )


def _keyed(row: dict[str, Any], created: str) -> dict[str, Any]:
    told = {k: v.hex() if isinstance(v, float) else v for k, v in row.items()}
    return {"key": digest(told), **row, "created": created}


def fact_row(fact: Fact, created: str) -> dict[str, Any]:
    """The key leaves the figure out: one journal entry has one figure of a kind."""
    named = {
        **_around(fact),
        "assignment": dumped(dict(fact.assignment)),
        "machine": fact.machine,
        "quantity": fact.quantity,
        "evidence": fact.evidence,
    }
    figures = {"value": fact.value, "low": fact.low, "high": fact.high, "unit": fact.unit}
    return _keyed(named, created) | figures | {"imported": fact.imported}


def fact_of(row: RowMapping) -> Fact:
    return Fact(
        template=row["template"],
        assignment=json.loads(row["assignment"]),
        chip=ChipKey(row["chip_name"], row["chip"]),
        machine=row["machine"],
        work=_work(row),
        quantity=row["quantity"],
        value=row["value"],
        unit=row["unit"],
        evidence=cast(Seen, row["evidence"]),
        source=row["source"],
        low=row["low"],
        high=row["high"],
        imported=bool(row["imported"]),
    )


def design_row(design: Design, created: str) -> dict[str, Any]:
    return _keyed(
        {
            **_around(design),
            "assignment": dumped(dict(design.assignment)),
            "objective": design.objective,
            "bound": design.bound,
            "qualified": design.qualified,
            "artifact": design.artifact,
        },
        created,
    ) | {"imported": design.imported}


def design_of(row: RowMapping) -> Design:
    return Design(
        template=row["template"],
        assignment=json.loads(row["assignment"]),
        chip=ChipKey(row["chip_name"], row["chip"]),
        work=_work(row),
        objective=row["objective"],
        bound=row["bound"],
        qualified=bool(row["qualified"]),
        artifact=row["artifact"],
        source=row["source"],
        imported=bool(row["imported"]),
    )


def held_row(held: Held, created: str) -> dict[str, Any]:
    told = {"structure": held.structure, "held": held.held, "detail": held.detail}
    return _keyed(_around(held) | told, created) | {"imported": held.imported}


def held_of(row: RowMapping) -> Held:
    return Held(
        template=row["template"],
        structure=row["structure"],
        held=bool(row["held"]),
        chip=ChipKey(row["chip_name"], row["chip"]),
        work=_work(row),
        source=row["source"],
        detail=row["detail"],
        imported=bool(row["imported"]),
    )


def met_row(met: Met, created: str) -> dict[str, Any]:
    """The key leaves ``source`` out: one counterexample met in two runs is one."""
    told = {
        "template": met.template,
        "condition": met.condition,
        "text": met.text,
        "point": dumped(dict(met.values)),
        "replayed": met.replayed,
        "trace": dumped(list(met.trace)),
    }
    return _keyed(told, created) | {"source": met.source, "imported": met.imported}


def met_of(row: RowMapping) -> Met:
    return Met(
        template=row["template"],
        condition=row["condition"],
        text=row["text"],
        values=json.loads(row["point"]),
        replayed=bool(row["replayed"]),
        source=row["source"],
        trace=tuple(json.loads(row["trace"])),
        imported=bool(row["imported"]),
    )

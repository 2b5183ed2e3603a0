"""From one store to another, row by row as they are: between one's own, of either kind.

An export is for strangers and believed in nothing; a copy keeps proofs, marks, times and with them
every order. What both have stays as the target has it, except that a standing that shows more is
taken over (proved before not proved).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Table, select, update

from formwright.base.diagnostics import Diagnostic, InputError
from formwright.population import rows, tables
from formwright.population.engine import Database, read, write
from formwright.population.keeping import keep_many

TOGETHER: Final = 500
"""Rows in one transaction."""

KINDS: Final = tuple(t for t in tables.metadata.sorted_tables if t is not tables.about)
_FIGURES: Final = ("value", "low", "high", "unit")
_STANDING: Final = ("place", "reason", "verdict", "proof", "proof_digest", "context")

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Copied:
    """By table the rows that were new to the target, and those that it had.

    ``raised``: digests of entries whose standing was taken over. ``differing``: keys of facts of
    which the target has another figure; it keeps its own.
    """

    new: Mapping[str, int]
    known: Mapping[str, int]
    raised: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Part:
    new: int
    known: int
    raised: tuple[str, ...]
    differing: tuple[str, ...]


def copy_database(
    source: Database, target: Database, progress: Callable[[str], None] = lambda _: None
) -> Copied:
    """Copies what ``source`` has at one moment. One that was stopped in the middle is begun again.

    Raises ``InputError`` with the faults of all damaged rows before anything is written.
    """
    taken = read(source, _all)
    faults = [d for row in taken["entries"] for d in _faults(row)]
    if faults:
        raise InputError(faults)
    new, known = dict[str, int](), dict[str, int]()
    raised, differing = list[str](), list[str]()
    for table in _in_order():
        told = taken[table.name]
        parts = list[_Part]()
        for start in range(0, len(told), TOGETHER):
            progress(f"{table.name}: {start} of {len(told)} rows")
            parts.append(write(target, _putting(table, told[start : start + TOGETHER])))
        new[table.name] = sum(p.new for p in parts)
        known[table.name] = sum(p.known for p in parts)
        raised += [d for p in parts for d in p.raised]
        differing += [d for p in parts for d in p.differing]
    _whole(taken, target)
    return Copied(new, known, tuple(raised), tuple(differing))


def _in_order() -> tuple[Table, ...]:
    """Entries first: nobody meets a fact of a template that is not there."""
    return (tables.entries, *(t for t in KINDS if t is not tables.entries))


def _all(connection: Connection) -> dict[str, list[Row]]:
    """Rows in the order of their keys, in which two copies do not wait in a circle."""
    return {
        table.name: [
            dict(r) for r in connection.execute(select(table).order_by(_key(table))).mappings()
        ]
        for table in KINDS
    }


def _faults(row: Row) -> Sequence[Diagnostic]:
    try:
        rows.entry_of(row)  # type: ignore[arg-type]
    except InputError as error:
        return error.diagnostics
    if rows.is_storable(row["text"]):
        return ()
    return (Diagnostic(f"the text of {row['name']} has a NUL, which PostgreSQL does not keep"),)


def _key(table: Table) -> Any:
    (column,) = table.primary_key.columns
    return column


def _putting(table: Table, some: Sequence[Row]) -> Callable[[Connection], _Part]:
    key = _key(table)

    def work(connection: Connection) -> _Part:
        there = _locked(connection, table, some)
        stood = keep_many(connection, table, [row for row in some if row[key.name] not in there])
        # What came in between is held against ours as what was there before.
        there |= _locked(connection, table, stood)
        both = [(row, there[row[key.name]]) for row in some if row[key.name] in there]
        raised = list[str]()
        for row, theirs in both:
            if table is tables.entries and _shows(row) > _shows(theirs):
                told = {name: row[name] for name in _STANDING}
                connection.execute(update(table).where(key == row[key.name]).values(**told))
                raised.append(row[key.name])
        differing = [
            row[key.name]
            for row, theirs in both
            if table is tables.facts and any(row[f] != theirs[f] for f in _FIGURES)
        ]
        return _Part(len(some) - len(both), len(both), tuple(raised), tuple(differing))

    return work


def _locked(connection: Connection, table: Table, some: Sequence[Row]) -> dict[str, Row]:
    """The rows of the same keys that the target has; nobody changes them until this is done."""
    if not some:
        return {}
    key = _key(table)
    query = select(table).where(key.in_([row[key.name] for row in some])).with_for_update()
    return {row[key.name]: dict(row) for row in connection.execute(query).mappings()}


def _shows(row: Row) -> int:
    """How much the standing of an entry says: proved now, proved once, judged, nothing."""
    if row["place"] == "admitted":
        return 3 if row["context"] == rows.context() else 2
    return 0 if row["verdict"] == "none" else 1


def _whole(taken: Mapping[str, Sequence[Row]], target: Database) -> None:
    """Every row that was taken is in the target."""
    for table in KINDS:
        key = _key(table)
        there = set(read(target, lambda c, k=key: c.execute(select(k)).scalars().all()))  # type: ignore[misc]
        lost = {row[key.name] for row in taken[table.name]} - there
        if lost:
            raise RuntimeError(f"{len(lost)} rows of {table.name} did not arrive")

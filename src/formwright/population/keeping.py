"""Rows put into tables: each once, whoever else is putting the same."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table, insert, select
from sqlalchemy.exc import IntegrityError

from formwright.population import rows, tables
from formwright.population.entries import Design, Fact, Held, Met, Step


def keep(connection: Connection, table: Table, row: Mapping[str, Any]) -> bool:
    """Adds a row unless it is there, and returns whether it did. Where writers do not wait for one
    another, another one may come between: its row stands."""
    (column,) = table.primary_key.columns
    key = row[column.name]
    if connection.execute(select(column).where(column == key)).first() is not None:
        return False
    try:
        with connection.begin_nested():
            connection.execute(insert(table).values(**_storable(row)))
    except IntegrityError:
        if connection.execute(select(column).where(column == key)).first() is None:
            raise
        return False
    return True


def keep_many(
    connection: Connection, table: Table, new: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """As :func:`keep` of rows that are probably not there, in one statement; returns those that
    another writer has put in meanwhile."""
    if not new:
        return []
    try:
        with connection.begin_nested():
            connection.execute(insert(table), [_storable(row) for row in new])
    except IntegrityError:
        return [row for row in new if not keep(connection, table, row)]
    return []


def keep_steps(connection: Connection, steps: Iterable[Step]) -> None:
    """In the order of their keys: two that tell the same do not wait for one another in a
    circle."""
    for row in sorted(map(rows.step_row, steps), key=lambda r: str(r["key"])):
        keep(connection, tables.steps, row)


def row_of(seen: Fact | Design | Met | Held, now: str) -> tuple[Table, dict[str, Any]]:
    """The table and the row of something that was seen."""
    match seen:
        case Fact():
            return tables.facts, rows.fact_row(seen, now)
        case Design():
            return tables.designs, rows.design_row(seen, now)
        case Met():
            return tables.met, rows.met_row(seen, now)
        case Held():
            return tables.held, rows.held_row(seen, now)


def _storable(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: rows.storable(value) for name, value in row.items()}

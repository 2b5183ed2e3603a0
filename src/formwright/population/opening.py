"""Opening a store: tables are made where there are none, older ones are brought up to date.

A file is brought up to date when it is opened: it is one person's. On a server that is a command
(``formwright population migrate``), since programs of an earlier version are locked out by it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, insert, inspect, select
from sqlalchemy.exc import DBAPIError

from formwright.base.diagnostics import InputError, fail
from formwright.population.engine import OPENING, WAIT, Database, engine_of, read, use_wal, write
from formwright.population.places import Place, place_of
from formwright.population.tables import SCHEMA, about, metadata

APPLICATION: Final = 0x46575250
"""``application_id`` of our SQLite files ("FWRP"), and the name of the lock of those who make
tables on a server: another program's database is not written to."""

_FILE: Final = "give the path of a population, or of a file that is not there yet"
_SERVER: Final = "give a database of its own: createdb formwright"


def open_database(given: str | Path, *, make: bool = True) -> Database:
    """The store at a path, ``:memory:`` (for one thread) or a URL, its tables as of this version.

    ``make``: one that is not there is made. Raises ``InputError`` where it cannot be opened, is
    none, or is of another version.
    """
    place = place_of(given)
    with _said(place):
        opening = _opening(place, make)
        found = _found(opening, make)
        if found != SCHEMA and place.is_server:
            raise fail(
                f"a population of schema {found}; this version has schema {SCHEMA}",
                hint="formwright population migrate; earlier versions then refuse it",
            )
        if not place.is_server:
            use_wal(opening.engine)
            if found != SCHEMA:
                write(opening, _migrated)
    return replace(opening, opened=True, wait=WAIT)


def migrate_database(given: str | Path) -> tuple[int, int]:
    """Brings a store up to date, and returns the schemas that it had and has.

    Raises ``InputError`` as :func:`open_database`.
    """
    place = place_of(given)
    with _said(place):
        opening = _opening(place, make=False)
        found = _found(opening, make=False)
        if found != SCHEMA:
            write(opening, _migrated)
    return found, SCHEMA


def _opening(place: Place, make: bool) -> Database:
    if not make and place.file is not None and not place.file.is_file():
        raise fail(f"there is no population {place.shown}", hint="see the path")
    # Who waits for the lock of a file knows that it is there.
    wait = OPENING if place.is_server else WAIT
    return Database(engine_of(place), place, opened=False, wait=wait)


def _found(opening: Database, make: bool) -> int:
    """Its schema. Reads first: who only reads a store that is up to date writes nothing."""
    found = read(opening, found_schema)
    if found is None and make:
        write(opening, _made)
        found = read(opening, found_schema)
    if found is None:
        raise fail("there is no population in it", hint="see the path or the URL")
    return found


@contextmanager
def _said(place: Place) -> Iterator[None]:
    """Failures with the place, and of a driver's words no password."""
    try:
        yield
    except DBAPIError as error:
        said = place.told(str(error.orig)).strip().replace("\n", "; ")
        told = f"cannot open the population {place.shown}: {said}"
        raise fail(told, hint=_refused(place)) from None
    except InputError as error:
        told = error.diagnostics[0].message
        if place.shown in told:
            raise
        raise fail(f"{place.shown}: {told}", hint=error.diagnostics[0].hint) from error


def _refused(place: Place) -> str:
    if not place.is_server:
        return _FILE
    return "is the server there, and may this user connect? psql shows what it says"


def found_schema(connection: Connection) -> int | None:
    """The schema of a store; ``None`` where there is nothing at all.

    Raises ``InputError`` for another program's database and for a store of a later version.
    """
    names = set(inspect(connection).get_table_names())
    if connection.dialect.name == "sqlite":
        number = connection.exec_driver_sql("pragma application_id").scalar_one()
        if number != APPLICATION and (number or names):
            raise fail("a database of another program", hint=_FILE)
    if not names:
        return None
    if not {table.name for table in metadata.sorted_tables} <= names:
        raise fail("a database of another program", hint=_SERVER)
    query = select(about.c.value).where(about.c.name == "schema")
    told = connection.execute(query).scalar_one_or_none()
    if told is None or not told.isdecimal():
        raise fail("a database of another program", hint=_SERVER)
    if int(told) > SCHEMA:
        raise fail(
            f"a population of schema {told}, which a later version of Formwright wrote; "
            f"this version knows schemas up to {SCHEMA}",
            hint="use that version, or export the population with it and import the files",
        )
    return int(told)


def _made(connection: Connection) -> None:
    _alone(connection)
    if found_schema(connection) is not None:
        return  # by another process, while this one waited
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"pragma application_id={APPLICATION}")
    metadata.create_all(connection)
    connection.execute(insert(about).values(name="schema", value=str(SCHEMA)))


def _migrated(connection: Connection) -> None:
    # The library of migrations takes a third of a second to load; hardly any start needs it.
    from formwright.population.migrating import migrate

    _alone(connection)
    found = found_schema(connection)
    if found is not None and found < SCHEMA:
        migrate(connection, found)


def _alone(connection: Connection) -> None:
    """One at a time makes tables; a writer of SQLite has the lock of the file already."""
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql(f"select pg_advisory_xact_lock({APPLICATION})")

"""Opening the store, and its transactions: many processes read and write one store at once.

On SQLite a writer takes the lock before it reads (``BEGIN IMMEDIATE``: a transaction that reads
first and writes later fails when another one wrote in between), readers see the last commit (WAL),
and whoever meets a lock waits for it. Connections are opened for each transaction, so that threads
and forked processes share none.
"""

import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, insert, inspect, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    IntegrityError,
    NoSuchModuleError,
    OperationalError,
    ProgrammingError,
)
from sqlalchemy.pool import NullPool, StaticPool

from formwright.base.diagnostics import InputError, fail
from formwright.population.tables import SCHEMA, about, metadata

T = TypeVar("T")

WAIT = 120.0
"""Seconds that a transaction waits for others, all tries together."""

MAKERS = 8
"""Times that tables are looked for, or made."""

MEMORY = ":memory:"
_WRITES = "formwright_writes"
_APPLICATION = 0x46575250
"""``application_id`` of our files ("FWRP"): another program's database is not written to."""


def open_engine(path_or_url: str | Path) -> Engine:
    """An engine for a file, ``:memory:`` (for one thread) or a database URL of SQLAlchemy.

    Its tables are there.

    Raises ``InputError`` when it cannot be opened or is no population of this version.
    """
    shown = str(path_or_url)
    engine = _engine(shown)
    try:
        _made(engine)
    except DBAPIError as error:
        raise fail(f"cannot open the population {shown}: {error.orig}", hint=_HINT) from error
    except InputError as error:
        told = error.diagnostics[0]
        raise fail(f"{shown}: {told.message}", hint=told.hint) from error
    return engine


_HINT = "give the path of a population, or of a file that is not there yet"


def _engine(shown: str) -> Engine:
    if "://" not in shown:
        return _sqlite(shown)
    try:
        url = make_url(shown)
        if url.get_backend_name() == "sqlite":
            return _sqlite(url.database or MEMORY)
        return create_engine(url, poolclass=NullPool)
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
        raise fail(
            f"cannot open the population {shown.partition('://')[0]}://…: {error}",
            hint="give the path of a file, or a URL whose driver is installed",
        ) from error


def _sqlite(name: str) -> Engine:
    if name == MEMORY:
        engine = create_engine("sqlite://", poolclass=StaticPool)
    else:
        path = Path(name).expanduser().resolve()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise fail(f"cannot open the population {name}: {error.strerror}", hint=_HINT) from None
        url = make_url("sqlite://").set(database=str(path))
        engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": WAIT})
    event.listen(engine, "connect", _connected)
    event.listen(engine, "begin", _begun)
    return engine


def _connected(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver begins nothing by itself
    connection.execute(f"pragma busy_timeout={int(WAIT * 1000)}")
    connection.execute("pragma foreign_keys=on")
    connection.execute("pragma synchronous=normal")


def _begun(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def read(engine: Engine, work: Callable[[Connection], T]) -> T:
    """``work`` on one snapshot of the store."""
    return _tried(engine, work, writes=False)


def write(engine: Engine, work: Callable[[Connection], T]) -> T:
    """``work`` as one transaction: all of it or nothing. It may be called again, so it must have
    no effect but on its connection."""
    return _tried(engine, work, writes=True)


def _tried(engine: Engine, work: Callable[[Connection], T], *, writes: bool) -> T:
    end = time.monotonic() + WAIT
    pause = 0.01
    while True:
        try:
            with engine.connect() as plain:
                connection = plain.execution_options(**{_WRITES: writes})
                with connection.begin():
                    return work(connection)
        except OperationalError as error:
            # The busy handler is not asked in every case (a log that is being recovered).
            if not _busy(error) or time.monotonic() > end:
                raise
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(2 * pause, 0.5)


def _busy(error: OperationalError) -> bool:
    told = str(error.orig)
    return "locked" in told or "busy" in told


def _made(engine: Engine) -> None:
    """Tables, made once: where writers do not wait for one another, who comes second fails and
    finds them there when it looks again."""
    for _ in range(MAKERS):
        try:
            return write(engine, _prepare)
        except (IntegrityError, ProgrammingError) as error:
            met = error
    raise met


def _prepare(connection: Connection) -> None:
    """Tables where there are none; a store of another version or program is refused."""
    if connection.dialect.name == "sqlite":
        _ours(connection)
    metadata.create_all(connection)
    query = select(about.c.value).where(about.c.name == "schema")
    found = connection.execute(query).scalar_one_or_none()
    if found is None:
        connection.execute(insert(about).values(name="schema", value=str(SCHEMA)))
    elif found != str(SCHEMA):
        raise fail(
            f"a population of schema {found}; this version has schema {SCHEMA}",
            hint="export it with the version that wrote it, and import the files",
        )


def _ours(connection: Connection) -> None:
    number = connection.exec_driver_sql("pragma application_id").scalar_one()
    if number == _APPLICATION:
        return
    if number or inspect(connection).get_table_names():
        raise fail("a database of another program", hint=_HINT)
    connection.exec_driver_sql(f"pragma application_id={_APPLICATION}")


def use_wal(engine: Engine) -> None:
    """Readers beside a writer: kept in the file, so asked for once. A store where it cannot be had
    (a network file system) works without."""
    if engine.dialect.name != "sqlite":
        return
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        if cursor.execute("pragma journal_mode").fetchone() != ("wal",):
            with suppress(sqlite3.OperationalError):
                cursor.execute("pragma journal_mode=wal")
    finally:
        connection.close()

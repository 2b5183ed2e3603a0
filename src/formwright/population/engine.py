"""Transactions of the store: many processes read and write one store at once.

On SQLite a writer takes the lock before it reads (``BEGIN IMMEDIATE``: a transaction that reads
first and writes later fails when another one wrote in between), readers see the last commit (WAL),
and whoever meets a lock waits for it. Connections are opened for each transaction.

On PostgreSQL a reader has one snapshot (``REPEATABLE READ``), a writer waits for the rows of others
(``READ COMMITTED`` and unique keys). What the server aborts, and what is cut off when it restarts,
is tried again (``passing``). A forked process takes no connection over.
"""

import errno
import os
import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from weakref import WeakSet

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool, StaticPool

from formwright.base.diagnostics import fail
from formwright.population.passing import is_refusal, passes
from formwright.population.places import Place

T = TypeVar("T")

WAIT: Final = 120.0
"""Seconds that a transaction waits for others, or for its server, all tries together."""

OPENING: Final = 10.0
"""Seconds that a server has to answer when a place is opened: it may be restarting."""

PAUSE: Final = 1.0
"""The longest pause between two tries, in seconds."""

KEPT: Final = 2
"""Connections to a server that are kept for the next transaction; more are opened when needed."""

_WRITES: Final = "formwright_writes"

_SERVER: Final[dict[str, Any]] = {
    "connect_timeout": 10,
    "application_name": "formwright",
    # A machine that is gone says nothing: it is asked, and given up after a minute.
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    # Statements that are prepared on one connection fail behind a pooler.
    "prepare_threshold": None,
}
_IDLE: Final = "set idle_in_transaction_session_timeout = '60s'"
"""A writer that was stopped in the middle does not hold its rows for ever."""


@dataclass(frozen=True, slots=True)
class Database:
    """An engine and the place that it is at; ``wait`` bounds all tries of a transaction."""

    engine: Engine
    place: Place
    opened: bool = True
    wait: float = WAIT


def engine_of(place: Place) -> Engine:
    """Nothing is connected yet. Raises ``InputError`` where the driver or the folder lacks."""
    return _server(place) if place.is_server else _sqlite(place)


def _sqlite(place: Place) -> Engine:
    path = place.file
    if path is None:
        engine = create_engine("sqlite://", poolclass=StaticPool)
    else:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            told = f"cannot open the population {place.shown}: {error.strerror}"
            raise fail(told, hint="give a file in a folder that can be written") from None
        engine = create_engine(place.url, poolclass=NullPool, connect_args={"timeout": WAIT})
    event.listen(engine, "connect", _connected)
    event.listen(engine, "begin", _begun)
    return engine


def _server(place: Place) -> Engine:
    try:
        # What the URL says itself goes before.
        settings = {k: v for k, v in _SERVER.items() if k not in place.url.query}
        engine = create_engine(
            place.url,
            isolation_level="READ COMMITTED",
            pool_size=KEPT,
            max_overflow=-1,
            connect_args=settings,
        )
    except ModuleNotFoundError as error:
        told = f"cannot open the population {place.shown}: the package {error.name} is missing"
        raise fail(told, hint="pip install 'formwright[postgresql]'") from None
    event.listen(engine, "connect", _served)
    _SERVERS.add(engine)
    return engine


_SERVERS: Final[WeakSet[Engine]] = WeakSet()


def _leave_to_parent() -> None:
    """In a forked child: connections are the parent's, who goes on with them."""
    for engine in tuple(_SERVERS):
        engine.dispose(close=False)


os.register_at_fork(after_in_child=_leave_to_parent)


def _connected(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver begins nothing by itself
    connection.execute(f"pragma busy_timeout={int(WAIT * 1000)}")
    connection.execute("pragma foreign_keys=on")
    connection.execute("pragma synchronous=normal")


def _begun(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _served(connection: Any, _record: Any) -> None:
    connection.execute(_IDLE)
    connection.commit()


def read(database: Database, work: Callable[[Connection], T]) -> T:
    """``work`` on one snapshot of the store."""
    options: dict[str, Any] = {_WRITES: False}
    if database.place.is_server:
        options |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    return _tried(database, work, options)


def write(database: Database, work: Callable[[Connection], T]) -> T:
    """``work`` as one transaction: all of it or nothing.

    It may be called again, also after it was committed, so it has no effect but on its connection,
    and done twice it is as done once. Raises ``OSError`` where the place does not answer in time,
    or takes nothing.
    """
    return _tried(database, work, {_WRITES: True})


def _tried(database: Database, work: Callable[[Connection], T], options: dict[str, Any]) -> T:
    began = time.monotonic()
    pause = 0.01
    while True:
        try:
            with database.engine.connect() as plain:
                connection = plain.execution_options(**options)
                with connection.begin():
                    return work(connection)
        except DBAPIError as error:
            if not passes(error, opened=database.opened):
                if database.opened and is_refusal(error):
                    raise _said(database, "took nothing", error) from None
                raise
            if time.monotonic() - began > database.wait:
                raise _said(database, "gave no answer", error) from None
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(2 * pause, PAUSE)


def _said(database: Database, what: str, error: DBAPIError) -> Exception:
    """What is raised where a place fails. The error's own text has statements and values in it:
    only what the database said is passed on.

    While it is being opened that is a fault of the input. Later it is none, and nobody who catches
    those (an unknown name, say) takes a lost store for one: the run ends, its journal has all that
    was decided.
    """
    place = database.place
    told = f"{what}: {place.told(str(error.orig)).strip()}".replace("\n", "; ")
    if not database.opened:
        hint = "see that it is there; the same command goes on from what was kept"
        return fail(f"the population {place.shown} {told}", hint=hint)
    return OSError(errno.EIO, told, place.shown)


def use_wal(engine: Engine) -> None:
    """Readers beside a writer: kept in the file, so asked for once. A store where it cannot be had
    (a network file system) works without."""
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        if cursor.execute("pragma journal_mode").fetchone() != ("wal",):
            with suppress(sqlite3.OperationalError):
                cursor.execute("pragma journal_mode=wal")
    finally:
        connection.close()

"""What was proved, by content: cores, nodes, and obligations left open with their limits.

One SQLite file (``docs/decisions/0004-proof-store.md``). Every row is sealed: a digest over
its table, its key, the context it was proved in and its body. A row whose seal does not fit
is not there. The context is the text of the rules, the solver and its version: rows of another
context are never read.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

SCHEMA = 1

WAIT = 30.0
"""Seconds to wait for another process that writes."""

Table = Literal["core", "node", "open", "witness", "query"]
"""``core``: an unsatisfiable query. ``node``: an obligation by its inputs, with its cores.
``open``: an unresolved obligation with its limits. ``witness``: a point to try again.
``query``: the digest of a whole unsatisfiable query, of a refinement step."""

_CREATE = """
create table if not exists entries (
  kind text not null, context text not null, key text not null, anchor text not null,
  body text not null, seal text not null,
  primary key (kind, context, key)
) without rowid;
create index if not exists anchors on entries (kind, context, anchor);
"""


class Database:
    """Rows of one context in one file. ``:memory:`` keeps them nowhere."""

    def __init__(self, path: Path | None, context: str) -> None:
        self._context = context
        self._connection = _opened(path)
        self._together = False
        self.damaged = 0
        """Rows met whose seal did not fit, and failures of the file itself."""

    @property
    def context(self) -> str:
        """What every row here was proved under."""
        return self._context

    def get(self, kind: Table, key: str) -> Any:
        """The body of a row, or ``None``."""
        sql = "select key, anchor, body, seal from entries where kind=? and context=? and key=?"
        return next((body for _, body in self._read(kind, sql, (kind, self._context, key))), None)

    def many(self, kind: Table, keys: Iterable[str]) -> dict[str, Any]:
        """The rows of ``keys`` that are there."""
        found: dict[str, Any] = {}
        for part in _chunks(list(keys)):
            sql = (
                "select key, anchor, body, seal from entries where kind=? and context=? "
                f"and key in ({_marks(part)})"
            )
            found.update(self._read(kind, sql, (kind, self._context, *part)))
        return found

    def anchored(self, kind: Table, anchors: Iterable[str]) -> list[str]:
        """The names of the rows with one of ``anchors``."""
        found: list[str] = []
        for part in _chunks(list(anchors)):
            sql = (
                f"select key from entries where kind=? and context=? and anchor in ({_marks(part)})"
            )
            try:
                rows = self._connection.execute(sql, (kind, self._context, *part))
                found += [key for (key,) in rows]
            except sqlite3.DatabaseError:
                self.damaged += 1
        return found

    def is_empty(self) -> bool:
        """Whether nothing was kept in this context yet."""
        sql = "select 1 from entries where context=? limit 1"
        try:
            return self._connection.execute(sql, (self._context,)).fetchone() is None
        except sqlite3.DatabaseError:
            self.damaged += 1
            return True

    def keys(self, kind: Table) -> set[str]:
        """The names of all rows of a kind."""
        sql = "select key from entries where kind=? and context=?"
        try:
            return {key for (key,) in self._connection.execute(sql, (kind, self._context))}
        except sqlite3.DatabaseError:
            self.damaged += 1
            return set()

    def every(self, kind: Table) -> Iterator[tuple[str, Any]]:
        """All rows of a kind, for an audit."""
        sql = "select key, anchor, body, seal from entries where kind=? and context=? order by key"
        yield from self._read(kind, sql, (kind, self._context))

    def damage(self) -> list[tuple[str, str]]:
        """Kind and key of every row, of all contexts, whose seal does not fit; for an audit."""
        sql = "select kind, context, key, anchor, body, seal from entries order by kind, key"
        try:
            rows = self._connection.execute(sql).fetchall()
        except sqlite3.DatabaseError as error:
            return [("file", str(error))]
        return [
            (kind, key)
            for kind, context, key, anchor, text, seal in rows
            if _sealed(kind, context, key, anchor, text) != seal
        ]

    def put(self, kind: Table, key: str, body: object, anchor: str = "") -> None:
        """Keeps a row; one that is there is replaced. A file that fails keeps nothing."""
        text = json.dumps(body, separators=(",", ":"), sort_keys=True)
        row = (kind, self._context, key, anchor, text, self._seal(kind, key, anchor, text))
        self._write("insert or replace into entries values (?,?,?,?,?,?)", row)

    def drop(self, kind: Table, key: str) -> None:
        """Forgets a row."""
        row = (kind, self._context, key)
        self._write("delete from entries where kind=? and context=? and key=?", row)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Rows put inside are written at once or not at all."""
        self._together = True
        try:
            with self._connection:
                yield
        finally:
            self._together = False

    def _write(self, sql: str, row: tuple[str, ...]) -> None:
        try:
            if self._together:
                self._connection.execute(sql, row)
            else:
                with self._connection:
                    self._connection.execute(sql, row)
        except sqlite3.DatabaseError:
            self.damaged += 1

    def close(self) -> None:
        self._connection.close()

    def _read(self, kind: str, sql: str, values: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        try:
            rows = self._connection.execute(sql, values).fetchall()
        except sqlite3.DatabaseError:
            self.damaged += 1
            return
        for key, anchor, text, seal in rows:
            if self._seal(kind, key, anchor, text) == seal:
                yield key, json.loads(text)
            else:
                self.damaged += 1

    def _seal(self, kind: str, key: str, anchor: str, text: str) -> str:
        return _sealed(kind, self._context, key, anchor, text)


def _sealed(kind: str, context: str, key: str, anchor: str, text: str) -> str:
    """A digest over everything that a row says and is found by."""
    whole = json.dumps([SCHEMA, kind, context, key, anchor, text])
    return hashlib.sha256(whole.encode()).hexdigest()


def _opened(path: Path | None) -> sqlite3.Connection:
    """A connection. A file that is no database is put aside and a new one begun; where none
    can be had in time nothing is kept, which costs work and no verdict."""
    if path is None:
        return _prepared(":memory:")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return _prepared(str(path))
    except sqlite3.OperationalError:
        return _prepared(":memory:")
    except sqlite3.DatabaseError:
        path.replace(path.with_name(f"{path.name}.damaged"))
        return _prepared(str(path))


def _prepared(name: str) -> sqlite3.Connection:
    connection = sqlite3.connect(name, timeout=WAIT)
    connection.executescript("pragma journal_mode=wal; pragma synchronous=normal;" + _CREATE)
    return connection


def _chunks(values: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(values), 500):
        yield values[start : start + 500]


def _marks(values: list[str]) -> str:
    return ",".join("?" * len(values))

"""What names a population: a file, memory, or a database URL; and how it is shown to people.

A URL may have a password in it. Nothing that is written anywhere (messages, reports, answers to
agents, journals) is made of the URL itself, only of :attr:`Place.shown`.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from formwright.base.diagnostics import InputError, fail

MEMORY: Final = ":memory:"
_SERVERS: Final = ("postgresql", "postgres", "postgresql+psycopg")
_DRIVER: Final = "postgresql+psycopg"
_SHOWN: Final = ("host", "port", "dbname", "service")
"""Parts of a URL's query that say where a server is; others may be secrets."""

_HINT: Final = "give the path of a file, or postgresql://USER@HOST/DATABASE"


@dataclass(frozen=True, slots=True)
class Place:
    """``url`` is SQLAlchemy's, with the driver; ``shown`` has no password."""

    url: URL = field(repr=False)
    shown: str

    @property
    def file(self) -> Path | None:
        """The file, ``None`` for a server and for memory."""
        if self.url.get_backend_name() != "sqlite" or self.url.database == MEMORY:
            return None
        return Path(self.url.database or "")

    @property
    def is_server(self) -> bool:
        return self.url.get_backend_name() != "sqlite"

    def told(self, text: str) -> str:
        """``text`` of a driver without a password, should one be in there."""
        found = [self.url.password, *(v for k, v in self.url.query.items() if "password" in k)]
        for secret in found:
            if isinstance(secret, str) and secret:
                text = text.replace(secret, "***")
        return text


def place_of(given: str | Path) -> Place:
    """Reads what ``--population`` says. Raises ``InputError``, which repeats no part of a URL that
    cannot be read: the password may be in any of them."""
    text = str(given)
    if "://" not in text:
        if text.partition(":")[0] in _SERVERS and ":" in text:
            # Taken for a file it would make a folder that is called by the password.
            kind = text.partition(":")[0]
            raise _unread(kind, "behind the kind of a URL stands ://", _HINT)
        return _in_file(text)
    kind = text.partition("://")[0]
    if kind == "sqlite":
        return _in_file(text.removeprefix("sqlite://").removeprefix("/") or MEMORY)
    if kind not in _SERVERS:
        raise _unread(kind, "a population is in a file or on a PostgreSQL server", _HINT)
    if text.count("@") > 1:
        hint = "the signs @ / : ? # % of a password are written %40 %2F %3A %3F %23 %25"
        raise _unread(kind, "its URL has more than one @", hint)
    try:
        url = make_url(text).set(drivername=_DRIVER)
    except (ArgumentError, ValueError):
        # The driver's own words are left out (and so is its exception): they quote what they read.
        raise _unread(kind, "its URL cannot be read", _HINT) from None
    return Place(url, _shown(url))


def _in_file(name: str) -> Place:
    if name == MEMORY:
        return Place(URL.create("sqlite", database=MEMORY), MEMORY)
    path = Path(name).expanduser().resolve()
    return Place(URL.create("sqlite", database=str(path)), name)


def _shown(url: URL) -> str:
    query = {key: value for key, value in url.query.items() if key in _SHOWN}
    bare = URL.create("postgresql", url.username, None, url.host, url.port, url.database, query)
    return bare.render_as_string()


def _unread(kind: str, why: str, hint: str) -> InputError:
    return fail(f"cannot open the population {kind}://…: {why}", hint=hint)

"""A PostgreSQL server of the tests' own: Debian's, in a temporary folder, on a socket of its own.

It ends with the thread that started it, however that ends.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psycopg

FOLDERS = "/usr/lib/postgresql/*/bin"
USER = "formwright"
PASSWORD = "s3cret:/@?"
"""With all the signs that have a meaning in a URL."""


def programs() -> Path | None:
    """The folder of ``postgres`` and ``initdb`` of the newest version, if there is one."""
    on_path = shutil.which("initdb")
    found = [Path(on_path).resolve().parent] if on_path else []
    found += Path("/").glob(FOLDERS[1:])
    whole = [f for f in found if (f / "initdb").is_file() and (f / "postgres").is_file()]
    return max(
        whole,
        key=lambda f: [int(n) for n in f.parent.name.split(".") if n.isdecimal()],
        default=None,
    )


def lacking() -> str:
    """Why no server can be started here; empty where one can."""
    if programs() is None:
        return "no PostgreSQL server: apt-get install postgresql"
    if os.getuid() == 0 and shutil.which("setpriv") is None:
        return "PostgreSQL runs as no root, and there is no setpriv to become another"
    return ""


@dataclass(slots=True)
class Server:
    """``folder`` holds data and socket. ``settings`` are those of ``postgres -c``."""

    folder: Path
    settings: Sequence[str]
    bin: Path = field(init=False)
    process: subprocess.Popen[bytes] | None = None
    number: int = 0

    def __post_init__(self) -> None:
        found = programs()
        assert found is not None
        self.bin = found
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        if os.getuid() == 0:
            for path in (self.folder, secret):
                os.chown(path, *_other())
        asked = ("--auth=scram-sha-256", f"--pwfile={secret}", f"--username={USER}")
        asked += ("--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions")
        command = [*_become(), str(self.bin / "initdb"), f"--pgdata={self.data}", *asked]
        subprocess.run(command, check=True, cwd="/", capture_output=True)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        """Returns when it answers."""
        settings = ("listen_addresses=", f"unix_socket_directories={self.folder}", *self.settings)
        options = [word for setting in settings for word in ("-c", setting)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *_become("--pdeathsig", "QUIT"),
                    str(self.bin / "postgres"),
                    "-D",
                    str(self.data),
                    *options,
                ],
                cwd="/",
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wait()

    def _wait(self) -> None:
        end = time.monotonic() + 60
        while True:
            try:
                self.connect().close()
                return
            except psycopg.OperationalError:
                assert self.process is not None
                if self.process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError((self.folder / "log").read_text()) from None
                time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """``SIGINT`` cuts clients off and ends in order; ``SIGQUIT`` ends at once, as a crash."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(60)
            self.process = None

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        return psycopg.connect(
            host=str(self.folder),
            user=USER,
            password=PASSWORD,
            dbname=database,
            autocommit=True,
            connect_timeout=5,
        )

    def new_url(self) -> str:
        """Of a place where nothing is yet: a schema of its own, which a URL may name too."""
        self.number += 1
        name = f"place_{self.number}"
        with self.connect() as connection:
            connection.execute(f"create schema {name}")
        return f"{self.url()}&options=-csearch_path%3D{name}"

    def rows(self, url: str) -> int:
        """Facts in the place of ``url``, read past the store."""
        schema = url.rpartition("%3D")[2]
        with self.connect() as connection:
            found = connection.execute(f"select count(*) from {schema}.facts").fetchone()
        assert found is not None
        return int(found[0])

    def url(self, database: str = "postgres", password: str = PASSWORD) -> str:
        secret = quote(password, safe="")
        return f"postgresql://{USER}:{secret}@/{database}?host={quote(str(self.folder), safe='')}"


@contextmanager
def server(*settings: str) -> Iterator[Server]:
    """One that runs, and is gone afterwards with all that it kept."""
    with tempfile.TemporaryDirectory(prefix="formwright-pg-", ignore_cleanup_errors=True) as folder:
        made = Server(Path(folder), settings)
        made.start()
        try:
            yield made
        finally:
            made.stop(signal.SIGQUIT)


def _other() -> tuple[int, int]:
    """Whom root becomes."""
    import pwd

    for name in ("postgres", "nobody"):
        try:
            known = pwd.getpwnam(name)
        except KeyError:
            continue
        return known.pw_uid, known.pw_gid
    raise RuntimeError("neither postgres nor nobody is a user here")


def _become(*asked: str) -> list[str]:
    """The beginning of a command that runs it as nobody in particular; with ``--pdeathsig`` it gets
    that signal when this process ends."""
    who: list[str] = []
    if os.getuid() == 0:
        uid, gid = _other()
        who = ["--reuid", str(uid), "--regid", str(gid), "--clear-groups"]
    if not who and (not asked or shutil.which("setpriv") is None):
        return []
    return ["setpriv", *asked, *who]

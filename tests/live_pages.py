"""The command `serve` in a process of its own, and what a browser would ask of it, in tests."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

COMMAND = str(Path(sys.executable).with_name("formwright"))


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    text: str


@dataclass(frozen=True)
class Served:
    """A server that is up; ``process`` is its own."""

    process: subprocess.Popen[str]
    port: int
    said: dict[str, Any]

    def ask(self, path: str, method: str = "GET", headers: dict[str, str] | None = None) -> Answer:
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=10)) as connection:
            connection.request(method, path, headers=headers or {})
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read().decode())

    def follow(self, run: str | None = None, last: str = "") -> "Stream":
        """The events of a run; ``last``: the id of the event that was seen before."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=10)
        path = "/events" if run is None else f"/events?{urlencode({'run': run})}"
        connection.request("GET", path, headers={"Last-Event-ID": last} if last else {})
        return Stream(connection, connection.getresponse())


@dataclass
class Stream:
    """Server-sent events, one after another."""

    connection: HTTPConnection
    response: HTTPResponse

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.response.close()
        self.connection.close()

    def event(self) -> tuple[str, dict[str, Any]]:
        """The id and the data of the next event; comments are passed over."""
        name, data = "", ""
        while True:
            line = self.response.readline().decode().rstrip("\n")
            if line.startswith("id: "):
                name = line[4:]
            elif line.startswith("data: "):
                data += line[6:]
            elif not line and data:
                return name, json.loads(data)
            elif not line and self.response.isclosed():
                raise EOFError

    def until(self, wanted: str) -> tuple[str, dict[str, Any]]:
        """The first event whose parts say ``wanted``."""
        while True:
            name, data = self.event()
            if wanted in "".join(html for _, html in data["parts"]):
                return name, data


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Served]:
    """`formwright serve FOLDER`, on a free port, ended by Ctrl-C."""
    process = subprocess.Popen(
        [COMMAND, "serve", str(folder), "--port", "0", "--json", *options],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            line = process.stdout.readline()
            assert line, f"it ended with {process.wait(10)}"
            text += line
        said = json.loads(text)
        yield Served(process, urlsplit(said["address"]).port or 0, said)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        if process.stdout is not None:
            process.stdout.close()


def seen(folder: Path) -> dict[str, tuple[int, int, str]]:
    """Each file with its size, time and content; each folder with its time."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        stat = path.lstat()
        text = sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = (stat.st_size, stat.st_mtime_ns, text)
    return found


def open_for_writing(process: int, root: Path) -> list[str]:
    """Files below ``root`` that the process has open, and not for reading alone."""
    found = []
    for number in os.listdir(f"/proc/{process}/fd"):
        try:
            target = os.readlink(f"/proc/{process}/fd/{number}")
            info = Path(f"/proc/{process}/fdinfo/{number}").read_text()
        except OSError:
            continue
        flags = int(next(line for line in info.splitlines() if "flags" in line).split()[1], 8)
        if flags & os.O_ACCMODE != os.O_RDONLY and target.startswith(str(root)):
            found.append(target)
    return found

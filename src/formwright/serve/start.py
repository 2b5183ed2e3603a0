"""The server from its start to its end: one socket of this machine, one process, no file opened
for writing."""

import socket
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from typing import Final

import uvicorn

from formwright.base.diagnostics import InputError, fail
from formwright.serve.app import make_app
from formwright.serve.guard import LOOPBACK
from formwright.serve.reporting import Maker
from formwright.serve.watching import Watch

HERE: Final = "127.0.0.1"


def serve(
    folder: Path, host: str, port: int, maker: Maker, ready: Callable[[str, list[str]], None]
) -> None:
    """Serves ``folder`` until Ctrl-C or SIGTERM. ``port`` 0 takes one that is free.

    ``ready`` is told the address and the runs that there are, once somebody may connect.

    Raises ``InputError`` for a folder that is none, or an address that cannot be taken.
    """
    if host in ("", "*"):
        raise _every(host)
    if not folder.is_dir():
        raise fail(f"{folder} is no folder", hint="give the --out of a run or a study")
    watch = Watch(folder.resolve())
    with _listening(host, port) as listener:
        at = listener.getsockname()[1]
        name = f"[{host}]" if ":" in host else host
        names = LOOPBACK | {name.lower()}
        config = uvicorn.Config(
            make_app(watch, names, maker),
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            # Streams have no end of their own: they are cut when the server ends.
            timeout_graceful_shutdown=1,
            limit_concurrency=256,
        )
        ready(f"http://{name}:{at}/", list(watch.runs()))
        uvicorn.Server(config).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        if ip_address(str(address[0]).partition("%")[0]).is_unspecified:
            raise _every(host)  # in whatever way it is written
        return socket.create_server((host, port), family=family, backlog=64)
    except (OSError, OverflowError, UnicodeError) as error:
        told = getattr(error, "strerror", None) or str(error)
        raise fail(
            f"cannot listen on {host}:{port}: {told}", hint="--port 0 takes one that is free"
        ) from None


def _every(host: str) -> InputError:
    return fail(
        f"--host {host or '(empty)'} stands for every address of this machine",
        hint="name the one under which pages are to be asked for: others are refused",
    )

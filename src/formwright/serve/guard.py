"""Who may ask what: reading alone, from pages of this server, under a name of this machine.

A page of another site that a browser has open must not read a run: neither by a request of its own
(refused by Origin and by what the browser says of where a request comes from) nor by a name of its
own that it lets point here (refused by Host).
"""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK: Final = frozenset(("127.0.0.1", "localhost", "[::1]"))

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Of our own pages: nothing inline, nothing from elsewhere."""

HEADERS: Final = (
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cache-control", "no-store"),
)


class Guard:
    """Refuses before ``app`` sees anything, and puts the headers on every answer."""

    def __init__(self, app: App, names: Iterable[str]) -> None:
        """``names`` are hosts under which the server is known, without a port."""
        self._app = app
        self._names = frozenset(names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            # Web sockets and a life of the app: there is none.
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _with_headers(message.get("headers", ()))
            await send(message)

        refusal = refused(scope["method"], scope["headers"], self._names)
        if refusal is None:
            await self._app(scope, receive, guarded)
            return
        status, told = refusal
        await _answer(guarded, status, told, scope["method"] == "HEAD")


def refused(
    method: str, headers: Iterable[tuple[bytes, bytes]], names: frozenset[str]
) -> tuple[int, str] | None:
    """The status and the words of a refusal, ``None`` for what may be answered."""
    found: dict[str, list[str]] = {}
    for name, value in headers:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    hosts = found.get("host", [])
    if len(hosts) != 1 or host_name(hosts[0]) not in names:
        return 421, "this server is not known under that name; ask by the address that it printed"
    if method not in ("GET", "HEAD"):
        return 405, "this server only shows; it takes GET and HEAD"
    if any(origin != f"http://{hosts[0]}" for origin in found.get("origin", [])):
        return 403, "no page of another origin may read this"
    if any(site not in ("same-origin", "none") for site in found.get("sec-fetch-site", [])):
        return 403, "this was asked for by a page of another site; open the address by itself"
    return None


def host_name(host: str) -> str:
    """The name in a Host header, its port left out: ports differ where one is forwarded."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[: host.find("]") + 1]
    return host.partition(":")[0]


def _with_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    kept = list(headers)
    present = {name.lower() for name, _ in kept}
    own = [*HEADERS, ("content-security-policy", POLICY)]
    kept += [(n.encode(), v.encode()) for n, v in own if n.encode() not in present]
    return kept


async def _answer(send: Send, status: int, told: str, bare: bool) -> None:
    body = f"{told}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    headers.append((b"content-length", str(len(body)).encode()))
    if status == 405:
        headers.append((b"allow", b"GET, HEAD"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if bare else body})

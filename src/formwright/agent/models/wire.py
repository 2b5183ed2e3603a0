"""One JSON request over HTTP with a deadline and a limit on the answer; the key stays in here.

``httpx2`` bounds each read, not the whole; the deadline and the limit on bytes here end an answer
that trickles or never stops. Messages say what a server sent only after the key is struck out.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Thread
from typing import Any, Final

from formwright.base.diagnostics import fail

try:
    import httpx2
except ImportError:
    raise fail(
        "no HTTP client for served models is installed",
        hint="pip install 'formwright[openai]' or 'formwright[anthropic]'",
    ) from None

ANSWER_BYTES: Final = 4 << 20
GRACE: Final = 0.2
"""Seconds past the deadline in which the exchange may say itself what went wrong."""

TOLD: Final = 300
"""Characters of a server's own message that are passed on."""

_AGAIN: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


@dataclass(frozen=True, slots=True, repr=False)
class Key:
    """A secret that no ``repr`` shows."""

    value: str

    def __repr__(self) -> str:
        return "Key(***)"

    def struck(self, text: str) -> str:
        """``text`` without the key."""
        return text.replace(self.value, "***") if self.value else text


@dataclass(frozen=True, slots=True)
class Failure:
    """``again``: whether another try makes sense; ``after``: seconds the server asks for.

    ``reached``: whether the server may have worked on the request, and charge for it.
    """

    message: str
    again: bool
    after: float | None = None
    reached: bool = True


def post(
    url: str, headers: Mapping[str, str], body: Any, key: Key, seconds: float
) -> Any | Failure:
    """The answer's JSON, or what went wrong, in about ``seconds`` at most. Never raises for it.

    Redirects are not followed: a key is for one address.
    """
    found: list[Any] = []

    def exchange() -> None:
        found.append(_exchange(url, headers, body, key, seconds))

    # A server that sends its headers byte by byte is ended by no timeout of a read.
    thread = Thread(target=exchange, daemon=True, name="served model")
    thread.start()
    thread.join(seconds + GRACE)
    return found[0] if found else Failure(f"no whole answer in {seconds:.3g} s", True)


def _exchange(
    url: str, headers: Mapping[str, str], body: Any, key: Key, seconds: float
) -> Any | Failure:
    end = time.monotonic() + seconds
    try:
        with (
            httpx2.Client(timeout=httpx2.Timeout(seconds), follow_redirects=False) as client,
            client.stream("POST", url, headers=dict(headers), json=body) as response,
        ):
            data = bytearray()
            for chunk in response.iter_bytes():
                data += chunk
                if len(data) > ANSWER_BYTES:
                    return Failure(f"the answer is longer than {ANSWER_BYTES} bytes", False)
                if time.monotonic() > end:
                    return Failure(f"no whole answer in {seconds:.3g} s", True)
            return _read(response.status_code, response.headers, bytes(data), key)
    except httpx2.ConnectTimeout:
        return Failure(f"no connection in {seconds:.3g} s", True, reached=False)
    except httpx2.TimeoutException:
        return Failure(f"no whole answer in {seconds:.3g} s", True)
    except httpx2.ConnectError as error:
        return Failure(key.struck(f"cannot connect: {error}"), True, reached=False)
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
        return Failure(key.struck(f"the address is wrong: {error}"), False, reached=False)
    except httpx2.HTTPError as error:
        return Failure(key.struck(f"the connection broke: {error}"), True)
    except (ValueError, RuntimeError) as error:  # a header that cannot be sent, a broken encoding
        return Failure(key.struck(f"the exchange failed: {type(error).__name__}"), False)


def _read(status: int, headers: Mapping[str, str], data: bytes, key: Key) -> Any | Failure:
    if not 200 <= status < 300:
        told = key.struck(_told(data))
        what = f"the server answered {status}" + (f": {told}" if told else "")
        return Failure(what, status in _AGAIN, _after(headers))
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        shown = key.struck(data[:TOLD].decode("utf-8", "replace"))
        return Failure(f"the answer is no JSON: {_printable(shown[:80])}", True)


def _told(data: bytes) -> str:
    """The server's own message out of the body of an error."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    match found:
        case {"error": {"message": str(message)}} | {"error": str(message)}:
            text = message
        case {"message": str(message)} | {"detail": str(message)}:
            text = message
        case _:
            text = data.decode("utf-8", "replace")
    return _printable(text[:TOLD])


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text).strip()


def _after(headers: Mapping[str, str]) -> float | None:
    """``Retry-After`` in seconds: a number or a date."""
    told = headers.get("retry-after", "")
    try:
        found = float(told)
    except ValueError:
        try:
            found = (parsedate_to_datetime(told) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):
            return None
    return found if 0 <= found < 1e6 else None

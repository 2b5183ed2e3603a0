"""A model's server on a real socket of this machine that answers, and misbehaves, by a script."""

import json
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Answer = dict[str, Any] | Callable[[BaseHTTPRequestHandler], None]
"""The JSON of a good answer, or what writes to the connection as it likes."""


def said(dialect: str, text: str, stop: str = "", refusal: str | None = None) -> dict[str, Any]:
    """What a server of ``dialect`` sends for ``text``, or for the words of a refusal."""
    if dialect == "anthropic":
        reason = "refusal" if refusal else stop or "end_turn"
        block = {"type": "text", "text": refusal or text}
        usage = {"input_tokens": 700, "cache_read_input_tokens": 300, "output_tokens": 50}
        return {"type": "message", "content": [block], "stop_reason": reason, "usage": usage}
    message = {"role": "assistant", "content": None if refusal else text, "refusal": refusal}
    choice = {"index": 0, "message": message, "finish_reason": stop or "stop"}
    return {"choices": [choice], "usage": {"prompt_tokens": 1000, "completion_tokens": 50}}


def fails(status: int, message: str, **headers: str) -> Answer:
    """An error of the server in its own words."""

    def answer(to: BaseHTTPRequestHandler) -> None:
        body = json.dumps({"error": {"message": message}}).encode()
        to.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            to.send_header(name.replace("_", "-"), value)
        to.send_header("Content-Length", str(len(body)))
        to.end_headers()
        to.wfile.write(body)

    return answer


def body(data: bytes) -> Answer:
    """A body of status 200 that need not be JSON."""

    def answer(to: BaseHTTPRequestHandler) -> None:
        to.send_response(200)
        to.send_header("Content-Length", str(len(data)))
        to.end_headers()
        to.wfile.write(data)

    return answer


def endless(to: BaseHTTPRequestHandler) -> None:
    """An answer that begins well and does not stop."""
    to.wfile.write(b'HTTP/1.1 200 OK\r\n\r\n{"choices": [{"message": {"content": "')
    while True:
        to.wfile.write(b"a" * 65536)


def cut(to: BaseHTTPRequestHandler) -> None:
    """The connection ends in the middle of the body."""
    to.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n{"choices": [')
    to.connection.shutdown(socket.SHUT_RDWR)


def silent(to: BaseHTTPRequestHandler) -> None:
    """Nothing, for longer than anybody waits in a test."""
    time.sleep(5)


class ModelServer:
    """Answers in turn; the last one again and again. ``asked``: the requests' bodies."""

    def __init__(self, *answers: Answer) -> None:
        self.answers, self.asked = list(answers), []  # type: ignore[var-annotated]
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                owner.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                answer = owner.answers.pop(0) if len(owner.answers) > 1 else owner.answers[0]
                self.close_connection = True
                write = body(json.dumps(answer).encode()) if isinstance(answer, dict) else answer
                try:
                    write(self)
                except OSError:
                    return  # the client left, as it should

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

"""A client or a server that goes away, at once or by a signal, leaves no process behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_clients import RIGHT, Asker, gone, problem_file, stdio

from effort import thinned
from formwright.mcp.processes import descendants, kill_tree


def started(folder: Path) -> subprocess.Popen[bytes]:
    """The server by itself, its streams in our hands."""
    how = stdio(folder, "--problem", str(problem_file(folder)))
    return subprocess.Popen(
        [how.command, *how.args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **(how.env or {})},
        start_new_session=True,
    )


def say(server: subprocess.Popen[bytes], method: str, **more: Any) -> None:
    assert server.stdin is not None
    message = {"jsonrpc": "2.0", "method": method, **more}
    server.stdin.write((json.dumps(message) + "\n").encode())
    server.stdin.flush()


def greet(server: subprocess.Popen[bytes]) -> None:
    client = {"name": "test", "version": "1"}
    parameters = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    say(server, "initialize", id=1, params=parameters)
    assert server.stdout is not None
    assert json.loads(server.stdout.readline())["result"]["serverInfo"]["name"] == "formwright"
    say(server, "notifications/initialized")


def call(server: subprocess.Popen[bytes], number: int, tool: str, **arguments: Any) -> None:
    say(server, "tools/call", id=number, params={"name": f"fw_{tool}", "arguments": arguments})


def answer(server: subprocess.Popen[bytes], number: int) -> dict[str, Any]:
    assert server.stdout is not None
    while True:
        message = json.loads(server.stdout.readline())
        assert message["jsonrpc"] == "2.0"
        if message.get("id") == number:
            return dict(message["result"]["structuredContent"])


def working(server: subprocess.Popen[bytes]) -> list[int]:
    """A measurement under way, with all its processes."""
    greet(server)
    call(server, 2, "measure", template=RIGHT, wait_seconds=0)
    number = answer(server, 2)["job"]["job_id"]
    asked = 3
    while len(list(descendants(server.pid))) < 2:  # the job, and what it started
        call(server, asked, "job_status", job_id=number)
        assert answer(server, asked)["jobs"][0]["state"] in ("waiting", "running")
        asked += 1
        time.sleep(0.1)
    return list(descendants(server.pid))


@pytest.mark.parametrize("end", thinned(["closed", "terminated", "killed"], keep=3))
def test_whoever_goes_the_children_end(tmp_path: Path, end: str) -> None:
    server = started(tmp_path)
    children = working(server)
    assert server.stdin is not None
    server.stdin.write(b"this is no JSON\n{}\n[]\n" + b'{"jsonrpc": "2.0", "id": 9}\n')
    call(server, 90, "job_status")
    assert len(answer(server, 90)["jobs"]) == 1
    begun = time.monotonic()
    match end:
        case "closed":
            server.stdin.close()
        case "terminated":
            server.send_signal(signal.SIGTERM)
        case _:
            server.send_signal(signal.SIGKILL)
    status = server.wait(timeout=20)
    assert status == {"closed": 0, "terminated": 143, "killed": -9}[end]
    assert gone(children)
    assert time.monotonic() - begun < 10
    assert server.stdout is not None
    # Nothing but the protocol was on the stream (answers are read line by line before).
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in server.stdout)
    server.stdout.close()


@pytest.mark.slow
def test_over_http_on_this_machine_alone(tmp_path: Path) -> None:
    how = stdio(tmp_path, "--http", "8765")
    server = subprocess.Popen(
        [how.command, *how.args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **(how.env or {})},
    )

    async def main() -> None:
        for _ in range(200):
            try:
                async with Client("http://127.0.0.1:8765/mcp") as client:
                    read = await Asker(client)("parse", template=RIGHT)
                    assert read["name"] == "mine"
                    return
            except (OSError, ExceptionGroup):
                await anyio.sleep(0.1)
        pytest.fail("no server came up")

    try:
        anyio.run(main)
    finally:
        server.terminate()
        out, _ = server.communicate(timeout=20)
    assert out == b""


def test_a_tree_is_ended_with_sessions_of_its_own() -> None:
    deep = "import subprocess, sys, time; code = sys.argv[1]; d = int(sys.argv[2]); " + (
        "d and subprocess.Popen([sys.executable, '-c', code, code, str(d - 1)], "
        "start_new_session=True); print(d, flush=True); time.sleep(60)"
    )
    root = subprocess.Popen(
        [sys.executable, "-c", deep, deep, "2"], stdout=subprocess.PIPE, start_new_session=True
    )
    assert root.stdout is not None
    assert sorted(root.stdout.readline() for _ in range(3)) == [b"0\n", b"1\n", b"2\n"]
    found = list(descendants(root.pid))
    assert len(found) == 2
    kill_tree(root.pid)
    assert root.wait(timeout=5) == -9
    assert gone(found)
    root.stdout.close()

"""The live page is for this machine's own pages, shows and never writes, and runs no text."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from formwright.cli.main import run
from formwright.flow.journal import Journal
from formwright.serve.guard import host_name
from live_pages import Served, open_for_writing, seen, serving

HOSTILE = ('</script><script>alert(1)</script>"><img src=x onerror=alert(2)>', "'\"><svg/onload=x>")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("outside")
    (top / "secret.json").write_text('"secret"')
    folder = top / "served"
    folder.mkdir()
    (folder / "link.json").symlink_to(top / "secret.json")
    (folder / "linked").symlink_to(top)
    (folder / "kernel.so").write_bytes(b"\x7fELF")
    (folder / ".keys").mkdir()
    (folder / ".keys" / "secret.json").write_text('"secret"')
    (folder / ".secret.json").write_text('"secret"')
    (folder / "shown.json").symlink_to(folder / ".keys" / "secret.json")
    (folder / "inside.json").write_text('"inside"')
    with Journal(folder / "journal.jsonl") as journal:
        journal.step("problem", lambda: {"version": HOSTILE[0]})
        journal.step("about", lambda: {"problem": HOSTILE[0], "workloads": {HOSTILE[1]: {}}})
        journal.step(f"prove/{HOSTILE[0]}", lambda: {"verdict": HOSTILE[1]})
        journal.step("judge/1/0", lambda: {"name": HOSTILE[0], "verdict": "refuted"})
        journal.step(f"validate/{HOSTILE[1]}/k", lambda: {"message": HOSTILE[0], "verdict": "x"})
        journal.step(f"open/{HOSTILE[1]}", lambda: {"objective": "3/2", "area": HOSTILE[0]})
        journal.step(
            f"measure/{HOSTILE[1]}/0",
            lambda: {"programs": {HOSTILE[0]: {"seconds": {"median": 1e-3}}}},
        )
        journal.step(HOSTILE[0], lambda: HOSTILE[1])
    return folder


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[Served]:
    with serving(root) as served:
        yield served


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "X"])
def test_nothing_but_reading(server: Served, method: str) -> None:
    for path in ("/", "/events", "/run?run=", "/nowhere"):
        answer = server.ask(path, method)
        assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
        assert not any(name.startswith("access-control") for name in answer.headers)


def test_head_has_no_body(server: Served) -> None:
    for path in ("/", "/events", "/live.js"):
        answer = server.ask(path, "HEAD")
        assert (answer.status, answer.text) == (200, "")


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.", "", "192.168.1.2", "[::2]:1"]
)
def test_a_name_that_is_not_this_machine_is_refused(server: Served, host: str) -> None:
    """A page may let a name of its own point to 127.0.0.1; the browser then says that name."""
    for path in ("/", "/events", "/entry?run=&number=0", "/live.js"):
        assert server.ask(path, headers={"Host": host}).status == 421


def test_two_hosts_or_none_are_refused(server: Served) -> None:
    for hosts in (b"", b"Host: localhost\r\nHost: evil.example\r\n"):
        with socket.create_connection(("127.0.0.1", server.port), 5) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\n" + hosts + b"Connection: close\r\n\r\n")
            first = connection.makefile("rb").readline()
        assert first.split()[1] in (b"400", b"421")


def test_names_of_this_machine_are_taken_with_any_port(server: Served) -> None:
    """A port that is forwarded is another one."""
    for host in ("127.0.0.1", "localhost:9000", "[::1]:9000", "LOCALHOST"):
        answer = server.ask("/", headers={"Host": host, "Origin": f"http://{host}"})
        assert answer.status == 200
    assert host_name("[::1]:80") == "[::1]"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://localhost"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_origin_is_refused(server: Served, headers: dict[str, str]) -> None:
    for path in ("/", "/events", "/entry?run=&number=0", "/report?run="):
        answer = server.ask(path, headers={"Host": "localhost", **headers})
        assert answer.status == 403
        assert not any(name.startswith("access-control") for name in answer.headers)


def test_every_answer_forbids_all_that_it_does_not_need(server: Served) -> None:
    for path in ("/", "/events", "/live.css", "/entry?run=&number=0", "/nowhere", "/file/x"):
        answer = server.ask(path, "HEAD" if path == "/events" else "GET")
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"


def test_texts_of_a_journal_are_never_markup(server: Served) -> None:
    page = server.ask("/").text
    with server.follow() as events:
        sent = "".join(html for _, html in events.event()[1]["parts"])
    for text in (page, sent):
        assert "alert(1)" in text  # it is shown, as text
        assert "<img" not in text
        assert "<svg" not in text
        assert "onerror=" not in text.replace("onerror=alert(2)&gt;", "")
        assert text.count("<script") == (1 if text is page else 0)


@pytest.mark.parametrize(
    "path",
    [
        "../secret.json",
        "%2e%2e/secret.json",
        "..%2fsecret.json",
        "/etc/hostname",
        "%2fetc%2fpasswd.txt",
        "link.json",
        "linked/secret.json",
        ".secret.json",
        ".keys/secret.json",
        "./.keys/secret.json",
        "shown.json",
        "kernel.so",
        "journal.jsonl%00.txt",
        "",
        ".",
    ],
)
def test_no_file_outside_is_shown_and_no_library(server: Served, path: str) -> None:
    answer = server.ask(f"/file/{path}")
    assert answer.status == 404
    assert "secret" not in answer.text.replace("secret.json", "")
    assert server.ask("/file/inside.json").text == '"inside"'


def test_runs_that_are_not_in_the_folder_are_not_there(server: Served) -> None:
    for name in ("..", "../served", "/etc", "linked", "nowhere", "\x00"):
        asked = quote(name, safe="")
        for path in ("run", "events", "report"):
            assert server.ask(f"/{path}?run={asked}").status == 404


def test_nothing_is_written_and_the_journal_is_not_locked(server: Served, root: Path) -> None:
    before = seen(root)
    with server.follow() as events:
        events.event()
        for path in ("/", "/run?run=", "/entry?run=&number=1", "/report?run=", "/file/inside.json"):
            server.ask(path)
        with Journal(root / "journal.jsonl"):  # a run may begin at any moment
            pass
        if os.path.isdir(f"/proc/{server.process.pid}/fdinfo"):
            assert open_for_writing(server.process.pid, root) == []
    assert seen(root) == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere"], "nowhere is no folder"),
        ([".", "--host", "0.0.0.0"], "stands for every address"),
        ([".", "--host", "0"], "stands for every address"),
        ([".", "--host", "0x0"], "stands for every address"),
        ([".", "--host", "0::0"], "stands for every address"),
        ([".", "--host", "no.such.name.invalid"], "cannot listen on no.such.name.invalid"),
    ],
)
def test_what_cannot_be_served_is_told(
    tmp_path: Path,
    arguments: list[str],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["serve", *arguments]) == 2
    out, err = capsys.readouterr()
    assert told in err
    assert out == ""


def test_a_port_that_is_taken_is_told(
    server: Served, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", str(root), "--port", str(server.port)]) == 2
    assert "--port 0 takes one that is free" in capsys.readouterr().err

"""The live page follows a run: as it grows, over a reload, a torn line, another run."""

import gzip
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from formwright.flow.journal import Journal
from live_pages import Served, serving


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is served: each test has a run of its own in it."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "first").mkdir()
    with Journal(folder / "first" / "journal.jsonl") as journal:
        journal.step("problem", lambda: {"version": "0.1.0"})
    return folder


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[Served]:
    with serving(root) as served:
        yield served


def begun(path: Path, name: str = "gemm") -> Journal:
    journal = Journal(path)
    journal.step("problem", lambda: {"version": "0.1.0", "problem": name})
    journal.step("about", lambda: {"problem": name, "workloads": {"square": {"M": 1}}})
    return journal


def built(journal: Journal, key: str) -> None:
    journal.step(f"build/{key}", lambda: {"seconds": 1.0, "library": "x"})


def parts(data: dict[str, list[list[str]]]) -> dict[str, str]:
    return dict(data["parts"])


def test_what_a_run_writes_is_shown_as_it_is_written(server: Served, root: Path) -> None:
    with begun(root / "grows" / "journal.jsonl") as journal, server.follow("grows") as stream:
        mark, data = stream.event()
        assert "at work" in parts(data)["now"]
        assert "candidates" not in parts(data)
        start = time.monotonic()
        built(journal, "aaaa")
        mark, data = stream.until("build/aaaa")
        assert time.monotonic() - start < 2
        assert "designs built" in parts(data)["candidates"]
        # A reload shows the same, and one that has seen it is told what is new alone.
        assert "build/aaaa" in server.ask("/run?run=grows").text
        with server.follow("grows", last=mark) as again:
            built(journal, "bbbb")
            assert again.event()[1]["parts"] == stream.until("build/bbbb")[1]["parts"]
    with server.follow("grows") as stream:
        assert "at rest" in parts(stream.until("at rest")[1])["now"]


def test_a_torn_line_waits_and_a_restart_goes_on(server: Served, root: Path) -> None:
    path = root / "torn" / "journal.jsonl"
    with begun(path) as journal:
        built(journal, "aaaa")
    with open(path, "a") as stream:
        stream.write('{"schema": 1, "number": 3, "key": "build/lost", "ti')
    with server.follow("torn") as events:
        shown = "".join(parts(events.event()[1]).values())
        assert "build/aaaa" in shown
        assert "build/lost" not in shown
        with Journal(path) as journal:  # the same command again: it cuts the line off
            built(journal, "cccc")
            shown = "".join(parts(events.until("build/cccc")[1]).values())
    assert "unreadable" not in shown
    assert "build/lost" not in shown
    assert '<td class="n">2</td><td class="n">2</td><td>built</td>' in shown


@pytest.mark.parametrize("how", ["removed", "in place"])
def test_another_run_in_the_same_folder_begins_anew(server: Served, root: Path, how: str) -> None:
    path = root / f"again {how}" / "journal.jsonl"
    with begun(path, "old") as journal:
        built(journal, "aaaa")
    with server.follow(path.parent.name) as events:
        assert "build/aaaa" in "".join(parts(events.event()[1]).values())
        if how == "removed":
            shutil.rmtree(path.parent)
        else:
            os.truncate(path, 0)
        with begun(path, "new") as journal:
            for key in ("bbbb", "cccc", "dddd"):
                built(journal, key)
            shown = "".join(parts(events.until("build/dddd")[1]).values())
    assert "build/aaaa" not in shown
    assert '<td class="n">3</td><td class="n">3</td><td>built</td>' in shown


@pytest.mark.slow
def test_runs_of_a_folder_are_listed_and_later_ones_found(server: Served, root: Path) -> None:
    with server.follow() as events:
        assert "several/later" not in "".join(parts(events.event()[1]).values())
        with begun(root / "several" / "later" / "journal.jsonl"):
            events.until("several/later")
        packed = root / "study" / "journal.jsonl.gz"
        packed.parent.mkdir()
        entry = {"schema": 1, "number": 0, "time": "2026-11-30T05:08:07.010+00:00"}
        entry |= {"key": "study", "data": {"study": "white-black", "version": "0.1.0"}}
        packed.write_bytes(gzip.compress(json.dumps(entry).encode() + b"\n"))
        events.until("study")
    page = server.ask("/run?run=study").text
    assert "finished: the journal was kept and packed" in page


def test_a_finished_run_says_so_and_leads_to_its_report(server: Served, root: Path) -> None:
    kept = Path(__file__).parents[2] / "studies" / "transcripts" / "gemm"
    folder = root / "kept"
    shutil.copytree(kept, folder)
    (folder / "artifacts").mkdir(exist_ok=True)
    (folder / "artifacts" / "dispatch.json").write_text("{}")
    page = server.ask("/run?run=kept").text
    assert "finished: artifacts/dispatch.json was written after the last entry" in page
    assert 'href="/report?run=kept"' in page
    report = server.ask("/report?run=kept")
    assert report.status == 200
    assert "<h1" in report.text
    assert "script-src 'sha256-" in report.headers["content-security-policy"]
    assert server.ask("/file/kept/journal.jsonl").text.startswith('{"data"')


def test_an_entry_is_shown_as_it_stands(server: Served, root: Path) -> None:
    path = root / "entries" / "journal.jsonl"
    with begun(path) as journal:
        built(journal, "aaaa")
    for number, line in enumerate(path.read_text().splitlines()):
        answer = server.ask(f"/entry?run=entries&number={number}")
        assert json.loads(answer.text) == json.loads(line)
    for number in ("3", "-1", "x", "9" * 40, ""):
        assert server.ask(f"/entry?run=entries&number={number}").status == 404


def test_a_line_that_is_no_entry_is_told_and_ends_nothing(server: Served, root: Path) -> None:
    path = root / "broken" / "journal.jsonl"
    with begun(path):
        pass
    with open(path, "a") as stream:
        stream.write("[" * 100_000 + "\n")
    page = server.ask("/run?run=broken").text
    assert "unreadable: line 3 is not a journal entry" in page
    assert server.ask("/").status == 200


@pytest.mark.slow
def test_ctrl_c_ends_it_with_pages_open(tmp_path: Path) -> None:
    with begun(tmp_path / "journal.jsonl"), serving(tmp_path) as served, served.follow() as events:
        assert events.event()
        start = time.monotonic()
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(10) == 0
        assert time.monotonic() - start < 4

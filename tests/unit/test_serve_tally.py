"""What a live page makes of journals: real ones counted right, odd ones taken without a fault."""

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from formwright.flow.journal import Journal
from formwright.report.page import Table
from formwright.report.pages.entries import Book, Entry, read_entries
from formwright.report.pages.run_facts import run_facts
from formwright.serve import folder as folders
from formwright.serve.drawing import section_html
from formwright.serve.folder import journals, locked, writer_of
from formwright.serve.follow import Follower
from formwright.serve.sections import sections_of
from formwright.serve.showing import show_all
from formwright.serve.standing import Standing
from formwright.serve.tally import Tally
from formwright.serve.watching import Watch

STUDIES = Path(__file__).parents[2] / "studies"
NOW = Standing("at work", "it is")

KEYS = (
    "problem", "study", "about", "chip", "agent", "prove/x", "template/x", "ask/1", "judge/1/0",
    "solve/w/0", "build/k", "source/1-0", "validate/w/k", "measure/w/0", "final/w", "confirm/w",
    "baselines/w", "kernel/w/c", "time/w/k/0", "refit/w/0/t", "diagnose/w/0", "generation/0",
    "go/0", "qualify/w", "agreement", "run/with/1", "lost/build/k/1", "machine/host",
    "search/t/s/0", "open/m/round0", "chip/x",
    "prove", "build", "judge/1", "measure", "", "/", "a/b/c/d/e", "go/0/1",
)  # fmt: skip

ODD: tuple[Any, ...] = (
    None, 0, -1.5, 10**400, "x" * 10_000, [], {}, [[]], [None, 1, {}], True,
    {"programs": []}, {"programs": {"a": None, "b": {"seconds": {"median": "1/0"}}}},
    {"programs": {"a": {"seconds": {"median": 1e-4}}}, "ratios": {"a": {"median": [1]}}},
    {"verdict": [], "error": {}, "name": 3, "study": 4, "workloads": [1], "problem": None},
    {"objective": "3/0", "area": "1e999"}, {"objective": "7" * 1000, "area": []},
    {"objective": 1, "area": "1/3"}, {"curve": [[1, 2, "x"], 3, [1]], "designs": 5},
    {"findings": 1, "proposals": {}, "gained": {}, "seconds": "soon", "stop": []},
)  # fmt: skip


def tally_of(path: Path) -> Tally:
    follower, tally = Follower(path), Tally()
    for entry in follower.look().entries:
        tally.add(entry)
    assert follower.fault == ""
    return tally


def test_no_form_of_an_entry_is_a_fault() -> None:
    """An agent's text, or a file that somebody changed, may say anything."""
    tally, number = Tally(), 0
    for data in ODD:
        for key in KEYS:
            tally.add(Entry(number, key, "not a time", data))
            number += 1
    for section in sections_of(tally, NOW, "journal.jsonl"):
        assert section_html(section, "run")
    assert tally.entries == number
    assert len(tally.latest) == 40


@pytest.mark.parametrize("name", ["gemm", "decode-attention"])
def test_counts_are_those_of_the_report(name: str) -> None:
    """The page and the report read one journal; they must not differ in what they count."""
    folder = STUDIES / "transcripts" / name
    tally = tally_of(folder / "journal.jsonl")
    facts = run_facts(folder, Book(read_entries(folder / "journal.jsonl")))
    designs = [d for w in facts.workloads for d in w.designs if d.key]
    assert len(tally.built) == len({d.key for d in designs if d.built})
    assert len(tally.held) == len({d.key for d in designs if d.validated == "held"})
    assert len(tally.measured) == len({d.key for d in designs if d.seconds is not None})
    assert sum(tally.verdicts.values()) == len(list(facts.texts))
    for work in facts.workloads:
        ours = tally.works[work.name]
        assert ours.qualified
        assert ours.confirmed == work.confirm["programs"]["kernel"]["seconds"]["median"]


def entered(*entries: tuple[str, Any]) -> Tally:
    tally = Tally()
    for number, (key, data) in enumerate(entries):
        tally.add(Entry(number, key, "2026-11-30T05:08:07+00:00", data))
    return tally


def funnel(tally: Tally) -> dict[str, tuple[str, str]]:
    """Looked at and went on, by step."""
    shown = next(s for s in sections_of(tally, NOW, "journal.jsonl") if s.key == "candidates")
    (table,) = shown.blocks
    assert isinstance(table, Table)
    return {row[0].text: (row[1].text, row[2].text) for row in table.rows}


def test_what_was_decided_against_is_not_counted_as_qualified(tmp_path: Path) -> None:
    """In the table of one run, in that of all runs, and in words."""
    with Journal(tmp_path / "journal.jsonl") as journal:
        journal.step("problem", dict)
        journal.step("about", lambda: {"problem": "p", "workloads": {"a": {}, "b": {}, "c": {}}})
        journal.step("build/k", dict)
        journal.step("qualify/a", lambda: {"artifact": "artifacts/a", "message": ""})
        journal.step("qualify/b", lambda: {"artifact": None, "message": "artifacts/b is wrong"})
    (view,) = (run.look() for run in Watch(tmp_path).runs().values())
    assert funnel(view.tally)["winners of workloads"] == ("2", "1")
    (tmp_path / "other").mkdir()
    assert "1 of 3" in "".join(show_many(tmp_path))
    assert "b: not qualified: artifacts/b is wrong" in show_all(Watch(tmp_path)).news


def show_many(folder: Path) -> list[str]:
    """The list of runs of a folder that has another one beside this."""
    with Journal(folder / "other" / "journal.jsonl") as journal:
        journal.step("problem", dict)
    shown = show_all(Watch(folder)).parts["runs"]
    (folder / "other" / "journal.jsonl").unlink()
    (folder / "other").rmdir()
    return [shown]


def test_designs_that_gave_no_time_are_counted_as_looked_at() -> None:
    timed = {"seconds": {"median": 1e-3}}
    programs = {"a": timed, "b": {"failure": "it hangs"}, "c": timed}
    tally = entered(("build/a", {}), ("measure/w/0", {"programs": programs}))
    assert funnel(tally)["designs measured"] == ("3", "2")


@pytest.mark.parametrize(
    ("ratio", "told"),
    [
        ({"median": 1.3, "low": 1.2, "high": 1.4}, "1.30x [1.20, 1.40]"),
        ({"median": 1.3, "low": 0.9, "high": 1.4}, "1.30x [0.90, 1.40], no difference that counts"),
        ({"median": 1.3}, "1.30x, no difference that counts"),
    ],
)
def test_a_ratio_stands_with_its_interval(ratio: dict[str, float], told: str) -> None:
    timing = {"programs": {}, "ratios": {"numpy": ratio}}
    tally = entered(("about", {"workloads": {"w": {}}}), ("confirm/w", timing))
    html = "".join(section_html(s, "run") for s in sections_of(tally, NOW, "journal.jsonl"))
    assert f">{told}<" in html


def test_a_template_is_called_no_more_than_its_weakest_obligation() -> None:
    def proof(*kinds: str) -> dict[str, Any]:
        return {"obligations": [{"verdict": "proved", "evidence": k} for k in kinds]}

    tally = entered(
        ("prove/a", {"verdict": "proved", "full": proof("proved", "bounded")}),
        ("prove/b", {"verdict": "proved", "full": proof("proved", "proved")}),
        ("judge/1/0", {"name": "c", "verdict": "proved", "proof": {"full": proof("tested")}}),
        ("judge/1/1", {"name": "d", "verdict": "proved"}),
    )
    shown = next(s for s in sections_of(tally, NOW, "journal.jsonl") if s.key == "templates")
    (table,) = shown.blocks
    assert isinstance(table, Table)
    assert [(r[0].text, r[1].evidence) for r in table.rows] == [
        ("d", "proved"),
        ("c", None),
        ("b", "proved"),
        ("a", "bounded"),
    ]


def test_studies_are_told_by_method_and_ceiling() -> None:
    chip = tally_of(STUDIES / "gemmini-bert" / "2026-11-30" / "journal.jsonl.gz")
    joint = chip.searches["open", "joint"]
    assert joint.best == pytest.approx(9196972332951273472 / 6103515625)
    assert joint.area == pytest.approx(1156907 / 125000)
    white = tally_of(STUDIES / "white-black" / "2026-11-30" / "journal.jsonl.gz")
    assert white.name == "white-black"
    assert len(white.built) == 522
    search = white.searches["decode-512", "flow"]
    assert search.runs == 5
    with gzip.open(STUDIES / "white-black" / "2026-11-30" / "journal.jsonl.gz") as stream:
        curves = [
            json.loads(line)["data"]["curve"]
            for line in stream
            if b'"key": "search/decode-512/flow/' in line
        ]
    assert search.best == min(point[2] for curve in curves for point in curve)


def test_who_writes_a_journal_is_seen_and_not_tried(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    assert writer_of(path, locked()) == "unknown"
    with Journal(path):
        assert writer_of(path, locked()) == "somebody"
        assert writer_of(path, locked()) == "somebody"
    assert writer_of(path, locked()) == "nobody"


def test_where_locks_cannot_be_listed_nothing_is_claimed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        journal.step("problem", dict)
        monkeypatch.setattr(folders, "_LOCKS", tmp_path / "none")
        assert writer_of(path, locked()) == "unknown"
        (view,) = (run.look() for run in Watch(tmp_path).runs().values())
        assert view.standing.word == "at rest"
        assert "cannot be seen" in view.standing.says


def test_journals_are_found_below_but_not_through_links(tmp_path: Path) -> None:
    def made(name: str) -> None:
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "journal.jsonl").write_text("")

    for name in ("a", "a/b/c/d", "a/b/c/d/e", "a/build/k", "z"):
        made(name)
    (tmp_path / "link").symlink_to(tmp_path / "z")
    (tmp_path / "y").mkdir()
    (tmp_path / "y" / "journal.jsonl").symlink_to(tmp_path / "z" / "journal.jsonl")
    assert sorted(journals(tmp_path)) == ["a", "a/b/c/d", "z"]


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    return tmp_path / "journal.jsonl"


def line(number: int, key: str) -> bytes:
    entry = {"number": number, "time": "2026-11-30T05:08:07+00:00", "key": key, "data": {}}
    return json.dumps(entry).encode() + b"\n"


def test_any_cut_of_the_file_is_read_in_the_end(file: Path) -> None:
    """Bytes arrive in any pieces: every entry comes once, in order."""
    text = b"".join(line(n, f"step/é{n}") for n in range(7))
    follower, found = Follower(file), []
    for end in range(0, len(text) + 1, 13):
        file.write_bytes(text[:end])
        read = follower.look()
        assert not read.anew
        found += [e.number for e in read.entries]
    file.write_bytes(text)
    found += [e.number for e in follower.look().entries]
    assert found == list(range(7))
    assert follower.look().entries == ()
    assert json.loads(follower.line(5))["key"] == "step/é5"


def test_one_file_in_the_place_of_another_is_seen_by_its_content(file: Path) -> None:
    """A new file often has the number of the one that was removed, and may have its size."""
    follower = Follower(file)
    file.write_bytes(line(0, "aaa") + line(1, "bbb"))
    assert [e.key for e in follower.look().entries] == ["aaa", "bbb"]
    head = follower.head
    file.write_bytes(line(0, "aaa") + line(1, "ccc"))
    os.utime(file, ns=(1, 1))
    read = follower.look()
    assert (read.anew, [e.key for e in read.entries]) == (True, ["aaa", "ccc"])
    assert follower.head == head
    file.write_bytes(line(0, "ddd"))
    assert follower.look().anew
    assert follower.head != head


def test_a_file_that_goes_away_leaves_what_was_seen(file: Path) -> None:
    follower = Follower(file)
    file.write_bytes(line(0, "aaa"))
    follower.look()
    file.unlink()
    assert follower.look().entries == ()
    file.write_bytes(line(0, "aaa") + line(1, "bbb"))
    read = follower.look()
    assert (read.anew, [e.key for e in read.entries]) == (False, ["bbb"])


def test_entries_out_of_order_end_the_reading(file: Path) -> None:
    follower = Follower(file)
    file.write_bytes(line(0, "aaa") + line(2, "ccc"))
    assert [e.key for e in follower.look().entries] == ["aaa"]
    assert follower.fault == "line 2 is not a journal entry"
    file.write_bytes(line(0, "new") + line(1, "bbb"))
    assert [e.key for e in follower.look().entries] == ["new", "bbb"]
    assert follower.fault == ""


def test_a_packed_file_that_is_cut_is_told_and_tried_again(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl.gz"
    packed = gzip.compress(b"".join(line(n, f"{n * 7919:x}") for n in range(400)))
    file.write_bytes(packed[:-400])
    follower = Follower(file)
    before = follower.look().entries
    assert follower.trouble
    assert 0 < len(before) < 400
    file.write_bytes(packed)
    after = follower.look().entries
    assert [e.number for e in (*before, *after)] == list(range(400))
    assert follower.trouble == ""

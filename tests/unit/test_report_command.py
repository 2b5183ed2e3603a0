"""``formwright report``: what it takes, where it writes, what it says."""

import json
import re
import shutil
from pathlib import Path

import pytest

from formwright.base.diagnostics import InputError
from formwright.cli.main import run
from formwright.report.pages.finding import find
from made_artifacts import made_artifact

STUDIES = Path(__file__).parent.parent.parent / "studies"
KEPT = STUDIES / "transcripts" / "gemm" / "journal.jsonl"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    shutil.copy(KEPT, tmp_path / "out")
    return tmp_path / "out"


def test_the_page_of_a_run_is_one_file_beside_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", str(folder)]) == 0
    said = capsys.readouterr().out
    assert f"written: {folder / 'report.html'}" in said
    text = (folder / "report.html").read_text()
    assert text.startswith("<!doctype html>")
    outside = r"""(src|href)=["']?(https?:)?//|@import|<iframe|url\(["']?(https?:)?//"""
    assert re.search(outside, text) is None
    assert sorted(p.name for p in folder.iterdir()) == ["journal.jsonl", "report.html"]


def test_json_says_what_was_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = folder.parent / "pages" / "mine.html"
    assert run(["report", str(folder), "--out", str(place), "--json", "--quiet"]) == 0
    told = capsys.readouterr()
    shown = json.loads(told.out)
    assert told.err == ""
    assert (shown["schema"], shown["kind"], shown["report"]) == (1, "run", str(place))
    assert shown["answer"]
    assert shown["reports"] == [str(place)]
    assert "../out/" in place.read_text(), "figures lead from where the page stands"
    assert not (folder / "report.html").exists()


def test_several_runs_get_a_page_each_and_one_for_all(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = folder.parent / "set"
    for name in ("one", "two"):
        shutil.copytree(folder, whole / name)
    assert run(["report", str(whole), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["kind"] == "runs"
    pages = [whole / "report.html", whole / "one" / "report.html", whole / "two" / "report.html"]
    assert shown["report"] == str(pages[0])
    assert set(shown["reports"]) == {str(p) for p in pages}
    assert all(p.is_file() for p in pages)
    for name in ("one", "two"):
        assert f'href="./{name}/report.html"' in pages[0].read_text()


@pytest.mark.parametrize(
    ("subject", "hint"),
    [("no-such-folder", "no such file"), ("packed_gem", "packed_gemm")],
)
def test_what_is_not_there_is_said(
    subject: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", subject]) == 2
    assert hint in capsys.readouterr().err


def test_each_kind_is_found(folder: Path, tmp_path: Path) -> None:
    artifact = made_artifact(tmp_path / "artifact")
    proof = tmp_path / "proof.json"
    proof.write_text('{"template": "t", "obligations": []}')
    chain = tmp_path / "chain.json"
    chain.write_text('{"chain": "c", "steps": []}')
    kinds = {
        str(folder): "run",
        str(folder / "journal.jsonl"): "run",
        str(folder.parent): "runs",
        str(artifact): "artifact",
        str(artifact / "record.json"): "artifact",
        str(proof): "proof",
        str(chain): "chain proof",
        "packed_gemm": "template",
        "gemm": "chain",
        "chains/gemm.toml": "chain",
        "postgresql://host/name": "population",
        str(STUDIES / "white-black" / "2026-11-30"): "white-black",
        str(STUDIES / "gemmini-bert" / "2026-11-30"): "codesign",
    }
    assert {s: find(s).kind for s in kinds} == kinds


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("empty/x", "", "no journal"),
        ("j/journal.jsonl", "", "no entry yet"),
        ("k/journal.jsonl", '{"key": "other", "number": 0, "data": {}}\n', "begins with 'other'"),
        ("s/journal.jsonl", '{"key": "study", "number": 0, "data": {}}\n', "no study"),
        ("f.json", '{"a": 1}', "no proof"),
        ("g.json", "{", "cannot read"),
        ("h.txt", "words", "nothing that a report"),
    ],
)
def test_what_is_none_of_them_is_refused(tmp_path: Path, name: str, text: str, says: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    subject = path.parent if path.parent != tmp_path else path
    with pytest.raises(InputError, match=says):
        find(str(subject))


def test_a_page_of_what_cannot_be_read_is_not_left_behind(folder: Path) -> None:
    with (folder / "journal.jsonl").open("a") as stream:
        stream.write("broken\n")
    assert run(["report", str(folder)]) == 2
    assert not (folder / "report.html").exists()


def test_a_template_has_a_page_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["report", "shared_memory_tiling"]) == 0
    assert "shared_memory_tiling is proved" in capsys.readouterr().out
    assert (tmp_path / "shared_memory_tiling-report.html").is_file()

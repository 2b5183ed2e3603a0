"""``formwright population``: with the verifier itself, as a user meets it."""

import json
from pathlib import Path
from typing import Any

import pytest
from population_samples import rows_text, split_text
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable

from formwright.cli.main import run
from formwright.population.tables import metadata


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("FORMWRIGHT_POPULATION", raising=False)
    monkeypatch.chdir(tmp_path)
    Path("good.fw").write_text(rows_text("good"))
    Path("split.fw").write_text(split_text())
    unguarded = rows_text("bad").replace("over (r < min(T, N - i*T))", "over (r < T)")
    Path("bad.fw").write_text(unguarded)


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    status = run(["population", *arguments, "--json"])
    return status, json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_from_texts_to_another_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    status, added = call(capsys, "add", "good.fw", "bad.fw")
    good, bad = added["templates"]
    assert status == 1
    assert (good["place"], good["evidence"], good["reasons"]) == ("admitted", "proved", [])
    assert (bad["place"], bad["evidence"], bad["verdict"]) == ("shelf", "none", "refuted")
    assert (tmp_path / "data/formwright/population.sqlite").is_file()
    status, listed = call(capsys, "list")
    assert [t["name"] for t in listed["templates"]] == ["good"]
    assert listed["rows"]["met"] >= 1
    status, listed = call(capsys, "list", "--shelf")
    assert {t["name"] for t in listed["templates"]} == {"good", "bad"}
    status, shown = call(capsys, "show", bad["digest"][:10])
    assert shown["text"] == Path("bad.fw").read_text()
    assert any("outside" in m["text"] and m["replayed"] for m in shown["counterexamples"])
    assert [s["rule"] for s in shown["lineage"]] == ["added"]
    assert run(["population", "show", "good"]) == 0
    assert "placement: register[tile] of agent" in capsys.readouterr().out
    assert run(["population", "list", "--shelf"]) == 0
    assert "shelf: refuted" in capsys.readouterr().out
    status, exported = call(capsys, "export", "shared")
    assert (status, exported["templates"]) == (0, 2)
    monkeypatch.setenv("FORMWRIGHT_POPULATION", "other.sqlite")
    status, imported = call(capsys, "import", "shared")
    assert status == 0
    assert [e["name"] for e in imported["admitted"]] == ["good"]
    assert [e["name"] for e in imported["shelved"]] == ["bad"]
    assert call(capsys, "add", "good.fw")[0] == 0
    assert Path("other.sqlite").is_file()


def test_one_setting_leads_to_a_server(
    postgresql: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgresql.new_url()
    monkeypatch.setenv("FORMWRIGHT_POPULATION", url)
    assert call(capsys, "add", "good.fw")[0] == 0
    status, listed = call(capsys, "list")
    assert [(t["name"], t["evidence"]) for t in listed["templates"]] == [("good", "proved")]
    assert not Path("data").exists()
    status, moved = call(capsys, "copy", url, "back.sqlite")
    assert (status, moved["rows"]["entries"]) == (0, {"new": 1, "known": 0})
    assert moved["from"].startswith("postgresql://formwright@/")
    assert "s3cret" not in json.dumps(moved)
    assert call(capsys, "list", "--population", "back.sqlite")[1] == listed
    assert run(["population", "copy", "back.sqlite", url]) == 0
    assert "entries: 0 new, 1 known before" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["add", "nowhere.fw"], "cannot read nowhere.fw"),
        (["add", "good.fw", "broken.fw"], "broken.fw:1:"),
        (["show", "goood"], "no goood"),
        (["import", "cache"], "no export"),
        (["copy", "none.sqlite", "b.sqlite"], "there is no population none.sqlite"),
        (["migrate", "--population", "none.sqlite"], "there is no population none.sqlite"),
        (["list", "--population", "good.fw"], "cannot open the population good.fw"),
    ],
)
def test_bad_input_is_said_with_its_place(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("broken.fw").write_text("tempate x\n")
    assert run(["population", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", ["list", "show", "add", "export", "import", "copy", "migrate"])
def test_help_shows_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["population", command, "--help"]) == 0
    assert f"Example: formwright population {command}" in capsys.readouterr().out


def test_the_tables_are_those_of_no_one_database() -> None:
    """PostgreSQL makes the same columns; no type of ours is SQLite's alone."""
    for table in metadata.sorted_tables:
        made = str(CreateTable(table).compile(dialect=postgresql.dialect()))
        types = {line.split()[1] for line in made.splitlines()[2:-2] if line.startswith("\t")}
        known = {"TEXT", "INTEGER", "BOOLEAN", "FLOAT(53)"}
        assert {t.rstrip(",") for t in types if not t.startswith("VARCHAR(")} - {"KEY"} <= known
        assert len(made.splitlines()) >= len(table.columns)

"""A population on a server has a password, and no file, message or answer of ours has it."""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "unit"))

import mcp_clients as clients
import pytest
from population_samples import rows_text

import postgres
from formwright.cli.main import run
from formwright.population import open_population

SECRET = postgres.PASSWORD
"""Its plain form; in a URL it stands quoted."""


def told(text: str) -> bool:
    return SECRET in text or "s3cret" in text


def holding(folder: Path) -> list[str]:
    """Files that have the password in them."""
    files = [p for p in folder.rglob("*") if p.is_file()]
    assert files
    return [str(p) for p in files if b"s3cret" in p.read_bytes()]


@pytest.mark.slow
def test_agents_are_told_where_the_population_is_without_it(
    postgresql: postgres.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(clients.cache(tmp_path)))
    url = postgresql.new_url()

    async def talk(ask: clients.Asker, _: object) -> None:
        shown = await ask("problem_show")
        assert shown["population"].startswith("postgresql://formwright@/")
        assert not told(str(shown))
        assert (await ask("population_search", words="gemv"))["hits"] == []
        broken = await ask("population_show", template="00000000")
        assert broken["faults"]
        assert not told(str(broken))

    clients.in_process(tmp_path, talk, clients.problem_file(tmp_path), population=url)


def test_a_report_of_it_has_it_neither_inside_nor_in_its_name(
    postgresql: postgres.Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    # A host that nobody knows is asked for that long: it may be one that is just starting.
    monkeypatch.setattr("formwright.population.opening.OPENING", 0.1)
    url = postgresql.new_url()
    open_population(url).add_template(rows_text())
    assert run(["report", url]) == 0
    assert run(["report", url, "--json"]) == 0
    assert run(["report", f"postgresql://formwright:{SECRET}"]) == 2
    said = capsys.readouterr()
    assert "postgres-report.html" in said.out
    assert not told(said.out + said.err)
    assert holding(tmp_path) == []


@pytest.mark.slow
def test_a_run_keeps_it_out_of_all_that_it_writes(
    postgresql: postgres.Server, tmp_path: Path
) -> None:
    url = postgresql.new_url()
    asked = [str(clients.problem_file(tmp_path)), "--agent", "library", "--generations", "1"]
    places = ["--out", str(tmp_path / "out"), "--population", url]
    code = "from formwright.cli.start import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", code, "run", *asked, *places],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode in (0, 1), ran.stderr
    assert not told(ran.stdout + ran.stderr)
    assert holding(tmp_path / "out") == []

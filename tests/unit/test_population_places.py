"""What names a population is read, and shown without its secrets."""

import traceback
from pathlib import Path

import pytest

from formwright.base.diagnostics import InputError
from formwright.cli.main import run
from formwright.population import open_population
from formwright.population.places import place_of

SECRET = "s3cret-w0rd"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (f"postgresql://me:{SECRET}@host:5433/db", "postgresql://me@host:5433/db"),
        (f"postgres://me:{SECRET}@host/db", "postgresql://me@host/db"),
        (f"postgresql+psycopg://me:{SECRET}@[::1]/db", "postgresql://me@[::1]/db"),
        (f"postgresql://host/db?user=me&password={SECRET}", "postgresql://host/db"),
        (f"postgresql://me@h/d?sslpassword={SECRET}&host=/run", "postgresql://me@h/d?host=%2Frun"),
        ("postgresql:///?service=ours", "postgresql:///?service=ours"),
        ("mine.sqlite", "mine.sqlite"),
        (":memory:", ":memory:"),
    ],
)
def test_a_place_is_shown_without_its_password(given: str, shown: str) -> None:
    place = place_of(given)
    assert place.shown == shown
    assert SECRET not in repr(place)
    assert place.is_server == ("://" in given)


def test_what_a_driver_says_is_passed_on_without_any_password() -> None:
    for url in (f"postgresql://me:{SECRET}@host/db", f"postgresql://host/db?password={SECRET}"):
        assert place_of(url).told(f"no such {SECRET}!") == "no such ***!"
    assert place_of("postgresql://me@host/db").told("no such db") == "no such db"


def test_a_url_of_sqlite_is_a_file() -> None:
    assert place_of("sqlite:////tmp/a.sqlite").file == Path("/tmp/a.sqlite")
    assert place_of("sqlite:///a.sqlite").file == Path.cwd() / "a.sqlite"
    assert place_of("sqlite://").file is None


@pytest.mark.parametrize(
    "given",
    [
        f"postgresql://me:{SECRET}@x@host/db",
        f"postgresql://me:x@{SECRET}@host/db",
        f"postgresql://me:{SECRET}@host:port/db",
        f"postgresql://me:@host:{SECRET}/db",
        f"mysql://me:{SECRET}@host/db",
        f"postgresql://me:{SECRET}@nowhere.invalid/db",
        f"postgresql://me:{SECRET}@host/db?sslmode={SECRET}",
        f"postgresql://me@host/db?nothing={SECRET}",
        f"postgresql:/me:{SECRET}@host/db",
        f"postgres:me:{SECRET}@host/db",
        f"postgresql+psycopg:/me:{SECRET}@host/db",
    ],
)
def test_no_part_of_a_url_that_may_be_its_password_is_ever_said(
    given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match="cannot open the population") as caught:
        open_population(given)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert run(["population", "list", "--json", "--population", given]) == 2
    said = capsys.readouterr()
    assert SECRET not in said.out + said.err
    assert "hint" in said.out


def test_one_that_must_be_there_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "mistyped.sqlite"
    with pytest.raises(InputError, match="there is no population"):
        open_population(path, make=False)
    assert not path.exists()


def test_without_its_driver_a_server_is_not_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(InputError, match="psycopg is missing") as caught:
        open_population("postgresql://host/db")
    assert "formwright[postgresql]" in str(caught.value)

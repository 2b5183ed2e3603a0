"""Stores of earlier versions are taken up, those of later ones refused."""

import multiprocessing
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from population_samples import admitted, rows_text
from sqlalchemy import inspect

from formwright.base.diagnostics import InputError
from formwright.cli.main import run
from formwright.population import open_population, opening, tables
from formwright.population.engine import Database, engine_of, read, write
from formwright.population.migrating import VERSIONS, migrate
from formwright.population.places import place_of

OLD = Path(__file__).parent / "population_schema_1.sql"
"""A population of version 0.1.0, as it was: every kind of row."""


def empty(place: str) -> Database:
    found = place_of(place)
    return Database(engine_of(found), found)


def old(place: str) -> None:
    """Schema 1, without Alembic's table."""

    def work(connection: Any) -> None:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql(f"pragma application_id={opening.APPLICATION}")
        migrate(connection, 0, 1)
        connection.exec_driver_sql(f"drop table {VERSIONS}")

    write(empty(place), work)


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    path = tmp_path / "old.sqlite"
    with sqlite3.connect(path) as raw:
        raw.executescript(OLD.read_text())
        raw.execute(f"pragma application_id={opening.APPLICATION}")
    return path


def test_a_file_of_the_first_version_is_taken_up_when_it_is_opened(old_file: Path) -> None:
    before = _rows(old_file)
    population = open_population(old_file)
    counts = {"designs": 1, "entries": 3, "facts": 2, "held": 1, "met": 1, "steps": 3}
    assert population.counts() == counts
    assert _rows(old_file) == before
    assert {e.name: e.verdict for e in population.entries()} == {
        "rows": "proved",
        "split": "refuted",
        "f": "tested",
    }
    assert sorted(f.fact.value for f in population.facts("rows")) == [0.1, 1.25]
    assert population.lineage("split")[0].rule == "split"
    assert "entries_by_name" in _indices(old_file)
    open_population(old_file)


def _rows(path: Path) -> dict[str, list[Any]]:
    with sqlite3.connect(path) as raw:
        names = [t.name for t in tables.metadata.sorted_tables if t is not tables.about]
        return {n: raw.execute(f"select * from {n} order by 1").fetchall() for n in names}


def _indices(path: Path) -> set[str]:
    with sqlite3.connect(path) as raw:
        return {n for (n,) in raw.execute("select name from sqlite_master where type = 'index'")}


def test_all_steps_together_make_the_tables_of_now(new_place: Callable[[], str]) -> None:
    database = empty(new_place())
    write(database, lambda c: migrate(c, 0))
    options = {"version_table": VERSIONS, "compare_type": True}
    context = lambda c: MigrationContext.configure(c, opts=options)  # noqa: E731
    assert read(database, lambda c: compare_metadata(context(c), tables.metadata)) == []
    made = empty(new_place())
    write(made, tables.metadata.create_all)
    assert read(made, lambda c: compare_metadata(context(c), tables.metadata)) == []
    assert read(database, _shape) == read(made, _shape)


def _shape(connection: Any) -> dict[str, Any]:
    """Columns and indices of every table, as the database tells them."""
    told = inspect(connection)
    return {
        name: (
            [(c["name"], str(c["type"]), c["nullable"]) for c in told.get_columns(name)],
            sorted((i["name"], tuple(i["column_names"])) for i in told.get_indexes(name)),
            told.get_pk_constraint(name)["constrained_columns"],
        )
        for name in told.get_table_names()
        if name != VERSIONS
    }


def test_on_a_server_an_older_store_waits_for_the_command(
    postgresql: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    url = postgresql.new_url()
    old(url)
    with pytest.raises(InputError, match="schema 1; this version has schema 2") as caught:
        open_population(url)
    assert "formwright population migrate" in str(caught.value)
    assert run(["population", "migrate", "--population", url]) == 0
    said = capsys.readouterr()
    assert "schema 1 to 2" in said.out
    assert "s3cret" not in said.out + said.err
    digest = admitted(open_population(url), rows_text())
    assert run(["population", "migrate", "--population", url]) == 0
    assert "schema 2 already" in capsys.readouterr().out
    assert open_population(url).entry(digest).evidence == "proved"


def test_a_store_of_a_later_version_is_refused_and_left_as_it_is(
    new_place: Callable[[], str],
) -> None:
    place = new_place()
    database = open_population(place)._database
    later = "update about set value = '3' where name = 'schema'"
    write(database, lambda c: c.exec_driver_sql(later))
    for act in (open_population, opening.migrate_database):
        with pytest.raises(InputError, match="schema 3, which a later version of Formwright"):
            act(place)
    assert read(database, lambda c: c.exec_driver_sql("select value from about").scalar()) == "3"


def _open(place: str, old: bool, told: Any) -> None:
    try:
        if old:
            opening.migrate_database(place)
        open_population(place).counts()
        told.put("")
    except Exception as error:
        told.put(f"{type(error).__name__}: {error}")


@pytest.mark.parametrize("state", ["nothing", "old"])
def test_four_processes_open_one_at_once(state: str, new_place: Callable[[], str]) -> None:
    place = new_place()
    if state == "old":
        old(place)
    context = multiprocessing.get_context("fork")
    told = context.Queue()
    workers = [context.Process(target=_open, args=(place, state == "old", told)) for _ in range(4)]
    for worker in workers:
        worker.start()
    assert [told.get(timeout=30) for _ in workers] == ["", "", "", ""]
    for worker in workers:
        worker.join()
    assert read(open_population(place)._database, opening.found_schema) == tables.SCHEMA


def test_a_step_that_fails_leaves_the_old_store(
    old_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sqlite3.connect(old_file) as raw:
        raw.execute("create index entries_by_name on entries (sha256)")  # in the way
    with pytest.raises(InputError, match="entries_by_name"):
        open_population(old_file)
    with sqlite3.connect(old_file) as raw:
        assert raw.execute("select value from about").fetchall() == [("1",)]
        names = {n for (n,) in raw.execute("select name from sqlite_master")}
        assert VERSIONS not in names
        raw.execute("drop index entries_by_name")
    assert open_population(old_file).counts()["entries"] == 3


@pytest.mark.slow
def test_who_opens_a_store_of_now_does_not_load_the_library_of_steps(tmp_path: Path) -> None:
    code = (
        "import sys; from formwright.population import open_population;"
        f"open_population({str(tmp_path / 'p.sqlite')!r}); sys.exit('alembic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

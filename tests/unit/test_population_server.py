"""What only a server has: passwords, rights, other programs' databases, restarts, forks."""

import os
import time

import pytest
from population_samples import BY, admitted, fact, rows_text, split_text

import postgres
from formwright.base.diagnostics import InputError
from formwright.population import Population, open_population
from formwright.population import engine as engine_module
from formwright.population.opening import open_database

SECRET = "not-the-w0rd"


@pytest.fixture
def url(postgresql: postgres.Server) -> str:
    return postgresql.new_url()


def test_a_wrong_password_is_said_at_once_and_without_it(postgresql: postgres.Server) -> None:
    began = time.monotonic()
    with pytest.raises(InputError, match="password authentication failed") as caught:
        open_population(postgresql.url(password=SECRET))
    assert time.monotonic() - began < 5
    assert SECRET not in str(caught.value)
    with pytest.raises(InputError, match='"none" does not exist') as caught:
        open_population(postgresql.url("none"))
    assert postgres.PASSWORD not in str(caught.value)


def test_a_server_that_does_not_answer_is_waited_for_and_then_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("formwright.population.opening.OPENING", 0.2)
    began = time.monotonic()
    with pytest.raises(InputError, match=r"postgresql://me@127.0.0.1:1/d gave no answer") as caught:
        open_population(f"postgresql://me:{SECRET}@127.0.0.1:1/d")
    assert 0.2 < time.monotonic() - began < 5
    assert SECRET not in str(caught.value)


def test_another_programs_tables_are_left_alone(postgresql: postgres.Server, url: str) -> None:
    schema = url.rpartition("%3D")[2]
    with postgresql.connect() as theirs:
        theirs.execute(f"create table {schema}.entries (x int)")
    with pytest.raises(InputError, match="another program"):
        open_population(url)
    with postgresql.connect() as theirs:
        query = "select count(*) from information_schema.tables where table_schema = %s"
        assert theirs.execute(query, (schema,)).fetchone() == (1,)


def test_who_may_only_read_reads(postgresql: postgres.Server, url: str) -> None:
    digest = admitted(open_population(url), rows_text())
    schema = url.rpartition("%3D")[2]
    with postgresql.connect() as owner:
        owner.execute("create role reader login password 'reads-only'")
        owner.execute(f"grant usage on schema {schema} to reader")
        owner.execute(f"grant select on all tables in schema {schema} to reader")
    reader = open_population(
        url.replace("//formwright:", "//reader:").replace(
            url.partition("formwright:")[2].partition("@")[0], "reads-only"
        )
    )
    assert reader.entry(digest).evidence == "proved"
    with pytest.raises(OSError, match="took nothing: permission denied"):
        reader.add_template(split_text())


def test_a_run_goes_on_where_its_server_restarts(
    postgresql: postgres.Server, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    population = open_population(url)
    digest = admitted(population, rows_text())
    postgresql.stop()
    monkeypatch.setattr(engine_module, "PAUSE", 0.05)
    waiting = population._database
    short = Population(type(waiting)(waiting.engine, waiting.place, wait=0.3), population._clock)
    with pytest.raises(OSError, match="gave no answer") as caught:
        short.entry("no such name")  # a lost store is no unknown name
    assert postgres.PASSWORD not in str(caught.value)
    postgresql.start()
    population.record(fact(digest, 1.0))
    assert [f.fact.value for f in population.facts(digest)] == [1.0]


def test_a_commit_that_was_cut_and_is_done_again_is_one(
    postgresql: postgres.Server, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server keeps what was committed, and its word does not arrive: nobody knows."""
    population = open_population(url)
    digest = admitted(population, rows_text())
    dialect = population._database.engine.dialect
    whole, cut = dialect.do_commit, list[int]()

    def do_commit(connection: object) -> None:
        whole(connection)
        if not cut:
            cut.append(1)
            with postgresql.connect() as other:
                other.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity "
                    "where application_name = 'formwright'"
                )
            connection.execute("select 1")  # type: ignore[attr-defined]

    monkeypatch.setattr(dialect, "do_commit", do_commit)
    population.record(fact(digest, 1.0))
    assert cut
    assert len(population.facts(digest)) == 1


def test_a_forked_child_leaves_the_connections_of_its_parent(url: str) -> None:
    population = open_population(url)
    digest = admitted(population, rows_text())
    child = os.fork()
    if child == 0:
        held = population.entry(digest).digest == digest
        population.add_template(split_text(), origin=BY)
        os._exit(0 if held else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert {e.name for e in population.entries()} == {"rows", "split"}


def test_a_writer_that_stands_still_holds_nobody_up_for_ever(
    postgresql: postgres.Server, url: str
) -> None:
    """Its transaction is ended by the server; the others wait no longer than that."""
    database = open_database(url)
    with database.engine.connect() as still:
        shown = still.exec_driver_sql("show idle_in_transaction_session_timeout").scalar_one()
    assert shown == "1min"

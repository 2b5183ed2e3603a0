"""The database of facts: never believed when altered, whole after kill -9, shared by processes."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from formwright.flow.proving import prove
from formwright.lang import load
from formwright.proof.database import Database
from formwright.proof.kept import context, database_path
from formwright.proof.verdict import Limits
from formwright.smt.atoms import Atoms
from formwright.smt.clock import Clock
from formwright.smt.goals import Query
from formwright.smt.ledger import Ledger
from formwright.smt.premises import Premises
from formwright.smt.solve import Solver
from formwright.smt.terms import Formula, lt, symbol

X, Y, Z = (symbol(n) for n in "xyz")
FREE = Premises((), (), {}, frozenset())
QUERY = Query((lt(X, Y), lt(Y, Z)), lt(Z, X))


def asked(database: Database, goal: Formula) -> tuple[str, int]:
    """The status of a query that reads like ``QUERY``, and how often the solver was asked."""
    ledger, clock = Ledger(database, Atoms()), Clock(3000)
    found = Solver(ledger.atoms, FREE, clock, None, ledger).answer(Query(QUERY.facts, goal))
    return found.status, clock.asked


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "facts.sqlite"
    database = Database(path, "c")
    assert asked(database, QUERY.goal) == ("unsat", 1)
    database.close()
    return path


def test_what_is_kept_answers_in_another_process(path: Path) -> None:
    assert asked(Database(path, "c"), QUERY.goal) == ("unsat", 0)


def test_another_context_sees_nothing(path: Path) -> None:
    assert asked(Database(path, "another solver"), QUERY.goal) == ("unsat", 1)


@pytest.mark.parametrize("column", ["kind", "context", "key", "anchor", "body", "seal"])
def test_each_byte_of_a_row_is_under_its_seal(path: Path, column: str) -> None:
    """No row with one byte changed is read, whichever column it is in."""
    connection = sqlite3.connect(path)
    sql = "select kind, context, key, anchor, body, seal from entries"
    names = ("kind", "context", "key", "anchor", "body", "seal")
    (whole,) = connection.execute(sql).fetchall()
    text = whole[names.index(column)]
    for place in range(len(text)):
        flipped = text[:place] + chr(ord(text[place]) ^ 1) + text[place + 1 :]
        row = [flipped if n == column else v for n, v in zip(names, whole, strict=True)]
        with connection:
            connection.execute("delete from entries")
            connection.execute("insert into entries values (?,?,?,?,?,?)", row)
        database = Database(path, row[1])
        read = [*database.every("core"), *database.every("node")]
        assert read == [], (place, text[place])
        database.close()


def test_a_core_that_is_not_what_its_name_says_is_not_read(path: Path) -> None:
    """Even with a seal that fits: the name is the digest of the content."""
    database = Database(path, "c")
    ((key, body),) = database.every("core")
    body["query"]["assertions"][0][1][2] += 1
    anchor = sqlite3.connect(path).execute("select anchor from entries").fetchone()[0]
    database.put("core", key, body, anchor)
    assert asked(database, QUERY.goal) == ("unsat", 1)


def test_flipped_bytes_of_the_file_prove_nothing(path: Path) -> None:
    """A satisfiable query is never answered, whatever became of the file."""
    content = path.read_bytes()
    for place in range(0, len(content), 131):
        changed = bytearray(content)
        changed[place] ^= 0x20
        path.write_bytes(changed)
        for beside in path.parent.glob("facts.sqlite-*"):
            beside.unlink()
        database = Database(path, "c")
        assert asked(database, lt(X, Z))[0] == "sat"
        assert asked(database, QUERY.goal)[0] == "unsat"
        database.close()


def test_a_file_that_is_no_database_is_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "facts.sqlite"
    path.write_bytes(b"not a database at all" * 100)
    assert asked(Database(path, "c"), QUERY.goal) == ("unsat", 1)
    assert path.with_name("facts.sqlite.damaged").exists()
    assert asked(Database(path, "c"), QUERY.goal) == ("unsat", 0)


WRITER = """
import sys
from pathlib import Path
from formwright.proof.database import Database
database = Database(Path(sys.argv[1]), "c")
for n in range(int(sys.argv[3])):
    with database.together():
        database.put("node", f"{sys.argv[2]}-{n}-a", {"n": n})
        database.put("node", f"{sys.argv[2]}-{n}-b", {"n": n})
    print(n, flush=True)
"""


def writer(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_kill_9_loses_no_row_that_was_written(tmp_path: Path) -> None:
    path = tmp_path / "facts.sqlite"
    process = writer(path, "w", 100_000)
    assert process.stdout is not None
    for _ in range(20):
        last = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.wait()
    database = Database(path, "c")
    keys = {key for key, _ in database.every("node")}
    assert {f"w-{n}-{side}" for n in range(last + 1) for side in "ab"} <= keys
    assert {k[:-1] + "a" for k in keys} == {k[:-1] + "a" for k in keys if k.endswith("b")}
    assert database.damaged == 0


def test_processes_write_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "facts.sqlite"
    processes = [writer(path, name, 40) for name in ("v", "w")]
    assert [p.wait(timeout=60) for p in processes] == [0, 0]
    assert len(list(Database(path, "c").every("node"))) == 160
    for process in processes:
        assert process.stdout is not None
        process.stdout.close()


def test_only_what_is_proved_is_kept(tmp_path: Path) -> None:
    database = Database(tmp_path / "facts.sqlite", "c")
    assert asked(database, lt(X, Z))[0] == "sat"
    assert not list(database.every("core"))


def test_an_open_obligation_waits_for_a_larger_limit(tmp_path: Path) -> None:
    template = load("direct_gemm")[1]
    tight = Limits(seconds=0.002)
    first = prove(template, store=tmp_path, limits=tight)
    assert first.verdict == "unresolved"
    open_ = [o for o in first.obligations if o.verdict == "unresolved"]
    assert any(o.detail.startswith("time") for o in open_)
    again = prove(template, store=tmp_path, limits=tight)
    assert [(o.name, o.verdict) for o in again.obligations] == [
        (o.name, o.verdict) for o in first.obligations
    ]
    kept = [o for o in again.obligations if o.verdict == "unresolved" and o.reused]
    assert kept
    assert all(o.detail for o in kept)
    rested = [o for o in first.obligations if o.verdict == "proved"]
    whole = prove(template, store=tmp_path)
    assert whole.verdict == "proved"
    assert sum(o.reused for o in whole.obligations) >= len(rested) - 2


@pytest.mark.slow
def test_memory_is_a_limit_with_its_reason(tmp_path: Path) -> None:
    code = (
        "from formwright.flow.proving import prove; from formwright.lang import load\n"
        "from formwright.proof.verdict import Limits; from pathlib import Path; import sys\n"
        "p = prove(load('direct_gemm')[1], store=Path(sys.argv[1]), limits=Limits(memory=1))\n"
        "print(p.verdict, {o.detail for o in p.obligations if o.verdict != 'proved'})"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown.startswith("unresolved")
    assert "memory: more than 1 MiB" in shown


def test_without_a_solver_nothing_is_proved(tmp_path: Path) -> None:
    (tmp_path / "z3.py").write_text("raise ModuleNotFoundError('no z3', name='z3')\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    code = "import sys; from formwright.cli.start import main; main()"
    command = [sys.executable, "-c", code, "prove", "direct_gemm", "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    shown = json.loads(done.stdout)
    assert shown["verdict"] == "unresolved"
    assert "no solver" in shown["obligations"][0]["detail"]


def test_facts_are_kept_under_rules_and_solver(tmp_path: Path) -> None:
    prove(load("direct_gemm")[1], store=tmp_path)
    rows = sqlite3.connect(database_path(tmp_path)).execute("select distinct context from entries")
    assert rows.fetchall() == [(context(),)]


@pytest.mark.slow
def test_a_locked_database_does_not_stop_a_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("formwright.proof.database.WAIT", 0.05)
    path = database_path(tmp_path)
    Database(path, "c").close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin exclusive")
    started = time.perf_counter()
    assert prove(load("direct_gemm")[1], store=tmp_path).verdict == "proved"
    assert time.perf_counter() - started < 60
    other.execute("rollback")

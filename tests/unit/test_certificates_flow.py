"""certify and audit: kept at once, gone on with, damage noticed entry by entry, z3 not asked."""

import json
import random
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from formwright.base.digest import digest
from formwright.cli.main import run
from formwright.flow.auditing import Audited, audit
from formwright.flow.certifying import certify, ground, judged
from formwright.flow.kept_faults import kept_faults, text_faults
from formwright.flow.proving import prove_template
from formwright.proof import assertions as data
from formwright.proof.certificate import Contradiction, read_certificate
from formwright.proof.grounds import (
    Agreement,
    Alone,
    Grounds,
    Resting,
    grounds_text,
    read_grounds,
    write_grounds,
)
from formwright.proof.kept import kept_text, proof_path
from formwright.smt.certify.collect import Asked
from formwright.smt.certify.second import Opinion, Second, asked, opinion, second_solvers
from formwright.smt.certify.tree import Limits
from formwright.smt.clock import Clock

COPY = "tests/language/ok_smallest.fw"


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file of grounds of the smallest template."""
    folder = tmp_path_factory.mktemp("grounds")
    found = certify([COPY], folder=folder)
    assert found.held, found
    return Path(found.parts[0].path).read_text()


@pytest.fixture
def kept(text: str, tmp_path: Path) -> Path:
    """A folder of its own with that file."""
    digest = json.loads(text)["subject"]["digest"]
    path = tmp_path / f"{digest}.json"
    path.write_text(text)
    return path


def look(path: Path, **more: Any) -> Audited:
    store = path.parent / "proofs"
    return audit([COPY], folders=[path.parent], store=store, seed=7, **more)


def test_everything_has_a_certificate(kept: Path) -> None:
    result = look(kept)
    assert result.held
    assert [r.rests for r in result.rows] == ["certificate"] * 9
    assert sum(r.reproved for r in result.rows) == 1
    assert all(r.bytes < 400 for r in result.rows)
    assert sum(r.reproved for r in look(kept, everything_again=True).rows) == 9


def test_certificates_are_checked_without_z3(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the sample left out z3 is not asked once."""

    def asked_(*_: Any) -> None:
        raise AssertionError("z3 was asked")

    monkeypatch.setattr(Clock, "check", asked_)
    monkeypatch.setattr("formwright.flow.auditing._Audit._sample", lambda *_: frozenset())
    assert look(kept).held


def test_every_byte_counts(kept: Path, tmp_path: Path) -> None:
    """Each byte of a small file changed in turn, or left out: always a fault."""
    whole = read_grounds(kept).grounds
    assert whole is not None
    few = whole.obligations[:2]
    keys = [q for o in few for q in o.queries]
    path = tmp_path / "grounds.json"
    write_grounds(path, Grounds(whole.subject, few, {k: whole.grounds[k] for k in keys}))
    text = path.read_text()
    assert not read_grounds(path).faults
    for place, old in enumerate(text):
        for new in ("0" if old != "0" else "1", ""):
            path.write_text(text[:place] + new + text[place + 1 :])
            assert read_grounds(path).faults, (place, text[max(0, place - 20) : place + 20])


def _resealed(change: Callable[[Grounds], Grounds], path: Path) -> None:
    """A forger who knows how to seal."""
    found = read_grounds(path).grounds
    assert found is not None
    write_grounds(path, change(found))


def test_a_forged_certificate_is_rejected_by_name(kept: Path) -> None:
    """A leaf that adds up no longer, under a seal that fits."""
    wrong = kept.read_text().replace('["sum",[1,1],[3,1]]', '["sum",[1,2],[3,1]]')

    def change(old: Grounds) -> Grounds:
        body = json.loads(wrong)["grounds"]
        forged = {k: read_certificate(v["certificate"]) for k, v in body.items()}
        return Grounds(old.subject, old.obligations, forged)

    _resealed(change, kept)
    assert not read_grounds(kept).faults
    result = look(kept)
    faulty = [r for r in result.rows if r.fault]
    assert {"address C at line 6", "coverage C"} <= {r.name for r in faulty}
    assert all("rejected" in r.fault for r in faulty)


def test_grounds_of_another_query_do_not_count(kept: Path) -> None:
    """Certificates exchanged between queries, under seals that fit."""

    def change(old: Grounds) -> Grounds:
        keys = list(old.grounds)
        turned = dict(
            zip(keys, [*list(old.grounds.values())[1:], old.grounds[keys[0]]], strict=True)
        )
        return Grounds(old.subject, old.obligations, turned)

    _resealed(change, kept)
    assert not look(kept).held


def test_an_obligation_that_is_left_out_rests_on_z3_alone(kept: Path) -> None:
    def change(old: Grounds) -> Grounds:
        gone = next(o for o in old.obligations if o.condition == "coverage").queries
        left = {k: g for k, g in old.grounds.items() if k not in gone}
        return Grounds(old.subject, old.obligations, left)

    _resealed(change, kept)
    rows = {r.name: r for r in look(kept).rows}
    assert rows["coverage C"].rests == "z3 alone"
    assert "nothing is kept" in rows["coverage C"].fault
    assert not rows["single C at line 6"].fault


def test_grounds_for_what_the_template_does_not_owe(kept: Path) -> None:
    def change(old: Grounds) -> Grounds:
        more = Resting("lifetime of nothing", "K2", "lifetime", ("0" * 64,))
        return Grounds(old.subject, (*old.obligations, more), old.grounds)

    _resealed(change, kept)
    assert [f.entry for f in look(kept).faults] == ["lifetime of nothing"]


def test_without_grounds_all_rests_on_z3_alone(tmp_path: Path) -> None:
    result = audit([COPY], folders=[tmp_path], store=tmp_path / "proofs", seed=1)
    assert not result.held
    assert {r.rests for r in result.rows} == {"z3 alone"}
    assert all(r.reproved for r in result.rows)


def test_a_kept_verdict_that_was_changed_is_named(kept: Path) -> None:
    store = kept.parent / "proofs"
    proof = prove_template(COPY, store=store)
    path = proof_path(store, proof.digest)
    text = path.read_text()
    assert look(kept).held
    path.write_text(text.replace('"K2"', '"K1"', 1))
    assert [f.entry for f in look(kept).faults] == ["proof"]
    body = json.loads(text)["proof"]
    body["obligations"][1]["name"] = "address of nothing"
    forged = {"proof": body, "schema": 1, "sha256": digest(body)}
    path.write_text(kept_text(forged))
    assert [f.entry for f in look(kept).faults] == ["address of nothing"]
    path.write_text(json.dumps(json.loads(text), indent=2, sort_keys=True) + "\n")
    assert look(kept).held, "written by an earlier version, and whole"


def test_every_byte_of_a_kept_proof_counts(kept: Path) -> None:
    """Of the file of a proof, and of what leads to it from the text."""
    store = kept.parent / "proofs"
    prove_template(COPY, store=store)
    (store / "facts.sqlite").unlink()
    nothing: dict[str, frozenset[str]] = {}
    for path in (*store.glob("*.json"), *store.glob("texts/*.json")):
        text = path.read_text()
        for place in range(0, len(text), 5):
            path.write_text(text[:place] + ("0" if text[place] != "0" else "1") + text[place + 1 :])
            kept_ = kept_faults(store, False, random.Random(1), nothing)
            assert kept_ or text_faults(COPY, store), (path, text[place : place + 20])
        path.write_text(text)


def test_a_row_of_the_database_that_was_changed_is_named(kept: Path) -> None:
    store = kept.parent / "proofs"
    prove_template(COPY, store=store)
    assert look(kept, everything_again=True).held
    with sqlite3.connect(store / "facts.sqlite") as connection:
        connection.execute("update entries set key = 'f' || substr(key, 2) where kind = 'core'")
    faults = look(kept).faults
    assert faults
    assert all(f.file == "facts.sqlite" and f.entry.startswith("core ") for f in faults)


def test_an_interrupted_run_is_gone_on_with(tmp_path: Path) -> None:
    """What was found before the interruption is kept, and not looked for again."""
    seen: list[str] = []

    def stop(line: str) -> None:
        seen.append(line)
        if "exact_once" in line and "query" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        certify([COPY], folder=tmp_path, progress=stop)
    half = read_grounds(next(tmp_path.glob("*.json"))).grounds
    assert half is not None
    assert 0 < len(half.grounds) < 7
    rest = certify([COPY], folder=tmp_path).parts[0]
    assert rest.kept == len(half.grounds)
    assert certify([COPY], folder=tmp_path).parts[0].kept == 7


def test_an_edit_spares_certificates_of_queries_that_did_not_change(
    kept: Path, tmp_path: Path
) -> None:
    """Another range for M is another template; queries that may use it are asked for anew."""
    edited = tmp_path / "edited.fw"
    text = Path(COPY).read_text()
    edited.write_text(text.replace("M >= 0", "M >= 1"))
    assert certify([str(edited)], folder=tmp_path).parts[0].kept == 0
    edited.write_text(text.replace("C[i] = A[i]", "C[i] = A[i] clip"))
    part = certify([str(edited)], folder=tmp_path).parts[0]
    assert (part.certificates + part.points, part.kept) == (6, 5)


SQUARE = Asked(
    data.recorded(
        {"x": "Int", "y": "Int"},
        [
            data.Assertion("goal", data.row("=", [("x*x", 1)], 2)),
            data.Assertion("fact", data.row("<=", [("x", -1)], 0)),
            data.Assertion("fact", data.row("<=", [("x", 1)], 9)),
        ],
    )
)
"""Not linear, and without a law that would help: 2 is no square."""

SQUARE_ROOT = Asked(
    data.recorded({"x": "Int"}, [data.Assertion("goal", data.row("=", [("x*x", 1)], 4))])
)


def test_what_has_no_certificate_gets_a_second_opinion() -> None:
    solvers = second_solvers()
    assert solvers, "the tests need cvc5 or yices: pip install formwright[second]"
    for solver in solvers:
        found = ground(SQUARE, Limits(seconds=10), [solver])
        assert found == Agreement(solver.name, "exact"), found


def test_a_solution_is_never_agreed_to() -> None:
    for solver in second_solvers():
        said = opinion(SQUARE_ROOT.query, (), 10, [solver])
        assert said is not None
        assert said.answer == "sat"


def test_without_a_second_solver_it_stays_unresolved() -> None:
    found = ground(SQUARE, Limits(seconds=10), [])
    assert isinstance(found, Alone)
    assert found.reason.startswith("no second solver")


def _script(code: str) -> Second:
    return Second("other 1.0", (sys.executable, "-c", code))


def test_disagreement_is_an_alarm_that_says_both_answers() -> None:
    found = ground(SQUARE, Limits(seconds=10), [_script("print('sat')")])
    assert isinstance(found, Alone)
    assert "disagree" in found.reason
    assert "unsat, other 1.0 sat" in found.reason


@pytest.mark.parametrize(
    ("code", "detail"),
    [
        ("import time; time.sleep(60)", "more than 1 s"),
        ("raise SystemExit(3)", "status 3"),
        ("print('unsat'); raise SystemExit(3)", "unsat"),
        ("print('(error \"no\")')", "error"),
        ("x = bytearray(8 << 30); print('unsat')", "MemoryError"),
        ("print('unsat\\nunsat')", "unsat"),
    ],
)
@pytest.mark.slow
def test_a_second_solver_that_fails_is_no_opinion(code: str, detail: str) -> None:
    found = asked(SQUARE.query, (), "exact", 1.0, _script(code))
    assert found.answer == "unknown"
    assert detail in found.detail
    assert isinstance(judged(found, "why"), Alone)


def test_a_second_solver_that_is_not_there_is_no_crash() -> None:
    found = asked(SQUARE.query, (), "exact", 1.0, Second("gone", ("/no/such/solver",)))
    assert found == Opinion("gone", "unknown", "exact", found.detail)


@pytest.mark.slow
def test_second_opinions_are_asked_for_again(kept: Path) -> None:
    def change(old: Grounds) -> Grounds:
        agreed = {
            k: Agreement("cvc5 1", "linear") if isinstance(g, Contradiction) else g
            for k, g in old.grounds.items()
        }
        return Grounds(old.subject, old.obligations, agreed)

    _resealed(change, kept)
    good = look(kept, everything_again=True)
    assert good.held
    assert "second solver" in {r.rests for r in good.rows}
    none = look(kept, everything_again=True, solvers=[])
    assert {r.fault for r in none.rows if r.fault} == {"unresolved: no second solver"}
    wrong = look(kept, everything_again=True, solvers=[_script("print('sat')")])
    assert any("disagree" in r.fault for r in wrong.rows)


def test_the_commands_say_what_holds(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(kept.parent))
    assert run(["audit", COPY]) == 1
    assert "z3 alone" in capsys.readouterr().out
    assert run(["certify", COPY, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["held"] is True
    assert run(["audit", COPY, "--seed", "3", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["held"]
    assert {o["rests"] for o in shown["obligations"]} == {"certificate"}
    assert run(["audit", "no_such_template"]) == 2
    assert run(["certify", "tests/language/error_lost_header.fw"]) == 2


@pytest.mark.parametrize("command", ["certify", "audit"])
def test_without_z3_nothing_is_met_and_nothing_crashes(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("formwright.cli.ground_commands.find_spec", lambda _: None)
    assert run([command, COPY]) == 1
    assert "z3 is not installed" in capsys.readouterr().out
    assert run([command, COPY, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["held"] is False


def test_a_text_of_grounds_is_what_is_read(text: str, kept: Path) -> None:
    found = read_grounds(kept).grounds
    assert found is not None
    assert grounds_text(found) == text

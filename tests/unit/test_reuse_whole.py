"""Whole queries of refinement steps: found word for word, and by nothing less."""

import sqlite3
from pathlib import Path

import pytest

from formwright.base.source import Source
from formwright.flow.proving import prove_source
from formwright.lang import load_source
from formwright.proof.kept import database_path
from formwright.proof.verdict import Proof
from formwright.smt import atoms

STEP = load_source("src/formwright/chains/gemm/1_reduction_partition.fw").text
CLAUSE = "  so_far: y = (if qa = qb and ra = rb and qa < g then 1 else 0)\n"


def _proved(text: str, store: Path) -> Proof:
    return prove_source(Source("step.fw", text), store=store)


def _edited(old: str, new: str) -> str:
    assert old in STEP
    return STEP.replace(old, new)


def test_the_first_proof_asks_as_much_as_one_without_a_store(tmp_path: Path) -> None:
    first = _proved(STEP, tmp_path)
    full = prove_source(Source("step.fw", STEP), store=tmp_path / "other", fresh=True)
    assert first.verdict == full.verdict == "proved"
    assert first.queries == full.queries
    assert not any(o.reused for o in first.obligations)


def test_an_edit_of_the_cost_asks_nothing_about_the_step_again(tmp_path: Path) -> None:
    _proved(STEP, tmp_path)
    again = _proved(_edited("T >= 2*M*N*K/chip.flops", "T >= 3*M*N*K/chip.flops"), tmp_path)
    assert again.verdict == "proved"
    asked = {o.condition for o in again.obligations if not o.reused}
    assert not asked & {"relation", "matching", "progress", "completion", "initial", "range"}


@pytest.mark.slow
def test_an_edit_of_one_clause_asks_about_it_and_keeps_its_verdict(tmp_path: Path) -> None:
    _proved(STEP, tmp_path)
    wrong = _edited(CLAUSE, CLAUSE.replace("qa < g", "qa <= g"))
    mine = _proved(wrong, tmp_path)
    full = prove_source(Source("step.fw", wrong), store=tmp_path / "other", fresh=True)
    assert mine.verdict == full.verdict == "unresolved"
    pairs = zip(mine.obligations, full.obligations, strict=True)
    assert all((a.name, a.verdict) == (b.name, b.verdict) for a, b in pairs)


@pytest.mark.slow
def test_weaker_premises_are_no_old_query(tmp_path: Path) -> None:
    _proved(STEP, tmp_path)
    wider = _proved(
        _edited("extents   M >= 1, N >= 1, K >= 1", "extents   M >= 1, N >= 1, K >= 0"), tmp_path
    )
    assert wider.verdict != "proved"


def test_a_changed_byte_of_a_row_is_not_believed(tmp_path: Path) -> None:
    _proved(STEP, tmp_path)
    with sqlite3.connect(database_path(tmp_path)) as connection:
        rows = connection.execute("select key from entries where kind='query'").fetchall()
        assert len(rows) > 20
        connection.execute(
            "update entries set body='2' where kind='query' and key not like 'step%'"
        )
    cost = _edited("T >= 2*M*N*K/chip.flops", "T >= 3*M*N*K/chip.flops")
    again = _proved(cost, tmp_path)
    assert again.verdict == "proved"
    assert again.queries > 20


@pytest.mark.slow
def test_a_definition_counts_though_its_symbol_kept_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names of definitions are short digests; a text that shares one is another query."""
    numbers: dict[str, int] = {}
    monkeypatch.setattr(
        atoms, "_content", lambda atom: f"{numbers.setdefault(repr(atom), len(numbers)):016}"
    )
    _proved(STEP, tmp_path)
    numbers.clear()
    other = _edited("KT = ceil(K/Tk)", "KT = K // Tk")
    mine = _proved(other, tmp_path)
    assert mine.verdict != "proved"

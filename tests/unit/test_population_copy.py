"""From one store to another, of either kind: every row as it was, in every order."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from population_samples import (
    CHIP,
    OTHER_CHIP,
    admitted,
    fact,
    rows_text,
    split_text,
)
from sqlalchemy import select

from formwright.base.diagnostics import InputError
from formwright.flow.populating import copy_population
from formwright.population import Design, Held, Met, Origin, Population, copying, open_population
from formwright.population.copying import KINDS
from formwright.population.engine import read

FACTS = 12


def filled(place: str) -> Population:
    """Everything that can be known, told in an order that no name has."""
    population = open_population(place)
    first = admitted(population, rows_text())
    second = population.add_template(split_text(), origin=Origin("library", "split", (first,)))
    population.shelve(second.digest, "the template is refuted", verdict="refuted")
    kernel = population.add_template("void f(void) {}\n", language="c", name="f", verdict="tested")
    population.descend(kernel.digest, Origin("agent", "wrote", (first, second.digest), "why", "r1"))
    work = fact(first, 1.0).work
    for number in (5, 3, 9, 1):
        population.record(fact(first, 0.1 * number, source=f"run {number}", low=0.1, high=1e-300))
    population.record(*(fact(first, 1.0, source=f"other {n}") for n in range(FACTS - 5)))
    population.record(
        fact(first, 2.0, OTHER_CHIP, imported=True),
        Design(first, {"T": 4}, CHIP, work, 1.5, None, True, "sha", "run 1"),
        Held(first, "dominance", True, CHIP, work, "run 1"),
        Met(second.digest, "coverage", "«½» twice", {"N": 1}, True, "run 1", ("a", "b")),
    )
    return population


def whole(population: Population) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table."""
    return read(
        population._database,
        lambda c: {
            t.name: [dict(r) for r in c.execute(select(t).order_by(t.c.created, t.c[0])).mappings()]
            for t in KINDS
        },
    )


@pytest.mark.parametrize("kinds", ["sqlite to postgresql", "postgresql to sqlite"])
def test_there_and_back_nothing_is_lost(
    kinds: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    served = request.getfixturevalue("postgresql").new_url()
    own = str(tmp_path / "own.sqlite")
    source, target = (own, served) if kinds.startswith("sqlite") else (served, own)
    population = filled(source)
    moved = copy_population(source, target)
    other = open_population(target)
    assert whole(other) == whole(population)
    assert moved.copied.new == population.counts()
    assert set(moved.copied.known.values()) == {0}
    assert other.entries() == population.entries()
    assert other.facts() == population.facts()
    assert len(other.facts()) == FACTS
    assert other.lineage("f") == population.lineage("f")
    assert other.entry("rows").evidence == "proved"
    back = copy_population(target, str(tmp_path / "back.sqlite"))
    assert whole(open_population(tmp_path / "back.sqlite")) == whole(population)
    assert back.copied.new == population.counts()
    again = copy_population(source, target)
    assert set(again.copied.new.values()) == {0}
    assert again.copied.known == population.counts()
    assert not again.copied.raised
    assert not again.copied.differing


def test_a_standing_that_shows_more_is_taken_over(
    new_place: Callable[[], str], tmp_path: Path
) -> None:
    source, target = open_population(tmp_path / "a.sqlite"), open_population(new_place())
    proved = admitted(source, rows_text())
    target.add_template(rows_text())
    refuted = target.add_template(split_text()).digest
    target.shelve(refuted, "a race", verdict="refuted")
    source.add_template(split_text())
    copied = copying.copy_database(source._database, target._database)
    assert copied.raised == (proved,)
    assert target.entry(proved) == source.entry(proved).__class__(
        **{n: getattr(source.entry(proved), n) for n in source.entry(proved).__slots__}
        | {"created": target.entry(proved).created}
    )
    assert target.entry(refuted).verdict == "refuted"
    # And back: what the other one knew better comes over.
    assert copying.copy_database(target._database, source._database).raised == (refuted,)


def test_a_template_that_another_writer_adds_meanwhile_loses_no_standing(
    postgresql: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the target and the copy of its rows."""
    place = postgresql.new_url()
    source, target = open_population(tmp_path / "a.sqlite"), open_population(place)
    proved = admitted(source, rows_text())
    source.record(fact(proved, 1.0))
    keep_many = copying.keep_many

    def late(connection: Any, table: Any, new: Any) -> Any:
        if table.name == "entries":
            open_population(place).add_template(rows_text())
        if table.name == "facts":
            open_population(place).record(fact(proved, 2.0))
        return keep_many(connection, table, new)

    monkeypatch.setattr(copying, "keep_many", late)
    copied = copying.copy_database(source._database, target._database)
    assert copied.raised == (proved,)
    assert target.entry(proved).evidence == "proved"
    assert len(copied.differing) == 1
    assert (copied.new["entries"], copied.known["entries"]) == (0, 1)
    assert (copied.new["facts"], copied.known["facts"]) == (0, 1)


def test_one_journal_entry_with_two_figures_is_said(
    new_place: Callable[[], str], tmp_path: Path
) -> None:
    source, target = open_population(tmp_path / "a.sqlite"), open_population(new_place())
    digest = admitted(source, rows_text())
    target.add_template(rows_text())
    source.record(fact(digest, 1.0), fact(digest, 1.0, source="run 2"))
    target.record(fact(digest, 2.0))
    copied = copying.copy_database(source._database, target._database)
    assert len(copied.differing) == 1
    assert sorted(f.fact.value for f in target.facts(digest)) == [1.0, 2.0]


def test_a_copy_that_was_stopped_is_begun_again(
    new_place: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = str(tmp_path / "a.sqlite"), new_place()
    population = filled(source)
    monkeypatch.setattr(copying, "TOGETHER", 2)

    def stop(text: str) -> None:
        if text.startswith("facts: 4 of"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_population(source, target, stop)
    part = open_population(target).counts()
    assert (part["entries"], part["facts"]) == (3, 4)
    copied = copy_population(source, target).copied
    assert copied.known["facts"] == 4
    assert whole(open_population(target)) == whole(population)


def test_what_is_damaged_is_said_before_anything_is_written(tmp_path: Path) -> None:
    source = open_population(tmp_path / "a.sqlite")
    for name in ("one", "two"):
        source.add_template(rows_text(name))
    with sqlite3.connect(tmp_path / "a.sqlite") as raw:
        raw.execute("update entries set text = replace(text, 'T <= 8', 'T <= 9')")
    target = open_population(tmp_path / "b.sqlite")
    with pytest.raises(InputError, match="damaged") as caught:
        copying.copy_database(source._database, target._database)
    assert len(caught.value.diagnostics) == 2
    assert target.entries() == ()


def test_a_place_is_not_copied_onto_itself_nor_made_by_mistake(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    filled(str(path))
    with pytest.raises(InputError, match="both source and target"):
        copy_population(str(path), f"sqlite:///{path}")
    with pytest.raises(InputError, match="there is no population"):
        copy_population(str(tmp_path / "mistyped.sqlite"), str(tmp_path / "b.sqlite"))
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".sqlite"]


def test_words_that_no_database_keeps_do_not_stop_a_run(new_place: Callable[[], str]) -> None:
    """An agent's reasons may have anything in them; a template's text is refused instead."""
    population = open_population(new_place())
    strange = Origin("agent", "wrote", (), "a\0b \ud800 c", "run")
    digest = population.add_template(rows_text(), origin=strange, reason="x\0y").digest
    assert population.lineage(digest)[0].why == "a\ufffdb ? c"
    assert population.entry(digest).reason == "x\ufffdy"
    population.descend(digest, strange)
    assert len(population.lineage(digest)) == 1
    for text in ("void f(void) { /* \0 */ }", "void f(void) { /* \udcff */ }"):
        with pytest.raises(InputError, match="NUL or half a character"):
            population.add_template(text, language="c", name="f")

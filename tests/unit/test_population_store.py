"""Admission, the shelf, lineage and facts of one store."""

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from population_samples import (
    BY,
    CHIP,
    OTHER_CHIP,
    admitted,
    fact,
    obligation,
    parsed,
    proof_of,
    rows_text,
    split_text,
)
from sqlalchemy import event

from formwright.base.diagnostics import InputError
from formwright.contract.operators import operator
from formwright.lang import load_source
from formwright.population import Design, Held, Met, Origin, Population, open_population
from formwright.population import rows as rows_module
from formwright.population.settling import settle
from formwright.proof.verdict import Proof


@pytest.fixture
def population(new_place: Callable[[], str]) -> Population:
    return open_population(new_place())


def test_a_text_stands_on_the_shelf_until_it_is_proved(population: Population) -> None:
    entry = population.add_template(rows_text(), origin=BY)
    assert (entry.place, entry.evidence, entry.reason) == ("shelf", "none", "not proved yet")
    assert population.entries(shelf=False) == ()
    entry = population.admit(entry.digest, proof_of(parsed(rows_text())))
    assert (entry.place, entry.evidence, entry.verdict) == ("admitted", "proved", "proved")
    assert entry.proof is not None
    assert entry.proof["template"] == entry.digest
    assert len(entry.proof_digest) == 64


def _refuted(proof: Proof) -> Proof:
    bad = obligation("lifetime of sA", "K2", "refuted")
    return replace(proof, verdict="refuted", obligations=(*proof.obligations, bad))


def _unresolved_inside(proof: Proof) -> Proof:
    """Says ``proved`` of the whole, with something left open inside."""
    return replace(
        proof, obligations=(*proof.obligations, obligation("coverage", "K2", "unresolved"))
    )


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda p: replace(p, digest="0" * 64), "another template"),
        (lambda p: replace(p, verdict="unresolved"), "is unresolved"),
        (_refuted, "lifetime of sA is refuted"),
        (_unresolved_inside, "coverage is unresolved"),
        (lambda p: replace(p, obligations=p.obligations[1:]), "no K1"),
        (lambda p: replace(p, obligations=p.obligations[:1]), "no K3"),
        (lambda p: replace(p, obligations=()), "no K2"),
        (
            lambda p: replace(
                p, obligations=tuple(replace(o, evidence="tested") for o in p.obligations)
            ),
            "goal of K2",
        ),
    ],
)
def test_a_proof_that_lacks_something_admits_nothing(
    population: Population, spoil, reason: str
) -> None:
    entry = population.add_template(rows_text())
    with pytest.raises(InputError, match=reason):
        population.admit(entry.digest, spoil(proof_of(parsed(rows_text()))))
    assert population.entry(entry.digest) == entry


def test_without_requirements_there_is_no_k1_to_show(population: Population) -> None:
    entry = population.add_template(split_text())
    proof = proof_of(parsed(split_text()), ("K2", "K3"))
    assert population.admit(entry.digest, proof).evidence == "proved"


def test_kernel_source_is_tested_and_never_proved(population: Population) -> None:
    entry = population.add_template(
        "void f(void) {}", language="c", name="f", verdict="tested", interface="A[M,K] y[M]"
    )
    assert (entry.place, entry.evidence, entry.signature) == ("shelf", "tested", None)
    with pytest.raises(InputError, match="never proved"):
        population.admit(entry.digest, proof_of(parsed(rows_text())))


def test_a_formulation_is_not_admitted(population: Population) -> None:
    head = rows_text().partition("program")[0]
    text = head + 'formulation "no program is known"\n\ncost t seconds\n  t >= N*K\n'
    entry = population.add_template(text)
    with pytest.raises(InputError, match="formulation without a program"):
        population.admit(entry.digest, proof_of(parsed(text)))


def test_one_template_is_one_entry_whatever_its_comments(population: Population) -> None:
    first = population.add_template(rows_text())
    again = population.add_template("# proved, trust me\n" + rows_text(), reason="other")
    assert again == first
    assert len(population.entries()) == 1


def test_an_entry_is_reopened_where_the_rules_are_others(
    population: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = admitted(population, rows_text())
    monkeypatch.setattr(rows_module, "context", lambda: "other rules")
    entry = population.entry(digest)
    assert entry.reopened
    assert entry.evidence == "none"
    assert "proved again" in entry.reason


def test_a_template_can_be_put_back_on_the_shelf(population: Population) -> None:
    digest = admitted(population, rows_text())
    entry = population.shelve(digest, "refuted by a stronger rule", verdict="refuted")
    assert (entry.evidence, entry.proof, entry.proof_digest) == ("none", None, "")


def test_entries_are_found_by_digest_part_and_name(population: Population) -> None:
    first = population.add_template(rows_text()).digest
    second = population.add_template(rows_text().replace("{4, 8}", "{4, 8, 16}")).digest
    third = population.add_template(split_text()).digest
    assert population.entry(first[:8]).digest == first
    assert population.entry("split").digest == third
    with pytest.raises(InputError, match="rows names 2 templates") as caught:
        population.entry("rows")
    assert first[:12] in str(caught.value)
    assert second[:12] in str(caught.value)
    with pytest.raises(InputError, match='did you mean "split"'):
        population.entry("splitt")


@pytest.mark.parametrize(
    ("text", "given", "message"),
    [
        ("template x", {}, "error"),
        ("a" * 300_000, {}, "larger than"),
        ("int f;", {"language": "c", "name": "../x"}, "cannot name a kernel"),
        ("int f;", {"language": "rust", "name": "f"}, "no language rust"),
    ],
)
def test_what_is_no_template_is_refused(
    population: Population, text: str, given: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        population.add_template(text, **given)  # type: ignore[arg-type]
    assert population.entries() == ()


def test_a_lineage_goes_back_through_all_parents(population: Population) -> None:
    a = population.add_template(rows_text("a"), origin=Origin("library", "specification")).digest
    b = population.add_template(rows_text("b"), origin=Origin("library", "block", (a,))).digest
    c = population.add_template(split_text("c"), origin=Origin("mender", "split", (b, a))).digest
    told = [(s.child, s.parent, s.rule) for s in population.lineage(c)]
    assert set(told[:2]) == {(c, a, "split"), (c, b, "split")}
    assert set(told[2:]) == {(b, a, "block"), (a, "", "specification")}
    assert {s.child for s in population.offspring(a)} == {b, c}
    population.descend(c, Origin("mender", "split", (b, a)))
    assert len(population.lineage(c)) == 4


def test_a_lineage_that_turns_on_itself_ends(population: Population) -> None:
    a = population.add_template(rows_text("a")).digest
    b = population.add_template(rows_text("b"), origin=Origin("x", "one way", (a,))).digest
    population.descend(a, Origin("x", "and back", (b,)))
    assert {s.rule for s in population.lineage(a)} == {"one way", "and back"}


def test_a_fact_about_one_chip_is_reopened_on_another(population: Population) -> None:
    digest = admitted(population, rows_text())
    population.record(fact(digest, 1.0), fact(digest, 2.0, OTHER_CHIP))
    here = population.facts(digest, chip=CHIP)
    standing = {f.fact.value: f.standing for f in here}
    assert standing == {1.0: "holds", 2.0: "reopened"}
    assert all("another chip" in f.why for f in here if f.standing == "reopened")
    elsewhere = population.facts(digest, chip=CHIP, machine="laptop")
    assert {f.standing for f in elsewhere} == {"reopened"}
    assert {f.standing for f in population.facts(digest)} == {"holds"}


def test_what_is_told_twice_is_kept_once(population: Population) -> None:
    digest = admitted(population, rows_text())
    work = fact(digest, 1.0).work
    told = (
        fact(digest, 1.0),
        Design(digest, {"T": 4}, CHIP, work, 1.5, 1.25, True, "artifact", "run 1: solve/0"),
        Met(digest, "lifetime", "A race.", {"S": 1}, True, "run 1", ("load", "store")),
        Held(digest, "dominance", False, CHIP, work, "run 1", "two designs tie"),
    )
    population.record(*told)
    population.record(*told)
    population.record(replace(told[2], source="run 2"))
    counts = population.counts()
    assert (counts["facts"], counts["designs"], counts["met"], counts["held"]) == (1, 1, 1, 1)
    assert population.facts(digest)[0].fact == told[0]
    assert population.designs(digest) == (told[1],)
    assert population.counterexamples(digest, "lifetime") == (told[2],)
    assert population.counterexamples(condition="coverage") == ()
    assert population.held(digest) == (told[3],)
    population.record(fact(digest, 1.1, source="run 2: measure/0"))
    assert len(population.facts(digest)) == 2


def test_nothing_is_recorded_of_a_template_that_is_not_there(population: Population) -> None:
    digest = admitted(population, rows_text())
    with pytest.raises(InputError, match="no template 0000"):
        population.record(fact(digest, 1.0), fact("0" * 64, 1.0))
    assert population.facts() == ()


@pytest.mark.parametrize("changed", [{"evidence": "proved"}, {"value": float("nan")}])
def test_a_figure_has_a_value_and_a_word_of_its_own(changed: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"measured|finite"):
        fact("0" * 64, 1.0, **changed)


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "theirs.sqlite"
    with sqlite3.connect(path) as theirs:
        theirs.execute("create table entries (x)")
    before = path.read_bytes()
    with pytest.raises(InputError, match="another program"):
        open_population(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("place", ["text.sqlite", ".", "nowhere://x", "postgresql+nodriver://h/d"])
def test_what_is_no_population_is_said(tmp_path: Path, place: str) -> None:
    (tmp_path / "text.sqlite").write_text("no database " * 100)
    with pytest.raises(InputError, match="cannot open the population"):
        open_population(place if "://" in place else tmp_path / place)


def test_a_population_of_another_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.sqlite"
    open_population(path)
    with sqlite3.connect(path) as raw:
        raw.execute("update about set value = '99'")
    with pytest.raises(InputError, match=r"schema 99, which a later version .* wrote"):
        open_population(path)


def test_a_text_that_was_changed_in_the_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "p.sqlite"
    population = open_population(path)
    digest = admitted(population, rows_text())
    with sqlite3.connect(path) as raw:
        raw.execute("update entries set text = replace(text, 'T <= 8', 'T <= 9')")
    with pytest.raises(InputError, match="damaged"):
        population.entry(digest)


def test_shipped_templates_go_in_whole(population: Population) -> None:
    text = load_source("decode_attention_heads").text
    entry = population.add_template(text)
    assert entry.text == text
    assert entry.interface == "q[H,G,D] kc[H,S,D] vc[H,S,D] O[H,G,D]"


def test_threads_share_one_population(population: Population) -> None:
    digest = admitted(population, rows_text())

    def tell(number: int) -> int:
        population.record(fact(digest, 1.0, source=f"{number % 8}"))
        return len(population.facts(digest))

    with ThreadPoolExecutor(4) as pool:
        assert all(n >= 1 for n in pool.map(tell, range(16)))
    assert len(population.facts(digest)) == 8


def test_counterexamples_of_a_problem_come_from_all_its_templates(population: Population) -> None:
    first = population.add_template(rows_text()).digest
    second = population.add_template(split_text()).digest
    other = population.add_template(load_source("softmax_rows").text).digest
    for digest in (first, second, other):
        population.record(Met(digest, "coverage", "A cell twice.", {}, True, "run 1"))
    found = population.counterexamples(problem=operator("gemv").contract())
    assert {m.template for m in found} == {first, second}
    assert len(population.counterexamples()) == 3


def test_a_template_is_not_tested_where_its_kernel_is(population: Population) -> None:
    assert population.add_template(rows_text(), verdict="tested").evidence == "none"


def test_a_store_that_may_not_be_written_is_read_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "p.sqlite"
    digest = admitted(open_population(path), rows_text())
    population = open_population(path)
    population._database.engine.dispose()
    event.listen(
        population._database.engine, "connect", lambda c, _: c.execute("pragma query_only=on")
    )
    assert population.entry(digest).evidence == "proved"
    with pytest.raises(OSError, match="took nothing: attempt to write a readonly"):
        population.record(fact(digest, 1.0))


def test_a_judgement_that_comes_late_does_not_undo_a_proof(population: Population) -> None:
    """Two processes prove one template; the one that ran out of time is the last to tell."""
    digest = population.add_template(rows_text()).digest

    def late(template: object) -> Proof:
        population.admit(digest, proof_of(parsed(rows_text())))  # the other one, meanwhile
        return replace(proof_of(parsed(rows_text())), verdict="unresolved")

    settled = settle(population, digest, late)
    assert (settled.entry.evidence, settled.entry.verdict) == ("proved", "proved")
    assert population.shelve(digest, "a race", verdict="refuted").evidence == "none"

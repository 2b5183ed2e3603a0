"""Exports: readable, whole, and believed in nothing."""

import json
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from population_samples import BY, CHIP, admitted, fact, parsed, proof_of, rows_text, split_text

from formwright.base.diagnostics import InputError
from formwright.ir.template import Template
from formwright.population import (
    Clock,
    Design,
    Held,
    Met,
    Origin,
    Population,
    open_population,
)
from formwright.population.export import export_population
from formwright.population.importing import import_population
from formwright.proof.verdict import Proof

CLOCK = Clock("2026-01-01T00:00:00+00:00")


def opened(place: str = ":memory:") -> Population:
    return open_population(place, clock=CLOCK)


@pytest.fixture(scope="module")
def population() -> Population:
    """One admitted with everything that can be known of it, one refuted, one kernel."""
    population = opened()
    first = admitted(population, rows_text())
    second = population.add_template(split_text(), origin=Origin("library", "split", (first,)))
    population.shelve(second.digest, "the template is refuted", verdict="refuted")
    population.add_template("void f(void) {}\n", language="c", name="f", origin=BY)
    work = fact(first, 1.0).work
    population.record(
        fact(first, 1.25, low=1.0, high=1.5),
        Design(first, {"T": 4}, CHIP, work, 1.5, 1.25, True, "sha", "run 1"),
        Held(first, "dominance", True, CHIP, work, "run 1"),
        Met(second.digest, "coverage", "A cell twice.", {"N": 1}, True, "run 1", ("a", "b")),
    )
    return population


@pytest.fixture(scope="module")
def shared(population: Population, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "shared"
    export_population(population, folder)
    return folder


def files(folder: Path) -> dict[str, str]:
    found = (p for p in sorted(folder.rglob("*")) if p.is_file())
    return {str(p.relative_to(folder)): p.read_text() for p in found}


def test_an_export_comes_back_as_it_was(
    population: Population, tmp_path: Path, new_place: Callable[[], str]
) -> None:
    assert export_population(population, tmp_path / "a") == 3
    other = opened(new_place())
    found = import_population(other, tmp_path / "a", proof_of)
    assert [e.name for e in found.admitted] == ["rows"]
    assert sorted(e.name for e in found.shelved) == ["f", "split"]
    # Why something is on the shelf is another store's opinion; everything else is the same.
    export_population(other, tmp_path / "b")
    before, after = files(tmp_path / "a"), files(tmp_path / "b")
    assert before.keys() == after.keys()
    differing = {name for name in before if before[name] != after[name]}
    assert all(name.endswith("entry.json") and "rows" not in name for name in differing)
    assert all(f.fact.imported for f in other.facts())
    again = import_population(other, tmp_path / "a", proof_of)
    assert (len(again.admitted), len(again.shelved), len(again.known)) == (0, 0, 3)
    assert other.counts() == population.counts()


def test_an_export_is_replaced_by_the_next_and_nothing_else_is(
    population: Population, tmp_path: Path
) -> None:
    export_population(population, tmp_path / "a")
    first = files(tmp_path / "a")
    small = opened()
    admitted(small, rows_text())
    export_population(small, tmp_path / "a")
    assert len(files(tmp_path / "a")) == 4
    export_population(population, tmp_path / "a")
    assert files(tmp_path / "a") == first
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="not empty"):
        export_population(population, tmp_path / "own")


def test_a_proof_in_a_file_admits_nothing(population: Population, tmp_path: Path) -> None:
    export_population(population, tmp_path / "a")
    asked: list[str] = []

    def unresolved(template: Template) -> Proof:
        asked.append(template.name)
        proof = proof_of(template)
        return Proof(
            proof.template, proof.digest, "unresolved", proof.obligations, 0.1, proof.solver
        )

    other = opened()
    import_population(other, tmp_path / "a", unresolved)
    assert asked == ["rows"]
    entry = other.entry("rows")
    assert (entry.place, entry.evidence, entry.verdict) == ("shelf", "none", "unresolved")
    assert other.entries(shelf=False) == ()


def _edit(name: str, change: Callable[[Any], None], of: str = "rows") -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        path = next(folder.glob(f"templates/{of}-*/{name}"))
        data = json.loads(path.read_text())
        change(data)
        path.write_text(json.dumps(data))

    return edit


def _named_at_length(data: Any) -> None:
    data["counterexamples"][0]["condition"] = "x" * 65


def _text(folder: Path) -> None:
    path = next(folder.glob("templates/rows-*/template.fw"))
    path.write_text(path.read_text().replace("T <= 8", "T <= 16"))


def _link(folder: Path) -> None:
    path = next(folder.glob("templates/rows-*/template.fw"))
    path.unlink()
    path.symlink_to("/etc/passwd")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_text, "it was changed"),
        (_link, "a link, which is not followed"),
        (_edit("entry.json", lambda d: d.update(language="perl")), "none of fw, c"),
        (_edit("entry.json", lambda d: d.update(schema=9)), "reads schema 1"),
        (_edit("entry.json", lambda d: d.pop("place")), "place: a text is needed"),
        (_edit("facts.json", lambda d: d["facts"][0].update(evidence="proved")), "measured"),
        (_edit("facts.json", lambda d: d["facts"][0].update(value=True)), "finite number"),
        (_edit("facts.json", lambda d: d["facts"][0].update(value=float("inf"))), "finite"),
        (_edit("facts.json", lambda d: d["facts"][0].update(value=10**400)), "finite"),
        (_edit("facts.json", lambda d: d["facts"][0].update(low=-(10**400))), "finite"),
        (_edit("facts.json", lambda d: d["facts"][0].update(template="0" * 64)), "another text"),
        (_edit("facts.json", lambda d: d["facts"][0].update(qualified=True)), "unknown key"),
        (_edit("facts.json", lambda d: d["facts"][0]["work"].pop("threads")), '"threads" is miss'),
        (_edit("facts.json", lambda d: d["facts"].append("x")), "an object is needed"),
        (_edit("facts.json", lambda d: d["facts"][0]["work"].update(threads=1 << 40)), "2^31"),
        (_edit("facts.json", lambda d: d["facts"][0].update(machine="a\0b")), "a text is needed"),
        (_edit("facts.json", lambda d: d["facts"][0].update(source="\ud800")), "a text is needed"),
        (_edit("lineage.json", lambda d: d["lineage"][0].update(parent="x")), "a digest"),
        (_edit("designs.json", lambda d: d.update(designs={})), "a list is needed"),
        (_edit("counterexamples.json", _named_at_length, "split"), "at most 64"),
        (lambda f: next(f.glob("templates/rows-*/facts.json")).write_text("{"), "not JSON"),
        (lambda f: next(f.glob("templates/rows-*/facts.json")).write_bytes(b"\xff"), "UTF-8"),
        (lambda f: (f / "population.json").unlink(), "no export"),
    ],
)
def test_a_spoiled_export_is_refused_whole(
    shared: Path, tmp_path: Path, spoil: Callable[[Path], None], message: str
) -> None:
    folder = tmp_path / "a"
    copytree(shared, folder)
    spoil(folder)
    other = opened()
    with pytest.raises(InputError) as caught:
        import_population(other, folder, proof_of)
    assert message in str(caught.value)
    assert other.entries() == ()


def test_all_faults_of_an_export_are_said_at_once(population: Population, tmp_path: Path) -> None:
    export_population(population, tmp_path / "a")
    _text(tmp_path / "a")
    next((tmp_path / "a").glob("templates/split-*/counterexamples.json")).write_text("[]")
    with pytest.raises(InputError) as caught:
        import_population(opened(), tmp_path / "a", proof_of)
    assert len(caught.value.diagnostics) == 2


def test_what_is_kept_as_text_reads_as_it_was_written(new_place: Callable[[], str]) -> None:
    population = opened(new_place())
    text = rows_text("strange").replace("An agent", "«Agent» ½")
    digest = admitted(population, text)
    assert population.entry(digest).text == text
    assert parsed(population.entry(digest).text) == parsed(text)

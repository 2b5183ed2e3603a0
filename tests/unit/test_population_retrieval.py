"""Drawing: by what templates say and not by their names, best first, structures in turn."""

from collections import Counter
from collections.abc import Callable

import pytest
from population_samples import (
    CHIP,
    OTHER_CHIP,
    admitted,
    fact,
    parsed,
    proof_of,
    rows_text,
    split_text,
)

from formwright.chip import load_chip
from formwright.contract.matching import matches
from formwright.contract.operators import operator
from formwright.lang import load
from formwright.population import Clock, Population, chip_key, key_of_values, open_population
from formwright.population import rows as rows_module
from formwright.population.retrieval import quality

GEMV = operator("gemv").contract()


@pytest.fixture
def population(new_place: Callable[[], str]) -> Population:
    return open_population(new_place(), clock=Clock("2026-01-01T00:00:00+00:00"))


@pytest.fixture
def in_memory() -> Population:
    """For what is long to parse and the same on every store."""
    return open_population(":memory:")


def drawn(population: Population, **asked: object) -> list[str]:
    found = population.covering(GEMV, **asked)  # type: ignore[arg-type]
    return [c.entry.name for c in found]


def test_a_contract_draws_what_computes_it_and_not_what_is_called_so(
    population: Population,
) -> None:
    admitted(population, rows_text("attention"))
    admitted(population, rows_text("gemv").replace("x[k] over", "x[k] * 2 over"))
    other = rows_text("gemv").replace("W[N,k] * x[k]", "W[N,k] * x[k] * x[k]")
    admitted(population, other.replace("x[k] over", "x[k] * x[k] over"))
    narrow = rows_text("gemv_small").replace("K >= 0", "K >= 1")
    admitted(population, narrow)
    # The second lies in its program: that is the verifier's to say, and it would not admit it.
    assert set(drawn(population)) == {"attention", "gemv"}
    assert population.covering(operator("gemm").contract()) == ()


def test_what_is_not_proved_is_drawn_only_from_the_shelf_and_marked(
    population: Population,
) -> None:
    population.add_template(rows_text("unproved"))
    population.add_template("void f(void) {}", language="c", name="f", interface="x")
    admitted(population, split_text())
    assert drawn(population) == ["split"]
    assert drawn(population, shelf=True) == ["split", "unproved"]
    assert population.covering(GEMV, shelf=True)[1].entry.evidence == "none"


def test_niches_have_their_turns(population: Population) -> None:
    menus = ("{4, 8}", "{2, 8}", "{2, 4, 8}")
    many = [
        admitted(population, rows_text(f"rows{n}").replace("{4, 8}", menu))
        for n, menu in enumerate(menus)
    ]
    admitted(population, split_text())
    niches = Counter(e.niche for e in population.entries())
    assert sorted(niches.values()) == [1, 3]
    # The one of another structure has a turn before a second variant, however slow it is.
    slow = population.entry("split").digest
    population.record(fact(slow, 9.0), *(fact(d, 1.0 + n) for n, d in enumerate(many)))
    names = drawn(population, chip=CHIP)
    assert names == ["rows0", "split", "rows1", "rows2"]
    assert drawn(population, chip=CHIP, seats=1) == ["rows0", "split"]


def test_the_best_of_a_niche_is_that_of_the_chip_asked_about(population: Population) -> None:
    first = admitted(population, rows_text("narrow"))
    second = admitted(population, rows_text("wide").replace("{4, 8}", "{8}"))
    population.record(
        fact(first, 1.0),
        fact(second, 2.0),
        fact(first, 2.0, OTHER_CHIP),
        fact(second, 1.0, OTHER_CHIP),
    )
    assert drawn(population, chip=CHIP) == ["narrow", "wide"]
    assert drawn(population, chip=OTHER_CHIP) == ["wide", "narrow"]
    facts = population.covering(GEMV, chip=OTHER_CHIP)[0].facts
    assert sorted(f.standing for f in facts) == ["holds", "reopened"]
    # Other shapes are not compared: each is the best of its own.
    large = {"work": fact(second, 1.0).work.__class__("c" * 64, "gemv", {"N": 9, "K": 9}, {})}
    population.record(fact(second, 50.0, **large))
    assert drawn(population, chip=CHIP, seats=1) in (["narrow"], ["wide"])
    assert len(drawn(population, chip=CHIP)) == 2


def test_figures_of_two_chips_are_not_compared_where_none_is_asked_about(
    in_memory: Population,
) -> None:
    """A chip that was simulated has no machine that would tell it from another."""
    first = admitted(in_memory, rows_text("narrow"))
    second = admitted(in_memory, rows_text("wide").replace("{4, 8}", "{8}"))
    in_memory.record(fact(first, 9.0, CHIP, machine=""), fact(second, 1.0, OTHER_CHIP, machine=""))
    order = quality(in_memory.facts())
    assert {order(in_memory.entry(d))[1] for d in (first, second)} == {1.0}


def test_an_entry_proved_under_other_rules_comes_after_those_that_are_proved(
    population: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    admitted(population, rows_text())
    monkeypatch.setattr(rows_module, "context", lambda: "new rules")
    text = split_text()
    entry = population.add_template(text)
    population.admit(entry.digest, proof_of(parsed(text)))
    assert [(c.entry.name, c.entry.reopened) for c in population.covering(GEMV)] == [
        ("split", False),
        ("rows", True),
    ]


def test_likeness_finds_the_structure_under_other_names(in_memory: Population) -> None:
    names = ("split_reduction_gemm", "direct_gemm", "softmax_rows", "decode_attention_heads")
    for name in names:
        in_memory.add_template(load(name)[0].text)
    tiled = load("tiled_gpu_gemm")[1]
    found = in_memory.alike(tiled, shelf=True)
    assert found[0].entry.name == "split_reduction_gemm"
    assert "wall shared_bytes" in found[0].shared
    assert in_memory.alike(tiled) == ()  # nothing is admitted
    attention = operator("decode_attention").contract()
    assert in_memory.alike(attention, shelf=True)[0].entry.name == "decode_attention_heads"
    softmax = load("softmax_rows")[1]
    assert "softmax_rows" not in [a.entry.name for a in in_memory.alike(softmax, shelf=True)]
    assert len(in_memory.alike(softmax, shelf=True, limit=2)) == 2


def test_a_chip_is_known_by_its_figures_and_not_by_its_name() -> None:
    illustrative = load_chip("illustrative")
    key = chip_key(illustrative)
    assert key == chip_key(load_chip("illustrative"))
    values = illustrative.parameters()
    other = key_of_values("illustrative", values | {"chip.clock": 1})
    assert other.digest != key_of_values("illustrative", values).digest
    assert key_of_values("a", values).digest == key_of_values("b", values).digest


def test_what_is_drawn_is_what_matches_and_nothing_else(in_memory: Population) -> None:
    """Rows are asked for by tensors and formula before any text is parsed: none is lost by it."""
    names = ("direct_gemm", "gemm_silu_panels_ahead", "gemm_int8_panels_ahead", "gemv_rows")
    names = (*names, "decode_attention_heads", "prefill_attention_blocks")
    loaded = [load(name) for name in names]
    for source, _ in loaded:
        in_memory.add_template(source.text)
    for name in ("gemm", "gemm_int8", "gemv", "decode_attention", "prefill_attention"):
        contract = operator(name).contract()
        claimed = {template.name for _, template in loaded if not matches(template, contract)}
        drawn = {c.entry.name for c in in_memory.covering(contract, shelf=True)}
        assert drawn == claimed
        assert len(claimed) == 1

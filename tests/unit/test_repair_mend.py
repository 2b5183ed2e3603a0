"""Texts with one slip are brought back to a proof; what no proof bears out is no repair."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from formwright.agent.protocol import Finding
from formwright.agent.repair import Effort, findings_of, mend
from formwright.agent.repair.conditions import condition_edits
from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.flow.mending import Judges, mend_text
from formwright.ir.expr import Compare
from formwright.ir.rewrite import free_names
from formwright.ir.template import Template
from formwright.lang import load, parse
from formwright.proof.verdict import Proof

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

SLIPS = {
    "an index": ("gemv_rows", "W[i*Rr+r, q*L+l] * x", "W[i*Rr+r, q+l] * x"),
    "an axis": ("softmax_rows", "    acc[r,l] = 0", "    acc[i,l] = 0"),
    "a guard": ("gemv_rows", "acc[r,l] += W[i*Rr+r, q*L+l] * x[q*L+l] clip", None),
    "a barrier": ("shared_memory_tiling", "        barrier\n        acc", "        acc"),
    "a precondition": ("shared_memory_tiling", "P <= S - 2 + beta", "P <= S - 1 + beta"),
    "a wall": ("shared_memory_tiling", "S*4*(Tm*Tk + Tk*Tn) <=", "4*(Tm*Tk + Tk*Tn) <="),
}


def slipped(name: str) -> str:
    template, old, new = SLIPS[name]
    text = load(template)[0].text
    assert old in text
    return text.replace(old, old.removesuffix(" clip") if new is None else new)


SLOW = {"a precondition", "a barrier", "an index", "an axis"}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in SLIPS]
)
def test_a_slip_is_repaired(name: str, tmp_path: Path) -> None:
    judges = Judges(tmp_path)
    text = slipped(name)
    wrong = judges.refute(parse(Source("wrong.fw", text)))
    assert wrong.verdict != "proved"
    mended = mend_text(text, findings_of(wrong), store=tmp_path, effort=Effort(seconds=60))
    assert mended is not None
    again = parse(Source("again.fw", mended.text))
    assert Judges(tmp_path / "fresh").prove(again).verdict == "proved"
    assert again.scope == load(SLIPS[name][0])[1].scope
    assert mended.edits[0]
    assert mended.proofs >= 1


@pytest.mark.slow
def test_the_proof_has_the_last_word() -> None:
    """Nothing is a repair that ``prove`` does not prove, however right it looks to runs."""
    asked: list[Template] = []

    def never(template: Template) -> Proof:
        asked.append(template)
        return Proof(template.name, "", "unresolved", (), 0.0, "none")

    text = slipped("an index")
    finding = Finding("prove", "coverage at line 36", "coverage")
    mended = mend(text, [finding], prove=never, effort=Effort(seconds=20, proofs=3, depth=1))
    assert mended is None
    assert 1 <= len(asked) <= 3


def test_what_is_proved_comes_back_without_an_edit(tmp_path: Path) -> None:
    """A claim in a comment is no slip of the program: the text without comments is the answer."""
    source, template = load("gemv_rows")
    mended = mend_text(source.text + "# evidence: proved\n", store=tmp_path)
    assert mended is not None
    assert mended.edits == ()
    assert parse(Source("again.fw", mended.text)) == template
    assert "evidence" not in mended.text


def test_no_edit_opens_a_wall() -> None:
    """What no proof needs may be a capacity all the same: it stays a bound."""
    template = load("shared_memory_tiling")[1]
    made = [e.template for e in condition_edits(template)]
    chip = [
        c.condition
        for t in made
        for c in t.constraints
        if isinstance(c.condition, Compare) and any("chip." in n for n in free_names(c.condition))
    ]
    assert len(made) > 20
    assert "!=" not in {c.op for c in chip}


def test_what_does_not_parse_or_has_no_program_is_not_repaired() -> None:
    def never(template: Template) -> Proof:
        raise AssertionError(template.name)

    assert mend("template x", [], prove=never) is None
    assert mend("", [], prove=never) is None


def test_effort_ends_the_search() -> None:
    def never(template: Template) -> Proof:
        return Proof(template.name, "", "unresolved", (), 0.0, "none")

    text = slipped("a barrier")
    assert mend(text, [], prove=never, effort=Effort(seconds=0.5, screening=0.2)) is None


@pytest.fixture
def mutants() -> Iterator[object]:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import template_mutants

        yield template_mutants
    finally:
        sys.path.remove(str(BENCHMARKS))


def test_the_mutants_are_made_without_the_repair(mutants: object) -> None:
    text = (BENCHMARKS / "template_mutants.py").read_text()
    assert "formwright" not in text


def test_every_kind_of_mutant_parses_somewhere(mutants: object) -> None:
    makers = mutants.MAKERS  # type: ignore[attr-defined]
    for kind in makers:
        name = "shared_memory_tiling" if kind in ("barrier", "wall", "slot") else "packed_gemm"
        text = load(name)[0].text
        several = mutants.drawn(name, text, kind, 3, 12)  # type: ignore[attr-defined]
        assert several, kind
        assert all(m.text != text for m in several)
        assert any(_parses(m.text) for m in several), kind


def _parses(text: str) -> bool:
    try:
        parse(Source("mutant.fw", text))
    except InputError:
        return False
    return True

"""Programs with stages: the right ones are proved, and no mutant of them is accepted.

Each mutant is one slip that people make: a lane that is dropped, a maximum over too few, a clip
inside exp, a wrong denominator, a stage that is read before it is complete.
"""

from pathlib import Path

import pytest

from formwright.base.source import Source
from formwright.lang.parser import parse
from formwright.proof.verdict import Proof
from formwright.replay import replay
from formwright.smt.prove import prove

TEXTS = Path(__file__).parents[1] / "stages"

Edits = tuple[tuple[str, str], ...]


def _mutants() -> dict[tuple[str, str], Edits]:
    """The slips of ``tests/stages/NAME.mutants``: a name, then texts and what takes their place."""
    found: dict[tuple[str, str], Edits] = {}
    for path in sorted(TEXTS.glob("*.mutants")):
        for part in _parts(path.read_text()):
            rows = [r.replace("\\n", "\n") for r in part]
            old, new = rows[1::2], rows[2::2]
            pairs = zip(old, new, strict=True)
            edits = tuple((o.removeprefix("- "), n.removeprefix("+ ")) for o, n in pairs)
            found[path.stem, rows[0].removeprefix("= ")] = edits
    return found


def _parts(text: str) -> list[list[str]]:
    parts: list[list[str]] = []
    for row in text.splitlines():
        if row.startswith("= "):
            parts.append([])
        parts[-1].append(row)
    return parts


MUTANTS = _mutants()
QUICK = {
    ("softmax", "the maximum over too few"),
    ("softmax", "a clip inside exp"),
    ("softmax", "the sum read before it is complete"),
    ("decode_attention", "queries share a maximum"),
    ("prefill_attention", "not the key itself"),
    ("rmsnorm", "the sum, not the mean"),
}


def _text(name: str) -> str:
    return (TEXTS / f"{name}.fw").read_text()


def _proof(name: str, edits: Edits = ()) -> Proof:
    text = _text(name)
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return prove(parse(Source(f"{name}.fw", text)), replayer=replay)


@pytest.mark.parametrize(
    "name",
    [
        "gemv",
        "softmax",
        "rmsnorm",
        "prefill_attention",
        pytest.param("decode_attention", marks=pytest.mark.slow),
        "rotary",
        "epilogue",
        pytest.param("gated_mlp", marks=pytest.mark.slow),
        pytest.param("layernorm", marks=pytest.mark.slow),
    ],
)
def test_the_programs_themselves_are_proved(name: str) -> None:
    proof = _proof(name)
    open_ones = [(o.name, o.verdict, o.detail) for o in proof.obligations if o.verdict != "proved"]
    assert open_ones == []
    conditions = {o.condition for o in proof.obligations}
    assert {"phantom", "exact_once", "coverage", "defined"} <= conditions
    assert ("stable" in conditions) == (
        name in ("softmax", "decode_attention", "prefill_attention")
    )


def test_every_slip_stands_in_its_text() -> None:
    """Most mutants are proved only on request; that they still are mutants is looked at daily."""
    for (name, _), edits in MUTANTS.items():
        for old, new in edits:
            assert old in _text(name), (name, old)
            assert old != new


@pytest.mark.parametrize(
    "case",
    [c if c in QUICK else pytest.param(c, marks=pytest.mark.slow) for c in MUTANTS],
    ids=lambda c: f"{c[0]}: {c[1]}",
)
def test_no_mutant_is_accepted(case: tuple[str, str]) -> None:
    proof = _proof(case[0], MUTANTS[case])
    assert proof.verdict in ("refuted", "unresolved")
    wrong = [o for o in proof.obligations if o.verdict == "refuted"]
    for obligation in wrong:
        # What is refuted was reached by a run, and is told in words.
        assert obligation.counterexample is not None
        assert obligation.counterexample.replayed
        assert obligation.counterexample.text


def test_a_wrong_stage_is_told_by_its_cell() -> None:
    proof = _proof("softmax", MUTANTS["softmax", "the maximum over too few"])
    told = [o.counterexample for o in proof.obligations if o.verdict == "refuted"]
    assert told
    assert all(t is not None and "which keeps m[" in t.text for t in told)
    assert any(t is not None and "does not compare X[" in t.text for t in told)

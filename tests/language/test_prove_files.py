"""Template files with the verdict of the verifier on their last lines.

``# expect: proved``; ``# expect: refuted WORDS`` names the conditions that are refuted, each
with a counterexample that the interpreter reached (or ``evaluate``, for conditions on values
alone), and no other is left open;
``# expect: unresolved WORDS`` names those that stay open, with nothing refuted. Files of
``SLOW_REPLAY`` are replayed under ``FORMWRIGHT_SLOW`` only; the default run asks the verifier
alone, which must leave each of those conditions open.
"""

import os
from pathlib import Path

import pytest

from effort import thinned
from formwright.base.source import Source
from formwright.lang import parse
from formwright.replay import replay
from formwright.smt import prove

FOLDER = Path(__file__).parent / "prove"
SLOW_REPLAY = {
    "tiling_no_leading_barrier",
    "tiling_overlap",
    "tiling_unguarded_load",
    "tiling_unguarded_store",
    "tiling_unguarded_tail",
    "tiling_weak_precondition",
}
SLOW = "FORMWRIGHT_SLOW" in os.environ
LIKE_ANOTHER = {
    "async_accumulations_in_groups",
    "matmul_tutorial_13_fixed",
    "name_distinct",
    "name_underscore",
    "packed_in_the_grid",
    "storage_of_two_guards",
    "team_without_agents_of_a_decision",
    "tiling_always_trailing",
    "tiling_double_buffer",
    "tiling_single_buffer",
    "workload_of_two_products_scaled",
}
"""Files whose kind another file of the default run shows as well."""
ON_VALUES = {"divisor", "fits", "implied"}
"""Conditions that speak of values alone: ``evaluate`` settles them, no schedule does."""
FILES = [p for p in sorted(FOLDER.glob("*.fw")) if SLOW or p.stem not in LIKE_ANOTHER]


def test_there_are_files() -> None:
    assert len(FILES) >= 50
    assert {p.stem for p in FOLDER.glob("*.fw")} >= LIKE_ANOTHER | SLOW_REPLAY


@pytest.mark.parametrize("path", thinned(FILES), ids=lambda p: p.stem)
def test_verdict(path: Path) -> None:
    text = path.read_text()
    verdict, *words = text.rstrip("\n").split("\n")[-1].removeprefix("# expect: ").split()
    template = parse(Source(path.name, text))
    if path.stem in SLOW_REPLAY and not SLOW:
        found = prove(template, only=lambda condition: condition in words).obligations
        assert {o.condition for o in found if o.verdict != "proved"} == set(words)
        return
    proof = prove(template, replayer=replay)
    open_ones = {o.condition for o in proof.obligations if o.verdict != "proved"}
    assert open_ones == set(words)
    assert proof.verdict == verdict
    assert {o.verdict for o in proof.obligations} <= {"proved", verdict}
    for obligation in proof.obligations:
        if obligation.verdict == "refuted":
            assert obligation.counterexample is not None
            shown = obligation.counterexample
            on_values = obligation.condition in ON_VALUES and "evaluated exactly" in shown.trace
            assert shown.replayed or on_values, obligation.name
        if obligation.verdict == "proved":
            assert obligation.evidence == "proved"

"""The page of a proof: the theorem, what each condition rests on, counterexamples in lanes."""

import json
from pathlib import Path
from typing import Any

import pytest

from formwright.flow.subjects import SHIPPED
from formwright.proof.grounds import Alone, grounds_path, read_grounds
from formwright.report.page import Drawing, Graph
from formwright.report.pages.conditions import conditions_of
from formwright.report.pages.proof_page import proof_file_page
from made_proofs import refuted
from pages_read import blocks, cells, table


def file_of(folder: Path, whole: dict[str, Any]) -> Path:
    path = folder / "proof.json"
    path.write_text(json.dumps(whole))
    return path


def test_a_refutation_is_drawn_and_counts_before_everything_else(tmp_path: Path) -> None:
    page = proof_file_page(file_of(tmp_path, refuted().as_json()))
    assert page.answer[0].startswith("t is refuted: 2 of 3 obligations are not proved")
    assert [s.key for s in page.sections][:2] == ["counterexamples", "open"]
    drawing = next(b for b in blocks(page) if isinstance(b, Drawing))
    assert "reads what is being written" in drawing.svg
    assert "a read before the barrier" in drawing.says
    graph = next(b for b in blocks(page) if isinstance(b, Graph))
    standing = {n.label: n.standing for n in graph.nodes}
    assert (standing["fits"], standing["readiness"], standing["race"]) == (
        "held",
        "refuted",
        "unresolved",
    )
    assert graph.nodes[0].standing == "refuted"
    assert [c for c in cells(page) if c.evidence == "proved" and c.standing != "held"] == []


def test_unresolved_is_never_told_as_proved(tmp_path: Path) -> None:
    proof = refuted().as_json()
    proof["obligations"] = [o | {"evidence": "proved"} for o in proof["obligations"][2:]]
    page = proof_file_page(file_of(tmp_path, proof | {"verdict": "unresolved"}))
    assert page.answer[0].startswith("t is unresolved: 1 of 1 obligations are not proved")
    assert not [c for c in cells(page) if c.evidence == "proved"]


@pytest.mark.slow
def test_what_an_obligation_rests_on_is_what_is_kept_for_it() -> None:
    """Against the certificates that ship: each kind of ground, and none for what has none."""
    seen = set()
    for path in sorted(SHIPPED.glob("*.json"))[:12]:
        grounds = read_grounds(path).grounds
        assert grounds is not None
        if grounds.subject.condition:
            continue
        assert path == grounds_path(SHIPPED, grounds.subject.digest, "")
        proof = {
            "digest": grounds.subject.digest,
            "solver": "z3 5",
            "obligations": [
                {"name": o.name, "verdict": "proved", "evidence": "proved"}
                for o in grounds.obligations
            ]
            + [{"name": "something else", "verdict": "proved"}]
            + [{"name": grounds.obligations[0].name, "verdict": "unresolved"}],
        }
        *known, other, open_ = conditions_of(proof)
        assert other.rests == "z3 5 alone"
        assert open_.rests == "nothing"
        for resting, shown in zip(grounds.obligations, known, strict=True):
            alone = [q for q in resting.queries if isinstance(grounds.grounds.get(q), Alone)]
            assert shown.rests.endswith(" alone") == bool(alone), resting.name
            assert (shown.rests == "a comparison of content") == (not resting.queries)
            seen.add(shown.rests.split(",")[0])
    assert {"a certificate", "a comparison of content"} <= seen


def test_a_chain_says_where_it_broke_and_what_was_not_looked_at(tmp_path: Path) -> None:
    step = refuted().as_json()
    chain = {
        "schema": 1,
        "chain": "c",
        "digest": "1",
        "verdict": "refuted",
        "broken": "first",
        "seconds": 1.0,
        "solver": "z3 5",
        "steps": [
            {"name": "first", "verdict": "refuted", "inherited": False, **_parts(step)},
            {
                "name": "second",
                "verdict": "unresolved",
                "inherited": True,
                "because": "first",
                "obligations": [],
            },
        ],
        "composition": {"verdict": "unresolved", "obligations": []},
        "theorem": "Not proved, first is refuted: for every M …",
        "evidence": "none",
        "assumptions": [{"name": "reals", "text": "sums are over the reals", "of": "c"}],
    }
    page = proof_file_page(file_of(tmp_path, chain))
    assert page.answer[0] == (
        "The chain c is refuted, at first. What stands below it was not looked at."
    )
    rows = {row[1].text: row for row in table(page, "Steps").rows}
    assert rows["second"][3].text == "not looked at: first is not proved"
    assert rows["second"][3].standing == "unresolved"
    assert table(page, "What the theorem assumes").rows[0][0].text == "reals"


def _parts(proof: dict[str, Any]) -> dict[str, Any]:
    return {name: proof[name] for name in ("obligations", "seconds", "queries", "digest")}

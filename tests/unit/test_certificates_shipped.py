"""What ships has certificates in the package, and nothing else is there."""

from collections import Counter
from pathlib import Path

import pytest

from formwright.flow.auditing import audit
from formwright.flow.subjects import SHIPPED, everything, walk
from formwright.ir.template import Template
from formwright.proof.grounds import grounds_path, read_grounds
from formwright.proof.store import template_digest
from formwright.proof.verdict import Obligation

MAKE = "formwright certify --out src/formwright/certificates"


def test_each_template_that_ships_has_its_file_and_no_other() -> None:
    wanted: dict[str, str] = {}

    def settle(template: Template, condition: str) -> tuple[Obligation, ...]:
        wanted[grounds_path(SHIPPED, template_digest(template), condition).name] = template.name
        return ()

    for reference in everything():
        list(walk(reference, settle))
    there = {path.name for path in SHIPPED.glob("*.json")}
    missing = {wanted[name] for name in wanted.keys() - there}
    assert not missing, f"no certificates for the present text: run {MAKE}"
    assert not there - wanted.keys(), "files of texts that have changed: remove them"


def test_what_a_chain_compares_by_content_needs_no_query() -> None:
    found = {o.condition for o in walk("chains/gemm.toml", lambda *_: ())}
    assert {"workload", "names", "system", "environment", "complete"} <= found


def test_every_query_behind_what_ships_has_a_certificate_or_a_second_opinion() -> None:
    kinds: Counter[str] = Counter()
    for path in SHIPPED.glob("*.json"):
        found = read_grounds(path)
        assert found.grounds is not None
        assert not found.faults
        kinds.update(type(ground).__name__ for ground in found.grounds.grounds.values())
    assert not kinds["Alone"]
    assert kinds["Agreement"] <= 0.02 * kinds.total()


def test_one_template_that_ships_is_audited(tmp_path: Path) -> None:
    found = audit(["direct_gemm"], folders=[SHIPPED], seed=2, store=tmp_path)
    assert found.held, [r for r in found.rows if r.fault]
    assert {r.rests for r in found.rows} == {"certificate"}


@pytest.mark.slow
def test_everything_that_ships_is_audited(tmp_path: Path) -> None:
    found = audit(folders=[SHIPPED], everything_again=True, store=tmp_path)
    assert found.held, [r for r in found.rows if r.fault]

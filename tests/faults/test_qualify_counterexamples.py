"""What refuses one candidate is made small, kept for good, and met first by the next ones."""

import json
from pathlib import Path

import pytest
from qualify_kernels import RIGHT, compile_kernel

from formwright.contract.operators import operator
from formwright.qualify.checks import Validation
from formwright.qualify.counterexamples import Store
from formwright.qualify.validate import validate

WORKLOADS = [{"M": 24, "N": 18, "K": 33}]
DROPS = "PARTIAL(K > 17 ? K - 1 : K)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


def judged(folder: Path, name: str, body: str, store: Store, **ranges: tuple[int, int]):
    contract = operator("gemm").contract(extents=ranges)
    library = compile_kernel(folder, name, body)
    return validate(library, contract, WORKLOADS, seed=3, effort="quick", store=store)


def first_run(validation: Validation) -> dict[str, int]:
    return dict(validation.runs[0].extents)


def test_a_counterexample_is_shrunk_and_met_first_by_later_candidates(folder: Path) -> None:
    store = Store(folder / "run" / "counterexamples.jsonl")
    refused = judged(folder, "drops", DROPS, store)
    assert refused.refuted[0].name in ("tolerance", "exact_integers", "metamorphic")
    (line,) = store.path.read_text().splitlines()
    kept = json.loads(line)
    assert kept["extents"] == {"M": 1, "N": 1, "K": 18}, "no smaller call is wrong"
    assert len(kept["kinds"]) == 1

    again = judged(folder, "drops", DROPS, store)
    assert first_run(again) == kept["extents"], "the first call refuses it"
    assert len(again.runs) == 1
    assert len(store.path.read_text().splitlines()) == 1, "one call is kept once"

    right = judged(folder, "right", RIGHT["naive"], store)
    assert right.verdict == "held"
    assert first_run(right) == kept["extents"]


def test_it_is_another_contracts_counterexample_to_none(folder: Path) -> None:
    store = Store(folder / "other.jsonl")
    assert judged(folder, "drops", DROPS, store).verdict == "refuted"
    narrow = operator("gemm").contract(extents={"K": (0, 4)})
    assert store.trials(narrow) == ()


@pytest.mark.parametrize("line", ["", "{", "[1]", '{"schema": 1}', '{"schema": 9}'])
def test_a_line_cut_off_is_no_counterexample(folder: Path, line: str) -> None:
    store = Store(folder / "cut.jsonl")
    assert judged(folder, "drops", DROPS, store).verdict == "refuted"
    whole = store.path.read_text()
    contract = operator("gemm").contract()
    known = store.trials(contract)
    assert known
    store.path.write_text(whole + line)
    assert store.trials(contract) == known

"""A cost model that is wrong on purpose, through the whole flow, and stopped on its way."""

import json
from pathlib import Path
from typing import Any

import pytest

from formwright.flow.codesign import run_study
from listeners import Silent

STUDY = """
name = "wrong"
library = "tiled-gpu"
templates = ["tiled_gpu_gemm"]
budget = "24 mm2"
[kernels]
down = { M = 128, N = 896, K = 4864 }
[scenarios.prefill]
works = { down = 2 }
[methods]
names = ["software-only", "sets", "joint"]
[evaluator]
name = "tiled-gpu"
noise = "10 %"
samples = 12
[coefficients.tiled_gpu_gemm]
operands = OPERANDS
"""


def ended(folder: Path, out: str, operands: int) -> dict[str, Any]:
    path = folder / f"{operands}.toml"
    path.write_text(STUDY.replace("OPERANDS", str(operands)))
    return run_study(str(path), folder / out, Silent()).as_json()


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in ("seconds", "journal")}
    if isinstance(value, (list, tuple)):
        return [without_times(v) for v in value]
    return value


@pytest.mark.slow
def test_a_wrong_coefficient_is_repaired_and_resumed(tmp_path: Path) -> None:
    right = ended(tmp_path, "right", 1)
    wrong = ended(tmp_path, "wrong", 2)
    assert right["repairs"] == ()
    (repair,) = wrong["repairs"]
    (change,) = repair["repairs"]
    assert change["coefficients"] == {"operands": "1"}
    assert repair["rank_after"] > repair["rank_before"]
    for key in ("chip", "area", "objective"):
        assert wrong[key] == right[key]
    kept = (tmp_path / "wrong" / "journal.jsonl").read_text().splitlines(keepends=True)
    keys = [json.loads(line)["key"] for line in kept]
    assert keys[repair["entry"]].endswith("judged/round1"), "noticed at the first purchase"
    for count in (repair["entry"], repair["entry"] + 1, repair["entry"] + 3, len(kept) - 2):
        out = tmp_path / f"cut{count}"
        out.mkdir()
        (out / "journal.jsonl").write_text("".join(kept[:count]))
        assert without_times(ended(tmp_path, out.name, 2)) == without_times(wrong)

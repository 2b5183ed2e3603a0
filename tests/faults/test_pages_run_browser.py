"""Reports of a run, of its artifact and of a proof, in a browser: made from a real run."""

import json
from pathlib import Path

import pytest

from browser import audited, chromium
from formwright.cli.main import run
from formwright.report.html import html_of
from formwright.report.pages.artifact_page import artifact_page
from formwright.report.pages.proof_page import proof_file_page
from formwright.report.pages.run_page import run_page
from made_artifacts import made_artifact
from made_proofs import refuted

ROOT = Path(__file__).parent.parent.parent
PROBLEM = """templates = ["direct_gemm"]
threads = 1
baselines = ["numpy"]
workloads.small = { M = 24, N = 40, K = 32 }
[budget]
candidates = 2
rounds = 1
"""


@pytest.mark.slow
def test_reports_of_a_real_run_are_whole_and_accessible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    problem = tmp_path / "small.toml"
    problem.write_text(PROBLEM)
    out = tmp_path / "out"
    assert run(["run", str(problem), "--out", str(out), "--quiet"]) in (0, 1)
    monkeypatch.chdir(tmp_path)
    made = {
        "a run": (str(out), out / "report.html"),
        "its artifact": (str(out / "artifacts" / "small"), out / "artifacts/small/report.html"),
        "a template": ("direct_gemm", tmp_path / "direct_gemm-report.html"),
        "a run with an agent": (
            str(ROOT / "studies" / "transcripts" / "decode-attention"),
            tmp_path / "agent.html",
        ),
    }
    with chromium() as browser:
        for name, (subject, page) in made.items():
            with subtests.test(name):
                assert run(["report", subject, "--out", str(page), "--quiet"]) == 0
                assert audited(browser, page) == []


@pytest.mark.slow
def test_a_refutation_and_a_sample_artifact_are_whole_and_accessible(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    proof = tmp_path / "proof.json"
    proof.write_text(json.dumps(refuted().as_json()))
    artifact = made_artifact(tmp_path / "up")
    with chromium() as browser:
        for name, page in (
            ("proof", proof_file_page(proof)),
            ("artifact", artifact_page(artifact)),
            ("run", run_page(ROOT / "studies" / "transcripts" / "gemm")),
        ):
            with subtests.test(name):
                file = tmp_path / f"{name}.html"
                file.write_text(html_of(page), encoding="utf-8")
                assert audited(browser, file) == []

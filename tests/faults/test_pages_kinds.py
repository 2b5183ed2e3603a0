"""Every kind of report, of real runs and of the studies that are kept here, in a browser."""

import shutil
from pathlib import Path

import pytest

from browser import audited, chromium
from formwright.cli.main import run

ROOT = Path(__file__).resolve().parents[2]
STUDIES = ROOT / "studies"

KEPT = {
    "codesign": STUDIES / "gemmini-bert" / "2026-11-30",
    "methods": STUDIES / "gemmini-bert" / "2026-11-30-methods",
    "white-black": STUDIES / "white-black" / "2026-11-30",
    "transfer": STUDIES / "transfer" / "2026-11-30",
    "growth": STUDIES / "growth" / "2026-11-30",
}


@pytest.mark.slow
def test_every_kind_of_report_is_whole_readable_and_accessible(
    tmp_path: Path,
    subtests: pytest.Subtests,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    population = tmp_path / "population.sqlite"
    monkeypatch.setenv("FORMWRIGHT_POPULATION", str(population))
    out = tmp_path / "out"
    assert run(["run", str(ROOT / "examples" / "gemm.toml"), "--out", str(out), "--quiet"]) == 0
    artifact = next((out / "artifacts").iterdir())
    refuted = ROOT / "tests" / "variants" / "tiling_weak.fw"
    capsys.readouterr()
    assert run(["prove", str(refuted), "--json"]) == 1
    proof = tmp_path / "proof.json"
    proof.write_text(capsys.readouterr().out)
    subjects = {"run": out, "artifact": artifact, "proof": "packed_gemm", "refuted": proof}
    # Two runs side by side, and the composition of a chain's steps.
    several = tmp_path / "several"
    for name in ("one", "two"):
        shutil.copytree(out, several / name)
    subjects |= {"several": several, "chain": "gemm"}
    # A run with named templates leaves none behind.
    assert run(["population", "add", "gemv_rows", "softmax_rows", "direct_gemm"]) == 0
    subjects |= KEPT | {"population": population}
    with chromium() as browser:
        for kind, subject in subjects.items():
            with subtests.test(kind):
                page = tmp_path / f"{kind}.html"
                assert run(["report", str(subject), "--out", str(page)]) == 0
                assert audited(browser, page) == []

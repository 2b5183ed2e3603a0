"""Several problem files in one run: what is refused before anything starts."""

from pathlib import Path

import pytest

from formwright.cli.main import run

PROBLEM = """
name = "{name}"
templates = ["packed_gemm"]
[workloads.one]
M = 3
N = 2
K = {k}
"""


def write(folder: Path, file: str, name: str, k: str = "4") -> str:
    path = folder / file
    path.write_text(PROBLEM.format(name=name, k=k))
    return str(path)


@pytest.mark.parametrize("more", [[], ["--set", "M=3,N=4,K=5"]])
def test_faults_are_found_before_the_first_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], more: list[str]
) -> None:
    out = tmp_path / "out"
    files = [write(tmp_path, "a.toml", "one"), write(tmp_path, "b.toml", "two", "-4")]
    assert run(["run", *files, "--out", str(out), *more]) == 2
    told = capfd.readouterr().err
    assert ("several" in told) if more else ("b.toml" in told)
    assert not out.exists()


def test_one_name_twice_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = [write(tmp_path, "a.toml", "same"), write(tmp_path, "b.toml", "same")]
    assert run(["run", *files, "--out", str(tmp_path / "out")]) == 2
    assert 'both called "same"' in capfd.readouterr().err

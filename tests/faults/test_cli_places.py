"""Results that cannot be written are told by their place; what was kept is not lost."""

from pathlib import Path

import pytest

from formwright.cli.main import run


@pytest.mark.slow
def test_a_folder_where_a_result_should_go(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    assert run(["certify", "direct_gemm", "--out", str(there)]) == 0
    for path in there.iterdir():
        (here / path.name).mkdir(parents=True)
    assert run(["certify", "direct_gemm", "--out", str(here)]) == 2
    told = capsys.readouterr().err
    assert f"error: {here}" in told
    assert "cannot be used: Is a directory" in told
    assert "hint: " in told
    assert not [p for p in here.iterdir() if p.name.startswith(".")]


def test_a_file_where_a_folder_should_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    assert run(["certify", "direct_gemm", "--out", str(tmp_path / "file" / "below")]) == 2
    assert "file" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "in the way"

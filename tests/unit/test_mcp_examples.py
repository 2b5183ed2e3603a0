"""The configuration that ships is the one that the guide shows; a start that cannot be says why."""

import json
import sys
from pathlib import Path

import pytest

from formwright.cli.main import run

ROOT = Path(__file__).resolve().parents[2]


def test_the_ready_configuration() -> None:
    text = (ROOT / "examples" / "mcp.json").read_text()
    assert text in (ROOT / "docs" / "mcp.md").read_text()
    arguments = json.loads(text)["mcpServers"]["formwright"]["args"]
    assert arguments[0] == "mcp"
    assert (ROOT / arguments[arguments.index("--problem") + 1]).is_file()


def test_without_the_sdk_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [n for n in sys.modules if n == "mcp" or n.startswith("mcp.")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("serve", "server", "answers", "waiting"):
        monkeypatch.delitem(sys.modules, f"formwright.mcp.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert run(["mcp", "--out", str(tmp_path)]) == 2
    assert "pip install 'formwright[mcp]'" in capsys.readouterr().err


def test_a_problem_that_is_none_ends_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.toml"
    path.write_text('operator = "gemw"\n')
    assert run(["mcp", "--problem", str(path), "--out", str(tmp_path / "out")]) == 2
    shown = capsys.readouterr()
    assert 'did you mean "gemv"' in shown.err
    assert shown.out == ""

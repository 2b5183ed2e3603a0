"""Every fenced example of the README and the docs runs.

Info strings: ``sh`` (each line that starts with ``formwright`` is run, and must end with the status
that a comment ``# exit 1`` names, else 0), ``python`` (executed), ``fw`` (a whole template parses),
``toml problem``, ``toml chip``, ``toml library`` and ``toml study`` (loaded), ``sh setup`` (the
README's two commands, which ``.ci/run`` itself runs) and ``text`` (output or a sketch, not run).
Anything else fails.
"""

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from formwright.base.host import cache_folder
from formwright.base.source import Source
from formwright.cli.main import run

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(.*)$")


@dataclass(frozen=True)
class Example:
    file: str
    line: int
    info: str
    text: str


def _examples(path: Path) -> list[Example]:
    found: list[Example] = []
    info: str | None = None
    start, lines = 0, []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        fence = FENCE.match(line)
        if fence and info is None:
            info, start, lines = fence.group(1).strip(), number, []
        elif fence:
            found.append(Example(str(path.relative_to(ROOT)), start, info, "\n".join(lines) + "\n"))
            info = None
        else:
            lines.append(line)
    assert info is None, f"{path}: a fence is not closed"
    return found


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = [e for page in PAGES for e in _examples(page)]


def test_there_are_examples() -> None:
    assert {"sh", "python", "fw"} <= {e.info for e in EXAMPLES}


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of proofs for the examples alone; what was measured of this machine is kept."""
    folder = tmp_path_factory.mktemp("cache")
    mine = cache_folder()
    (folder / "formwright").mkdir()
    for known in ("bin", "chips"):
        if (mine / known).exists():
            (folder / "formwright" / known).symlink_to(mine / known)
    return folder


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"{e.file}:{e.line}")
def test_example(
    example: Example, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    match example.info:
        case "sh":
            _run_shell(example)
        case "python":
            exec(compile(example.text, f"{example.file}:{example.line}", "exec"), {})
        case "fw":
            from formwright.lang import parse

            parse(Source(f"{example.file}:{example.line}", example.text))
        case "toml problem":
            from formwright.contract.problem import load_problem

            Path("p.toml").write_text(example.text)
            load_problem("p.toml")
        case "toml contract":
            from formwright.contract.files import load_contract

            Path("k.toml").write_text(example.text)
            load_contract("k.toml")
        case "toml chip":
            from formwright.chip import load_chip

            Path("c.toml").write_text(example.text)
            load_chip("c.toml")
        case "toml library":
            from formwright.chip.library_files import load_library

            Path("l.toml").write_text(example.text)
            load_library("l.toml")
        case "toml study":
            from formwright.walls.study_reader import load_study

            Path("s.toml").write_text(example.text)
            load_study("s.toml")
        case "text" | "sh setup":
            pass
        case other:
            pytest.fail(f"{example.file}:{example.line}: a fence with the info {other!r}")


def _run_shell(example: Example) -> None:
    commands = [c for c in example.text.replace("\\\n", " ").splitlines() if c.strip()]
    assert commands
    for line in commands:
        command, _, remark = line.partition("#")
        words = shlex.split(command)
        if not words:
            continue
        assert words[0] == "formwright", f"{example.file}: {line}"
        expected = int(remark.split()[1]) if remark.strip().startswith("exit") else 0
        status = run(words[1:])
        assert status == expected, f"{example.file}:{example.line}: {line} gave {status}"
    os.chdir(ROOT)

"""Every fenced example of the README and the docs runs.

Info strings: ``sh`` (each line that starts with ``formwright`` is run, and must end with the status
that a comment ``# exit 1`` names, else 0), ``python`` (executed), ``fw`` (a whole template parses),
``sh server`` (the same, with a server of the tests in the place of :data:`SERVER`),
``toml problem``, ``toml chip``, ``toml library`` and ``toml study`` (loaded), ``sh setup`` (what
the README begins with: ``.ci/run`` itself runs it) and ``text`` (output or a sketch, not run).
``console`` blocks, and files that a page asks for, are in ``test_console_pages.py``.
Anything else fails.
"""

import os
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from fences import EXAMPLES, ROOT, Example, examples

from formwright.base.host import cache_folder
from formwright.base.source import Source
from formwright.cli.main import run

# Blocks that ``test_console_pages.py`` runs, with the files of their page.
OF_PAGES = {"console", "c", "python"}


SERVER = "postgresql://me@host/formwright"


def of_a_page(example: Example) -> bool:
    word = example.kind.split(" ")[0]
    return word == "console" or (example.name is not None and word in OF_PAGES)


ALONE = [example for example in EXAMPLES if not of_a_page(example)]


def test_there_are_examples() -> None:
    assert {"sh", "python", "fw", "console"} <= {e.kind.split()[0] for e in EXAMPLES}


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


@pytest.mark.parametrize("example", ALONE, ids=lambda e: f"{e.file}:{e.line}")
def test_example(
    example: Example,
    cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for beside in examples(ROOT / example.file):
        if beside.name is not None:
            (tmp_path / beside.name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / beside.name).write_text(beside.text)
    match example.kind:
        case "sh":
            _run_shell(example)
        case "sh server":
            url = request.getfixturevalue("postgresql").new_url()
            assert SERVER in example.text
            _run_shell(replace(example, text=example.text.replace(SERVER, f"'{url}'")))
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

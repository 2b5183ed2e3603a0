"""Every page with console blocks is run from top to bottom, and prints what it shows.

``FORMWRIGHT_UPDATE=1`` writes what was printed into the pages, except where they show a part.
"""

import os
from pathlib import Path

import consoles
import pytest
from fences import PAGES, ROOT, Example, examples

from formwright.base.host import cache_folder


def _blocks(page: Path, slow: bool) -> list[Example]:
    return [
        e
        for e in examples(page)
        if e.name is not None
        or (e.kind.split()[:1] == ["console"] and (slow or "slow" not in e.kind.split()))
    ]


def _shows(page: Path, slow: bool) -> bool:
    return any(e.name is None for e in _blocks(page, slow))


QUICK = [page for page in PAGES if _shows(page, False)]
SLOW = [page for page in PAGES if _blocks(page, True) != _blocks(page, False)]


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a reader: a clone without what a run leaves, and proofs of nobody else."""
    folder = tmp_path / "reader"
    folder.mkdir()
    for name in ("examples", "studies"):
        (folder / name).symlink_to(ROOT / name)
    cache = tmp_path / "cache"
    (cache / "formwright").mkdir(parents=True)
    for known in ("bin", "chips"):
        if (cache_folder() / known).exists():
            (cache / "formwright" / known).symlink_to(cache_folder() / known)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("FORMWRIGHT_POPULATION", str(tmp_path / "population.sqlite"))
    monkeypatch.setenv("COLUMNS", consoles.WIDTH)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(folder)
    return folder


def test_numbers_count_unless_they_are_measured() -> None:
    shown = ("best  12.5 us  …", "…", "held")
    assert consoles.agrees(shown, "best 12.5 us of 3\na\nb\nheld\n", False)
    assert not consoles.agrees(shown, "best 12.6 us of 3\nheld\n", False)
    assert consoles.agrees(shown, "best 1.26 ms of 3\nheld\n", True)
    assert not consoles.agrees(shown, "worst 1.26 ms of 3\nheld\n", True)
    assert not consoles.agrees(shown, "best 12.5 us of 3\nheld\nmore\n", False)


@pytest.mark.parametrize("page", QUICK, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_page(page: Path, reader: Path) -> None:
    _go_through(page, reader, _blocks(page, False))


@pytest.mark.slow
@pytest.mark.parametrize("page", SLOW, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_page_with_what_takes_long(page: Path, reader: Path) -> None:
    _go_through(page, reader, _blocks(page, True))


def _go_through(page: Path, folder: Path, blocks: list[Example]) -> None:
    text = page.read_text()
    for block in blocks:
        if block.name is not None:
            (folder / block.name).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.name).write_text(block.text)
            continue
        outputs: list[str] = []
        for command in consoles.commands(block):
            status, output = consoles.printed(command, folder)
            place = f"{block.file}:{block.line}: {command.text}"
            assert status == command.status, f"{place}: status {status}\n{output}"
            outputs.append(output)
            if "FORMWRIGHT_UPDATE" not in os.environ:
                measured = "measured" in block.kind.split()
                assert consoles.agrees(command.shown, output, measured), f"{place}\n{output}"
        text = text.replace(block.text, consoles.rewritten(block, outputs), 1)
    if "FORMWRIGHT_UPDATE" in os.environ:
        page.write_text(text)

"""The site: links lead somewhere, every page is in the navigation, and it builds strictly."""

import ast
import importlib.util
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer.main
from fences import ROOT

from formwright.chip import FIELDS
from formwright.cli.main import app
from formwright.contract.operators import OPERATORS


def _script(name: str) -> ModuleType:
    """A script of ``website`` as a module."""
    spec = importlib.util.spec_from_file_location(
        f"website_{name}", ROOT / "website" / f"{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


DEFINITIONS = (ast.ClassDef, ast.FunctionDef)

stage = _script("stage")
picture = _script("picture")


def _leaves(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            if isinstance(value, list):
                yield from _leaves(value)
            else:
                yield value


def _navigation() -> list[str]:
    with (ROOT / "website" / "zensical.toml").open("rb") as file:
        return list(_leaves(tomllib.load(file)["project"]["nav"]))


def test_every_link_of_every_page_leads_somewhere() -> None:
    assert [str(fault) for fault in stage.faults()] == []


def test_a_link_that_leads_nowhere_is_found() -> None:
    page = "docs/index.md"
    assert stage.fault_of(page, "start.md#this-machine") is not None
    assert stage.fault_of(page, "nowhere.md") is not None
    assert stage.fault_of(page, "../../outside.md") is not None
    assert stage.fault_of(page, "../src/formwright/templates") is not None
    assert stage.fault_of("README.md", "src/formwright/templates") is None
    assert stage.fault_of(page, "chips.md#this-machine") is None
    assert stage.fault_of(page, "decisions/../../studies/growth/2026-11-30") is None


def test_every_page_is_in_the_navigation_once() -> None:
    navigation = _navigation()
    assert sorted(navigation) == sorted(stage.pages().values())


def test_links_are_moved_and_code_is_left() -> None:
    known = {"docs/decisions/a.md": "decisions/a.md", "docs/b.md": "b.md"}
    wanted: set[str] = set()
    text = "[b](../b.md#x) `[c](../c)` [s](../../src/formwright/py.typed)\n"
    text += "```fw file=a.fw\n[](x)\n```\n"
    moved = stage.staged(text, stage.moved("docs/decisions/a.md", known, wanted))
    assert moved.startswith("[b](../b.md#x) `[c](../c)` [s](../files/src/formwright/py.typed)\n")
    assert '```text title="a.fw"\n[](x)\n```' in moved
    assert wanted == {"src/formwright/py.typed"}


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "api").glob("*.md")), ids=lambda p: p.stem)
def test_what_the_api_names_is_there_and_says_what_it_is(page: Path) -> None:
    """Read, not imported: solver and interpreter would take longer than the rest."""
    defined: dict[str, ast.ClassDef | ast.FunctionDef] = {}
    for line in page.read_text().splitlines():
        if line.startswith("::: "):
            module = ROOT / "src" / line[4:].strip().replace(".", "/")
            file = module / "__init__.py" if module.is_dir() else module.with_suffix(".py")
            tree = ast.parse(file.read_text())
            assert ast.get_docstring(tree), line
            defined = {n.name: n for n in tree.body if isinstance(n, DEFINITIONS)}
        elif line.strip().startswith("members: ["):
            for name in line.split("[")[1].rstrip("]").split(", "):
                assert ast.get_docstring(defined[name]), f"{page}: {name}"


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    under = getattr(command, "commands", None)
    if under is None:
        yield " ".join(path)
    else:
        for name, each in under.items():
            yield from _commands(each, (*path, name))


def test_every_command_has_its_line() -> None:
    text = (ROOT / "docs" / "commands.md").read_text()
    named = list(_commands(typer.main.get_command(app)))
    assert [name for name in named if f"`{name}`" not in text] == []


def test_the_picture_is_what_the_journal_says() -> None:
    run = picture.read_run(picture.KEPT)
    assert len(run.texts) > run.distinct >= run.qualified == 1
    for scheme in picture.SCHEMES:
        kept = (picture.PICTURES / f"run-{scheme}.svg").read_text()
        assert kept == picture.drawn(run, scheme), "python website/picture.py draws it anew"
    assert f"{run.kernel.median * 1e3:.2f} ms" in (ROOT / "README.md").read_text()


@pytest.mark.slow
def test_the_site_builds_strictly() -> None:
    if importlib.util.find_spec("zensical") is None:
        pytest.skip("zensical is not installed: pip install -e '.[docs]'")
    done = subprocess.run(
        [sys.executable, ROOT / "website" / "stage.py"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    html = stage.STAGE / "html"
    assert (html / "index.html").exists()
    pages = "".join(p.read_text() for p in html.rglob("*.html"))
    for host in ("fonts.googleapis", "cdn.", "unpkg"):
        assert host not in pages
    shutil.rmtree(stage.STAGE)


def test_every_field_of_a_chip_and_every_operator_is_named() -> None:
    chips = (ROOT / "docs" / "chips.md").read_text()
    assert [field for field in FIELDS if f"`{field}`" not in chips] == []
    contracts = (ROOT / "docs" / "write-a-contract.md").read_text().split()
    assert [name for name in OPERATORS if name not in contracts] == []

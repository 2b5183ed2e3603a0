"""Kept proofs: found by content, never believed when altered, read without the solver."""

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from formwright.flow.proving import prove_template
from formwright.ir.expr import num
from formwright.ir.template import Constraint, Template
from formwright.lang import load, load_source
from formwright.proof import kept as kept_files
from formwright.proof.kept import read_text_digest, solver_version
from formwright.proof.store import ProofStore, template_digest
from formwright.proof.verdict import Obligation, Proof


def proof_for(template: Template, verdict: str = "proved") -> Proof:
    good = Obligation("a", "K2", "race", "proved", "proved", 0.1, detail="1 queries")
    last = replace(good, name="b", verdict=verdict)  # type: ignore[arg-type]
    return Proof(template.name, template_digest(template), verdict, (good, last), 0.2, "z3")  # type: ignore[arg-type]


@pytest.fixture
def template() -> Template:
    return load("shared_memory_tiling")[1]


def test_a_kept_proof_comes_back_marked(template: Template, tmp_path: Path) -> None:
    store = ProofStore(tmp_path)
    assert store.get(template) is None
    store.put(template, proof_for(template))
    started = time.perf_counter()
    kept = store.get(template)
    assert time.perf_counter() - started < 0.5
    assert kept is not None
    assert kept.verdict == "proved"
    assert all(o.reused for o in kept.obligations)


def test_only_complete_proofs_are_kept(template: Template, tmp_path: Path) -> None:
    store = ProofStore(tmp_path)
    store.put(template, proof_for(template, "unresolved"))
    assert store.get(template) is None


def test_another_content_has_another_place(template: Template, tmp_path: Path) -> None:
    store = ProofStore(tmp_path)
    store.put(template, proof_for(template))
    more = Constraint("extra", template.constraints[0].condition)
    changed = replace(template, constraints=(*template.constraints, more))
    assert store.get(changed) is None
    assert store.get(replace(template, span=None)) is not None
    assert num(1) == num(1)


@pytest.mark.parametrize("damage", ["cut", "verdict", "digest", "schema", "obligation", "list"])
def test_an_altered_file_is_ignored(template: Template, tmp_path: Path, damage: str) -> None:
    store = ProofStore(tmp_path)
    store.put(template, proof_for(template))
    (path,) = tmp_path.glob("*.json")
    text = path.read_text()
    kept = json.loads(text)
    match damage:
        case "cut":
            path.write_text(text[: len(text) // 2])
        case "list":
            path.write_text("[1, 2]")
        case "verdict":
            kept["proof"]["seconds"] = 9
            path.write_text(json.dumps(kept))
        case "digest":
            kept["sha256"] = "0" * 64
            path.write_text(json.dumps(kept))
        case "schema":
            kept["schema"] = 99
            path.write_text(json.dumps(kept))
        case _:
            kept["proof"]["obligations"].pop()
            path.write_text(json.dumps(kept))
    assert store.get(template) is None


def test_a_text_is_recognised_once_its_template_has_a_proof(
    template: Template, tmp_path: Path
) -> None:
    ProofStore(tmp_path).put(template, proof_for(template))
    text = load_source(template.name).text
    assert read_text_digest(tmp_path, text) is None
    found = prove_template(template.name, store=tmp_path)
    assert read_text_digest(tmp_path, text) == found.digest == template_digest(template)
    assert prove_template(template.name, store=tmp_path) == found


def test_a_text_that_differs_in_a_comment_is_another_text_of_the_same_template(
    template: Template, tmp_path: Path
) -> None:
    store = ProofStore(tmp_path / "proofs")
    store.put(template, proof_for(template))
    text = load_source(template.name).text
    store.put_text(text, template)
    file = tmp_path / "t.fw"
    file.write_text("# a comment\n" + text)
    assert read_text_digest(tmp_path / "proofs", file.read_text()) is None
    assert all(o.reused for o in prove_template(str(file), store=tmp_path / "proofs").obligations)


def test_a_text_alone_is_no_proof(template: Template, tmp_path: Path) -> None:
    ProofStore(tmp_path).put_text("text", template)
    digest = read_text_digest(tmp_path, "text")
    assert digest == template_digest(template)
    assert kept_files.read_proof(tmp_path, digest) is None


@pytest.mark.parametrize("damage", ["cut", "digest", "schema", "list"])
def test_an_altered_text_file_is_ignored(template: Template, tmp_path: Path, damage: str) -> None:
    ProofStore(tmp_path).put_text("text", template)
    (path,) = tmp_path.glob("texts/*.json")
    kept = json.loads(path.read_text())
    match damage:
        case "cut":
            path.write_text(path.read_text()[:40])
        case "digest":
            path.write_text(json.dumps({**kept, "digest": "0" * 64}))
        case "schema":
            path.write_text(json.dumps({**kept, "schema": 99}))
        case _:
            path.write_text("[1, 2]")
    assert read_text_digest(tmp_path, "text") is None


def test_a_text_is_read_anew_when_a_reader_changes(
    template: Template, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ProofStore(tmp_path).put_text("text", template)
    monkeypatch.setattr(kept_files, "_READING", ("base", "ir", "lang"))
    assert read_text_digest(tmp_path, "text") is None


def test_the_version_is_that_of_the_solver() -> None:
    from importlib.metadata import version

    assert solver_version() == f"z3 {version('z3-solver')}"


def test_the_solver_is_not_loaded(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from formwright.lang import load\n"
        "from formwright.proof.store import ProofStore\n"
        f"ProofStore(Path({str(tmp_path)!r})).get(load('packed_gemm')[1])\n"
        "assert 'z3' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_folders_inside_a_package_give_a_proof_its_meaning_too(tmp_path: Path) -> None:
    """A change below ``smt/step`` is a change of what was proved."""
    folder = tmp_path / "formwright"
    (folder / "proof").mkdir(parents=True)
    (folder / "smt" / "step").mkdir(parents=True)
    module = folder / "smt" / "step" / "known.py"
    module.write_text("LIMIT = 1\n")
    before = kept_files._sources_digest(("smt",), folder)
    module.write_text("LIMIT = 2\n")
    assert kept_files._sources_digest(("smt",), folder) != before

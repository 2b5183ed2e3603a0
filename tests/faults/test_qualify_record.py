"""Qualification end to end on a right kernel: the folder, its record, loading, requalifying."""

import json
import shutil
import subprocess
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from qualify_kernels import RIGHT, compile_kernel

import formwright
from formwright.contract.operators import operator
from formwright.contract.stored import contract_from
from formwright.flow.requalifying import requalify_folder
from formwright.measure.timing import Plan
from formwright.qualify.artifact import HASHED, ArtifactError
from formwright.qualify.checks import clauses
from formwright.qualify.qualification import Qualification, qualify
from formwright.qualify.record import Candidate
from formwright.qualify.renew import renew
from formwright.qualify.requalify import requalify

ALL = set(clauses(operator("gemm").contract()))
EXTENTS = {"M": 48, "N": 40, "K": 56}
PROOF = {
    "verdict": "proved",
    "digest": "0" * 64,
    "solver": "none",
    "obligations": [
        {
            "name": "coverage",
            "group": "K2",
            "condition": "coverage",
            "verdict": "proved",
            "evidence": "proved",
        }
    ],
}


def candidate(library: Path, **changed: Any) -> Candidate:
    given: dict[str, Any] = {
        "library": library,
        "source": library.with_suffix(".c").read_text(),
        "template": "template naive : operator -> mapping\n",
        "template_name": "naive",
        "assignment": {"Mr": 4},
        "command": ("/usr/bin/gcc", "-O1", "-o", str(library)),
        "proof": PROOF,
        "predicted_seconds": 1e-4,
        "boundaries": {"K": (16,)},
    }
    return Candidate(**(given | changed))


def qualified(one: Candidate, folder: Path) -> Qualification:
    return qualify(
        one,
        operator("gemm").contract(),
        "small",
        EXTENTS,
        folder,
        chip={"name": "test"},
        threads=1,
        baselines=("numpy",),
        plan=Plan(rounds=3, batch_seconds=0.002),
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_kernel(tmp_path_factory.mktemp("build"), "naive", RIGHT["naive"])


@pytest.fixture(scope="module")
def result(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Qualification:
    return qualified(candidate(library), tmp_path_factory.mktemp("out") / "small")


@pytest.fixture
def folder(result: Qualification, tmp_path: Path) -> Path:
    assert result.folder is not None
    return Path(shutil.copytree(result.folder, tmp_path / "artifact"))


def record_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "record.json").read_text())


def rewrite(folder: Path, change: dict[str, Any]) -> None:
    record = record_of(folder)
    for key, value in change.items():
        record[key] = record[key] | value
    (folder / "record.json").write_text(json.dumps(record))


def test_a_right_kernel_is_qualified_and_its_very_bytes_are_kept(library, result):
    assert result.held, result.reasons
    assert result.reasons == ()
    assert (result.folder / "kernel.so").read_bytes() == library.read_bytes()
    assert not list(result.folder.parent.glob(".*")), "nothing half-written is left"
    record = record_of(result.folder)
    for name in HASHED:
        assert record["files"][name] == sha256((result.folder / name).read_bytes()).hexdigest()
    assert record["evidence"]["binary"]["library"] == record["files"]["kernel.so"]


def test_the_record_keeps_its_kinds_of_evidence_apart(result):
    record = record_of(result.folder)
    evidence = record["evidence"]
    assert set(evidence) == {"template", "binary", "other_build", "trusted"}
    assert {o["evidence"] for o in evidence["template"]["obligations"]} == {"proved"}
    assert {c["evidence"] for c in evidence["binary"]["checks"]} == {"tested"}
    assert {c["verdict"] for c in evidence["binary"]["checks"]} == {"held"}
    assert {c["name"] for c in evidence["binary"]["checks"]} == set(
        clauses(operator("gemm").contract())
    ) - {"threads", "ahead"}
    assert evidence["other_build"] == []
    assert [t["name"] for t in evidence["trusted"]] == [
        "emitter",
        "compiler",
        "runtime",
        "reference",
    ]
    assert all(r["seed"] > 0 for r in evidence["binary"]["runs"])
    assert record["sandbox"] in ("plain", "seccomp", "landlock", "bubblewrap")


def test_the_record_obeys_its_schema_and_nothing_looser(result):
    record = record_of(result.folder)
    schema = json.loads((resources.files("formwright") / "qualify/record.schema.json").read_text())
    checker = jsonschema.Draft202012Validator(schema)
    assert [e.message for e in checker.iter_errors(record)] == []
    for key in record:
        assert list(checker.iter_errors({k: v for k, v in record.items() if k != key})), key
    assert list(checker.iter_errors(record | {"more": 1}))
    tested = record["evidence"]["binary"]["checks"][0]
    tested["evidence"] = "proved"
    assert list(checker.iter_errors(record)), "a test is never called a proof"


def test_the_header_compiles_and_tells_the_domain(result, tmp_path):
    text = (result.folder / "kernel.h").read_text()
    for words in ("[0] input float A[M, K] (f32)", "[2] output float C[M, N] (f32)", "[2] K in 0"):
        assert words in text
    (tmp_path / "use.c").write_text(
        '#include "kernel.h"\nint main(void) { return fw_abi() + (int)sizeof(&fw_call); }\n'
    )
    command = ["gcc", "-Wall", "-Werror", "-fsyntax-only", f"-I{result.folder}", "use.c"]
    subprocess.run(command, cwd=tmp_path, check=True)


def test_the_record_names_no_folder_of_the_machine(result):
    record = record_of(result.folder)
    assert record["build"]["command"] == ["gcc", "-O1", "-o", "naive.so"]
    assert str(result.folder.parent) not in json.dumps(record)


def test_the_record_holds_the_distributions_of_both(result):
    timing = record_of(result.folder)["timing"]
    assert set(timing["programs"]) == {"kernel", "numpy"}
    for program in timing["programs"].values():
        assert len(program["samples"]) == 3
        assert 0 < program["seconds"]["low"] <= program["seconds"]["median"]
    assert timing["ratios"]["numpy"]["median"] > 0


def test_the_contract_of_the_folder_is_the_contract(result):
    data = json.loads((result.folder / "contract.json").read_text())
    assert contract_from(data) == operator("gemm").contract()


def test_it_loads_and_computes(folder):
    kernel = formwright.load(folder)
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert np.array_equal(kernel(a, a.T.copy()), a @ a.T)
    assert kernel.assignment == {"Mr": 4}


def test_a_wrong_kernel_gets_no_artifact(tmp_path):
    library = compile_kernel(tmp_path, "wrong", "PARTIAL(K > 1 ? K - 1 : K)")
    result = qualified(candidate(library), tmp_path / "artifact")
    assert not result.held
    assert result.folder is None
    assert any(r.startswith("tolerance: ") for r in result.reasons)
    assert not (tmp_path / "artifact").exists()
    assert result.timing == {}, "only what is right is timed"


def test_a_template_that_is_not_proved_gets_no_artifact(tmp_path, monkeypatch, library, result):
    monkeypatch.setattr(
        "formwright.qualify.qualification.validate", lambda *_, **__: result.validation
    )
    for verdict in ("refuted", "unresolved", "vacuous"):
        one = candidate(library, proof=PROOF | {"verdict": verdict})
        refused = qualified(one, tmp_path / "artifact")
        assert refused.reasons == (f"template naive is {verdict}, not proved",)
        assert not (tmp_path / "artifact").exists()


def test_requalifying_runs_the_checks_on_the_very_binary_with_new_seeds(folder):
    again = requalify(folder)
    assert again.held
    assert again.changes == ()
    record = record_of(folder)
    assert again.validation.library == record["files"]["kernel.so"]
    seeds = {r["seed"] for r in record["evidence"]["binary"]["runs"]}
    assert not seeds & {r.seed for r in again.validation.runs}


@pytest.mark.parametrize("name", HASHED)
def test_a_changed_file_voids_what_rests_on_it(folder, name):
    (folder / name).write_bytes((folder / name).read_bytes() + b"\n")
    again = requalify(folder)
    assert not again.held
    assert again.validation is None, "another binary is not run in the name of this one"
    assert [c.fact for c in again.changes] == [name]
    assert again.as_json()["changes"][0]["voids"]
    (folder / name).unlink()
    assert requalify(folder).changes[0].now == "missing"


def test_changed_facts_are_named_with_the_evidence_that_they_void(folder, monkeypatch, result):
    monkeypatch.setattr("formwright.qualify.requalify.validate", lambda *_, **__: result.validation)
    facts = record_of(folder)["facts"]
    tools = facts["tools"] | {"formwright": "0.0.1", "z3-solver": "4.16.0"}
    old = {"cpu": "another", "compiler": "gcc (Other) 9.1", "tools": tools}
    rewrite(folder, {"facts": old})
    again = requalify(folder)
    assert again.held, "the checks hold again; what is void is said"
    found = {c.fact: c for c in again.changes}
    assert set(found) == {"cpu", "compiler", "formwright", "z3-solver"}
    assert found["cpu"].recorded == "another"
    assert "timings" in found["cpu"].voids
    assert "rebuild would be another artifact" in found["compiler"].voids
    assert "prove the template again" in found["formwright"].voids


@pytest.mark.slow
def test_what_holds_again_is_renewed_in_the_record(folder, monkeypatch, result):
    monkeypatch.setattr("formwright.qualify.requalify.validate", lambda *_, **__: result.validation)
    assert renew(requalify(folder)).renewed == (), "nothing changed, nothing is written"
    before = record_of(folder)
    library = (folder / "kernel.so").read_bytes()
    rewrite(folder, {"facts": {"microcode": "0x0", "isa": "other"}})
    again = renew(requalify(folder), plan=Plan(rounds=3, batch_seconds=0.002))
    assert again.held
    assert again.renewed == ("facts", "tests", "timings")
    record = record_of(folder)
    assert record["facts"] == before["facts"]
    assert record["timing"]["seed"] != before["timing"]["seed"]
    assert set(record["timing"]["programs"]) == {"kernel", "numpy"}
    assert record["evidence"]["template"] == before["evidence"]["template"]
    assert record["renewed"][0]["changed"] == ["isa", "microcode"]
    assert (folder / "kernel.so").read_bytes() == library
    assert requalify(folder).changes == ()
    assert formwright.load(folder).record["renewed"]
    schema = json.loads((resources.files("formwright") / "qualify/record.schema.json").read_text())
    assert list(jsonschema.Draft202012Validator(schema).iter_errors(record)) == []


def test_a_template_is_proved_again_for_another_version(folder, monkeypatch, result):
    monkeypatch.setattr("formwright.qualify.requalify.validate", lambda *_, **__: result.validation)

    class Proved:
        verdict = "proved"

        def as_json(self) -> dict[str, Any]:
            return PROOF | {"digest": "1" * 64}

    said = Proved()
    monkeypatch.setattr("formwright.flow.requalifying.prove_source", lambda _: said)
    tools = record_of(folder)["facts"]["tools"] | {"formwright": "0.0.1"}
    rewrite(folder, {"facts": {"tools": tools}})
    said.verdict = "unresolved"
    refused = requalify_folder(folder)
    assert not refused.held
    assert refused.changes[-1].fact == "proof"
    said.verdict = "proved"
    assert requalify_folder(folder).renewed == ("facts", "tests", "proof")
    assert record_of(folder)["evidence"]["template"]["digest"] == "1" * 64


def test_a_contract_that_this_version_states_otherwise_voids_every_test(folder, monkeypatch):
    monkeypatch.setattr("formwright.qualify.requalify.contract_digest", lambda _: "2" * 64)
    again = requalify(folder)
    assert not again.held
    assert again.validation is None
    assert [c.fact for c in again.changes] == ["contract"]


def test_requalifying_what_is_no_artifact_is_an_error(tmp_path, folder):
    with pytest.raises(ArtifactError, match="not a folder"):
        requalify(tmp_path / "nowhere")
    record = record_of(folder)
    del record["facts"]
    (folder / "record.json").write_text(json.dumps(record))
    with pytest.raises(ArtifactError, match="lacks facts"):
        requalify(folder)


def test_a_timing_of_another_library_is_refused(library, tmp_path, monkeypatch, result):
    monkeypatch.setattr(
        "formwright.qualify.qualification.validate", lambda *_, **__: result.validation
    )
    for timing, words in (
        (result.timing | {"library": "0" * 64}, "not the one that would be kept"),
        (result.timing | {"programs": {"kernel": {"failure": "hung"}}}, "timing: hung"),
    ):
        refused = qualify(
            candidate(library),
            operator("gemm").contract(),
            "small",
            EXTENTS,
            tmp_path / "artifact",
            chip={},
            threads=1,
            timing=timing,
        )
        assert len(refused.reasons) == 1
        assert words in refused.reasons[0]
        assert not (tmp_path / "artifact").exists()


def test_a_second_qualification_replaces_the_first_whole(library, tmp_path, monkeypatch, result):
    monkeypatch.setattr(
        "formwright.qualify.qualification.validate", lambda *_, **__: result.validation
    )
    monkeypatch.setattr(
        "formwright.qualify.qualification.time_programs", lambda *_, **__: result.timing
    )
    for text in ("first\n", "second\n"):
        assert qualified(candidate(library, template=text), tmp_path / "artifact").held
        assert (tmp_path / "artifact" / "template.fw").read_text() == text
    assert [p.name for p in tmp_path.iterdir()] == ["artifact"]

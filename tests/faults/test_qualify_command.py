"""``formwright qualify``: a record or the reasons why not; what is no kernel is bad input."""

import json
import shutil
from importlib import resources
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from foreign_kernels import RIGHT, WRONG
from qualify_kernels import RIGHT as WITH_INTERFACE
from qualify_kernels import compile_kernel

import formwright
from formwright.cli.main import run
from formwright.contract.operators import operator
from formwright.flow.judging import Judgement, judge_kernel
from formwright.measure.plan import Plan
from formwright.qualify.adapter import interface_of
from formwright.qualify.foreign import build_kernel, find_kernel
from formwright.qualify.requalify import requalify

CONTRACT = """
operator = "softmax"
[extents]
R = [1, 16]
C = [1, 96]
[workloads.small]
R = 8
C = 65
"""


@pytest.fixture(scope="module")
def contract(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("contract") / "small.toml"
    path.write_text(CONTRACT)
    return path


@pytest.fixture(scope="module")
def judged(contract: Path, tmp_path_factory: pytest.TempPathFactory) -> Judgement:
    folder = tmp_path_factory.mktemp("mine")
    source = folder / "three passes.c"
    source.write_text(RIGHT["softmax in three passes"].source)
    plan = Plan(rounds=3, batch_seconds=0.002)
    return judge_kernel(source, str(contract), folder / "out", flags=("-O3",), plan=plan)


def test_a_right_kernel_of_another_tool_gets_a_record_that_claims_no_proof(judged: Judgement):
    assert judged.held, [r.reasons for r in judged.results.values()]
    (result,) = judged.results.values()
    assert result.folder.name == "three_passes"
    record = json.loads((result.folder / "record.json").read_text())
    schema = json.loads((resources.files("formwright") / "qualify/record.schema.json").read_text())
    assert list(jsonschema.Draft202012Validator(schema).iter_errors(record)) == []
    assert record["template"] == {"name": "none", "digest": "", "sha256": ""}
    assert record["evidence"]["template"]["verdict"] == "none"
    assert record["evidence"]["template"]["obligations"] == []
    assert {c["evidence"] for c in record["evidence"]["binary"]["checks"]} == {"tested"}
    assert record["evidence"]["trusted"][0]["name"] == "author"
    assert record["generation"]["by"] == "another tool"
    assert "-O3" in record["build"]["command"]
    assert set(record["files"]) == {
        "kernel.so",
        "kernel.c",
        "adapter.c",
        "kernel.h",
        "contract.json",
        "assignment.json",
    }
    assert set(record["timing"]["programs"]) == {"kernel", "numpy"}


def test_its_artifact_loads_computes_and_is_checked_again(judged: Judgement, tmp_path: Path):
    (result,) = judged.results.values()
    folder = shutil.copytree(result.folder, tmp_path / "artifact")
    kernel = formwright.load(folder)
    x = np.random.default_rng(1).standard_normal((5, 40)).astype(np.float32)
    weights = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    wanted = weights / weights.sum(axis=1, keepdims=True)
    assert kernel.reason(x) is None
    np.testing.assert_allclose(kernel(x), wanted, rtol=1e-5)
    padded = np.full((5, 60), np.nan, np.float32)
    padded[:, :40] = x
    assert kernel.reason(padded[:, :40]) is None, "the adapter takes padded rows"
    np.testing.assert_allclose(kernel(padded[:, :40]), wanted, rtol=1e-5)
    assert kernel.reason(np.zeros((17, 4), np.float32)).kind == "extents"
    (folder / "adapter.c").write_text("")
    assert [c.fact for c in requalify(folder).changes] == ["adapter.c"]


def test_a_wrong_one_gets_the_reasons_and_no_record(contract: Path, tmp_path: Path, capsys):
    source = tmp_path / "wrong.c"
    source.write_text(WRONG["sums not rescaled"].source)
    command = ["qualify", str(source), "--contract", str(contract), "--out", str(tmp_path / "out")]
    assert run([*command, "--json"]) == 1
    shown = json.loads(capsys.readouterr().out)
    assert not shown["held"]
    assert shown["template"] == "none"
    assert any(r.startswith("rescaled: ") for r in shown["shapes"]["small"]["reasons"])
    kept = list((tmp_path / "out").iterdir())
    assert [p.name for p in kept] == ["counterexamples.jsonl"], "nothing but what refused it"
    assert run(command) == 1
    out = capsys.readouterr().out
    assert "refused" in out
    assert "nothing is proved" in out


@pytest.mark.slow
def test_a_library_with_the_interface_is_judged_as_it_is(tmp_path: Path):
    library = compile_kernel(tmp_path, "built", "PARTIAL(K > 1 ? K - 1 : K)")
    library.with_suffix(".c").unlink()
    (tmp_path / "built.toml").write_text('call = "fw_call"\n')
    (tmp_path / "kernel.toml").write_text('library = "built.so"\ncall = "fw_call"\n')
    for given in (library, tmp_path):
        judged = judge_kernel(given, "gemm", tmp_path / "out")
        assert not judged.held
        assert any("without its last term" in r for r in judged.results["usual"].reasons)


BAD = {
    "no file": ("nowhere.c", "", "gemm", "does not exist"),
    "no function": ("k.c", "int other;", "gemm", "defines neither fw_call nor kernel"),
    "another signature": (
        "k.c",
        "void kernel(const float *A, float *C, int n) {}",
        "gemm",
        "the signature is void kernel(const float *, const float *, float *, int64_t, int64_t",
    ),
    "no C": ("k.c", "void kernel( {", "gemm", "the compiler refused k.c"),
    "no operator": ("k.c", "void kernel(", "softmx", 'did you mean "softmax"?'),
    "no such element type": ("k.c", "void kernel(", "gemm:i4", 'element type "i4"'),
    "a library alone": ("k.so", "", "gemm", "no k.toml beside it"),
    "something else": ("k.py", "", "gemm", "no C file and no library"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_kernel_is_bad_input(name: str, tmp_path: Path, capsys):
    file, text, contract, words = BAD[name]
    if name != "no file":
        (tmp_path / file).write_text(text)
    out = str(tmp_path / "out")
    assert run(["qualify", str(tmp_path / file), "--contract", contract, "--out", out]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "flag", ["-fplugin=x.so", "-march=native", "@file", "-include", "-I/etc", "-wrapper", "-B/tmp"]
)
def test_a_flag_that_reads_files_or_runs_programs_is_not_taken(flag, tmp_path, capsys):
    (tmp_path / "k.c").write_text("void kernel(")
    command = ["qualify", str(tmp_path / "k.c"), "--contract", "gemm", f"--flag={flag}"]
    assert run(command) == 2
    assert "is not taken" in capsys.readouterr().err
    (tmp_path / "kernel.toml").write_text(f'source = "k.c"\nflags = ["{flag}"]\n')
    assert run(["qualify", str(tmp_path), "--contract", "gemm"]) == 2
    assert "kernel.toml:2:" in capsys.readouterr().err


CONTRACTS = {
    'operator = "softmx"': '1:12: error: unknown operator "softmx"',
    'operator = "softmax"\n[extents]\nC = 0': "outside the contract of softmax",
    'operator = "softmax"\n[extents]\nC = "x"': "3:5: error: C is not a range",
    'operator = "softmax"\nrelation = { kind = "ulp" }': "relation ulp needs a number of units",
    'operator = "softmax"\n[workloads.a]\nR = 3': 'workload "a" has no C',
    'operator = "softmax"\nfoo = 1': 'unknown key "foo"',
}


@pytest.mark.parametrize("text", CONTRACTS)
def test_a_contract_that_is_none_points(text: str, tmp_path: Path, capsys):
    (tmp_path / "c.toml").write_text(text)
    (tmp_path / "k.c").write_text("void kernel(")
    command = ["qualify", str(tmp_path / "k.c"), "--contract", str(tmp_path / "c.toml")]
    assert run(command) == 2
    assert CONTRACTS[text] in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ['#include "more.h"', "#include </dev/null>", '__asm__(".incbin \\"more.h\\"");']
)
def test_source_that_takes_in_other_files_is_not_taken(text: str, tmp_path: Path, capsys):
    """The record keeps one file: what else went into the library would stand nowhere."""
    (tmp_path / "more.h").write_text("")
    text = text.replace("more.h", str(tmp_path / "more.h"))
    (tmp_path / "k.c").write_text(f"{text}\n{RIGHT['rmsnorm in double'].source}")
    assert run(["qualify", str(tmp_path / "k.c"), "--contract", "rmsnorm"]) == 2
    assert "k.c takes in " in capsys.readouterr().err


def test_a_comment_that_speaks_of_the_interface_is_no_interface():
    spoken = '/* unlike fw_call (\n) */ // fw_call(x)\nchar *t = "\\"fw_call()";'
    assert interface_of(spoken) is None
    assert interface_of(spoken + "int32_t fw_call (void)") == "fw_call"


WIDE = 'relation = { kind = "absolute_relative", relative = 1 }'


def test_a_relation_that_zeros_keep_is_no_contract(tmp_path: Path, capsys):
    """Whatever is refused by other checks: what is allowed must be less than everything."""
    (tmp_path / "c.toml").write_text(f'operator = "rmsnorm"\n{WIDE}')
    (tmp_path / "k.c").write_text(RIGHT["rmsnorm in double"].source)
    command = ["qualify", str(tmp_path / "k.c"), "--contract", str(tmp_path / "c.toml")]
    assert run([*command, "--out", str(tmp_path)]) == 2
    assert "so wide that zeros are right" in capsys.readouterr().err


def test_source_with_the_interface_of_its_own_needs_no_adapter(tmp_path: Path):
    library = compile_kernel(tmp_path, "own", WITH_INTERFACE["naive"])
    kernel = find_kernel(library.with_suffix(".c"))
    built = build_kernel(kernel, operator("gemm").contract(), tmp_path)
    assert built.adapter is None
    assert built.source == kernel.path.read_text()
    assert "kernel.c" in built.command

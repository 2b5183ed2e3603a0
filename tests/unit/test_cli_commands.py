"""The commands as a user meets them: keys, exit status, messages, help."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from formwright import __version__
from formwright.cli.main import run
from formwright.lang import load, load_source
from formwright.proof.store import ProofStore, template_digest
from formwright.proof.verdict import Obligation, Proof

TILING = "shared_memory_tiling"
SHAPE = "M=1000,N=1000,K=1000"
BEST = "Tm=128,Tn=128,Tk=32,S=3,P=1,beta=0"


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    status = run([*arguments, "--json"])
    return status, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    "command",
    ["run", "prove", "solve", "check", "weakest", "show", "fmt", "requalify", "chip show"],
)
def test_help_shows_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command.split(), "--help"]) == 0
    assert f"Example: formwright {command}" in capsys.readouterr().out


def test_the_command_says_which_version_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"formwright {__version__}\n"


def test_help_loads_no_solver() -> None:
    code = (
        "import sys, typer; before = set(sys.modules);"
        "from formwright.cli.main import run; run(['--help']); new = set(sys.modules) - before;"
        "sys.exit(any(m in new for m in ('z3', 'highspy', 'numpy', 'scipy', 'rich')))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_kept_proof_is_read_with_next_to_nothing_loaded(
    options: list[str], tmp_path: Path
) -> None:
    """Start-up is most of what a kept proof takes: what is not imported cannot be slow."""
    template = load(TILING)[1]
    good = Obligation("a", "K2", "race", "proved", "proved", 0.1)
    proof = Proof(TILING, template_digest(template), "proved", (good,), 0.2, "z3")
    store = ProofStore(tmp_path / "formwright" / "proofs")
    store.put(template, proof)
    store.put_text(load_source(TILING).text, template)
    code = (
        "import sys, typer; before = set(sys.modules)\n"
        "from formwright.cli.main import run\n"
        f"status = run(['prove', {TILING!r}, *{options!r}])\n"
        "print(*sorted(set(sys.modules) - before), file=sys.stderr); sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    assert "reused" in done.stdout
    loaded = done.stderr.split()
    assert "formwright.proof.kept" in loaded
    heavy = ("z3", "highspy", "numpy", "scipy", "rich", "email", "importlib.metadata")
    own = ("formwright.lang.parser", "formwright.ir.expr", "formwright.smt", "formwright.replay")
    assert not {m for m in loaded for h in (*heavy, *own) if m == h or m.startswith(f"{h}.")}


def test_solve_gives_the_optimum_of_the_paper(capsys: pytest.CaptureFixture[str]) -> None:
    for solver in ("milp", "enumerate"):
        status, got = call(
            capsys, "solve", TILING, "--chip", "illustrative", "--set", SHAPE,
            "--solver", solver, "--ties",
        )  # fmt: skip
        assert status == 0
        assert got["feasible"] == 722
        assert got["gap"] == 0
        assert got["objective"] == pytest.approx(53.140e-6, rel=1e-4)
        assert {"Tm": 128, "Tn": 128, "Tk": 32, "S": 3, "P": 1, "beta": 0} in got["ties"]
        assert {
            "assignment", "objective", "bound", "gap", "feasible", "variables", "constraints",
            "solver", "seconds",
        } <= set(got)  # fmt: skip


def test_check_holds_and_fails_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    place = ("--chip", "illustrative", "--set", SHAPE, "--assign")
    assert call(capsys, "check", TILING, *place, BEST)[0] == 0
    status, got = call(capsys, "check", TILING, *place, BEST.replace("S=3", "S=2"))
    assert status == 1
    assert set(got["failed"]) == {"C3", "lifetime"}


def test_prove_gives_each_obligation(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    status, got = call(capsys, "prove", TILING)
    assert status == 0
    assert got["verdict"] == "proved"
    assert {o["verdict"] for o in got["obligations"]} == {"proved"}
    assert {o["evidence"] for o in got["obligations"]} == {"proved"}
    assert not any(o["reused"] for o in got["obligations"])
    again = call(capsys, "prove", TILING)[1]
    assert all(o["reused"] for o in again["obligations"])
    assert [o["name"] for o in again["obligations"]] == [o["name"] for o in got["obligations"]]


@pytest.mark.slow
def test_weakest_is_exact_on_the_24_combinations(capsys: pytest.CaptureFixture[str]) -> None:
    status, got = call(capsys, "weakest", TILING, "--chip", "illustrative", "--set", SHAPE)
    assert status == 0
    assert got["exact"]
    assert got["checked"] == 24
    assert got["missing"] == got["excess"] == []
    assert got["loss"][SHAPE]["relative"] == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["prove", "shared_memory_tilling"], "shared_memory_tiling"),
        (["prove", "no/such.fw"], "cannot read"),
        (["solve", TILING, "--chip", "illustrative", "--set", "M=1000,N=1000"], "extent K"),
        (["solve", TILING, "--chip", "illustrative", "--set", "M=x,N=1,K=1"], "NAME=INTEGER"),
        (["solve", TILING, "--chip", "illustrative", "--set", "M=1,N=1,K=0"], "outside the scope"),
        (["solve", TILING, "--chip", "illustrative", "--set", "M=1,N=1,K=1,L=2"], "no extent L"),
        (["solve", TILING, "--chip", "illustrativ", "--set", SHAPE], "illustrative"),
        (["solve", "packed_gemm", "--chip", "illustrative", "--set", SHAPE], "has no field"),
        (["check", TILING, "--chip", "illustrative", "--set", SHAPE, "--assign", "Tm=1"], "Tn"),
        (["run", "no/such.toml"], "no/such.toml"),
        (["requalify", "no/such/folder"], "no/such/folder"),
        (["solve", TILING], "--chip"),
        (["polish", TILING], "polish"),
    ],
)
def test_bad_input_is_named_and_gives_2(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert says in captured.err
    assert captured.out == ""
    assert "Traceback" not in captured.err


def test_errors_are_data_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "t.fw"
    file.write_text("template t : a -> b\nscope\n  extents M >= 1\n")
    assert run(["prove", str(file), "--json"]) == 2
    faults = json.loads(capsys.readouterr().out)["error"]
    assert faults
    assert all(f["file"] == str(file) and f["line"] >= 1 for f in faults)


def test_fmt_keeps_comments_and_says_what_it_would_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "t.fw"
    file.write_text("# on top\n" + load_source(TILING).text.replace(" + ", "  +  "))
    assert run(["fmt", str(file), "--check"]) == 1
    assert run(["fmt", str(file), "--write"]) == 0
    assert run(["fmt", str(file), "--check"]) == 0
    assert file.read_text().startswith("# on top\n")
    capsys.readouterr()


def test_fmt_writes_no_file_for_a_template_that_ships(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["fmt", TILING, "--write"]) == 2
    assert "ships with the package" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert run(["fmt", TILING]) == 0

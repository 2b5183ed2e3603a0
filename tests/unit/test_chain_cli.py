"""The commands on a chain: what they print, their JSON, their exit status."""

import json
from pathlib import Path

import pytest

from chain_texts import edited
from formwright.cli.main import run

SIZES = "M=64,N=64,K=64"


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_prove_prints_the_theorem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(edited(tmp_path, {}, last=1))
    assert run(["prove", path]) == 0
    shown = capsys.readouterr().out
    assert "reduction_partition" in shown
    assert "every run of partitioned ends" in " ".join(shown.split())
    assert "gemm: proved (1 steps" in shown
    assert run(["prove", path, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["verdict"], found["evidence"], found["broken"]) == ("proved", "proved", "")
    assert found["composition"]["verdict"] == "proved"
    assert [a["name"] for a in found["assumptions"]] == ["reals", "semantics"]
    (step,) = found["steps"]
    assert {o["group"] for o in step["obligations"]} >= {"K2", "K3"}


@pytest.mark.slow
def test_prove_of_a_fault_names_the_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")  # a narrower table folds the words
    path = str(edited(tmp_path, {"1": {"KT = ceil(K/Tk)": "KT = K // Tk"}}, last=2))
    assert run(["prove", path]) == 1
    shown = capsys.readouterr().out
    assert "inherited from reduction_partition" in shown
    assert "not proved" in shown
    assert "assuming" not in shown
    assert "gemm: refuted at reduction_partition" in shown
    assert run(["prove", path, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [s["inherited"] for s in found["steps"]] == [False, True]
    assert found["steps"][1]["because"] == "reduction_partition"
    assert found["evidence"] == "none"


@pytest.mark.slow
def test_solve_tells_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["solve", "gemm", "--chip", "chain", "--set", SIZES, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["status"] == "optimal"
    assert len(found["steps"]) == 5
    assert found["steps"][1]["fixed"]["cyclic"]["value"] == 0
    assert found["steps"][-1]["solution"]["assignment"] == found["assignment"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--set", "M=64,N=64"], "no value for the extent K"),
        (["--set", f"{SIZES},chip.area=3"], "area value needs a unit"),
        (["--set", f"{SIZES},chip.areas=3 mm2"], 'did you mean "area"'),
        (["--set", f"{SIZES},chip.area=3 GHz"], "measures frequency, not area"),
        (["--set", f"{SIZES},chip.area=0.01 mm2"], "needs 32768*chip.byte_area"),
        (["--set", SIZES, "--chip", "illustrative"], "has no field area"),
    ],
)
def test_solve_tells_what_is_missing(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    chip = [] if "--chip" in arguments else ["--chip", "chain"]
    assert run(["solve", "gemm", *chip, *arguments]) == 2
    assert told in capsys.readouterr().err


def test_show_lists_the_steps(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "gemm", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["workload"] == "C[M,N] = sum(k < K) A[M,k] * B[k,N]"
    assert found["steps"][2]["decisions"]["mechanism"] == [0, 1, 2]
    assert run(["show", "chains/gemm.toml"]) == 0
    assert "double_buffering: transferred -> rotating" in capsys.readouterr().out


@pytest.mark.slow
def test_check_looks_at_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["solve", "gemm", "--chip", "chain", "--set", SIZES, "--json"]) == 0
    best = json.loads(capsys.readouterr().out)["assignment"]
    for change, status, failed in (
        ({}, 0, []),
        ({"S": 1, "P": 1, "beta": 0}, 1, ["double_buffering.C2", "double_buffering.lifetime"]),
        ({"burst": 4, "depth": 1}, 1, ["shared_resources.gather", "shared_resources.no_deadlock"]),
    ):
        assign = ",".join(f"{n}={v}" for n, v in (best | change).items())
        sizes = ["--chip", "chain", "--set", SIZES]
        assert run(["check", "gemm", *sizes, "--assign", assign, "--json"]) == status
        assert set(failed) <= set(json.loads(capsys.readouterr().out)["failed"])

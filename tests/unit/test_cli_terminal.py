"""What every command keeps to on a terminal: ``--json`` is one document, ``--quiet`` is quiet."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import typer

from formwright.cli.main import app, run

TESTS = Path(__file__).parents[1]
SMALL = str(TESTS / "language" / "ok_smallest.fw")
KEPT_RUN = TESTS.parent / "studies" / "transcripts" / "gemm"
SHAPE = ("--chip", "illustrative", "--set", "M=64,N=64,K=64")
TILING = "shared_memory_tiling"
DESIGN = "Tm=16,Tn=16,Tk=8,S=1,P=0,beta=1"


def commands(
    command: click.Command, name: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield " ".join(name), command
        return
    for word, inner in command.commands.items():
        yield from commands(inner, (*name, word))


ALL = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_command_takes_json_and_quiet(name: str) -> None:
    options = {text for p in ALL[name].params for text in p.opts}
    assert {"--json", "--quiet", "-q"} <= options
    assert name == "mcp" or "Example: formwright" in str(ALL[name].epilog)


QUICK: dict[str, tuple[str, ...]] = {
    "prove": ("prove", SMALL, "--fresh"),
    "solve": ("solve", TILING, *SHAPE),
    "check": ("check", TILING, *SHAPE, "--assign", DESIGN),
    "show": ("show", TILING),
    "fmt": ("fmt", SMALL),
    "certify": ("certify", SMALL, "--out", "certificates"),
    "audit": ("audit", SMALL, "--seed", "1"),
    "roofline": ("roofline", TILING, *SHAPE, "--assign", DESIGN),
    "report": ("report", "run"),
    "chip show": ("chip", "show", "illustrative"),
    "library show": ("library", "show", "gemmini"),
    "population add": ("population", "add", "small.fw", "--population", "p.sqlite"),
    "population list": ("population", "list", "--shelf", "--population", "p.sqlite"),
    "population show": ("population", "show", "copy", "--population", "p.sqlite"),
    "population export": ("population", "export", "shared", "--population", "p.sqlite"),
    "population import": ("population", "import", "shared", "--population", "q.sqlite"),
    "population copy": ("population", "copy", "p.sqlite", "r.sqlite"),
    "population migrate": ("population", "migrate", "--population", "p.sqlite"),
}
"""In order: later ones read what earlier ones wrote."""

SLOW: dict[str, tuple[str, ...]] = {
    "weakest": ("weakest", TILING, "--chip", "illustrative"),
    "chip detect": ("chip", "detect"),
    "codesign": ("codesign", "pairs", "--out", "pairs"),
    "run": ("run", "tiny.toml", "--out", "out"),
    "qualify": ("qualify", "mine.c", "--contract", "gemv", "--out", "judged", "--at", "N=64,K=64"),
    "requalify": ("requalify", "out/artifacts/one"),
    "study growth": ("study", "growth", "--problems", "1", "--repeats", "1"),
    "study transfer": ("study", "transfer", "--task", "norm", "--repeats", "1"),
    "study white-black": (
        "study", "white-black", "--task", "decode-512", "--seeds", "1", "--searcher", "random",
        "--evaluations", "2",
    ),
}  # fmt: skip

SERVERS = ("mcp", "serve")
"""They do not end by themselves: tests of their own (docs/mcp.md, tests/faults/test_serve_*.py)."""


def test_no_command_is_left_out() -> None:
    assert set(ALL) == {*QUICK, *SLOW, *SERVERS}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a cache of its own."""
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.delenv("FORMWRIGHT_POPULATION", raising=False)
    shutil.copytree(KEPT_RUN, tmp_path / "run")
    shutil.copy(SMALL, tmp_path / "small.fw")
    return tmp_path


def called(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = run(list(arguments))
    out, err = capfd.readouterr()
    return status, out, err


def one_document(text: str) -> Any:
    value, end = json.JSONDecoder().raw_decode(text)
    assert text[end:] == "\n"
    return value


def hold(name: str, arguments: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> None:
    status, out, err = called(capfd, *arguments, "--json", "--quiet")
    assert status in (0, 1), (name, err)
    assert one_document(out)["schema"] == 1, name
    assert err == "", name
    status, out, err = called(capfd, *arguments, "-q")
    assert err == "", name
    assert "\x1b" not in out, name


def test_json_is_one_document_and_quiet_says_nothing(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, arguments in QUICK.items():
        hold(name, arguments, capfd)


@pytest.mark.slow
def test_long_commands_too(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (place / "tiny.toml").write_text(
        'name = "tiny"\ntemplates = ["gemv_rows"]\noperator = "gemv"\nthreads = 1\n'
        'baselines = ["numpy"]\n[workloads]\none = { N = 64, K = 64 }\n'
        "[budget]\ncandidates = 1\nrounds = 1\n"
    )
    (place / "mine.c").write_text(
        "#include <stdint.h>\n"
        "void kernel(const float *W, const float *x, float *y, int64_t M, int64_t K) {\n"
        "  for (int64_t i = 0; i < M; i++) {\n    float sum = 0;\n"
        "    for (int64_t k = 0; k < K; k++) sum += W[i * K + k] * x[k];\n    y[i] = sum;\n"
        "  }\n}\n"
    )
    for name, arguments in SLOW.items():
        hold(name, arguments, capfd)


def test_without_quiet_progress_goes_to_standard_error_alone(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = called(capfd, "prove", SMALL, "--fresh", "--json")
    assert status == 0
    assert one_document(out)["verdict"] == "proved"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("prove", "nowhere.fw"), "nowhere.fw"),
        (("prove",), "Missing argument"),
        (("solve", TILING, "--set", "M=1"), "--chip"),
        (("nothing",), "No such command"),
        (("prove", SMALL, "--nope"), "--nope"),
        (("chip", "show", "no-such-chip"), "no-such-chip"),
        (("mcp",), "the protocol's here"),
    ],
)
def test_errors_are_one_document_too(
    arguments: tuple[str, ...], told: str, place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status, out, err = called(capfd, *arguments, "--json")
    assert status == 2
    document = one_document(out)
    assert document["schema"] == 1
    assert told in document["error"][0]["message"]
    assert told in err


def test_columns_are_kept_to_by_every_table(
    place: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No row is cut: what a wide terminal shows is all there on one of 40 columns."""
    shown: dict[int, dict[str, str]] = {}
    for width in (40, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        shown[width] = {}
        for name in ("prove", "chip show", "library show", "audit", "roofline"):
            _, out, _ = called(capfd, *QUICK[name], "-q")
            shown[width][name] = out
    for name, out in shown[200].items():
        narrow = "".join(shown[40][name].split())
        times = re.compile(r"\d+\.\d+")  # two proofs do not take the same
        for word in times.sub(" ", out).split():
            # A column without any value has no line in a list.
            assert word in narrow or word == "spread", (name, word)


def test_colour_is_for_terminals_and_not_for_who_says_no(
    place: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("chip show", "prove", "show"):
        assert "\x1b" not in "".join(called(capfd, *QUICK[name])[1:])
    assert os.environ.get("FORCE_COLOR") is None
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes it for a terminal
    _, out, _ = called(capfd, *QUICK["chip show"])
    assert not any(f"\x1b[{code}" in out for code in ("3", "4", "9", "1;3"))

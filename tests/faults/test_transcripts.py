"""The recorded runs that ship: repeated, they decide as they did, and nothing asks a machine.

What a language model answered is in ``studies/transcripts/*/transcript.jsonl``, what the machine
of then measured in ``journal.jsonl``. By default builds and validations are given again as well;
the slow test makes them here. Proofs, solutions, refits and diagnoses are always made anew.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from effort import thinned
from formwright.agent.protocol import Request
from formwright.agent.recorded import Recorded
from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.cli.main import run
from formwright.contract.operators import operator
from formwright.contract.problem import load_problem
from formwright.flow import performing
from formwright.flow.jobs import Build, Validate
from formwright.flow.study_templates import last_proved
from formwright.lang import parse

HERE = Path(__file__).parents[2] / "studies" / "transcripts"
RUNS = sorted(path.parent for path in HERE.glob("*/transcript.jsonl"))
DECIDED = ("go", "draw", "ask", "known", "groups", "solve", "generation", "diagnose", "judge")
"""Steps that say what was decided, judged and asked for."""
CLOCK = frozenset(
    {"seconds", "solver", "proof", "met", "proposer", "entry", "entries", "key", "machine"}
)
"""Keys whose values are times of the clock, names of who answered, of a build or of a machine, or
places in a journal."""
ALIEN = re.compile(
    rb"/(tmp|home|root|work|mnt|Users)/|sk-[A-Za-z0-9]{8}|[Aa][Pp][Ii]_?[Kk][Ee][Yy]"
)


def entries(path: Path) -> dict[str, Any]:
    """The journal at ``path`` by key."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {e["key"]: e["data"] for e in map(json.loads, lines)}


def timeless(value: Any) -> Any:
    """``value`` without what a clock or a place says."""
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if k not in CLOCK}
    return [timeless(v) for v in value] if isinstance(value, list) else value


def decided(journal: dict[str, Any]) -> dict[str, Any]:
    return {k: timeless(v) for k, v in journal.items() if k.split("/")[0] in DECIDED}


def judged(journal: dict[str, Any]) -> Iterator[tuple[str, str]]:
    return ((k, v["verdict"]) for k, v in journal.items() if k.startswith("judge/"))


def repeated(folder: Path, out: Path) -> dict[str, Any]:
    """The journal of a replay into ``out``; its status says that nothing was qualified."""
    asked = ["run", str(folder / "problem.toml"), "--out", str(out), "-q", "--json"]
    told = ["--agent", "replay", "--transcript", str(folder / "transcript.jsonl")]
    place = ["--device", str(folder / "journal.jsonl"), "--population", f"{out}.sqlite"]
    assert run([*asked, *told, *place]) == 1
    return entries(out / "journal.jsonl")


def same(folder: Path, found: dict[str, Any]) -> None:
    before = entries(folder / "journal.jsonl")
    assert dict(judged(found)) == dict(judged(before))
    assert decided(found) == decided(before)
    chosen = [k for k in before if k.startswith(("final/", "confirm/"))]
    assert chosen
    for key in chosen:
        assert found[key]["programs"].keys() == before[key]["programs"].keys()


@pytest.mark.parametrize("folder", thinned(RUNS[::-1]), ids=lambda f: f.name)
def test_a_replay_decides_as_the_run_did(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = entries(folder / "journal.jsonl")

    (workload,) = load_problem(folder / "problem.toml").workloads

    def built(job: Build, folder: Path, bench: Any) -> Any:
        return before[job.folder]

    def validated(job: Validate, folder: Path) -> Any:
        return before[f"validate/{workload.name}/{Path(job.library).parent.name}"]

    monkeypatch.setattr(performing, "built", built)
    monkeypatch.setattr(performing, "validated", validated)
    same(folder, repeated(folder, tmp_path / "out"))
    shown = json.loads(capsys.readouterr().out)
    lineage = shown["agent"]["lineage"]
    assert any(m["verdict"] == "refuted" and m["findings"] for m in lineage)
    assert any(m["verdict"] == "proved" and m["repairs"] for m in lineage)


@pytest.mark.slow
@pytest.mark.parametrize("folder", RUNS, ids=lambda f: f.name)
def test_a_replay_that_builds_and_validates_decides_the_same(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = repeated(folder, tmp_path / "out")
    same(folder, found)
    verdicts = {k: v["verdict"] for k, v in found.items() if k.startswith("validate/")}
    assert verdicts
    assert set(verdicts.values()) == {"held"}


@pytest.mark.parametrize("folder", RUNS, ids=lambda f: f.name)
def test_a_recording_is_of_a_qualified_kernel_and_names_no_machine_folder(folder: Path) -> None:
    journal = entries(folder / "journal.jsonl")
    qualified = [v for k, v in journal.items() if k.startswith("qualify/")]
    assert qualified
    for path in folder.iterdir():
        assert not ALIEN.search(path.read_bytes()), path.name


def test_the_folder_as_a_proposer_gives_programs_of_the_formula_asked(tmp_path: Path) -> None:
    proposer = Recorded(HERE)
    for name, last in (("gemm", "panels_of_both"), ("decode_attention", "lanes_in_blocks")):
        contract = operator(name).contract()
        found = last_proved(proposer, contract, lambda template: True)
        assert found is not None
        assert parse(Source("last.fw", found)).name == last
        for number in range(8):
            asked = Request("adapt", number, 1, name, contract.formula, {})
            (proposal,) = proposer.propose(asked).proposals
            assert all(line in proposal.text for line in contract.formula)
    with pytest.raises(InputError, match=r"no transcript\.jsonl"):
        Recorded(tmp_path)

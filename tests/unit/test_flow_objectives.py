"""Objectives of a problem file: what is read, what refuses, what wins, what it gives up."""

from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.base.toml import read_toml
from formwright.codegen.size import code_bytes
from formwright.contract.objectives import Ceilings, Goal, Objective, read_objective
from formwright.contract.problem import Problem, load_problem
from formwright.flow.objectives import Standing, choose_winner, require
from formwright.report.tradeoffs import print_tradeoffs
from formwright.roofline import Intensity, Moved, roofs_of
from formwright.roofline.energy import energy_of, lacking, uncounted


def _standing(key: str, seconds: float, **more: float) -> Standing:
    usual = {"p50": seconds, "p99": 2 * seconds, "memory_bytes": 1000, "code_bytes": 5000}
    return Standing(key, key, seconds, joules=None, **(usual | more))  # type: ignore[arg-type]


FAST = _standing("fast", 1.0, memory_bytes=9000, p99=5.0)
SMALL = _standing("small", 1.5, memory_bytes=100)
EVEN = _standing("even", 1.2, p99=1.3)
WORSE = _standing("worse", 2.0, memory_bytes=9500, code_bytes=6000, p99=6.0)
ALL = (WORSE, SMALL, EVEN, FAST)


@pytest.mark.parametrize(
    ("goal", "winner"),
    [("latency", "fast"), ("tail", "even"), ("memory", "small"), ("code_size", "fast")],
)
def test_the_goal_picks(goal: Goal, winner: str) -> None:
    choice = choose_winner(ALL, Objective(goal))
    assert choice.winner == winner
    assert choice.best == {"fast", "small", "even"}
    assert [s.key for s in choice.standings] == ["fast", "even", "small", "worse"]


def test_what_the_winner_gave_up() -> None:
    told = choose_winner(ALL, Objective("latency")).gave_up
    assert told == ("tail (p99): even needs 74% less", "memory: small needs 99% less")


def test_ceilings_refuse_with_the_reason() -> None:
    choice = choose_winner(ALL, Objective("latency", Ceilings(memory_bytes=2000)))
    assert choice.winner == "even"
    assert choice.refused["fast"] == "memory_bytes 9000 is above the ceiling 2000"
    choice = choose_winner(ALL, Objective("latency", Ceilings(p99_ratio=1.5, code_bytes=5000)))
    assert choice.winner == "even"
    assert "p99_ratio 5 is above" in choice.refused["fast"]
    assert "code_bytes 6000 is above" in choice.refused["worse"]
    nothing = choose_winner(ALL, Objective("latency", Ceilings(memory_bytes=1)))
    assert nothing.winner is None
    assert len(nothing.refused) == 4


def test_unknown_holds_no_ceiling_and_wins_no_goal() -> None:
    unknown = _standing("unknown", 0.5, memory_bytes=None, p99=None)  # type: ignore[arg-type]
    choice = choose_winner((unknown, SMALL), Objective("memory"))
    assert choice.winner == "small"
    assert choice.refused["unknown"] == "its memory is not known"
    choice = choose_winner((unknown,), Objective("latency", Ceilings(p99_ratio=9.0)))
    assert choice.winner is None
    assert "is not known" in choice.refused["unknown"]
    # Where the goal is time, a measure that one of them lacks compares nobody.
    assert choose_winner((unknown, SMALL), Objective("latency")).best == {"unknown"}


def test_reading_reports_every_fault() -> None:
    text = 'objective = "memory"\n[ceilings]\nmemory_bytes = 65536\np99_ratio = 1.5\n'
    objective, faults = read_objective(read_toml(Source("p.toml", text)))
    assert not faults
    assert objective == Objective("memory", Ceilings(memory_bytes=65536, p99_ratio=1.5))
    assert objective.tails
    wrong = 'objective = "latencies"\n[ceilings]\nmemory = 1\ncode_bytes = -1\np99_ratio = 0.5\n'
    _, faults = read_objective(read_toml(Source("p.toml", wrong)))
    told = [(f.message, f.span.line if f.span else 0) for f in faults]
    assert [line for _, line in told] == [1, 3, 4, 5]
    assert "unknown objective 'latencies'" in told[0][0]


def _problem(tmp_path: Path, text: str) -> Problem:
    file = tmp_path / "problem.toml"
    rest = '\noperator = "gemm"\ntemplates = ["packed_gemm"]\n[workloads.a]\nM = 8\nN = 8\nK = 8\n'
    file.write_text(f"{text}{rest}", encoding="utf-8")
    return load_problem(file)


def test_energy_is_modelled_from_the_chip_or_refused(tmp_path: Path) -> None:
    problem = _problem(tmp_path, 'objective = "energy"')
    figures = {"chip.l1_bytes": 32768, "chip.l2_bytes": 1 << 19, "chip.l3_bytes": 1 << 25}
    with pytest.raises(InputError, match="no flop_energy and no dram_byte_energy") as refused:
        require(problem, 1, figures, "local")
    assert refused.value.diagnostics[0].span is not None
    energies = figures | {"chip.flop_energy": 2e-12, "chip.dram_byte_energy": 1e-10}
    require(problem, 1, energies, "local")
    roofs = roofs_of(energies, 1)
    moved = {v.name: (Moved("A", 1000, 0),) for v in roofs.levels}
    joules = energy_of(Intensity({"*": 5000}, moved), roofs, energies)
    assert joules == pytest.approx(5000 * 2e-12 + 1000 * 1e-10)
    assert lacking(energies) == ()
    assert uncounted(energies, roofs) == ("l1", "l2", "l3")


def test_throughput_is_of_single_threads(tmp_path: Path) -> None:
    problem = _problem(tmp_path, 'objective = "throughput"')
    require(problem, 1, {}, "local")
    with pytest.raises(InputError, match="with one thread each, not with 2"):
        require(problem, 2, {}, "local")
    ahead = _problem(tmp_path, 'objective = "throughput"\nahead = ["B"]')
    with pytest.raises(InputError, match="packed ahead"):
        require(ahead, 1, {}, "local")
    slow = replace(FAST, rate=1.5)
    assert (
        choose_winner((slow, replace(SMALL, rate=2.0)), Objective("throughput")).winner == "small"
    )
    assert choose_winner((slow, SMALL), Objective("throughput")).winner == "fast"


def test_the_table_of_candidates() -> None:
    text = StringIO()
    choice = choose_winner(ALL, Objective("memory", Ceilings(p99_ratio=2.5)))
    print_tradeoffs(Console(file=text, width=120), choice.as_json())
    lines = text.getvalue().splitlines()
    assert lines[0].strip() == "for memory, of 4 measured"
    assert "uJ" not in lines[1]
    assert "(refused: p99_ratio 5 is above the ceiling 2.5)" in lines[2]
    assert lines[4].startswith(">*")
    assert lines[-1].strip().startswith("given up: ")


def test_code_is_what_may_be_executed(tmp_path: Path) -> None:
    other = tmp_path / "text"
    other.write_text("no library")
    assert code_bytes(other) is None
    libc = next(Path("/").glob("lib*/**/libm.so.6"), None)
    if libc is not None:
        found = code_bytes(libc)
        assert found is not None
        assert 0 < found < libc.stat().st_size

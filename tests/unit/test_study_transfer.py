"""The study `transfer`: what it asks, what it keeps, what its figures are made of."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from formwright.base.diagnostics import InputError
from formwright.base.digest import digest
from formwright.contract.operators import operator
from formwright.flow.blackbox_flow import defaults
from formwright.flow.journal import Journal
from formwright.flow.setting import fractions_as_text
from formwright.flow.study_transfer import run_transfer
from formwright.flow.transfer_tasks import TASKS, Transfer, TransferPlan, transfer_plan
from formwright.ir.inline import inlined
from formwright.lang import load
from formwright.report.study_transfer import summary, write_transfer
from listeners import Heard

SMALL = Transfer(
    "small", "gemv", "gemv_rows", {"N": 32, "K": 48}, {"N": 64, "K": 100}, "a small product"
)
CHIP = {
    "cores": 2,
    "clock": 3 * 10**9,
    "vector_lanes": 16,
    "vector_registers": 32,
    "dram_bandwidth": 20 * 10**9,
    "core_dram_bandwidth": 12 * 10**9,
    "l2_bandwidth": 60 * 10**9,
    "l3_bandwidth": 20 * 10**9,
    "l2_bytes": 1 << 20,
    "l3_bytes": 1 << 25,
}


def test_every_task_fits_its_operator_and_template() -> None:
    for task in TASKS:
        names = set(operator(task.operator).contract().names)
        assert set(task.source) == names
        assert set(task.target) == names
        assert dict(task.source) != dict(task.target)
        assert load(task.template)[1].cost is not None
    assert len({task.name for task in TASKS}) == len(TASKS)


def test_names_that_are_no_tasks_are_told_together() -> None:
    assert transfer_plan(("norm",)).tasks[0].name == "norm"
    with pytest.raises(InputError) as caught:
        transfer_plan(("nrom", "gemmm"))
    assert [d.message for d in caught.value.diagnostics] == [
        'no task is called "nrom"',
        'no task is called "gemmm"',
    ]


def journaled(out: Path, plan: TransferPlan) -> None:
    """A study that was interrupted after everything was measured: three designs at the target."""
    template = load("gemv_rows")[1]
    designs = [{"Rr": 8, "L": 8, "Pf": 0}, {"Rr": 4, "L": 16, "Pf": 0}, {"Rr": 2, "L": 8, "Pf": 0}]

    def tried(number: int, seconds: float) -> dict[str, Any]:
        found = {"assignment": designs[number], "key": f"k{number}", "fault": ""}
        return found | {"seconds": seconds, "cost": 2.0}

    with Journal(out / "journal.jsonl") as journal:
        values = {f"chip.{n}": str(v) for n, v in CHIP.items()}
        journal.step("chip", lambda: {"name": "made up", "values": values})
        told = {"proof": "proved", "digest": digest(inlined(template))}
        journal.step("template/gemv_rows", lambda: told)
    with Journal(out / "small" / "journal.jsonl") as own:
        weights = fractions_as_text(defaults(template))
        own.step(
            "source/small",
            lambda: {"designs": [tried(1, 1e-6), tried(0, 2e-6)], "coefficients": weights},
        )
        own.step(
            "choose/small",
            lambda: {
                "selected": designs[0],
                "shipped": designs[0],
                "solve_seconds": [0.02, 0.01],
                "build_seconds": [1.0, 1.2],
            },
        )
        searched = [tried(0, 3e-6), tried(1, 5e-6), tried(2, 2.9e-6)]
        own.step("search/small", lambda: {"space": 18, "designs": searched})
        key = digest(["k0", "k1", "k2"])[:16]
        for repeat in range(plan.repeats):
            rounds = {
                "k0": {str(n): 3e-6 for n in range(5)},
                "k1": {str(n): 4.5e-6 for n in range(5)},
                "k2": {str(n): 3.3e-6 for n in range(5)},
            }
            seconds = {k: r["0"] * (1 + repeat) for k, r in rounds.items()}
            own.step(
                f"compare/small/{repeat}/{key}",
                lambda r=rounds, s=seconds: {"rounds": r, "seconds": s, "failures": {}},
            )


def test_a_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    plan = TransferPlan((SMALL,), repeats=2)
    journaled(tmp_path, plan)
    with pytest.raises(InputError, match="holds another run"):
        run_transfer(plan, tmp_path, Heard())


def test_figures_come_from_the_comparison(tmp_path: Path) -> None:
    plan = TransferPlan((SMALL,), repeats=2)
    _begun(tmp_path, plan)
    journaled(tmp_path, plan)
    heard = Heard()
    result = run_transfer(plan, tmp_path, heard)
    (row,) = result.rows
    assert result.held
    assert row.proof == "proved"
    # The search liked k2; side by side k0, which the model chose, is the fastest of the three.
    assert row.best.key == row.selected.key == "k0"
    assert row.selected_over_best is None
    assert row.copied.key == "k1"
    assert row.copied_over_selected is not None
    assert row.copied_over_selected.median == pytest.approx(1.5)
    assert row.selected.seconds is not None
    assert (row.selected.seconds.low, row.selected.seconds.high) == pytest.approx((3e-6, 6e-6))
    assert (row.solve_seconds.low, row.build_seconds.high) == (0.01, 1.2)
    assert row.searched == 3
    assert row.searched_seconds == 6.0
    assert "faster than the copy on 1" in summary(result)
    assert heard.told == ["small: selected 3.0 us, copied 4.5, best 3.0"]
    written = write_transfer(result, tmp_path)
    assert [p.name for p in written] == ["result.json", "transfer.csv"]
    assert "copied_over_selected" in written[1].read_text().splitlines()[0]


def _begun(out: Path, plan: TransferPlan) -> None:
    """The first entry of a study, by the study itself: it ends at the chip, which is none."""
    with pytest.raises(InputError):
        run_transfer(replace(plan, chip="no-such-chip.toml"), out / "other", Heard())
    with Journal(out / "other" / "journal.jsonl") as other:
        told = dict(other.entries[0]["data"]) | {"chip": plan.chip}
    with Journal(out / "journal.jsonl") as journal:
        journal.step("study", lambda: told)


def test_another_number_of_repeats_is_another_study(tmp_path: Path) -> None:
    plan = TransferPlan((SMALL,), repeats=2)
    _begun(tmp_path, plan)
    with pytest.raises(InputError, match="another repeats"):
        run_transfer(replace(plan, repeats=3), tmp_path, Heard())


@pytest.mark.slow
def test_a_small_study_runs_and_resumes(tmp_path: Path) -> None:
    plan = TransferPlan(
        (SMALL,), repeats=1, source_designs=2, target_designs=1, random_designs=1, rounds=5
    )
    first = run_transfer(plan, tmp_path, Heard())
    assert first.held
    assert first.rows[0].copied.seconds is not None
    again = run_transfer(plan, tmp_path, Heard())
    assert again.rows == first.rows

"""A study through its journal: what it ends in, resumed at any entry, refused where it must be."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from four_study import LIBRARY, STUDY, write_study

from formwright.base.diagnostics import InputError
from formwright.cli.main import run
from formwright.flow.codesign import run_study
from formwright.flow.codesign_purchases import given_back_last
from formwright.walls.state import Spent, State
from listeners import Silent


@pytest.fixture
def study(tmp_path: Path) -> str:
    return write_study(tmp_path)


def result(study: str, out: Path) -> dict[str, Any]:
    return run_study(study, out, Silent()).as_json()


def without_times(value: Any) -> Any:
    """A result as a reader sees it, without the seconds, which differ from run to run."""
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in ("seconds", "journal")}
    if isinstance(value, (list, tuple)):
        return [without_times(v) for v in value]
    return value


def lines(out: Path) -> list[str]:
    return (out / "journal.jsonl").read_text().splitlines(keepends=True)


def test_what_a_study_ends_in(study: str, tmp_path: Path) -> None:
    found = result(study, tmp_path / "out")
    small, large = found["ceilings"]
    assert small["budget"] == 9.0
    assert small["area"] <= 9.0
    # wide runs in a quarter of the time wherever a = 4; of the chips on which the first scenario
    # is no slower than that, the smallest has tiles (a = 2, b = 2) on two lanes.
    assert large["chip"] == {"a": 4, "b": 2, "lanes": 2}
    assert large["area"] == 4 + 2 * 2 + 3 * 2
    assert large["objective"] == 0.25
    assert large["bound"] == pytest.approx(large["objective"], rel=1e-6)
    assert large["gap"] == pytest.approx(0, abs=1e-6)
    assert found["objective"] == large["objective"]
    rows = {m["method"]: m for m in large["methods"]}
    assert rows["joint"]["objective"] == large["objective"]
    for row in rows.values():
        assert row["objective"] >= large["objective"]
        assert len(row["entries"]) == len(row["objectives"])
    assert len(rows["random"]["objectives"]) == 2
    assert rows["fixed-hardware"]["objective"] == 1.0
    assert {s["name"] for s in large["scenarios"]} == {"first", "second"}
    first = next(s for s in large["scenarios"] if s["name"] == "first")
    assert first["alone"] == 7.5 / 60  # four lanes, all of the ceiling for itself
    assert first["loses"] == pytest.approx(1.0)
    assert [c["name"] for c in found["chips"]] == ["all"]
    assert found["chips"][0]["area"] == 22.0
    areas = [f["area"] for f in found["front"]]
    assert areas == sorted(areas)
    assert found["generated"][0]["sets_found"]


@pytest.mark.parametrize("methods", ['["sets"]', '["wall-relaxation"]', '["coupled"]'])
def test_purchases_lead_from_the_start_to_the_chip(
    study: str, tmp_path: Path, methods: str
) -> None:
    """What was bought, what was given back with it, and what was given back at the end."""
    text = STUDY[: STUDY.index("names =")] + f"names = {methods}\n"
    Path(study).write_text(text + STUDY[STUDY.index("seeds = 2") : STUDY.index("[generated]")])
    for found in result(study, tmp_path / "out")["ceilings"]:
        chip = {"a": 1, "b": 1, "lanes": 1}
        last = (found["certificate"] or {}).get("reclaimed", {})
        for steps in (s for b in found["purchases"] for s in (b["fields"], b["reclaimed"])):
            chip |= {name: after for name, (before, after) in steps.items()}
        (row,) = (m for m in found["methods"] if m["method"] == found["purchases_of"])
        assert row["chip"] == chip | {name: after for name, (_, after) in last.items()}


def test_what_is_given_back_at_the_end_is_kept() -> None:
    bought = {"round": 1, "bought": {}, "reclaimed": {}}
    state = State((0,), None, 2, 0, "no purchase helps", (), Spent(), Spent(), ())
    ended = {"round": 2, "bought": None, "reclaimed": {"threads": [256, 128]}}
    assert given_back_last(replace(state, rounds=(bought, ended))) == {"threads": (256, 128)}
    assert given_back_last(replace(state, rounds=(bought,))) == {}
    assert given_back_last(state) == {}


def test_the_staircase_of_each_wall_is_what_the_best_software_of_each_chip_reaches(
    study: str, tmp_path: Path
) -> None:
    """Counted by hand at a = 4, b = 2, two lanes, and at the start; lanes are no wall."""
    out = tmp_path / "out"
    large = result(study, out)["ceilings"][-1]
    walls = {s["field"]: s for s in large["staircases"]}
    assert sorted(walls) == ["a", "b"]

    def stairs(wall: str, key: str) -> list[tuple[int, float]]:
        return [(s["value"], s["objective"]) for s in walls[wall][key]]

    # The second scenario needs a = 4 to leave its ratio of 1; the first has 15/60 then.
    assert stairs("a", "chosen") == [(1, 1.0), (2, 1.0), (3, 1.0), (4, 0.25)]
    assert stairs("b", "chosen") == [(1, 0.5), (2, 0.25), (3, 0.25)]
    assert stairs("a", "start") == [(1, 1.0), (2, 1.0), (3, 1.0), (4, 1.0)]
    assert [s["area"] for s in walls["a"]["chosen"]] == [11.0, 12.0, 13.0, 14.0]
    assert json.loads(lines(out)[walls["a"]["entry"]])["key"] == "20mm2/staircases"
    assert large["area_parts"] == {"a": (1.0, 4.0), "b": (2.0, 4.0), "lanes": (3.0, 6.0)}


def test_a_purchase_says_what_it_did_to_each_scenario(study: str, tmp_path: Path) -> None:
    large = result(study, tmp_path / "out")["ceilings"][-1]
    times = {"first": 60.0, "second": 40.0}
    for bought in large["purchases"]:
        for effect in bought["effects"]:
            assert effect["time_before"] == times[effect["scenario"]]
            times[effect["scenario"]] = effect["time"]
    assert times == {s["name"]: s["time"] for s in large["scenarios"]}


def test_every_number_has_its_entry(study: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = result(study, out)
    keys = {e["number"]: e["key"] for e in map(json.loads, lines(out))}
    for ceiling in found["ceilings"]:
        at = f"{ceiling['budget']:g}mm2"
        for row in ceiling["methods"]:
            assert all(f"{at}/{row['method']}" in keys[n] for n in row["entries"]), row["method"]
        for bought in ceiling["purchases"]:
            assert keys[bought["entry"]].startswith(f"{at}/{ceiling['purchases_of']}/")
            assert keys[bought["entry"]].endswith(f"round{bought['round']}")
        assert keys[ceiling["entries"]["bound"]].startswith(at)
        written = {e["number"]: e["data"] for e in map(json.loads, lines(out))}
        for row in ceiling["scenarios"]:
            (told,) = (d for d in written[row["entry"]] if d["name"] == row["name"])
            assert [float(Fraction(told[n])) for n in ("time", "ratio")] == [
                row["time"],
                row["ratio"],
            ]
            assert [d["assignment"] for d in row["designs"]] == [
                dict(d["assignment"]) for d in told["designs"]
            ]
    for chip in found["chips"]:
        told = json.loads(lines(out)[chip["entry"]])["data"]
        assert [float(Fraction(told[n])) for n in ("area", "objective")] == [
            chip["area"],
            chip["objective"],
        ]
    assert {keys[r["entry"]] for r in found["front"]} == {"front"}
    assert [keys[c["entry"]] for c in found["chips"]] == ["chip/all"]


def test_a_study_stopped_at_any_entry_ends_the_same(study: str, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    wanted = without_times(result(study, whole))
    kept = lines(whole)
    for count in range(0, len(kept), 5):
        out = tmp_path / f"cut{count}"
        out.mkdir()
        torn = kept[count][: len(kept[count]) // 2]
        (out / "journal.jsonl").write_text("".join(kept[:count]) + torn)
        assert without_times(result(study, out)) == wanted, f"after {count} entries"
        assert lines(out)[:count] == kept[:count], "an entry was changed"


def test_ceilings_that_read_alike_are_two(study: str, tmp_path: Path) -> None:
    """The answer under the first is none of the second's, however near they are."""
    text = STUDY.replace('["9 mm2", "20 mm2"]', '["13.9999999 mm2", "14 mm2"]')
    Path(study).write_text(text.replace("[generated]", "[extra]").split("[extra]")[0])
    below, at = result(study, tmp_path / "out")["ceilings"]
    assert below["area"] < 14
    assert at["area"] == 14
    assert at["objective"] < below["objective"]


def test_a_finished_study_writes_nothing_more(study: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = result(study, out)
    before = lines(out)
    again = result(study, out)
    assert lines(out) == before
    first.pop("seconds"), again.pop("seconds")
    assert again == first


def test_a_folder_belongs_to_one_study(study: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result(study, out)
    path = Path(study)
    path.write_text(STUDY.replace("cost = 10", "cost = 11"))
    with pytest.raises(InputError, match="holds a study with another study"):
        run_study(study, out, Silent())
    path.write_text(STUDY)
    (path.parent / "four.toml").write_text(LIBRARY.replace('"2 * chip.b"', '"3 * chip.b"'))
    with pytest.raises(InputError, match="another library"):
        run_study(study, out, Silent())


def test_a_scenario_that_no_program_satisfies_is_named(study: str, tmp_path: Path) -> None:
    text = STUDY.replace("[programs.second.plain]\ncost = 40\n", "")
    text = text.replace("needs = { a = 4 }", "needs = { a = 9 }")
    Path(study).write_text(text)
    with pytest.raises(InputError, match="second"):
        run_study(study, tmp_path / "out", Silent())
    assert not (tmp_path / "out" / "journal.jsonl").exists(), "no method was run"


def test_a_program_that_only_fits_over_the_ceiling(study: str, tmp_path: Path) -> None:
    text = STUDY.replace("[programs.second.plain]\ncost = 40\n", "")
    text = text.replace("9 mm2", "8 mm2")
    Path(study).write_text(text.replace("[methods]", "[reference]\na = 4\n[methods]", 1))
    with pytest.raises(InputError) as caught:
        run_study(study, tmp_path / "out", Silent())
    assert "within 8 mm2" in str(caught.value)


SPEEDS = """
[library]
name = "speeds"
[fields.lanes]
dimension = "count"
menu = [1, 2, 4]
role = "throughput"
start = 1
source = "a test"
[area.lanes]
value = "chip.lanes"
source = "a test"
"""

PLAIN = """
template plain : operator -> mapping

scope
  workload C[M] = A[M]
  extents  M >= 1
  chip     lanes >= 1

decisions
  x in {1, 2}

formulation "a test"

cost T seconds
  T >= x*M/chip.lanes
  energy joules = M
"""


def limited(folder: Path, reference: int, rate: int, budget: int = 9) -> str:
    """Of 8 tokens: 1, 2 or 4 a second with 1, 2 or 4 lanes."""
    (folder / "speeds.toml").write_text(SPEEDS)
    (folder / "plain.fw").write_text(PLAIN)
    (folder / "limited.toml").write_text(f"""
name = "limited"
library = "speeds.toml"
objective = "worst"
templates = ["plain.fw"]
budget = "{budget} mm2"
reference = {{ lanes = {reference} }}
[kernels]
k = {{ M = 8 }}
[scenarios.only]
works = {{ k = 1 }}
tokens = 8
limits = {{ rate = {rate} }}
[methods]
names = ["sets", "joint"]
""")
    return str(folder / "limited.toml")


def test_a_reference_at_fault_is_no_fault_of_every_chip(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        run_study(limited(tmp_path, reference=1, rate=4), tmp_path / "out", Silent())
    assert "the reference chip" in str(caught.value)
    assert "no chip" not in str(caught.value)
    assert result(limited(tmp_path, reference=4, rate=4), tmp_path / "out")["chip"]["lanes"] == 4


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("T >= x*M/chip.lanes", "T >= 0*x", "the time of scenario only is 0 there"),
        ("T >= x*M/chip.lanes", "T >= x - 10", "the time of scenario only is -9 there"),
        ("energy joules = M", "energy joules = 1 - M", "the energy of plain is below 0 for k"),
    ],
)
def test_costs_below_zero_are_refused(old: str, new: str, told: str, tmp_path: Path) -> None:
    study = limited(tmp_path, reference=4, rate=1)
    (tmp_path / "plain.fw").write_text(PLAIN.replace(old, new))
    text = Path(study).read_text().replace("limits = { rate = 1 }", "")
    Path(study).write_text(text.replace('"worst"', '"energy-delay"'))
    with pytest.raises(InputError, match=told):
        run_study(study, tmp_path / "out", Silent())


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("5 - chip.lanes", "falls as lanes grows from 1 to 2"),
        ("if chip.lanes = 2 then 9 else chip.lanes", "falls as lanes grows from 2 to 4"),
        ("chip.lanes*chip.lanes", ""),
    ],
)
def test_a_wall_stands_on_what_grows(value: str, told: str, tmp_path: Path) -> None:
    """Else more of a field would admit less, and what closes a search would be false."""
    study = limited(tmp_path, reference=4, rate=1)
    cells = f'[derived.cells]\nvalue = "{value}"\nsource = "a test"\n'
    (tmp_path / "speeds.toml").write_text(SPEEDS + cells)
    walled = PLAIN.replace("lanes >= 1", "lanes >= 1, cells >= 1").replace(
        "formulation", "constraints\n  W wall cells : x <= chip.cells\n\nformulation"
    )
    (tmp_path / "plain.fw").write_text(walled)
    if not told:
        assert result(study, tmp_path / "out")["objective"] is not None
        return
    with pytest.raises(InputError, match=f"cells, a wall of plain, {told}"):
        run_study(study, tmp_path / "out", Silent())


@pytest.mark.parametrize(
    "first",
    [
        {"schema": 1, "number": 0, "time": "", "key": "problem", "data": {}},
        {"schema": 1, "number": 0, "time": "", "key": "study"},
        {"schema": 1, "number": 0, "time": "", "data": {}},
    ],
)
def test_a_journal_of_another_kind_is_left_alone(
    first: dict[str, Any], study: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "journal.jsonl").write_text(json.dumps(first) + "\n")
    with pytest.raises(InputError, match=r"another run|out of order"):
        run_study(study, out, Silent())
    assert lines(out) == [json.dumps(first) + "\n"]


def test_a_full_disk_is_told_and_the_study_goes_on_later(
    study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, written = tmp_path / "out", []

    def full(file: int) -> None:
        written.append(file)
        if len(written) == 9:
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(InputError, match="No space left on device"):
            run_study(study, out, Silent())
    assert without_times(result(study, out)) == without_times(result(study, tmp_path / "other"))


def test_what_is_refused_leaves_its_folder_free(study: str, tmp_path: Path) -> None:
    """The corrected file goes on in the same folder; a study that has begun keeps its own."""
    out = tmp_path / "out"
    with pytest.raises(InputError):
        run_study(limited(tmp_path, reference=1, rate=4), out, Silent())
    assert not (out / "journal.jsonl").exists()
    result(study, out)
    kept = lines(out)
    with pytest.raises(InputError, match="another"):
        run_study(limited(tmp_path, reference=4, rate=4), out, Silent())
    assert lines(out) == kept


def test_a_ceiling_under_which_limits_fail_says_so(tmp_path: Path) -> None:
    found = result(limited(tmp_path, reference=4, rate=4, budget=2), tmp_path / "out")
    assert found["objective"] is None
    notes = {m["method"]: m["note"] for m in found["methods"]}
    assert "no program" in notes["sets"]


def test_the_command(study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(["codesign", study, "--out", str(out), "-q"]) == 0
    told = capsys.readouterr()
    assert "Purchases of" in told.out
    assert told.err == ""
    assert run(["codesign", study, "--out", str(out), "-q", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["schema"] == 1
    assert shown == json.loads((out / "result.json").read_text()) | {"seconds": shown["seconds"]}


def test_faults_are_answered_with_status_2(
    study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(study).write_text(STUDY.replace("seeds = 2", 'seeds = "two"'))
    assert run(["codesign", study, "--out", str(tmp_path / "out"), "-q", "--json"]) == 2
    told = capsys.readouterr()
    assert "seeds is not a whole number" in told.err
    assert json.loads(told.out)["error"][0]["line"] > 0
    assert not (tmp_path / "out").exists()


def test_an_out_that_cannot_be_written(
    study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert run(["codesign", study, "--out", str(tmp_path / "file" / "out"), "-q"]) == 2
    assert "cannot write" in capsys.readouterr().err

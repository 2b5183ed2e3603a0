"""No page claims more than what it was made of: verdicts, evidence, ratios, bounds, counts."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from page_blocks import blocks, cells, of_kind
from population_samples import CHIP, admitted, fact, rows_text

from formwright.cli.report_commands import _placed
from formwright.population import open_population
from formwright.report.html import html_of
from formwright.report.html.place import file_address
from formwright.report.page import Bars, Cell, Chart, Facts, Origin, Page, Series, Table
from formwright.report.pages.artifact_page import artifact_page
from formwright.report.pages.codesign_told import Goal, Told, best_entry, gap_words
from formwright.report.pages.conditions import verdict_of
from formwright.report.pages.entries import shortened
from formwright.report.pages.finding import Found
from formwright.report.pages.growth_page import _middle
from formwright.report.pages.population_page import population_page
from formwright.report.pages.proof_page import proof_file_page
from formwright.report.pages.record_blocks import beside_text, timing_blocks
from formwright.report.pages.run_facts import place_of
from formwright.report.pages.run_page import run_page
from formwright.report.pages.runs_page import runs_page
from formwright.report.pages.study_words import Fields, no_higher, no_less
from formwright.report.pages.transfer_page import _near, _one
from formwright.report.pages.white_black_tasks import surely_ahead
from made_artifacts import made_artifact, made_record

SHOWN = {"name": "a", "condition": "a", "group": "K2", "verdict": "proved", "evidence": "proved"}
BOUNDED = SHOWN | {"name": "b", "evidence": "bounded"}
OPEN = {**SHOWN, "name": "c", "verdict": "unresolved", "evidence": "none"}
REFUTED = {**SHOWN, "name": "d", "verdict": "refuted", "evidence": "none"}
VACUOUS = {**SHOWN, "name": "e", "verdict": "vacuous", "evidence": "none"}

BEYOND = [
    ([], "unresolved"),
    ([SHOWN, OPEN], "unresolved"),
    ([SHOWN, REFUTED], "refuted"),
    ([VACUOUS, OPEN], "vacuous"),
    ("x", "unresolved"),
    ([SHOWN, {}], "unresolved"),
]
"""Obligations beside the word ``proved``, and what they bear out."""


def chain_of(step: dict[str, Any], composition: dict[str, Any]) -> dict[str, Any]:
    steps = [{"name": "first", "inherited": False, **step}]
    return {
        "chain": "c",
        "verdict": "proved",
        "theorem": "For every M it computes its workload.",
        "steps": steps,
        "composition": composition,
        "assumptions": [],
        "solver": "z3 5",
    }


@pytest.mark.parametrize(("obligations", "borne"), BEYOND)
def test_a_file_that_says_proved_of_what_it_leaves_open_is_not_believed(
    tmp_path: Path, obligations: Any, borne: str
) -> None:
    proof = {"template": "t", "verdict": "proved", "solver": "z3 5", "obligations": obligations}
    assert verdict_of(proof) == borne
    whole = {"verdict": "proved", "obligations": [SHOWN]}
    files = [proof, chain_of(proof, whole), chain_of(whole, proof)]
    for number, data in enumerate(files):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(data))
        page = proof_file_page(file)
        assert "is proved" not in " ".join(page.answer)
        assert "For every M" not in " ".join(page.answer)
        verdict = dict(page.facts.items)["verdict"]
        assert (verdict.standing == "held", verdict.evidence) == (False, None)
        assert html_of(page)
    evidence = made_record()["evidence"]
    evidence["template"] |= {"obligations": obligations}
    page = artifact_page(made_artifact(tmp_path / "up", evidence=evidence))
    row = of_kind(page, Table, "Evidence, kept apart").rows[0]
    assert (row[1].standing == "held", row[1].evidence) == (False, None)
    assert "is proved" not in page.answer[1]


def test_what_is_bounded_in_part_is_nowhere_called_proved(tmp_path: Path) -> None:
    whole = {"verdict": "proved", "solver": "z3 5", "obligations": [SHOWN]}
    part = {"verdict": "proved", "solver": "z3 5", "obligations": [SHOWN, BOUNDED]}
    file = tmp_path / "proof.json"
    file.write_text(json.dumps({"template": "t", **part}))
    page = proof_file_page(file)
    assert "for every extent and chip" not in " ".join(page.answer)
    assert "1 of 2 obligations are shown for a bounded model only" in " ".join(page.answer)
    file.write_text(json.dumps(chain_of(part, whole)))
    first, composed = of_kind(proof_file_page(file), Table, "Steps").rows
    assert (first[3].evidence, composed[3].evidence) == ("bounded", "proved")
    evidence = made_record()["evidence"]
    evidence["template"] |= {"obligations": [SHOWN, BOUNDED]}
    page = artifact_page(made_artifact(tmp_path / "up", evidence=evidence))
    assert of_kind(page, Table, "Evidence, kept apart").rows[0][1].evidence == "bounded"


RATIOS = [
    ({"median": 1.3, "low": 1.2, "high": 1.4}, True),
    ({"median": 0.8, "low": 0.7, "high": 0.9}, True),
    ({"median": 1.3, "low": 0.9, "high": 1.6}, False),
    ({"median": 1.01, "low": 1.0, "high": 1.02}, False),
    ({"median": 9.0, "low": 1.0, "high": 99.0}, False),
    ({"median": 1.5}, False),
]
"""Ratios, and whether they tell a difference."""


@pytest.mark.parametrize("said", ["faster", "slower", "too noisy", "", None])
@pytest.mark.parametrize(("ratio", "counts"), RATIOS)
def test_a_ratio_is_a_gain_only_where_its_interval_leaves_one_out(
    ratio: dict[str, float], counts: bool, said: str | None
) -> None:
    """Whatever the timing says of it: an older journal says nothing, a changed one anything."""
    timing = made_record()["timing"]
    timing |= {"ratios": {"numpy": ratio}, "verdicts": {} if said is None else {"numpy": said}}
    assert ("no difference from numpy" in beside_text(timing)) == (not counts)
    drawn, table = timing_blocks(timing, None, "Times")[:2]
    assert ("no difference that counts" in getattr(drawn, "says", "")) == (not counts)
    assert isinstance(table, Table)
    row = next(r for r in table.rows if r[0].text == "numpy")
    assert (row[6].text in ("the kernel is faster", "the kernel is slower")) == counts


def journal(folder: Path, entries: list[tuple[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    lines = (
        json.dumps({"schema": 1, "number": n, "time": "", "key": key, "data": data})
        for n, (key, data) in enumerate(entries)
    )
    (folder / "journal.jsonl").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.parametrize(("ratio", "counts"), RATIOS)
def test_bars_of_several_runs_say_which_interval_shows_nothing(
    tmp_path: Path, ratio: dict[str, float], counts: bool
) -> None:
    timing = made_record()["timing"] | {"ratios": {"numpy": ratio}}
    about = {"problem": "p", "workloads": {"w": {"M": 1}}}
    journal(tmp_path / "one", [("problem", {}), ("about", about), ("confirm/w", timing)])
    (bar,) = of_kind(runs_page(tmp_path), Bars, "Time of the fastest baseline").bars
    assert ("no difference that counts" in bar.note) == (not counts)


@pytest.mark.parametrize(
    ("checks", "standing"),
    [({"a": "held", "b": "refuted"}, "refuted"), ({"a": "unresolved"}, "unresolved"), ({}, None)],
)
def test_what_was_not_qualified_is_refuted_only_by_a_check(
    tmp_path: Path, checks: dict[str, str], standing: str | None
) -> None:
    """Times of another run qualify nothing, and refute nothing."""
    about = {"problem": "p", "workloads": {"w": {"M": 1}}}
    qualify = {"artifact": None, "message": "nothing was measured", "checks": checks}
    folder = journal(tmp_path / "one", [("problem", {}), ("about", about), ("qualify/w", qualify)])
    for page in (run_page(folder), runs_page(tmp_path)):
        (cell,) = (c for c in cells(page) if c.text.startswith("not qualified"))
        assert cell.standing == (standing or "unresolved")


def test_reasons_add_up_to_what_was_lost_or_say_what_they_count(tmp_path: Path) -> None:
    refusal = {"status": "infeasible", "conflict": []}
    proofs = [(f"prove/t{n}", {"digest": f"{n}" * 64, "verdict": "proved"}) for n in range(3)]
    refused = {"designs": [], "solutions": {f"t{n}": refusal for n in range(2)}}
    designs = [{"key": f"k{n}", "template": "t2", "assignment": {"A": n}} for n in range(4)]
    solved = {"designs": designs, "solutions": {"t2": {"status": "optimal"}}}
    entries: list[tuple[str, Any]] = [("problem", {}), *proofs]
    entries += [("solve/v/0", refused), ("solve/w/0", refused), ("solve/x/0", solved)]
    entries += [("build/k0", {"error": "no"}), ("build/k1", {"seconds": 1.0})]
    page = run_page(journal(tmp_path, entries))
    notes = {b.name: b.note for f in blocks(page) if isinstance(f, Bars) for b in f.bars}
    assert notes["solved"] == "2 lost: by template and workload 4 infeasible"
    assert notes["built"] == "3 lost: 1 failed, 2 not looked at yet"


@pytest.mark.parametrize("gap", [1e-5, 0.01449, 0.0991, 0.1, 0.5, 0.98999, 0.9951, 1.0, 2.345])
def test_what_a_part_is_at_most_is_never_rounded_below_it(gap: float) -> None:
    told = no_less(gap)
    assert told.endswith(" %")
    assert gap * 100 <= float(told[:-2].replace(",", "")) * (1 + 1e-12)
    assert float(told[:-2].replace(",", "")) <= gap * 100 * 1.11


@pytest.mark.parametrize(
    "bound", [3.14159268, 0.2475, 1.50683159e9, 2.5e-7, 12345.678901, 99999.96]
)
@pytest.mark.parametrize("digits", [3, 7, 10])
def test_a_bound_from_below_is_never_told_as_more_than_it_is(bound: float, digits: int) -> None:
    text = no_higher(bound, digits).replace(",", "")
    mantissa, _, power = text.partition("×10")
    exponent = int(power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) or 0)
    told = float(mantissa) * 10.0**exponent
    assert bound * (1 - 10.0 ** (1 - digits)) <= told <= bound * (1 + 1e-12)


def told_gap(objective: float, bound: float | None) -> str:
    gap = None if bound is None else max(0.0, 1 - bound / objective)
    ceiling = {"objective": objective, "bound": bound, "gap": gap, "budget": None}
    kept = SimpleNamespace(result={"chips_in_library": 64})
    return gap_words(Told(cast(Any, kept), ceiling, cast(Any, None), Goal("g", "", ""), "", ""))


def test_the_best_possible_is_claimed_only_where_the_bound_says_so() -> None:
    best = "It is the best possible"
    assert told_gap(2.0, 2.0).startswith(best)
    assert told_gap(2.0, 2.0 * (1 - 1e-8)).startswith(best)
    assert best not in told_gap(2.0, 2.0 * (1 - 1e-5))
    assert best not in told_gap(2.0, None)
    # A bound that is above what was reached is wrong: nothing rests on it.
    assert best not in told_gap(2.0, 2.5)
    assert "is wrong" in told_gap(2.0, 2.5)
    # 1.25 times the bound: the best may be 20 % lower, and the chosen one 25 % above it.
    assert "at most 20 % below it" in told_gap(2.5, 2.0)


def test_a_figure_of_several_runs_leads_to_the_run_that_has_it() -> None:
    row = {"entries": [7, 8, 9], "objectives": [3.0, 2.0, None], "objective": 2.0}
    assert best_entry(row) == 8
    assert best_entry({"entries": [7], "objectives": [None], "objective": None}) == 7
    assert best_entry({"entries": [], "objectives": [], "objective": None}) is None
    runs = [{"arm": "with", "t": t, "entry": n} for n, t in enumerate((5.0, 1.0, None, 3.0))]
    assert _middle({"runs": runs}, "with", "t") == 3
    assert _middle({"runs": runs}, "without", "t") is None


@pytest.mark.parametrize(
    ("dimension", "unit"),
    [("bytes", "KiB"), ("bandwidth", "byte/s"), ("frequency", "Hz"), ("count", ""), ("x", "")],
)
def test_the_axis_of_a_field_has_its_unit(dimension: str, unit: str) -> None:
    assert Fields({"f": dimension}, ["f"]).scale("f")[1] == unit


def pick(key: str, timed: bool = True) -> dict[str, Any]:
    return {"key": key, "seconds": {"median": 1.0} if timed else None}


def test_a_choice_without_a_time_is_near_to_nothing() -> None:
    task = {"selected": pick("a"), "best": pick("a"), "selected_over_best": None}
    assert _near(task)
    assert not _near(task | {"selected": pick("a", False), "best": pick("a", False)})
    assert not _near(task | {"selected": pick("a", False), "best": pick("b")})
    assert not _near(task | {"selected": pick("", False), "best": pick("", False)})
    assert not _near(task | {"selected_over_best": {"median": 1.051}})
    assert not _one(task | {"copied": pick("", False)}, "copied", "selected")


def test_a_flow_is_surely_ahead_only_by_every_interval() -> None:
    def task(*lows: float) -> dict[str, Any]:
        return {"rows": [{"searcher": "random", "ratio": {"low": low}} for low in lows]}

    assert surely_ahead(task(1.01, 1.2))
    assert not surely_ahead(task(1.01, 1.0))
    assert not surely_ahead(task())


@pytest.mark.parametrize(
    ("runs", "gap"),
    [
        ((1, 9), None),
        ((1, 10), "other values between"),
        ((2, 10), "below 2, down to 1; other values between"),
        ((2, 3), "beyond 3, up to 10; below 2, down to 1"),
    ],
)
def test_values_of_a_domain_that_no_test_ran_are_a_gap(
    tmp_path: Path, runs: tuple[int, int], gap: str | None
) -> None:
    """The largest extent alone is not the domain."""
    values = range(1, 11) if gap is None else runs
    evidence, domain = made_record()["evidence"], made_record()["domain"]
    domain["extents"] = {"N": [1, 10]}
    evidence["binary"]["runs"] = [{"extents": {"N": n}, "threads": 1} for n in values]
    page = artifact_page(made_artifact(tmp_path / "up", evidence=evidence, domain=domain))
    rows = {row[0].text: row[2].text for row in of_kind(page, Table, "Gaps").rows}
    assert rows.get("extent N") == gap


def test_figures_of_files_have_no_evidence_here() -> None:
    """Also where they are faster than what was measured: they stand apart."""
    store = open_population(":memory:")
    digest = admitted(store, rows_text())
    for number in range(2):
        store.record(fact(digest, 4e-4 + number, source=f"run {number}"))
        store.record(fact(digest, 1e-4 + number, source=f"file {number}", imported=True))
    page = population_page(store, "mine.sqlite")
    table = of_kind(page, Table, "Best figures by chip and workload")
    assert [(r[5].value, r[5].evidence) for r in table.rows] in (
        [(4e-4, "measured"), (1e-4, None)],
        [(1e-4, None), (4e-4, "measured")],
    )
    assert sorted(", imported" in r[0].text for r in table.rows) == [False, True]
    every = of_kind(page, Table, "All figures").rows
    assert {(r[5].evidence, r[8].text.startswith("imported")) for r in every} == {
        ("measured", False),
        (None, True),
    }
    for chart in (b for b in blocks(page) if isinstance(b, Chart)):
        assert evidence_of(chart.series) == (None if "imported" in chart.title else "measured")
    assert "4 figures (imported and measured)" in " ".join(page.answer)
    assert CHIP.name in table.rows[0][0].text


def evidence_of(series: tuple[Series, ...]) -> str | None:
    (found,) = {s.evidence for s in series}
    return found


@pytest.mark.parametrize("name", ["²", "1" * 5000, "٣" * 20, "-1", "", "1.0"])
def test_what_is_no_number_of_a_key_is_none(tmp_path: Path, name: str) -> None:
    assert place_of(name) is None
    entries: list[tuple[str, Any]] = [
        ("problem", {}),
        (f"go/{name}", {}),
        (f"judge/1/{name}", {"verdict": "parse"}),
        ("ask/1", {"proposals": [{}]}),
        (f"solve/w/{name}", {"designs": [{"template": "t", "assignment": {}}]}),
        (f"refit/w/{name}/t", {}),
    ]
    assert html_of(run_page(journal(tmp_path, entries)))


def test_a_value_that_is_deep_is_said_to_be() -> None:
    value: Any = 1
    for _ in range(5000):
        value = [value]
    assert "too deep" in shortened(value)


@pytest.mark.parametrize("name", ["my run #2", "a?b", "100%", "javascript:alert(1)", "ä b"])
def test_a_page_elsewhere_leads_to_its_folder_whatever_that_is_called(
    tmp_path: Path, name: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    origin = Origin("journal.jsonl", "a")
    facts = Facts((("one", Cell("1", origin=origin)),))
    page = Page("t", "run", ("a",), facts, (), "made", {})
    placed = _placed(page, Found("run", folder, str(folder)), tmp_path / "report.html")
    address = file_address(placed.folder, origin.file)
    assert address is not None
    assert not set(address) & set('#?:" ')
    assert f'href="{address}"' in html_of(placed)


def test_a_population_on_a_server_is_no_file_beside_the_page() -> None:
    assert file_address("", "postgresql://me@host/db") is None
    assert file_address("../out", "postgresql://me@host/db") is None


def test_what_a_link_in_an_artifact_points_at_stays_out_of_its_page(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("private words")
    folder = made_artifact(tmp_path / "up")
    (folder / "kernel.h").unlink()
    (folder / "kernel.h").symlink_to(tmp_path / "key")
    assert "private words" not in html_of(artifact_page(folder))

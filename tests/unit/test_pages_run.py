"""The page of a run: counts that are the journal's, figures that lead somewhere, no trust."""

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from formwright.base.diagnostics import InputError
from formwright.report.html import html_of
from formwright.report.page import Bars, Chart, Distributions, Drawing, Graph, Table
from formwright.report.pages.entries import MOST_TEXT, Book, read_entries, shortened
from formwright.report.pages.run_facts import run_facts
from formwright.report.pages.run_page import run_page
from formwright.report.pages.run_prediction import MOST_POINTS
from formwright.report.pages.runs_page import runs_page
from made_proofs import refuted
from pages_read import blocks, cells, origins, table, told, whole

KEPT = Path(__file__).parent.parent.parent / "studies" / "transcripts"
"""Two real runs with a language model, journals and all."""

ATTENTION = KEPT / "decode-attention" / "journal.jsonl"
HOSTILE = '"><img src=x onerror=alert(1)></script><script>alert(2)</script>'


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def written(folder: Path, entries: list[dict[str, Any]]) -> Path:
    """A folder with a journal of ``entries``, numbered anew."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(e | {"number": n}) + "\n" for n, e in enumerate(entries))
    (folder / "journal.jsonl").write_text(text)
    return folder


@pytest.mark.parametrize("name", ["gemm", "decode-attention"])
def test_the_funnel_counts_what_the_journal_has(name: str) -> None:
    data = {e["key"]: e["data"] for e in lines(KEPT / name / "journal.jsonl")}
    page = run_page(KEPT / name)
    bars = [b for b in blocks(page) if isinstance(b, Bars) and b.axis.name in ("texts", "designs")]
    shown = {bar.name: bar.parts[0].value for b in bars for bar in b.bars}

    def of(kind: str, good: Callable[[Any], bool]) -> int:
        return sum(good(d) for k, d in data.items() if k.startswith(f"{kind}/"))

    judged = of("judge", lambda d: True)
    named = of("prove", lambda d: True)
    assert shown["proposed"] == judged + named
    assert shown["proved"] == of("judge", lambda d: d["verdict"] == "proved") + of(
        "prove", lambda d: d["verdict"] == "proved"
    )
    chosen = {
        (key.split("/")[1], d["template"], json.dumps(d["assignment"], sort_keys=True))
        for key, found in data.items()
        if key.startswith("solve/")
        for d in found["designs"]
    }
    assert shown["chosen by the solver"] == len(chosen)
    assert shown["validated"] == of("validate", lambda d: d["verdict"] == "held")
    assert shown["qualified"] == of("qualify", lambda d: d["artifact"] is not None)
    timed = {
        (key.split("/")[1], name)
        for key, found in data.items()
        if key.startswith("measure/")
        for name, program in found["programs"].items()
        if "failure" not in program
    }
    assert shown["measured"] == len(timed)


@pytest.mark.parametrize("name", ["gemm", "decode-attention"])
def test_every_figure_leads_to_an_entry_of_the_journal(name: str) -> None:
    page = run_page(KEPT / name)
    keys = {e["key"] for e in lines(KEPT / name / "journal.jsonl")}
    found = origins(page)
    assert len(found) > 10
    assert {o.file for o in found} == {"journal.jsonl"}
    assert {o.entry for o in found} <= keys
    assert found <= set(page.entries), "these journals are small: nothing is left out"
    for text in page.entries.values():
        json.loads(text)
    for block in blocks(page):
        if isinstance(block, Table):
            whole(block)


def test_a_refuted_text_is_drawn_with_its_run_and_never_called_proved(tmp_path: Path) -> None:
    entries = lines(ATTENTION)
    for entry in entries:
        if entry["key"] == "judge/1/0":
            entry["data"]["proof"] = {"full": refuted().as_json()}
    page = run_page(written(tmp_path, entries))
    lost = table(page, "What was lost")
    assert any(row[0].text == "proved" and row[2].standing == "refuted" for row in lost.rows)
    assert any(isinstance(b, Drawing) and "<svg" in b.svg for b in blocks(page))
    assert not [c for c in cells(page) if c.evidence == "proved" and c.standing != "held"]
    lineage = next(
        b for b in blocks(page) if isinstance(b, Graph) and b.title.startswith("Lineage")
    )
    repaired = [n for n in lineage.nodes if any("repair" in c.text for c in n.cells)]
    by_key = {n.key: n for n in lineage.nodes}
    assert [by_key[p].standing for n in repaired for p in n.parents] == ["refuted"] * len(repaired)


@pytest.mark.parametrize("name", ["gemm", "decode-attention"])
def test_a_design_finds_its_build_also_where_the_journal_does_not_name_it(
    tmp_path: Path, name: str
) -> None:
    """By content, and by the order of a round: both say the same of a real run."""
    entries = lines(KEPT / name / "journal.jsonl")
    by_content = keys_of(written(tmp_path / "content", entries))
    assert all(by_content.values())
    for entry in entries:
        if entry["key"].startswith("judge/"):
            entry["data"]["digest"] = "0" * 64
        if entry["key"] == "problem":
            entry["data"]["templates"] = {}
    assert keys_of(written(tmp_path / "order", entries)) == by_content


def keys_of(folder: Path) -> dict[str, str]:
    facts = run_facts(folder, Book(read_entries(folder / "journal.jsonl")))
    return {
        f"{w.name} {d.step} {sorted(d.assignment.items())} {d.predicted}": d.key
        for w in facts.workloads
        for d in w.designs
    }


def test_predictions_are_those_made_before_the_time_was_taken() -> None:
    data = {e["key"]: e["data"] for e in lines(ATTENTION)}
    page = run_page(KEPT / "decode-attention")
    chart = next(
        b for b in blocks(page) if isinstance(b, Chart) and b.title.startswith("Predicted")
    )
    solved = {
        d["predicted"] for k, v in data.items() if k.startswith("solve/") for d in v["designs"]
    }
    medians = {
        p["seconds"]["median"]
        for k, v in data.items()
        if k.startswith("measure/")
        for p in v["programs"].values()
    }
    points = [p for s in chart.series for p in s.points]
    assert points
    assert all(p.x in solved and p.y in medians for p in points)
    assert {s.evidence for s in chart.series} == {"measured"}


def test_distributions_have_every_sample_of_the_confirmation() -> None:
    data = {e["key"]: e["data"] for e in lines(ATTENTION)}
    page = run_page(KEPT / "decode-attention")
    samples = [s for b in blocks(page) if isinstance(b, Distributions) for s in b.samples]
    expected = [
        p for k, v in data.items() if k.startswith("confirm/") for p in v["programs"].values()
    ]
    assert sorted(len(s.values) for s in samples) == sorted(
        len(p["samples"]) for p in expected if "failure" not in p
    )


def test_a_run_is_told_as_far_as_it_has_come(tmp_path: Path) -> None:
    entries = lines(ATTENTION)
    decided = [n for n, e in enumerate(entries) if e["key"].startswith("qualify/")][-1]
    for count in range(1, decided, 12):
        page = run_page(written(tmp_path / str(count), entries[:count]))
        assert any("has not ended" in line for line in page.answer)
        assert "qualified kernel" not in " ".join(page.answer)
        assert html_of(page).startswith("<!doctype html>")


def test_a_torn_last_line_is_left_out_and_nothing_is_written(tmp_path: Path) -> None:
    folder = written(tmp_path, lines(ATTENTION))
    whole_text = (folder / "journal.jsonl").read_bytes()
    (folder / "journal.jsonl").write_bytes(whole_text + b'{"data": {"torn')
    before = sorted(p.name for p in folder.iterdir())
    assert run_page(folder).answer == run_page(KEPT / "decode-attention").answer
    assert sorted(p.name for p in folder.iterdir()) == before
    assert (folder / "journal.jsonl").read_bytes().endswith(b"torn"), "only a run may cut it off"


def test_a_packed_journal_says_the_same(tmp_path: Path) -> None:
    packed = tmp_path / "journal.jsonl.gz"
    packed.write_bytes(gzip.compress(ATTENTION.read_bytes()))
    page = run_page(tmp_path)
    assert page.answer == run_page(KEPT / "decode-attention").answer
    assert {o.file for o in origins(page)} == {"journal.jsonl.gz"}


@pytest.mark.parametrize(
    "text", ["", "not json\n", '{"key": "problem", "number": 4, "data": {}}\n', '["a"]\n']
)
def test_a_journal_that_is_none_is_refused_by_its_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "journal.jsonl").write_text(text)
    if not text:
        assert read_entries(tmp_path / "journal.jsonl") == ()
        return
    with pytest.raises(InputError, match="line 1"):
        run_page(tmp_path)


def test_several_runs_have_a_page_with_figures_of_each(tmp_path: Path) -> None:
    for name in ("gemm", "decode-attention"):
        (tmp_path / name).mkdir()
        shutil.copy(KEPT / name / "journal.jsonl", tmp_path / name)
    page = runs_page(tmp_path)
    assert len(table(page, "Every workload").rows) >= 2
    files = {o.file for o in origins(page)}
    assert files == {"gemm/journal.jsonl", "decode-attention/journal.jsonl"}
    assert origins(page) <= set(page.entries)
    with (tmp_path / "gemm" / "journal.jsonl").open("a") as stream:
        stream.write("{}\n")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "journal.jsonl").write_text("")
    answer = " ".join(runs_page(tmp_path).answer)
    assert "gemm cannot be read: " in answer
    assert "not an entry of a journal" in answer
    assert "new cannot be read: " in answer


def test_an_artifact_that_a_journal_names_elsewhere_is_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "record.json").write_text('{"threads": 77}')
    entries = lines(ATTENTION)
    for entry in entries:
        if entry["key"].startswith("qualify/"):
            entry["data"]["artifact"] = "../outside"
    folder = written(tmp_path / "run", entries)
    facts = run_facts(folder, Book(read_entries(folder / "journal.jsonl")))
    assert [dict(w.record) for w in facts.workloads] == [{}]


def test_a_long_entry_is_cut_and_says_so() -> None:
    long = {"a": list(range(100_000)), "b": "x" * 50_000}
    text = shortened(long)
    assert len(text) < 30_000
    assert "more in the file" in text
    assert set(json.loads(text)) == {"a", "b"}
    assert json.loads(shortened({"a": [1, 2]})) == {"a": [1, 2]}


@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=pytest.mark.slow)])
def test_many_candidates_are_all_counted_and_listed(tmp_path: Path, count: int) -> None:
    folder = written(tmp_path, many(count))
    page = run_page(folder)
    shown = {
        bar.name: bar.parts[0].value for b in blocks(page) if isinstance(b, Bars) for bar in b.bars
    }
    wrong, broken = 2 * count // 50, count // 50
    assert shown["chosen by the solver"] == count
    assert shown["built"] == count - broken
    assert shown["validated"] == shown["measured"] == count - broken - wrong
    assert len(table(page, "Designs of one").rows) == count
    assert len(table(page, "What was lost").rows) == wrong + broken
    assert sum(map(len, page.entries.values())) <= MOST_TEXT
    chart = next(
        b for b in blocks(page) if isinstance(b, Chart) and b.title.startswith("Predicted")
    )
    assert sum(len(s.points) for s in chart.series) <= MOST_POINTS


def many(count: int, per: int = 50) -> list[dict[str, Any]]:
    """A journal of ``count`` designs: of fifty two are wrong and one does not build."""
    found: list[tuple[str, Any]] = [
        ("problem", {"version": "0", "problem": "", "contract": "", "templates": {}}),
        ("about", {"problem": "many", "workloads": {"one": {"M": 1}}, "objective": "latency"}),
    ]
    for turn in range(count // per):
        keys = [f"{turn * per + n:016x}" for n in range(per)]
        designs = [
            {
                "key": k,
                "template": f"t{n % 9}",
                "assignment": {"A": n, "B": turn},
                "predicted": 1e-4,
            }
            for n, k in enumerate(keys)
        ]
        found.append((f"solve/one/{turn}", {"designs": designs, "solutions": {}}))
        found += [
            (f"build/{k}", {"error": "no"} if n == 0 else {"seconds": 1.0})
            for n, k in enumerate(keys)
        ]
        found += [
            (f"validate/one/{k}", {"verdict": "held" if n % 20 else "refuted", "message": "m"})
            for n, k in enumerate(keys)
            if n != 0
        ]
        timed = {"seconds": {"median": 2e-4, "low": 1e-4, "high": 3e-4}, "memory_bytes": 64}
        found.append(
            (f"measure/one/{turn}", {"programs": {k: timed for n, k in enumerate(keys) if n % 20}})
        )
    return [{"schema": 1, "time": "", "key": k, "data": d} for k, d in found]


def test_the_time_that_went_is_that_of_the_entries() -> None:
    data = lines(ATTENTION)
    page = run_page(KEPT / "decode-attention")
    bars = next(b for b in blocks(page) if isinstance(b, Bars) and b.title == "Where the time went")
    shown = {bar.name: bar.parts[0].value for bar in bars.bars}
    built = [e["data"]["seconds"] for e in data if e["key"].startswith("build/")]
    held = [e["data"]["seconds"] for e in data if e["key"].startswith("validate/")]
    assert shown["building"] == pytest.approx(sum(built))
    assert shown["validating"] == pytest.approx(sum(held))


def test_words_of_a_candidate_reach_no_page_as_markup(tmp_path: Path) -> None:
    entries = [e | {"data": _poisoned(e["data"])} for e in lines(ATTENTION)]
    page = run_page(written(tmp_path, entries))
    assert HOSTILE in told(page)
    text = html_of(page)
    assert "<img src=x" not in text
    assert "<script>alert" not in text


def _poisoned(value: Any) -> Any:
    """Free words of a journal with markup in them; names that the reader goes by stay."""
    match value:
        case dict():
            return {
                k: HOSTILE + str(v)
                if k in ("name", "detail", "message", "why", "says", "text", "rule", "defect")
                else _poisoned(v)
                for k, v in value.items()
            }
        case list():
            return [_poisoned(v) for v in value]
        case _:
            return value

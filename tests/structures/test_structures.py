"""Variants of structures against the verdicts that stand in their files.

The default run replays every fault at the values noted in its file, runs every accepted schedule
once, and judges a few variants in full; under ``FORMWRIGHT_SLOW`` all are judged.
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from formwright.flow.variants import (
    ON_VALUES,
    Judgement,
    Variant,
    judge,
    read_variant,
    replayed,
    schedules,
)
from formwright.proof.recurrence import RecurrenceError, check, parse_recurrence
from formwright.replay import run

FOLDER = Path(__file__).parent
PATHS = sorted(FOLDER.glob("*/*.fw"))
RECURRENCES = sorted(FOLDER.glob("*/*.rec"))
SLOW = "FORMWRIGHT_SLOW" in os.environ
SAMPLE = {
    "reduction_partition/cyclic",
    "double_buffering/even_barriers",
    "k_partition/chip_too_small",
    "k_partition/lost_end_two_levels",
    "pipeline_stages/one_group_too_many",
    "buffer_reuse/running_sum",
    "bounded_queues/interleaved",
    "producer_consumer/counters_of_consumers",
}
"""One of each kind that is quickly judged."""
FAMILIES = {
    "causal_attention/tiles": (36, 3, {"N": 5, "W": 2}),
    "prefill_decode/paged_cache": (48, 6, {"N": 6, "L": 3, "W": 2}),
    "training_step/versions": (16, 7, {"V": 3, "N": 2, "B": 2, "W": 2}),
}
"""Schedules that are accepted, the least number of faults of the family, a size to run at."""


def named(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@cache
def variant(path: Path) -> Variant:
    return read_variant(path)


@cache
def judged(path: Path) -> Judgement:
    mine = variant(path)
    return judge(mine, None if mine.base is None else judged(mine.base))


@pytest.mark.slow
def test_the_inventory_is_what_is_promised() -> None:
    all_of_them = [variant(p) for p in PATHS]
    families = {name.split("/")[0] for name in FAMILIES}
    structural = [v for v in all_of_them if v.group not in families]
    kinds = Counter(v.kind for v in structural)
    assert len(structural) >= 78
    assert len({v.group for v in structural}) >= 8
    assert kinds["refuted"] >= 31
    assert sum("deadlock" in v.words and v.kind == "refuted" for v in structural) >= 3
    assert {"proved", "bounded", "inherited", "failed certificate", "infeasible"} <= set(kinds)


def is_faulty(path: Path) -> bool:
    """By its note alone: what is only collected is not parsed."""
    return re.search("^# expect: (refuted|inherited)", path.read_text(), re.MULTILINE) is not None


@pytest.mark.parametrize("path", [p for p in PATHS if is_faulty(p)], ids=named)
def test_each_fault_is_replayed(path: Path) -> None:
    mine = variant(path)
    assert mine.kind in ("refuted", "inherited")
    assert set(mine.at) == set(mine.words) - ON_VALUES
    for word, shown in replayed(mine).items():
        assert shown is not None, word
        assert shown.replayed


@pytest.mark.parametrize(
    "path", PATHS if SLOW else [p for p in PATHS if named(p) in SAMPLE], ids=named
)
def test_each_variant_gets_its_verdict(path: Path) -> None:
    mine, found = variant(path), judged(path)
    assert found.kind == mine.kind, found.details
    if mine.kind in ("refuted", "inherited"):  # how many replays are found depends on the time
        assert set(found.words) & set(mine.words), found.details
    else:
        assert set(found.words) == set(mine.words), found.details
    assert (found.bound != "") == (mine.kind == "bounded")
    for _, shown in found.counterexamples:
        assert shown.replayed or "evaluated exactly" in shown.trace


@pytest.mark.parametrize("name", FAMILIES)
def test_every_schedule_of_a_family_runs_right(name: str) -> None:
    count, faults, sizes = FAMILIES[name]
    mine = variant(FOLDER / f"{name}.fw")
    assert mine.kind in ("proved", "bounded")
    found = schedules(mine.template)
    assert len(found) == count
    for schedule in found:
        assert run(mine.template, {**schedule, **sizes}).status == "exact", schedule
    group = [variant(p) for p in PATHS if p.parent.name == mine.group]
    assert sum(v.kind == "refuted" for v in group) >= faults


@pytest.mark.parametrize("path", RECURRENCES, ids=named)
def test_each_recurrence_gets_its_verdict(path: Path) -> None:
    """A false identity is refuted by a run with ``exp(x) = 2**x``, or its certificate failed."""
    text = path.read_text()
    expected = text.rstrip("\n").split("\n")[-1].removeprefix("# expect: ")
    found = check(parse_recurrence(text))
    kind = "failed certificate" if found.verdict == "unresolved" else found.verdict
    assert f"{kind} {', '.join(found.failed)}".strip() == expected
    assert found.identities >= 5


@pytest.mark.parametrize(
    "text",
    [
        "key s\nsum l means exp(s : carry 1, add exp(s)\nresult l / l is exp(s) / exp(s)",
        "key s\nsum l means exp(s*s) : carry 1, add exp(s)\nresult l / l is exp(s) / exp(s)",
        "key s\nsum l means exp(s) : carry 1\nresult l / l is exp(s) / exp(s)",
        "key s\nsum l means exp(s) : carry 1, add exp(s)",
        "nothing known",
    ],
)
def test_what_is_no_recurrence_is_refused(text: str) -> None:
    with pytest.raises(RecurrenceError):
        parse_recurrence(text)


def test_the_table_is_data_too() -> None:
    script = FOLDER.parents[1] / "benchmarks" / "structures.py"
    command = [sys.executable, str(script), "--json", "--group", "streaming_attention"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert found["as_expected"] == found["of"] == len(RECURRENCES)
    assert found["kinds"]["refuted"] == found["new_faults"] >= 9

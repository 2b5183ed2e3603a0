"""Journals, records and proofs that somebody changed: a page or a message, never a traceback."""

import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from effort import examples
from formwright.base.diagnostics import InputError
from formwright.report.html import html_of
from formwright.report.page import Page
from formwright.report.pages.proof_page import proof_file_page
from formwright.report.pages.run_page import run_page
from made_proofs import refuted

KEPT = Path(__file__).parent.parent.parent / "studies" / "transcripts" / "gemm" / "journal.jsonl"
PROOF: dict[str, Any] = json.loads(json.dumps(refuted().as_json()))
STRANGE: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1e308,
    float("nan"),
    float("inf"),
    10**400,
    "",
    "x" * 5000,
    '"><img src=x onerror=alert(1)>',
    [],
    {},
    [None],
    {"median": "x"},
)


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value of JSON data."""
    yield at
    match value:
        case dict():
            for key, inner in value.items():
                yield from places(inner, (*at, key))
        case list():
            for number, inner in enumerate(value[:3]):
                yield from places(inner, (*at, number))


def put(value: Any, at: tuple[Any, ...], strange: Any) -> Any:
    """``value`` with ``strange`` at the end of the way ``at``."""
    if not at:
        return strange
    changed = copy.deepcopy(value)
    inside = changed
    for step in at[:-1]:
        inside = inside[step]
    inside[at[-1]] = strange
    return changed


def shown(make: Callable[[], Page]) -> None:
    """A page that can be drawn, or a message about the input."""
    try:
        page = make()
    except InputError:
        return
    text = html_of(page)
    assert "<img src=x" not in text


@pytest.mark.parametrize("seed", range(examples(48)))
def test_any_value_of_a_journal_may_be_anything(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    entries = [json.loads(line) for line in KEPT.read_text().splitlines()]
    for entry in entries:
        if entry["key"].startswith("judge/"):
            entry["data"]["proof"] = {"full": copy.deepcopy(PROOF)}
    for _ in range(6):
        entry = draw.choice(entries)
        way = draw.choice(list(places(entry["data"])))
        entry["data"] = put(entry["data"], way, draw.choice(STRANGE))
    (tmp_path / "journal.jsonl").write_text("".join(json.dumps(e) + "\n" for e in entries))
    shown(lambda: run_page(tmp_path))


def test_any_value_of_a_proof_may_be_anything(tmp_path: Path) -> None:
    draw = random.Random(7)
    ways = list(places(PROOF))[1:]
    for number in range(examples(160)):
        changed = put(PROOF, draw.choice(ways), draw.choice(STRANGE))
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(changed))
        shown(lambda file=file: proof_file_page(file))  # type: ignore[misc]

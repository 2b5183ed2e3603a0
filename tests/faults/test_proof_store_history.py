"""Every version of a history has the same verdicts with reuse as without."""

import os
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from histories import CLASSES, Version, load_history  # noqa: E402

from formwright.base.source import Source  # noqa: E402
from formwright.flow.proving import prove  # noqa: E402
from formwright.lang.parser import parse  # noqa: E402
from formwright.proof.verdict import Proof  # noqa: E402

SLOW = os.environ.get("FORMWRIGHT_SLOW") == "1"
VERSIONS = load_history()
SOME = [v for v in VERSIONS if v.name.startswith("4_")]
"""A sub-sequence for every day; all of them with FORMWRIGHT_SLOW=1."""


def judged(version: Version, store: Path, fresh: bool) -> Proof:
    return prove(parse(Source(version.name, version.text)), store=store, fresh=fresh)


def test_the_history_is_one_of_real_edits() -> None:
    kinds = [v.kind for v in VERSIONS if v.kind != "base"]
    assert set(kinds) <= set(CLASSES)
    assert len(kinds) >= 40
    assert sum(k in ("program", "constraints") for k in kinds) * 2 >= len(kinds)
    assert {"cost", "menus", "renames", "reordering", "fault"} <= set(kinds)
    assert len({v.name.partition("/")[0] for v in VERSIONS}) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("versions", [VERSIONS if SLOW else SOME], ids=["history"])
def test_version_by_version_the_verdicts_are_the_same(
    versions: list[Version], tmp_path: Path
) -> None:
    for version in versions:
        mine = judged(version, tmp_path, fresh=False)
        full = judged(version, tmp_path / "none", fresh=True)
        assert mine.verdict == full.verdict, version.name
        pairs = zip(mine.obligations, full.obligations, strict=True)
        assert [(a.condition, a.verdict) for a, _ in pairs] == [
            (b.condition, b.verdict) for b in full.obligations
        ], version.name


def test_a_folder_of_texts_is_a_history(tmp_path: Path) -> None:
    (tmp_path / "02.fw").write_text("# class: cost\nsecond")
    (tmp_path / "01.fw").write_text("first")
    assert [(v.name, v.kind) for v in load_history(tmp_path)] == [("01", "edit"), ("02", "cost")]

"""Every variant of tests/structures judged: kinds by group, new faults, deadlocks, schedules.

    python benchmarks/structures.py            # a table; some minutes
    python benchmarks/structures.py --json     # the same as JSON
    python benchmarks/structures.py --group double_buffering

Exit status 0: every variant got the verdict in its file; 1: one did not.
"""

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from formwright.flow.variants import KINDS, Judgement, Variant, judge, read_variant, schedules
from formwright.proof.recurrence import check, parse_recurrence

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "structures"
FAMILIES = ("causal_attention/tiles", "prefill_decode/paged_cache", "training_step/versions")
"""Templates whose assignments are schedules that are accepted together."""


@dataclass(frozen=True, slots=True)
class Row:
    group: str
    name: str
    expected: str
    kind: str
    words: tuple[str, ...]
    as_expected: bool
    bound: str
    seconds: float


def judged(path: Path, known: dict[Path, Judgement]) -> tuple[Variant, Judgement]:
    """A variant with its judgement; what it was made from is judged first."""
    mine = read_variant(path)
    base = None
    if mine.base is not None:
        base = known.get(mine.base) or judged(mine.base, known)[1]
    if path not in known:
        known[path] = judge(mine, base)
    return mine, known[path]


def row_of(path: Path, known: dict[Path, Judgement]) -> Row:
    if path.suffix == ".rec":
        return recurrence_row(path)
    start = time.perf_counter()
    mine, found = judged(path, known)
    same = found.kind == mine.kind and bool(set(found.words) & set(mine.words) or not mine.words)
    shown = f"{mine.kind} {' '.join(mine.words)}".strip()
    seconds = time.perf_counter() - start
    return Row(mine.group, path.stem, shown, found.kind, found.words, same, found.bound, seconds)


def recurrence_row(path: Path) -> Row:
    start = time.perf_counter()
    text = path.read_text()
    expected = re.findall(r"^# expect: (.*)$", text, re.MULTILINE)[0]
    found = check(parse_recurrence(text))
    kind = "failed certificate" if found.verdict == "unresolved" else found.verdict
    shown = f"{kind} {', '.join(found.failed)}".strip()
    seconds = time.perf_counter() - start
    same = shown == expected
    return Row(path.parent.name, path.stem, expected, kind, found.failed, same, "", seconds)


def summary(rows: Sequence[Row]) -> dict[str, object]:
    """What the paper counts: variants, groups, faults, deadlocks; and accepted schedules."""
    families = {name.split("/")[0] for name in FAMILIES}
    structural = [r for r in rows if r.group not in families]
    refuted = [r for r in structural if r.kind == "refuted"]
    accepted: dict[str, object] = {}
    for name in FAMILIES:
        group, stem = name.split("/")
        family = [r for r in rows if r.group == group and r.name == stem]
        if family and family[0].kind in ("proved", "bounded"):
            template = read_variant(FOLDER / f"{name}.fw").template
            faults = sum(r.group == group and r.kind == "refuted" for r in rows)
            accepted[group] = {
                "schedules": len(schedules(template)),
                "evidence": family[0].kind,
                "bound": family[0].bound,
                "fault_families": faults,
            }
    return {
        "variants": len(structural),
        "groups": len({r.group for r in structural}),
        "kinds": dict(Counter(r.kind for r in structural)),
        "new_faults": len(refuted),
        "deadlocks": sum("deadlock" in r.words for r in refuted),
        "schedules": accepted,
        "as_expected": sum(r.as_expected for r in rows),
        "of": len(rows),
        "seconds": round(sum(r.seconds for r in rows), 1),
    }


def table(rows: Sequence[Row]) -> str:
    """One line a group, in Markdown."""
    lines = ["| group | variants | " + " | ".join(KINDS[:-1]) + " | seconds |"]
    lines.append("|" + " --- |" * (len(KINDS) + 2))
    for group in sorted({r.group for r in rows}):
        mine = [r for r in rows if r.group == group]
        counts = Counter(r.kind for r in mine)
        cells = [str(counts[k]) if counts[k] else "" for k in KINDS[:-1]]
        seconds = sum(r.seconds for r in mine)
        lines.append(f"| {group} | {len(mine)} | {' | '.join(cells)} | {seconds:.1f} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--group", help="only this group")
    options = parser.parse_args()
    paths = sorted((*FOLDER.glob("*/*.fw"), *FOLDER.glob("*/*.rec")))
    if options.group:
        paths = [p for p in paths if p.parent.name == options.group]
    known: dict[Path, Judgement] = {}
    rows: list[Row] = []
    for path in paths:
        print(f"{len(rows) + 1}/{len(paths)} {path.parent.name}/{path.stem}", file=sys.stderr)
        rows.append(row_of(path, known))
    found = summary(rows)
    if options.json:
        found["rows"] = [
            {
                "group": r.group,
                "name": r.name,
                "expected": r.expected,
                "kind": r.kind,
                "words": list(r.words),
                "bound": r.bound,
                "seconds": round(r.seconds, 2),
            }
            for r in rows
        ]
        print(json.dumps(found, indent=2))
    else:
        print(table(rows))
        print()
        for key, value in found.items():
            print(f"{key}: {value}")
        for row in rows:
            if not row.as_expected:
                got = f"{row.kind} {' '.join(row.words)}"
                print(f"NOT AS EXPECTED {row.group}/{row.name}: {got}, not {row.expected}")
    return 0 if all(r.as_expected for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Full checking against checking with reuse, over a chain of steps and a history of edits.

    python benchmarks/reuse.py                     # the recorded history and the chain that ships
    python benchmarks/reuse.py --history FOLDER    # another history: .fw files in their order
    python benchmarks/reuse.py --json

Full checking parses and proves each text with nothing kept; reuse begins with an empty store on
disk and pays for all of its work: looking up, parsing what is new, cores, seals, writes. Each way
has a process of its own, so that neither finds work of the other in its memory. The limit is
what proving takes of just those obligations that a kept proof does not answer, without a store
and without reading the text.

Exit status 0: every floor holds and every verdict is the same.
"""

import argparse
import json
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from histories import HISTORY, Version, load_history
from reuse_checkers import Checkers, checkers

CHAIN = Path(__file__).resolve().parent.parent / "src/formwright/chains/gemm.toml"
LEAST_SPEEDUP = 5.0
LEAST_OF_LIMIT = 0.9
REPEATS = 3


@dataclass(slots=True)
class Cost:
    """Seconds and queries of one way of checking against the other."""

    full_seconds: float = 0.0
    reuse_seconds: float = 0.0
    limit_seconds: float = 0.0
    full_queries: int = 0
    reuse_queries: int = 0
    versions: int = 0

    def add(self, other: "Cost") -> None:
        self.full_seconds += other.full_seconds
        self.reuse_seconds += other.reuse_seconds
        self.limit_seconds += other.limit_seconds
        self.full_queries += other.full_queries
        self.reuse_queries += other.reuse_queries
        self.versions += other.versions

    def as_json(self) -> dict[str, float | int]:
        reuse = self.reuse_seconds or 1e-9
        ratios = {
            "speedup": self.full_seconds / reuse,
            "of_limit": self.limit_seconds / reuse,
        }
        return {**asdict(self), **ratios}


@dataclass(slots=True)
class Compared:
    """One text checked both ways."""

    name: str
    kind: str
    verdict: str
    cost: Cost
    different: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)


def compared(version: Version, store: Path, check: Checkers) -> Compared:
    """Both ways of checking one version; obligations are told apart by name and place."""
    full = check.in_full(version.text, version.name)
    mine = check.with_store(version.text, version.name, store)
    pairs = list(zip(full.obligations, mine.obligations, strict=True))
    different = [f"{a.name}: {a.verdict} became {b.verdict}" for a, b in pairs if not _same(a, b)]
    if full.verdict != mine.verdict:
        different.append(f"{version.name}: {full.verdict} became {mine.verdict}")
    changed = [(a, b) for a, b in pairs if not b.reused]
    alone = sum(a.seconds for a, _ in changed) / (full.proof_seconds or 1)
    cost = Cost(
        full.seconds,
        mine.seconds,
        alone * full.proving,
        full.queries,
        mine.queries,
        1,
    )
    names = [a.name for a, _ in changed]
    return Compared(version.name, version.kind, full.verdict, cost, different, names)


def _same(full: object, mine: object) -> bool:
    names = ("name", "condition", "verdict")
    return all(getattr(full, n) == getattr(mine, n) for n in names)


def history(versions: Sequence[Version], check: Checkers) -> Iterator[Compared]:
    """Every version in order, with one store that is empty at first."""
    with tempfile.TemporaryDirectory() as folder:
        for version in versions:
            yield compared(version, Path(folder), check)


def chain(texts: Sequence[tuple[str, str]], check: Checkers) -> list[dict[str, object]]:
    """Each depth of a chain: all steps in full, against all steps with those above kept.

    Each ratio is the median of ``REPEATS`` paired runs, seconds are those of the median run.
    ``exact``: the queries asked are those of the step that was added, and no others.
    """
    runs = [_chain_once(texts, check) for _ in range(REPEATS)]
    found: list[dict[str, object]] = []
    for depth, rows in enumerate(zip(*runs, strict=True), start=1):
        ordered = sorted(rows, key=lambda r: r[0].as_json()["of_limit"])
        cost = ordered[len(ordered) // 2][0]
        row: dict[str, object] = {"depth": depth, "step": texts[depth - 1][0], **cost.as_json()}
        shares = [r[0].as_json()["of_limit"] for r in ordered]
        row |= {"of_limit_low": shares[0], "of_limit_high": shares[-1]}
        row |= {"verdicts": rows[0][1], "same": all(r[2] for r in rows)}
        found.append(row | {"exact": all(r[3] for r in rows)})
    return found


def _chain_once(
    texts: Sequence[tuple[str, str]], check: Checkers
) -> list[tuple[Cost, list[str], bool, bool]]:
    """Cost, verdicts, whether they agree and whether the queries are exact, for each depth."""
    found: list[tuple[Cost, list[str], bool, bool]] = []
    with tempfile.TemporaryDirectory() as folder:
        for depth in range(1, len(texts) + 1):
            cost = Cost(versions=depth)
            full = [check.in_full(text, name) for name, text in texts[:depth]]
            kept = [check.with_store(text, name, Path(folder)) for name, text in texts[:depth]]
            cost.full_seconds = sum(t.seconds for t in full)
            cost.full_queries = sum(t.queries for t in full)
            cost.limit_seconds = full[-1].proving
            cost.reuse_seconds = sum(t.seconds for t in kept)
            cost.reuse_queries = sum(t.queries for t in kept)
            pairs = zip(full, kept, strict=True)
            same = all(a.verdict == b.verdict for a, b in pairs)
            exact = cost.reuse_queries == full[-1].queries
            exact = exact and all(t.queries == 0 for t in kept[:-1])
            found.append((cost, [t.verdict for t in kept], same, exact))
    return found


def chain_texts(path: Path) -> list[tuple[str, str]]:
    """The steps of a chain file, in order."""
    steps = tomllib.loads(path.read_text(encoding="utf-8"))["chain"]["steps"]
    files = [path.parent / step for step in steps]
    return [(f.name, f.read_text(encoding="utf-8")) for f in files]


def by_class(rows: Sequence[Compared]) -> dict[str, Cost]:
    found: dict[str, Cost] = {}
    for row in rows:
        found.setdefault(row.kind, Cost()).add(row.cost)
    return found


def total(rows: Sequence[Compared]) -> Cost:
    found = Cost()
    for row in rows:
        found.add(row.cost)
    return found


def _show(title: str, cost: Cost) -> None:
    c = cost.as_json()
    print(
        f"{title:28}{c['versions']:5}{c['full_seconds']:9.2f}{c['reuse_seconds']:9.2f}"
        f"{c['limit_seconds']:9.2f}{c['full_queries']:8}{c['reuse_queries']:7}"
        f"{c['speedup']:8.2f}x{c['of_limit']:7.2f}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--history", type=Path, default=HISTORY)
    parser.add_argument("--chain", type=Path, default=CHAIN)
    parser.add_argument("--only", choices=("history", "chain"))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--cpu", action="store_true", help="processor time, on a busy machine")
    args = parser.parse_args()
    head = f"{'':28}{'texts':>5}{'full s':>9}{'reuse s':>9}{'limit s':>9}"
    head += f"{'queries':>8}{'reuse':>7}{'speedup':>9}{'limit':>7}"
    warm = (HISTORY / "direct_gemm.fw").read_text(encoding="utf-8")
    rows: list[Compared] = []
    steps: list[dict[str, object]] = []
    if args.only != "chain":
        if not args.json:
            print(head)
        with checkers(args.cpu, warm) as check:
            for row in history(load_history(args.history), check):
                rows.append(row)
                if not args.json:
                    _show(f"{row.name[:18]:19}{row.kind[:8]}", row.cost)
                    for line in row.different:
                        print("   DIFFERENT", line)
    if args.only != "history" and args.chain.exists():
        with checkers(args.cpu, warm) as check:
            steps = chain(chain_texts(args.chain), check)
    classes = by_class(rows)
    whole = total(rows)
    different = [line for row in rows for line in row.different]
    if args.json:
        by = {kind: cost.as_json() for kind, cost in classes.items()}
        versions = [
            {"name": r.name, "class": r.kind, "verdict": r.verdict, **r.cost.as_json()}
            for r in rows
        ]
        shown = {**whole.as_json(), "by_class": by, "rows": versions, "different": different}
        print(json.dumps({"chain": steps, "history": shown}, indent=2))
    else:
        print()
        for kind, cost in classes.items():
            _show(kind, cost)
        _show("all", whole)
        for step in steps:
            print(
                f"chain, depth {step['depth']}: {step['full_queries']}/{step['reuse_queries']} "
                f"queries, {step['full_seconds']:.3f} s against {step['reuse_seconds']:.3f} s: "
                f"{step['speedup']:.2f}x, {step['of_limit']:.2f} of the limit"
            )
    held = not different and (not rows or whole.as_json()["speedup"] >= LEAST_SPEEDUP)
    for step in steps:
        held = held and bool(step["same"]) and bool(step["exact"])
        held = held and float(str(step["of_limit"])) >= LEAST_OF_LIMIT
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())

"""How much sooner two workers of a Ray cluster on this machine prove and build than one does.

    python benchmarks/executors.py [--pieces 64] [--repeats 5] [--json FILE]

A piece is a proof (anew, nothing kept) and a build. One worker and two take turns, who is first
changes; workers are started, and have proved and built something, before the clock runs. Each
library and verdict of one arm is held against the other's. Ends with 1 where the ratio's median
is not within the limit, or a result differs. The machine should have nothing else to do.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from formwright.flow.executor import Done
from formwright.flow.executor_ray import RayExecutor
from formwright.flow.jobs import Build, Job, Prove
from formwright.flow.machines import this_machine
from formwright.ir.template import Template
from formwright.lang import load

TEMPLATES = ("direct_gemm", "gemv_rows", "softmax_rows", "rmsnorm_rows")
"""Their proofs take a third of a second to a second, a build of theirs about one."""
WORKERS = (1, 2)
LIMIT = 1.15
"""Times of two workers over half the time of one that are still near enough."""


class Silent:
    def lost(self, key: str, where: str, why: str) -> None:
        raise AssertionError(f"{key} was lost: {why}")

    def say(self, text: str) -> None: ...


def jobs(pieces: int) -> dict[str, Job]:
    """Proofs and builds in turn, of all templates and of as many designs."""
    found: dict[str, Job] = {}
    for number in range(pieces):
        source, template = load(TEMPLATES[number % len(TEMPLATES)])
        found[f"prove/{number}"] = Prove(source, fresh=True)
        chosen = _design(template, number // len(TEMPLATES))
        found[f"build/{number}"] = Build(template, chosen, f"build/{number}")
    return found


def _design(template: Template, number: int) -> dict[str, int]:
    """The design with this number in the order of the menus, the first decision changing first."""
    chosen = {}
    for decision in template.decisions:
        number, at = divmod(number, len(decision.menu))
        chosen[decision.name] = decision.menu[at]
    return chosen


def timed(workers: int, pieces: int) -> tuple[float, dict[str, Any]]:
    """Seconds of all pieces with so many workers, and what they came to."""
    executor = RayExecutor("local", workers)
    try:
        with tempfile.TemporaryDirectory(prefix="formwright-bench-") as place:
            folder = Path(place)
            bench = executor.bench(None)
            for _ in executor.perform(jobs(4 * workers), folder / "before", bench, Silent()):
                pass
            asked = jobs(pieces)
            start = perf_counter()
            outcomes = dict(executor.perform(asked, folder, bench, Silent()))
            seconds = perf_counter() - start
            return seconds, {key: _result(outcomes[key], folder) for key in asked}
    finally:
        executor.close()


def _result(outcome: Any, folder: Path) -> Any:
    """A verdict, a library's bytes, or why there is none: what may not depend on the workers."""
    if not isinstance(outcome, Done):
        return str(outcome)
    if "library" in outcome.data:
        return (folder / outcome.data["library"]).read_bytes()
    return outcome.data["verdict"], outcome.data["open"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pieces", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    ratios, seconds = [], {w: [] for w in WORKERS}
    known: dict[str, Any] = {}
    same = True
    for repeat in range(asked.repeats):
        for workers in WORKERS if repeat % 2 == 0 else WORKERS[::-1]:
            took, found = timed(workers, asked.pieces)
            seconds[workers].append(took)
            same &= (known or found) == found
            known = found
            print(f"{workers} worker(s): {took:.2f} s", flush=True)
        ratios.append(seconds[2][-1] / (seconds[1][-1] / 2))
    built = sum(isinstance(r, bytes) for r in known.values())
    proved = sum(r[0] == "proved" for r in known.values() if isinstance(r, tuple))
    told = {
        "machine": this_machine().as_json(),
        "pieces": asked.pieces,
        "proved": proved,
        "built": built,
        "same": same,
        "seconds": {str(w): s for w, s in seconds.items()},
        "over_half": {"median": median(ratios), "low": min(ratios), "high": max(ratios)},
        "limit": LIMIT,
    }
    print(
        f"{asked.pieces} proofs ({proved} proved) and {asked.pieces} builds ({built} built):"
        f" {median(seconds[1]):.1f} s with one worker, {median(seconds[2]):.1f} s with two,"
        f" {median(ratios):.3f} of half ({min(ratios):.3f} to {max(ratios):.3f});"
        f" {'all results the same' if same else 'RESULTS DIFFER'}"
    )
    if asked.json:
        asked.json.write_text(json.dumps(told, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return 0 if same and median(ratios) <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())

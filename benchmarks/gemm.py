"""The matrix product against the libraries that people use, in one interleaved run.

    make bench                                     # installs the peers, one and two threads
    python benchmarks/gemm.py --threads 1 --random 0

Designs are chosen by the solver for each shape, a few are built, the best of them is picked in a
first run and timed afresh in a second one beside NumPy, torch and oneDNN. A missing peer fails.
Exit status 0: every floor holds; 1: one does not, or something failed.
"""

import argparse
import math
import os
import random
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from peers import VENV, go_on_with
from scipy.stats import spearmanr

from formwright.base.digest import digest
from formwright.chip.load import load_chip
from formwright.codegen import build, detect_target, emit_c
from formwright.contract.operators import operator
from formwright.flow.choosing import choose
from formwright.flow.parameters import bind
from formwright.ir.template import Template
from formwright.lang import load
from formwright.measure.programs import Baseline, BaselineName, Native, Program
from formwright.measure.statistics import Distribution, ratio
from formwright.measure.timing import Plan, Result, measure_interleaved
from formwright.milp.solve import solve
from formwright.qualify.timing import operator_workload

PEERS = ("torch==2.13.0", "onednn-cpu-gomp==2023.2.0")
SHAPES = {"square": (1000, 1000, 1000), "skinny": (64, 4096, 4096), "large": (2048, 2048, 2048)}
"""M, N, K."""
Shape = tuple[int, int, int]
LONGEST = 1500
"""The random ragged shapes have extents from 1 to this."""
PLAIN = ("packed_gemm", "blocked_gemm", "direct_gemm")
AHEAD = ("packed_gemm_ahead", "blocked_gemm_ahead")
BUILT = 6
"""Designs that are built for a shape: the best of each template first."""
WITHIN = Fraction(6, 5)
"""The model is not exact: a design so much dearer by it than the best may be the fastest."""
SEARCH_ROUNDS = 4
"""To tell the built designs apart; the best is timed afresh."""
RANDOM = Plan(rounds=9, seconds=4.0, batch_seconds=0.006, slots=64)
"""Of the random shapes their mean counts: short batches of each, and fewer slots to judge."""


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--install-peers", action="store_true", help="install them in .venv-bench")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--random", type=int, default=40, help="how many random ragged shapes")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(argv)
    if given.install_peers:
        go_on_with(PEERS, __file__)
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        os.environ.pop(name, None)
    return Bench(given.threads, given.random, given.rounds, given.seed).run()


@dataclass(frozen=True)
class Comparison:
    """``ratios``: a peer's time over ours, so above 1 is faster than the peer."""

    text: str
    ratios: dict[str, float]


@dataclass
class Bench:
    """One run; ``faults`` says which floors do not hold."""

    threads: list[int]
    shapes: int
    rounds: int
    seed: int
    faults: list[str] = field(default_factory=list)
    predictions: list[list[tuple[float, float]]] = field(default_factory=list)
    """Predicted and measured seconds of each design that was timed, by shape."""

    def run(self) -> int:
        for threads in self.threads:
            self._named(threads, ahead=False)
            self._named(threads, ahead=True)
            if self.shapes:
                self._ragged(threads)
        for fault in self.faults:
            print(f"not met: {fault}")
        return 1 if self.faults else 0

    def _named(self, threads: int, ahead: bool) -> None:
        what = f"{threads} thread(s), " + ("B packed ahead" if ahead else "nothing packed ahead")
        print(f"\n{what}: GFLOP/s, and ours over each peer (median of paired rounds, 95 %)")
        ratios: dict[str, list[float]] = {}
        for name, shape in SHAPES.items():
            plan = Plan(rounds=self.rounds, seconds=20.0)
            found = self.compare(shape, threads, ahead, ("numpy", "torch", "onednn"), plan)
            print(f"  {name:8s} {'x'.join(map(str, shape)):16s} {found.text}", flush=True)
            for peer, value in found.ratios.items():
                ratios.setdefault(peer, []).append(value)
                floor = 0.97 if peer == "onednn" else 1.0
                if ahead and value < floor:
                    self.faults.append(f"{what}, {name}: {value:.3f} of {peer}, not {floor}")
        for peer, values in ratios.items():
            mean = geometric_mean(values)
            print(f"  geometric mean over {peer}: {mean:.3f}")
            floor = 0.95 if peer == "onednn" else 1.0
            if not ahead and (mean < floor or len(values) < len(SHAPES)):
                self.faults.append(f"{what}: geometric mean {mean:.3f} of {peer}, not {floor}")
        self._say_predictions()
        if set(ratios) != {"numpy", "torch", "onednn"}:
            self.faults.append(f"{what}: a peer is missing")

    def _ragged(self, threads: int) -> None:
        draw = random.Random(self.seed)
        values: list[float] = []
        print(f"\n{threads} thread(s), {self.shapes} random shapes up to {LONGEST}, over numpy")
        for number in range(self.shapes):
            m, n, k = (draw.randint(1, LONGEST) for _ in range(3))
            found = self.compare((m, n, k), threads, False, ("numpy",), RANDOM)
            print(f"  {number:3d} {m:5d} x {n:4d} x {k:4d}  {found.text}", flush=True)
            values.append(found.ratios.get("numpy", 0.01))
        mean = geometric_mean(values)
        print(f"  geometric mean over numpy: {mean:.3f}, least {min(values):.3f}")
        self._say_predictions()
        if mean < 1.0:
            self.faults.append(f"{threads} thread(s): ragged shapes {mean:.3f} of numpy")

    def _say_predictions(self) -> None:
        """How well the cost model foretold the designs since this was last said."""
        shapes, self.predictions = self.predictions, []
        pairs = [pair for shape in shapes for pair in shape]
        if len(pairs) < 3:
            return
        error = sum(abs(math.log(p / m)) for p, m in pairs) / len(pairs)
        pooled = spearmanr(*zip(*pairs, strict=True)).statistic
        within = [spearmanr(*zip(*s, strict=True)).statistic for s in shapes if len(s) > 2]
        known = [w for w in within if math.isfinite(w)]
        inside = f"{statistics.mean(known):.2f}" if known else "-"
        print(
            f"  cost model: mean error {error * 100:.0f} % over {len(pairs)} designs, rank"
            f" correlation {pooled:.2f} over all, {inside} in the mean within a shape"
        )

    def compare(
        self,
        shape: Shape,
        threads: int,
        ahead: bool,
        peers: Iterable[BaselineName],
        plan: Plan,
    ) -> Comparison:
        """Ours, chosen in a run of its own, beside the peers in a fresh one."""

        packed = ("B",) if ahead else ()
        designs, predicted = candidates(shape, threads, AHEAD if ahead else PLAIN, packed)
        first = self._time(shape, designs, replace(plan, rounds=SEARCH_ROUNDS))
        known = {n: d for n, d in first.items() if isinstance(d, Distribution)}
        if not known:
            raise SystemExit(f"no design ran at {shape}: {list(first.values())}")
        self.predictions.append([(predicted[n], d.median) for n, d in known.items()])
        # Other work only adds time, so the least of few rounds tells the designs apart best.
        best = min(known, key=lambda n: min(s.seconds for s in known[n].samples))
        programs: dict[str, Program] = {"ours": designs[best]}
        programs |= {p: Baseline(p, threads, packed if p == "onednn" else ()) for p in peers}
        return comparison(shape, best, self._time(shape, programs, plan))

    def _time(self, shape: Shape, programs: Mapping[str, Program], plan: Plan) -> dict[str, Result]:

        extents = dict(zip("MNK", shape, strict=True))
        workload = operator_workload(operator("gemm").contract(), extents, self.seed)
        return measure_interleaved(programs, workload, seed=self.seed, plan=plan)


def comparison(shape: Shape, design: str, results: Mapping[str, Result]) -> Comparison:

    work = 2 * math.prod(shape) / 1e9
    ours = results["ours"]
    if not isinstance(ours, Distribution):
        raise SystemExit(f"our kernel failed at {shape}: {ours}")
    parts, ratios = [f"ours {work / ours.median:6.1f}"], dict[str, float]()
    for name, result in results.items():
        if name == "ours":
            continue
        if not isinstance(result, Distribution):
            parts.append(f"{name} failed: {result.message}")
            continue
        interval = ratio(result, ours)
        ratios[name] = interval.median
        rate = work / result.median
        low, high = interval.low, interval.high
        parts.append(f"{name} {rate:6.1f} ({interval.median:.3f}, {low:.2f}-{high:.2f})")
    # A row beside other work says little about two threads: it must show.
    repeated = sum(r.repeated for r in results.values() if isinstance(r, Distribution))
    held_up = [f"(held up {repeated} times)"] if repeated else []
    return Comparison("  ".join([*parts, f"[{design}]", *held_up]), ratios)


def candidates(
    shape: Shape, threads: int, templates: Iterable[str], ahead: tuple[str, ...]
) -> tuple[dict[str, Program], dict[str, float]]:
    """The designs that the solver likes best, built, and their predicted seconds, by name."""

    chip = {**load_chip("local").parameters(), "chip.cores": threads}
    extents = dict(zip("MNK", shape, strict=True))
    ranked: list[tuple[bool, Fraction, str, Template, dict[str, int]]] = []
    for name in templates:
        template = load(name)[1]
        found = solve(template, bind(template, chip, extents, "local"), limit=256)
        chosen = choose(found.best, BUILT, WITHIN)
        ranked += [(n > 0, o, name, template, d) for n, (d, o) in enumerate(chosen)]
    least = min(r[1] for r in ranked)
    kept = sorted((r for r in ranked if r[1] <= WITHIN * least), key=lambda r: r[:2])[:BUILT]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        libraries = list(pool.map(lambda r: built(r[3], r[4]), kept))
    programs: dict[str, Program] = {}
    predicted: dict[str, float] = {}
    for (_, objective, name, _, design), library in zip(kept, libraries, strict=True):
        text = ",".join(f"{k}={v}" for k, v in design.items())
        programs[f"{name} {text}"] = Native(library, threads, ahead)
        predicted[f"{name} {text}"] = float(objective)
    return programs, predicted


def built(template: Template, design: Mapping[str, int]) -> Path:
    """The library of a design, kept by the text of its C."""
    emitted = emit_c(template, design, detect_target())
    folder = VENV / "kernels" / digest(emitted.source)[:16]
    library = folder / "kernel.so"
    return library if library.exists() else build(emitted, folder).library


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(math.log(v) for v in values) / len(values))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The operators of a transformer layer against the libraries that people use.

    make bench                                          # installs the peers, all rows
    python benchmarks/operators.py --quick              # each operator once, within 50 s
    python benchmarks/operators.py --operators softmax --dtypes bf16 --threads 1 --json out.json

For each row designs are chosen by the solver, a few are built, the best of them is picked in a
first run and timed afresh beside NumPy, torch, oneDNN and ONNX Runtime, calls interleaved. A
library that is not installed, an operator without a template and a kernel that fails are faults;
what an installed library has nothing for is said and is none.
Exit status 0: every floor holds; 1: one does not, or something failed.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from operator_designs import Design, designs, shipped
from operator_rows import DTYPES, MODELS, QUICK, REQUIRED, Shape, floor, quick_shapes, shapes
from peers import go_on_with

from formwright.base.diagnostics import InputError
from formwright.chip.load import load_chip
from formwright.contract.contract import Contract
from formwright.contract.operators import OPERATORS, operator
from formwright.flow.parameters import parse_settings
from formwright.measure.outcome import Refused
from formwright.measure.plan import Plan
from formwright.measure.programs import Baseline, BaselineName, Native, Program
from formwright.measure.sandbox import Limits, Sandbox
from formwright.measure.statistics import Distribution, Interval, ratio, verdict
from formwright.measure.timing import Result, measure_interleaved
from formwright.measure.workload import SymmetricWorkload
from formwright.qualify.timing import operator_workload
from formwright.roofline import contract_multiplies_bf16, roofs_of

PEERS = ("torch==2.13.0", "onednn-cpu-gomp==2023.2.0", "onnxruntime==1.32.0", "onnx==1.23.2")
BUILT, QUICK_BUILT = 5, 2
"""Designs that are built for a row."""
PATIENT = Sandbox(limits=Limits(call_seconds=300.0, start_seconds=300.0, memory_bytes=4 << 30))
"""Libraries without a kernel for an element type take minutes for the largest products."""
FULL_PLAN = Plan(
    rounds=25,
    least_rounds=7,
    seconds=8.0,
    batch_seconds=0.01,
    memory_bytes=192 << 20,
    sandbox=PATIENT,
    hopeless=6.0,
)
QUICK_PLAN = replace(
    FULL_PLAN, rounds=5, least_rounds=5, seconds=0.6, batch_seconds=0.0015, slots=32
)
"""Judging the outputs takes longer than computing them: short batches."""
QUICK_PEERS: tuple[BaselineName, ...] = ("torch", "onednn", "onnxruntime")
"""The full run has NumPy too; here a child more for each row would take too long."""
SEARCH_ROUNDS = 3
"""To tell the built designs apart; the best is timed afresh."""
MARGIN = 0.05
"""Of a ratio, and of a share of the roof. Far above its roof is who computes by other units."""
BUSY = 0.2
"""Of the time in a run queue: then ratios say little, and the CPU time is printed beside them."""


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--install-peers", action="store_true", help="install them in .venv-bench")
    add("--quick", action="store_true", help="each operator once, within 50 s")
    add("--json", type=Path, metavar="FILE", help="write the rows there (- for standard output)")
    add("--operators", nargs="+", choices=sorted(QUICK), help="only these")
    add("--dtypes", nargs="+", choices=DTYPES, default=list(DTYPES))
    add("--threads", type=int, nargs="+", default=[1, 2])
    add("--models", nargs="+", choices=[m.name for m in MODELS], default=[m.name for m in MODELS])
    add("--shape", help="one shape instead, as R=1792,C=512; needs one of --operators")
    add("--template", help="this template (a name or a file) instead of the shipped ones")
    add("--design", help="this assignment instead of the solver's, as rows=4,lanes=8")
    add("--built", type=int, default=BUILT, help="designs that are built for a row")
    add("--show-designs", action="store_true", help="what the first run said of each design")
    add("--peers", nargs="+", choices=get_args(BaselineName), help="only these libraries")
    add("--seed", type=int, default=1)
    given = parser.parse_args(argv)
    if given.install_peers:
        go_on_with(PEERS, __file__)
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        os.environ.pop(name, None)
    return Bench(given).run()


@dataclass(frozen=True)
class Row:
    """A shape with one element type and one number of threads."""

    shape: Shape
    dtype: str
    threads: int

    @property
    def name(self) -> str:
        thread = f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        return f"{self.shape.operator} {self.dtype} {thread} {self.shape.label}"


@dataclass
class Bench:
    """One run; ``faults`` says which floors do not hold and what failed."""

    given: argparse.Namespace
    faults: list[str] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)

    def run(self) -> int:
        begun = time.monotonic()
        workloads: dict[Any, SymmetricWorkload] = {}
        for row in self._planned():
            contract = contract_of(row)
            key = (row.dtype, row.shape.operator, row.shape.label)
            if key not in workloads:
                # One at a time: weights of the largest layers take a gigabyte.
                workloads.clear()
                seed = self.given.seed
                workloads[key] = operator_workload(contract, row.shape.extents, seed)
            self._row(row, contract, workloads[key])
        for name in REQUIRED:
            if name not in OPERATORS and not self.given.operators:
                self.faults.append(f"{name}: no contract, so no row")
        self._report()
        print(f"{len(self.rows)} comparisons in {time.monotonic() - begun:.0f} s")
        for fault in self.faults:
            print(f"not met: {fault}")
        return 1 if self.faults else 0

    def _planned(self) -> Iterator[Row]:
        given = self.given
        chosen = given.operators or [
            n for n in QUICK if n in OPERATORS and (n in REQUIRED or shipped(n))
        ]
        if given.shape:
            extents = parse_settings(given.shape, "--shape")
            for dtype in given.dtypes:
                for threads in given.threads:
                    yield Row(Shape(chosen[0], given.shape, extents), dtype, threads)
        elif given.quick:
            for number, (shape, dtype) in enumerate(quick_shapes(chosen)):
                yield Row(shape, dtype, given.threads[number % len(given.threads)])
        else:
            for model in MODELS:
                for shape in shapes(model) if model.name in given.models else ():
                    for dtype in given.dtypes if shape.operator in chosen else ():
                        for threads in given.threads:
                            yield Row(shape, dtype, threads)

    def _row(self, row: Row, contract: Contract, workload: SymmetricWorkload) -> None:
        plan = QUICK_PLAN if self.given.quick else FULL_PLAN
        try:
            best = self._best(row, contract, workload, plan)
        except (LookupError, InputError) as error:
            reason = str(error).strip().splitlines()[0]
            print(f"{row.name}: MISSING, {reason}", flush=True)
            self.faults.append(f"{row.name}: missing, {reason}")
            return
        ahead = row.shape.ahead
        programs: dict[str, Program] = {"ours": Native(best.library, row.threads, best.ahead)}
        programs |= {
            name: Baseline(name, row.threads, ahead, row.shape.operator) for name in self._peers()
        }
        final = replace(plan, target=floor(row.shape.operator, row.dtype))
        seed = self.given.seed + 1
        results = measure_interleaved(programs, workload, seed=seed, plan=final)
        self._compare(row, contract, best, results)

    def _peers(self) -> Sequence[BaselineName]:
        chosen: Sequence[BaselineName] | None = self.given.peers
        if chosen:
            return chosen
        return QUICK_PEERS if self.given.quick else get_args(BaselineName)

    def _best(
        self, row: Row, contract: Contract, workload: SymmetricWorkload, plan: Plan
    ) -> Design:
        """The fastest of the built designs. Raises ``LookupError``, ``InputError``."""
        given = self.given
        templates = [given.template] if given.template else shipped(row.shape.operator)
        if not templates:
            raise LookupError("no template")
        count = given.built
        if given.quick:
            count = QUICK_BUILT if row.shape.operator in REQUIRED else 1
        assignment = parse_settings(given.design, "--design") if given.design else None
        built = designs(contract, row.shape.extents, row.threads, templates, count, assignment)
        if len(built) == 1:
            return built[0]
        programs = {d.name: Native(d.library, row.threads, d.ahead) for d in built}
        rounds = 2 if given.quick else SEARCH_ROUNDS
        search = replace(plan, rounds=rounds, hopeless=2.0)
        results = measure_interleaved(programs, workload, seed=given.seed, plan=search)
        known = {n: d for n, d in results.items() if isinstance(d, Distribution)}
        if not known:
            failed = next(iter(results.values()))
            raise LookupError(f"no design ran: {getattr(failed, 'message', failed)}")
        if given.show_designs:
            show(built, known)
        # Other work only adds time, so the least of few rounds tells the designs apart best.
        best = min(known, key=lambda n: min(s.seconds for s in known[n].samples))
        return next(d for d in built if d.name == best)

    def _compare(
        self, row: Row, contract: Contract, best: Design, results: Mapping[str, Result]
    ) -> None:
        ours = results["ours"]
        if not isinstance(ours, Distribution):
            print(f"{row.name}: OURS FAILED, {ours.message} [{best.name}]", flush=True)
            self.faults.append(f"{row.name}: our kernel failed: {ours.message}")
            return
        roof = roof_seconds(contract, row, ours.slots)
        share = roof / ours.median
        parts = [f"ours {ours.median * 1e6:.1f} us, {share:.0%} of the roof"]
        timed: dict[str, tuple[Interval, float]] = {}
        for name, result in results.items():
            if name == "ours":
                continue
            if isinstance(result, Distribution):
                interval = ratio(result, ours)
                timed[name] = (interval, roof / result.median)
                self.rows.append(self._data(row, name, interval, share, result, ours, best))
                low, high = interval.low, interval.high
                parts.append(f"{name} {interval.median:.2f} ({low:.2f}-{high:.2f})")
                if max(ours.queue_share, result.queue_share) > BUSY and row.threads == 1:
                    parts[-1] += f" (by CPU time {processor(result) / processor(ours):.2f})"
            elif isinstance(result, Refused) and not result.offered:
                parts.append(f"{name} -")
            else:
                parts.append(f"{name} FAILED")
                self.faults.append(f"{row.name}: {name} failed: {result.message}")
        repeated = sum(r.repeated for r in results.values() if isinstance(r, Distribution))
        held = [f"(held up {repeated} times)"] if repeated else []
        print(f"{row.name}: " + ", ".join([*parts, f"[{best.name}]", *held]), flush=True)
        self._judge(row, share, timed)

    def _judge(self, row: Row, share: float, timed: Mapping[str, tuple[Interval, float]]) -> None:
        """Against the fastest peer: the floor, or both of us at the roof."""
        if not timed:
            self.faults.append(f"{row.name}: no peer was timed")
            return
        name = min(timed, key=lambda n: timed[n][0].median)
        interval, theirs = timed[name]
        wanted = floor(row.shape.operator, row.dtype)
        if abs(1 - share) <= MARGIN and abs(1 - theirs) <= MARGIN:
            return
        if interval.median < wanted if wanted > 1 else interval.high < 1:
            said = verdict(interval, MARGIN)
            text = f"{interval.median:.2f} ({interval.low:.2f}-{interval.high:.2f}) of {name}"
            self.faults.append(f"{row.name}: {text}, not {wanted}; {said}")

    def _data(
        self,
        row: Row,
        peer: str,
        interval: Interval,
        share: float,
        result: Distribution,
        ours: Distribution,
        best: Design,
    ) -> dict[str, Any]:
        return {
            "operator": row.shape.operator,
            "dtype": row.dtype,
            "threads": row.threads,
            "shape": row.shape.extents,
            "peer": peer,
            "ratio": interval.median,
            "low": interval.low,
            "high": interval.high,
            "roof": share,
            "verdict": verdict(interval, MARGIN),
            "seconds": ours.median,
            "peer_seconds": result.median,
            "peer_way": result.way,
            "prepare_seconds": ours.prepare_seconds,
            "peer_prepare_seconds": result.prepare_seconds,
            "design": best.name,
            "predicted_seconds": best.predicted,
            "queue_share": max(ours.queue_share, result.queue_share),
        }

    def _report(self) -> None:
        if self.given.json:
            data = {"rows": self.rows, "faults": self.faults, "seed": self.given.seed}
            text = json.dumps(data, indent=1)
            if str(self.given.json) == "-":
                print(text)
            else:
                self.given.json.write_text(text + "\n", encoding="utf-8")


def contract_of(row: Row) -> Contract:
    """In bf16 a value between two sums may be rounded to it once; libraries round once or more."""
    asked = operator(row.shape.operator)
    narrow = row.dtype == "bf16" and asked.narrow_stages
    return asked.contract(
        dtypes=row.dtype, ahead=row.shape.ahead, stages="bf16" if narrow else "f32"
    )


def show(built: Sequence[Design], known: Mapping[str, Distribution]) -> None:
    """The designs in the order of the cost model, with the least time of a call in each."""
    for design in built:
        timed = known.get(design.name)
        if timed is None:
            print(f"  {design.name}: failed")
            continue
        least = min(s.seconds for s in timed.samples)
        took = f"took {least * 1e6:.1f} us, of CPU time {processor(timed) * 1e6:.1f} us"
        print(f"  {design.name}: predicted {design.predicted * 1e6:.1f} us, {took}")


def processor(timed: Distribution) -> float:
    """Seconds of CPU time of a call, at least: what little a busy machine leaves to compare."""
    return min(s.cpu_seconds / s.calls for s in timed.samples)


def roof_seconds(contract: Contract, row: Row, slots: int) -> float:
    """The least seconds that the chip could take: tensors moved once, or its arithmetic.

    Tensors of ``slots`` slots are used in turn: where they fit into the last-level cache
    together, the bandwidth is that of the cache, else that of memory. What multiplies bf16 by
    bf16 has the arithmetic of matrix units, where the chip has them.
    """
    figures = load_chip("local").parameters()
    chip = {k: float(v) for k, v in figures.items()}
    work = operator(contract.operator).work(contract, row.shape.extents)
    moved = work.read_bytes + work.written_bytes
    if moved * slots < chip["chip.l3_bytes"]:
        bandwidth = chip["chip.l3_bandwidth"] * row.threads
    elif row.threads == 1:
        bandwidth = chip["chip.core_dram_bandwidth"]
    else:
        bandwidth = chip["chip.dram_bandwidth"]
    peak = roofs_of(figures, row.threads).peak_for(contract_multiplies_bf16(contract))
    assert peak is not None
    return max(moved / bandwidth, work.flops / peak)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

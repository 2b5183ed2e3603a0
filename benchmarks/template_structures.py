"""What the structures of each template that ships leave out, and what that takes.

    python benchmarks/template_structures.py            # a table; about a minute
    python benchmarks/template_structures.py --json     # the same as JSON
    python benchmarks/template_structures.py rope_heads # some templates only

Each template is solved for two workloads on a chip that is written down here (nothing is read of
this machine but the clock), with its structures and without. Seconds are of one core, the shorter
of two. Exit status 0: every pair of answers is equal; 1: one is not.
"""

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass
from fractions import Fraction

from formwright.ir.expr import Scalar
from formwright.ir.template import Template
from formwright.lang import load, shipped
from formwright.milp.solve import Solution, solve

CORES: dict[str, Scalar] = {
    "cores": 2,
    "vector_lanes": 8,
    "vector_registers": 16,
    "accumulators": 128,
    "l1_bytes": 32768,
    "l2_bytes": 1 << 20,
    "l3_bytes": 32 << 20,
    "tlb_entries": 1536,
    "clock": 3 * 10**9,
    "core_flops": 96 * 10**9,
    "dram_bandwidth": 20 * 10**9,
    "core_dram_bandwidth": 12 * 10**9,
    "l3_bandwidth": 30 * 10**9,
    "l2_bandwidth": 90 * 10**9,
    "l1_bandwidth": 180 * 10**9,
}
TILES: dict[str, Scalar] = {
    "sms": 16,
    "threads": 256,
    "accumulators": 32768,
    "accumulators_per_thread": 64,
    "shared_bytes": 98304,
    "l2_bytes": 4 << 20,
    "flops": 8 * 10**12,
    "sm_flops": 512 * 10**9,
    "sm_bandwidth": 64 * 10**9,
    "shared_bandwidth": 256 * 10**9,
    "dram_bandwidth": 400 * 10**9,
    "clock": 10**9,
    "barrier_cycles": 20,
    "fma_cycles": 4,
    "latency_cycles": 400,
}
ARRAY: dict[str, Scalar] = {
    "array": 16,
    "scratchpad": 262144,
    "accumulator": 65536,
    "column_words": 16,
    "scratchpad_words": 64,
    "dram_words": 8,
}
ENERGY = Fraction(1, 10**12)
"""Joules; the time does not read it."""

ONE = {"B": 1, "C": 128, "D": 64, "F": 4864, "G": 7, "H": 64, "K": 896, "M": 8, "N": 896}
ONE |= {"R": 14, "S": 512, "T": 1}
MANY = {"B": 8, "C": 4096, "D": 128, "F": 4864, "G": 4, "H": 128, "K": 1000, "M": 512, "N": 4864}
MANY |= {"R": 512, "S": 4000, "T": 256}
HEADS = {"rope_heads": 14}
"""The extent N where it counts heads."""


@dataclass(frozen=True, slots=True)
class Row:
    """``costed`` designs, ``parts`` besides and seconds with the structures; ``all_*`` without."""

    template: str
    work: str
    designs: int
    costed: int
    parts: int
    seconds: float
    all_costed: int
    all_parts: int
    all_seconds: float
    equal: bool


def values_of(template: Template, extents: dict[str, int]) -> dict[str, Scalar]:
    fields = {p.name.removeprefix("chip.") for p in template.scope.chip}
    chip = TILES if fields & {"sm_flops", "shared_bytes"} else CORES
    chip = ARRAY if "array" in fields else chip
    values: dict[str, Scalar] = {f"chip.{f}": chip.get(f, ENERGY) for f in fields}
    values |= {p.name: extents[p.name] for p in template.scope.extents}
    if template.name in HEADS:
        values["N"] = HEADS[template.name]
    values |= {p.name: 4 for p in (*template.scope.sizes, *template.scope.agents)}
    return values


def timed(
    template: Template, values: dict[str, Scalar], structures: bool
) -> tuple[Solution, float]:
    best = float("inf")
    for _ in range(2):
        start = time.process_time()
        found = solve(template, values, structures=structures)
        best = min(best, time.process_time() - start)
    return found, best


def row(name: str, work: str, extents: dict[str, int]) -> Row:
    template = load(name)[1]
    values = values_of(template, extents)
    found, seconds = timed(template, values, True)
    plain, all_seconds = timed(template, values, False)
    equal = (found.assignment, found.objective, found.feasible) == (
        plain.assignment,
        plain.objective,
        plain.feasible,
    )
    return Row(
        name,
        work,
        plain.feasible or 0,
        found.evaluations or 0,
        found.parts or 0,
        seconds,
        plain.evaluations or 0,
        plain.parts or 0,
        all_seconds,
        equal,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("templates", nargs="*")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    rows = [
        row(name, work, extents)
        for name in asked.templates or shipped()
        for work, extents in (("one", ONE), ("many", MANY))
    ]
    if asked.json:
        print(json.dumps([asdict(r) for r in rows], indent=1))
    else:
        print("| template | work | designs | costed | parts | s | without: costed | parts | s |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
        for r in rows:
            print(
                f"| {r.template} | {r.work} | {r.designs:,} | {r.costed:,} | {r.parts:,} "
                f"| {r.seconds:.3f} | {r.all_costed:,} | {r.all_parts:,} | {r.all_seconds:.3f} |"
            )
    return 0 if all(r.equal for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

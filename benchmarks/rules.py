"""How far rules get from plain templates: proofs, and times beside the templates that ship.

    python benchmarks/rules.py                          # decode_attention
    python benchmarks/rules.py gemm softmax --json FILE
    python benchmarks/rules.py --dtype bf16 --built 4   # more designs of each

For each operator: the plain templates of its contract, the whole way of rules from each, the way
with panels, and the templates that ship and pack nothing ahead. Each is proved, its cost written by
``with_cost`` (a shipped one has its own), and the designs that the solver likes best are built and
called in turn with the same inputs. Times are medians; as the machine may be loaded, the ratio of
the least CPU times of a call stands beside them.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from operator_designs import designs
from operators import FULL_PLAN

from formwright.agent.costing import with_cost
from formwright.agent.specification import plain_templates
from formwright.agent.ways import IN_PANELS, Way, developed, packed, start
from formwright.base.diagnostics import InputError
from formwright.contract.contract import Contract
from formwright.contract.matching import matches
from formwright.contract.operators import OPERATORS, operator
from formwright.flow.proving import prove
from formwright.lang import load, shipped
from formwright.lang.format import format_template
from formwright.measure.programs import Native, Program
from formwright.measure.statistics import Distribution
from formwright.measure.timing import measure_interleaved
from formwright.qualify.timing import operator_workload

SHAPES = {
    "decode_attention": {"H": 2, "G": 7, "S": 2048, "D": 64},
    "prefill_attention": {"H": 2, "G": 7, "T": 256, "D": 64},
    "gated_mlp": {"T": 4, "D": 896, "F": 4864},
    "gemm": {"M": 128, "N": 896, "K": 896},
    "gemm_batched": {"B": 4, "M": 64, "N": 128, "K": 128},
    "gemv": {"N": 4864, "K": 896},
    "gemv_int8": {"N": 4864, "K": 896},
    "softmax": {"R": 256, "C": 4096},
    "rmsnorm": {"T": 128, "H": 4096},
    "layernorm": {"T": 128, "H": 4096},
    "rope": {"T": 128, "N": 14, "H": 64},
}


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("operators", nargs="*", default=["decode_attention"], choices=sorted(OPERATORS))
    add("--dtype", default="f32")
    add("--built", type=int, default=2, help="designs that are built of each template")
    add("--rounds", type=int, default=15)
    add("--threads", type=int, default=1)
    add("--json", type=Path)
    given = parser.parse_args(argv)
    rows = [row for name in given.operators for row in compared(name, given)]
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))
    return 0 if all(row["verdict"] == "proved" for row in rows) else 1


def compared(name: str, given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    contract = operator(name).contract(dtypes=given.dtype)
    extents = SHAPES[name]
    programs: dict[str, Program] = {}
    rows: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for told, rule, reference in templates(contract, Path(folder)):
            try:
                built = designs(contract, extents, given.threads, [reference], given.built)
            except (InputError, LookupError) as error:
                print(f"{told}: {str(error).splitlines()[0]}", file=sys.stderr)
                continue
            proof = prove(load(reference)[1], fresh=True)
            rows[told] = {
                "operator": name,
                "template": told,
                "rule": rule,
                "verdict": proof.verdict,
                "proof_seconds": round(proof.seconds, 2),
            }
            for design in built:
                values = design.name.split(" ", 1)[-1]
                programs[f"{told} {values}"] = Native(design.library, given.threads, ())
        workload = operator_workload(contract, extents, 1)
        plan = replace(FULL_PLAN, rounds=given.rounds, hopeless=None)
        results = measure_interleaved(programs, workload, seed=1, plan=plan)
    for key, result in results.items():
        told, values = key.split(" ", 1)
        if isinstance(result, Distribution):
            least = min(s.cpu_seconds / s.calls for s in result.samples)
            if least < rows[told].get("cpu_seconds", float("inf")):
                rows[told] |= {
                    "seconds": result.median,
                    "cpu_seconds": least,
                    "design": values,
                }
        else:
            print(f"{key}: {result}")
    best = min(
        (r["cpu_seconds"] for r in rows.values() if not r["rule"] and "cpu_seconds" in r),
        default=None,
    )
    for row in rows.values():
        if best and "cpu_seconds" in row:
            row["times_shipped"] = round(row["cpu_seconds"] / best, 3)
        print(json.dumps(row), flush=True)
        yield row


def templates(contract: Contract, folder: Path) -> Iterator[tuple[str, str, str]]:
    """A name, the rules that led there (none for what ships), and a reference to load."""
    for name in shipped():
        template = load(name)[1]
        if template.program and not name.endswith("_ahead") and not matches(template, contract):
            yield name, "", name
    for plain in plain_templates(contract, f"{contract.operator}_plain"):
        for number, way in enumerate(ways(plain)):
            told = f"{plain.name}_{number}"
            path = folder / f"{told}.fw"
            path.write_text(format_template(with_cost(replace(way.template, name=told))))
            yield told, way.rule or "plain", str(path)


def ways(plain: Any) -> Iterator[Way]:
    """The plain template, its whole way, and the ways with panels."""
    yield start(plain)
    whole = [*developed(plain)][-1:]
    yield from whole
    for way in whole:
        panels = packed(way)
        if panels is not None:
            yield panels
    yield from [w for w in developed(plain, IN_PANELS) if "panels" in w.rules][-1:]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""How well generated cost models rank what they are about: designs of a template, and templates.

    python benchmarks/costs.py                       # decode_attention and gemm
    python benchmarks/costs.py softmax --designs 12  # another operator, fewer designs
    python benchmarks/costs.py --json FILE           # every point, as JSON
    python benchmarks/costs.py --again FILE          # its times against the models of today

For each operator: its plain templates and what each step of the rules makes of them, the cost
written by ``with_cost``. Designs are drawn with a seed, built, and called in turn in one thread;
a design's seconds are the least CPU time of its calls, as the machine may be loaded. Shown are
Spearman's rank of model and measurement over the designs of the last template, the time of the
model's best design over that of the best measured, and the same over the templates of all steps.
"""

import argparse
import ctypes
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import exp, log
from pathlib import Path
from random import Random

import numpy as np
from operator_designs import built
from scipy.stats import spearmanr

from formwright.agent.costing import with_cost
from formwright.agent.specification import plain_templates
from formwright.agent.ways import developed
from formwright.base.diagnostics import InputError
from formwright.chip.load import load_chip
from formwright.contract.contract import Contract
from formwright.contract.inputs import inputs
from formwright.contract.numbers import format_of
from formwright.contract.operators import OPERATORS, operator
from formwright.flow.blackbox_space import space_of
from formwright.flow.parameters import bind
from formwright.ir.expr import Scalar
from formwright.ir.template import Template
from formwright.ir.types import with_dtypes
from formwright.milp.check import objective_of
from formwright.milp.solve import solve

SHAPES: Mapping[str, Mapping[str, int]] = {
    "decode_attention": {"H": 2, "G": 7, "S": 2048, "D": 64},
    "prefill_attention": {"H": 2, "G": 2, "T": 128, "D": 64},
    "gated_mlp": {"T": 4, "D": 896, "F": 1216},
    "gemm_batched": {"B": 4, "M": 64, "N": 128, "K": 128},
    "gemv": {"N": 4864, "K": 896},
    "gemv_int8": {"N": 4864, "K": 896},
    "softmax": {"R": 256, "C": 1024},
    "rmsnorm": {"T": 256, "H": 896},
    "layernorm": {"T": 256, "H": 896},
    "rope": {"T": 64, "N": 14, "H": 64},
}
GEMM = {"M": 64, "N": 896, "K": 512}


@dataclass(frozen=True)
class Point:
    operator: str
    template: str
    rule: str
    design: Mapping[str, int]
    predicted: float
    measured: float


def caller(path: Path, contract: Contract, values: Mapping[str, int]) -> Callable[[], float]:
    """Calls the library at ``path`` once and gives the CPU seconds of this thread."""
    library = ctypes.CDLL(str(path))
    library.fw_scratch_bytes.restype = ctypes.c_int64
    kind = format_of(contract.output.dtype).numpy
    arrays = inputs(contract, operator(contract.operator).kinds(contract)[0], values, 5)
    tensors = [*arrays, np.zeros(contract.shape(contract.output, values), kind)]
    extents = (ctypes.c_int64 * len(contract.extents))(*(values[n] for n in contract.names))
    size = int(library.fw_scratch_bytes(extents, 1))
    scratch = np.zeros(size + 64, np.uint8)
    arguments = (
        (ctypes.c_void_p * len(tensors))(*(t.ctypes.data for t in tensors)),
        (ctypes.c_int64 * len(tensors))(*(t.shape[-1] for t in tensors)),
        extents,
        ctypes.c_void_p((scratch.ctypes.data + 63) // 64 * 64),
        ctypes.c_int64(size),
        ctypes.c_int32(1),
    )

    def call(kept: object = (tensors, scratch)) -> float:
        start = time.thread_time()
        if library.fw_call(*arguments) != 0:
            raise RuntimeError(f"{path} refuses the call")
        return time.thread_time() - start

    return call


def steps(contract: Contract) -> list[tuple[str, Template]]:
    """The plain templates, and each step of the rules' way from them, with their costs."""
    found = list[tuple[str, Template]]()
    for plain in plain_templates(contract, f"{contract.operator}_plain"):
        found.append(("specification", plain))
        found += [(way.rule, way.template) for way in developed(plain)]
    types = {o.name: o.dtype for o in contract.operands}
    return [(rule, with_dtypes(with_cost(t), types)) for rule, t in found]


def points(contract: Contract, shape: Mapping[str, int], designs: int, calls: int) -> list[Point]:
    """One design, the model's best, of each step; ``designs`` drawn ones of each way's last."""
    chip = {**load_chip("local").parameters(), "chip.cores": 1}
    chosen = list[tuple[str, Template, Mapping[str, Scalar], Mapping[str, int]]]()
    made = steps(contract)
    for place, (rule, template) in enumerate(made):
        values = bind(template, chip, shape, "local")
        assignments = [dict(solve(template, values).assignment)]
        if place + 1 == len(made) or made[place + 1][0] == "specification":
            space = space_of(template, values)
            draws = Random(7)
            drawn = draws.sample(space.points, min(designs, len(space.points)))
            assignments += [d for p in drawn if (d := space.design(p)) not in assignments]
        chosen += [(rule, template, values, a) for a in assignments]
    callers = []
    for rule, template, _, assignment in chosen:
        try:
            callers.append(caller(built(template, assignment), contract, shape))
        except InputError as error:
            print(f"{rule} {assignment}: {error}", file=sys.stderr)
            callers.append(None)
    least = [float("inf")] * len(chosen)
    for _ in range(calls):
        for number, call in enumerate(callers):
            if call is not None:
                least[number] = min(least[number], call())
    return [
        Point(
            contract.operator,
            template.name,
            rule,
            assignment,
            float(objective_of(template, values, assignment, {})),
            seconds,
        )
        for (rule, template, values, assignment), seconds in zip(chosen, least, strict=True)
        if seconds < float("inf")
    ]


def again(kept: Sequence[Mapping[str, object]]) -> list[Point]:
    """Points measured before, with what the models say now. Templates that rules no longer make
    are left out, and told."""
    chip = {**load_chip("local").parameters(), "chip.cores": 1}
    known = {
        (name, template.name): template
        for name in dict.fromkeys(str(p["operator"]) for p in kept)
        for _, template in steps(operator(name).contract())
    }
    found = list[Point]()
    for data in kept:
        point = Point(**data)
        template = known.get((point.operator, point.template))
        if template is None:
            print(f"{point.template} is no longer made", file=sys.stderr)
            continue
        values = bind(template, chip, SHAPES.get(point.operator, GEMM), "local")
        predicted = float(objective_of(template, values, point.design, {}))
        found.append(replace(point, predicted=predicted))
    return found


def shown(found: Sequence[Point]) -> str:
    """A line for each template with several designs, and one over all templates."""
    lines = []
    names = list(dict.fromkeys(p.template for p in found))
    for name in names:
        own = [p for p in found if p.template == name]
        if len(own) > 2:
            lines.append(f"{name} ({len(own)} designs): {_figures(own)}")
    first = [next(p for p in found if p.template == name) for name in names]
    for p in first:
        lines.append(
            f"  {p.template:42} model {1e6 * p.predicted:9.1f} us, measured "
            f"{1e6 * p.measured:9.1f} us  {p.rule}"
        )
    lines.append(f"  templates ({len(first)}): {_figures(first)}")
    return "\n".join(lines)


def _figures(own: Sequence[Point]) -> str:
    rank = spearmanr([p.predicted for p in own], [p.measured for p in own]).statistic
    best = min(own, key=lambda p: p.predicted).measured / min(p.measured for p in own)
    errors = [log(p.predicted / p.measured) for p in own]
    middle = float(np.median(errors))
    spread = float(np.mean([abs(e - middle) for e in errors]))
    return (
        f"rank {rank:.2f}, the model's best {best:.2f} x the best measured, "
        f"model/measured {exp(middle):.2f}, mean |log| about that {spread:.2f}"
    )


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("operators", nargs="*", default=["decode_attention", "gemm"])
    parser.add_argument("--designs", type=int, default=24)
    parser.add_argument("--calls", type=int, default=15)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--again", type=Path)
    options = parser.parse_args(argv)
    everything = list[Point]()
    if options.again:
        everything = again(json.loads(options.again.read_text()))
        for name in dict.fromkeys(p.operator for p in everything):
            print(name)
            print(shown([p for p in everything if p.operator == name]), flush=True)
        return 0
    for name in options.operators:
        if name not in OPERATORS:
            parser.error(f"no operator {name}; known: {', '.join(OPERATORS)}")
        shape = SHAPES.get(name, GEMM)
        found = points(operator(name).contract(), shape, options.designs, options.calls)
        everything += found
        print(name, " ".join(f"{k}={v}" for k, v in shape.items()))
        print(shown(found), flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(p) for p in everything], indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

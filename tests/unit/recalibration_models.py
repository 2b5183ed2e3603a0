"""A small co-design with an evaluator that is the cost model with known differences."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from formwright.base.source import Source
from formwright.base.toml import read_toml
from formwright.chip.library import Library
from formwright.chip.library_reader import read_library
from formwright.ir.evaluate import number
from formwright.ir.expr import Expr, Scalar
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.lang import parse, parse_expression
from formwright.milp.check import objective_of
from formwright.simulate.evaluator import Evaluation
from formwright.walls.counters import Counter
from formwright.walls.problem import CodesignProblem, Kernel, ScenarioSpec

LIBRARY = """
[library]
name = "bench"

[fields.shared_bytes]
menu = { from = "4 KiB", to = "64 KiB", factor = 2 }
role = "capacity"
start = "4 KiB"
source = "made up"

[fields.accumulators]
menu = { from = 64, to = 4096, factor = 4 }
role = "capacity"
start = 64
source = "made up"

[fields.banks]
dimension = "count"
menu = [8, 16, 32]
role = "throughput"
start = 8
source = "made up"

[derived.words]
value = "16"
source = "made up"

[area.shared]
value = "chip.shared_bytes / 16384"
source = "made up"

[area.accumulators]
value = "chip.accumulators / 2048"
source = "made up"

[area.banks]
value = "chip.banks / 64"
source = "made up"
"""

TEMPLATE = """
template bench_gemm : operator -> mapping

object tile
  "A block stages A and B in shared memory."

scope
  workload  C[M,N] = sum(k < K) A[M,k] * B[k,N]
  extents   M >= 1, N >= 1, K >= 1
  chip      shared_bytes >= 1024, accumulators >= 64, words > 0

decisions
  Tm in {8, 16, 32, 64}
  Tn in {8, 16, 32, 64}
  Tk in {8, 16, 32}

constraints
  C1 wall shared_bytes : 4*Tk*(Tm + Tn) <= chip.shared_bytes
  C2 wall accumulators : Tm*Tn <= chip.accumulators

formulation "a cost model for tests"

cost T seconds
  coefficient compute = 1
  coefficient memory = 1
  coefficient overhead = 1
  gm   = ceil(M/Tm)
  gn   = ceil(N/Tn)
  work = gm*gn*(compute*Tm*Tn*K/1024 + overhead*ceil(K/Tk)*40)
  move = memory*(M*K*gn + K*N*gm + M*N)/chip.words
  T >= work
  T >= move
  energy joules = gm*gn*K*(Tm + Tn)/1000000
  prefer Tk*(Tm + Tn)
"""

CONFLICTS = "ceil(M/Tm)*ceil(N/Tn)*ceil(K/Tk)*Tk*max(0, Tn - chip.banks)"
"""Reads of a tile that wait for a bank: none where a row of it has no more words than banks."""
BARRIERS = "ceil(M/Tm)*ceil(N/Tn)*ceil(K/Tk)"


def library() -> Library:
    return read_library(read_toml(Source("bench.toml", LIBRARY)))


def template() -> Template:
    return parse(Source("bench_gemm.fw", TEMPLATE))


def problem(
    coefficients: Mapping[str, Fraction] | None = None, budget: Fraction | None = None
) -> CodesignProblem:
    """Two products on the bench chip, ``coefficients`` in the place of the template's own."""
    chips, shape = library(), template()
    square = Kernel("square", (shape,), {"M": 256, "N": 256, "K": 256})
    wide = Kernel("wide", (shape,), {"M": 64, "N": 512, "K": 128})
    scenarios = (ScenarioSpec("layer", ((square, 1), (wide, 2))), ScenarioSpec("one", ((wide, 1),)))
    given = {} if coefficients is None else {shape.name: dict(coefficients)}
    return CodesignProblem(chips, scenarios, "worst", chips.start, budget, given)


def counters(*names: str) -> tuple[Counter, ...]:
    """What the model evaluator's counters count, as a study would state it."""
    texts = {"conflicts": (CONFLICTS, "banks"), "barriers": (BARRIERS, "shared_bytes")}
    return tuple(
        Counter(n, texts[n][1], {"bench_gemm": parse_expression(texts[n][0])}) for n in names
    )


@dataclass
class Truth:
    """Evaluates by the template's cost with ``coefficients``, and ``conflict`` a waiting read.

    ``joules``: the energy of a barrier, which the template does not know; ``None``: no energies.
    """

    coefficients: Mapping[str, Fraction] = field(default_factory=dict)
    conflict: Fraction = Fraction(0)
    joules: Fraction | None = None
    noise: Fraction = Fraction(1, 100)
    name: str = "truth"
    evidence: Literal["simulated", "modelled"] = "modelled"
    asked: int = 0

    def evaluate(
        self,
        template: str,
        extents: Mapping[str, int],
        assignment: Mapping[str, int],
        chip: Mapping[str, Scalar],
    ) -> Evaluation:
        self.asked += 1
        shape = SHAPE
        assert template == shape.name
        values: dict[str, Scalar] = {**chip, **extents, **assignment}
        given = {f"chip.{n}": chip[f"chip.{n}"] for n in ("shared_bytes", "accumulators", "words")}
        time = objective_of(shape, {**given, **extents}, assignment, self.coefficients)
        conflicts, barriers = (_count(e, values) for e in (CONFLICT, BARRIER))
        flops = Fraction(2 * extents["M"] * extents["N"] * extents["K"])
        found = {"conflicts": conflicts, "barriers": barriers, "flops": flops}
        energy = None if self.joules is None else _energy(values) + self.joules * barriers
        return Evaluation(time + self.conflict * conflicts, energy, found)


def _energy(values: Mapping[str, Scalar]) -> Fraction:
    cost = inlined(SHAPE).cost
    assert cost is not None
    assert cost.energy is not None
    return _count(cost.energy, values)


def _count(expr: Expr, values: Mapping[str, Scalar]) -> Fraction:
    return Fraction(number(expr, values))


SHAPE = template()
CONFLICT, BARRIER = parse_expression(CONFLICTS), parse_expression(BARRIERS)

"""A wall that is put into the simulated tile machine is named from its counters and added."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import pytest

from formwright.chip.library_files import load_library
from formwright.ir.evaluate import number
from formwright.ir.expr import Scalar
from formwright.lang import load, parse_expression
from formwright.simulate.evaluator import Evaluation
from formwright.simulate.tiled_gpu import TiledGpu
from formwright.walls.agreement import ranked, sampled
from formwright.walls.counters import Counter
from formwright.walls.explaining import Search
from formwright.walls.observed import Observer, compare, present_of
from formwright.walls.problem import CodesignProblem, Kernel, ScenarioSpec
from formwright.walls.repairs import repaired

CONFLICTS = parse_expression("ceil(M/Tm)*ceil(N/Tn)*ceil(K/Tk)*Tk*max(0, Tn - 32)/chip.sms")
"""Rows of B's tile with more words than banks, on one multiprocessor."""
WAIT = Fraction(4, 10**9)
NOISE = Fraction(1, 10)


@dataclass(frozen=True)
class WithConflicts:
    """Tile events, and a wait for each read beyond the banks."""

    events: TiledGpu
    name: str = "tiles with bank conflicts"
    evidence: Literal["simulated", "modelled"] = "simulated"
    noise: Fraction = NOISE

    def evaluate(
        self,
        template: str,
        extents: Mapping[str, int],
        assignment: Mapping[str, int],
        chip: Mapping[str, Scalar],
    ) -> Evaluation:
        plain = self.events.evaluate(template, extents, assignment, chip)
        count = Fraction(number(CONFLICTS, {**extents, **assignment, **chip}))
        counters = {**plain.counters, "bank_conflicts": count}
        return replace(plain, time=plain.time + WAIT * count, counters=counters)


@pytest.mark.slow
def test_bank_conflicts_in_the_tile_events() -> None:
    library = load_library("tiled-gpu")
    template = load("tiled_gpu_gemm")[1]
    shape = Kernel("qo", (template,), {"M": 128, "N": 896, "K": 896})
    problem = CodesignProblem(
        library, (ScenarioSpec("layer", ((shape, 1),)),), "worst", library.start, None
    )
    known = (Counter("bank_conflicts", "shared_bytes", {template.name: CONFLICTS}),)
    evaluator = WithConflicts(TiledGpu(NOISE))
    seen = sampled(problem, None, Observer(problem, evaluator), 24, 3)
    rows = compare(problem, seen, known)[template.name]
    present = present_of(problem, template.name)
    band = float(NOISE)
    missed = [r for r in rows if any(abs(e) > band for e in r.errors(dict.fromkeys(present, 1.0)))]
    assert missed
    repair, told = Search(template.name, present, rows, missed, known, band).run()
    assert len(told["refits"]) >= 4
    assert not any(fit["explains"] for fit in told["refits"])
    assert told["wall"] == {"counter": "bank_conflicts", "field": "shared_bytes", "why": ""}
    assert repair is not None
    assert repair.term is not None
    assert float(repair.term.weight / WAIT) == pytest.approx(1, abs=0.02)
    before = ranked(problem, seen)["rank"]
    after = ranked(repaired(problem, [repair.as_json()], known), seen)["rank"]
    assert before < 0.9
    assert after > 0.99

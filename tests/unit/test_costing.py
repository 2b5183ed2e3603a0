"""Costs written from programs: what they count, what they depend on, what they leave alone."""

from collections.abc import Mapping
from fractions import Fraction
from functools import cache

import pytest

from effort import thinned
from formwright.agent.cost_cycles import Shape, shape_of
from formwright.agent.cost_loops import times_reached, walked
from formwright.agent.cost_terms import mul, tidy
from formwright.agent.costing import CHIP, DEFAULTS, with_cost
from formwright.agent.specification import plain_templates
from formwright.agent.ways import developed
from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.contract.operators import OPERATORS
from formwright.ir.evaluate import evaluate, truth
from formwright.ir.expr import ZERO, Scalar, Var, num
from formwright.ir.inline import inlined
from formwright.ir.program import Apply, For, If, Par, Stmt
from formwright.ir.template import Template
from formwright.ir.walk import statements
from formwright.lang import load, load_source, parse, shipped
from formwright.lang.format import format_template
from formwright.milp.check import objective_of
from made_contracts import MADE

CONTRACTS = {name: o.contract() for name, o in OPERATORS.items()} | MADE
MACHINE: Mapping[str, Scalar] = {
    "chip.cores": 2,
    "chip.vector_lanes": 8,
    "chip.vector_registers": 16,
    "chip.accumulators": 128,
    "chip.clock": 3 * 10**9,
    "chip.core_flops": 9 * 10**10,
    "chip.dram_bandwidth": 2 * 10**10,
    "chip.core_dram_bandwidth": 12 * 10**9,
    "chip.l3_bandwidth": 5 * 10**10,
    "chip.l2_bandwidth": 8 * 10**10,
    "chip.l1_bytes": 32768,
    "chip.l2_bytes": 524288,
    "chip.l3_bytes": 33554432,
}


def seconds(
    template: Template, extents: Mapping[str, int], *, cell: int = 4, **chip: Scalar
) -> Fraction:
    """What the model says, each decision at the least of its menu."""
    values = dict(MACHINE) | {f"chip.{k}": v for k, v in chip.items()} | dict(extents)
    values |= {p.name: cell for p in template.scope.sizes}
    return objective_of(template, values, {d.name: d.menu[0] for d in template.decisions}, {})


def plain(name: str) -> Template:
    return plain_templates(CONTRACTS[name], f"{name}_plain")[0]


@cache
def whole_way(name: str) -> Template:
    *_, last = developed(plain(name))
    return last.template


QUICK = ("softmax", "rope", "gemm_int8")
WHOLE = [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in CONTRACTS]


@pytest.mark.parametrize("name", list(CONTRACTS))
def test_every_plain_template_gets_a_cost(name: str) -> None:
    for template in plain_templates(CONTRACTS[name], f"{name}_plain"):
        _has_a_cost(template)


@pytest.mark.parametrize("name", WHOLE)
def test_every_step_of_the_rules_gets_a_cost(name: str) -> None:
    for first in plain_templates(CONTRACTS[name], f"{name}_plain"):
        for way in developed(first):
            _has_a_cost(way.template)


def _has_a_cost(template: Template) -> None:
    costed = with_cost(template)
    assert costed.program == template.program
    assert parse(Source("again.fw", format_template(costed))) == costed
    sizes = {e.name: 64 for e in costed.scope.extents}
    assert 0 < seconds(costed, sizes) < seconds(costed, dict.fromkeys(sizes, 128))


def test_a_cost_is_replaced_by_the_same_cost() -> None:
    once = with_cost(plain("decode_attention"))
    assert with_cost(once) == once
    shipped = load("decode_attention_heads")[1]
    assert with_cost(shipped).cost != shipped.cost
    assert with_cost(shipped).program == shipped.program
    assert with_cost(shipped).structures == ()


def shipped_programs() -> list[str]:
    """By their texts: what is only collected is not parsed."""
    return [n for n in shipped() if "\nprogram\n" in load_source(n).text]


@pytest.mark.parametrize("name", thinned(shipped_programs(), 4))
def test_every_shipped_program_has_one(name: str) -> None:
    costed = with_cost(load(name)[1])
    assert costed.cost is not None
    assert {c.name for c in costed.cost.coefficients} <= DEFAULTS.keys()
    assert {f"chip.{field}" for field in CHIP} <= {p.name for p in costed.scope.chip}


def test_what_has_no_program_is_refused() -> None:
    with pytest.raises(InputError, match="no program"):
        with_cost(load("gemmini_hold_inputs")[1].__class__(**_formulation()))


def _formulation() -> dict[str, object]:
    source = parse(
        Source(
            "f.fw",
            "template f : operator -> mapping\nscope\n  workload C[M] = A[M]\n  extents M >= 1\n"
            'formulation "nothing runs"\ncost T seconds\n  T >= M\n',
        )
    )
    return {name: getattr(source, name) for name in source.__slots__}


# What is counted, against the program run.


def points_of(program: tuple[Stmt, ...], values: dict[str, Scalar]) -> dict[int, tuple[int, int]]:
    """By apply, in the order of the text: how often it is met, and the points of all its boxes."""
    applies = [s for s in statements(program) if isinstance(s, Apply)]
    found = dict.fromkeys(range(len(applies)), (0, 0))
    numbers = {id(s): number for number, s in enumerate(applies)}

    def run(body: tuple[Stmt, ...], seen: dict[str, Scalar]) -> None:
        for stmt in body:
            match stmt:
                case For(var, lo, hi, inner):
                    for at in range(int(evaluate(lo, seen)), int(evaluate(hi, seen))):
                        run(inner, {**seen, var: at})
                case Par(_, names, extents, inner):
                    around = [seen]
                    for name, extent in zip(names, extents, strict=True):
                        count = int(evaluate(extent, seen))
                        around = [{**a, name: at} for a in around for at in range(count)]
                    for one in around:
                        run(inner, one)
                case If(cond, inner):
                    if truth(cond, seen):
                        run(inner, seen)
                case Apply(box):
                    size = 1
                    for var in box:
                        size *= max(0, int(evaluate(var.extent, seen)))
                    met, points = found[numbers[id(stmt)]]
                    found[numbers[id(stmt)]] = (met + 1, points + size)

    run(program, values)
    return found


SHAPES = {
    "decode_attention": {"H": 2, "G": 6, "S": 16, "D": 16},
    "gated_mlp": {"T": 6, "D": 16, "F": 8},
    "gemm": {"M": 6, "N": 16, "K": 5},
    "layernorm": {"T": 6, "H": 16},
}


@pytest.mark.parametrize("name", SHAPES)
def test_applies_and_their_points_are_counted_as_they_run(name: str) -> None:
    """At extents that blocks divide; prefill's triangle is counted on average, as told below."""
    template = inlined(whole_way(name))
    design = {d.name: d.menu[0] for d in template.decisions}
    values: dict[str, Scalar] = {**SHAPES[name], **design}
    counted = points_of(template.program, values)
    walk = walked(template.program)
    leaves = [leaf for grid in walk.grids for leaf in grid.leaves]
    assert len(leaves) == len(counted)
    for number, leaf in enumerate(leaves):
        met, points = counted[number]
        assert evaluate(times_reached(leaf), values) == met
        assert evaluate(mul([times_reached(leaf), *(b.count for b in leaf.box)]), values) == points


def test_a_triangle_is_counted_on_average() -> None:
    template = inlined(plain("prefill_attention"))
    values: dict[str, Scalar] = {"H": 2, "G": 2, "T": 9, "D": 4}
    counted = points_of(template.program, values)
    leaves = [leaf for grid in walked(template.program).grids for leaf in grid.leaves]
    for number, leaf in enumerate(leaves):
        assert evaluate(times_reached(leaf), values) == counted[number][0]


@pytest.mark.parametrize(("rows", "guarded"), [(6, 1), (7, 2)])
def test_a_tail_counts_as_a_full_block(rows: int, guarded: int) -> None:
    template = inlined(whole_way("decode_attention"))
    design = {d.name: d.menu[0] for d in template.decisions} | {"Gr": 6}
    values: dict[str, Scalar] = {"H": 1, "G": rows, "S": 16, "D": 16, **design}
    counted = points_of(template.program, values)
    leaves = [leaf for grid in walked(template.program).grids for leaf in grid.leaves]
    for number, leaf in enumerate(leaves):
        assert evaluate(times_reached(leaf), values) == counted[number][0]
    (grid,) = walked(template.program).grids
    assert evaluate(mul([loop.count for loop in grid.loops]), values) == guarded


# What it depends on.


def test_more_cores_are_worth_what_the_agents_can_use() -> None:
    costed = with_cost(plain("decode_attention"))
    large = {"H": 8, "G": 8, "S": 4096, "D": 128}
    assert seconds(costed, large, cores=2) < seconds(costed, large, cores=1) * Fraction(3, 5)
    lonely = {"H": 1, "G": 1, "S": 4096, "D": 128}
    assert seconds(costed, lonely, cores=2) >= seconds(costed, lonely, cores=1)


def test_narrow_cells_are_widened_and_are_fewer_bytes() -> None:
    costed = with_cost(whole_way("layernorm"))
    far = {"T": 1 << 15, "H": 4096}
    assert seconds(costed, far, cell=2) < seconds(costed, far, cell=4)
    near = {"T": 8, "H": 64}
    assert seconds(costed, near, cell=2) > seconds(costed, near, cell=4)


def test_work_that_the_rules_take_away_is_seen() -> None:
    extents = {"H": 2, "G": 7, "S": 2048, "D": 64}
    first = seconds(with_cost(plain("decode_attention")), extents)
    kept = with_cost(next(iter(developed(plain("decode_attention")))).template)
    assert seconds(kept, extents) < first / 2  # exponentials once a key, not once a cell
    assert seconds(with_cost(whole_way("decode_attention")), extents) < first / 10


def test_a_cache_that_holds_what_lies_between_spares_the_time() -> None:
    costed = with_cost(plain("gemm"))
    extents = {"M": 64, "N": 64, "K": 2048}
    cold = seconds(costed, extents, l1_bytes=16384)
    assert seconds(costed, extents, l1_bytes=1 << 24) < cold


def test_the_shape_of_an_apply() -> None:
    text = """
template shapes : operator -> mapping
scope
  workload C[M,N] = sum(k < K) A[M,k] * B[k,N]
  extents M >= 1, N >= 1, K >= 0
program
  par grid i in M:
    alloc row[N] scratch
    row[n] = 0
    row[n] += A[i,k] * B[k,n] over (n < N, k < K)
    alloc one[1] register
    one[0] = 0
    one[0] += A[i,k] * A[i,k] over (k < K)
    one[0] += B[k,0] over (k < K)
    C[i,n] = row[n] over (n < N)
"""
    template = parse(Source("shapes.fw", text))
    shapes = [shape_of(s) for s in statements(template.program) if isinstance(s, Apply)]
    assert shapes == [
        Shape("n", False),
        Shape("n", False),
        Shape("", False),
        Shape("k", True),
        Shape("", False),
        Shape("n", False),
    ]


def test_terms_say_nothing_twice() -> None:
    blocks = parse(
        Source(
            "x.fw",
            "template x : operator -> mapping\nscope\n  workload C[M] = A[M]\n"
            "  extents M >= 1\nwhere\n  a = ceil(M/8)\n  b = min(8, M - 0*8)\nprogram\n"
            "  par grid i in M: C[i] = A[i]\n",
        )
    )
    whole, tail = (tidy(d.value) for d in blocks.definitions)
    assert mul([whole, tail]) == Var("M")
    assert mul([num(0), whole]) == ZERO

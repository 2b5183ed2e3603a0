"""Traffic and operations from the program text: by hand, against a simulated cache, and roofs."""

from dataclasses import replace

import pytest
from roofline_cache import simulated

from formwright.base.source import Source
from formwright.contract.numbers import DType
from formwright.contract.operators import OPERATORS, operator
from formwright.ir.expr import Expr
from formwright.ir.interval import Interval, bounds
from formwright.ir.template import Template
from formwright.ir.types import with_dtypes
from formwright.lang import load, parse
from formwright.roofline import (
    Intensity,
    Moved,
    contract_multiplies_bf16,
    intensity_of,
    moved,
    nest_of,
    operations,
    point_of,
    roofs_of,
    template_multiplies_bf16,
)
from formwright.roofline.nest import Guard, Loop, Node, Point
from formwright.roofline.spans import Spans
from formwright.roofline.sums import total
from formwright.roofline.traffic import Memory

CPU = {
    "chip.accumulators": 128,
    "chip.l1_bytes": 32 << 10,
    "chip.l2_bytes": 512 << 10,
    "chip.l3_bytes": 32 << 20,
    "chip.line_bytes": 64,
    "chip.core_flops": 90 * 10**9,
    "chip.flops": 170 * 10**9,
    "chip.l1_bandwidth": 150 * 10**9,
    "chip.l2_bandwidth": 80 * 10**9,
    "chip.l3_bandwidth": 48 * 10**9,
    "chip.core_dram_bandwidth": 12 * 10**9,
    "chip.dram_bandwidth": 20 * 10**9,
}
PACKED = {"Mr": 4, "Nr": 16, "Kc": 64, "Mc": 48, "Nb": 96, "Ib": 4}


def _template(name: str) -> Template:
    return load(name)[1]


def _cache(size: int, line: int = 64) -> Memory:
    homes = frozenset({"global", "scratch"})
    return Memory(size, line, homes, homes)


def _bytes(name: str, extents: dict[str, int], picked: dict[str, int], size: int) -> dict[str, int]:
    nest = nest_of(_template(name), extents, picked)
    return {m.buffer: m.both for m in moved(nest, _cache(size))}


def test_packed_gemm_by_hand() -> None:
    # 96 x 192 x 128, two blocks of 48 rows, two of 64 terms, two strips of 96 columns.
    extents = {"M": 96, "N": 192, "K": 128}
    nest = nest_of(_template("packed_gemm"), extents, PACKED)
    done = operations(nest)
    assert done["*"] == 96 * 192 * 128
    # Each tile is added to C once a block of terms but the first.
    assert done["+"] == 96 * 192 * 128 + 96 * 192
    # Everything fits: each tensor once, scratch never.
    a, b, c = 4 * 96 * 128, 4 * 128 * 192, 4 * 96 * 192
    assert {m.buffer: m.both for m in moved(nest, _cache(1 << 20))} == {"A": a, "B": b, "C": c}
    # A tile of 16 columns of B and one of 4 rows of A fit into 8 KiB, a strip of B does not.
    near = {m.buffer: m for m in moved(nest, _cache(8 << 10))}
    assert near["A"].loads == a
    assert near["B"].loads == b * 2 * 3  # for each block of rows (2) and its groups of 4 panels (3)
    assert near["Bp"].loads == b * 24  # once a panel of 4 rows
    assert near["Ap"].loads == a * 2  # once a strip of columns
    assert (near["C"].loads, near["C"].stores) == (c, 2 * c)


def test_direct_gemm_by_hand() -> None:
    extents, picked = {"M": 8, "N": 256, "K": 256}, {"Mr": 4, "Nr": 16, "Jb": 4}
    # A column tile of B (16 KiB) fits beside the rows of A; the rows of a strip are walked last.
    found = _bytes("direct_gemm", extents, picked, 32 << 10)
    assert found["C"] == 4 * 8 * 256
    assert found["B"] == 2 * 4 * 256 * 256  # again for each group of rows
    assert found["A"] == 4 * 4 * 8 * 256  # again for each strip of 64 columns
    # A strip (64 KiB) with its rows of A fits: B comes once.
    assert _bytes("direct_gemm", extents, picked, 128 << 10)["B"] == 4 * 256 * 256


GEMV = """template rows : operator -> mapping

object row
  "A row at a time."

scope
  workload  y[N] = sum(k < K) W[N,k] * x[k]
  extents   N >= 1, K >= 0
  semantics "real arithmetic"
  structure "rows"

decisions
  Rr in {1, 2, 4}

program
  par grid i in ceil(N/Rr):
    alloc acc[Rr] register
    acc[r] = 0
    for k in 0 .. K:
      acc[r] += W[i*Rr+r, k] * x[k] clip
    y[i*Rr+r] = acc[r] clip

backward "forget rows"
relation "acc holds the terms before k"
rank     "rows not yet stored"
prove    coverage, exact_once, no_phantom, readiness, lifetime, agreement
"""


def test_gemv_by_hand() -> None:
    template = parse(Source("rows.fw", GEMV))
    nest = nest_of(template, {"N": 64, "K": 1024}, {"Rr": 4})
    assert operations(nest) == {"*": 64 * 1024, "+": 64 * 1024}
    matrix, vector, result = 4 * 64 * 1024, 4 * 1024, 4 * 64
    # x (4 KiB) and four rows of W fit into 32 KiB, so x comes once.
    assert sum(m.both for m in moved(nest, _cache(32 << 10))) == matrix + vector + result
    # They do not fit into 16 KiB: x comes once for each four rows.
    less = {m.buffer: m.loads for m in moved(nest, _cache(16 << 10))}
    assert less == {"W": matrix, "x": 16 * vector, "y": 0}
    # Registers hold no cell of x from one group of rows to the next.
    registers = Memory(512, 1, frozenset({"global"}), frozenset({"global", "register"}))
    assert {m.buffer: m.loads for m in moved(nest, registers)}["x"] == 16 * vector


def test_memory_that_the_program_fills_itself() -> None:
    # The template's own cost: 4*(M*K*gn + K*N*gm + M*N) bytes from memory.
    picked = {"Tm": 16, "Tn": 32, "Tk": 8, "S": 2, "P": 0, "beta": 1}
    roofs = roofs_of({"chip.accumulators": 4096, "chip.dram_bandwidth": 10**12}, 1)
    found = intensity_of(
        _template("shared_memory_tiling"), {"M": 64, "N": 128, "K": 32, "W": 4}, picked, roofs
    )
    assert found.bytes("dram") == 4 * (64 * 32 * 4 + 32 * 128 * 4 + 64 * 128)
    assert found.operations == {"*": 64 * 128 * 32, "+": 64 * 128 * 32}
    assert roofs.peak is None
    assert "no peak" in " ".join(roofs.missing)


SMALL = [
    ("packed_gemm", {"M": 9, "N": 20, "K": 18}, PACKED | {"Mc": 12, "Nb": 48, "Ib": 2}, 2 << 10),
    ("direct_gemm", {"M": 5, "N": 40, "K": 14}, {"Mr": 4, "Nr": 16, "Jb": 2}, 1 << 10),
    ("direct_gemm", {"M": 5, "N": 40, "K": 14}, {"Mr": 4, "Nr": 16, "Jb": 2}, 4 << 10),
]
LARGER = [
    *(
        ("packed_gemm", {"M": 21, "N": 52, "K": 70}, PACKED | {"Mc": 12, "Nb": 48, "Ib": 2}, s)
        for s in (1 << 10, 4 << 10, 16 << 10, 64 << 10)
    ),
    *(
        ("direct_gemm", {"M": 10, "N": 72, "K": 50}, {"Mr": 4, "Nr": 16, "Jb": 2}, s)
        for s in (1 << 10, 4 << 10, 16 << 10, 64 << 10)
    ),
]


@pytest.mark.parametrize(
    ("name", "extents", "picked", "size"),
    [*SMALL, *(pytest.param(*case, marks=pytest.mark.slow) for case in LARGER)],
)
def test_the_rule_is_near_a_simulated_cache(
    name: str, extents: dict[str, int], picked: dict[str, int], size: int
) -> None:
    # The rule calls a nest that nearly fits one that does not, and knows nothing of what is left
    # of a nest before; so it may say more than a cache does, but not much less.
    nest = nest_of(_template(name), extents, picked)
    memory = _cache(size)
    said = sum(m.both for m in moved(nest, memory))
    loads, stores = simulated(nest, memory)
    assert 0.85 * (loads + stores) <= said <= 2.5 * (loads + stores)


def _kernel(flops: int, **levels: int) -> Intensity:
    return Intensity({"*": flops}, {n: (Moved("A", b, 0),) for n, b in levels.items()})


def test_what_bounds_a_kernel() -> None:
    roofs = roofs_of(CPU, 1)
    quiet = {"l1": 10**6, "l2": 10**6, "l3": 10**6, "dram": 10**6}
    fast = point_of("a", _kernel(90 * 10**9, **quiet), roofs, 1.1)
    assert fast.verdict is not None
    assert fast.verdict.bound == "arithmetic"
    streams = point_of("b", _kernel(10**9, **(quiet | {"dram": 12 * 10**9})), roofs, 1.05)
    assert streams.verdict is not None
    assert streams.verdict.bound == "dram"
    slow = point_of("c", _kernel(10**9, **quiet), roofs, 1.0)
    assert slow.verdict is not None
    assert slow.verdict.bound is None
    assert "no roof explains the time" in slow.verdict.says
    assert slow.verdict.says.endswith("?")
    # Faster than memory can be: the data were nearer, which is no bound.
    near = point_of("d", _kernel(10**9, **(quiet | {"dram": 36 * 10**9})), roofs, 1.0)
    assert near.verdict is not None
    assert near.verdict.bound is None
    assert "found in a nearer cache" in near.verdict.says


def test_products_of_bf16_stand_under_the_matrix_units() -> None:
    fast = {**CPU, "chip.core_matrix_flops": 10**12}
    assert roofs_of(CPU, 2).matrix is None
    assert "bf16" in roofs_of(CPU, 2).missing[-1]
    # Some cores do pairs of bf16 more slowly than f32.
    assert not roofs_of({**CPU, "chip.core_matrix_flops": 10**9}, 2).matrix_for(True)
    roofs = roofs_of(fast, 2)
    assert roofs.matrix == 2 * 10**12
    assert "bf16" not in roofs.missing[-1]
    wide = _kernel(10**9, l1=10**6, l2=10**6, l3=10**6, dram=10**6)
    narrow = replace(wide, narrow=True)
    assert point_of("a", narrow, roofs, 1.0).peak_share == 10**9 / (2 * 10**12)
    assert (
        point_of("a", wide, roofs, 1.0).peak_share
        == point_of("a", narrow, roofs_of(CPU, 2), 1.0).peak_share
    )


def test_a_chip_that_says_0_has_no_matrix_units() -> None:
    assert roofs_of({**CPU, "chip.core_matrix_flops": 0}, 2) == roofs_of(CPU, 2)


MULTIPLY = {
    *("gemm", "gemv", "gated_mlp", "decode_attention", "prefill_attention", "gemm_batched"),
    *("gemm_bias", "gemm_residual", "gemm_relu", "gemm_silu"),
}


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_operators_that_multiply_bf16_by_bf16(name: str) -> None:
    asked = operator(name)
    assert not contract_multiplies_bf16(asked.contract())
    contract = asked.contract(dtypes="bf16")
    assert contract_multiplies_bf16(contract) == (name in MULTIPLY)
    # One wide input of a product is enough that no unit does it; what is only added may be wide.
    wide = contract.with_dtypes({contract.operands[0].name: "f32"})
    assert not contract_multiplies_bf16(wide)


def test_what_is_only_added_may_be_wide() -> None:
    types: dict[str, DType] = {"A": "bf16", "B": "bf16", "bias": "f32", "C": "f32"}
    assert contract_multiplies_bf16(operator("gemm_bias").contract(dtypes=types))


@pytest.mark.parametrize(
    ("name", "narrow"),
    [
        ("gemm_matrix_ahead", True),
        ("gated_mlp_matrix_ahead", True),
        ("gated_mlp_panels_ahead", True),
        ("prefill_attention_matrix", True),
        ("prefill_attention_blocks", True),
        ("gemv_rows", True),
        ("packed_gemm", False),
        ("gemm_int8_panels_ahead", False),
        ("rmsnorm_rows", False),
        ("layernorm_rows", False),
        ("softmax_rows", False),
        ("rope_heads", False),
    ],
)
def test_the_formula_says_what_is_multiplied(name: str, narrow: bool) -> None:
    """However the program does it: ``packed_gemm`` is for f32 alone."""
    template = load(name)[1]
    tensors = (*template.scope.workload.inputs, template.scope.workload.output)
    types = {t.name: "bf16" for t in tensors if "bf16" in (t.dtype, *t.also)}
    assert template_multiplies_bf16(with_dtypes(template, types)) == narrow


def test_padding_is_no_work() -> None:
    roofs = roofs_of(CPU, 1)
    kernel = _kernel(10**9, l1=10**6, l2=10**6, l3=10**6, dram=10**6)
    assert point_of("a", kernel, roofs, 1.0, useful=5 * 10**8).rate == 5 * 10**8


@pytest.mark.parametrize("name", ["packed_gemm", "direct_gemm", "blocked_gemm"])
def test_never_less_than_each_tensor_once(name: str) -> None:
    template = _template(name)
    picked = {d.name: d.menu[len(d.menu) // 2] for d in template.decisions}
    for m, n, k in ((1, 1, 1), (37, 50, 61), (128, 96, 200)):
        found = intensity_of(template, {"M": m, "N": n, "K": k}, picked, roofs_of(CPU, 1))
        least = 4 * (m * k + k * n + m * n)
        assert all(found.bytes(level) >= least for level in ("l1", "l2", "l3", "dram"))
        assert found.flops >= 2 * m * n * k


@pytest.mark.parametrize("length", [0, 1, 5, 7, 50, 333])
def test_sums_of_even_stretches_and_odd_ends(length: int) -> None:
    looked = set()

    def of(v: int) -> dict[str, int]:
        looked.add(v)
        grows = 3 * v if v < 40 else 120  # a causal loop up to a window
        return {"first": int(v == 0), "last": 7 if v == length - 1 else 16, "grows": grows}

    whole: dict[str, int] = {}
    for v in range(length):
        for key, amount in of(v).items():
            whole[key] = whole.get(key, 0) + amount
    looked.clear()
    found = total(of, 0, length)
    assert {k: v for k, v in found.items() if v} == {k: v for k, v in whole.items() if v}
    assert len(looked) <= 60


@pytest.mark.parametrize("name", ["packed_gemm", "prefill_attention_blocks", "softmax_rows"])
def test_spans_are_the_bounds(name: str) -> None:
    template = _template(name)
    picked = {d.name: d.menu[-1] for d in template.decisions}
    extents = {p.name: 37 + n for n, p in enumerate(template.scope.extents)}
    nest = nest_of(template, extents, picked)
    spans, seen = Spans(), 0
    waiting: list[tuple[Node, dict[str, Interval]]] = [(nest.root, dict(nest.fixed))]
    while waiting:
        node, ranges = waiting.pop()
        asked: list[Expr] = []
        match node:
            case Loop(var, lo, hi, body):
                asked += [lo, hi]
                inside = {**ranges, var: Interval(1, 2)}
                waiting += [(n, inside) for n in body]
            case Guard(_, body):
                waiting += [(n, ranges) for n in body]
            case Point(reads, write):
                asked += [i for a in (*reads, write) for i in a.index]
        for expr in asked:
            found = bounds(expr, ranges)
            assert spans(expr, ranges) == (found.lo, found.hi)
            seen += 1
    assert seen > 15

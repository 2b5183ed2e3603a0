"""Templates against the contract: each difference is named, with its place."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from formwright.base.source import Source
from formwright.contract.matching import matches
from formwright.contract.operators import OPERATORS, operator
from formwright.ir.expr import Arith, Compare, Var, num
from formwright.ir.program import Apply
from formwright.lang import load, parse, shipped

PACKED, _ = load("packed_gemm")
TILING, _ = load("shared_memory_tiling")


def changed(old: str, new: str, source: Source = PACKED) -> list[str]:
    assert old in source.text
    template = parse(Source("t.fw", source.text.replace(old, new)))
    found = matches(template, operator("gemm").contract())
    assert all(d.span is None or d.span.file == "t.fw" for d in found)
    return [d.message for d in found]


def test_the_shipped_cpu_template_matches():
    _, template = load("packed_gemm")
    assert matches(template, operator("gemm").contract()) == ()


def test_a_scope_that_is_narrower_than_the_contract_is_a_difference():
    _, template = load("shared_memory_tiling")
    (found,) = matches(template, operator("gemm").contract())
    assert found.message.startswith("the scope leaves out K = 0, which the contract allows")
    assert found.span is not None
    assert matches(template, operator("gemm").contract(extents={"K": (1, 4096)})) == ()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "extents   M >= 1, N >= 1, K >= 0",
            "extents   M >= 2, N >= 1, K >= 0",
            "leaves out M = 1",
        ),
        (
            "extents   M >= 1, N >= 1, K >= 0",
            "extents   N >= 1, M >= 1, K >= 0",
            "extents N, M, K; the contract has M, N, K in this order",
        ),
        ("* B[k,N]", "+ B[k,N]", "computes C in another way than the contract"),
        ("A[M,k] * B[k,N]", "A[k,M] * B[k,N]", "input A[K,M] of the workload is A[M,K]"),
    ],
)
def test_a_changed_scope_is_refused(old, new, words):
    messages = changed(old, new)
    assert any(words in m for m in messages), messages


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "alloc acc[Mr,Nr] register",
            "alloc acc[Mr,Nr] register bf16",
            "acc holds bf16: less exact",
        ),
        ("Ap[ip,l,r] = A[", "Ap[ip,l,r] = B[", "never reads the input A"),
    ],
)
def test_a_changed_program_is_refused(old, new, words):
    assert any(words in m for m in changed(old, new)), changed(old, new)


def said(**change: object) -> list[str]:
    _, template = load("packed_gemm")
    return [d.message for d in matches(replace(template, **change), operator("gemm").contract())]


def test_other_globals_are_refused():
    _, template = load("packed_gemm")
    a, *rest = template.globals
    assert "global A has element type bf16; the workload has f32" in said(
        globals=(replace(a, dtype="bf16"), *rest)
    )
    assert f"global {a.name} is not A[M,K]" in said(
        globals=(replace(a, shape=a.shape[::-1]), *rest)
    )
    assert "global Z is no tensor of the contract" in said(
        globals=(*template.globals, replace(a, name="Z"))
    )
    assert "tensor A of the contract is not among the template's globals" in said(globals=rest)


def test_a_program_that_writes_an_input_or_no_output_is_refused():
    _, template = load("packed_gemm")

    def renamed(body, old, new):
        """``body`` with the destination ``old`` of every apply called ``new``."""
        done = []
        for stmt in body:
            if isinstance(stmt, Apply) and stmt.destination.buffer == old:
                stmt = replace(stmt, destination=replace(stmt.destination, buffer=new))
            elif hasattr(stmt, "body"):
                stmt = replace(stmt, body=renamed(stmt.body, old, new))
            done.append(stmt)
        return tuple(done)

    messages = said(program=renamed(template.program, "C", "A"))
    assert "the program writes its input A" in messages
    assert "the program never writes the output C" in messages


def test_a_relation_between_extents_is_narrower_than_the_contract():
    _, template = load("packed_gemm")
    scope = replace(template.scope, relations=(Compare("=", Var("M"), Var("N")),))
    assert said(scope=scope) == ["the scope relates extents that the contract leaves free"]


def test_a_condition_that_cannot_be_compared_is_no_match():
    _, template = load("packed_gemm")
    m, *rest = template.scope.extents
    odd = Compare("=", Arith("mod", Var("M"), num(2)), num(0))
    scope = replace(template.scope, extents=(replace(m, condition=odd), *rest))
    (message,) = said(scope=scope)
    assert message.startswith("the scope's condition on M cannot be compared")


def staged(name: str, dtypes: str = "") -> str:
    """A template that states the contract's formula and writes its output."""
    contract = operator(name).contract()
    output = contract.output
    dtypes = dtypes or ", ".join(f"{o.name} {o.dtype}" for o in contract.operands)
    lines = [
        f"template {name}_rows : operator -> mapping",
        "scope",
        f"  workload {contract.formula[0]}",
        *(f"  stage {line}" for line in reversed(contract.formula[1:])),
        f"  dtypes {dtypes}",
        "  extents " + ", ".join(f"{e.name} >= {e.low}" for e in contract.extents),
        "program",
    ]
    cell = f"{output.name}[{','.join('0' for _ in output.extents)}]"
    reads = (f"{o.name}[{','.join('0' for _ in o.extents)}]" for o in contract.inputs)
    stages = [line.partition("]")[0].partition("[") for line in contract.formula[1:]]
    lines += [f"  alloc kept_{stage}[1] scratch" for stage, _, _ in stages]
    lines += [f"  {cell} = {' * '.join(reads)}", *(["realise"] if stages else [])]
    for stage, _, extents in stages:
        lines.append(f"  {stage}[{','.join('0' for _ in extents.split(','))}] = kept_{stage}[at]")
    return "\n".join([*lines, ""])


def differences(name: str, text: str, dtypes: object = None) -> list[str]:
    template = parse(Source("t.fw", text))
    return [d.message for d in matches(template, operator(name).contract(dtypes=dtypes))]


@pytest.mark.parametrize("name", OPERATORS)
def test_the_formula_of_every_family_is_matched_by_itself(name):
    assert differences(name, staged(name)) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("softmax", "exp(X[R,C] - m[R]) / z[R]", "1 / z[R] * exp(X[R,C] - m[R])", ""),
        ("softmax", "- m[R]) / z", "+ m[R]) / z", "computes Y in another way"),
        ("softmax", "= max(c < C)", "= sum(c < C)", "the stage m is computed in another way"),
        ("rmsnorm", "1/1000000", "1/100000", "computes Y in another way"),
        ("rmsnorm", "X[T,H] * rsqrt", "g[H] * X[T,H] * rsqrt", "computes Y in another way"),
        (
            "prefill_attention",
            "m[H,G,T] = max(j < T) select(j <= t",
            "m[H,G,T] = max(j < T) select(j < t",
            "the stage m is",
        ),
        ("decode_attention", "* rsqrt(index(D))", "", "the stage s is computed in another way"),
    ],
)
def test_stages_are_compared_over_the_reals(name, old, new, words):
    text = staged(name)
    assert old in text
    found = differences(name, text.replace(old, new))
    assert any(words in message for message in found) if words else found == [], found


def test_a_lost_stage_and_one_too_many_are_named():
    text = staged("softmax").replace("X[R,C] - m[R]) / z[R]", "X[R,C] - m[R]) / w[R]")
    text = text.replace("stage z[R]", "stage w[R]").replace("z[0] = kept_z", "w[0] = kept_z")
    found = differences("softmax", text)
    assert "the contract has no stage w" in found
    assert "the workload has no stage z" in found


def test_element_types_are_those_that_the_template_offers():
    text = staged("softmax", "X f32 | bf16, Y f32 | bf16")
    assert differences("softmax", text) == []
    assert differences("softmax", text, "bf16") == []
    (one, other) = differences("softmax", text, "f16")
    assert one == "input X has element type f32 or bf16; the contract has f16"
    assert other.startswith("output Y")


def test_a_narrow_copy_is_no_loss_and_a_narrow_sum_is():
    text = staged("gemv", "W bf16, x bf16, y bf16")
    copy = "  alloc Wp[1] scratch bf16\n  Wp[l] = W[0,l] clip\n"
    kept = text.replace("program\n", "program\n" + copy)
    assert differences("gemv", kept, "bf16") == []
    summed = kept.replace("Wp[l] = W[0,l]", "Wp[l] += W[0,l]")
    (message,) = differences("gemv", summed, "bf16")
    assert message.startswith("buffer Wp holds bf16: less exact")


ROWS, _ = load("gemv_rows")
SOFTMAX, _ = load("softmax_rows")

GOES_ON = {
    "sums its lanes there": (
        ROWS,
        (
            ("acc[Rr,L], tot[Rr] register", "acc[Rr,L] register"),
            ("    tot[r] = 0\n    tot[r] += acc[r,l]\n", "    y[i*Rr+r] = 0 over (r < Rr) clip\n"),
            ("y[i*Rr+r] = tot[r]", "y[i*Rr+r] += acc[r,l]"),
        ),
    ),
    "keeps weights there": (
        SOFTMAX,
        (
            ("e[r, q*L+l] = exp", "Y[i*Rr+r, q*L+l] = exp"),
            ("e[r, q*L+l] * inv[r]", "Y[i*Rr+r, q*L+l] * inv[r]"),
        ),
    ),
}


@pytest.mark.parametrize("name", GOES_ON)
@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
def test_what_a_narrow_output_holds_is_rounded_once_and_for_all(name, dtype):
    """The bound of a contract has one rounding to the output's type: a sum there has many."""
    source, edits = GOES_ON[name]
    text = source.text
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    family = operator("gemv" if source is ROWS else "softmax")
    contract = family.contract(dtypes={o.name: dtype for o in family.contract().operands})
    found = matches(parse(Source("t.fw", text)), contract)
    assert all("goes on with what output" in d.message and d.span for d in found)
    assert bool(found) == (dtype != "f32")


def test_templates_of_other_operators_are_told_apart_and_nothing_breaks():
    """Every template that ships, and a step, against every contract in every element type."""
    step = Path(__file__).parents[1] / "steps" / "double_buffer.fw"
    fitting: dict[str, set[str]] = {name: set() for name in OPERATORS}
    for reference in (*shipped(), str(step)):
        _, template = load(reference)
        for name, family in OPERATORS.items():
            stages = ("f32", "bf16") if family.narrow_stages else ("f32",)
            for dtype, between in product(("f32", "bf16"), stages):
                if not matches(template, family.contract(dtypes=dtype, stages=between)):
                    fitting[name].add(reference)
    assert fitting["softmax"] == {"softmax_rows"}
    assert fitting["gated_mlp"] >= {"gated_mlp_direct", "gated_mlp_panels_ahead"}
    assert all(reference.startswith("gated_mlp_") for reference in fitting["gated_mlp"])
    assert all(fitting.values()), fitting
    # Those of a GPU need K >= 1, those of Gemmini are for other element types.
    elsewhere = {"shared_memory_tiling", "tiled_gpu_gemm", "split_reduction_gemm"}
    elsewhere |= {f"gemmini_hold_{held}" for held in ("weights", "inputs", "outputs")}
    assert sorted(t for found in fitting.values() for t in found) == sorted(
        set(shipped()) - elsewhere
    )

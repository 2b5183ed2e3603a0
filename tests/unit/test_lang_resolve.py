"""What the resolver makes of a text: workloads, boxes, clips, walls, buffers."""

from fractions import Fraction

import pytest

from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.ir.evaluate import evaluate
from formwright.ir.expr import ZERO, Compare, Var, num
from formwright.ir.inline import inlined
from formwright.ir.program import Access, Alloc, Apply, BoxVar, For, Hint, If, Op, Par, Read, Stmt
from formwright.ir.template import Template, Tensor
from formwright.lang import load, parse
from formwright.lang.format import format_template

HEAD = """\
template t : operator -> mapping

scope
  workload {workload}
  extents M >= 1, N >= 1, K >= 0
  agents W >= 1
  chip bytes, clock > 0

decisions
  T in {{1, 2}} also {{3}}  S in {{4}}

program
"""
GEMM = "C[M,N] = sum(k < K) A[M,k] * B[k,N]"


def made(program: str, workload: str = GEMM) -> Template:
    body = "".join(f"  {row}\n" for row in program.splitlines())
    return parse(Source("t.fw", HEAD.format(workload=workload) + body))


def applies(body: tuple[Stmt, ...]) -> list[Apply]:
    found: list[Apply] = []
    for stmt in body:
        match stmt:
            case Apply():
                found.append(stmt)
            case For() | Par() | If():
                found.extend(applies(stmt.body))
            case _:
                pass
    return found


def box(text: str, alloc: str = "alloc a[T,S] shared, b[S,T] ring T shared") -> tuple[BoxVar, ...]:
    return applies(made(f"{alloc}\n{text}").program)[0].box


def test_l6_free_indices_are_extents_in_lower_case() -> None:
    workload = made("C[0,0] = 0").scope.workload
    assert workload.output == Tensor("C", ("M", "N"))
    assert workload.inputs == (Tensor("A", ("M", "K")), Tensor("B", ("K", "N")))
    assert workload.indices == ("m", "n")
    assert workload.reductions == (("k", "K"),)
    m, n, k = Var("m"), Var("n"), Var("k")
    product = Op("*", (Read(Access("A", (m, k))), Read(Access("B", (k, n)))))
    assert workload.value == product


def test_l6_no_sum_no_reduction_and_element_types() -> None:
    template = made("C[0,0] = 0", "C[N,M] = exp(A[M,N])\n  dtypes A bf16")
    assert template.scope.workload.reductions == ()
    assert template.scope.workload.inputs == (Tensor("A", ("M", "N"), "bf16"),)
    assert [(b.name, b.home, b.dtype) for b in template.globals] == [
        ("A", "global", "bf16"),
        ("C", "global", "f32"),
    ]
    assert template.globals[1].shape == (Var("N"), Var("M"))


def test_p12_names_alone_in_buffers_range_over_the_dimension() -> None:
    assert box("a[r,s] = 0") == (BoxVar("r", Var("T")), BoxVar("s", Var("S")))


def test_p12_the_order_is_that_of_the_text() -> None:
    found = box("C[s, r+k] = a[r,s] * b<k>[s,r] * b<0>[s,k]")
    assert [v.name for v in found] == ["s", "r", "k"]
    assert found[2].extent == Var("T")


def test_p12_bound_names_are_no_box() -> None:
    (apply,) = applies(made("alloc a[T,S] shared\nfor r in T:\n  a[r,s] = 0").program)
    assert apply.box == (BoxVar("s", Var("S")),)


def test_p12_a_given_box_is_the_whole_box() -> None:
    assert box("a[r,0] = 0 over (k < 3, r < S)") == (BoxVar("k", num(3)), BoxVar("r", Var("S")))


def test_p12_shapes_must_be_written_alike() -> None:
    with pytest.raises(InputError, match='the extent of "r" is T before and S here'):
        box("a[r,0] = b<0>[r,0]")


def test_p12_a_name_of_a_sum_is_no_box() -> None:
    assert box("a[sum(z in 0 .. 1) z, s] = 0") == (BoxVar("s", Var("S")),)


def test_p8_clip_is_about_tensors() -> None:
    (apply,) = applies(made("alloc a[T] shared\na[r] = A[r,0] + a[r] clip").program)
    assert not apply.destination.clip
    assert isinstance(apply.value, Op)
    reads = [arg.access.clip for arg in apply.value.args if isinstance(arg, Read)]
    assert reads == [True, False]


def test_l41_attributes_hold_for_the_names_before() -> None:
    (alloc,) = made("alloc a[T], b[S,1] ring S+1 bf16 shared, c[1] dist 1 register").program
    assert isinstance(alloc, Alloc)
    a, b, c = alloc.buffers
    assert (a.home, a.dtype, a.dist) == ("shared", "bf16", 0)
    assert a.ring == b.ring is not None
    assert (c.home, c.dtype, c.ring, c.dist) == ("register", "f32", None, 1)


def test_l40_blocks_on_one_line_and_below() -> None:
    one = made("for i in T: if i = 0: C[0,0] = 0; C[1,1] = 0")
    two = made("for i in 0 .. T:\n  if i = 0:\n    C[0,0] = 0\n    C[1,1] = 0")
    mixed = made("for i in 0 .. T: if i = 0:\n    C[0,0] = 0\n    C[1,1] = 0")
    assert one.program == two.program == mixed.program


def test_l42_a_loop_without_a_start_starts_at_0() -> None:
    (loop,) = made("for i in T: C[i,0] = 0").program
    assert isinstance(loop, For)
    assert loop.lo == ZERO


def test_l49_hints() -> None:
    text = "hint unroll 4\nhint prefetch A[T,0]\nhint stream C[0,T]"
    unroll, prefetch, stream = made(text).program
    assert unroll == Hint("unroll", num(4))
    assert prefetch == Hint("prefetch", access=Access("A", (Var("T"), ZERO)))
    assert stream == Hint("stream", access=Access("C", (ZERO, Var("T"))))


def test_l7_chip_fields_are_named_in_full() -> None:
    template = made("C[0,0] = 0")
    assert [p.name for p in template.scope.chip] == ["chip.bytes", "chip.clock"]
    assert template.scope.chip[0].condition is None
    assert template.scope.chip[1].condition == Compare(">", Var("chip.clock"), ZERO)


def test_l9_extra_points_stand_apart() -> None:
    t, s = made("C[0,0] = 0").decisions
    assert (t.name, t.menu, t.extra) == ("T", (1, 2), (3,))
    assert (s.name, s.menu, s.extra) == ("S", (4,), ())


def test_l5_siblings_use_a_name_again() -> None:
    made(
        "for i in T:\n  alloc a[1] shared\n  a[0] = 0\n"
        "for i in S:\n  alloc a[2] scratch\n  a[i] = 0"
    )


def test_l5_a_buffer_ends_with_its_block() -> None:
    with pytest.raises(InputError, match='the buffer "a" is not allocated here'):
        made("if T = 1:\n  alloc a[1] shared\nC[0,0] = a[0]")


def test_the_deepest_accepted_expressions_can_be_read() -> None:
    """Heights at the limit are safe for every recursive reader."""
    source, template = load("shared_memory_tiling")
    rows = "\n  d0 = K" + " + 1" * 95 + "\n  d1 = d0" + " + 1" * 62
    nested = "\n  d2 = " + "(1 + " * 60 + "K" + ")" * 60
    text = source.text.replace("KT = ceil(K/Tk)", "KT = ceil(K/Tk)" + rows + nested)
    text = text.replace("C2b  ", "C9 : d1 + d2 <= 999\n  C2b")
    deep = parse(Source("t.fw", text))
    assert parse(Source("t.fw", format_template(deep))) == deep
    condition = inlined(deep).constraints[2].condition
    assert evaluate(condition, {"K": 1}) is True
    assert evaluate(condition, {"K": Fraction(1000)}) is False
    assert template.constraints[2] in deep.constraints

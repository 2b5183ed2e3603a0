"""What the emitter makes of a program, and what it refuses, with the place."""

from pathlib import Path

import numpy as np
import pytest
from codegen_library import SMALL, built, inputs, template_of

from effort import thinned
from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.codegen import build, detect_target, emit_c, target_named
from formwright.codegen.emit import EXPONENTIAL
from formwright.codegen.target import AVX2, AVX512, PLAIN
from formwright.lang import load, parse

STRUCTURES = Path(__file__).parents[1] / "structures"
BODY = """\
    acc[r,s] = 0
    for l in 0 .. K:
      acc[r,s] += A[i*T+r, l] * B[l, j*T+s] clip
    C[i*T+r, j*T+s] = acc[r,s] clip
"""
TILED = "  par grid (i, j) in ceil(M/T), ceil(N/T):\n    alloc acc[T,T] register\n" + BODY
PROGRAMS = {
    "vector tile": (TILED, 16),
    "tile that fills no vector": (TILED, 2),
    "accumulators in memory": (TILED.replace("register", "scratch"), 8),
    "no grid": (
        TILED.replace("par grid (i, j) in ceil(M/T), ceil(N/T)", "for i in ceil(M/T)")
        .replace("    alloc", "    for j in ceil(N/T):\n     alloc")
        .replace("\n    acc", "\n     acc")
        .replace("\n    for l", "\n     for l")
        .replace("\n      acc", "\n       acc")
        .replace("\n    C", "\n     C"),
        8,
    ),
    "point by point": (
        "  par grid i in M:\n"
        "    C[i,j] = 0 over (j < N)\n"
        "    for l in 0 .. K:\n"
        "      C[i,j] += A[i,l] * B[l,j] over (j < N)\n",
        2,
    ),
    "ring of slots": (
        "  for i in M:\n"
        "    alloc row[N] ring 3 scratch\n"
        "    for l in 0 .. K:\n"
        "      row<l>[j] = B[l,j] over (j < N)\n"
        "      if l = 0: C[i,j] = A[i,l] * row<l>[j] over (j < N)\n"
        "      if l > 0: C[i,j] += A[i,l] * row<l>[j] over (j < N)\n"
        "    if K = 0: C[i,j] = 0 over (j < N)\n",
        2,
    ),
    "transposed copy": (
        "  alloc turned[K,T] scratch\n"
        "  for i in ceil(M/T):\n"
        "    alloc strip[K,T] scratch\n"
        "    strip[l,r] = A[i*T+r, l] over (l < K, r < T) clip\n"
        "    C[i*T+r,j] = 0 over (r < T, j < N) clip\n"
        "    for l in 0 .. K:\n"
        "      C[i*T+r,j] += strip[l,r] * B[l,j] over (r < T, j < N) clip\n",
        8,
    ),
}


def fixed(program: str) -> str:
    """One-line guards are blocks in the language."""
    lines = []
    for line in program.splitlines():
        head, colon, rest = line.partition(": ")
        if head.strip().startswith("if ") and colon:
            indent = " " * (len(head) - len(head.lstrip()))
            lines += [f"{head}:", f"{indent}  {rest}"]
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", thinned(list(PROGRAMS), keep=6))
def test_programs_of_other_forms_are_right(name: str, tmp_path: Path) -> None:
    program, size = PROGRAMS[name]
    library = built(template_of(fixed(program)), {"T": size}, tmp_path)
    for shape in ((1, 1, 1), (3, 2, 0), (9, 21, 5), (33, 40, 17)):
        a, b, out = inputs(*shape)
        c = out[:, : shape[1]]
        assert library.call(a, b, c, 2) == 0
        assert np.array_equal(c, a @ b), shape
        assert np.isnan(out[:, shape[1] :]).all()


def refusal(program: str) -> str:
    with pytest.raises(InputError) as caught:
        emit_c(template_of(program), {"T": 8}, AVX2)
    return str(caught.value)


def test_a_size_that_varies_is_refused_with_its_place() -> None:
    text = refusal(
        "  for i in M:\n    alloc b[i+1] scratch\n    b[0] = 0\n    C[i,j] = 0 over (j < N)\n"
    )
    assert "t.fw:12" in text
    assert 'the size of b varies with "i"' in text


def test_another_element_type_is_refused() -> None:
    text = refusal("  alloc b[4] scratch f64\n  b[x] = 0\n  C[i,j] = 0 over (i < M, j < N)\n")
    assert "b is f64" in text


def test_counters_are_refused() -> None:
    text = refusal(
        "  par team w in 1:\n    arrive c\n    await c, 1\n    C[i,j] = 0 over (i < M, j < N)\n"
    )
    assert "counters" in text
    assert "t.fw:12" in text


def test_roles_of_a_team_are_refused() -> None:
    text = refusal("  par team w in 2:\n    if w = 1:\n      C[i,j] = 0 over (i < M, j < N)\n")
    assert "there are no roles" in text
    assert "t.fw:12" in text


def test_a_scope_without_teams_of_one_agent_is_refused() -> None:
    text = (STRUCTURES / "producer_consumer" / "several_consumers.fw").read_text()
    with pytest.raises(InputError, match="excludes W = 1"):
        emit_c(parse(Source("t.fw", text)), {"T": 1, "S": 1}, AVX2)


def test_decisions_must_be_those_of_the_template() -> None:
    template = load("packed_gemm")[1]
    with pytest.raises(InputError, match='no value for the decision "Ib"'):
        emit_c(template, {k: v for k, v in SMALL.items() if k != "Ib"}, AVX2)
    with pytest.raises(InputError, match='"Mq" is no decision'):
        emit_c(template, {**SMALL, "Mq": 1}, AVX2)


@pytest.mark.slow
def test_a_library_is_the_same_from_any_folder(tmp_path: Path) -> None:
    emitted = emit_c(load("direct_gemm")[1], {"Mr": 2, "Nr": 8, "Jb": 1}, detect_target())
    first = build(emitted, tmp_path / "one")
    second = build(emitted, tmp_path / "some where" / "else")
    data = first.library.read_bytes()
    assert data == second.library.read_bytes()
    assert str(tmp_path).encode() not in data
    assert b"formwright-build" not in data
    assert not any(flag in first.command for flag in ("-ffast-math", "-Ofast", "-march=native"))


@pytest.mark.slow
def test_the_avx512_code_compiles(tmp_path: Path) -> None:
    """Compiled only: it runs where the CPU has it, and ``fw_cpu_ok`` guards it elsewhere."""
    emitted = emit_c(load("direct_gemm")[1], {"Mr": 4, "Nr": 48, "Jb": 1}, AVX512)
    assert build(emitted, tmp_path).library.exists()


def test_packing_ahead_is_found() -> None:
    ahead = {**{k: v for k, v in SMALL.items() if k != "Nb"}, "Jb": 2}
    assert emit_c(load("packed_gemm_ahead")[1], ahead, PLAIN).ahead == ("B",)
    assert emit_c(load("packed_gemm")[1], SMALL, PLAIN).ahead == ()


TWO_PACKED = """
template both : operator -> mapping
scope
  workload  y[N] = sum(k < K) A[N,k] * B[N,k] * x[k]
  extents   N >= 1, K >= 1
program
  alloc P[N,K], Q[N,K] scratch
  par grid i in N:
    P[i,k] = A[i,k] over (k < K)
  par grid i in N:
    Q[i,k] = B[i,k] over (k < K)
  par grid i in N:
    alloc t[1] register
    t[r] = 0
    for k in 0 .. K:
      t[r] += P[i,k] * Q[i,k] * READ
    y[i] = t[0]
"""


@pytest.mark.parametrize(("read", "packed"), [("x[k]", ("A", "B")), ("x[k] * A[i,k]", ())])
def test_several_inputs_are_packed_ahead_when_nothing_reads_them_later(
    read: str, packed: tuple[str, ...]
) -> None:
    template = parse(Source("both.fw", TWO_PACKED.replace("READ", read)))
    assert emit_c(template, {}, PLAIN).ahead == packed


def test_targets_are_found_by_flags(tmp_path: Path) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text("flags : avx2 fma\nflags : avx2 fma avx512f\n")
    assert detect_target(info) == AVX2
    info.write_text("flags : sse2\n")
    assert detect_target(info) == PLAIN
    assert detect_target(tmp_path / "absent") == PLAIN
    with pytest.raises(InputError, match="avx512"):
        target_named("avx51")


def test_rows_after_one_another_may_have_one_name(tmp_path: Path) -> None:
    rows = "  for i in 0 .. M:\n    C[i,j] = 0 over (j < N)\n    C[i,j] += B[0,j] over (j < N)\n"
    assert build(emit_c(template_of(rows), {"T": 2}, AVX2), tmp_path).library.exists()


@pytest.mark.parametrize(
    ("name", "design", "points"),
    [
        ("softmax_rows", {"Rr": 1, "L": 16, "St": 0}, f"{EXPONENTIAL} * fw_max(1, e->n_R)"),
        ("gemv_rows", {"Rr": 1, "L": 16, "Pf": 0}, "fw_max(1, e->n_N)"),
    ],
)
def test_exponentials_count_more_where_workers_are_woken(name, design, points):
    source = emit_c(load(name)[1], design, target_named("plain")).source
    assert f"fw_acquire({points}" in source

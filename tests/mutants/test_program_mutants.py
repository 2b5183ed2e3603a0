"""No mutant of a shipped program is proved: statements, barriers, indices, guards, rings.

Mutants are made from the program text as data; each is proved from scratch and the first
obligation that is not proved ends it. Mutants that mean the same are listed with the reason.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import pytest

from effort import thinned
from formwright.ir.expr import ONE, Arith, Compare, Expr, num
from formwright.ir.inline import inlined
from formwright.ir.program import (
    Access,
    Alloc,
    Apply,
    Barrier,
    Buffer,
    For,
    Hint,
    If,
    Op,
    Par,
    Read,
    Stmt,
    Value,
)
from formwright.ir.show import show_expr
from formwright.ir.template import Template
from formwright.lang import load
from formwright.smt import prove

Block = tuple[Stmt, ...]
Mutant = tuple[str, Block]

EQUIVALENT = {
    ("shared_memory_tiling", "drop guard if p + P < ceil(K/Tk)"): (
        "the tiles beyond K are clipped to 0 and no computation reads their generations"
    ),
    ("shared_memory_tiling", "guard +1 if p + P < ceil(K/Tk)"): (
        "one tile beyond K is loaded, clipped to 0, and no computation reads its generation"
    ),
    ("shared_memory_tiling", "drop guard if beta = 1"): (
        "the trailing barrier always stands: slower, and right for every design"
    ),
    ("packed_gemm", "upper bound +1 for ic"): (
        "M - ic*Mc is at most 0 there, so every fork of that iteration has no agent"
    ),
    ("packed_gemm", "upper bound +1 for pc"): (
        "K - pc*Kc is at most 0 there, so the sum is empty and 0 is added"
    ),
}
"""Mutants that mean the same, each with the argument."""

SAMPLE = {
    ("packed_gemm", "guards"): 14,
    ("packed_gemm", "indices"): 31,
    ("packed_gemm", "deletions"): 11,
    ("packed_gemm", "updates"): 4,
    ("packed_gemm", "storage"): 7,
    ("packed_gemm", "hoists"): 3,
    ("shared_memory_tiling", "indices"): 19,
    ("shared_memory_tiling", "guards"): 7,
    ("shared_memory_tiling", "deletions"): 7,
    ("shared_memory_tiling", "updates"): 4,
    ("shared_memory_tiling", "storage"): 4,
    ("shared_memory_tiling", "moves"): 2,
}
"""Every n-th mutant of the large kinds in the default run; all of them under ``slow``."""


@cache
def shipped(name: str) -> Template:
    return inlined(load(name)[1])


def here(stmt: Stmt) -> str:
    """A name for a statement that does not move with the lines of the file."""
    match stmt:
        case For(var):
            return f"for {var}"
        case If(cond):
            return f"if {show_expr(cond)}"
        case Par(kind, names):
            return f"par {kind} {', '.join(names)}"
        case Apply(_, destination, op):
            return f"{destination.buffer} {op}"
        case _:
            return type(stmt).__name__.lower()


def idle(stmt: Stmt) -> bool:
    """Hints have no meaning, nor have loops of nothing but hints."""
    match stmt:
        case Hint():
            return True
        case For(_, _, _, body) | If(_, body):
            return all(idle(s) for s in body)
        case _:
            return False


def everywhere(block: Block, local: Callable[[Block], Iterator[Mutant]]) -> Iterator[Mutant]:
    """Applies a change of one block to each block of a program."""
    yield from local(block)
    for i, stmt in enumerate(block):
        if isinstance(stmt, For | Par | If):
            for name, inner in everywhere(stmt.body, local):
                yield name, (*block[:i], replace(stmt, body=inner), *block[i + 1 :])


def deletions(block: Block) -> Iterator[Mutant]:
    for i, stmt in enumerate(block):
        if not idle(stmt):
            yield f"delete {here(stmt)}", block[:i] + block[i + 1 :]


def moves(block: Block) -> Iterator[Mutant]:
    """Each barrier one place up, one place down, and both out of a guard."""
    for i, stmt in enumerate(block):
        if not isinstance(stmt, Barrier) and not _guarded_barrier(stmt):
            continue
        rest = block[:i] + block[i + 1 :]
        for j in (i - 1, i + 1):
            if 0 <= j <= len(rest):
                yield f"move barrier {here(stmt)} by {j - i:+d}", (*rest[:j], stmt, *rest[j:])


def _guarded_barrier(stmt: Stmt) -> bool:
    return isinstance(stmt, If) and all(isinstance(s, Barrier) for s in stmt.body)


def guards(block: Block) -> Iterator[Mutant]:
    """Guards dropped or shifted by one; loop bounds one longer, one shorter, one later."""
    for i, stmt in enumerate(block):
        before, after = block[:i], block[i + 1 :]
        if idle(stmt):
            continue
        match stmt:
            case If(cond, body):
                yield f"drop guard {here(stmt)}", (*before, *body, *after)
                if isinstance(cond, Compare):
                    for step in (-1, 1):
                        moved = replace(stmt, cond=replace(cond, right=_plus(cond.right, step)))
                        yield f"guard {step:+d} {here(stmt)}", (*before, moved, *after)
            case For(_, lo, hi):
                for step in (-1, 1):
                    longer = replace(stmt, hi=_plus(hi, step))
                    yield f"upper bound {step:+d} {here(stmt)}", (*before, longer, *after)
                later = replace(stmt, lo=_plus(lo, 1))
                yield f"lower bound +1 {here(stmt)}", (*before, later, *after)
            case Par("grid", _, extents):
                for n, extent in enumerate(extents):
                    fewer = (*extents[:n], _plus(extent, -1), *extents[n + 1 :])
                    changed = replace(stmt, extents=fewer)
                    yield f"extent {n} -1 {here(stmt)}", (*before, changed, *after)
            case _:
                pass


def indices(block: Block) -> Iterator[Mutant]:
    """Each index and generation one further, and neighbouring indices swapped."""
    for i, stmt in enumerate(block):
        if not isinstance(stmt, Apply):
            continue
        for label, changed in access_changes(stmt.destination):
            mutant = replace(stmt, destination=changed)
            yield f"{label} {here(stmt)} written", (*block[:i], mutant, *block[i + 1 :])
        for label, value in value_changes(stmt.value):
            mutant = replace(stmt, value=value)
            yield f"{label} {here(stmt)} read", (*block[:i], mutant, *block[i + 1 :])


def access_changes(access: Access) -> Iterator[tuple[str, Access]]:
    for n, index in enumerate(access.index):
        shifted = (*access.index[:n], _plus(index, 1), *access.index[n + 1 :])
        yield f"{access.buffer} index {n} +1", replace(access, index=shifted)
    if access.generation is not None:
        later = replace(access, generation=_plus(access.generation, 1))
        yield f"{access.buffer} generation +1", later
    if len(access.index) > 1:
        yield f"{access.buffer} swapped", replace(access, index=access.index[::-1])
    if access.clip:
        yield f"{access.buffer} unclipped", replace(access, clip=False)


def value_changes(value: Value) -> Iterator[tuple[str, Value]]:
    match value:
        case Read(access):
            for label, changed in access_changes(access):
                yield label, replace(value, access=changed)
        case Op(_, args):
            for n, arg in enumerate(args):
                for label, changed_arg in value_changes(arg):
                    yield label, replace(value, args=(*args[:n], changed_arg, *args[n + 1 :]))
        case _:
            return


def updates(block: Block) -> Iterator[Mutant]:
    """An assignment for an accumulation and the other way round."""
    for i, stmt in enumerate(block):
        if isinstance(stmt, Apply):
            other = replace(stmt, op="+=" if stmt.op == "=" else "=")
            yield f"other update {here(stmt)}", (*block[:i], other, *block[i + 1 :])


def storage(block: Block) -> Iterator[Mutant]:
    """One slot fewer, one element fewer in each dimension, no owner, storage one block up."""
    for i, stmt in enumerate(block):
        if not isinstance(stmt, Alloc):
            continue
        for n, buffer in enumerate(stmt.buffers):
            for label, changed in buffer_changes(buffer):
                buffers = (*stmt.buffers[:n], changed, *stmt.buffers[n + 1 :])
                mutant = replace(stmt, buffers=buffers)
                yield f"{buffer.name} {label} {here(stmt)}", (*block[:i], mutant, *block[i + 1 :])


def buffer_changes(buffer: Buffer) -> Iterator[tuple[str, Buffer]]:
    if buffer.ring is not None:
        yield "one slot fewer", replace(buffer, ring=_plus(buffer.ring, -1))
    for n, size in enumerate(buffer.shape):
        smaller = (*buffer.shape[:n], _plus(size, -1), *buffer.shape[n + 1 :])
        yield f"shape {n} -1", replace(buffer, shape=smaller)
    if buffer.dist:
        yield "no owner", replace(buffer, dist=0)


def hoists(block: Block) -> Iterator[Mutant]:
    """Storage declared outside the loop or fork that it was in: shared by more."""
    for i, stmt in enumerate(block):
        if isinstance(stmt, For | Par):
            for j, inner in enumerate(stmt.body):
                if isinstance(inner, Alloc):
                    rest = replace(stmt, body=stmt.body[:j] + stmt.body[j + 1 :])
                    yield f"hoist {here(inner)}", (*block[:i], inner, rest, *block[i + 1 :])


def _plus(expr: Expr, step: int) -> Expr:
    return Arith("+", expr, ONE) if step == 1 else Arith("-", expr, num(-step))


ASIDE = frozenset({"vacuity", "menu", "divisor", "implied", "fits"})
"""Conditions that do not read what a mutant changes."""

KINDS = {
    "deletions": deletions,
    "moves": moves,
    "guards": guards,
    "indices": indices,
    "updates": updates,
    "storage": storage,
    "hoists": hoists,
}


def accepted(name: str, kind: str, step: int) -> list[str]:
    """Mutants that are proved although nothing says that they mean the same."""
    template = shipped(name)
    mutants = list(everywhere(template.program, KINDS[kind]))
    found = []
    for label, program in mutants[::step]:
        mutant = replace(template, program=program)
        proof = prove(mutant, stop_early=True, only=lambda condition: condition not in ASIDE)
        if proof.verdict == "proved" and (name, label) not in EQUIVALENT:
            found.append(label)
    return found


CASES = [(n, k) for n in ("shared_memory_tiling", "packed_gemm") for k in KINDS]


@pytest.mark.parametrize(("name", "kind"), thinned(CASES, keep=2))
def test_no_mutant_is_proved(name: str, kind: str) -> None:
    assert accepted(name, kind, SAMPLE.get((name, kind), 1)) == []


@pytest.mark.slow
@pytest.mark.skipif("FORMWRIGHT_SLOW" not in os.environ, reason="set FORMWRIGHT_SLOW for all")
@pytest.mark.parametrize(("name", "kind"), list(SAMPLE))
def test_no_mutant_of_the_large_kinds_is_proved(name: str, kind: str) -> None:
    assert accepted(name, kind, 1) == []


def test_the_mutants_that_mean_the_same_are_made() -> None:
    labels = {
        (name, label)
        for name, kind in CASES
        for label, _ in everywhere(shipped(name).program, KINDS[kind])
    }
    assert set(EQUIVALENT) <= labels
    assert len(labels) > 180


def test_each_of_them_is_proved() -> None:
    """Were one refuted, its argument would be wrong."""
    for name, kind in CASES:
        for label, program in everywhere(shipped(name).program, KINDS[kind]):
            if (name, label) in EQUIVALENT and label == "drop guard if beta = 1":
                assert prove(replace(shipped(name), program=program)).verdict == "proved", label

"""Every statement of the shipped templates matters to the interpreter, and the faults of
the paper's Table 19 are replayed under the condition that is responsible."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from effort import thinned
from formwright.base.source import Source
from formwright.ir.inline import inlined
from formwright.ir.program import For, Hint, If, Par, Stmt
from formwright.ir.template import Template
from formwright.lang import load, parse
from formwright.proof.refutation import Refutation
from formwright.proof.verdict import Counterexample
from formwright.replay import TEXTUAL, replay
from formwright.replay.adversary import adversarial
from formwright.replay.runner import prepare, run_prepared

TILING_POINTS = [
    {"M": 3, "N": 3, "K": 5, "W": 2, "Tm": 2, "Tn": 2, "Tk": 1, "S": 2, "P": 1, "beta": 1},
    {"M": 2, "N": 2, "K": 5, "W": 2, "Tm": 2, "Tn": 2, "Tk": 2, "S": 2, "P": 0, "beta": 0},
]
PACKED_POINTS = [
    {"M": 5, "N": 5, "K": 3, "Mr": 2, "Nr": 2, "Mc": 4, "Nb": 4, "Kc": 2, "Ib": 1},
    {"M": 2, "N": 3, "K": 0, "Mr": 2, "Nr": 2, "Mc": 2, "Nb": 4, "Kc": 1, "Ib": 2},
]


@cache
def shipped(name: str) -> Template:
    return inlined(load(name)[1])


def deletions(body: tuple[Stmt, ...]) -> Iterator[tuple[tuple[Stmt, ...], Stmt]]:
    """The program without one statement, for each statement."""
    for i, stmt in enumerate(body):
        if not idle(stmt):
            yield body[:i] + body[i + 1 :], stmt
        if isinstance(stmt, For | Par | If):
            for inner, gone in deletions(stmt.body):
                yield (*body[:i], replace(stmt, body=inner), *body[i + 1 :]), gone


def idle(stmt: Stmt) -> bool:
    """Hints have no meaning, nor have loops of nothing but hints."""
    match stmt:
        case Hint():
            return True
        case For(_, _, _, body) | If(_, body):
            return all(idle(s) for s in body)
        case _:
            return False


def broken(template: Template, points: list[dict[str, int]]) -> bool:
    """Some schedule at some point shows a defect."""
    several = [(point, prepare(template, point)) for point in points]
    first = [run_prepared(prepared, TEXTUAL) for _, prepared in several]
    if any(outcome.status == "defect" for outcome in first):
        return True
    for (point, prepared), outcome in zip(several, first, strict=True):
        for schedule in adversarial(outcome.barriers, point.get("W", 1), asynchronous=False):
            if run_prepared(prepared, schedule).status == "defect":
                return True
    return False


@pytest.mark.parametrize(
    ("name", "points"),
    thinned([("packed_gemm", PACKED_POINTS), ("shared_memory_tiling", TILING_POINTS)]),
)
def test_every_deleted_statement_is_missed(name: str, points: list[dict[str, int]]) -> None:
    template = shipped(name)
    assert not broken(template, points)
    survivors = [
        f"line {gone.span.line if gone.span else '?'}: {type(gone).__name__}"
        for body, gone in deletions(template.program)
        if not broken(replace(template, program=body), points)
    ]
    assert survivors == []


def edited(*edits: tuple[str, str], name: str = "shared_memory_tiling") -> Template:
    """The shipped text with replacements, each of which must apply, however it is spaced."""
    text = load(name)[0].text
    for old, new in edits:
        pattern = r"\s*".join(re.escape(t) for t in re.findall(r"\w+|[^\w\s]", old))
        text, count = re.subn(pattern, lambda _, new=new: new.strip(), text)  # type: ignore[misc]
        assert count, old
    return inlined(parse(Source(f"{name}.fw", text)))


def claimed(template: Template, condition: str, **decisions: int) -> Counterexample | None:
    """What the replayer makes of the design that the paper broke."""
    design = {"M": 1000, "N": 1000, "K": 1000, "W": 4, "Tm": 128, "Tn": 128, "Tk": 32}
    values = {**design, "S": 3, "P": 1, "beta": 0, **decisions}
    return replay(template, Refutation(condition, condition, dict(values), (), ""), seconds=20)


C_ROW = "      C[i*Tm+r, j*Tn+s] = acc[r,s] clip"
FREE = (("  C3                   : P <= S - 2 + beta\n", ""), ("P <= S - 2 + beta", "P >= 0"))
TABLE_19: dict[str, tuple[tuple[tuple[str, str], ...], str, dict[str, int], str]] = {
    "floor-divided grid": (
        (("ceil(M/Tm), ceil(N/Tn)", "floor(M/Tm), floor(N/Tn)"),),
        "coverage",
        {},
        "is never written",
    ),
    "unguarded tail": (
        ((C_ROW, C_ROW.removesuffix(" clip")),),
        "phantom",
        {},
        "outside C[",
    ),
    "overlapping tiles": (
        (("i*Tm+r", "i*(Tm-1)+r"),),
        "exact_once",
        {},
        "",
    ),
    "single buffer, prefetch one": (FREE, "lifetime", {"S": 1, "P": 1}, "instead of A[0,0]*B[0,0]"),
    "two slots, no trailing barrier": (
        FREE,
        "lifetime",
        {"S": 2, "P": 1},
        "C[0,1] accumulates A[0,2]*B[4,1] instead of A[0,2]*B[2,1]",
    ),
    "no leading barrier": (
        (("        barrier\n        acc", "        acc"),),
        "readiness",
        {},
        "which nothing has written",
    ),
}


@pytest.mark.parametrize("fault", sorted(TABLE_19))
def test_faults_of_table_19_are_replayed(fault: str) -> None:
    edits, condition, decisions, words = TABLE_19[fault]
    found = claimed(edited(*edits), condition, **decisions)
    assert found is not None
    assert found.replayed
    assert words in found.text.splitlines()[0]
    assert "miniature: " in found.text
    assert found.trace


@pytest.mark.slow
def test_a_sound_template_gives_no_counterexample() -> None:
    refutation = Refutation("lifetime", "x", dict(TILING_POINTS[0]), (), "")
    assert replay(shipped("shared_memory_tiling"), refutation, seconds=0.5) is None


TILING_EDITS = [
    ("0 .. min(P, KT)", "1 .. min(P, KT)"),
    ("0 .. min(P, KT)", "0 .. min(P, KT) - 1"),
    ("for p in 0 .. KT", "for p in 1 .. KT"),
    ("for p in 0 .. KT", "for p in 0 .. KT - 1"),
    ("for p in 0 .. KT", "for p in 0 .. floor(K/Tk)"),
    ("if p+P < KT", "if p+P < KT - 1"),
    ("sA<p+P>[r,k] = A", "sA<p>[r,k] = A"),
    ("sB<p+P>[k,s] = B", "sB<p+P+1>[k,s] = B"),
    ("A[i*Tm+r, (p+P)*Tk+k]", "A[i*Tm+r, p*Tk+k]"),
    ("A[i*Tm+r, (p+P)*Tk+k]", "A[i*Tm+r, (p+P)*Tk]"),
    ("B[(p+P)*Tk+k, j*Tn+s]", "B[(p+P)*Tk+k, i*Tn+s]"),
    ("acc[r,s] += sA<p>[r,k]", "acc[r,s] += sA<p+1>[r,k]"),
    ("acc[r,s] += sA<p>[r,k]", "acc[r,s] = sA<p>[r,k]"),
    ("if beta = 1", "if beta = 0"),
    ("        barrier\n        acc", "        if p > 0:\n          barrier\n        acc"),
    ("        barrier\n        acc", "        if w = 0:\n          barrier\n        acc"),
    ("C[i*Tm+r, j*Tn+s] = acc", "C[j*Tm+r, i*Tn+s] = acc"),
    ("C[i*Tm+r, j*Tn+s] = acc", "C[i*Tm+r, j*Tn+s] += acc"),
]


@pytest.mark.parametrize("edit", TILING_EDITS, ids=lambda edit: edit[1].strip()[:40])
def test_altered_tiling_is_broken(edit: tuple[str, str]) -> None:
    points = [*TILING_POINTS, {**TILING_POINTS[0], "M": 1, "N": 5, "K": 4, "Tk": 3}]
    assert broken(edited(edit), points)


PACKED_EDITS = [
    ("Bp[jp,u,s] = B[pc*Kc+u,", "Bp[jp,u,s] = B[pc*Kc+u+1,"),
    ("jb*Nb+jp*Nr+s] over", "jp*Nr+s] over"),
    ("r < Mr) clip", "r < Mr)"),
    ("A[ic*Mc+ip*Mr+r, pc*Kc+l]", "A[ip*Mr+r, pc*Kc+l]"),
    ("max(1, ceil(K/Kc))", "ceil(K/Kc)"),
    ("max(1, ceil(K/Kc))", "max(1, floor(K/Kc))"),
    ("min(Kc, K-pc*Kc)", "min(Kc, K-pc*Kc) - 1"),
    ("if pc = 0", "if pc <= 1"),
    ("if pc > 0", "if pc > 1"),
    ("if pc > 0", "if pc >= 0"),
    ("jb*Nb+jr*Nr+s] = acc", "jr*Nr+s] = acc"),
    ("Ap[ib*Ib+ir,l,r] * Bp", "Ap[ir,l,r] * Bp"),
    ("Ap[ib*Ib+ir,l,r] * Bp", "Ap[0,l,r] * Bp"),
    ("    for pc in 0 .. max(1", "    par grid pc in max(1"),
    ("for ic in 0 .. ceil(M/Mc)", "for ic in 0 .. floor(M/Mc)"),
]


@pytest.mark.parametrize("edit", PACKED_EDITS, ids=lambda edit: edit[1].strip()[:40])
def test_altered_packed_product_is_broken(edit: tuple[str, str]) -> None:
    points = [*PACKED_POINTS, {**PACKED_POINTS[0], "M": 9, "N": 9, "Nb": 6, "K": 5}]
    assert broken(edited(edit, name="packed_gemm"), points)

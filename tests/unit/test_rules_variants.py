"""Rules over templates: what each does to a text, and that what comes out is a template."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from effort import thinned
from formwright.agent.repair import findings_of
from formwright.agent.rules import RULES
from formwright.agent.rules.join import joined
from formwright.agent.ways import BOLD, developed
from formwright.base.source import Source
from formwright.flow.mending import mend_text
from formwright.flow.proving import prove
from formwright.ir.template import Constraint, Template
from formwright.lang import load, parse_expression
from formwright.lang.format import format_template
from formwright.lang.parser import parse
from rule_samples import DECODE, GEMM, GEMV, SOFTMAX, TILES, sample

BY_NAME = {rule.name: rule for rule in RULES}
TESTS = Path(__file__).parents[1]
SHIPPED = ("gemv_rows", "decode_attention_heads", "direct_gemm", "softmax_rows")


def texts(rule: str, template: Template) -> list[str]:
    return [format_template(v.template) for v in BY_NAME[rule].apply(template)]


def program(rule: str, text: str, at: int = 0) -> str:
    """The program of a variant, as one text of single spaces."""
    made = texts(rule, sample(text))[at]
    found = re.search(r"\nprogram\n(.*?)(\n\n|\Z)", made, re.DOTALL)
    assert found is not None
    return " ".join(found[1].split())


@pytest.mark.parametrize("text", [DECODE, GEMM, GEMV, SOFTMAX, TILES])
def test_every_variant_is_a_template_of_the_same_workload(text: str) -> None:
    template = sample(text)
    named = set[str]()
    for rule in RULES:
        for variant in rule.apply(template):
            made = variant.template
            again = parse(Source("again.fw", format_template(made)))
            assert again == made
            assert made.scope.lines == template.scope.lines
            assert made.scope.extents == template.scope.extents
            assert variant.rule == rule.name
            assert variant.why
            assert re.fullmatch(rf"{template.name}_[0-9a-f]{{8}}", made.name)
            named.add(made.name)
    assert len(named) > 3


@pytest.mark.parametrize("name", thinned(SHIPPED))
def test_rules_fit_templates_that_ship(name: str) -> None:
    template = load(name)[1]
    made = [v for rule in RULES for v in rule.apply(template)]
    assert {v.rule for v in made} >= {"strip", "open-menu", "close-menu"}
    assert all(v.template.scope.workload == template.scope.workload for v in made)


def test_the_same_template_gives_the_same_variants() -> None:
    few = sample(GEMV)
    once = [v for rule in RULES for v in rule.apply(few)]
    again = [v for rule in RULES for v in rule.apply(sample(GEMV))]
    assert once == again


@pytest.mark.slow
def test_no_order_of_a_set_shows_in_the_variants() -> None:
    code = (
        "import rule_samples as s\n"
        "from formwright.agent.rules import RULES\n"
        "from formwright.base.digest import digest\n"
        "told = [(v.template, v.why) for t in (s.DECODE, s.TILES) for r in RULES"
        " for v in r.apply(s.sample(t))]\n"
        "print(digest(told))"
    )
    seen = set[str]()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(TESTS)}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, check=True
        )
        seen.add(done.stdout.decode())
    assert len(seen) == 1


def test_a_formulation_has_no_program_and_no_variants() -> None:
    formulation = replace(sample(GEMV), program=(), formulation="a cost and menus alone")
    assert all(rule.apply(formulation) == () for rule in RULES)


def test_keep_puts_the_exponentials_where_the_sum_computes_them() -> None:
    assert "w[j] = exp(sc[j] - top[0]) tot[0] += w[j]" in program("keep", DECODE)
    assert "acc[0] += w[j] * vc[h,j,d] / tot[0]" in program("keep", DECODE)


def test_keep_makes_one_reciprocal_of_a_divisor() -> None:
    assert "w[0] = 1 / tot[0]" in program("keep", SOFTMAX, 1)


def test_hoist_takes_the_scale_out_of_the_sum() -> None:
    text = program("hoist", DECODE)
    assert "sc_sum[0] += q[h,g,d] * kc[h,j,d]" in text
    assert "sc[j] = sc_sum[0] * rsqrt(index(D))" in text


def test_copy_takes_what_stands_beside_along() -> None:
    text = program("copy", DECODE)
    assert "t[d2] = q[h,g,d2] * rsqrt(index(D))" in text
    assert "sc[j] += t[d] * kc[h,j,d]" in text


def test_partial_results_of_a_sum_begin_with_zero_and_of_a_maximum_with_its_first() -> None:
    text = program("partial-results", DECODE, 1)
    assert "top_part[l] = sc[0]" in text
    assert "top[0] max= top_part[l]" in text
    text = program("partial-results", GEMV)
    assert "acc_part[l] = 0" in text
    assert "W[i, p*Lk+l] * x[p*Lk+l] over (l < min(Lk, K - p*Lk))" in text


def test_lanes_are_cells_that_lie_side_by_side() -> None:
    text = program("block-lanes", GEMM)
    assert "par grid (p, i) in ceil(N/Lj), M" in text
    assert "acc[l] += A[i,k] * B[k, p*Lj+l]" in text


def test_rows_go_first_where_they_save_reads() -> None:
    (first, *_) = BY_NAME["block-rows"].apply(sample(DECODE))
    assert "one read of kc, vc serves all of them" in first.why
    text = program("block-rows", DECODE)
    assert "par grid (h, b) in H, ceil(G/Gr)" in text
    assert "alloc sc[Gr,S] scratch" in text
    made = format_template(first.template)
    assert re.search(r"m\[h, b\*Gr\+(\w+)\] = top\[\1\]", made)


def test_strip_gives_an_agent_several_cells_one_after_another() -> None:
    text = program("strip", GEMV)
    assert "par grid jb in ceil(N/Ji): for jr in 0 .. min(Ji, N - jb*Ji):" in text
    assert "y[jb*Ji+jr] = acc[0]" in text


def test_spread_makes_the_last_loop_an_index_of_the_grid() -> None:
    text = program("spread", DECODE)
    assert "par grid (h, g, d_agent) in H, G, D:" in text
    assert "O[h,g,d_agent] = acc[0]" in text


def test_meet_leaves_open_when_the_first_value_counts() -> None:
    text = program("meet", DECODE)
    assert "top[0] = sc[j] top[0] max= sc[j] tot[0] = 0" in text
    assert BY_NAME["meet"].apply(sample(SOFTMAX)) == ()


@pytest.mark.slow
def test_the_repair_finds_what_meet_leaves_open() -> None:
    (variant,) = BY_NAME["meet"].apply(sample(DECODE))
    proof = prove(variant.template)
    assert {o.condition for o in proof.obligations if o.verdict == "refuted"} == {"single"}
    mended = mend_text(format_template(variant.template), findings_of(proof))
    assert mended is not None
    assert "if j = 0:" in mended.text


def test_unwrap_splits_a_loop_where_its_index_turns() -> None:
    text = """
template turned : operator -> mapping

scope
  workload  Y[T,H] = X[T,H] + X[T, (h + H//2) mod H]
  extents   T >= 1, H >= 1

program
  par grid t in T:
    for h in 0 .. H:
      Y[t,h] = X[t,h] + X[t, (h+H//2) mod H]
"""
    made = program("unwrap", text)
    assert "for h in 0 .. H - H // 2: Y[t,h] = X[t,h] + X[t, h+H//2]" in made
    assert "for h in 0 .. H // 2: Y[t, h+(H-H//2)] = X[t, h+(H-H//2)] + X[t,h]" in made
    assert BY_NAME["unwrap"].apply(sample(GEMM)) == ()


def test_order_makes_another_index_the_outermost() -> None:
    assert "par grid (j, i) in N, M:" in program("order", GEMM)


def test_panels_put_rows_side_by_side() -> None:
    text = """
template product_of_rows : operator -> mapping

scope
  workload  Y[T,F] = sum(d < D) X[T,d] * W[F,d]
  extents   T >= 1, F >= 1, D >= 1

program
  par grid (t, f) in T, F:
    alloc acc[1] register
    acc[0] = 0
    for d in 0 .. D:
      acc[0] += X[t,d] * W[f,d]
    Y[t,f] = acc[0]
"""
    made = program("panels", text)
    assert "Wp[jp,i,s] = W[jp*Lf+s, i] clip par grid (p, t) in ceil(F/Lf), T:" in made
    assert "acc[l] += X[t,d] * Wp[p,d,l] over (l < min(Lf, F - p*Lf))" in made
    assert [v.rule for v in BY_NAME["panels"].apply(sample(GEMV))] == []


def test_phases_give_the_scores_a_grid_of_their_own() -> None:
    text = program("phases", DECODE)
    assert text.startswith("alloc sc[H,G,S] scratch par grid (h, g, jb) in H, G, ceil(S/Bj):")
    assert "for j in jb*Bj .. min(S, jb*Bj + Bj):" in text
    assert text.count("par grid") == 2


def test_split_and_interchange() -> None:
    text = program("split", GEMV)
    assert "for kb in 0 .. ceil(K/Bk): for k in kb*Bk .. min(K, kb*Bk + Bk):" in text
    (swapped,) = BY_NAME["interchange"].apply(nested())
    assert "for c in 0 .. C:\n      for b in 0 .. B:" in format_template(swapped.template)


def nested() -> Template:
    return sample(
        """
template nest : operator -> mapping

scope
  workload  y[A] = sum(b < B, c < C) X[A,b,c]
  extents   A >= 1, B >= 1, C >= 1

program
  par grid a in A:
    alloc acc[1] register
    acc[0] = 0
    for b in 0 .. B:
      for c in 0 .. C:
        acc[0] += X[a,b,c]
    y[a] = acc[0]
"""
    )


def test_fuse_joins_loops_of_one_range_and_none_that_wait_for_a_sum() -> None:
    text = """
template pair : operator -> mapping

scope
  workload  y[A] = sum(b < B) p[A,b] * X[A,b]
  stage     p[A,B] = X[A,B] * X[A,B]
  extents   A >= 1, B >= 1

program
  par grid a in A:
    alloc sq[B] scratch
    for b in 0 .. B:
      sq[b] = X[a,b] * X[a,b]
    alloc acc[1] register
    acc[0] = 0
    for b in 0 .. B:
      acc[0] += sq[b] * X[a,b]
    y[a] = acc[0]

realise
  p[a,b] = sq[b]
"""
    (fused,) = BY_NAME["fuse"].apply(sample(text))
    made = format_template(fused.template)
    assert made.count("for b in 0 .. B:") == 1
    assert prove(fused.template).verdict == "proved"
    assert BY_NAME["fuse"].apply(sample(SOFTMAX)) == ()


def test_narrow_ends_a_loop_where_its_readers_end() -> None:
    text = """
template causal : operator -> mapping

scope
  workload  y[T] = sum(j < T) select(j <= t, p[T,j], 0)
  stage     p[T, u < T] = X[T] * X[u]
  extents   T >= 1

program
  par grid t in T:
    alloc sc[T] scratch
    for j in 0 .. T:
      sc[j] = X[t] * X[j]
    alloc acc[1] register
    acc[0] = 0
    for j in 0 .. t + 1:
      acc[0] += sc[j]
    y[t] = acc[0]

realise
  p[t,j] = sc[j]
"""
    (narrow,) = BY_NAME["narrow"].apply(sample(text))
    assert format_template(narrow.template).count("for j in 0 .. t + 1:") == 2


def test_pack_reads_panels_that_a_grid_fills() -> None:
    packs = BY_NAME["pack"].apply(load("direct_gemm")[1])
    assert [v.why.split()[0] for v in packs] == ["B", "A"]
    made = format_template(packs[0].template)
    assert "Bp[jp,i0,Bp_cell] = B[i0, jp*Nr+Bp_cell] clip" in made
    assert "acc[r,s] += A[i*Mr+r, l] * Bp[jb*Jb+jr, l, s] clip" in made


def test_slots_get_a_wall_and_no_condition_that_the_rule_would_vouch_for() -> None:
    (slots,) = BY_NAME["add-slots"].apply(sample(TILES))
    made = format_template(slots.template)
    assert "ring S shared" in made
    assert "if p + P < ceil(K/Tk):" in made
    assert "Slots wall shared_bytes : S*(4*T*Tk + 4*Tk*T) <= chip.shared_bytes" in made
    assert slots.template.requires == ()


@pytest.mark.slow
def test_slots_are_refuted_by_the_lifetime_of_a_slot() -> None:
    assert prove(sample(TILES)).verdict == "proved"
    (slots,) = BY_NAME["add-slots"].apply(sample(TILES))
    proof = prove(slots.template)
    assert proof.verdict == "refuted"
    assert {o.condition for o in proof.obligations if o.verdict == "refuted"} >= {"lifetime"}


def test_hints_are_decisions() -> None:
    (ahead,) = BY_NAME["prefetch"].apply(sample(GEMV))[:1]
    made = format_template(ahead.template)
    assert "if Pf > 0:" in made
    assert "hint prefetch W[i+Pf, k]" in made
    (past,) = BY_NAME["stream"].apply(load("direct_gemm")[1])
    assert "hint stream C[i*Mr, (jb*Jb+jr)*Nr]" in format_template(past.template)


def test_menus_keep_the_cost_and_ties_do_not() -> None:
    rows = load("gemv_rows")[1]
    wider = BY_NAME["open-menu"].apply(rows)
    assert wider[0].template.decisions[0].menu == (1, 2, 3, 4, 6, 8, 12)
    assert wider[1].template.decisions[1].menu == (8, 16, 24, 32, 48, 64, 96)
    assert all(v.template.cost == rows.cost for v in wider)
    halves = BY_NAME["close-menu"].apply(rows)
    assert halves[0].template.decisions[0].menu == (1, 2)
    assert all(v.template.cost == rows.cost for v in halves)
    way = [*developed(sample(SOFTMAX))][-1].template
    tied = BY_NAME["tie"].apply(way)
    assert tied
    assert all(len(v.template.decisions) < len(way.decisions) for v in tied)


def test_join_takes_the_menus_of_two_parents() -> None:
    rows = load("gemv_rows")[1]
    one, other = (v.template for v in BY_NAME["close-menu"].apply(rows)[:2])
    both = joined(one, other)
    assert both is not None
    assert both.template.decisions == rows.decisions
    assert joined(rows, load("softmax_rows")[1]) is None
    assert joined(rows, one) is None


def test_walls_follow_from_the_registers_of_a_loop() -> None:
    way = [*developed(sample(GEMM))][-1].template
    (wall,) = way.constraints
    assert (wall.name, wall.wall) == ("V1", "vector_registers")
    assert "V1 wall vector_registers : Ir*ceil(Lj/chip.vector_lanes) + 1" in format_template(way)
    assert {p.name for p in way.scope.chip} == {"chip.vector_lanes", "chip.vector_registers"}


def test_a_condition_is_not_taken_for_a_wall_by_its_name() -> None:
    way = [*developed(sample(GEMM))][-1].template
    own = Constraint("V1", parse_expression("Ir <= 4"))
    more = replace(way, constraints=(own, replace(way.constraints[0], name="V2")))
    closed = BY_NAME["close-menu"].apply(more)
    assert closed
    for variant in closed:
        assert variant.template.constraints == more.constraints


@pytest.mark.parametrize(
    "text",
    [
        GEMV,
        pytest.param(DECODE, marks=pytest.mark.slow),
        pytest.param(GEMM, marks=pytest.mark.slow),
        pytest.param(SOFTMAX, marks=pytest.mark.slow),
    ],
)
def test_the_whole_way_is_proved(text: str) -> None:
    way = [*developed(sample(text))][-1]
    assert prove(way.template, fresh=True).verdict == "proved"


@pytest.mark.slow
@pytest.mark.parametrize("text", [DECODE, GEMM, GEMV, SOFTMAX])
def test_single_rules_are_proved_too(text: str) -> None:
    for rule in RULES:
        for variant in () if rule.name in BOLD else rule.apply(sample(text)):
            assert prove(variant.template).verdict == "proved", (rule.name, variant.why)

"""Nodes: what a goal is derived from, what is not derived again, and what a proof rests on."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from formwright.base.source import Source
from formwright.ir.expr import Arith, Compare, Expr, Neg, Var, num
from formwright.ir.inline import inlined
from formwright.ir.template import Parameter, Template
from formwright.lang import load, load_source
from formwright.lang.parser import parse
from formwright.proof.alpha import alpha_digest
from formwright.proof.database import Database
from formwright.proof.embedding import shape
from formwright.proof.verdict import Proof
from formwright.smt import prove, prover
from formwright.smt.atoms import Atoms
from formwright.smt.clock import Clock
from formwright.smt.goals import Query
from formwright.smt.ledger import Ledger
from formwright.smt.nodes import Nodes
from formwright.smt.outcome import Outcome
from formwright.smt.record import statement
from formwright.smt.reuse import Reuse
from formwright.smt.sites import sites_of
from formwright.smt.slices import Slicer, program_goals
from formwright.smt.targets import meaning_of
from formwright.smt.terms import All, conj

TILING = load_source("shared_memory_tiling").text
DIRECT = load_source("direct_gemm").text


def edited(text: str, *changes: tuple[str, str]) -> Template:
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return parse(Source("edited", text))


def proved(database: Database, template: Template) -> Proof:
    return prove(template, database=database)


def asked_again(proof: Proof) -> set[str]:
    return {o.condition for o in proof.obligations if not o.reused}


def shapes(queries: list[Query]) -> list[list[str]]:
    found = []
    for query in queries:
        whole = conj((*query.facts, query.goal))
        parts = whole.parts if isinstance(whole, All) else (whole,)
        found.append(sorted(shape(statement(f)) for f in parts))
    return sorted(found)


STAGES = Path(__file__).parents[1] / "stages"


@pytest.mark.parametrize(
    "name",
    [
        "shared_memory_tiling",
        "packed_gemm",
        "direct_gemm",
        str(STAGES / "softmax.fw"),
        str(STAGES / "prefill_attention.fw"),
    ],
)
def test_a_goal_of_its_slice_is_the_goal_of_the_program(name: str) -> None:
    template = inlined(load(name)[1])
    decisions = [d.name for d in template.decisions]
    sites = sites_of(template.program, template.globals)
    atoms, slicer, seen = Atoms(), Slicer(template), Counter[object]()
    for goal in program_goals(sites, meaning_of(template), decisions, atoms, lambda _: False):
        assert goal.reads is not None, goal.name
        same = (goal.condition, goal.reads.what, goal.reads.named)
        part = slicer.slice(goal.reads).goal(
            goal.condition, goal.reads, seen[same], Atoms(), lambda _: False
        )
        seen[same] += 1
        assert part is not None, goal.name
        assert shapes(list(part.build())) == shapes(list(goal.build())), goal.name


@pytest.fixture(scope="module")
def softmax() -> Database:
    database = Database(None, "test")
    assert proved(database, edited((STAGES / "softmax.fw").read_text())).verdict == "proved"
    return database


@pytest.mark.parametrize(
    "change",
    [
        ("z[i*Rr+r] = tot[r]", "z[i*Rr] = tot[r]"),
        ("max(c < C) X[R,c]", "max(c < C) 2 * X[R,c]"),
        ("sum(c < C) exp(X[R,c] - m[R])", "sum(c < C) exp(X[R,c])"),
    ],
)
def test_what_a_stage_means_is_part_of_every_node_about_terms(
    softmax: Database, change: tuple[str, str]
) -> None:
    again = proved(softmax, edited((STAGES / "softmax.fw").read_text(), change))
    assert again.verdict == "unresolved"
    assert {"phantom", "coverage"} & asked_again(again)


@pytest.fixture(scope="module")
def direct() -> Database:
    database = Database(None, "test")
    assert proved(database, edited(DIRECT)).verdict == "proved"
    return database


@pytest.mark.parametrize(
    ("changes", "again"),
    [
        ([("fork_cycles = 4000", "fork_cycles = 5000")], {"divisor"}),
        ([("hint unroll 4", "hint unroll 8")], set()),
        ([("Jb in {1, 2,", "Jb in {1, 2, 3,")], set()),
        ([("constraints\n", "constraints\n  R9: Mr <= 6\n")], {"menu"}),
        (
            [("acc[r,s] = 0\n      hint unroll 4", "hint unroll 4\n      acc[r,s] = 0")],
            set(),
        ),
    ],
)
def test_only_what_changed_is_asked(
    direct: Database, changes: list[tuple[str, str]], again: set[str]
) -> None:
    proof = proved(direct, edited(DIRECT, *changes))
    assert proof.verdict == "proved"
    assert asked_again(proof) <= again


def test_a_weaker_premise_keeps_nothing_that_used_it(direct: Database) -> None:
    """K >= 0 instead of K >= 1 and the like: what used the premise is asked again."""
    proof = proved(direct, edited(DIRECT, ("M >= 1, N >= 1", "M >= -5, N >= 1")))
    assert proof.verdict == prove(edited(DIRECT, ("M >= 1, N >= 1", "M >= -5, N >= 1"))).verdict


def test_corollary_1_one_query_keeps_every_proof() -> None:
    """P <= S - 2 + beta became two conditions that say more, in other words."""
    database = Database(None, "test")
    assert proved(database, edited(TILING)).verdict == "proved"
    stronger = edited(
        TILING,
        ("  lifetime: P <= S - 2 + beta", "  lifetime: P + 2 <= S and beta >= 0"),
        ("  C3                   : P <= S - 2 + beta", "  C3: P + 2 <= S"),
        ("shared_bytes >= 2048", "shared_bytes >= 16384"),
    )
    proof = proved(database, stronger)
    assert proof.verdict == prove(stronger).verdict == "proved"
    by_condition = [o for o in proof.obligations if o.condition in ("lifetime", "readiness")]
    assert by_condition
    assert all(o.reused for o in by_condition)
    # one query for the premise that is gone, the rest for what is new: K1, fits, K3
    assert proof.queries < len(proof.obligations) / 4


def test_a_fault_is_not_hidden_by_what_was_proved() -> None:
    database = Database(None, "test")
    proved(database, edited(TILING))
    weak = edited(
        TILING,
        ("  lifetime: P <= S - 2 + beta", "  lifetime: P <= S - 1 + beta"),
        ("  C3                   : P <= S - 2 + beta", "  C3: P <= S - 1 + beta"),
    )
    full, mine = prove(weak), proved(database, weak)
    assert full.verdict != "proved"
    assert [(o.name, o.verdict) for o in mine.obligations] == [
        (o.name, o.verdict) for o in full.obligations
    ]


def same_but_for_names(one: Template, other: Template) -> bool:
    mine, theirs = alpha_digest(one), alpha_digest(other)
    assert mine is not None
    assert theirs is not None
    return mine[0] == theirs[0]


@pytest.mark.slow
def test_renamed_throughout_is_the_same() -> None:
    template = inlined(edited(DIRECT))
    text = re.sub(r"\bacc\b", "total", re.sub(r"\bJb\b", "strip", DIRECT))
    renamed = parse(Source("renamed", text))
    assert same_but_for_names(inlined(renamed), template)
    database = Database(None, "test")
    proved(database, template)
    proof = proved(database, renamed)
    assert (proof.verdict, proof.queries) == ("proved", 0)
    assert any("strip" in o.name for o in proof.obligations)
    # the next edit finds the nodes under their new names
    text = text.replace("hint unroll 4", "hint unroll 8").replace(
        "fork_cycles = 4000", "fork_cycles = 1"
    )
    again = proved(database, parse(Source("edited", text)))
    assert again.verdict == "proved"
    assert all(o.reused for o in again.obligations if o.group == "K2")


@pytest.mark.slow
def test_a_renamed_decision_takes_its_premises_along() -> None:
    database = Database(None, "test")
    proved(database, edited(TILING))
    text = re.sub(r"\bP\b", "ahead", TILING)
    assert proved(database, parse(Source("renamed", text))).queries == 0
    again = proved(database, parse(Source("edited", text.replace("beta = 1:", "beta = 1 :"))))
    assert all(o.reused for o in again.obligations if o.group == "K2")
    weaker = text.replace("  lifetime: ahead <= S - 2 + beta", "  lifetime: ahead <= S - 1 + beta")
    assert weaker != text
    assert proved(database, parse(Source("weaker", weaker))).verdict != "proved"


def test_two_names_in_each_others_place_are_not_the_same() -> None:
    template = inlined(edited(DIRECT))
    first, second = template.decisions[:2]
    swapped = replace(
        template,
        decisions=(
            replace(first, menu=second.menu),
            replace(second, menu=first.menu),
            *template.decisions[2:],
        ),
    )
    assert not same_but_for_names(swapped, template)


@pytest.mark.slow
def test_a_node_falls_with_a_core_that_it_rests_on() -> None:
    """Theorem 2: what an audit took away carries nothing any more."""
    database = Database(None, "test")
    proved(database, edited(DIRECT))
    for key in database.keys("core"):
        database.drop("core", key)
    again = edited(
        DIRECT, ("hint unroll 4", "hint unroll 8"), ("fork_cycles = 4000", "fork_cycles = 1")
    )
    proof = proved(database, again)
    assert proof.verdict == "proved"
    assert proof.queries > len(proof.obligations) / 4  # then their cores are there again


@pytest.mark.parametrize(
    ("change", "again"),
    [
        (("coefficient fork_cycles = 4000", "coefficient fork_cycles = 5000"), set()),
        (("constraints\n", "constraints\n  R9 : Mr*Nr <= 256\n"), {"reachable", "known_cover"}),
        (("Jb in {1, 2,", "Jb in {1, 2, 3,"), {"reachable", "known_cover"}),
        (("for l in 0 .. K:", "for l in 0 .. max(K, 0):"), {"reachable"}),
        (("M >= 1", "M >= 2"), {"reachable", "known_cover"}),
    ],
)
def test_what_is_no_goal_is_settled_again_only_where_it_reads_something_else(
    change: tuple[str, str], again: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(None, "test")
    assert proved(database, edited(DIRECT)).verdict == "proved"
    made: set[str] = set()
    for name in ("reachable", "known_cover"):
        settle = getattr(prover, name)

        def noted(*given: object, name: str = name, settle: object = settle) -> object:
            made.add(name)
            assert callable(settle)
            return settle(*given)

        monkeypatch.setattr(prover, name, noted)
    proof = proved(database, edited(DIRECT, change))
    assert proof.verdict == "proved"
    assert made == again
    if not again:
        assert not {"vacuity", "menu"} & asked_again(proof)


def test_a_vacuous_scope_is_not_kept(tmp_path: Path) -> None:
    database = Database(tmp_path / "facts.sqlite", "test")
    text = edited(DIRECT, ("constraints\n", "constraints\n  R9 : Mr < Mr\n"))
    first, second = proved(database, text), proved(database, text)
    assert first.verdict == second.verdict != "proved"
    assert {o.verdict for o in first.obligations if o.condition == "vacuity"} == {"vacuous"}
    assert [o.verdict for o in first.obligations] == [o.verdict for o in second.obligations]


def test_a_text_too_deep_for_a_key_is_settled_anyway() -> None:
    deep: Expr = Var("N")
    for _ in range(2000):
        deep = Neg(deep)
    template = inlined(edited(DIRECT))
    reuse = Reuse(
        Nodes(template, Ledger(Database(None, "test"), Atoms()), lambda _: False), Clock(9)
    )
    made: list[int] = []

    def settle() -> Outcome:
        made.append(1)
        return Outcome("proved", "so it is")

    for _ in range(2):
        assert reuse.whole("vacuity", (deep,), settle).verdict == "proved"
    assert len(made) == 2
    for _ in range(2):
        assert reuse.whole("vacuity", (Var("N"),), settle).verdict == "proved"
    assert len(made) == 3


def test_a_number_of_the_chip_is_another_than_a_whole_one() -> None:
    """Templates that are made as data: in a text the names of the chip have a mark."""
    half = Compare("=", Arith("*", num(2), Var("q")), num(1))
    whole = edited(DIRECT)
    mine = Parameter("q", None)
    scope = replace(whole.scope, relations=(*whole.scope.relations, half))
    real = replace(whole, scope=replace(scope, chip=(*scope.chip, mine)))
    integer = replace(whole, scope=replace(scope, agents=(*scope.agents, mine)))
    database = Database(None, "test")
    for template, verdict in ((real, "proved"), (integer, "vacuous")):
        proof = prove(template, database=database, only=lambda word: word == "vacuity")
        assert [o.verdict for o in proof.obligations] == [verdict]

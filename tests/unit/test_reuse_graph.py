"""The two rules of the graph of proofs, and that it has no cycle."""

import pytest

from formwright.proof.graph import (
    Assumption,
    Definition,
    Graph,
    Proof,
    Statement,
    UnacceptedPremiseError,
    UnknownNodeError,
)


def test_theorem_2_nothing_on_a_premise_that_is_not_accepted() -> None:
    graph = Graph()
    scope = graph.add(Assumption("M >= 1"))
    lemma = graph.add(Statement("implied lifetime", (), (scope,)))
    claim = graph.add(Statement("lifetime sA", (), (scope, lemma)))
    with pytest.raises(UnacceptedPremiseError):
        graph.add(Proof(claim, (lemma,), ("core",)))
    assert claim not in graph.accepted
    graph.add(Proof(lemma, (scope,), ("core",)))
    graph.add(Proof(claim, (lemma,), ("core",)))
    assert graph.rests_on(claim) == {scope}


def test_a_node_names_only_what_is_there() -> None:
    graph = Graph()
    with pytest.raises(UnknownNodeError):
        graph.add(Statement("x", ("0" * 64,)))
    meaning = graph.add(Definition("a slice"))
    with pytest.raises(UnknownNodeError):
        graph.add(Statement("x", (), (meaning,)))
    with pytest.raises(UnknownNodeError):
        graph.add(Proof(meaning))
    claim = graph.add(Statement("x", (meaning,)))
    stray = graph.add(Assumption("not a premise of it"))
    with pytest.raises(UnknownNodeError):
        graph.add(Proof(claim, (stray,)))


def test_equal_content_is_one_node() -> None:
    graph = Graph()
    assert graph.add(Assumption("a")) == graph.add(Assumption("a"))
    assert graph.add(Definition("a")) != graph.add(Assumption("a"))


def test_corollary_1_stronger_premises_keep_the_proof() -> None:
    graph = Graph()
    old = graph.add(Assumption("P <= S - 2 + beta"))
    new = graph.add(Assumption("P <= S - 2"))
    claim = graph.add(Statement("lifetime", (), (old,)))
    graph.add(Proof(claim, (old,), ("core",)))
    implies = graph.add(Statement("P <= S - 2 + beta", (), (new,)))
    with pytest.raises(UnacceptedPremiseError):
        graph.strengthened(claim, (new,), {old: implies})
    graph.add(Proof(implies, (new,), ("one query",)))
    kept = graph.strengthened(claim, (new,), {old: implies})
    assert kept in graph.accepted
    assert graph.rests_on(kept) == {new}


def test_corollary_1_does_not_take_what_rests_on_other_premises() -> None:
    graph = Graph()
    old, new, other = (graph.add(Assumption(b)) for b in ("old", "new", "gone"))
    claim = graph.add(Statement("claim", (), (old,)))
    graph.add(Proof(claim, (old,)))
    elsewhere = graph.add(Statement("old", (), (other,)))
    graph.add(Proof(elsewhere, (other,)))
    with pytest.raises(UnacceptedPremiseError):
        graph.strengthened(claim, (new,), {old: elsewhere})
    says_less = graph.add(Statement("something else", (), (new,)))
    graph.add(Proof(says_less, (new,)))
    with pytest.raises(UnacceptedPremiseError):
        graph.strengthened(claim, (new,), {old: says_less})


def test_what_a_proof_does_not_use_may_go() -> None:
    graph = Graph()
    used, unused = graph.add(Assumption("used")), graph.add(Assumption("unused"))
    claim = graph.add(Statement("claim", (), (used, unused)))
    graph.add(Proof(claim, (used,)))
    assert graph.strengthened(claim, (used,), {}) in graph.accepted

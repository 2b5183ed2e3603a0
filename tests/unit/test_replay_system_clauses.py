"""A wrong relation is told from one that is too weak by the states that are reached."""

import replay_systems as systems

from formwright.ir.template import Template
from formwright.replay.system import broken_clause, reached

VALUES = {"M": 1, "N": 1, "K": 3}


def related(clause: str) -> Template:
    """The handshake with another relation."""
    text = systems.HANDSHAKE.replace("{ready}", "full").replace("{room}", "and not full")
    return systems.step("handshake", text.replace("same: got = coarse.got", clause))


def test_a_true_relation_is_never_broken() -> None:
    assert broken_clause(related("same: got = coarse.got"), VALUES) is None
    assert broken_clause(related("one: sent <= coarse.got + 1"), VALUES) is None
    assert broken_clause(related("all: forall k in K: sent <= k or k < K"), VALUES) is None


def test_a_wrong_clause_is_named_with_the_nearest_state() -> None:
    broken = broken_clause(related("same: got = coarse.got\n  late: sent = coarse.got"), VALUES)
    assert broken is not None
    assert broken.clause == "late"
    assert broken.run == ("send(0)",)
    assert broken.state["sent"] == 1
    assert broken.state["coarse.got"] == 0
    assert broken.text.startswith('clause "late" is false after send(0): sent = 1')


def test_a_clause_without_value_is_broken() -> None:
    broken = broken_clause(related("odd: 6 // (2 - got) >= 0"), VALUES)
    assert broken is not None
    assert broken.clause == "odd"


def test_a_total_is_kept_or_not() -> None:
    text = systems.MEETING.replace("{skip}", "").replace("{all}", "W")
    scope = "  agents   W >= 1\n"
    kept = text.replace("same: n = coarse.n", "total come = sum(w in W) min(loc[w], 1)")
    lost = text.replace("same: n = coarse.n", "total come = sum(w in W) loc[w]")
    values = {**VALUES, "W": 2}
    assert broken_clause(systems.step("meeting", kept, scope), values) is None
    broken = broken_clause(systems.step("meeting", lost, scope), values)
    assert broken is not None
    assert broken.clause == "come"
    assert len(broken.run) == 3


def test_whether_a_state_is_reached() -> None:
    template = related("same: got = coarse.got")
    assert reached(template, VALUES, {"sent": 2, "full": True, "q": 1}) == "reached"
    assert reached(template, VALUES, {"sent": 2, "got": 0}) == "not reached"
    assert reached(template, VALUES, {"coarse.got": 3, "y": 1, "q": 1}) == "reached"
    assert reached(template, VALUES, {"coarse.got": 3, "y": 1, "q": 2}) == "not reached"

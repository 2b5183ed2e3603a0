"""The library proposer: what it answers to each kind of request, and that it repeats itself."""

from dataclasses import replace

import pytest

from formwright.agent.library import Library
from formwright.agent.protocol import Finding, Known, Request
from formwright.agent.repair import Mended
from formwright.agent.screening import screen
from formwright.agent.standing import best_first
from formwright.base.source import Source
from formwright.contract.matching import matches
from formwright.contract.operators import operator
from formwright.ir.template import Template
from formwright.lang.format import format_template
from formwright.lang.parser import parse
from rule_samples import DECODE, GEMV, SOFTMAX

CONTRACT = 'operator = "gemv"'
NEW = Request("new", 1, 0, CONTRACT, (), {})
PLAIN = Known("gemv_plain", GEMV, "proved")


def uncosted(template: Template) -> Template:
    return template


LIBRARY = Library(costed=uncosted)


def adapt(*known: Known, number: int = 2, **data: object) -> Request:
    return Request("adapt", number, 0, CONTRACT, (), {}, known=known, data=data)


def rules(request: Request, library: Library = LIBRARY) -> list[str]:
    return [p.rule for p in library.propose(request).proposals]


def test_a_new_template_is_the_contract_written_out() -> None:
    reply = Library().propose(NEW)
    (proposal,) = reply.proposals
    contract = operator("gemv").contract()
    assert (proposal.language, proposal.rule, reply.problem) == ("fw", "specification", "")
    assert screen(proposal, contract) == ()
    template = parse(Source("new.fw", proposal.text))
    assert not matches(template, contract)
    assert template.cost is not None


def test_an_adaptation_goes_the_whole_way_first_then_shorter_ones_then_single_rules() -> None:
    first, second, *others = rules(adapt(PLAIN, wanted=6))
    assert first == "partial-results + block-rows"
    assert second == "partial-results"
    assert others
    assert all("+" not in rule for rule in others)


def test_every_adaptation_keeps_the_contract() -> None:
    contract = operator("gemv").contract()
    plain = LIBRARY.propose(NEW).proposals[0]
    known = Known("gemv_plain", plain.text, "proved")
    for proposal in LIBRARY.propose(adapt(known, wanted=8)).proposals:
        assert proposal.parents == ("gemv_plain",)
        assert proposal.why
        assert screen(proposal, contract) == ()


def test_the_same_request_has_the_same_answer_and_another_number_another() -> None:
    once = LIBRARY.propose(adapt(PLAIN, wanted=8)).proposals
    assert LIBRARY.propose(adapt(PLAIN, wanted=8)).proposals == once
    other = LIBRARY.propose(adapt(PLAIN, wanted=8, number=3)).proposals
    assert {p.text for p in other[:2]} == {p.text for p in once[:2]}
    assert [p.text for p in other] != [p.text for p in once]


def test_what_was_tried_does_not_come_again() -> None:
    first = LIBRARY.propose(adapt(PLAIN, wanted=1)).proposals[0]
    name = parse(Source("first.fw", first.text)).name
    again = LIBRARY.propose(adapt(PLAIN, wanted=1, tried=[name])).proposals[0]
    assert again.text != first.text
    known = Known(name, first.text, "proved")
    assert first.text not in {p.text for p in LIBRARY.propose(adapt(known, PLAIN)).proposals}


@pytest.mark.parametrize(
    ("diagnosis", "rule"),
    [
        ({"kind": "representation", "data": {"resource": "dram"}}, {"prefetch", "strip", "stream"}),
        ({"kind": "optimisation", "data": {}}, {"close-menu", "tie"}),
    ],
)
def test_a_diagnosis_is_answered_first(diagnosis: dict[str, object], rule: set[str]) -> None:
    way = LIBRARY.propose(adapt(PLAIN, wanted=1)).proposals[0]
    known = Known(parse(Source("way.fw", way.text)).name, way.text, "proved")
    answered = rules(adapt(known, wanted=2, diagnosis=diagnosis))
    assert set(answered) <= rule


def test_a_level_asks_for_rules_of_that_level() -> None:
    way = LIBRARY.propose(adapt(PLAIN, wanted=1)).proposals[0]
    known = Known(parse(Source("way.fw", way.text)).name, way.text, "proved")
    assert set(rules(adapt(known, wanted=2, level="schedule"))) <= {"prefetch", "stream"}


def test_the_last_of_three_is_bold_where_a_bold_rule_fits() -> None:
    known = Known("decode_plain", DECODE, "proved")
    asked = Request("adapt", 2, 0, 'operator = "decode_attention"', (), {}, known=(known,))
    *usual, last = rules(asked)
    assert last.startswith("meet + ")
    assert not any("meet" in rule for rule in usual)
    assert len(rules(replace(asked, data={"wanted": 2}))) == 2


def test_menus_of_two_parents_are_joined() -> None:
    way = parse(Source("way.fw", LIBRARY.propose(adapt(PLAIN, wanted=1)).proposals[0].text))
    few = tuple(replace(d, menu=d.menu[:1]) for d in way.decisions)
    other = replace(way, name="fewer", decisions=few)
    lanes = replace(way.decisions[0], menu=(64,))
    wide = replace(way, name="wide", decisions=(lanes, *way.decisions[1:]))
    known = [Known(t.name, format_template(t), "proved") for t in (other, wide)]
    joint = next(
        p for p in LIBRARY.propose(adapt(*known, wanted=20)).proposals if p.rule == "join-menus"
    )
    assert joint.parents == ("fewer", "wide")
    assert parse(Source("joint.fw", joint.text)).decisions[0].menu == (8, 64)


def test_a_repair_is_the_menders_and_says_its_edits() -> None:
    asked = Request(
        "repair", 3, 0, CONTRACT, (), {}, parent=GEMV, findings=(Finding("prove", "x"),)
    )
    assert LIBRARY.propose(asked).problem == "no edit was found that repairs the template"
    mended = Mended(GEMV, ("a barrier in front of line 3",), 1, 1, 0.1)
    reply = Library(mend=lambda text, findings: mended, costed=uncosted).propose(asked)
    (proposal,) = reply.proposals
    assert (proposal.rule, proposal.why) == ("repair", "a barrier in front of line 3")
    assert proposal.parents == ("gemv_of_loops",)


def test_words_come_from_the_data_alone() -> None:
    told = {"kind": "prediction", "says": "off by 2", "repair": "refit"}
    asked = Request("diagnose", 4, 0, CONTRACT, (), {}, data={"diagnosis": told})
    (words,) = LIBRARY.propose(asked).proposals
    assert (words.language, words.text) == ("text", "prediction: off by 2; refit")
    data = {
        "purchase": {"shared_bytes": [49152, 98304]},
        "decisions": {"S": [2, 3]},
        "binding": ["C1"],
    }
    asked = Request("mechanism", 5, 0, CONTRACT, (), {}, data=data)
    (words,) = LIBRARY.propose(asked).proposals
    assert words.text == (
        "more of shared_bytes (49152 -> 98304) makes room for S (2 -> 3); "
        "the wall that kept it out was C1"
    )
    silent = LIBRARY.propose(Request("mechanism", 6, 0, CONTRACT, (), {}))
    assert (silent.proposals, silent.problem) == ((), "the request has no data for: mechanism")


def test_what_is_wrong_with_a_request_is_a_problem_of_the_reply() -> None:
    reply = LIBRARY.propose(replace(NEW, contract='operator = "gemx"'))
    assert reply.proposals == ()
    assert "gemx" in reply.problem
    reply = LIBRARY.propose(adapt(Known("broken", "template broken", "proved")))
    assert reply.proposals == ()
    assert "broken" in reply.problem
    nothing = LIBRARY.propose(adapt())
    assert nothing.problem == "no rule makes anything new of what is known"


def test_the_best_known_is_adapted_first() -> None:
    line = "latency {} s measured for gemv N=4 K=4, 1 thread on local"
    slow = Known("slow", GEMV, "proved", (line.format("0.4"),))
    fast = Known("fast", GEMV, "proved", (line.format("0.2"), "latency 9 s measured for x on y"))
    gone = Known("gone", GEMV, "proved", (f"{line.format('0.1')}; reopened: another chip",))
    none = Known("none", SOFTMAX, "proved")
    assert [k.name for k in best_first([none, slow, gone, fast])] == [
        *("fast", "slow"),
        *("none", "gone"),
    ]

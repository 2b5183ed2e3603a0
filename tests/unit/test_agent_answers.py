"""What an answer holds, and what goes back."""

from agent_requests import CONTRACT, TEMPLATE, request
from formwright.agent.answers import ANSWER_BYTES, PROPOSALS, read_answer
from formwright.agent.screening import screen

FENCED = f"Rows stay whole.\n\n```fw\n{TEMPLATE}```\n"


def test_a_block_with_its_reason() -> None:
    (proposal,), faults = read_answer(FENCED, request())
    assert not faults
    assert (proposal.text, proposal.language) == (TEMPLATE, "fw")
    assert (proposal.rule, proposal.why) == ("model:new", "Rows stay whole.")
    assert screen(proposal, CONTRACT) == ()


def test_other_forms_that_are_taken() -> None:
    for text in (TEMPLATE, f"```\n{TEMPLATE}```", FENCED.replace("\n", "\r\n"), "\ufeff" + FENCED):
        (proposal,), faults = read_answer(text, request())
        assert not faults
        assert proposal.text.rstrip() == TEMPLATE.rstrip()
    (source,), _ = read_answer("```c\nvoid f(void) {}\n```", request())
    assert source.language == "c"
    (words,), _ = read_answer("prediction: the cache was cold", request(kind="diagnose"))
    assert words.language == "text"


def test_what_goes_back_says_why() -> None:
    for text, word in (
        ("", "empty"),
        ("I would use a tiled loop.", "no template"),
        ("```python\nprint(1)\n```", '"python"'),
        ('```json\n{"template": 1}\n```', '"json"'),
        (f"```fw\n{TEMPLATE}", "ends inside a block"),
        ("x" * (ANSWER_BYTES + 1), "longer"),
    ):
        proposals, faults = read_answer(text, request())
        assert not proposals
        assert word in faults[0].message
    many = "".join(f"```fw\ntemplate t{i} : a -> b\n```\n" for i in range(PROPOSALS + 3))
    proposals, faults = read_answer(many, request())
    assert len(proposals) == PROPOSALS
    assert "11 texts" in faults[0].message


def test_half_characters_do_no_harm() -> None:
    (proposal,), _ = read_answer("```fw\ntemplate \ud800 : a -> b\n```", request())
    proposal.text.encode()
    assert screen(proposal, CONTRACT)[0].stage == "parse"

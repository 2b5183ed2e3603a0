"""``parse(format(t)) == t`` for refinement steps, comments and definitions included."""

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies_systems import steps

from effort import examples
from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.lang import parse
from formwright.lang.comments import format_source
from formwright.lang.format import format_template
from formwright.proof.store import system_digest


def read_back(text: str) -> Template:
    """The template of ``text``; one that is past the limits on size is no example."""
    try:
        return parse(Source("t.fw", text))
    except InputError as error:
        large = ("too large", "nodes in all")
        assume(not all(any(w in d.message for w in large) for d in error.diagnostics))
        raise


@settings(max_examples=examples(15), deadline=None)
@given(steps())
def test_steps_come_back(template: Template) -> None:
    text = format_template(template)
    again = read_back(text)
    assert again == template
    assert format_template(again) == text
    closed = inlined(again)
    assert inlined(closed) == closed
    assert closed.refinement is not None
    system_digest(closed.refinement.fine)


@settings(max_examples=8, deadline=None)
@given(steps(), st.data())
@pytest.mark.slow
def test_comments_come_back(template: Template, data: st.DataObject) -> None:
    lines = format_template(template).rstrip("\n").split("\n")
    for at in data.draw(st.lists(st.integers(0, len(lines) - 1), max_size=4)):
        lines[at] += f"  # note {at}" if lines[at].strip() else f"# note {at}"
    text = "\n".join(lines) + "\n"
    read_back(text)
    found = format_source(Source("t.fw", text))
    assert sorted(re.findall("# note .*", found)) == sorted(re.findall("# note .*", text))
    assert format_source(Source("t.fw", found)) == found
    assert parse(Source("t.fw", found)) == template

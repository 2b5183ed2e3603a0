"""``parse(format(t)) == t``, and no text brings anything but a template or an InputError."""

import re
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies_templates import numeric, staged, templates, truths, whole

from effort import examples
from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.ir.expr import Expr
from formwright.ir.inline import inlined
from formwright.ir.show import show_expr
from formwright.ir.template import Template
from formwright.lang import load_source, parse, parse_expression, shipped
from formwright.lang.comments import format_source
from formwright.lang.format import format_template

NAMES = ("a", "b", "chip.x")
STEP = Path(__file__).parent.parent / "language" / "ok_step_forms.fw"
TEXTS = [*(load_source(name).text for name in shipped()), STEP.read_text()]
PIECES = [re.findall(r"\w+|[ \n]+|[^\w\s]", text) for text in TEXTS]
WORDS = sorted({piece for pieces in PIECES for piece in pieces})
ODD = ("\0", "\t", "\r", "\x85", "\ud800", "é", '"', "(", "[", "{", "1e9", "..", "max=", "\ufeff")


@given(st.one_of(whole(NAMES, 3), numeric(NAMES, 3), truths(NAMES, 3)), st.booleans())
def test_expressions_come_back(expr: Expr, tight: bool) -> None:
    assert parse_expression(show_expr(expr, tight)) == expr


def read_back(text: str) -> Template:
    """The template of ``text``; one past the limits on size, or with a torn owner (rule P4), is
    no example."""
    try:
        return parse(Source("t.fw", text))
    except InputError as error:
        known = ("too large", "two owners")
        assume(not all(any(k in d.message for k in known) for d in error.diagnostics))
        raise


@settings(max_examples=examples(15), deadline=None)
@given(st.one_of(templates(), staged()))
def test_templates_come_back(template: Template) -> None:
    text = format_template(template)
    again = read_back(text)
    assert again == template
    assert format_template(again) == text
    inlined(again)


@settings(max_examples=examples(15), deadline=None)
@given(templates(), st.data())
def test_comments_come_back(template: Template, data: st.DataObject) -> None:
    """Canonical text stays as it is, and the comments of a text are those of its canonical form."""
    lines = format_template(template).rstrip("\n").split("\n")
    for at in data.draw(st.lists(st.integers(0, len(lines) - 1), max_size=4)):
        lines[at] += f"  # note {at}" if lines[at].strip() else f"# note {at}"
    text = "\n".join(lines) + "\n"
    read_back(text)
    found = format_source(Source("t.fw", text))
    assert sorted(re.findall("# note .*", found)) == sorted(re.findall("# note .*", text))
    assert format_source(Source("t.fw", found)) == found
    assert parse(Source("t.fw", found)) == template


def _read(text: str) -> None:
    try:
        template = parse(Source("t.fw", text))
    except InputError as error:
        _well_told(error)
    else:
        assert parse(Source("t.fw", format_template(template))) == template


def _well_told(error: InputError) -> None:
    assert error.diagnostics
    for d in error.diagnostics:
        assert d.message
        assert d.span is not None
        assert d.span.line >= 1
        assert 1 <= d.span.column <= d.span.end_column


@settings(max_examples=examples(60), deadline=None)
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    _read(text)


@settings(max_examples=examples(50), deadline=None)
@given(st.data())
def test_shipped_texts_with_pieces_moved(data: st.DataObject) -> None:
    """Pieces are dropped, doubled, swapped for others of any shipped text, or made odd."""
    pieces = list(data.draw(st.sampled_from(PIECES)))
    other = st.one_of(st.sampled_from(ODD), st.sampled_from(WORDS))
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(pieces) - 1))
        match data.draw(st.sampled_from(("drop", "double", "swap", "insert"))):
            case "drop":
                del pieces[at]
            case "double":
                pieces.insert(at, pieces[at])
            case "swap":
                pieces[at] = data.draw(other)
            case _:
                pieces.insert(at, data.draw(other))
    _read("".join(pieces))

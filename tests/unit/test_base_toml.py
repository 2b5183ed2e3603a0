"""The TOML locator: every key and value at its place, every fault with line and column."""

import pytest

from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.base.toml import read_toml

TEXT = '''# a comment with [brackets] and = signs
name = "x = [1]"  # not a key
shape = { M = 1000, "N.x" = [64, { deep = 1 }], K.k = """
two = 2
""" }
[a . "b c"]
d.e = 1979-05-27 07:32:00
[[runs]]
n = 1
[[runs]]
n = -2.5e3
[runs.inner]
list = [
  1,  # one
  'two',
]
'''


def _at(place: tuple[str | int, ...]) -> str:
    document = read_toml(Source("t.toml", TEXT))
    span = document.values[place]
    return TEXT.splitlines()[span.line - 1][span.column - 1 : span.end_column - 1]


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (("name",), '"x = [1]"'),
        (("shape", "M"), "1000"),
        (("shape", "N.x", 0), "64"),
        (("shape", "N.x", 1, "deep"), "1"),
        (("shape", "K", "k"), '"""'),
        (("a", "b c", "d", "e"), "1979-05-27 07:32:00"),
        (("runs", 0, "n"), "1"),
        (("runs", 1, "n"), "-2.5e3"),
        (("runs", 1, "inner", "list", 1), "'two'"),
    ],
)
def test_values_stand_where_they_are(place: tuple[str | int, ...], text: str) -> None:
    assert _at(place) == text


def test_keys_point_at_their_name() -> None:
    document = read_toml(Source("t.toml", TEXT))
    span = document.key("runs", 1, "n")
    assert span is not None
    assert (span.line, span.column, span.end_column) == (11, 1, 2)
    nearest = document.key("shape", "nothing")
    assert nearest is not None
    assert nearest.line == 3


def test_not_toml_says_where() -> None:
    with pytest.raises(InputError) as caught:
        read_toml(Source("t.toml", "a = 1\nb = = 2\n"))
    assert str(caught.value).startswith("t.toml:2:5: error: not TOML")


def test_deep_nesting_and_size_are_refused() -> None:
    with pytest.raises(InputError, match="nests too deep"):
        read_toml(Source("t.toml", "a = " + "[" * 100_000))
    with pytest.raises(InputError, match="larger than"):
        read_toml(Source("t.toml", "#" * (1 << 21)))


def test_unknown_keys_name_the_nearest() -> None:
    document = read_toml(Source("t.toml", "[chip]\nclokc = 1\n"))
    (found,) = document.unknown(("chip",), document.table["chip"], ["clock", "sms"])
    assert found.hint == 'did you mean "clock"?'
    assert found.span is not None
    assert found.span.line == 2

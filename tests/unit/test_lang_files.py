"""Loading: shipped templates, files, and what is wrong with them. Formatting keeps comments."""

from pathlib import Path

import pytest

from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.lang import load, parse, shipped
from formwright.lang.comments import format_source
from formwright.lang.format import format_template
from formwright.lang.limits import TEXT_BYTES


def test_the_templates_that_ship() -> None:
    assert {"packed_gemm", "shared_memory_tiling"} <= set(shipped())


@pytest.mark.parametrize("name", shipped())
def test_shipped_templates_load_and_come_back(name: str) -> None:
    source, template = load(name)
    assert source.name == f"{name}.fw"
    assert template.name == name
    assert parse(Source("t.fw", format_template(template))) == template
    assert format_source(source) == format_template(template)


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.fw"
    path.write_bytes(b"\xef\xbb\xbf" + load("packed_gemm")[0].text.encode())
    source, template = load(str(path))
    assert source.name == str(path)
    assert template == load("packed_gemm")[1]


def _message(path: str) -> str:
    with pytest.raises(InputError) as caught:
        load(path)
    return str(caught.value)


def test_an_unknown_name() -> None:
    assert _message("packed_gem") == (
        'error: no template "packed_gem"\n  hint: did you mean "packed_gemm"?'
    )


def test_no_such_file(tmp_path: Path) -> None:
    path = str(tmp_path / "none.fw")
    assert _message(path) == f"error: cannot read {path}: No such file or directory"
    assert _message(str(tmp_path)) == f"error: cannot read {tmp_path}: Is a directory"
    assert _message("a\0b/c.fw") == "error: cannot read a\0b/c.fw: embedded null byte"


def test_no_utf8(tmp_path: Path) -> None:
    path = tmp_path / "latin.fw"
    path.write_bytes("template t : a -> b\n# caf\xe9\n".encode("latin-1"))
    assert _message(str(path)) == (
        f"{path}:2:6: error: byte 0xe9 is no UTF-8 text\n  hint: save the file as UTF-8"
    )


def test_a_large_file_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "large.fw"
    with path.open("wb") as stream:
        stream.truncate(10**11)
    assert _message(str(path)) == (f"{path}:1:1: error: the file is larger than {TEXT_BYTES} bytes")


COMMENTED = """\
# Above everything.
template t : operator -> mapping   # at the head

scope
  # about the workload
  workload C[M] = sum(k<K) A[M,k]
  extents  M >= 1, K >= 0
  semantics "exact # not a comment"  # a text

# before the program
program
  for i in M:  # each row
    # first nothing
    C[i] = 0
    for l in K: C[i] += A[i,l]   # then all


rank "terms"
# the end
"""

FORMATTED = """\
# Above everything.
template t : operator -> mapping  # at the head

scope
  # about the workload
  workload  C[M] = sum(k < K) A[M,k]
  extents   M >= 1, K >= 0
  semantics "exact # not a comment"  # a text

# before the program
program
  for i in 0 .. M:  # each row
    # first nothing
    C[i] = 0
    for l in 0 .. K:
      C[i] += A[i,l]  # then all

rank     "terms"

# the end
"""


def test_l51_comments_stay() -> None:
    assert format_source(Source("t.fw", COMMENTED)) == FORMATTED
    assert format_source(Source("t.fw", FORMATTED)) == FORMATTED


def test_l50_texts_are_escaped() -> None:
    text = FORMATTED.replace('"terms"', r'"a \"quoted\" \\ slash"')
    template = parse(Source("t.fw", text))
    assert template.outline.rank == 'a "quoted" \\ slash'
    assert format_source(Source("t.fw", text)) == text


def test_l50_long_lists_of_parameters_are_broken() -> None:
    fields = ", ".join(f"some_field_of_the_chip_{i} >= {i}" for i in range(12))
    text = FORMATTED.replace("  semantics", f"  chip      {fields}\n  semantics")
    found = format_source(Source("t.fw", text))
    assert max(map(len, found.splitlines())) <= 100
    assert parse(Source("t.fw", found)) == parse(Source("t.fw", text))


def test_equal_sources_are_read_once_and_faults_are_told_each_time() -> None:
    source, template = load("gemv_rows")
    assert parse(Source(source.name, source.text)) is template
    # Messages point at the file: the same text of another name is another template.
    other = parse(Source("mine.fw", source.text))
    assert other == template
    assert other.span is not None
    assert other.span.file == "mine.fw"
    for _ in range(2):
        with pytest.raises(InputError, match=r"wrong\.fw|scope"):
            parse(Source("wrong.fw", "template x : operator -> mapping\n"))

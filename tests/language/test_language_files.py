"""Template files that say on their last lines what to expect of them.

``# expect: ok`` parses and comes back from its canonical text; ``# expect: error LINE:COLUMN …``
names one fault, and there are as many such lines as faults. Other words (``proved``,
``refuted``, …) are for the runner of proofs: here such a file has to parse.
"""

import re
from pathlib import Path

import pytest

from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.lang import parse
from formwright.lang.format import format_template

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.rglob("*.fw"))
EXPECT = re.compile(r"^# expect: (\w+)(?: (.*))?$")


def _expected(text: str) -> list[tuple[str, str]]:
    """Words and their texts from the lines at the end of a file."""
    found: list[tuple[str, str]] = []
    for line in reversed(text.rstrip("\n").split("\n")):
        match = EXPECT.match(line)
        if match is None:
            break
        found.insert(0, (match.group(1), match.group(2) or ""))
    return found


def test_there_are_files() -> None:
    words = {word for path in FILES for word, _ in _expected(path.read_text())}
    assert {"ok", "error"} <= words


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(FOLDER)))
def test_file(path: Path) -> None:
    text = path.read_text()
    expected = _expected(text)
    assert expected, "the last line says what to expect: # expect: …"
    wanted = [message for word, message in expected if word == "error"]
    if not wanted:
        template = parse(Source(path.name, text))
        assert parse(Source(path.name, format_template(template))) == template
        return
    with pytest.raises(InputError) as caught:
        parse(Source(path.name, text))
    found = [
        f"{d.span.line}:{d.span.column} {d.message}" for d in caught.value.diagnostics if d.span
    ]
    assert sorted(found) == sorted(wanted)

"""TOML files with the place of every key and value, for messages that point.

``tomllib`` says what a file holds, and is the judge of whether it is TOML; the locator
here walks the same text once more and says where each key and value stands.
"""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from formwright.base.diagnostics import Diagnostic, InputError, fail, nearest
from formwright.base.source import Source, Span

Step = str | int
Place = tuple[Step, ...]

MAX_BYTES = 1 << 20
"""No file that a person writes for us is larger; a larger one is refused unread."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"[ \t\r\n]*(?:#[^\n]*[ \t\r\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}|" + r'"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^\s,\]}#=]+(?: \d[^\s,\]}#=]*)?")
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


@dataclass(frozen=True, slots=True)
class Document:
    """A TOML file: ``table`` as ``tomllib`` reads it, and where its keys and values stand.

    A place is the path of keys (and indices of arrays) from the root of the file.
    """

    source: Source
    table: dict[str, Any]
    keys: dict[Place, Span]
    values: dict[Place, Span]

    def key(self, *place: Step) -> Span | None:
        """Where the key of ``place`` stands, else the nearest enclosing key that is known."""
        return _closest(self.keys, place)

    def value(self, *place: Step) -> Span | None:
        """Where the value of ``place`` stands, else its key or the nearest enclosing one."""
        return self.values.get(place) or self.key(*place)

    def unknown(self, place: Place, table: Iterable[str], known: Iterable[str]) -> list[Diagnostic]:
        """One diagnostic for each key of ``table`` (which stands at ``place``) not ``known``."""
        names = sorted(known)
        return [
            Diagnostic(
                f'unknown key "{key}"',
                self.key(*place, key),
                nearest(key, names) or f"known here: {', '.join(names)}",
            )
            for key in table
            if key not in names
        ]


def read_toml(source: Source) -> Document:
    """Parse a TOML text. Raises ``InputError`` with line and column when it is not TOML."""
    if len(source.text) > MAX_BYTES:
        raise fail(f"{source.name} is larger than {MAX_BYTES} bytes", hint="split the file")
    try:
        table = tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(source, str(error)) from None
    except RecursionError:
        raise fail(f"{source.name} nests too deep", hint="flatten its arrays and tables") from None
    locator = _Locator(source)
    locator.run()
    return Document(source, table, locator.keys, locator.values)


def read_toml_file(path: Path) -> Document:
    """As :func:`read_toml` for a file; a file that cannot be read is an ``InputError`` too."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise fail(f"{path} is not UTF-8 text", hint="save it as UTF-8") from None
    except OSError as error:
        raise fail(f"cannot read {path}: {error.strerror}", hint="check the path") from None
    return read_toml(Source(str(path), text))


def _closest(spans: dict[Place, Span], place: Place) -> Span | None:
    for length in range(len(place), 0, -1):
        found = spans.get(place[:length])
        if found is not None:
            return found
    return None


def _not_toml(source: Source, message: str) -> InputError:
    match = _PLACE.search(message)
    lines = source.text.splitlines() or [""]
    line, column = len(lines), len(lines[-1]) + 1
    if match and match[1]:
        line, column = int(match[1]), int(match[2])
    text = _PLACE.sub("", message)
    hint = "values are numbers, true, false, [arrays], {tables} or text in quotes"
    place = Span(source.name, line, column, column + 1)
    return InputError([Diagnostic(f"not TOML: {text}", place, hint)], source)


class _Locator:
    """One walk over a text that ``tomllib`` has accepted, so it may assume good syntax."""

    def __init__(self, source: Source) -> None:
        self.file = source.name
        # tomllib reads "\r\n" as "\n"; lines keep their numbers and columns either way.
        self.text = source.text
        self.at = 0
        self.starts = [0, *(m.end() for m in re.finditer("\n", self.text))]
        self.line = 0
        self.keys: dict[Place, Span] = {}
        self.values: dict[Place, Span] = {}
        self.lengths: dict[Place, int] = {}

    def run(self) -> None:
        prefix: Place = ()
        while self._skip(_BLANK) < len(self.text):
            if self.text.startswith("[[", self.at):
                prefix = self._header(2)
            elif self.text[self.at] == "[":
                prefix = self._header(1)
            else:
                self._pair(prefix)

    def _skip(self, pattern: re.Pattern[str]) -> int:
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.at

    def _span(self, start: int) -> Span:
        while self.line + 1 < len(self.starts) and self.starts[self.line + 1] <= start:
            self.line += 1
        while self.starts[self.line] > start:
            self.line -= 1
        first = self.starts[self.line]
        end = self.text.find("\n", start, self.at)
        end = self.at if end < 0 else end
        return Span(self.file, self.line + 1, start - first + 1, max(end, start + 1) - first + 1)

    def _header(self, brackets: int) -> Place:
        self.at += brackets
        self._skip(_SPACE)
        names = self._names()
        self.at += brackets
        place: Place = ()
        for index, (name, span) in enumerate(names):
            place = (*place, name)
            self.keys.setdefault(place, span)
            last = index == len(names) - 1
            if last and brackets == 2:
                number = self.lengths.get(place, 0)
                self.lengths[place] = number + 1
                place = (*place, number)
                self.keys[place] = span
            elif place in self.lengths:
                place = (*place, self.lengths[place] - 1)
        return place

    def _names(self) -> list[tuple[str, Span]]:
        names = []
        while True:
            start = self.at
            quoted = self.text[start] in "\"'"
            self._skip(_STRING if quoted else _BARE)
            word = self.text[start : self.at]
            name = tomllib.loads(f"k = {word}")["k"] if quoted else word
            names.append((name, self._span(start)))
            self._skip(_SPACE)
            if self.text[self.at] != ".":
                return names
            self.at += 1
            self._skip(_SPACE)

    def _pair(self, prefix: Place) -> None:
        place = prefix
        for name, span in self._names():
            place = (*place, name)
            self.keys.setdefault(place, span)
        self.at += 1  # the equals sign
        self._skip(_SPACE)
        self._value(place)

    def _value(self, place: Place) -> None:
        start = self.at
        match self.text[start]:
            case "[":
                self._sequence(place, "]")
            case "{":
                self._sequence(place, "}")
            case '"' | "'":
                self._skip(_STRING)
            case _:
                self._skip(_SCALAR)
        self.values[place] = self._span(start)

    def _sequence(self, place: Place, close: str) -> None:
        self.at += 1
        number = 0
        while True:
            self._skip(_BLANK)
            if self.text[self.at] == close:
                self.at += 1
                return
            if close == "}":
                self._pair(place)
            else:
                self._value((*place, number))
            number += 1
            self._skip(_BLANK)
            if self.text[self.at] == ",":
                self.at += 1

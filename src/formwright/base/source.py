"""Places in a text file: what every message points at."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open stretch of one line of a file: lines and columns count from 1."""

    file: str
    line: int
    column: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Source:
    """A text with the name that messages use for it."""

    name: str
    text: str

    def line(self, number: int) -> str:
        """Line ``number`` (from 1) without its end, or an empty string outside the text."""
        lines = self.text.splitlines()
        return lines[number - 1] if 1 <= number <= len(lines) else ""

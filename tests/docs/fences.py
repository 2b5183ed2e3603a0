"""Fenced blocks of the pages that people read: README.md and everything below docs/."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(.*)$")
NAMED = re.compile(r"(?:^| )file=(\S+)")


@dataclass(frozen=True)
class Example:
    """A block: where it starts, what stands behind the ticks, and its lines."""

    file: str
    line: int
    info: str
    text: str

    @property
    def name(self) -> str | None:
        """The file that a page asks its reader to write (``file=NAME``)."""
        named = NAMED.search(self.info)
        return named.group(1) if named else None

    @property
    def kind(self) -> str:
        """What stands behind the ticks, the name of the file left out."""
        return NAMED.sub("", self.info).strip()


@cache
def examples(path: Path) -> tuple[Example, ...]:
    """The blocks of a page in order; one that is not closed is a fault."""
    found: list[Example] = []
    info: str | None = None
    start, lines = 0, []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        fence = FENCE.match(line)
        if fence and info is None:
            info, start, lines = fence.group(1).strip(), number, []
        elif fence:
            found.append(Example(str(path.relative_to(ROOT)), start, info, "\n".join(lines) + "\n"))
            info = None
        else:
            lines.append(line)
    assert info is None, f"{path}: a fence is not closed"
    return tuple(found)


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = [e for page in PAGES for e in examples(page)]

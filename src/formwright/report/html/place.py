"""Where in the page something is drawn, and where its figures lead."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from urllib.parse import quote

from formwright.report.page import Origin


@dataclass(frozen=True, slots=True)
class Place:
    """``at`` is an id that nothing else has; ``level`` is that of a block's heading.

    ``held`` are the origins whose entries stand in the page; ``folder`` is the address, seen from
    the page, of the folder that origins are relative to.
    """

    at: str
    level: int
    held: Mapping[Origin, str]
    folder: str = ""

    def inner(self, name: object) -> "Place":
        return replace(self, at=f"{self.at}-{name}")


def entry_id(origin: Origin) -> str:
    """The id of an entry: the same in every version of a report, so that a link to it lasts."""
    return "e-" + sha256(f"{origin.file}\0{origin.entry}".encode()).hexdigest()[:12]


def file_address(folder: str, file: str) -> str | None:
    """The address of a file beside the page; ``None`` for a name that is not within a folder (a
    population on a server has none)."""
    if not file or file.startswith(("/", "\\")) or "://" in file:
        return None
    start = f"{folder.rstrip('/')}/" if folder else "./"
    return start + quote(file, safe="/")


def address(place: Place, origin: Origin | None) -> str | None:
    """Where a figure leads: its entry in the page, else its file."""
    if origin is None:
        return None
    if origin in place.held:
        return f"#{entry_id(origin)}"
    return file_address(place.folder, origin.file)

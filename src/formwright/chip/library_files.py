"""Libraries by name: one that ships, or a file."""

from importlib import resources
from pathlib import Path

from formwright.base.diagnostics import fail, nearest
from formwright.base.source import Source
from formwright.base.toml import read_toml, read_toml_file
from formwright.chip.library import Library
from formwright.chip.library_reader import read_library


def shipped_libraries() -> tuple[str, ...]:
    """The names of the libraries that come with the package."""
    folder = resources.files("formwright") / "libraries"
    return tuple(
        sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml"))
    )


def load_library(name_or_path: str | Path) -> Library:
    """The library of that name or file. Raises ``InputError``."""
    text = str(name_or_path)
    if text.endswith(".toml") or "/" in text or isinstance(name_or_path, Path):
        return read_library(read_toml_file(Path(name_or_path)))
    names = shipped_libraries()
    if text not in names:
        hint = nearest(text, names) or f"libraries: {', '.join(names)}, or the path of a .toml file"
        raise fail(f'no library is called "{text}"', hint=hint)
    file = resources.files("formwright") / "libraries" / f"{text}.toml"
    return read_library(read_toml(Source(f"{text}.toml", file.read_text(encoding="utf-8"))))

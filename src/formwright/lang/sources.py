"""The text of a template: from a file, or one that ships. No parser is loaded for it."""

from pathlib import Path

from formwright.base.diagnostics import fail, nearest
from formwright.base.source import Source, Span
from formwright.lang.limits import TEXT_BYTES

SUFFIX = ".fw"

# Beside the code: ``importlib.resources`` takes longer to import than a kept proof to read.
_SHIPPED = Path(__file__).parent.parent / "templates"


def shipped() -> tuple[str, ...]:
    """Names of the templates that ship, sorted."""
    return tuple(sorted(f.stem for f in _SHIPPED.iterdir() if f.suffix == SUFFIX))


def load_source(path_or_name: str) -> Source:
    """The text of a file, or of a shipped template when the name has no path and no suffix.

    Raises :class:`InputError` when there is no such file or it is no UTF-8 text.
    """
    path = Path(path_or_name)
    bare = path.name == path_or_name and not path.suffix
    if bare and path_or_name in shipped():
        file = path_or_name + SUFFIX
        return _decoded(file, (_SHIPPED / file).read_bytes())
    if bare and not path.is_file():
        known = ", ".join(shipped())
        raise fail(
            f'no template "{path_or_name}"',
            hint=nearest(path_or_name, shipped()) or f"templates that ship: {known}",
        )
    return read_source(path, path_or_name)


def read_source(path: Path, name: str) -> Source:
    """The text of the file at ``path``, which messages call ``name``.

    Raises :class:`InputError` when it cannot be read, is too large or is no UTF-8 text.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(TEXT_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise fail(f"cannot read {name}: {reason}") from error
    return _decoded(name, data)


def _decoded(name: str, data: bytes) -> Source:
    if len(data) > TEXT_BYTES:
        raise fail(f"the file is larger than {TEXT_BYTES} bytes", Span(name, 1, 1, 1))
    try:
        return Source(name, data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        raise fail(
            f"byte {data[error.start]:#04x} is no UTF-8 text",
            Span(name, line, column, column + 1),
            "save the file as UTF-8",
        ) from error

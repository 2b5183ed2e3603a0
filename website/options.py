"""Every command with its options, as Markdown: read off the command line itself."""

from collections.abc import Iterator
from typing import Any

import typer.main

from formwright.cli.main import app


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Each command that does something, with the words that call it."""
    under = getattr(command, "commands", None)
    if under is None:
        yield " ".join(path), command
    else:
        for name, each in under.items():
            yield from commands(each, (*path, name))


def options_page() -> str:
    """A heading, the help and a table of options for each command."""
    parts = [_command(name, each) for name, each in commands(typer.main.get_command(app))]
    return "\n".join(parts)


def _command(name: str, command: Any) -> str:
    context = command.make_context(name, [], resilient_parsing=True)
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f"### {name}", "", f"`formwright {name} {usage}`", "", *_help(command), ""]
    rows = [row for p in command.params if (row := p.get_help_record(context))]
    if rows:
        lines += ["| option | |", "| --- | --- |"]
        lines += [f"| `{_cell(names)}` | {_text(said)} |" for names, said in rows]
    return "\n".join(lines) + "\n"


def _help(command: Any) -> Iterator[str]:
    for paragraph in (command.help or "").replace("\b", "").split("\n\n"):
        if paragraph.strip():
            yield _text(" ".join(paragraph.split()))
            yield ""
    if command.epilog:
        yield f"Example: `{' '.join(command.epilog.split()).removeprefix('Example: ')}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _text(text: str) -> str:
    """Words for a table: signs that Markdown or HTML would read are written out."""
    for sign, written in (("&", "&amp;"), ("<", "&lt;"), ("*", "&#42;"), ("_", "&#95;")):
        text = text.replace(sign, written)
    return _cell(text)

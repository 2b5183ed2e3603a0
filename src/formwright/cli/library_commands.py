"""``formwright library show``."""

from typing import Annotated

import typer

from formwright.cli.output import HELD, Json, Quiet, console, emit_json

library_app = typer.Typer(
    help="Hardware libraries: chips with menus and areas.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@library_app.command("show", epilog="Example: formwright library show gemmini")
def show(
    name: Annotated[str, typer.Argument(help="A library that ships, or a TOML file.")],
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """Check a library, and show its menus and areas with the source of each."""
    from formwright.chip.library_files import load_library
    from formwright.report.libraries import library_as_json, print_library

    library = load_library(name)
    if json_:
        emit_json(library_as_json(library))
    else:
        print_library(console(), library)
    return HELD


def register(app: typer.Typer) -> None:
    app.add_typer(library_app, name="library")

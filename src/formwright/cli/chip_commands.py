"""``formwright chip detect`` and ``chip show``."""

from typing import Annotated

import typer

from formwright.cli.output import HELD, Json, Quiet, console, emit_json, status_line

chip_app = typer.Typer(
    help="The machine that designs are for.", no_args_is_help=True, rich_markup_mode=None
)


@chip_app.command("detect", epilog="Example: formwright chip detect")
def detect(json_: Json = False, quiet: Quiet = False) -> int:
    """Measure this machine and keep the result as the chip ``local``."""
    from formwright.flow.chips import detect_local
    from formwright.report.chips import chip_as_json, print_chip

    with status_line(quiet) as say:
        say("measuring this machine (about 15 s)")
        chip = detect_local()
    if json_:
        emit_json(chip_as_json(chip))
    else:
        print_chip(console(), chip)
    return HELD


@chip_app.command("show", epilog="Example: formwright chip show illustrative")
def show(
    name: Annotated[
        str, typer.Argument(help="A chip that ships, local, or a TOML file.")
    ] = "local",
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """Show a chip's fields, with the source of each."""
    from formwright.flow.chips import open_chip
    from formwright.report.chips import chip_as_json, print_chip

    chip = open_chip(name)
    if json_:
        emit_json(chip_as_json(chip))
    else:
        print_chip(console(), chip)
    return HELD


def register(app: typer.Typer) -> None:
    app.add_typer(chip_app, name="chip")

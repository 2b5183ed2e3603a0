"""The command ``formwright``: faces over :mod:`formwright.flow`, no logic of their own."""

import os
import sys
from typing import Annotated

import typer

from formwright import __version__
from formwright.base.diagnostics import InputError, fail
from formwright.cli import (
    chip_commands,
    codesign_commands,
    ground_commands,
    library_commands,
    mcp_commands,
    population_commands,
    report_commands,
    roofline_commands,
    run_commands,
    serve_commands,
    study_commands,
    template_commands,
)
from formwright.cli.output import BAD_INPUT, INTERRUPTED, emit_failure, report_error

# The base of all usage errors; typer carries it under a private name.
_UsageFault: type[Exception] = typer.BadParameter.__mro__[2]

app = typer.Typer(
    name="formwright",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        print(f"formwright {__version__}")
        raise typer.Exit


@app.callback()
def _formwright(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Say which one this is."),
    ] = False,
) -> None:
    """From a workload to a qualified kernel: proved, solved, built, measured, recorded."""


template_commands.register(app)
run_commands.register(app)
ground_commands.register(app)
chip_commands.register(app)
library_commands.register(app)
population_commands.register(app)
mcp_commands.register(app)
roofline_commands.register(app)
report_commands.register(app)
serve_commands.register(app)
codesign_commands.register(app)
study_commands.register(app)


def run(arguments: list[str]) -> int:
    """Runs a command; its status is 0 held, 1 not met, 2 bad input, 130 interrupted."""
    try:
        status = app(args=arguments, prog_name="formwright", standalone_mode=False)
    except InputError as error:
        report_error(error, "--json" in arguments)
        return BAD_INPUT
    except _UsageFault as error:
        error.show()  # type: ignore[attr-defined]
        if "--json" in arguments:
            emit_failure(error.format_message())  # type: ignore[attr-defined]
        return BAD_INPUT
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    except BrokenPipeError:
        return 0
    except OSError as error:
        place = error.filename2 or error.filename
        if place is None:
            raise
        told = f"{_shown(place)} cannot be used: {error.strerror}"
        hint = "what is in the way, or full? The same command goes on from what was kept"
        report_error(fail(told, hint=hint), "--json" in arguments)
        return BAD_INPUT
    if status == INTERRUPTED:  # typer turns Ctrl-C into this status
        print("interrupted; the same command goes on from here", file=sys.stderr)
        if "--json" in arguments:
            emit_failure("interrupted", "the same command goes on from here")
    return status if isinstance(status, int) else 0


def _shown(place: str | bytes | int) -> str:
    return os.fsdecode(place) if isinstance(place, str | bytes) else f"file {place}"

"""``formwright serve``: a live page of runs and studies."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from formwright.cli.output import HELD, Json, Quiet, emit_json


def serve(
    folder: Annotated[Path, typer.Argument(help="The --out of a run or a study, or one above it.")],
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="0 takes one that is free.")
    ] = 8427,
    host: Annotated[
        str,
        typer.Option("--host", help="An address of this machine. There are no passwords."),
    ] = "127.0.0.1",
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """Show a run as it goes, in a browser: live, read only, until Ctrl-C.

    The page follows the journal, also over a restart of the run. By default only this machine can
    ask for it, and no page of another site.
    """
    try:
        from formwright.serve.reporting import Maker
        from formwright.serve.start import serve as serve_folder
    except ModuleNotFoundError as error:
        from formwright.base.diagnostics import fail

        if str(error.name).startswith("formwright"):
            raise
        raise fail(
            f"the live page needs the package {error.name}", hint="pip install 'formwright[serve]'"
        ) from None
    from formwright.report.html.document import script

    def ready(address: str, runs: list[str]) -> None:
        if json_:
            emit_json({"schema": 1, "address": address, "folder": str(folder), "runs": runs})
        else:
            print(f"{address} shows {folder} until Ctrl-C; read only")
        sys.stdout.flush()
        if host not in ("127.0.0.1", "localhost", "::1") and not quiet:
            told = f"whoever can reach {host} can read {folder}: there are no users and passwords"
            print(told, file=sys.stderr)

    with suppress(KeyboardInterrupt):  # the usual end
        serve_folder(folder, host, port, Maker(_report, script), ready)
    return HELD


def _report(folder: Path, address: str) -> str:
    """The report of ``folder`` as HTML; figures lead to files below ``address``."""
    from dataclasses import replace

    from formwright.cli.report_commands import page_of
    from formwright.report.html import html_of
    from formwright.report.pages.finding import find

    return html_of(replace(page_of(find(str(folder))), folder=address))


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: formwright serve out")(serve)

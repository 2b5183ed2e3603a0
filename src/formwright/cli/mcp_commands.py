"""``formwright mcp``: the tools for any agent that speaks the Model Context Protocol."""

from pathlib import Path
from typing import Annotated

import typer

from formwright.cli.output import HELD, Json, Quiet, emit_json


def mcp(
    problem: Annotated[
        list[Path] | None,
        typer.Option("--problem", help="A problem file that is worked on. May be repeated."),
    ] = None,
    population: Annotated[
        str | None,
        typer.Option(
            "--population",
            envvar="FORMWRIGHT_POPULATION",
            metavar="PATH",
            help="The population: a file, or a database URL. Default: that of this user.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Where each job gets its folder.")] = Path(
        "mcp-out"
    ),
    http: Annotated[
        int | None,
        typer.Option(
            "--http", min=1, max=65535, help="A port of 127.0.0.1, instead of standard streams."
        ),
    ] = None,
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """Serve templates' proofs, solutions and kernels to an agent, over the MCP protocol.

    Problems, contracts, benchmark and chip are those of the start; no tool changes them. With
    --http, --json says where it serves; without, standard output is the protocol's.
    """
    import logging

    from formwright.base.diagnostics import fail

    if json_ and http is None:
        raise fail(
            "--json writes to standard output, which is the protocol's here",
            hint="with --http PORT it says where the tools are",
        )
    from formwright.flow.populating import default_population
    from formwright.mcp.fixed import fix

    try:
        from formwright.mcp.serve import serve
    except ModuleNotFoundError as error:
        if str(error.name).startswith("formwright"):
            raise
        raise fail(
            f"the MCP server needs the package {error.name}",
            hint="pip install 'formwright[mcp]'",
        ) from None
    fixed = fix(problem or (), population or str(default_population()), out)
    if json_:
        address = f"http://127.0.0.1:{http}/mcp"
        emit_json({"schema": 1, "address": address, "out": str(out)})
    if quiet:
        logging.disable(logging.INFO)
    serve(fixed, http)
    return HELD


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: formwright mcp --problem examples/gemv.toml")(mcp)

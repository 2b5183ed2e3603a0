"""The main job and what follows it: run, requalify."""

from pathlib import Path
from typing import Annotated

import typer

from formwright.cli.output import HELD, NOT_MET, console, emit_json, progress_console

Json = Annotated[bool, typer.Option("--json", help="Write the result as JSON.")]


def run(
    problem: Annotated[Path, typer.Argument(help="A problem file (TOML).")],
    out: Annotated[Path, typer.Option("--out", help="Where the journal and artifacts go.")] = Path(
        "out"
    ),
    set_: Annotated[str, typer.Option("--set", help="One other workload: M=640,N=11,K=2000.")] = "",
    json_: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> int:
    """From a problem to qualified kernels. The same command resumes an interrupted run."""
    from formwright.flow.run import run_problem
    from formwright.report.progress import Progress
    from formwright.report.runs import print_run

    with Progress(progress_console(), quiet=quiet) as progress:
        result = run_problem(problem, out, set_, progress)
    if json_:
        emit_json(result.as_json())
    else:
        print_run(console(), result)
    return HELD if result.held else NOT_MET


def requalify(
    folder: Annotated[Path, typer.Argument(help="An artifact folder.")], json_: Json = False
) -> int:
    """Run an artifact's checks again on the very binary, and say what changed."""
    from formwright.flow.requalifying import requalify_folder
    from formwright.report.artifacts import print_requalification

    with progress_console().status("checking the binary"):
        result = requalify_folder(folder)
    if json_:
        emit_json(result.as_json())
    else:
        print_requalification(console(), result)
    return HELD if result.held else NOT_MET


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: formwright run examples/gemm.toml --out out")(run)
    app.command(epilog="Example: formwright requalify out/artifacts/square")(requalify)

"""``formwright roofline``: kernels under the roofs of their chip."""

from pathlib import Path
from typing import Annotated

import typer

from formwright.cli.output import HELD, Json, Quiet, console, emit_json, status_line


def roofline(
    subject: Annotated[
        str, typer.Argument(help="A run's folder, an artifact, a .fw file or a name that ships.")
    ],
    chip: Annotated[
        str, typer.Option("--chip", help="Of a template: a chip that ships, local, or a file.")
    ] = "local",
    set_: Annotated[str, typer.Option("--set", help="Of a template: M=64,N=64,K=64.")] = "",
    assign: Annotated[
        str, typer.Option("--assign", help="Of a template: decisions; the best ones if left out.")
    ] = "",
    threads: Annotated[
        int | None, typer.Option("--threads", help="Of a template.", min=1, max=1024)
    ] = None,
    dtypes: Annotated[
        str, typer.Option("--dtypes", help="Of a template that offers several: W=bf16,x=f32.")
    ] = "",
    ahead: Annotated[
        bool, typer.Option("--ahead", help="Of a template: without what can be packed ahead.")
    ] = False,
    svg: Annotated[
        Path | None, typer.Option("--svg", help="Also draw it: a folder for text and SVG.")
    ] = None,
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """What bounds a kernel: bytes at each memory level, the rate reached, the chip's roofs."""
    from formwright.flow.rooflining import roofline_of_folder, roofline_of_template
    from formwright.report.roofline import print_roofline
    from formwright.report.roofline_files import write_roofline

    with status_line(quiet) as say:
        say("counting what the program moves")
        if Path(subject).is_dir():
            found = roofline_of_folder(Path(subject))
        else:
            found = roofline_of_template(subject, chip, set_, assign, threads, dtypes, ahead)
    if svg is not None:
        write_roofline(found, svg)
    if json_:
        emit_json(found.as_json())
    else:
        print_roofline(console(), found)
    return HELD


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: formwright roofline out --svg out/report")(roofline)

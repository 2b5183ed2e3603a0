"""The option that says who does the work."""

from typing import Annotated

import typer

ExecutorName = Annotated[
    str,
    typer.Option(
        "--executor",
        help="Who does the work: here (as usual), ray, or ray=HOST:PORT of a cluster's head.",
        envvar="FORMWRIGHT_EXECUTOR",
    ),
]

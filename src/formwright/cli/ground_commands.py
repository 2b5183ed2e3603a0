"""What proofs rest on: certify, audit."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from formwright.cli.output import HELD, NOT_MET, Json, Quiet, emit_json, status_line
from formwright.cli.template_commands import shipped_names

_NO_SOLVER = "unresolved: no solver: z3 is not installed (the package z3-solver)"

Files = Annotated[
    list[str] | None,
    typer.Argument(
        help="Templates or chains; all that ship if none.", autocompletion=shipped_names
    ),
]


def certify(
    files: Files = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="A folder other than the user's.")
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", help="The most for one query.", min=0.1, max=3600)
    ] = 60.0,
    again: Annotated[
        bool, typer.Option("--again", help="Look once more where a second solver had to do.")
    ] = False,
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """Make certificates for the proof of a template or a chain; interrupted, it goes on."""
    if find_spec("z3") is None:
        return _without_solver(json_)
    from formwright.flow.certifying import certify as make
    from formwright.report.grounds import print_certified
    from formwright.smt.certify.tree import Limits

    with status_line(quiet) as say:
        limits = Limits(seconds=seconds)
        result = make(files or (), folder=out, limits=limits, again=again, progress=say)
    if json_:
        emit_json(result.as_json())
    else:
        print_certified(result, sys.stdout)
    return HELD if result.held else NOT_MET


def audit(
    files: Files = None,
    all_: Annotated[bool, typer.Option("--all", help="Prove everything again.")] = False,
    seed: Annotated[int | None, typer.Option("--seed", help="Chooses the sample.")] = None,
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """Say what each obligation rests on, check every certificate, prove a sample again."""
    if find_spec("z3") is None:
        return _without_solver(json_)
    from formwright.flow.auditing import audit as look
    from formwright.report.grounds import print_audit

    with status_line(quiet) as say:
        result = look(files or (), everything_again=all_, seed=seed, progress=say)
    if json_:
        emit_json(result.as_json())
    else:
        print_audit(result, sys.stdout)
    return HELD if result.held else NOT_MET


def _without_solver(json_: bool) -> int:
    """Conditions are derived with z3 at hand, even where it is not asked."""
    if json_:
        emit_json({"schema": 1, "held": False, "reason": _NO_SOLVER})
    else:
        print(_NO_SOLVER)
    return NOT_MET


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: formwright certify my.fw")(certify)
    app.command(epilog="Example: formwright audit direct_gemm --all")(audit)

"""``formwright codesign``: the chip and its software chosen together."""

from pathlib import Path
from typing import Annotated

import typer

from formwright.cli.executor_option import ExecutorName
from formwright.cli.output import HELD, NOT_MET, Json, Quiet, console, emit_json, progress_console


def study_names(incomplete: str) -> list[str]:
    """Studies that ship, for the shell."""
    from formwright.walls.study_reader import shipped_studies

    return [name for name in shipped_studies() if name.startswith(incomplete)]


def codesign(
    study: Annotated[
        str,
        typer.Argument(help="A study that ships, or a TOML file.", autocompletion=study_names),
    ],
    out: Annotated[Path, typer.Option("--out", help="Where the journal and tables go.")] = Path(
        "codesign-out"
    ),
    agent: Annotated[
        str,
        typer.Option(
            "--agent",
            help="Who names what each purchase made possible: library, manual, replay, openai,"
            " anthropic.",
        ),
    ] = "",
    model: Annotated[str, typer.Option("--model", help="Of a served model: its name.")] = "",
    address: Annotated[
        str, typer.Option("--address", help="Of a served model: http://localhost:8000/v1.")
    ] = "",
    transcript: Annotated[
        str, typer.Option("--transcript", help="Of replay: a transcript.jsonl.")
    ] = "",
    budget: Annotated[
        str, typer.Option("--budget", help="Of an agent: calls=20,tokens=2e5,seconds=600.")
    ] = "",
    executor: ExecutorName = "",
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """Choose a chip within an area together with its software, by wall relaxation and others.

    The same command resumes an interrupted study. Shipped: pairs, gemmini-bert, gemmini-methods,
    gpu-layer.
    """
    from formwright.flow.codesign import run_study
    from formwright.flow.codesign_agent import name_purchases
    from formwright.flow.executors import open_executor
    from formwright.flow.options import Options, agent_of
    from formwright.report.agents import print_names
    from formwright.report.codesign import print_study
    from formwright.report.codesign_files import write_study
    from formwright.report.progress import Progress

    asked = Options(agent=agent, model=model, address=address, transcript=transcript, budget=budget)
    proposer = agent_of(asked, None)
    with Progress(progress_console(), quiet=quiet) as progress, open_executor(executor) as who:
        result = run_study(study, out, progress, who)
        named = None if proposer is None else name_purchases(result, proposer, out, progress)
    written = write_study(result, out)
    if json_:
        emit_json(result.as_json() | ({} if named is None else {"agent": named}))
    else:
        print_study(console(), result)
        if named is not None:
            print_names(console(), named)
        print(f"  written: {', '.join(p.name for p in written)} in {out}")
    return HELD if result.held else NOT_MET


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: formwright codesign pairs --out pairs-out")(codesign)

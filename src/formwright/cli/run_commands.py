"""The main job and what follows it: run, qualify, requalify."""

from pathlib import Path
from typing import Annotated

import typer

from formwright.cli.executor_option import ExecutorName
from formwright.cli.output import (
    HELD,
    NOT_MET,
    Json,
    Quiet,
    console,
    emit_json,
    progress_console,
    status_line,
)


def run(
    problem: Annotated[list[Path], typer.Argument(help="Problem files (TOML).")],
    out: Annotated[Path, typer.Option("--out", help="Where the journal and artifacts go.")] = Path(
        "out"
    ),
    set_: Annotated[str, typer.Option("--set", help="One other workload: M=640,N=11,K=2000.")] = "",
    agent: Annotated[
        str,
        typer.Option(
            "--agent", help="Who proposes templates: library, manual, replay, openai, anthropic."
        ),
    ] = "",
    model: Annotated[str, typer.Option("--model", help="Of a served model: its name.")] = "",
    address: Annotated[
        str, typer.Option("--address", help="Of a served model: http://localhost:8000/v1.")
    ] = "",
    transcript: Annotated[
        str, typer.Option("--transcript", help="Of replay: a transcript.jsonl.")
    ] = "",
    answers: Annotated[
        str, typer.Option("--answers", help="Of manual: the folder of requests and answers.")
    ] = "",
    population: Annotated[
        str | None,
        typer.Option(
            "--population",
            help="A file or URL, if not that of this user.",
            envvar="FORMWRIGHT_POPULATION",
        ),
    ] = None,
    generations: Annotated[
        int | None, typer.Option("--generations", min=1, max=1000, help="At most so many.")
    ] = None,
    repairs: Annotated[
        int | None, typer.Option("--repairs", min=0, max=1000, help="Of one proposal, at most.")
    ] = None,
    budget: Annotated[
        str,
        typer.Option(
            "--budget",
            help="Of an agent: calls=20,tokens=2e5,seconds=600,build_seconds=300,"
            "device_seconds=300,money=1,tokens_in=2,tokens_out=8 (prices in US dollars a million).",
        ),
    ] = "",
    device: Annotated[
        Path | None,
        typer.Option("--device", help="A run whose times are given again; none are measured."),
    ] = None,
    executor: ExecutorName = "",
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """From problems to qualified kernels. The same command resumes an interrupted run.

    Several problems run one after another, each in a folder of --out that has its name. A problem
    that names no templates has them made, by the library of rules if nobody else is named.
    """
    from formwright.flow.executors import open_executor
    from formwright.flow.options import Options
    from formwright.flow.rooflining import roofline_of_run
    from formwright.flow.run_set import run_problems
    from formwright.report.progress import Progress
    from formwright.report.roofline import print_bounds
    from formwright.report.roofline_files import write_roofline
    from formwright.report.runs import print_run

    options = Options(
        agent=agent,
        model=model,
        address=address,
        transcript=transcript,
        answers=answers,
        generations=generations,
        repairs=repairs,
        budget=budget,
        population=population,
        device=device,
    )
    with Progress(progress_console(), quiet=quiet) as progress, open_executor(executor) as who:
        results = run_problems(problem, out, set_, progress, options, who)
        rooflines = [roofline_of_run(result.folder) for result in results]
    shown = []
    for result, roofline in zip(results, rooflines, strict=True):
        written = () if roofline is None else write_roofline(roofline, result.folder / "report")
        plain = None if roofline is None else roofline.as_json()
        shown.append(result.as_json() | {"roofline": plain})
        if json_:
            continue
        print_run(console(), result)
        if roofline is not None:
            print_bounds(console(), roofline)
            print(f"  drawn in {', '.join(map(str, written))}")
    held = all(result.held for result in results)
    if json_:
        several = {"schema": 1, "runs": {s["problem"]: s for s in shown}, "held": held}
        emit_json(shown[0] if len(shown) == 1 else several)
    return HELD if held else NOT_MET


def qualify(
    kernel: Annotated[
        Path, typer.Argument(help="A C file, a library (.so), or a folder with one of them.")
    ],
    contract: Annotated[
        str,
        typer.Option(
            "--contract", help="An operator (gemm, gemv:bf16), a .toml file or a contract.json."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="Where the artifact goes.")] = Path("out"),
    at: Annotated[str, typer.Option("--at", help="The shape it is for: M=640,N=11,K=2000.")] = "",
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads of fw_call.")] = 1,
    function: Annotated[
        str, typer.Option("--function", help="The plain C function, if not `kernel`.")
    ] = "",
    flag: Annotated[
        list[str] | None, typer.Option("--flag", help="A compiler flag: --flag=-O3. Repeat it.")
    ] = None,
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """Judge a kernel that somebody else wrote, by the rules of our own.

    C source has `fw_call`, or a function `void kernel(const float *A, …, float *out, int64_t M, …)`
    with the tensors and extents of the contract in order.
    """
    from formwright.flow.judging import judge_kernel
    from formwright.flow.stating import parsed_shape
    from formwright.report.judgements import print_judgement

    with status_line(quiet) as say:
        say("building")
        judged = judge_kernel(
            kernel,
            contract,
            out,
            shape=parsed_shape(at) if at else None,
            threads=threads,
            function=function or None,
            flags=tuple(flag or ()),
            progress=lambda stage, done, total: say(stage, done, total),
        )
    if json_:
        emit_json(judged.as_json())
    else:
        print_judgement(console(), judged)
    return HELD if judged.held else NOT_MET


def requalify(
    folder: Annotated[Path, typer.Argument(help="An artifact folder.")],
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """Run an artifact's checks again on the very binary, and say what changed."""
    from formwright.flow.requalifying import requalify_folder
    from formwright.report.artifacts import print_requalification

    with status_line(quiet) as say:
        say("checking the binary")
        result = requalify_folder(folder)
    if json_:
        emit_json(result.as_json())
    else:
        print_requalification(console(), result)
    return HELD if result.held else NOT_MET


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: formwright run examples/gemm.toml --out out")(run)
    app.command(epilog="Example: formwright qualify mine.c --contract gemm --out out")(qualify)
    app.command(epilog="Example: formwright requalify out/artifacts/square")(requalify)

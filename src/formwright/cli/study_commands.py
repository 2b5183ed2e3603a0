"""``formwright study``: comparisons with repeats and their spread, each resumable."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

import typer

from formwright.cli.output import HELD, NOT_MET, Json, Quiet, console, emit_json, progress_console

if TYPE_CHECKING:
    from rich.console import Console


class Result(Protocol):
    """What a study comes to."""

    @property
    def held(self) -> bool: ...

    def as_json(self) -> dict[str, Any]: ...


study = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Comparisons with repeats and their spread."
)


@study.command(
    "white-black",
    epilog="Example: formwright study white-black --task decode-512 --seeds 1 --out study-out",
)
def white_black(
    out: Annotated[Path, typer.Option("--out", help="Where the journal and tables go.")] = Path(
        "white-black-out"
    ),
    task: Annotated[
        list[str] | None, typer.Option("--task", help="One task only; repeat it for more.")
    ] = None,
    searcher: Annotated[
        list[str] | None, typer.Option("--searcher", help="One searcher only; repeat it.")
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Searches of each.")] = 5,
    evaluations: Annotated[
        int, typer.Option("--evaluations", min=1, help="Distinct kernels of a search.")
    ] = 8,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.1, help="Seconds of a search, all told.")
    ] = 120.0,
    transcript: Annotated[
        Path | None,
        typer.Option("--transcript", help="Also the flow and the evolution with its programs."),
    ] = None,
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """The flow against black-box searchers over the same kernels, with the same budget.

    Random, Optuna, Kernel Tuner's strategies and an evolutionary searcher over source, on decode
    attention at four histories and a matrix product. The same command resumes it.
    """
    from formwright.flow.study_tasks import chosen_plan
    from formwright.flow.study_white_black import run_white_black
    from formwright.report.progress import Progress
    from formwright.report.study_white_black import print_white_black, write_white_black

    plan = chosen_plan(
        tuple(task or ()), tuple(searcher or ()), seeds, evaluations, seconds, transcript
    )
    with Progress(progress_console(), quiet=quiet) as progress:
        result = run_white_black(plan, out, progress)
    return _told(result, write_white_black, print_white_black, out, json_)


@study.command(
    "transfer",
    epilog="Example: formwright study transfer --task norm --repeats 1 --out study-out",
)
def transfer(
    out: Annotated[Path, typer.Option("--out", help="Where journals and tables go.")] = Path(
        "transfer-out"
    ),
    task: Annotated[
        list[str] | None, typer.Option("--task", help="One task only; repeat it for more.")
    ] = None,
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, help="Of solving, building and the comparison.")
    ] = 3,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads of a kernel.")] = 2,
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """Known families at new shapes and models: selected, copied, and the best that is found.

    The same command resumes it; tasks may be added.
    """
    from formwright.flow.study_transfer import run_transfer
    from formwright.flow.transfer_tasks import transfer_plan
    from formwright.report.progress import Progress
    from formwright.report.study_transfer import print_transfer, write_transfer

    plan = transfer_plan(tuple(task or ()), repeats, threads)
    with Progress(progress_console(), quiet=quiet) as progress:
        result = run_transfer(plan, out, progress)
    return _told(result, write_transfer, print_transfer, out, json_)


@study.command(
    "growth",
    epilog="Example: formwright study growth --problems 3 --repeats 1 --out study-out",
)
def growth(
    out: Annotated[Path, typer.Option("--out", help="Where runs, journal and tables go.")] = Path(
        "growth-out"
    ),
    problems: Annotated[
        int, typer.Option("--problems", min=1, help="The first so many of the sequence of 12.")
    ] = 12,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Of the whole sequence.")] = 2,
    generations: Annotated[
        int, typer.Option("--generations", min=1, help="Of each run, at most.")
    ] = 2,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads of a kernel.")] = 2,
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """A sequence of problems with and without the population: what each gained from those before.

    No template is named: the library of rules makes them. The same command resumes it.
    """
    from formwright.flow.growth_tasks import growth_plan
    from formwright.flow.study_growth import run_growth
    from formwright.report.progress import Progress
    from formwright.report.study_growth import print_growth, write_growth

    plan = growth_plan(problems, repeats, generations, threads)
    with Progress(progress_console(), quiet=quiet) as progress:
        result = run_growth(plan, out, progress)
    return _told(result, write_growth, print_growth, out, json_)


R = TypeVar("R", bound=Result)


def _told(
    result: R,
    write: Callable[[R, Path], tuple[Path, ...]],
    show: "Callable[[Console, R], None]",
    out: Path,
    json_: bool,
) -> int:
    """Keeps a result in files, prints it, and says by the status whether its claim holds."""
    written = write(result, out)
    if json_:
        emit_json(result.as_json())
    else:
        show(console(), result)
        print(f"  written: {', '.join(p.name for p in written)} in {out}")
    return HELD if result.held else NOT_MET


def register(app: typer.Typer) -> None:
    app.add_typer(study, name="study")

"""Commands on one template: prove, solve, check, weakest, show, fmt."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer

from formwright.base.diagnostics import fail
from formwright.cli.chain_commands import (
    check_chain_file,
    prove_chain_file,
    show_chain_file,
    solve_chain_file,
)
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
from formwright.lang.chain_sources import names_chain
from formwright.proof.verdict import LIMITS, Limits


def shipped_names(incomplete: str) -> list[str]:
    """Names for shell completion; files are completed by the shell."""
    from formwright.lang import shipped
    from formwright.lang.chain_sources import shipped_chains

    return [name for name in (*shipped(), *shipped_chains()) if name.startswith(incomplete)]


File = Annotated[
    str,
    typer.Argument(
        help="A .fw file, a chain's .toml, or a name that ships.", autocompletion=shipped_names
    ),
]
ChipName = Annotated[str, typer.Option("--chip", help="A chip that ships, local, or a TOML file.")]
Settings = Annotated[
    str, typer.Option("--set", help="Extents: M=64,N=64,K=64; also chip.area=1 mm2.")
]


Files = Annotated[
    list[str],
    typer.Argument(
        help="Templates (.fw files or names that ship), or one chain's .toml.",
        autocompletion=shipped_names,
    ),
]


def prove(
    file: Files,
    json_: Json = False,
    quiet: Quiet = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Prove again what is kept.")] = False,
    limit: Annotated[
        float, typer.Option(help="Seconds for one obligation.", min=0.001, max=86400)
    ] = LIMITS.seconds,
    memory: Annotated[
        int, typer.Option(help="MiB for the solver.", min=1, max=1 << 20)
    ] = LIMITS.memory,
    lanes: Annotated[
        Path | None,
        typer.Option("--lanes", help="Draw each counterexample here, as text and as SVG."),
    ] = None,
    executor: ExecutorName = "",
) -> int:
    """Prove a template or a chain once, for every design that it allows; or several templates."""
    limits = Limits(seconds=limit, memory=memory)
    if len(file) > 1 or executor not in ("", "here"):
        return _prove_several(file, json_, quiet, fresh, limits, lanes, executor)
    return _prove_one(file[0], json_, quiet, fresh, limits, lanes)


def _prove_several(
    files: list[str],
    json_: bool,
    quiet: bool,
    fresh: bool,
    limits: Limits,
    lanes: Path | None,
    executor: str,
) -> int:
    from formwright.flow.executors import open_executor
    from formwright.flow.proving_several import prove_several
    from formwright.report.progress import Progress
    from formwright.report.proofs_several import print_proofs

    if lanes is not None:
        told = "--lanes draws the counterexamples of one template that is proved here"
        raise fail(told, hint="name that one alone, with --executor here")
    with Progress(progress_console(), quiet=quiet) as progress, open_executor(executor) as who:
        found = prove_several(files, who, progress, limits, fresh)
    if json_:
        emit_json(found.as_json())
    else:
        print_proofs(console(), found)
    return HELD if found.held else NOT_MET


def _prove_one(
    file: str, json_: bool, quiet: bool, fresh: bool, limits: Limits, lanes: Path | None
) -> int:
    if names_chain(file):
        return prove_chain_file(file, json_, quiet, fresh, limits, lanes)
    from formwright.flow.proving import prove_template
    from formwright.report.proofs import print_proof

    with status_line(quiet) as say:
        proof = prove_template(file, fresh=fresh, progress=say, limits=limits)
    if lanes is not None:
        from formwright.report.lanes_files import write_lanes

        write_lanes(proof, lanes)
    if json_:
        emit_json(proof.as_json())
    else:
        print_proof(proof, sys.stdout)
    return HELD if proof.verdict == "proved" else NOT_MET


def solve(
    file: File,
    chip: ChipName,
    set_: Settings,
    solver: Annotated[Literal["auto", "milp", "enumerate"], typer.Option("--solver")] = "auto",
    ties: Annotated[bool, typer.Option("--ties", help="List the designs that tie.")] = False,
    time_limit: Annotated[float, typer.Option(help="Seconds.", min=0.01, max=86400)] = 60.0,
    monolithic: Annotated[
        bool, typer.Option("--monolithic", help="Of a chain: also all decisions at once.")
    ] = False,
    structures: Annotated[
        bool,
        typer.Option(
            "--structures/--no-structures", help="Leave out what the template shows it may."
        ),
    ] = True,
    scenario: Annotated[
        list[str] | None,
        typer.Option("--scenario", help="A workload of several, on one chip: decode:M=1."),
    ] = None,
    join: Annotated[
        Literal["sum", "worst"], typer.Option("--join", help="Of scenarios: what is least.")
    ] = "sum",
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """The best design of a template or a chain for one workload and chip, with its bound."""
    if names_chain(file):
        return solve_chain_file(file, chip, set_, solver, time_limit, monolithic, json_)
    if scenario:
        return _solve_scenarios(file, chip, set_, scenario, join, structures, json_)
    from formwright.flow.solving import solve_template
    from formwright.report.solutions import print_solution, solution_as_json

    solution = solve_template(file, chip, set_, solver, ties, time_limit, structures)
    if json_:
        emit_json(solution_as_json(solution))
    else:
        print_solution(console(), solution)
    return HELD if solution.status == "optimal" else NOT_MET


def _solve_scenarios(
    file: str,
    chip: str,
    set_: str,
    scenarios: list[str],
    join: Literal["sum", "worst"],
    structures: bool,
    json_: bool,
) -> int:
    from formwright.flow.solving import solve_workloads
    from formwright.report.solutions import print_scenarios, scenarios_as_json

    found = solve_workloads(file, chip, set_, scenarios, join, structures)
    if json_:
        emit_json(scenarios_as_json(found))
    else:
        print_scenarios(console(), found)
    return HELD if found.status == "optimal" else NOT_MET


def check(
    file: File,
    chip: ChipName,
    set_: Settings,
    assign: Annotated[str, typer.Option("--assign", help="Decisions: Tm=128,Tn=128,…")],
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """Check one assignment: in the scope, in the menus, every constraint and requirement."""
    if names_chain(file):
        return check_chain_file(file, chip, set_, assign, json_)
    from formwright.flow.solving import check_assignment
    from formwright.report.solutions import check_as_json, print_check

    result = check_assignment(file, chip, set_, assign)
    if json_:
        emit_json(check_as_json(result))
    else:
        print_check(console(), result)
    return HELD if result.ok else NOT_MET


def weakest(
    file: File,
    chip: ChipName = "illustrative",
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="A workload to give the loss for; may be repeated."),
    ] = None,
    infer: Annotated[
        bool, typer.Option("--infer", help="Find the weakest linear condition from nothing.")
    ] = False,
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """Compare the requirement with what is really safe: exact, too strong, too weak."""
    from formwright.flow.weakening import infer_of, weakest_of
    from formwright.report.weakest import print_weakest, weakest_as_json

    if infer:
        from formwright.report.inferred import inferred_as_json, print_inferred

        with status_line(quiet) as say:
            found = infer_of(file, progress=say)
        if json_:
            emit_json(inferred_as_json(found))
        else:
            print_inferred(console(), found)
        return HELD if found.weakest else NOT_MET
    with status_line(quiet) as say:
        result = weakest_of(file, chip, tuple(set_ or ()), say)
    if json_:
        emit_json(weakest_as_json(result))
    else:
        print_weakest(console(), result)
    return HELD if result.exact else NOT_MET


def show(file: File, json_: Json = False, quiet: Quiet = False) -> int:
    """Show a template or a chain: who reads what, and how large it is."""
    if names_chain(file):
        return show_chain_file(file, json_)
    from formwright.flow.showing import summary
    from formwright.report.templates import print_summary

    shown = summary(file)
    if json_:
        emit_json(shown)
    else:
        print_summary(console(), shown)
    return HELD


def fmt(
    file: Annotated[Path, typer.Argument(help="A .fw file.")],
    write: Annotated[bool, typer.Option("--write", "-w", help="Rewrite the file.")] = False,
    check_: Annotated[
        bool, typer.Option("--check", help="Only say whether it would change.")
    ] = False,
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """Format a template; the text goes to standard output unless --write is given."""
    from formwright.flow.showing import formatted

    text, changed = formatted(file, write=write and not check_)
    if json_:
        emit_json({"schema": 1, "changed": changed, "text": text})
    elif check_:
        print(f"{file}: {'would change' if changed else 'is formatted'}")
    elif not write:
        print(text, end="")
    return NOT_MET if check_ and changed else HELD


_EXAMPLES: dict[Callable[..., int], str] = {
    prove: "formwright prove shared_memory_tiling",
    solve: "formwright solve shared_memory_tiling --chip illustrative --set M=1000,N=1000,K=1000",
    check: "formwright check shared_memory_tiling --chip illustrative --set M=1000,N=1000,K=1000 "
    "--assign Tm=128,Tn=128,Tk=32,S=3,P=1,beta=0",
    weakest: "formwright weakest shared_memory_tiling --chip illustrative "
    "--set M=1000,N=1000,K=1000",
    show: "formwright show packed_gemm",
    fmt: "formwright fmt my.fw --write",
}


def register(app: typer.Typer) -> None:
    for command, example in _EXAMPLES.items():
        app.command(epilog=f"Example: {example}")(command)

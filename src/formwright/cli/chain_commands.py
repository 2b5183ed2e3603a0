"""``prove``, ``solve``, ``check``, ``show`` where the file is a chain; no logic of their own."""

import sys
from pathlib import Path
from typing import Literal

from formwright.cli.output import HELD, NOT_MET, console, emit_json, status_line
from formwright.proof.verdict import Limits


def prove_chain_file(
    file: str, json_: bool, quiet: bool, fresh: bool, limits: Limits, lanes: Path | None
) -> int:
    """Prove each step of a chain and that they compose."""
    from formwright.flow.chain_proving import prove_chain
    from formwright.report.chains import print_chain

    with status_line(quiet) as say:
        proof = prove_chain(file, fresh=fresh, progress=say, limits=limits)
    if lanes is not None:
        from formwright.report.lanes_files import write_lanes

        for step in proof.steps:
            if step.proof is not None:
                write_lanes(step.proof, lanes)
    if json_:
        emit_json(proof.as_json())
    else:
        print_chain(proof, sys.stdout)
    return HELD if proof.verdict == "proved" else NOT_MET


def solve_chain_file(
    file: str,
    chip: str,
    set_: str,
    solver: Literal["auto", "milp", "enumerate"],
    time_limit: float,
    monolithic: bool,
    json_: bool,
) -> int:
    """Solve the steps of a chain in turn."""
    from formwright.flow.chain_solving import solve_chain
    from formwright.report.chain_solutions import print_solved, solved_as_json

    solved = solve_chain(file, chip, set_, solver, time_limit, monolithic)
    if json_:
        emit_json(solved_as_json(solved))
    else:
        print_solved(console(), solved)
    return HELD if solved.held else NOT_MET


def check_chain_file(file: str, chip: str, set_: str, assign: str, json_: bool) -> int:
    """Check one assignment of all decisions of a chain."""
    from formwright.flow.chain_solving import check_chain
    from formwright.report.solutions import check_as_json, print_check

    result = check_chain(file, chip, set_, assign)
    if json_:
        emit_json(check_as_json(result))
    else:
        print_check(console(), result)
    return HELD if result.ok else NOT_MET


def show_chain_file(file: str, json_: bool) -> int:
    """Show the contract and the steps of a chain."""
    from formwright.flow.showing import chain_summary
    from formwright.report.templates import print_chain_summary

    shown = chain_summary(file)
    if json_:
        emit_json(shown)
    else:
        print_chain_summary(console(), shown)
    return HELD

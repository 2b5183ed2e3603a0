"""A kept core solved once more by itself, by a fresh solver."""

import z3

from formwright.proof.assertions import Recorded
from formwright.proof.theorems import is_theorem
from formwright.smt.certify.second import smtlib


def core_fault(query: Recorded, reading: str, milliseconds: int) -> str:
    """Why a kept core is not to be believed; empty where it stands, or where z3 does not say.

    ``linear``: products are symbols, and lemmas must be theorems. Else products are products.
    """
    for assertion in query.assertions:
        if assertion.role == "lemma" and not is_theorem(assertion.statement):
            return "a lemma of it is no theorem"
    linear = reading == "linear"
    context = z3.Context()
    solver = z3.Solver(ctx=context)
    solver.set("timeout", milliseconds)
    solver.set("ctrl_c", False)  # else z3 takes it, and a sound core would seem to be none
    solver.add(
        z3.parse_smt2_string(smtlib(query, (), "linear" if linear else "exact"), ctx=context)
    )
    outcome = solver.check()
    if outcome == z3.sat or (linear and outcome != z3.unsat):
        return f"it is kept as unsatisfiable, and z3 says {outcome}"
    return ""

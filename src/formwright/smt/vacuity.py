"""That premises hold together and that every statement can run: else proofs say nothing."""

from collections.abc import Sequence

from formwright.ir.template import Template
from formwright.smt.atoms import Atoms
from formwright.smt.instances import fresh, guards
from formwright.smt.outcome import FAILURES, Outcome, failed
from formwright.smt.schedule import place
from formwright.smt.sites import Site, sites_of
from formwright.smt.solve import Solver
from formwright.smt.terms import Formula

CONTRADICT = "scope, menus and {} contradict one another"


def reachable(template: Template, k1: Solver, k2: Solver, atoms: Atoms) -> Outcome:
    """Some point of the scope meets the premises, and every statement can run.

    ``k1`` assumes the constraints, ``k2`` what the program may assume.
    """
    try:
        sites = sites_of(template.program, template.globals)
        all_sites = (*sites.applies, *sites.synchronising, *sites.counters)
        runs = [guards(fresh(s, f"r{s.number}", {}, 0), atoms) for s in all_sites]
        return _points(template, k1, k2, all_sites, runs)
    except FAILURES as error:
        return failed(error)


def _points(
    template: Template,
    k1: Solver,
    k2: Solver,
    all_sites: Sequence[Site],
    runs: Sequence[list[Formula]],
) -> Outcome:
    if template.requires:
        point = k1.consistent([])
        if point.status == "unsat":
            return Outcome("vacuous", CONTRADICT.format("constraints"))
        if point.status == "unknown":
            return Outcome("unresolved", f"scope, menus and constraints: {point.reason}")
    if k2.consistent([f for run in runs for f in run]).status == "sat":
        return Outcome("proved", "one point of the scope reaches every statement")
    if k2.consistent([]).status == "unsat":
        word = "requirements" if template.requires else "constraints"
        return Outcome("vacuous", CONTRADICT.format(word))
    for site, run in zip(all_sites, runs, strict=True):
        one = k2.consistent(run)
        if one.status == "unsat":
            return Outcome("vacuous", f"the statement {place(site)} can never run")
        if one.status == "unknown":
            return Outcome("unresolved", f"the statement {place(site)}: {one.reason}")
    return Outcome("proved", "every statement can run")

"""What two steps of a chain have in common, compared by content: systems, names, contract."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from formwright.ir.inline import inlined
from formwright.ir.system import System
from formwright.ir.template import Template, Workload
from formwright.lang.format import workload_text
from formwright.lang.format_steps import system_lines
from formwright.proof.store import system_digest
from formwright.proof.verdict import Evidence, Obligation, Verdict

GROUP = "chain"


def compared(name: str, condition: str, different: str, detail: str) -> Obligation:
    """An obligation that is settled by looking: proved unless something is ``different``."""
    verdict: Verdict = "refuted" if different else "proved"
    evidence: Evidence = "none" if different else "proved"
    return Obligation(name, GROUP, condition, verdict, evidence, 0.0, detail=different or detail)


def link(above: Template, step: Template) -> Obligation:
    """The fine system of ``above`` is the coarse system of ``step``."""
    fine, coarse = systems(above)[1], systems(step)[0]
    different = ""
    if system_digest(fine) != system_digest(coarse):
        different = first_difference(fine, above.name, coarse, step.name)
    detail = f"{above.name} ends with the very system that {step.name} begins with"
    return compared(f"system {coarse.name}", "system", different, detail)


def systems(step: Template) -> tuple[System, System]:
    """The coarse and the fine system, without definitions."""
    refinement = inlined(step).refinement
    if refinement is None:
        raise ValueError(f"{step.name} has no step")
    return refinement.coarse, refinement.fine


def first_difference(fine: System, above: str, coarse: System, below: str) -> str:
    """The first lines that differ, each with the step that has it, in words."""
    for ours, theirs in zip_longest(_lines(fine), _lines(coarse)):
        if ours != theirs:
            first = f'{above} has "{ours}"' if ours else f"{above} has no more"
            second = f'{below} has "{theirs}"' if theirs else f"{below} has no more"
            return f"{first}, {second}"
    return f"{above} and {below} differ in {fine.name}"


def _lines(system: System) -> Iterator[str]:
    action = ""
    for row in system_lines("system", replace(system, name="", rank=(), lets=())):
        text = " ".join(row.text.split())
        if text.startswith(("action ", "environment ")):
            action = text.split(" when ")[0].rstrip(":")
        indented = row.text.startswith("    ")
        yield f"{action}: {text}" if indented else text


def names(steps: Sequence[Template]) -> Iterator[Obligation]:
    """A name means one thing in the whole chain, and what a step is given is decided above it.

    So a design of the whole chain, cut to the decisions of the steps above, is a design of
    theirs: their constraints are among those that it meets.
    """
    sizes: dict[str, str] = {}
    decided: dict[str, str] = {}
    for step in steps:
        own = {p.name: "an extent" for p in step.scope.extents}
        own |= {p.name: "an agent count" for p in step.scope.agents}
        given, new = {p.name for p in step.scope.given}, {d.name for d in step.decisions}
        faults = [f"{n} is {w}, above {sizes[n]}" for n, w in own.items() if sizes.get(n, w) != w]
        faults += [f"{n} is {w}, above a decision" for n, w in own.items() if n in decided]
        faults += [f"{n} is decided in {decided[n]} already" for n in sorted(new & set(decided))]
        faults += [f"{n} is a decision, above {sizes[n]}" for n in sorted(new & set(sizes))]
        faults += [
            f"no step above decides {n}, which is given" for n in sorted(given - set(decided))
        ]
        sizes |= own
        decided |= dict.fromkeys(new, step.name)
        detail = "each name means what it means above; what is given is decided above"
        yield compared(f"names of {step.name}", "names", "; ".join(faults), detail)


def contract(step: Template, workload: Workload) -> Obligation:
    """``step`` is about the chain's workload."""
    different = ""
    if _plain(step.scope.workload) != _plain(workload):
        different = f"it is about {workload_text(step.scope.workload)}"
    detail = f"it is about {workload_text(workload)}"
    return compared(f"workload of {step.name}", "workload", different, detail)


def _plain(workload: Workload) -> Workload:
    """Element types are for the build; sums are over the reals here."""
    return replace(
        workload,
        output=replace(workload.output, dtype="f32"),
        inputs=tuple(replace(t, dtype="f32") for t in workload.inputs),
    )


def listed(items: Iterable[str]) -> str:
    """``a, b and c``."""
    *most, last = items
    return f"{', '.join(most)} and {last}" if most else last

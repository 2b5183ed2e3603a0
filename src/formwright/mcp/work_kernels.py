"""In the child: designs of a proved template built, validated, timed and qualified.

All of it through the steps of a run (:mod:`formwright.flow`), with a journal in the job's folder.
"""

from collections.abc import Mapping
from typing import Any

from formwright.base.diagnostics import fail
from formwright.flow.candidates import Candidate, assignment_text, designs, prepare
from formwright.flow.loop import confirm, measure, search
from formwright.flow.qualifying import qualify_winner
from formwright.mcp.asked import Asked
from formwright.mcp.binding import Say, whole
from formwright.mcp.limits import SOURCE_CHARACTERS
from formwright.mcp.opening import Opened, opened
from formwright.mcp.telling import without
from formwright.mcp.work_facts import tell_measured, tell_qualified
from formwright.milp.check import check, objective_of
from formwright.qualify.qualification import OURS
from formwright.qualify.timing import notes


def build_text(asked: Asked, say: Say) -> dict[str, Any]:
    """The design (the optimum where none is named) as C, built and validated in the sandbox."""
    with opened(asked, say) as session:
        proposed = _proposed(asked, session)[:1]
        held = prepare(session.setting, session.workload, proposed)
        return _built(asked, session, proposed[0]["assignment"], bool(held))


def _built(
    asked: Asked, session: Opened, assignment: Mapping[str, int], held: bool
) -> dict[str, Any]:
    known = {e["key"].partition("/")[0]: e["data"] for e in session.setting.journal.entries}
    made, verdict = known["build"], known.get("validate", {})
    if "error" in made:
        raise fail(f"it does not build: {without(made['error'], asked.folder)}")
    source = (asked.folder / made["source"]).read_text(encoding="utf-8")
    return {
        "kind": "build",
        "assignment": dict(assignment),
        "command": made["command"],
        "compiler": made["compiler"],
        "verdict": verdict["verdict"],
        "message": without(verdict["message"], asked.folder),
        "runs": verdict["runs"],
        "evidence": "tested" if held else "none",
        "source_characters": len(source),
        "source": source[:SOURCE_CHARACTERS] if asked.shown else "",
    }


def measure_text(asked: Asked, say: Say) -> dict[str, Any]:
    """Designs against each other, interleaved: those named, else those that a run would try."""
    with opened(asked, say) as session:
        proposed = _proposed(asked, session)
        held = prepare(session.setting, session.workload, proposed)
        shown: list[dict[str, Any]] = []
        kept = False
        if held:
            timing = measure(session.setting, session.workload, 0, {c.key: c for c in held})
            programs = timing["programs"]
            shown = [_timed(c, programs[c.key]) for c in held]
            heard = [c for c in held if "failure" not in programs[c.key]]
            times = {c.key: (c, programs[c.key]["seconds"]) for c in heard}
            kept = tell_measured(asked, session, times)
        texts = {assignment_text(p["assignment"]) for p in proposed}
        texts -= {assignment_text(c.assignment) for c in held}
        return {
            "kind": "measure",
            "workload": session.workload.name,
            "threads": session.setting.threads,
            "designs": sorted(shown, key=_speed),
            "refused": [f"{t}: {_why(session, t)}" for t in sorted(texts)],
            "evidence": "measured" if any(s["seconds"] for s in shown) else "none",
            "kept": kept,
        }


def _timed(candidate: Candidate, timed: Mapping[str, Any]) -> dict[str, Any]:
    seconds = None if "failure" in timed else _interval(timed["seconds"])
    return {
        "assignment": candidate.assignment,
        "predicted": candidate.predicted,
        "seconds": seconds,
        "failure": timed.get("failure", ""),
    }


def _interval(data: Mapping[str, float]) -> dict[str, float]:
    return {name: data[name] for name in ("median", "low", "high")}


def _speed(shown: Mapping[str, Any]) -> float:
    return float("inf") if shown["seconds"] is None else float(shown["seconds"]["median"])


def _why(session: Opened, label: str) -> str:
    """What the run said of a design that it did not go on with."""
    for told in session.heard.told:
        _, found, reason = told.partition(f" {label}: ")
        if found:
            return without(reason, session.setting.out)
    return "it was not built"


def qualify_text(asked: Asked, say: Say) -> dict[str, Any]:
    """A design confirmed against the baselines and qualified; without one a whole search is made.

    The record is written by the flow, into the job's own folder.
    """
    with opened(asked, say) as session:
        reasons: tuple[str, ...] = ()
        if asked.assignments:
            held = prepare(session.setting, session.workload, _proposed(asked, session))
            winner = held[0] if held else None
            if winner is None:
                label = assignment_text(asked.assignments[0])
                reasons = (_why(session, label),)
        else:
            found = search(session.setting, session.workload)
            winner, reasons = found.winner, found.reasons
        if winner is None:
            return _nothing(session, reasons)
        timing = confirm(session.setting, session.workload, winner)
        done = qualify_winner(session.setting, session.workload, winner, timing)
        tell_qualified(asked, session, winner, done)
        return _qualified(asked, session, winner, timing, done)


def _qualified(
    asked: Asked,
    session: Opened,
    winner: Candidate,
    timing: Mapping[str, Any],
    done: Mapping[str, Any],
) -> dict[str, Any]:
    programs = timing["programs"]
    timed = {n: _interval(p["seconds"]) for n, p in programs.items() if "failure" not in p}
    seconds = timed.pop(OURS, None)
    held = done["artifact"] is not None
    return _nothing(session, () if held else (done["message"],)) | {
        "held": held,
        "assignment": winner.assignment,
        "artifact": f"jobs/{asked.folder.name}/{done['artifact']}" if held else None,
        "checks": done["checks"],
        "predicted": winner.predicted,
        "seconds": seconds,
        "baselines": timed,
        "missing_baselines": {n: p["failure"] for n, p in programs.items() if "failure" in p},
        "speedup": {n: _interval(r) for n, r in timing["ratios"].items()},
        "notes": list(notes(timing)),
        "evidence": {
            "template": "proved",
            "binary": "tested" if held else "none",
            "timing": "measured" if seconds else "none",
        },
    }


def _nothing(session: Opened, reasons: tuple[str, ...]) -> dict[str, Any]:
    return {
        "kind": "qualify",
        "held": False,
        "workload": session.workload.name,
        "template": session.setting.templates[session.template].template.name,
        "assignment": {},
        "artifact": None,
        "reasons": [without(r, session.setting.out) for r in reasons],
        "checks": {},
        "predicted": None,
        "seconds": None,
        "baselines": {},
        "missing_baselines": {},
        "speedup": {},
        "notes": [],
        "evidence": {"template": "proved", "binary": "none", "timing": "none"},
    }


def _proposed(asked: Asked, session: Opened) -> list[dict[str, Any]]:
    """The designs that were named, each of them checked; else those of the flow's first round.

    Raises ``InputError`` for a design that is none of the template's or fails a condition.
    """
    template = session.setting.templates[session.template].template
    if not asked.assignments:
        found = designs(session.setting, session.workload, 0)
        if not found:
            raise fail("no design meets the constraints on this chip", hint="see fw_solve")
        # The journal sorts keys; a reader expects the order of the template.
        return [d | {"assignment": whole(template, d["assignment"])} for d in found]
    parameters = session.setting.parameters(template, session.workload)
    proposed = []
    for given in asked.assignments:
        assignment = whole(template, given)
        checked = check(template, parameters, assignment)
        if not checked.ok:
            raise fail(
                f"{assignment_text(assignment)} fails {', '.join(checked.failed)}",
                hint="see fw_check",
            )
        predicted = float(objective_of(template, parameters, assignment))
        proposed.append(
            {"template": session.template, "assignment": assignment, "predicted": predicted}
        )
    return proposed

"""From a proposal to its verdict: read, screened, looked up, proved; repaired where it failed.

Whatever a text says, its verdict is that of the verifier. A failure of the verifier itself at a
strange text is a verdict too (``unresolved``): one proposal cannot end a run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from math import isfinite
from typing import Any, Final

from formwright.agent.costing import with_cost
from formwright.agent.protocol import Finding, Proposal
from formwright.agent.screening import screen
from formwright.base.diagnostics import InputError, render_all
from formwright.base.source import Source
from formwright.flow.adopting import adopt
from formwright.flow.agent_learning import complete, fitting, inherit, keep, remember
from formwright.flow.agent_requests import ask
from formwright.flow.agent_room import Made, Room
from formwright.flow.jobs import Job, Prove
from formwright.ir.template import Template
from formwright.lang.format import format_template
from formwright.lang.parser import parse
from formwright.population.admission import why_not
from formwright.proof.rereading import proof_of
from formwright.proof.store import template_digest
from formwright.proof.verdict import LIMITS, Proof

FINDINGS: Final = 12
"""Of one text, that are kept and go back."""

SCREENED: Final = "screened"
"""The verdict of kernel source that nothing keeps from being built and tested."""

KNOWN: Final = "known"
"""The stage of a refusal for what the population says of a text; nothing is proved anew then."""

REPEATED: Final = "again"
"""The verdict of a text that this run has looked at before."""


def judge_all(room: Room, generation: int, proposals: Sequence[Proposal], asked: int) -> list[Made]:
    """Each of ``proposals`` (the answer to request ``asked``) with its repairs, in order.

    The result has those that are to be looked at now: proved, and not measured here before.
    """
    usable = []
    if room.setting.executor.spread:
        _prove_ahead(room, proposals[: room.agent.proposals], asked)
    for number, proposal in enumerate(proposals[: room.agent.proposals]):
        made = _judged(room, generation, proposal, f"{asked}/{number}")
        while _repairable(room, made):
            answer = ask(room, "repair", parent=made, findings=made.findings)
            if not answer.proposals:
                break
            asked_now = f"{room.asked}/0"
            made = _judged(room, generation, answer.proposals[0], asked_now, mends=made)
        if made.verdict == "proved" and not made.measured:
            usable.append(made)
    return usable


def _prove_ahead(room: Room, proposals: Sequence[Proposal], asked: int) -> None:
    """Proofs of all that will be judged, at once; one that is not asked for then is not told of."""
    jobs: dict[str, Job] = {}
    for number, proposal in enumerate(proposals):
        key = f"judge/{asked}/{number}"
        done = room.setting.journal.known(key) is not None
        if done or proposal.language != "fw" or screen(proposal, room.setting.problem.contract):
            continue
        source, template = _read(_costed(proposal))
        if not any(m.digest == template_digest(template) for m in room.made):
            jobs[key] = _proof_job(room, source)
    room.ahead = room.setting.steps.outcomes(jobs)


def _repairable(room: Room, made: Made) -> bool:
    """Refusals for what is known or repeated stand; so does what is no template's fault."""
    if made.language != "fw" or made.verdict in ("proved", REPEATED):
        return False
    if any(f.stage == KNOWN for f in made.findings):
        return False
    return made.repairs < room.agent.repairs and not room.setting.ledger.exhausted()


def _judged(
    room: Room, generation: int, proposal: Proposal, number: str, mends: Made | None = None
) -> Made:
    """One text: its verdict in the journal, itself in the population, in the run if proved."""
    setting = room.setting
    whole = _costed(proposal)
    before = setting.journal.step(f"known/{number}", partial(_known, room, whole))
    found: dict[str, Any] = setting.journal.step(
        f"judge/{number}", partial(_judge, room, proposal, whole, before, f"judge/{number}")
    )
    setting.charge(f"judge/{number}", building=float(found["seconds"]))
    parents = _parents(room, proposal) if mends is None else (mends.digest,)
    made = Made(
        key=_key(room, found),
        digest=found["digest"],
        language=proposal.language,
        generation=generation,
        parents=tuple(filter(None, parents)) or (() if mends is None else mends.parents),
        rule=proposal.rule,
        proposer=room.proposer.name,
        why=proposal.why,
        verdict=found["verdict"],
        step=f"judge/{number}",
        findings=tuple(Finding(**f) for f in found["findings"]),
        repairs=0 if mends is None else mends.repairs + 1,
        known=str(before.get("told", "")),
        measured=complete(room, before.get("facts", [])),
        text=whole.text,
    )
    room.made.append(made)
    if made.digest:
        keep(room, made, found)
    if made.verdict == "proved":
        source, template = _read(whole)
        adopt(setting, made.key, source, template, found["proof"])
        inherit(room, made)
        remember(setting, made.key, made.digest, before.get("facts", []))
    room.tell(_line(made))
    return made


def _costed(proposal: Proposal) -> Proposal:
    """A template that says nothing of its cost has it counted from its program."""
    if proposal.language != "fw":
        return proposal
    try:
        template = _read(proposal)[1]
        if template.cost is not None or not template.program:
            return proposal
        return replace(proposal, text=format_template(with_cost(template)))
    except Exception:
        # What is wrong with it is told where it is judged; a text that the cost model stumbles
        # over must not end the run for the others.
        return proposal


def _known(room: Room, proposal: Proposal) -> dict[str, Any]:
    """What the population has of this text before the run does anything with it."""
    if proposal.language != "fw":
        return {}
    try:
        entry = room.population.entry(template_digest(_read(proposal)[1]))
    except InputError:
        return {}
    told = f"{entry.place}, {entry.evidence}: {entry.reason}"
    facts = room.population.facts(entry.digest, chip=room.chip, machine=room.machine)
    return {
        "place": entry.place,
        "verdict": entry.verdict,
        "told": told,
        "facts": fitting(room, facts, _read(proposal)[1]),
    }


def _judge(
    room: Room, proposal: Proposal, whole: Proposal, before: Mapping[str, Any], key: str
) -> dict[str, Any]:
    """Plain data: ``verdict``, ``findings``, and of a template its ``digest``, name and proof.

    ``whole`` is ``proposal`` with its cost; the screen sees what was proposed, comments and all.
    """
    nothing: dict[str, Any] = {"digest": "", "name": "", "proof": None, "seconds": 0.0, "met": []}
    contract = room.setting.problem.contract
    findings = screen(proposal, contract)
    if proposal.language == "text":
        findings = (Finding("answer", "words, where a template was asked for"),)
    if findings or proposal.language == "c":
        verdict = findings[0].stage if findings else SCREENED
        return nothing | {"verdict": verdict, "findings": _plain(findings)}
    _, template = _read(whole)
    about = nothing | {"digest": template_digest(template), "name": template.name}
    if any(m.digest == about["digest"] for m in room.made):
        told = Finding(REPEATED, "this very template was proposed before")
        return about | {"verdict": REPEATED, "findings": _plain([told])}
    if before.get("place") == "shelf" and before.get("verdict") == "refuted":
        told = Finding(KNOWN, f"the population knows it: {before['told']}")
        return about | {"verdict": "refuted", "findings": _plain([told])}
    if template.cost is None:
        told = Finding("cost", "the template has no cost, and none can be counted from its program")
        return about | {"verdict": "cost", "findings": _plain([told])}
    room.setting.listener.stage(f"proving {template.name}")
    return about | _proved(room, *_read(whole), key)


def _proved(room: Room, source: Source, template: Template, key: str) -> dict[str, Any]:
    outcome = room.ahead.pop(key, None)
    if outcome is None:
        outcome = room.setting.steps.outcomes({key: _proof_job(room, source)})[key]
    if isinstance(outcome, Exception):
        # A text that the verifier stumbles over must not end the run for the others.
        return {"verdict": "unresolved", "findings": _plain([_stumbled(outcome)])}
    proof = proof_of(outcome.data["full"])
    reasons = why_not(template, proof)
    findings = list(_findings(proof))
    if reasons and not findings:
        findings = [Finding("admit", reason) for reason in reasons]
    return {
        "verdict": "proved" if not reasons else _worse(proof),
        "findings": _plain(findings[:FINDINGS]),
        "proof": outcome.data,
        "seconds": proof.seconds,
    }


def _proof_job(room: Room, source: Source) -> Prove:
    left = room.setting.ledger.left("build_seconds")
    whole = min(LIMITS.whole, left) if isfinite(left) else LIMITS.whole
    return Prove(source, replace(LIMITS, whole=max(1.0, whole)))


def _stumbled(error: Exception) -> Finding:
    if isinstance(error, InputError):
        return Finding("prove", render_all(error.diagnostics, error.source))
    return Finding("prove", f"the verifier gave up: {type(error).__name__}: {error}")


def _worse(proof: Proof) -> str:
    return proof.verdict if proof.verdict != "proved" else "unresolved"


def _findings(proof: Proof) -> list[Finding]:
    """What is not proved, refutations first."""
    found = []
    for o in sorted(proof.obligations, key=lambda o: o.verdict != "refuted"):
        if o.verdict == "proved":
            continue
        met = o.counterexample
        told = "" if met is None else "\n".join((met.text, *met.trace))
        found.append(Finding("prove", f"{o.name} is {o.verdict}: {o.detail}", o.condition, told))
    return found


def _read(proposal: Proposal) -> tuple[Source, Template]:
    source = Source("proposal.fw", proposal.text)
    template = parse(source)
    return Source(f"{template.name}.fw", proposal.text), template


def _key(room: Room, found: Mapping[str, Any]) -> str:
    """The template's own name, unless another text of the run has it."""
    if not found["digest"]:
        return ""
    name = str(found["name"])
    taken = any(m.key == name for m in room.made) or name in room.setting.templates
    return f"{name}-{found['digest'][:8]}" if taken else name


def _parents(room: Room, proposal: Proposal) -> tuple[str, ...]:
    """Digests of the parents that the proposal names; what nobody knows is left out."""
    found = []
    for name in proposal.parents:
        made = room.named(name)
        if made is not None:
            found.append(made.digest)
            continue
        try:
            found.append(room.population.entry(name).digest)
        except InputError:
            continue
    return tuple(dict.fromkeys(found))


def _plain(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    return [asdict(f) for f in findings]


def _line(made: Made) -> str:
    name = made.key or f"the text of {made.step}"
    rule = f" by {made.rule}" if made.rule else ""
    if made.verdict == "proved":
        again = ", known from before" if made.known else ""
        again += ", and measured here" if made.measured else ""
        mended = f" after {made.repairs} repair(s)" if made.repairs else ""
        return f"{name}{rule}: proved{mended}{again}"
    why = made.findings[0] if made.findings else None
    told = "" if why is None else f": {(why.condition or why.message).splitlines()[0][:200]}"
    return f"{name}{rule}: {made.verdict}{told}"

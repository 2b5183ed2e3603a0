"""What a run leaves to the population: texts with their lineage and verdicts, figures, designs.

All of it may be told again: a run that goes on after a kill tells what it told before, and each
thing is kept once.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from formwright.base.diagnostics import InputError
from formwright.contract.problem import Workload
from formwright.flow.agent_room import Made, Room
from formwright.flow.loop import Tally, relearn
from formwright.flow.proving import prove
from formwright.flow.refit import Observation
from formwright.flow.setting import Setting
from formwright.ir.template import Template
from formwright.population import Design, Fact, Held, KeptFact, Met, Origin, work_of
from formwright.population.texts import parsed


def keep(room: Room, made: Made, judged: Mapping[str, Any]) -> None:
    """A template and its verdict: admitted if it is proved, else on the shelf with its reasons."""
    population = room.population
    origin = Origin(made.proposer, made.rule, made.parents, made.why[:1000], room.run)
    entry = population.add_template(made.text, origin=origin)
    if made.verdict == "proved":
        if entry.evidence != "proved":
            population.admit(made.digest, prove(parsed(entry.name, entry.text)))
        return
    if judged["proof"] is None:
        return
    population.record(*_met(room, made, judged["proof"]["full"]))
    if not entry.admitted:
        reasons = "; ".join(f.message.splitlines()[0] for f in made.findings)[:2000]
        # Another run may have proved it since it was read.
        population.shelve(made.digest, reasons, verdict=made.verdict, unless_proved=True)


def _met(room: Room, made: Made, proof: Mapping[str, Any]) -> Iterator[Met]:
    for obligation in proof["obligations"]:
        met = obligation.get("counterexample")
        if met is not None:
            yield Met(
                template=made.digest,
                condition=obligation["condition"],
                text=met["text"],
                values=met["values"],
                replayed=met["replayed"],
                source=room.step(made.step),
                trace=tuple(met["trace"]),
            )


def tell_measured(room: Room, workload: Workload, number: int, keys: Sequence[str]) -> None:
    """The figures of round ``number``, as facts about this chip, machine and workload."""
    setting = room.setting
    tally = room.tally(workload)
    facts = [_fact(room, workload, tally, key, f"measure/{workload.name}/{number}") for key in keys]
    room.population.record(*filter(None, facts))
    setting.listener.stage(f"{workload.name}: {len(keys)} figure(s) to the population")


def _fact(room: Room, workload: Workload, tally: Tally, key: str, step: str) -> Fact | None:
    candidate = tally.candidates[key]
    digest = digest_of(room, candidate.template)
    if digest is None:
        return None
    timed = tally.timed[key]["seconds"]
    return Fact(
        template=digest,
        assignment=candidate.assignment,
        chip=room.chip,
        machine=room.machine,
        work=work_of(room.setting.problem.contract, workload.extents, room.setting.threads),
        quantity="seconds",
        value=float(timed["median"]),
        unit="s",
        evidence="measured",
        source=_source(room, step),
        low=float(timed["low"]),
        high=float(timed["high"]),
        imported=bool(room.setting.device.replayed),
    )


def tell_structures(
    room: Room, workload: Workload, number: int, solved: Mapping[str, Mapping[str, Any]]
) -> None:
    """Which structures that templates declare held in round ``number``, and which did not."""
    work = work_of(room.setting.problem.contract, workload.extents, room.setting.threads)
    room.population.record(
        *(
            Held(
                template=digest,
                structure=told["text"],
                held=told["verdict"] == "held",
                chip=room.chip,
                work=work,
                source=room.step(f"solve/{workload.name}/{number}"),
                detail=told["why"],
            )
            for name, solution in solved.items()
            if (digest := digest_of(room, name)) is not None
            for told in solution.get("structures", ())
            if told["verdict"] in ("held", "reopened")
        )
    )


def tell_winner(
    room: Room, workload: Workload, tally: Tally, key: str, qualified: Mapping[str, Any]
) -> None:
    """The design that won, and whether a kernel of it was qualified."""
    candidate = tally.candidates[key]
    digest = digest_of(room, candidate.template)
    if digest is None:
        return
    room.population.record(
        Design(
            template=digest,
            assignment=candidate.assignment,
            chip=room.chip,
            work=work_of(room.setting.problem.contract, workload.extents, room.setting.threads),
            objective=candidate.predicted,
            bound=None,
            qualified=qualified["artifact"] is not None,
            artifact=str(qualified.get("library") or ""),
            source=room.step(f"qualify/{workload.name}"),
        )
    )


def digest_of(room: Room, key: str) -> str | None:
    """The digest of a template of the run; ``None`` for one that the population does not have."""
    made = room.named(key)
    return None if made is None else made.digest or None


def remember(setting: Setting, key: str, digest: str, facts: Sequence[Mapping[str, Any]]) -> int:
    """Fits a template's model to what was measured of it before; how many figures those are."""
    known = observations(setting, setting.templates[key].template, facts)
    if known:
        setting.observations[key] = known
        relearn(setting, f"refit/before/{digest[:12]}", key)
    return len(known)


def inherit(room: Room, made: Made) -> None:
    """Coefficients that a parent has by the same name start from what was learned of them there."""
    setting = room.setting
    mine = setting.coefficients[made.key]
    for parent in (m for m in room.made if m.digest in made.parents and m.key in setting.templates):
        learned = setting.coefficients[parent.key]
        mine.update({n: v for n, v in learned.items() if n in mine})


def complete(room: Room, facts: Sequence[Mapping[str, Any]]) -> bool:
    """Whether every workload of the run has a time among ``facts``."""
    shapes = [dict(f["extents"]) for f in facts]
    return all(dict(w.extents) in shapes for w in room.setting.problem.workloads)


def observations(
    setting: Setting, template: Template, facts: Sequence[Mapping[str, Any]]
) -> list[Observation]:
    """What was measured before of a template, for its first refit."""
    found = []
    for fact in facts:
        workload = Workload("before", dict(fact["extents"]))
        try:
            parameters = setting.parameters(template, workload)
        except InputError:
            continue
        found.append(Observation(parameters, dict(fact["assignment"]), float(fact["value"])))
    return found


def fitting(room: Room, facts: Sequence[KeptFact], template: Template) -> list[dict[str, Any]]:
    """Of what is known of a template, the times that hold here: plain data for the journal.

    Times that came in with files, or are those of another record, are shown and never stand for
    a measurement of this machine.
    """
    names = {d.name for d in template.decisions}
    here = work_of(room.setting.problem.contract, {}, room.setting.threads)
    found = []
    for kept in facts:
        fact = kept.fact
        holds = kept.standing == "holds" and fact.quantity == "seconds"
        same = fact.work.contract == here.contract and fact.work.threads == here.threads
        mine = fact.evidence == "measured" and not fact.imported
        if holds and same and mine and set(fact.assignment) == names:
            found.append(
                {
                    "extents": dict(fact.work.extents),
                    "assignment": dict(fact.assignment),
                    "value": fact.value,
                    "source": fact.source,
                }
            )
    return found


def _source(room: Room, step: str) -> str:
    replayed = room.setting.device.replayed
    return f"{replayed}:{step}" if replayed else room.step(step)

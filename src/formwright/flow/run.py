"""The main job: a problem file in, qualified kernels out, through a journal that can be resumed."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from formwright import __version__
from formwright.base.diagnostics import Diagnostic, InputError
from formwright.base.digest import digest, digest_file
from formwright.contract.contract import contract_digest
from formwright.contract.matching import matches
from formwright.contract.problem import Problem, Workload, load_problem, parse_overrides
from formwright.flow.adopting import adopt
from formwright.flow.agent_learning import tell_winner
from formwright.flow.agent_loop import finish, improve, open_room
from formwright.flow.agent_results import AgentResult, result_of
from formwright.flow.chips import figures_of
from formwright.flow.device import Device, Here, Recorded, recorded
from formwright.flow.executor import Executor
from formwright.flow.executor_here import HereExecutor
from formwright.flow.identity import identify
from formwright.flow.job_proving import detected
from formwright.flow.jobs import Detect, Prove
from formwright.flow.journal import Journal
from formwright.flow.loop import Search, confirm, search
from formwright.flow.objectives import require
from formwright.flow.options import Options, with_options
from formwright.flow.populating import population_at
from formwright.flow.qualifying import qualify_winner
from formwright.flow.results import Interval, RunResult, WorkloadResult
from formwright.flow.setting import Listener, Setting
from formwright.flow.steps import Steps
from formwright.ir.inline import inlined
from formwright.lang import load
from formwright.qualify.dispatch import write_dispatch
from formwright.qualify.timing import notes


def run_problem(
    path: Path,
    out: Path,
    settings: str,
    listener: Listener,
    options: Options | None = None,
    executor: Executor | None = None,
) -> RunResult:
    """Everything from contract to record for each workload of the problem at ``path``.

    ``settings`` (``"M=…,N=…,K=…"``, the operator's extents) puts one other shape in place of
    the problem's. Templates are those of the problem, and where it has an agent those that it
    proposes. The same call on the same ``out`` goes on where an earlier one stopped, also with
    another ``executor`` (this process without one).

    Raises:
        InputError: a fault of the problem or the options, a template that does not match the
            contract or is not proved, or an ``out`` that belongs to another problem.
    """
    start = monotonic()
    options = options or Options()
    problem = load_problem(path, parse_overrides(settings) if settings else None)
    problem = with_options(problem, options)
    device = Here() if options.device is None else recorded(options.device)
    with Journal(out / "journal.jsonl") as journal:
        _identify(journal, problem, device, out)
        setting = open_setting(problem, out, journal, listener, device, executor)
        journal.step("about", partial(about, setting))
        prove_templates(setting)
        results, made = _made(setting, options)
        kept = [r.name for r in results if r.artifact is not None]
        if kept:
            write_dispatch(out / "artifacts", kept)
        return RunResult(
            problem=problem.name,
            chip=setting.chip_name,
            threads=setting.threads,
            proofs={n: p.proof["verdict"] for n, p in setting.templates.items()},
            workloads=results,
            journal=str(out / "journal.jsonl"),
            seconds=monotonic() - start,
            agent=made,
        )


def _made(
    setting: Setting, options: Options
) -> tuple[tuple[WorkloadResult, ...], AgentResult | None]:
    """Each workload searched, its winner confirmed and qualified; by an agent if there is one."""
    workloads, agent = setting.problem.workloads, setting.problem.agent
    if agent is None:
        return tuple(_finished(setting, w, search(setting, w)) for w in workloads), None
    room = open_room(setting, agent, population_at(options.population))
    ended = improve(room)
    results = []
    for workload in workloads:
        found = finish(room, workload)
        results.append(_finished(setting, workload, found))
        qualified = setting.journal.known(f"qualify/{workload.name}")
        if found.winner is not None and qualified is not None:
            tell_winner(room, workload, room.tally(workload), found.winner.key, qualified)
    return tuple(results), result_of(room, ended)


def open_setting(
    problem: Problem,
    out: Path,
    journal: Journal,
    listener: Listener,
    device: Device | None = None,
    executor: Executor | None = None,
) -> Setting:
    """What the steps of a run share, its chip read (or detected); no template in it yet.

    With a ``device`` that is a record the chip is the one of the record.

    Raises ``InputError`` for an objective that this chip has no figures for.
    """
    listener.stage("reading the chip (a first detection takes about 15 s)")
    device, executor = device or Here(), executor or HereExecutor()
    steps = Steps(journal, out, executor, listener)
    chip = journal.step("chip", lambda: device.about("chip") or _chip(problem.chip, steps))
    values = figures_of(chip["values"])
    setting = Setting(
        problem=problem,
        chip_name=chip["name"],
        chip=values,
        threads=problem.threads or int(values.get("chip.cores", 1)),
        out=out,
        journal=journal,
        listener=listener,
        seed=int(digest(problem.name)[:8], 16),
        executor=executor,
        chip_key=chip.get("key", ""),
        device=device,
    )
    require(problem, setting.threads, values, setting.chip_name)
    return setting


def _identify(journal: Journal, problem: Problem, device: Device, out: Path) -> None:
    """A journal goes on only for what it began with: problem, templates, version, and the device,
    since times of a record must not become some of this machine."""
    texts = {name: digest(inlined(load(name)[1])) for name in problem.templates}
    now: dict[str, Any] = {
        "version": __version__,
        "problem": digest(problem),
        "contract": contract_digest(problem.contract),
        "templates": texts,
    }
    if isinstance(device, Recorded):
        now["device"] = digest_file(device.path)
    identify(journal, "run", now, out)


def about(setting: Setting) -> dict[str, Any]:
    """What the run is of, in words: digests alone tell a reader of the journal nothing."""
    problem, contract = setting.problem, setting.problem.contract
    return {
        "problem": problem.name,
        "operator": contract.operator,
        "formula": list(contract.formula),
        "dtypes": {o.name: o.dtype for o in contract.operands},
        "ahead": list(contract.ahead),
        **({} if contract.stages == "f32" else {"stages": contract.stages}),
        "workloads": {w.name: w.extents for w in problem.workloads},
        "templates": list(problem.templates),
        "objective": problem.objective.goal,
        "ceilings": asdict(problem.objective.ceilings),
        "baselines": list(problem.baselines),
        "threads": setting.threads,
        "budget": asdict(problem.budget),
    }


def _chip(name: str, steps: Steps) -> dict[str, Any]:
    """``local`` is the machine that measures; a file is one of this machine's."""
    return steps.compute("chip", Detect(name)) if name == "local" else detected(name)


def prove_templates(setting: Setting) -> None:
    """Every template of the problem: matched with the contract, proved, typed for it.

    Raises ``InputError`` for one that claims less than the contract, or that is not proved.
    """
    loaded = {name: load(name) for name in setting.problem.templates}
    for source, template in loaded.values():
        differences = matches(template, setting.problem.contract)
        if differences:
            raise InputError(differences, source)
    jobs = {f"prove/{n}": Prove(source) for n, (source, _) in loaded.items()}
    setting.listener.stage(f"proving {', '.join(t.name for _, t in loaded.values())}")
    proofs = setting.steps.all(jobs)
    faults: list[Diagnostic] = []
    for name, (source, template) in loaded.items():
        proof = proofs[f"prove/{name}"]
        if proof["verdict"] != "proved":
            faults.append(
                Diagnostic(
                    f"template {name} is {proof['verdict']}: {', '.join(proof['open'])}",
                    template.span,
                    f"see formwright prove {name}",
                )
            )
        setting.listener.done(
            f"{name}: {proof['verdict']}, {proof['obligations']} obligations"
            f" ({proof['seconds']:.2f} s)"
        )
        adopt(setting, name, source, template, proof)
    if faults:
        raise InputError(faults)


def _finished(setting: Setting, workload: Workload, found: Search) -> WorkloadResult:
    if found.winner is None:
        setting.listener.done(f"{workload.name}: no candidate held")
        return _nothing(workload, found)
    timing = confirm(setting, workload, found.winner)
    qualified = qualify_winner(setting, workload, found.winner, timing)
    return _result(setting, workload, found, timing, qualified)


def _nothing(workload: Workload, found: Search) -> WorkloadResult:
    return WorkloadResult(
        name=workload.name,
        extents=workload.extents,
        template=None,
        assignment={},
        predicted_seconds=None,
        measured_seconds=None,
        baselines={},
        missing_baselines={},
        speedup={},
        candidates=0,
        prediction_error=None,
        rank_correlation=None,
        artifact=None,
        reasons=found.reasons,
        entries={},
        tradeoffs=found.choice.as_json(),
    )


def _result(
    setting: Setting,
    workload: Workload,
    found: Search,
    timing: Mapping[str, Any],
    qualified: Mapping[str, Any],
) -> WorkloadResult:
    winner = found.winner
    assert winner is not None
    programs = timing["programs"]
    timed = {n: _interval(p["seconds"]) for n, p in programs.items() if "failure" not in p}
    measured = timed.pop("kernel", None)
    missing = {n: p["failure"] for n, p in programs.items() if "failure" in p}
    held = qualified["artifact"]
    learned = found.refit or {}
    setting.listener.done(
        f"{workload.name}: {'qualified' if held else 'not qualified: ' + qualified['message']}"
    )
    return WorkloadResult(
        name=workload.name,
        extents=workload.extents,
        template=winner.template,
        assignment=winner.assignment,
        predicted_seconds=winner.predicted,
        measured_seconds=measured,
        baselines=timed,
        missing_baselines=missing,
        speedup={n: _interval(r) for n, r in timing["ratios"].items()},
        candidates=len(found.candidates),
        prediction_error=learned.get("error_after"),
        rank_correlation=learned.get("rank"),
        artifact=held,
        reasons=(*found.reasons, *([qualified["message"]] if not held else [])),
        entries={
            "solve": f"solve/{workload.name}/0",
            "build": f"build/{winner.key}",
            "measured_seconds": f"confirm/{workload.name}",
            "artifact": f"qualify/{workload.name}",
        },
        tradeoffs=found.choice.as_json(),
        notes=notes(timing),
    )


def _interval(data: Mapping[str, float]) -> Interval:
    return Interval(data["median"], data["low"], data["high"])

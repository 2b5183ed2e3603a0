"""Kernels under the roofs of their chip: of artifact folders, or of a template's best design."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from formwright.base.diagnostics import fail
from formwright.base.source import Source
from formwright.chip.machine import cpu_name
from formwright.codegen.ahead import ahead_count
from formwright.contract.operators import operator
from formwright.flow.chips import figures_of, open_chip
from formwright.flow.parameters import bind, parse_settings, split_chip_settings
from formwright.ir.expr import Scalar
from formwright.ir.program import Alloc
from formwright.ir.template import Template
from formwright.ir.types import ElementTypeError, with_dtypes
from formwright.lang import load, parse
from formwright.milp.check import check, objective_of
from formwright.milp.solve import solve
from formwright.qualify.artifact import RECORD, TEMPLATE, Artifact, read_artifact
from formwright.qualify.record import NO_TEMPLATE
from formwright.roofline import (
    Intensity,
    Moved,
    Point,
    Roofs,
    UnboundedError,
    contract_multiplies_bf16,
    intensity_of,
    point_of,
    roofs_of,
)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel: where it stands, and what its program text gives."""

    extents: Mapping[str, int]
    intensity: Intensity
    point: Point
    note: str = ""


@dataclass(frozen=True, slots=True)
class Roofline:
    """Kernels of one chip and thread count share ``roofs``; ``left_out``: others, with reasons."""

    chip: str
    roofs: Roofs
    kernels: tuple[Kernel, ...]
    left_out: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        """Bytes, operations a second and byte/s; ``share`` 1 is the roof."""
        return {
            "schema": 1,
            "chip": self.chip,
            "threads": self.roofs.threads,
            "evidence": "modelled",
            "peak": self.roofs.peak,
            "matrix_peak": self.roofs.matrix,
            "levels": {v.name: v.bandwidth for v in self.roofs.levels},
            "missing": list(self.roofs.missing),
            "kernels": {k.point.name: _kernel(k, self.roofs) for k in self.kernels},
            "left_out": dict(self.left_out),
        }


def _kernel(kernel: Kernel, roofs: Roofs) -> dict[str, Any]:
    point, intensity = kernel.point, kernel.intensity
    verdict = point.verdict
    return {
        "extents": dict(kernel.extents),
        "note": kernel.note,
        "operations": dict(intensity.operations),
        "flops": point.flops,
        "seconds": point.seconds,
        "timed": point.timed,
        "rate": point.rate,
        "peak_share": point.peak_share,
        "matrix_units": roofs.matrix_for(intensity.narrow),
        "bound": None if verdict is None else verdict.bound,
        "says": None if verdict is None else verdict.says,
        "levels": {
            use.level: {
                "bytes": use.bytes,
                "intensity": use.intensity,
                "share": use.share,
                "moved": {
                    m.buffer: {"loads": m.loads, "stores": m.stores}
                    for m in intensity.moved[use.level]
                },
            }
            for use in point.uses
        },
    }


def roofline_of_folder(folder: Path) -> Roofline:
    """Every artifact in ``folder``: itself one, or a run's output, or a folder of artifacts.

    Those of another chip or thread count than the first are left out by name: they have
    other roofs. Raises ``InputError`` where there is no artifact, or one was changed.
    """
    found = roofline_of_run(folder)
    if found is None:
        raise fail(f"{folder} holds no artifact", hint="give a folder that `formwright run` wrote")
    if not found.kernels:
        raise fail(f"{folder}: {'; '.join(f'{n}: {why}' for n, why in found.left_out.items())}")
    return found


def roofline_of_run(folder: Path) -> Roofline | None:
    """As :func:`roofline_of_folder`; ``None`` where nothing has been qualified yet."""
    places = _artifacts(folder)
    kernels: list[Kernel] = []
    left_out: dict[str, str] = {}
    chip, roofs = "", None
    for place in places:
        artifact = read_artifact(place)
        given = artifact.record["template"]["name"] == NO_TEMPLATE
        name = place.name if given else str(artifact.record["workload"]["name"])
        here = _roofs(artifact)
        if roofs is None:
            chip, roofs = str(artifact.record["chip"].get("name", "this machine")), here
        if here != roofs:
            left_out[name] = "its chip or its number of threads is another: it has other roofs"
            continue
        try:
            kernels.append(_of_artifact(artifact, name, roofs))
        except UnboundedError:
            left_out[name] = "an index of its program has no bound"
    return None if roofs is None else Roofline(chip, roofs, tuple(kernels), left_out)


def _artifacts(folder: Path) -> list[Path]:
    if (folder / RECORD).is_file():
        return [folder]
    inside = folder / "artifacts" if (folder / "artifacts").is_dir() else folder
    return sorted(p.parent for p in inside.glob(f"*/{RECORD}"))


def _figures(artifact: Artifact) -> dict[str, int | Fraction]:
    """The chip of the record; where there is none, this machine if the CPU is the record's."""
    chip = artifact.record["chip"]
    if chip:
        return figures_of({n: v for n, v in chip.items() if n != "name"})
    model = str(artifact.record["facts"]["cpu"])
    here = bool(model) and cpu_name().startswith(model)
    return dict(open_chip("local").parameters()) if here else {}


def _roofs(artifact: Artifact) -> Roofs:
    return roofs_of(_figures(artifact), int(artifact.record["threads"]))


NO_TEXT: Final = (
    "no program text: memory moves each tensor once at least, nearer levels are unknown"
)


def _of_artifact(artifact: Artifact, name: str, roofs: Roofs) -> Kernel:
    record, contract = artifact.record, artifact.contract
    sizes = record["workload"]["extents"]
    extents = {n: int(sizes[n]) for n in contract.names}
    work = operator(contract.operator).work(contract, extents)
    timed = record["timing"]["programs"].get("kernel", {}).get("seconds")
    seconds = None if timed is None else float(timed["median"])
    if record["template"]["name"] == NO_TEMPLATE:
        last = roofs.levels[-1].name
        tensors = Moved("tensors", work.read_bytes, work.written_bytes)
        narrow = contract_multiplies_bf16(contract)
        least = Intensity({"operations": work.flops}, {last: (tensors,)}, narrow)
        return Kernel(extents, least, point_of(name, least, roofs, seconds), NO_TEXT)
    text = (artifact.folder / TEMPLATE).read_text(encoding="utf-8")
    types = {o.name: o.dtype for o in contract.operands}
    template = with_dtypes(parse(Source(TEMPLATE, text)), types)
    chip = _figures(artifact) | {"chip.cores": roofs.threads}
    values = bind(template, chip, extents, record["chip"]["name"])
    timed_part, note = (_after_packing(template), AHEAD) if contract.ahead else (template, "")
    intensity = intensity_of(timed_part, values, artifact.assignment, roofs)
    point = point_of(name, intensity, roofs, seconds, useful=work.flops)
    return Kernel(extents, intensity, point, note)


AHEAD: Final = "what is packed ahead is left out here, as it is of the time"


def _after_packing(template: Template) -> Template:
    """``template`` without what can be done ahead of a call; packed buffers live beyond it."""
    workload, program = template.scope.workload, template.program
    inputs = [t.name for t in workload.inputs]
    count = ahead_count(program, inputs, workload.output.name)
    packed = [b for stmt in program[:count] if isinstance(stmt, Alloc) for b in stmt.buffers]
    return replace(template, program=program[count:], globals=(*template.globals, *packed))


def roofline_of_template(
    reference: str,
    chip: str,
    settings: str,
    assignment: str = "",
    threads: int | None = None,
    dtypes: str = "",
    ahead: bool = False,
) -> Roofline:
    """The given design of a template, or its best one by the cost model, which gives the time.

    With ``ahead`` without what can be packed ahead of a call. Raises ``InputError`` for bad names
    or values, and where no design meets the constraints.
    """
    template = _typed(load(reference)[1], dtypes)
    machine = open_chip(chip)
    text, fields = split_chip_settings(settings)
    extents = parse_settings(text)
    figures = machine.parameters() | fields
    count = threads or int(figures.get("chip.cores", 1))
    if "chip.cores" in figures:
        figures["chip.cores"] = count
    values = bind(template, figures, extents, machine.name)
    picked = _design(template, values, assignment)
    roofs = roofs_of(figures, count)
    try:
        counted = _after_packing(template) if ahead else template
        intensity = intensity_of(counted, values, picked, roofs)
    except UnboundedError:
        raise fail(f"an index of the program of {template.name} has no bound") from None
    seconds = _predicted(template, values, picked)
    point = point_of(template.name, intensity, roofs, seconds, "modelled")
    kernel = Kernel(extents, intensity, point, AHEAD if ahead else "")
    return Roofline(machine.name, roofs, (kernel,), {})


def _typed(template: Template, dtypes: str) -> Template:
    chosen: dict[str, str] = {}
    for part in (p.strip() for p in dtypes.split(",") if p.strip()):
        name, equals, dtype = (s.strip() for s in part.partition("="))
        if not equals:
            raise fail(f'--dtypes: "{part}" is not NAME=TYPE', hint="as in --dtypes W=bf16")
        chosen[name] = dtype
    try:
        return with_dtypes(template, chosen)
    except ElementTypeError as error:
        raise fail(f"--dtypes: {error}") from None


def _design(template: Template, values: Mapping[str, Scalar], assignment: str) -> dict[str, int]:
    if not template.program:
        raise fail(
            f"{template.name} is a step between state machines and has no program",
            hint="a roofline needs a template with a program",
        )
    if not assignment:
        solution = solve(template, values)
        if solution.status != "optimal":
            raise fail(f"no design of {template.name} is known: {solution.status}")
        return solution.assignment
    picked = parse_settings(assignment, "--assign")
    missing = [d.name for d in template.decisions if d.name not in picked]
    if missing:
        raise fail(f"--assign leaves out {', '.join(missing)}", hint="give every decision")
    checked = check(template, values, picked)
    if not checked.ok:
        raise fail(f"the assignment fails {', '.join(checked.failed)}", hint="see formwright check")
    return picked


def _predicted(
    template: Template, values: Mapping[str, Scalar], assignment: Mapping[str, int]
) -> float | None:
    if template.cost is None or template.cost.unit != "seconds":
        return None
    return float(objective_of(template, values, assignment))
